// Supports against what the interpreter stores: no element outside of them is other than 0, and where the
// body is made of guards alone they are exact.
#include "core/analysis/support.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "core/analysis/outer_values.h"
#include "core/eval/interpreter.h"
#include "core/ir/parser.h"
#include "core/ir/printer.h"
#include "tests/core/analysis/points.h"

namespace pullback::analysis {
namespace {

constexpr int64_t kSize = 5;

const ir::Inst& Statement(const ir::Function& f) {
  for (const ir::Inst& inst : f.blocks[0].insts) {
    if (inst.each) return inst;
  }
  FAIL("no statement");
  return f.blocks[0].insts[0];
}

ir::Module Parse(const std::string& text) {
  StatusOr<ir::Module> m = ir::ParseModule(text);
  INFO(text << m.status().ToString());
  REQUIRE(m.ok());
  return std::move(*m);
}

Tensor Evaluate(const ir::Module& m) {
  Tensor x{DType::kF64, {kSize}, std::vector<uint8_t>(kSize * sizeof(double))};
  for (int64_t i = 0; i < kSize; ++i) {
    const double v = static_cast<double>(i + 1);
    std::memcpy(x.data.data() + static_cast<size_t>(i) * sizeof v, &v, sizeof v);
  }
  const StatusOr<eval::Result> result = eval::Run(m, {x}, {});
  REQUIRE(result.ok());
  REQUIRE(!result->trap);
  return result->values[0];
}

struct Case {
  const char* body;  // of each(i < n, j < n)
  const char* result;
  const char* support;  // the pieces, as text
  bool exact;
};

const Case kCases[] = {
    {"%v = index %x[%i]", "%v", "{}", true},
    {"%g = holds (%i == %j)  %v = index %x[%i] if %g", "%v", "{%i == %j}", true},
    {"%g = holds (%i == %j)  %h = holds (%i < %j)  %u = index %x[%i] if %g  %v = index %x[%j] if "
     "%h\n"
     "%s = add %u, %v",
     "%s", "{%i == %j} {%i < %j}", true},
    {"%g = holds (%i == %j)  %h = holds (%i == %j + 1)  %u = index %x[%i] if %g\n"
     "%v = index %x[%j] if %h  %s = mul %u, %v",
     "%s", "", true},
    {"%g = holds (%i <= 3)  %h = holds (%j <= %i) if %g  %u = index %x[%i] if %h  %w = neg %u\n"
     "%c = eq %w, 0.0  %y = mul %w, %u  %z = select %c, 0.0, %y",
     "%z", "{%j <= %i and %i <= 3}", true},
    // One piece lies in the other.
    {"%g = holds (%i == %j)  %h = holds (%i <= %j)  %u = index %x[%i] if %g  %v = index %x[%j] if "
     "%h\n"
     "%s = add %u, %v",
     "%s", "{%i <= %j}", true},
    // A condition on data says nothing of points; 0 by arithmetic neither.
    {"%u = index %x[%i]  %c = gt %u, 2.0  %v = select %c, %u, 0.0  %d = sub %v, %v", "%d", "{}",
     false},
};

std::string Text(const ir::Function& f, const std::vector<Conjunction>& pieces) {
  std::string text;
  for (const Conjunction& c : pieces)
    text += (text.empty() ? "{" : " {") + PrintConstraints(f, c) + "}";
  return text;
}

TEST_CASE("support: where a statement may store other than 0") {
  for (const Case& c : kCases) {
    const ir::Module m =
        Parse("fn @f(%x: [*]f64) -> [*,*]f64 { b0: %n = dim %x, 0\n%y = each(i < %n, j < %n) {\n" +
              std::string(c.body) + "\n} gen [%i, %j] of (%n, %n): " + c.result + "\nret %y }");
    const ir::Function& f = m.Get(m.entry);
    const ir::Each& each = *Statement(f).each;
    const auto pieces = SupportOf(each, each.results[0], OuterValues(f).BoxOf(each));
    INFO(c.body);
    CHECK(Text(f, pieces) == c.support);
    const Tensor y = Evaluate(m);
    for (int64_t i = 0; i < kSize; ++i) {
      for (int64_t j = 0; j < kSize; ++j) {
        const Point at = {
            {each.indices[0].var, i}, {each.indices[1].var, j}, {each.indices[0].extent, kSize}};
        bool inside = false;
        for (const Conjunction& piece : pieces) inside |= Holds(piece, at);
        INFO(i << ", " << j);
        if (c.exact) CHECK((y.At<double>(i * kSize + j) != 0) == inside);
        if (!inside) CHECK(y.At<double>(i * kSize + j) == 0);
      }
    }
  }
}

// More pieces than are followed: everywhere, in time.
TEST_CASE("support: many pieces") {
  std::string body, sum = "%u0";
  for (int k = 0; k < 40; ++k) {
    const std::string n = std::to_string(k);
    body +=
        "%g" + n + " = holds (%i == %j + " + n + ")  %u" + n + " = index %x[%i] if %g" + n + "\n";
    if (k == 0) continue;
    body += "%s" + n + " = add " + sum + ", %u" + n + "\n";
    sum = "%s" + n;
  }
  const ir::Module m =
      Parse("fn @f(%x: [*]f64) -> [*,*]f64 { b0: %n = dim %x, 0\n%y = each(i < %n, j < %n) {\n" +
            body + "} gen [%i, %j] of (%n, %n): " + sum + "\nret %y }");
  const ir::Function& f = m.Get(m.entry);
  const ir::Each& each = *Statement(f).each;
  CHECK(Text(f, SupportOf(each, each.results[0], OuterValues(f).BoxOf(each))) == "{}");
}

}  // namespace
}  // namespace pullback::analysis
