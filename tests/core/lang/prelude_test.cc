// The prelude: every function checks, by itself and where a program calls it.
#include <catch2/catch.hpp>

#include <set>

#include "core/lang/builtins.h"
#include "tests/core/lang/check_support.h"

namespace pullback::lang {

extern const char* const kPreludeText;

namespace {

Program ParsedPrelude() {
  StatusOr<Program> program = Parse(kPreludeText);
  INFO(program.status().ToString());
  REQUIRE(program.ok());
  return std::move(*program);
}

// An argument of that type, as text.
std::string ArgumentText(const ApiType& type) {
  std::string text = type.dtype == DType::kI64 ? "2" : type.dtype == DType::kBool ? "true" : "0.5";
  if (type.dims.empty()) return text;
  std::string binders;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    bool three = type.dims[i] == "3";
    binders += (i == 0 ? "i" : ", i") + std::to_string(i) + " < " + (three ? "3" : "4");
  }
  return "gen " + binders + " { " + text + " }";
}

TEST_CASE("Prelude: is a correct program by itself") {
  Program program = ParsedPrelude();
  Status status = pullback::lang::Check(program);
  INFO(status.ToString());
  CHECK(status.ok());
}

TEST_CASE("Prelude: every function can be called, with the types that its header says") {
  Program prelude = ParsedPrelude();
  std::set<std::string> names;
  for (const auto& f : prelude.functions) {
    INFO(f->name);
    CHECK(names.insert(f->name).second);
    CHECK(FindBuiltin(f->name) == -1);  // a call would never reach it
    if (f->is_template) continue;       // they have no types of their own; the values call them
    StatusOr<Signature> signature = GetSignature(prelude, f->name);
    REQUIRE(signature.ok());
    std::string call = f->name + "(";
    for (const Parameter& p : signature->params) call += ArgumentText(p.type) + ", ";
    Program program = Checked("fn entry() { let r = " + call + ") }");
    REQUIRE(program.functions.size() >= 2);
    CHECK(program.functions[1]->name == f->name);
    CHECK(program.functions[1]->from_prelude);
    CHECK(program.functions[1]->result_type.kind != Type::Kind::kUnit);
  }
  CHECK(names.size() >= 90);
}

TEST_CASE("Prelude: functions that are not called are not there") {
  Program program = Checked("fn f(x: f64) -> f64 { return square(x) }");
  CHECK(program.functions.size() == 2);
}

}  // namespace
}  // namespace pullback::lang
