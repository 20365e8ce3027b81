// Loops of which few states are kept, at the time when reverse mode takes them up.
#include "core/ad/outline_loops.h"

#include <catch2/catch.hpp>
#include <set>

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

// Leads back in two ways, leaves in three; what a turn computes before it leaves is read behind it.
const std::string kExits =
    "entry @g\n"
    "fn @g(%x: f64, %w: [*]f64, %n: i64, %s: i64) -> f64 { b0: jump b1(%x, 5)\n"
    "b1(%r: f64, %k: i64): %h = sin %r  jump b2 checkpoint %s\n"
    "b2: %u = index %w[%k - 5]  %v = mul %h, %u  br lt(%k, %n), b3, b7\n"
    "b3: %t = add %v, %x  br gt(%t, 1.2), b6, b4\n"
    "b4: br gt(%t, 0.6), b1(%t, add(%k, 1)), b5\n"
    "b5: %q = mul %t, 1.5  br lt(%q, -0.9), b8(%q), b1(%q, add(%k, 1))\n"
    "b6: %a = mul %t, %h  ret %a\n"
    "b7: %b = mul %v, %r  jump b8(%b)\n"
    "b8(%c: f64): %e = cast %k : f64  %f = mul %c, %e  ret %f }\n";
const Tensor kWeights = Vec({0.3, -1.2, 0.9, 0.1, -0.4, 2.5, 0.2, 1.1});

TEST_CASE("outlined loops: turns are counted by running them, the last one stays") {
  const ir::Module m = Outlined(kExits);
  const std::string copy = ir::Print(*m.functions[1], m);
  CHECK(Count(copy, "call @g.outlined.turns(") == 1);
  CHECK(Count(copy, "call @g.outlined.step.loop(") == 1);
  CHECK(Count(copy, "br ") ==
        2);  // b4 has no choice left: a turn that goes back is not the last one
  for (const auto& f : m.functions) {
    const std::string text = ir::Print(*f, m);
    INFO(text);
    if (f->name == "g.outlined.turns") {
      CHECK(Count(text, "br ") == 4);
      CHECK(Count(text, "mul %t, %h") == 0);
      CHECK(f->results == std::vector{ir::Type::I64()});
    } else if (f->name == "g.outlined.step") {
      CHECK(Count(text, "br ") == 1);  // by which way it goes back
      CHECK(Count(text, "%n") == 0);   // what only decides where the loop ends is not handed in
      CHECK(Count(text, "lt ") == 0);
    }
  }
}

TEST_CASE("outlined loops: whichever way the loop is left, the plain loop's bits") {
  std::string no_counter = Replaced(kExits, ", add(%k, 1))", ", add(%k, %one))");
  no_counter = Replaced(no_counter,
                        "i64, %s: i64) -> f64 { b0:", "i64, %s: i64) -> f64 { b0: %one = sign %n ");
  std::set<double> seen;
  for (const std::string& text : {kExits, no_counter}) {
    for (const bool optimise : {true, false}) {
      for (const double x : {0.7, 0.45, -0.4, 1.0}) {
        for (const int64_t n : {4, 5, 9, 12}) {
          for (const int64_t s : {0, 1, 2, 9}) {
            const std::vector<Tensor> args = {Tensor::F64(x), kWeights, Tensor::I64(n),
                                              Tensor::I64(s), Tensor::F64(0.75)};
            INFO(x << ", to " << n << ", " << s << " snapshots" << (optimise ? "" : ", as built"));
            const auto run = [&](const std::string& mark) {
              return RunOk(Derived(ParseIr(Replaced(text, " checkpoint %s", mark)), Transform::kVjp,
                                   {true, true, false, false}, optimise),
                           args);
            };
            const std::vector<Tensor> plain = run(""), kept = run(" checkpoint %s");
            REQUIRE(kept.size() == 3);
            for (size_t k = 0; k < kept.size(); ++k) CHECK(kept[k].data == plain[k].data);
            seen.insert(kept[0].At<double>(0));
          }
        }
      }
    }
    CheckDerivatives(ParseIr(text), {Tensor::F64(0.7), kWeights, Tensor::I64(9), Tensor::I64(2)});
  }
  CHECK(seen.size() > 8);
}

TEST_CASE("outlined loops: what does not count by ones to a known end is counted by running") {
  const auto text = [](const std::string& cond, const std::string& mark) {
    return "entry @g\nfn @g(%x: f64, %n: i64) -> f64 { b0: jump b1(%x, 0)\n"
           "b1(%r: f64, %i: i64): br " +
           cond + ", b2, b3" + mark + "\nb2: jump b1(mul(%r, %x), add(%i, 1))\nb3: ret %r }\n";
  };
  for (const char* cond :
       {"gt(%r, 0.05)", "lt(mul(%i, %i), %n)", "lt(%i, sub(%n, %i))", "le(%i, %n)"}) {
    INFO(cond);
    const ir::Module m = Outlined(text(cond, " checkpoint 2"));
    CHECK(Count(ir::Print(*m.functions[1], m), "call @g.outlined.turns(") == 1);
    const std::vector<Tensor> args = {Tensor::F64(0.8), Tensor::I64(9), Tensor::F64(1)};
    const auto run = [&](const std::string& mark) {
      return RunOk(Derived(ParseIr(text(cond, mark)), Transform::kVjp, {true, false}), args);
    };
    CHECK(run("")[1].data == run(" checkpoint 2")[1].data);
  }
}

TEST_CASE("outlined loops: a loop without an end, or with two ways in") {
  // Nothing comes back from it: it stays as it is.
  const ir::Module endless = Outlined(
      "entry @g\nfn @g(%x: f64) -> f64 { b0: br gt(%x, 0.0), b1(%x), b2\n"
      "b1(%r: f64): jump b1(sin(%r)) checkpoint 2\nb2: ret %x }\n");
  CHECK(Count(ir::Print(*endless.functions[1], endless), "call ") == 0);
  ir::Module m = ParseIr(
      "entry @g\nfn @g(%x: f64, %n: i64) -> f64 { b0: br gt(%x, 0.0), b1(%x, 0), b2(%x, 0)\n"
      "b1(%r: f64, %i: i64): br lt(%i, %n), b2(%r, %i), b3 checkpoint 2\n"
      "b2(%q: f64, %k: i64): %s = sin %q  jump b1(%s, add(%k, 1))\nb3: ret %r }\n");
  const StatusOr<uint32_t> two_ways = ad::OutlineLoops(m, m.entry);
  REQUIRE(two_ways.ok());
  CHECK(Count(ir::Print(m.Get(*two_ways), m), "call ") == 0);
  // How many are kept is known in front of the loop.
  m = ParseIr(
      "entry @g\nfn @g(%x: f64, %n: i64) -> f64 { b0: jump b1(%x, 0)\n"
      "b1(%r: f64, %i: i64): br lt(%i, %n), b2, b3 checkpoint %i\n"
      "b2: jump b1(mul(%r, %x), add(%i, 1))\nb3: ret %r }\n");
  CHECK(ad::OutlineLoops(m, m.entry).status().code() == Code::kInternal);
}

}  // namespace
}  // namespace pullback::testing
