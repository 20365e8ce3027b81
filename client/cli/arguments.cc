#include "client/cli/arguments.h"

#include <utility>

#include "client/cli/files.h"
#include "client/cli/values.h"

namespace pullback::cli {
namespace {

using client::NamedValue;
using client::Transform;

Status Invalid(const char* reason, const std::string& message) {
  return Status(Code::kInvalidArgument, reason, message);
}

// JSON, or @FILE that holds it. `what` names it in messages.
StatusOr<Json> ReadJson(std::string text, const std::string& what) {
  if (text.starts_with('@')) {
    PB_ASSIGN_OR_RETURN(text, ReadText(text.substr(1)));
  }
  auto json = ParseJson(text);
  if (!json.ok()) return Invalid("INVALID_JSON", what + ": " + json.status().message());
  return json;
}

void Set(Json* object, const std::string& key, Json value) {
  for (size_t i = 0; i < object->keys.size(); ++i) {
    if (object->keys[i] != key) continue;
    object->items[i] = std::move(value);
    return;
  }
  object->Add(key, std::move(value));
}

std::string List(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

// One value per parameter of `names`; no others. noun: "argument", "tangent".
using Converter = StatusOr<ApiValue> (*)(const Json&, const ApiType&, const ApiStructs&,
                                         const std::string&);
StatusOr<std::vector<NamedValue>> ByName(const Json& object,
                                         const std::vector<client::Parameter>& parameters,
                                         const ApiStructs& structs, const std::string& noun,
                                         Converter convert) {
  std::vector<NamedValue> values;
  std::vector<std::string> names;
  for (const client::Parameter& p : parameters) {
    names.push_back(p.name);
    const Json* json = object.Find(p.name);
    const std::string what = noun + " '" + p.name + "'";
    if (json == nullptr) {
      return Invalid("MISSING_ARGUMENT", what + " is missing; it is " + p.type.ToString());
    }
    PB_ASSIGN_OR_RETURN(ApiValue value, convert(*json, p.type, structs, what));
    values.push_back({p.name, std::move(value)});
  }
  if (object.keys.size() == names.size()) return values;
  for (const std::string& key : object.keys) {
    bool known = false;
    for (const std::string& name : names) known = known || name == key;
    if (!known) {
      return Invalid("UNKNOWN_ARGUMENT",
                     "there is no " + noun + " '" + key + "'; there are: " + List(names));
    }
  }
  return values;
}

std::vector<client::Parameter> WrtParameters(const client::Signature& signature) {
  std::vector<client::Parameter> wrt;
  for (const std::string& name : signature.wrt) {
    for (const client::Parameter& p : signature.parameters) {
      if (p.name == name) wrt.push_back(p);
    }
  }
  return wrt;
}

StatusOr<std::vector<NamedValue>> ConvertSeed(const std::optional<Json>& seed,
                                              const client::Signature& signature,
                                              Transform transform) {
  std::vector<NamedValue> seeds;
  const bool tangents = transform == Transform::kJvp || transform == Transform::kHvp;
  if (transform != Transform::kVjp && !tangents) {
    if (seed) return Invalid("USAGE", "--seed belongs to -t vjp, -t jvp and -t hvp");
    return seeds;
  }
  if (transform == Transform::kVjp) {
    if (!seed) {
      return Invalid("USAGE",
                     "-t vjp needs --seed, the result's cotangent: " + signature.result.ToString());
    }
    PB_ASSIGN_OR_RETURN(ApiValue value,
                        ToDerivative(*seed, signature.result, signature.structs, "seed"));
    seeds.push_back({"", std::move(value)});
    return seeds;
  }
  if (!seed || !seed->is(Json::Kind::kObject)) {
    return Invalid(
        "USAGE", std::string("-t ") + (transform == Transform::kJvp ? "jvp" : "hvp") +
                     " needs --seed, an object with a tangent for each of: " + List(signature.wrt));
  }
  return ByName(*seed, WrtParameters(signature), signature.structs, "tangent", ToDerivative);
}

}  // namespace

StatusOr<ArgumentJson> ReadArguments(const ArgumentTexts& texts) {
  ArgumentJson out;
  if (!texts.file.empty()) {
    PB_ASSIGN_OR_RETURN(out.values, ReadJson("@" + texts.file, texts.file));
    if (!out.values.is(Json::Kind::kObject)) {
      return Invalid("INVALID_JSON", texts.file + ": expected an object {name: value, …}");
    }
  }
  for (const std::string& assignment : texts.assignments) {
    const size_t equals = assignment.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Invalid("USAGE", "-a takes name=JSON, got '" + assignment + "'");
    }
    const std::string name = assignment.substr(0, equals);
    PB_ASSIGN_OR_RETURN(Json value,
                        ReadJson(assignment.substr(equals + 1), "argument '" + name + "'"));
    Set(&out.values, name, std::move(value));
  }
  if (!texts.seed.empty()) {
    PB_ASSIGN_OR_RETURN(out.seed, ReadJson(texts.seed, "--seed"));
  }
  return out;
}

StatusOr<client::Inputs> ConvertArguments(const ArgumentJson& json,
                                          const client::Signature& signature, Transform transform) {
  client::Inputs inputs;
  PB_ASSIGN_OR_RETURN(inputs.arguments, ByName(json.values, signature.parameters, signature.structs,
                                               "argument", ToValue));
  PB_ASSIGN_OR_RETURN(inputs.seeds, ConvertSeed(json.seed, signature, transform));
  return inputs;
}

}  // namespace pullback::cli
