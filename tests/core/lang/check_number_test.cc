// Numbers of nodes.
#include <catch2/catch.hpp>

#include "core/lang/walk.h"
#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

std::vector<uint32_t> Ordinals(const Program& program) {
  std::vector<uint32_t> ordinals;
  for (const auto& f : program.functions) {
    ordinals.push_back(f->first_ordinal);
    ForEachExpr(f->body, [&](const Expr& e) { ordinals.push_back(e.ordinal); });
  }
  return ordinals;
}

TEST_CASE("Numbers: from 1, in pre-order, headers included") {
  Program program = Checked("fn f(x: [n + 1]f64) -> [n]f64 { let y = x[0]; return x[1:] * y }");
  const Function& f = *program.functions[0];
  CHECK(f.first_ordinal == 1);
  CHECK(f.params[0].type.dims[0]->ordinal == 2);
  CHECK(f.params[0].type.dims[0]->operands[1]->ordinal == 4);
  CHECK(f.result.dims[0]->ordinal == 5);
  const Stmt& let = *f.body.stmts[0];
  CHECK(let.ordinal == 6);
  CHECK(let.targets[0].ordinal == 7);
  CHECK(let.value->ordinal == 8);
  CHECK(f.node_count == 16);
  CHECK(program.spans.size() == 17);
}

TEST_CASE("Numbers: name places in the text") {
  Program program =
      Checked("fn f(x: f64) -> f64 {\n; return x / 2\n}\nfn g(x: f64) -> f64 { return x }");
  const Stmt& s = *program.functions[0]->body.stmts[0];
  const Span& span = program.spans[s.value->ordinal];
  CHECK(span.line == 2);
  CHECK(span.column == 10);
  CHECK(program.text.substr(span.begin, span.end - span.begin) == "x / 2");
  const Span& g = program.spans[program.functions[1]->first_ordinal];
  CHECK(program.text.substr(g.begin, g.end - g.begin) == "g");
}

TEST_CASE("Numbers: are those of the tree, whatever the layout and the names") {
  Program a = Checked(R"(fn f(x: [n]f64, k: i64) -> f64 {
  var s = 0.0
  for i < n { s += x[i] ** k }
  if (s > 0) { return [s > 1] * s } # big
  return sum(x)
})");
  Program b = Checked(R"(
fn g(values: [size]f64,power: i64)->f64 { var total = 0.0;
for index < size { total = total + values[index] ** power }
if total > 0 { return ([total > 1] * (total)) } return sum(values) })");
  CHECK(Ordinals(a) == Ordinals(b));
  CHECK(a.spans.size() == b.spans.size());
}

TEST_CASE("Numbers: the prelude's nodes have no place") {
  Program program = Checked("fn f(x: [n]f64) -> f64 { return norm(x) }");
  const Function& norm = *program.functions[1];
  CHECK(norm.first_ordinal == program.functions[0]->node_count + 1);
  REQUIRE(program.spans.size() == norm.first_ordinal + norm.node_count);
  for (uint32_t i = 0; i < norm.node_count; ++i) {
    CHECK(program.spans[norm.first_ordinal + i].line == 0);
  }
}

}  // namespace
}  // namespace pullback::lang
