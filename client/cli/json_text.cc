// Between Json and its text.
#include <nlohmann/json.hpp>
#include <utility>

#include "client/cli/json.h"

namespace pullback::cli {
namespace {

constexpr size_t kMaxDepth = 1000;

using Sax = nlohmann::json_sax<nlohmann::json>;

// Builds the tree from the parser's events. False ends the parse.
class Reader final : public Sax {
 public:
  Json Take() { return std::move(root_); }
  const std::string& error() const { return error_; }

  bool null() override { return Put({}); }
  bool boolean(bool value) override { return Put(Json::Bool(value)); }
  // A 0 that is no unsigned integer is -0, whose sign a float keeps.
  bool number_integer(number_integer_t value) override {
    return Literal(value == 0 ? "-0" : std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override { return Literal(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Literal(text); }
  bool string(string_t& value) override { return Put(Json::String(std::move(value))); }
  bool binary(binary_t&) override { return Fail("binary values are not JSON"); }

  bool start_array(size_t) override { return Open(Json::Array()); }
  bool end_array() override { return Close(); }
  bool start_object(size_t) override { return Open(Json::Object()); }
  bool end_object() override { return Close(); }
  bool key(string_t& name) override {
    if (open_.back().Find(name) != nullptr) return Fail("the key \"" + name + "\" comes twice");
    open_.back().keys.push_back(std::move(name));
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& e) override {
    const std::string what = e.what();  // "[json.exception.parse_error.101] parse error at …"
    const size_t begin = what.find("] ");
    return Fail(begin == std::string::npos ? what : what.substr(begin + 2));
  }

 private:
  bool Literal(std::string text) {
    Json json = Json::Integer(0);
    json.text = std::move(text);
    return Put(std::move(json));
  }
  // The key of an object's item is there already.
  bool Put(Json value) {
    (open_.empty() ? root_ : open_.back().items.emplace_back()) = std::move(value);
    return true;
  }
  bool Open(Json container) {
    if (open_.size() >= kMaxDepth) return Fail("nested too deeply");
    open_.push_back(std::move(container));
    return true;
  }
  bool Close() {
    Json done = std::move(open_.back());
    open_.pop_back();
    return Put(std::move(done));
  }
  bool Fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  Json root_;
  std::vector<Json> open_;
  std::string error_;
};

std::string Quote(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// An object's items have keys, a list's have none.
void AppendItems(const Json& json, char open, char close, std::string* out);

void Append(const Json& json, std::string* out) {
  switch (json.kind) {
    case Json::Kind::kNull: *out += "null"; break;
    case Json::Kind::kBool: *out += json.boolean ? "true" : "false"; break;
    case Json::Kind::kNumber: *out += json.text; break;
    case Json::Kind::kString: *out += Quote(json.text); break;
    case Json::Kind::kArray: AppendItems(json, '[', ']', out); break;
    case Json::Kind::kObject: AppendItems(json, '{', '}', out); break;
  }
}

void AppendItems(const Json& json, char open, char close, std::string* out) {
  *out += open;
  for (size_t i = 0; i < json.items.size(); ++i) {
    if (i > 0) *out += ", ";
    if (!json.keys.empty()) *out += Quote(json.keys[i]) + ": ";
    Append(json.items[i], out);
  }
  *out += close;
}

}  // namespace

StatusOr<Json> ParseJson(std::string_view text) {
  Reader reader;
  if (!nlohmann::json::sax_parse(text, &reader)) {
    return Status(Code::kInvalidArgument, "INVALID_JSON", reader.error());
  }
  return reader.Take();
}

std::string Dump(const Json& json) {
  std::string out;
  Append(json, &out);
  return out;
}

}  // namespace pullback::cli
