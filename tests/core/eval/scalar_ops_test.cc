// Every scalar op of ops.def on literals: IR text `ret op(a, b)` against the literal expected, bit by
// bit (any NaN is the canonical one by then).
#include <limits>
#include <set>

#include "core/ir/literal.h"
#include "tests/core/eval/eval_support.h"

namespace pullback::eval {
namespace {

struct Case {
  const char* expression;
  const char* expected;
};

const Case kCases[] = {
    // arithmetic
    {"add(0.1, 0.2)", "0.30000000000000004"},
    {"add(0.1f, 0.2f)", "0.3f"},
    {"add(16777216.0f, 1.0f)", "16777216.0f"},
    {"add(9223372036854775807, 1)", "-9223372036854775808"},
    {"sub(inf, inf)", "nan"},
    {"sub(0.0, 0.0)", "0.0"},
    {"sub(-9223372036854775808, 1)", "9223372036854775807"},
    {"mul(0.1f, 0.1f)", "0.010000001f"},
    {"mul(0.0, -1.0)", "-0.0"},
    {"mul(4611686018427387904, 2)", "-9223372036854775808"},
    {"div(1.0, 0.0)", "inf"},
    {"div(1.0f, 3.0f)", "0.33333334f"},
    {"div(-7, 2)", "-3"},
    {"div(-9223372036854775808, -1)", "-9223372036854775808"},
    {"rem(-7, 2)", "-1"},
    {"rem(7, -2)", "1"},
    {"rem(-9223372036854775808, -1)", "0"},
    {"rem(7.5, 2.0)", "1.5"},
    {"rem(-4.0, 2.0)", "-0.0"},
    {"rem(1.0f, 0.0f)", "nanf"},
    {"neg(0.0)", "-0.0"},
    {"neg(-9223372036854775808)", "-9223372036854775808"},
    {"smul(0.0, inf)", "0.0"},
    {"smul(-0.0, nan)", "0.0"},
    {"smul(2.0, inf)", "inf"},
    {"smul(nan, 1.0)", "nan"},
    {"smul(2.0f, 0.1f)", "0.2f"},
    {"abs(-0.0)", "0.0"},
    {"abs(-2.5f)", "2.5f"},
    {"abs(-9223372036854775808)", "-9223372036854775808"},
    {"sign(-3.5)", "-1.0"},
    {"sign(-0.0)", "0.0"},
    {"sign(nan)", "nan"},
    {"sign(-3)", "-1"},
    {"min(1.0, 2.0)", "1.0"},
    {"min(nan, 1.0)", "nan"},
    {"min(1.0, nan)", "nan"},
    {"min(0.0, -0.0)", "-0.0"},
    {"min(-0.0, 0.0)", "0.0"},
    {"min(3, -4)", "-4"},
    {"max(1.0, 2.0)", "2.0"},
    {"max(nan, 1.0)", "nan"},
    {"max(1.0, nan)", "nan"},
    {"max(-0.0, 0.0)", "0.0"},
    {"max(0.0, -0.0)", "-0.0"},
    {"max(3, -4)", "3"},
    {"floor(-1.5)", "-2.0"},
    {"ceil(-0.5)", "-0.0"},
    {"round(2.5)", "3.0"},
    {"round(-2.5)", "-3.0"},
    {"round(0.49999999999999994)", "0.0"},
    {"round(0.49999997f)", "0.0f"},
    {"trunc(-1.9)", "-1.0"},
    {"sqrt(2.0)", "1.4142135623730951"},
    {"sqrt(2.0f)", "1.4142135f"},
    {"sqrt(-0.0)", "-0.0"},
    {"sqrt(-1.0)", "nan"},
    // the math table (its accuracy is tested in tests/core/base)
    {"cbrt(-27.0)", "-3.0"},
    {"exp(0.0)", "1.0"},
    {"exp2(10.0)", "1024.0"},
    {"expm1(-0.0)", "-0.0"},
    {"log(1.0)", "0.0"},
    {"log2(8.0f)", "3.0f"},
    {"log10(1000.0)", "3.0"},
    {"log1p(0.0)", "0.0"},
    {"sin(1.0f)", "0.841471f"},
    {"cos(0.0)", "1.0"},
    {"tan(0.0)", "0.0"},
    {"asin(1.0)", "1.5707963267948966"},
    {"acos(1.0)", "0.0"},
    {"atan(1.0)", "0.7853981633974483"},
    {"sinh(0.0)", "0.0"},
    {"cosh(0.0)", "1.0"},
    {"tanh(50.0)", "1.0"},
    {"asinh(0.0)", "0.0"},
    {"acosh(1.0)", "0.0"},
    {"atanh(0.0)", "0.0"},
    {"erf(inf)", "1.0"},
    {"pow(-2.0, 3.0)", "-8.0"},
    {"atan2(0.0, -1.0)", "3.141592653589793"},
    {"hypot(3.0, 4.0)", "5.0"},
    // comparisons
    {"eq(nan, nan)", "false"},
    {"ne(nan, nan)", "true"},
    {"eq(0.0, -0.0)", "true"},
    {"eq(true, true)", "true"},
    {"lt(false, true)", "true"},
    {"lt(nan, 1.0)", "false"},
    {"le(1, 1)", "true"},
    {"gt(2.0f, 1.0f)", "true"},
    {"ge(nan, 1.0)", "false"},
    {"ge(-1, -2)", "true"},
    {"and(true, false)", "false"},
    {"or(true, false)", "true"},
    {"not(true)", "false"},
    {"select(true, 1.0f, 2.0f)", "1.0f"},
    {"select(false, 1, 2)", "2"},
    {"select(false, true, false)", "false"},
};

// The literal, whose sign is a token of its own.
ir::Literal LiteralOf(std::string text) {
  const bool negative = text[0] == '-';
  const auto c = ir::ParseLiteral(negative ? text.substr(1) : text);
  REQUIRE(c);
  return negative ? ir::Negate(*c) : *c;
}

std::string Evaluate(const std::string& expression, DType result) {
  const Result r =
      RunText(std::string("fn @f() -> ") + DTypeName(result) + " { b0: " + expression + " }");
  REQUIRE_FALSE(r.trap);
  uint64_t bits = 0;
  std::memcpy(&bits, r.values[0].data.data(), r.values[0].data.size());
  return ir::LiteralText({result, bits});
}

TEST_CASE("scalar ops give the table's values") {
  for (const Case& c : kCases) {
    INFO(c.expression);
    const ir::Literal expected = LiteralOf(c.expected);
    CHECK(Evaluate(std::string("ret ") + c.expression, expected.type) == c.expected);
  }
}

TEST_CASE("every scalar op has a case above") {
  std::set<std::string> covered;
  for (const Case& c : kCases) {
    covered.insert(std::string(c.expression).substr(0, std::string(c.expression).find('(')));
  }
  for (int i = 0; i < ir::kOpCount; ++i) {
    const ir::OpInfo& info = ir::Info(static_cast<ir::Op>(i));
    if (info.rule == ir::TypeRule::Own || info.rule == ir::TypeRule::Cast) continue;
    INFO(info.mnemonic);
    CHECK(covered.contains(info.mnemonic));
  }
}

struct CastCase {
  const char* from;
  const char* expected;
};
const CastCase kCasts[] = {
    {"2.9", "2"},
    {"-2.9", "-2"},
    {"nan", "0"},
    {"inf", "9223372036854775807"},
    {"-inf", "-9223372036854775808"},
    {"9.3e+18", "9223372036854775807"},
    {"-9.3e+18", "-9223372036854775808"},
    {"3e+09f", "3000000000"},
    {"nanf", "0"},
    {"true", "1"},
    {"9007199254740993", "9007199254740992.0"},
    {"16777217", "16777216.0f"},
    {"16777219", "16777220.0f"},
    {"0.1", "0.1f"},
    {"1e+300", "inff"},
    {"0.1f", "0.10000000149011612"},
    {"true", "1.0"},
    {"false", "0.0f"},
    {"0.0", "false"},
    {"-0.0", "false"},
    {"nan", "true"},
    {"1e-45f", "true"},
    {"-1", "true"},
    {"0", "false"},
    {"true", "true"},
};

TEST_CASE("casts round, truncate and saturate") {
  for (const CastCase& c : kCasts) {
    INFO(c.from << " to " << c.expected);
    const DType to = LiteralOf(c.expected).type;
    const std::string cast =
        std::string("%x = const ") + c.from + " %y = cast %x : " + DTypeName(to) + " ret %y";
    CHECK(Evaluate(cast, to) == c.expected);
  }
}

TEST_CASE("integer arithmetic traps on a zero divisor, float arithmetic does not") {
  for (const char* op : {"div", "rem"}) {
    const std::string name = op;
    const Trap t =
        TrapOf("fn @f(%n: i64) -> i64 { b0: %q = " + name + " 1, %n !7 ret %q }", {Tensor::I64(0)});
    CHECK(t.kind == ir::TrapKind::kDivideByZero);
    CHECK(t.loc == 7);
    CHECK_FALSE(RunText("fn @f() -> f64 { b0: ret " + name + "(1.0, 0.0) }").trap);
  }
}

TEST_CASE("results have canonical NaNs, also inside arrays") {
  const Result r = RunText(R"(fn @f(%x: f64, %a: [*]f32) -> (f64, [*]f32) { b0: ret %x, %a })",
                           {Tensor::F64(-std::numeric_limits<double>::quiet_NaN()),
                            Tensor::Of<uint32_t>(DType::kF32, {2}, {0xffc12345, 0x3f800000})});
  CHECK(r.values[0].At<uint64_t>(0) == 0x7ff8000000000000);
  CHECK(r.values[1].At<uint32_t>(0) == 0x7fc00000);
  CHECK(r.values[1].At<uint32_t>(1) == 0x3f800000);
}

}  // namespace
}  // namespace pullback::eval
