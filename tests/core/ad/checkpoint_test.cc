// Checkpointed calls and binomial schedules: the same bits, less on the tape.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "core/ir/checkpointed_loop.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

eval::Result Evaluated(const ir::Module& m, const std::vector<Tensor>& args) {
  StatusOr<eval::Result> r = eval::Run(m, args);
  INFO(ir::Print(m));
  INFO(r.status().ToString());
  REQUIRE(r.ok());
  REQUIRE(!r->trap);
  return std::move(r).value();
}

void CheckSameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    INFO("result " << k);
    CHECK(a[k].shape == b[k].shape);
    CHECK(a[k].data == b[k].data);
  }
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// Every turn goes through four functions of the table: what they keep is on the tape, or r alone is.
const std::string kScalarLoop =
    "entry @g\n"
    "fn @g(%x: f64, %n: i64) -> f64 { b0: jump b1(%x, 0)\n"
    "b1(%r: f64, %k: i64): br lt(%k, %n), b2, b3\n"
    "b2: %s, %m = call CHECKPOINT @step(%r, %x, %k)  jump b1(%s, add(%k, 1))\nb3: ret %r }\n"
    "fn @step(%r: f64, %x: f64, %k: i64) -> (f64, i64) { b0:\n"
    "%a = sin mul(%r, %x)  %b = exp cos(%a)  %c = mul %b, sin(add(%a, %b))  ret %c, add(%k, 1) }\n";

// The state is an array; the step calls a function and has a loop of its own.
const std::string kArrayLoop =
    "entry @g\n"
    "fn @g(%x: [*]f64, %n: i64) -> f64 { b0: jump b1(%x, 0)\n"
    "b1(%r: [*]f64, %k: i64): br lt(%k, %n), b2, b3\n"
    "b2: %s = call CHECKPOINT @step(%r, %x)  jump b1(%s, add(%k, 1))\n"
    "b3: %d = dim %r, 0\n"
    "%s2 = each(i < %d) { %u = index %r[%i] } sum []: %u\nret %s2 }\n"
    "fn @step(%r: [*]f64, %x: [*]f64) -> [*]f64 { b0: %d = dim %r, 0  jump b1(%r, 1)\n"
    "b1(%y: [*]f64, %i: i64): br lt(%i, %d), b2, b3\n"
    "b2: %u = index %y[%i - 1]  %v = index %x[%i]  %w = call @mix(%u, %v)\n"
    "%z = update %y[%i], %w  jump b1(%z, add(%i, 1))\nb3: ret %y }\n"
    "fn @mix(%u: f64, %v: f64) -> f64 { b0: ret sin(mul(%u, exp(%v))) }\n";

TEST_CASE("checkpoint: the same bits, and less on the tape") {
  struct {
    std::string text;
    std::vector<Tensor> args;
  } cases[] = {{kScalarLoop, {Tensor::F64(0.7), Tensor::I64(20)}},
               {kArrayLoop, {Vec({0.5, -0.3, 0.8, 1.1, 0.2, -0.6}), Tensor::I64(20)}}};
  for (auto& c : cases) {
    const std::vector<Tensor> primal = c.args;
    c.args.push_back(Tensor::F64(1));  // vjp: reverse mode, whatever the arguments are
    for (bool optimise : {true, false}) {
      const ir::Module with = ParseIr(Replaced(c.text, "CHECKPOINT", "checkpoint"));
      const ir::Module without = ParseIr(Replaced(c.text, "CHECKPOINT ", ""));
      const eval::Result a = Evaluated(Derived(with, Transform::kVjp, {}, optimise), c.args);
      const eval::Result b = Evaluated(Derived(without, Transform::kVjp, {}, optimise), c.args);
      CheckSameBits(a.values, b.values);
      INFO(a.cost.peak_tape << " against " << b.cost.peak_tape);
      CHECK(a.cost.peak_tape < b.cost.peak_tape);
      CHECK(a.cost.ops > b.cost.ops);
      if (optimise) CheckDerivatives(with, primal);
    }
  }
}

TEST_CASE("checkpoint: one value a turn is kept") {
  const ir::Module m =
      Derived(ParseIr(Replaced(kScalarLoop, "CHECKPOINT", "checkpoint")), Transform::kValueAndGrad);
  const auto tape = [&](int64_t n) {
    return Evaluated(m, {Tensor::F64(0.7), Tensor::I64(n)}).cost.peak_tape;
  };
  CHECK(tape(200) - tape(100) == 100);
}

TEST_CASE("checkpoint: derivatives of derivatives") {
  for (const std::string inner : {"jvp", "vjp"}) {
    for (const std::string outer : {"jvp", "vjp"}) {
      const auto nested = [&](const std::string& flag) {
        return ParseIr(
            Replaced(Replaced(kScalarLoop, "CHECKPOINT ", flag), "entry @g", "entry @h") +
            "fn @d(%x: f64, %n: i64) -> f64 { b0: %y, %dx = " + inner +
            " @g wrt(0) (%x, %n, 1.0)  ret %dx }\n"
            "fn @h(%x: f64, %n: i64) -> f64 { b0: %y, %dx = " +
            outer + " @d wrt(0) (%x, %n, 1.0)  ret %dx }\n");
      };
      for (bool optimise : {true, false}) {
        INFO(outer << " over " << inner << (optimise ? "" : ", as built"));
        const std::vector<Tensor> args = {Tensor::F64(0.7), Tensor::I64(5)};
        for (Transform t : {Transform::kValue, Transform::kValueAndGrad}) {
          const eval::Result a = Evaluated(Derived(nested("checkpoint "), t, {}, optimise), args);
          const eval::Result b = Evaluated(Derived(nested(""), t, {}, optimise), args);
          for (size_t k = 0; k < a.values.size(); ++k)
            CHECK(Scalar(a.values[k]) == Approx(Scalar(b.values[k])).epsilon(1e-12));
        }
      }
    }
  }
}

// A checkpointed recursion: the reverse of each call runs its part again.
TEST_CASE("checkpoint: inside a recursion") {
  CheckDerivatives(
      ParseIr("entry @g\nfn @g(%x: f64, %n: i64) -> f64 { b0: br le(%n, 0), b1, b2\nb1: ret %x\n"
              "b2: %y = call checkpoint @g(%x, sub(%n, 1))  %z = call @g(%x, sub(%n, 2))\n"
              "ret sin(add(mul(%y, %x), %z)) }\n"),
      {Tensor::F64(0.6), Tensor::I64(5)});
}

// --- binomial schedules

// One function of the table a step; the state is x, the step reads c[i].
ir::Module Binomial() {
  ir::Module m = ParseIr(
      "entry @g\n"
      "fn @g(%x: f64, %c: [*]f64, %s: i64) -> f64 { b0: %n = dim %c, 0\n"
      "%y = call @step.loop(%x, %c, 0, %n, %s)  ret %y }\n"
      "fn @step(%x: f64, %c: [*]f64, %i: i64) -> f64 { b0: %u = index %c[%i]\n"
      "ret sin(mul(%x, %u)) }\n"
      "fn @step.loop(%x: f64, %c: [*]f64, %b: i64, %e: i64, %s: i64) -> f64 { b0: ret %x }\n");
  const uint32_t made = ir::AddCheckpointedLoop(m, 1);
  m.Get(0).blocks[0].insts[2].callee = made;
  REQUIRE(m.Get(0).blocks[0].insts[2].op == ir::Op::Call);
  INFO(ir::Print(m));
  REQUIRE(ir::Verify(m).ok());
  return m;
}

Tensor Factors(int64_t n) {
  std::vector<double> c;
  for (int64_t i = 0; i < n; ++i) c.push_back(1 + 0.5 * std::sin(static_cast<double>(3 * i)));
  return Vec(c);
}

int64_t Choose(int64_t n, int64_t k) {
  int64_t c = 1;
  for (int64_t i = 1; i <= k; ++i) c = c * (n - k + i) / i;
  return c;
}

// Griewank and Walther: steps run besides the n that are kept on the tape.
int64_t LeastRuns(int64_t n, int64_t s) {
  int64_t r = 1;
  while (Choose(s + r, s) < n) ++r;
  return n <= 1 ? 0 : r * n - Choose(s + r, s + 1);
}

TEST_CASE("checkpoint: binomial loops run as few steps again as can be") {
  // As built: clean-up drops what a step that is run again does not need of its last operation.
  const ir::Module m = Derived(Binomial(), Transform::kValueAndGrad, {true, false, false}, false);
  for (int64_t n : {0, 1, 2, 5, 10, 37, 100}) {
    const auto with = [&](int64_t s) {
      return Evaluated(m, {Tensor::F64(0.9), Factors(n), Tensor::I64(s)});
    };
    const eval::Result plain = with(0);
    int64_t before = plain.cost.ops + (int64_t{1} << 40);
    for (int64_t s : {1, 2, 3, 4, 7, 10, 99, 1000}) {
      INFO(n << " steps, " << s << " snapshots");
      const eval::Result r = with(s);
      CheckSameBits(r.values, plain.values);
      // A step is a product and a sine.
      CHECK(r.cost.ops - plain.cost.ops == 2 * LeastRuns(n, std::min(s, n)));
      CHECK(r.cost.ops <= before);
      before = r.cost.ops;
    }
  }
}

TEST_CASE("checkpoint: binomial loops keep as many states as asked for") {
  const ir::Module m = Derived(Binomial(), Transform::kValueAndGrad, {true, false, false});
  const auto tape = [&](int64_t n, int64_t s) {
    return Evaluated(m, {Tensor::F64(0.9), Factors(n), Tensor::I64(s)}).cost.peak_tape;
  };
  // In proportion to the snapshots, whatever the number of steps.
  const int64_t one = tape(80, 2) - tape(80, 1);
  CHECK(one > 0);
  CHECK(one <= 8);
  for (int64_t s : {1, 2, 3, 5}) {
    INFO(s << " snapshots: " << tape(80, s) << ", " << tape(160, s));
    CHECK(tape(160, s) == tape(80, s));
    CHECK(tape(80, s) <= tape(80, 1) + (s - 1) * one);
  }
  CHECK(tape(80, 5) < tape(80, 0) / 3);
}

TEST_CASE("checkpoint: binomial loops in every mode, and derivatives of derivatives") {
  const ir::Module m = Binomial();
  for (int64_t s : {0, 1, 2, 4, 20})
    CheckDerivatives(m, {Tensor::F64(0.9), Factors(12), Tensor::I64(s)});
  ir::Module nested = ParseIr(ir::Print(m).replace(0, std::string("entry @g").size(), "entry @d") +
                              "fn @d(%x: f64, %c: [*]f64, %s: i64) -> f64 { b0:\n"
                              "%y, %dx = vjp @g wrt(0) (%x, %c, %s, 1.0)  ret %dx }\n");
  const auto by = [&](int64_t s) {
    return Gradients(nested, {Tensor::F64(0.9), Factors(9), Tensor::I64(s)});
  };
  const std::vector<Tensor> plain = by(0);
  for (int64_t s : {1, 2, 3, 8}) {
    const std::vector<Tensor> g = by(s);
    CHECK(Scalar(g[0]) == Approx(Scalar(plain[0])).epsilon(1e-12));
    for (int64_t i = 0; i < 9; ++i)
      CHECK(g[1].At<double>(i) == Approx(plain[1].At<double>(i)).epsilon(1e-12));
  }
  CheckDerivatives(Derived(nested, Transform::kValue),
                   {Tensor::F64(0.9), Factors(5), Tensor::I64(2)});
}

}  // namespace
}  // namespace pullback::testing
