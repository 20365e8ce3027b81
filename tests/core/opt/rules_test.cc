// Every rewrite rule with a pattern: applied to a function that is its pattern, at numbers where IEEE is least
// like a ring.
#include "core/opt/rules.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/eval/interpreter.h"
#include "core/ir/builder.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "core/opt/simplify.h"
#include "core/opt/terms.h"
#include "tests/support/values.h"

namespace pullback::opt {
namespace {

using ir::Type;
using ir::Value;

constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<double> kFloats = {0.0,    -0.0, 1.0,   -2.5,  1e300,
                                     5e-324, kInf, -kInf, 0.125, std::nan("")};
const std::vector<int64_t> kInts = {0, 1, -1, 7, INT64_MIN, INT64_MAX};

Type TypeIn(Domain domain, bool ints) {
  if (domain == Domain::kBool) return Type::Bool();
  if (domain == Domain::kFloat || domain == Domain::kFast) return Type::F64();
  if (domain == Domain::kDiscrete) return ints ? Type::I64() : Type::Bool();
  return ints ? Type::I64() : Type::F64();
}

// What a term computes, of parameters of one type but for conditions, which are bools.
class TermFunction {
 public:
  TermFunction(const Rule& rule, Type type)
      : type_(type), condition_(std::string_view(rule.left).starts_with("select")) {
    ir::Function& f = module.Get(module.AddFunction("f"));
    ir::Builder b(module, f);
    b.NewBlock();
    // Arms of a select are f64, but where the pattern names them.
    const bool bools = std::string_view(rule.left).find("true, false") != std::string::npos;
    if (condition_ && !bools) type_ = Type::F64();
    const bool first_is_arm = std::string_view(rule.left).starts_with("select(true") ||
                              std::string_view(rule.left).starts_with("select(false");
    for (int k = 0; k < kTermVariables; ++k) {
      const std::string chooses = std::string("select(") + static_cast<char>('a' + k) + ",";
      const bool inner = std::string_view(rule.left).find(chooses, 1) != std::string::npos;
      const bool is_condition = inner || (condition_ && !first_is_arm && k == 0);
      types.push_back(is_condition ? Type::Bool() : type_);
      b.AddParam(0, types.back());
    }
    b.SetBlock(0);
    const Value v = Make(b, ParseTerm(rule.left), condition_ ? Type::Bool() : type_, true);
    f.results = {f.TypeOf(v)};
    b.Return({v});
    REQUIRE(ir::Verify(module).ok());
  }

  ir::Module module;
  std::vector<Type> types;

 private:
  Value Make(ir::Builder& b, const Term& t, Type type, bool root = false) {
    switch (t.kind) {
      case Term::Kind::kVariable: return module.Get(0).params()[static_cast<size_t>(t.variable)];
      case Term::Kind::kBool: return b.Bool(t.truth);
      case Term::Kind::kNumber:
        return type.IsFloat() ? b.F64(t.number) : b.I64(static_cast<int64_t>(t.number));
      default: break;
    }
    std::vector<Value> args;
    for (const Term& operand : t.operands)
      args.push_back(Make(b, operand, root && condition_ && !args.empty() ? type_ : type));
    return b.Make(t.op, args);
  }

  Type type_;
  bool condition_;
};

std::vector<Tensor> ValuesOf(Type t) {
  std::vector<Tensor> values;
  if (t == Type::Bool()) return {Tensor::Bool(false), Tensor::Bool(true)};
  if (t == Type::I64()) {
    for (int64_t v : kInts) values.push_back(Tensor::I64(v));
  } else {
    for (double v : kFloats) values.push_back(Tensor::F64(v));
  }
  return values;
}

// `smul` of a zero may be either zero.
bool IsSame(const Tensor& a, const Tensor& b, bool strong) {
  if (!strong) return testing::SameBits(a, b);
  const double x = testing::FloatAt(a, 0), y = testing::FloatAt(b, 0);
  return x == y || (std::isnan(x) && std::isnan(y));
}

void CheckSame(const ir::Module& before, const ir::Module& after, const std::vector<Type>& types,
               bool strong) {
  for (const Tensor& a : ValuesOf(types[0])) {
    for (const Tensor& b : ValuesOf(types[1])) {
      for (const Tensor& c : ValuesOf(types[2])) {
        const auto was = eval::Run(before, {a, b, c}), is = eval::Run(after, {a, b, c});
        REQUIRE((was.ok() && is.ok()));
        REQUIRE(IsSame(was->values[0], is->values[0], strong));
      }
    }
  }
}

// Neither a family that is off nor one without fuel does anything.
void CheckUntouched(const ir::Module& module, RewriteOptions options, const char* rule) {
  for (const uint64_t fuel : {uint64_t{5}, uint64_t{0}}) {
    RuleCounts counts;
    counts.fuel = fuel;
    options.counts = &counts;
    ir::Module same = module.Clone();
    FoldConstants(same.Get(0), options);
    CHECK(counts.Of(FindRule(rule)) == 0);
    CHECK(counts.Total() + counts.fuel == fuel);
    if (counts.Total() == 0) CHECK(ir::Print(same) == ir::Print(module));
    options.families = kAllFamilies;
  }
}

TEST_CASE("rules: each is applied to its own pattern and changes no value") {
  for (const Rule& rule : Rules()) {
    if (!rule.IsPattern() || rule.family == Family::kFusion) continue;
    for (const bool ints : {false, true}) {
      const Type type = TypeIn(rule.domain, ints);
      CAPTURE(rule.name, ToString(type));
      const TermFunction before(rule, type);
      const bool needs_fast =
          rule.domain == Domain::kFast || (rule.domain == Domain::kRing && !ints);
      ir::Module after = before.module.Clone();
      RuleCounts counts;
      RewriteOptions options;
      options.counts = &counts;
      FoldConstants(after.Get(0), options);
      REQUIRE(ir::Verify(after).ok());
      CHECK(counts.Of(FindRule(rule.name)) == (needs_fast ? 0 : 1));
      CheckSame(before.module, after, before.types,
                std::string_view(rule.left).starts_with("smul"));
      RewriteOptions off;
      off.families &= ~(1U << static_cast<int>(rule.family));
      off.fast_math = true;
      CheckUntouched(before.module, off, rule.name);
      if (!needs_fast) continue;
      options.fast_math = true;
      FoldConstants(after.Get(0), options);
      CHECK(counts.Of(FindRule(rule.name)) == 1);
    }
  }
}

TEST_CASE("rules: the length of what is built is its extent") {
  ir::Module module;
  ir::Function& f = module.Get(module.AddFunction("f"));
  ir::Builder b(module, f);
  b.NewBlock();
  const Value n = b.AddParam(0, Type::I64());
  b.SetBlock(0);
  const Value d = b.Dim(b.Zeros(DType::kF64, {n, n}), 1);
  f.results = {Type::I64()};
  b.Return({d});
  RuleCounts counts;
  RewriteOptions options;
  options.counts = &counts;
  FoldConstants(f, options);
  CHECK(counts.Of(RuleId::kLengthOfBuild) == 1);
  CHECK(f.blocks[0].term.results[0] == n);
}

TEST_CASE("rules: fuel bounds rewrites, families are chosen, the account says what was done") {
  const TermFunction program(Get(RuleId::kMulOne), Type::F64());
  const auto fired = [&](RewriteOptions options, uint64_t fuel) {
    RuleCounts counts;
    counts.fuel = fuel;
    options.counts = &counts;
    ir::Module m = program.module.Clone();
    FoldConstants(m.Get(0), options);
    return ToString(counts);
  };
  CHECK(fired({}, 5) == "8b  mul_one                           1  mul(a, 1) -> a\n");
  CHECK(fired({}, 0).empty());
  RewriteOptions others;
  others.families &= ~(1U << static_cast<int>(Family::kRing));
  CHECK(fired(others, 5).empty());
}

TEST_CASE("rules: a product that is used again is not factored") {
  ir::Module module;
  ir::Function& f = module.Get(module.AddFunction("f"));
  ir::Builder b(module, f);
  b.NewBlock();
  std::vector<Value> p;
  for (int k = 0; k < 3; ++k) p.push_back(b.AddParam(0, Type::I64()));
  b.SetBlock(0);
  const Value left = b.Make(ir::Op::Mul, {p[0], p[1]}), right = b.Make(ir::Op::Mul, {p[2], p[0]});
  f.results = {Type::I64(), Type::I64()};
  b.Return({b.Make(ir::Op::Add, {left, right}), left});
  CHECK_FALSE(FoldConstants(f));
  f.blocks[0].term.results[1] = p[0];
  CHECK(FoldConstants(f));
  CHECK(f.blocks[0].insts.back().op == ir::Op::Mul);
  REQUIRE(ir::Verify(module).ok());
}

}  // namespace
}  // namespace pullback::opt
