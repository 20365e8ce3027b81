#include "proto/program/files.h"

#include <google/protobuf/util/json_util.h>

#include "proto/program/tables.h"

namespace pullback::program {
namespace {

Status NoProgram(const std::string& what) {
  return Status(Code::kInvalidArgument, "INVALID_PROGRAM", what);
}

StatusOr<std::string> ToJson(const v1::Program& program) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto written = google::protobuf::util::MessageToJsonString(program, &json, options);
  if (!written.ok()) return NoProgram(std::string(written.message()));
  return json;
}

}  // namespace

StatusOr<v1::Program> FromFile(const std::string& bytes, Form form) {
  v1::Program program;
  if (form == Form::kText) {
    program.set_text(bytes);
  } else if (form == Form::kMessage) {
    if (!program.ParseFromString(bytes)) return NoProgram("no message pullback.v1.Program");
  } else {
    const auto read = google::protobuf::util::JsonStringToMessage(bytes, &program);
    if (!read.ok()) {
      return NoProgram("no message pullback.v1.Program in JSON: " + std::string(read.message()));
    }
  }
  return program;
}

StatusOr<std::string> ToFile(const v1::Program& program, Form form, const lang::Limits& limits) {
  PB_ASSIGN_OR_RETURN(Forms forms, Format(program, limits));
  if (form == Form::kText) return std::move(forms.text);
  v1::Program tables;
  *tables.mutable_tables() = std::move(forms.tables);
  if (form == Form::kJson) return ToJson(tables);
  return tables.SerializeAsString();
}

}  // namespace pullback::program
