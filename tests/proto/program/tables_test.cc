// Tables that no text gave: what they mean, what malformed ones say, limits.
#include <google/protobuf/text_format.h>

#include <catch2/catch.hpp>

#include "proto/program/tables.h"
#include "tests/support/paths.h"
#include "tests/support/repeat.h"
#include "tests/support/small_stack.h"

namespace pullback::test {
namespace {

using testing::Repeat;

using google::protobuf::TextFormat;

constexpr char kSquare[] = R"(
  types { scalar: DTYPE_F64 }
  expressions { name: "x" }
  expressions { binary { op: BINARY_OPERATOR_MUL left: 0 right: 0 } }
  statements { returns { value: 1 } }
  functions { name: "square" parameters { name: "x" type: 0 } result: 0 body { statements: 0 } }
)";

v1::ProgramTables Tables(const std::string& text) {
  v1::ProgramTables tables;
  REQUIRE(TextFormat::ParseFromString(text, &tables));
  return tables;
}

// The text of `square` with this in place of its product.
std::string TextOf(const std::string& expressions, const std::string& more = "") {
  v1::ProgramTables tables = Tables(kSquare);
  tables.mutable_expressions()->DeleteSubrange(1, 1);
  v1::ProgramTables added = Tables(expressions + more);
  tables.MergeFrom(added);
  const auto text = program::ToText(tables);
  return text.ok() ? *text
                   : text.status().diagnostics()[0].excerpt + ": " +
                         text.status().diagnostics()[0].message;
}

std::string Returned(const std::string& value) {
  return "fn square(x: f64) -> f64 { return " + value + " }\n";
}

TEST_CASE("tables: the example of docs/api.md") {
  const std::string document = testing::ReadSourceFile("docs/api.md");
  const std::string fence = "```textproto\n";
  const size_t begin = document.find(fence) + fence.size();
  const v1::ProgramTables tables =
      Tables(document.substr(begin, document.find("```", begin) - begin));
  CHECK(*program::ToText(tables) ==
        "fn norm2(x: [n]f64) -> f64 { return sum i < n { x[i] ** 2 } }\n");
}

TEST_CASE("tables: parts may be used twice and stand in any order") {
  CHECK(*program::ToText(Tables(kSquare)) == Returned("x * x"));
  CHECK(TextOf("expressions { binary { op: BINARY_OPERATOR_ADD left: 2 right: 2 } }"
               "expressions { unary { op: UNARY_OPERATOR_NEG operand: 0 } }") ==
        Returned("-x + -x"));
  CHECK(TextOf("expressions { name: 'x' } expressions { name: 'never' }") == Returned("x"));
}

TEST_CASE("tables: literals") {
  CHECK(TextOf("expressions { integer: -3 }") == Returned("-3"));
  CHECK(TextOf("expressions { integer: -9223372036854775808 suffix: DTYPE_I64 }") ==
        Returned("-9223372036854775808i64"));
  CHECK(TextOf("expressions { real: -0.0 }") == Returned("-0.0"));
  CHECK(TextOf("expressions { real: 1e300 }") == Returned("1e+300"));
  CHECK(TextOf("expressions { real: 0.1 suffix: DTYPE_F32 }") == Returned("0.1f32"));
  CHECK(TextOf("expressions { binary { op: BINARY_OPERATOR_POW left: 2 right: 3 } }"
               "expressions { integer: -2 } expressions { real: -0.5 }") ==
        Returned("(-2) ** -0.5"));
}

TEST_CASE("tables: brackets are where the text needs them") {
  const std::string exists =
      "expressions { comprehension { kind: COMPREHENSION_KIND_EXISTS"
      " binders { name: 'i' high: 4 } body { result: 3 } } }"
      "expressions { boolean: true } expressions { integer: 3 }";
  CHECK(TextOf("expressions { binary { op: BINARY_OPERATOR_AND left: 2 right: 3 } }" + exists) ==
        Returned("(exists i < 3: true) and true"));
  CHECK(TextOf("expressions { apply { function: 2 arguments: 0 } }"
               "expressions { comprehension { kind: COMPREHENSION_KIND_SUM"
               " binders { name: 'i' low: 3 high: 4 } body { result: 0 } } }"
               "expressions { integer: 0 } expressions { integer: 2 }") ==
        Returned("(sum i in 0..2 { x })(x)"));
  CHECK(TextOf("expressions { binary { op: BINARY_OPERATOR_SUB left: 2 right: 2 } }"
               "expressions { binary { op: BINARY_OPERATOR_SUB left: 0 right: 0 } }") ==
        Returned("x - x - (x - x)"));
  CHECK(TextOf("expressions { chain { operands: [0, 2, 0] ops: BINARY_OPERATOR_LT"
               " ops: BINARY_OPERATOR_LE } } expressions { binary { op: BINARY_OPERATOR_LT"
               " left: 0 right: 0 } }") == Returned("x < (x < x) <= x"));
}

TEST_CASE("tables: what is malformed says where") {
  struct Case {
    const char* expressions;
    const char* message;
  };
  const Case cases[] = {
      {"expressions { binary { op: BINARY_OPERATOR_MUL left: 99 } }",
       "expressions[1].binary.left: 99 is out of range, there are 2 expressions"},
      {"expressions { unary { op: UNARY_OPERATOR_NEG operand: 1 } }",
       "expressions[1].unary.operand: expressions[1] is part of itself"},
      {"expressions { binary { left: 0 right: 0 } }", "expressions[1].binary.op: no such operator"},
      {"expressions { }", "expressions[1]: the expression is empty"},
      {"expressions { name: '1x' }",
       "expressions[1].name: '1x' is not a name: letters, digits and _, no digit first"},
      {"expressions { name: 'while' }", "expressions[1].name: 'while' is a reserved word"},
      {"expressions { name: 'x) + g(x' }",
       "expressions[1].name: 'x) + g(x' is not a name: letters, digits and _, no digit first"},
      {"expressions { real: nan }", "expressions[1].real: a literal is a finite number"},
      {"expressions { real: 1e39 suffix: DTYPE_F32 }",
       "expressions[1].real: this number is too large for f32"},
      {"expressions { integer: 1 suffix: DTYPE_F64 }",
       "expressions[1].suffix: an integer's suffix is I64, a real's F64 or F32"},
      {"expressions { tuple { elements: 0 } }",
       "expressions[1]: a tuple has at least two elements"},
      {"expressions { index { base: 0 subscripts { slice { step: 0 } } } }",
       "expressions[1].index.subscripts[0].slice.step: a slice's step is positive"},
      {"expressions { index { base: 0 } }", "expressions[1].index: there are no subscripts"},
      {"expressions { field { base: 0 name: 'T' } }",
       "expressions[1].field.name: a field cannot be named 'T': x.T is the transpose"},
      {"expressions { with { base: 0 path { element: 1 } value: 0 } }",
       "expressions[1].with: the path begins with a struct's field"},
      {"expressions { call { function: 'f' arguments: 0 labels: 'a' labels: 'b' } }",
       "expressions[1].call.labels: either every argument has a label or none"},
      {"expressions { comprehension { kind: COMPREHENSION_KIND_SUM binders { name: 'i' } } }",
       "expressions[1].comprehension.body: this block gives a value: it needs a result"},
      {"expressions { comprehension { kind: COMPREHENSION_KIND_EXISTS binders { name: 'i' }"
       " body { statements: 0 result: 0 } } }",
       "expressions[1].comprehension.body: the body of 'exists' is a result alone"},
      {"expressions { conditional { arms { body { result: 0 } } } }",
       "expressions[1].conditional: a conditional expression needs an otherwise"},
      {"expressions { lambda { body { statements: 0 result: 0 } } }",
       "expressions[1].lambda.body.statements[0]: statements[0] is part of itself"},
      {"expressions { scan { kind: COMPREHENSION_KIND_GEN } }",
       "expressions[1].scan: there are scans of sum, prod, max and min only"},
      {"expressions { name: 'x' } functions { }", "functions[1].name: there is no name"},
      {"expressions { name: 'x' } functions { name: 'g' body { result: 0 } }",
       "functions[1].body: this block gives no value: it has no result"},
      {"expressions { name: 'x' } functions { name: 'g' parameters { name: 'a' } }",
       "functions[1].parameters[0]: a function's parameter has a type"},
      {"expressions { name: 'x' } types { list: 1 } functions { name: 'g' result: 1 }",
       "types[1].list: types[1] is part of itself"},
      {"expressions { name: 'x' } types { array { sizes: 0 element: 2 } } types { list: 0 }"
       "functions { name: 'g' result: 1 }",
       "types[1].array.element: the element of an array is a scalar, a name or a tuple"},
      {"expressions { name: 'x' } statements { assign { targets { name: 'a'"
       " path { subscripts { items { index: 7 } } } } } }"
       "functions { name: 'g' body { statements: 1 } }",
       "statements[1].assign.targets[0].path[0].subscripts.items[0].index: 7 is out of range, "
       "there are 2 expressions"},
      {"expressions { name: 'x' } statements { call: 1 } functions { name: 'g' body {"
       " statements: 1 } }",
       "statements[1].call: this expression is no call"},
      {"expressions { name: 'x' } statements { jump: JUMP_UNSPECIFIED } functions { name: 'g'"
       " body { statements: 1 } }",
       "statements[1].jump: neither a break nor a continue"},
      {"expressions { name: 'x' } structs { name: 'S' fields { name: 'a' } }",
       "structs[0].fields[0]: a field has a type"},
  };
  for (const Case& c : cases) {
    INFO(c.expressions);
    CHECK(TextOf(c.expressions) == std::string("program.tables.") + c.message);
  }
  CHECK(program::ToText({}).status().message() ==
        "program.tables.functions: a program has at least one function");
}

// --- limits

// x + (x + (… )) or -(-(…)), `depth` deep.
v1::ProgramTables Deep(uint32_t depth, bool prefix) {
  v1::ProgramTables tables = Tables(kSquare);
  for (uint32_t i = 0; i < depth; ++i) {
    v1::Expression* e = i == 0 ? tables.mutable_expressions(1) : tables.add_expressions();
    const auto next = i + 1 < depth ? i + 2 : 0;
    if (prefix) {
      e->mutable_unary()->set_op(v1::UNARY_OPERATOR_NEG);
      e->mutable_unary()->set_operand(next);
    } else {
      e->mutable_binary()->set_op(v1::BINARY_OPERATOR_ADD);
      e->mutable_binary()->set_left(next);
      e->mutable_binary()->set_right(0);
    }
  }
  return tables;
}

TEST_CASE("tables: the limits are those of text") {
  const auto reason = [](const v1::ProgramTables& tables, const lang::Limits& limits = {}) {
    const auto text = program::ToText(tables, limits);
    if (!text.ok()) return text.status().reason();
    const auto parsed = lang::Parse(*text, limits);
    return parsed.ok() ? std::string() : parsed.status().reason();
  };
  CHECK(reason(Deep(2000, false)) == "");
  CHECK(reason(Deep(2001, false)) == "NESTING_TOO_DEEP");
  CHECK(reason(Deep(1000000, false)) == "NESTING_TOO_DEEP");
  CHECK(reason(Deep(99, true)) == "");
  CHECK(reason(Deep(100, true)) == "NESTING_TOO_DEEP");
  CHECK(reason(Deep(1000000, true)) == "NESTING_TOO_DEEP");
  const Status deep = program::ToText(Deep(1000, true)).status();
  CHECK(deep.diagnostics()[0].excerpt == "program.tables.expressions[100]");

  // Each adds the one before to itself: the text of the last is 2^40 names long.
  v1::ProgramTables doubling = Tables(kSquare);
  for (uint32_t i = 0; i < 40; ++i) {
    v1::Binary* sum = doubling.add_expressions()->mutable_binary();
    sum->set_op(v1::BINARY_OPERATOR_ADD);
    sum->set_left(i + 1);
    sum->set_right(i + 1);
  }
  doubling.mutable_statements(0)->mutable_returns()->set_value(41);
  CHECK(reason(doubling) == "SOURCE_TOO_LARGE");
  lang::Limits few;
  few.max_ir_insts = 1000;
  CHECK(reason(doubling, few) == "PROGRAM_TOO_LARGE");
  v1::ProgramTables named = Tables(kSquare);
  named.mutable_functions(0)->set_name(std::string(2 << 20, 'n'));
  CHECK(reason(named) == "SOURCE_TOO_LARGE");
}

// `open` and `close` n times around something.
std::string Nested(const std::string& open, const std::string& close, int n,
                   const std::string& what) {
  return "fn f(x: f64) -> f64 {\n  return " + Repeat(open, n) + what + Repeat(close, n) + "\n}\n";
}

std::string VerdictOf(const Status& status) {
  if (status.ok()) return "";
  return status.reason() + ": " + status.diagnostics()[0].message;
}

TEST_CASE("tables: too deep is as deep as in text, and says the same") {
  const std::pair<const char*, const char*> forms[] = {
      {"x + (", ")"},
      {"x - (", ")"},
      {"x < (x < ", ")"},
      {"(", ") ** x"},
      {"(x + ", ").T"},
      {"(x + ", ")[0]"},
      {"(x * ", ").a"},
      {"-", ""},
      {"not ", ""},
      {"[", "]"},
      {"f(", ")"},
      {"f64(", ")"},
      {"(x, ", ")"},
      {"[x, ", "]"},
      {"x[", "]"},
      {"sum i < 2 { ", " }"},
      {"|y| ", ""},
      {"(|y| ", ")(x)"},
      {"(sum i < 2 { ", " })(x)"},
      {"x and (exists i < 2: ", ")"},
      {"if true { ", " } else { x }"},
      {"(if x { ", " } else { x }).T"},
      {"sum i < (if x { ", " } else { 1 }) { x }"},
      {"x + (x with a = ", ")"},
      {"(x with a = ", ").a"},
  };
  lang::Limits roomy;
  roomy.max_nesting = 10000;
  for (const auto& [open, close] : forms) {
    bool refused = false;
    for (int n = 20; n <= 102; ++n) {
      const std::string text = Nested(open, close, n, "x - x");
      INFO(open << close << " " << n);
      const auto program = lang::Parse(text, roomy);
      REQUIRE(program.ok());
      const v1::ProgramTables tables = program::ToTables(*program);
      CHECK(VerdictOf(program::ToText(tables).status()) == VerdictOf(lang::Parse(text).status()));
      refused = refused || !program::ToText(tables).ok();
    }
    CHECK(refused);
  }
}

// What reads, formats and parses takes less than what checks and lowers.
void OnTinyStack(const std::function<void()>& run) {
  testing::OnSmallStack(run, testing::kSmallStack / 2);
}

TEST_CASE("tables: as deep as they may be they fit on little stack") {
  const int most = lang::Limits().max_chain;
  const std::pair<const char*, const char*> forms[] = {
      {"", " + x"}, {"", " ** x"}, {"", ".T"},     {"", ".a"},
      {"", "[0]"},  {"", "(x)"},   {"", ".(x).T"}, {"", " with a = x"}};
  for (const auto& [open, close] : forms) {
    INFO(close);
    const int links = std::string(close) == ".(x).T" ? most / 2 : most;
    OnTinyStack([&] {
      const auto program = lang::Parse(Nested(open, close, links, "x"));
      CHECK(program.ok());
      if (!program.ok()) return;
      const auto text = program::ToText(program::ToTables(*program));
      CHECK(text.ok());
      if (text.ok()) CHECK(lang::Parse(*text).ok());
    });
  }
  for (const bool prefix : {false, true}) {
    OnTinyStack([&] {
      CHECK(program::ToText(Deep(1000000, prefix)).status().reason() == "NESTING_TOO_DEEP");
    });
  }
}

}  // namespace
}  // namespace pullback::test
