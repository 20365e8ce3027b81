// Loops of which few states are kept, at the time when reverse mode takes them up.
#include "core/ad/outline_loops.h"

#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

size_t Count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

ir::Module Outlined(const std::string& text) {
  ir::Module m = ParseIr(text);
  const StatusOr<uint32_t> made = ad::OutlineLoops(m, m.entry);
  REQUIRE(made.ok());
  INFO(ir::Print(m));
  REQUIRE(ir::Verify(m).ok());
  return m;
}

// Two ways in, two ways back, what the header computes is read behind the loop, and so is the counter.
const std::string kLoop =
    "entry @g\n"
    "fn @g(%x: f64, %w: [*]f64, %n: i64, %s: i64) -> f64 { b0: %two = mul %x, 2.0\n"
    "%d = dim %w, 0  %last = sub %d, 1  br gt(%x, 0.5), b1(%x, 0), b2\n"
    "b2: jump b1(%two, 1)\n"
    "b1(%r: f64, %i: i64): %h = sin %r  br lt(%i, %n), b3, b4 checkpoint %s\n"
    "b3: %u = index %w[%last]  %v = mul %h, %u  %t = add %v, %two\n"
    "br gt(%t, 0.0), b1(%t, add(%i, 1)), b5\n"
    "b5: %q = mul %t, %x  jump b1(%q, add(%i, 1))\n"
    "b4: %e = mul %h, %r  %f = cast %i : f64  ret mul(%e, %f) }\n";

std::vector<Tensor> Args(double x, int64_t n, int64_t s) {
  return {Tensor::F64(x), Vec({0.3, -1.2, 0.9}), Tensor::I64(n), Tensor::I64(s)};
}

TEST_CASE("outlined loops: the step takes what it captures, and makes integers again") {
  const ir::Module m = Outlined(kLoop);
  const std::string all = ir::Print(m);
  const std::string copy = ir::Print(*m.functions[1], m);
  CHECK(Count(copy, "call @g.outlined.step.loop(") == 1);
  CHECK(Count(copy, "max ") == 1);  // the counter where the loop ends
  CHECK(Count(copy, " checkpoint ") == 0);
  CHECK(Count(copy, "\nb3:") == 1);  // two ways in, the call, what follows
  CHECK(Count(copy, "\nb4:") == 0);
  CHECK(Count(all, "fn @g.outlined.step(%r: f64, %w: [*]f64, %two: f64, %x: f64, %i: i64)") == 1);
  // The plain loop stays what it is.
  CHECK(Count(ir::Print(*m.functions[0], m), " checkpoint %s") == 1);
}

TEST_CASE("outlined loops: values and gradients are those of the plain loop, bit for bit") {
  for (const bool optimise : {true, false}) {
    for (const double x : {0.7, -0.4}) {
      for (const int64_t n : {0, 1, 2, 7}) {
        for (const int64_t s : {0, 1, 2, 9}) {
          std::vector<Tensor> args = Args(x, n, s);
          args.push_back(Tensor::F64(0.75));
          INFO(x << ", " << n << " steps, " << s << " snapshots" << (optimise ? "" : ", as built"));
          const auto run = [&](const std::string& mark) {
            return RunOk(Derived(ParseIr(Replaced(kLoop, " checkpoint %s", mark)), Transform::kVjp,
                                 {true, true, false, false}, optimise),
                         args);
          };
          const std::vector<Tensor> plain = run(""), kept = run(" checkpoint %s");
          REQUIRE(kept.size() == 3);
          for (size_t k = 0; k < kept.size(); ++k) CHECK(kept[k].data == plain[k].data);
        }
      }
    }
  }
  CheckDerivatives(ParseIr(kLoop), Args(0.7, 5, 2));
}

TEST_CASE("outlined loops: a loop inside is taken up with the schedule") {
  const std::string text =
      "entry @g\n"
      "fn @g(%x: f64, %n: i64) -> f64 { b0: jump b1(%x, 0)\n"
      "b1(%r: f64, %i: i64): br lt(%i, %n), b2, b3 checkpoint 2\n"
      "b2: jump b4(%r, 0)\n"
      "b4(%y: f64, %k: i64): br lt(%k, 3), b5, b6 checkpoint 1\n"
      "b5: %z = sin mul(%y, %x)  jump b4(%z, add(%k, 1))\n"
      "b6: jump b1(%y, add(%i, 1))\nb3: ret %r }\n";
  const ir::Module m = Outlined(text);
  CHECK(Count(ir::Print(*m.functions[1], m), " checkpoint ") == 0);
  // In the step, the loop and its schedule.
  CHECK(Count(ir::Print(m), " checkpoint 1") == 4);
  CheckDerivatives(ParseIr(text), {Tensor::F64(0.8), Tensor::I64(6)});
}

TEST_CASE("outlined loops: what is no loop, or keeps nothing, stays as it is") {
  const auto calls = [](const std::string& text) {
    return Count(ir::Print(*Outlined(text).functions[1], Outlined(text)), "call ");
  };
  CHECK(calls("entry @g\nfn @g(%x: f64, %n: i64) -> f64 { b0: br lt(%n, 3), b1, b2 checkpoint 2\n"
              "b1: jump b2\nb2: ret %x }\n") == 0);
  CHECK(calls("entry @g\nfn @g(%x: f64, %n: i64) -> f64 { b0: jump b1(0, 1)\n"
              "b1(%i: i64, %k: i64): br lt(%i, %n), b2, b3 checkpoint 2\n"
              "b2: jump b1(add(%i, 1), mul(%k, 3))\nb3: %f = cast %k : f64  ret mul(%x, %f) }\n") ==
        0);
}

TEST_CASE("outlined loops: a loop that does not count is an error") {
  for (const char* cond : {"gt(%r, 0.5)", "lt(%n, %i)", "lt(%i, mul(%i, %n))"}) {
    ir::Module m = ParseIr(
        "entry @g\nfn @g(%x: f64, %n: i64) -> f64 { b0: jump b1(%x, 0)\n"
        "b1(%r: f64, %i: i64): br " +
        std::string(cond) +
        ", b2, b3 checkpoint 2\n"
        "b2: jump b1(mul(%r, %x), add(%i, 1))\nb3: ret %r }\n");
    INFO(cond);
    const StatusOr<uint32_t> made = ad::OutlineLoops(m, m.entry);
    REQUIRE(!made.ok());
    CHECK(made.status().code() == Code::kInternal);
  }
}

}  // namespace
}  // namespace pullback::testing
