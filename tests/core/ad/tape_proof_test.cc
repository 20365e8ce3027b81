// Forward and reverse halves whose pops do not mirror the pushes are refused.
#include "core/ad/tape_proof.h"

#include <catch2/catch.hpp>

#include "core/ir/parser.h"
#include "core/ir/verifier.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

// A branch whose arms push other types, one of them by a call; which way it went is on the tape.
const std::string kHalves =
    "entry @f\n"
    "fn @f(%x: f64, %n: i64) -> f64 { b0: %t = tape_new  %y, %u = call @fwd(%x, %n, %t)\n"
    "%z, %v = call @rev(%y, %u)  ret %z }\n"
    "fn @h.fwd(%x: f64, %t: tape) -> (f64, tape) { b0: ret %x, %t }\n"
    "fn @h.rev(%x: f64, %t: tape) -> (f64, tape) { b0: ret %x, %t }\n"
    "fn @k.rev(%x: f64, %t: tape) -> (f64, tape) { b0: ret %x, %t }\n"
    "fn @fwd(%x: f64, %n: i64, %t: tape) -> (f64, tape) {\n"
    "b0: %s = sin %x  %t1 = push %t, %s  br gt(%x, 0.0), b1(%t1), b2(%t1)\n"
    "b1(%ta: tape): %ta1 = push %ta, %n  jump b3(%s, %ta1, 0)\n"
    "b2(%tb: tape): %y, %tb1 = call @h.fwd(%x, %tb)  %tb2 = push %tb1, %y  jump b3(%y, %tb2, 1)\n"
    "b3(%r: f64, %tc: tape, %from: i64): %tc1 = push %tc, %from  %tc2 = push %tc1, %r\n"
    "ret mul(%r, %r), %tc2 }\n"
    "fn @rev(%zbar: f64, %u: tape) -> (f64, tape) {\n"
    "b0: jump b1(%u, %zbar)\n"
    "b1(%u0: tape, %b: f64): %u1, %r = pop %u0 : f64  %w = mul %b, %r\n"
    "%u2, %from = pop %u1 : i64  br eq(%from, 0), b2, b3\n"
    "b2: jump b4(%u2, %w)\n"
    "b3: jump b5(%u2, %w)\n"
    "b4(%ua: tape, %ba: f64): %ua1, %m = pop %ua : i64  %g = mul %ba, %ba  jump b6(%ua1, %g)\n"
    "b5(%ub: tape, %bb: f64): %ub1, %y = pop %ub : f64  %c, %ub2 = call @h.rev(%bb, %ub1)\n"
    "jump b6(%ub2, mul(%c, %y))\n"
    "b6(%ue: tape, %be: f64): %ue1, %s = pop %ue : f64  ret mul(%be, %s), %ue1 }\n";

struct Change {
  const char *what, *from, *to, *says;
};

std::string With(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Status Proven(const std::string& text) {
  const ir::Module m = ParseIr(text);
  const auto find = [&](const std::string& name) {
    uint32_t f = 0;
    while (m.Get(f).name != name) ++f;
    return f;
  };
  const ir::Function& fwd = m.Get(find("fwd"));
  ad::TapeHalves halves;
  halves.forward = &fwd;
  halves.reverse = &m.Get(find("rev"));
  const auto param = [&](uint32_t b, size_t k) { return fwd.blocks[b].params[k]; };
  halves.blocks = {{param(0, 2), {}, 6},
                   {param(1, 0), {}, 4},
                   {param(2, 0), {}, 5},
                   {param(3, 1), param(3, 2), 1}};
  halves.calls = {{find("h.fwd"), find("h.rev")}};
  return ad::CheckTape(halves);
}

TEST_CASE("tapes: pops that mirror the pushes are accepted") {
  const Status ok = Proven(kHalves);
  INFO(ok.ToString());
  CHECK(ok.ok());
  // By the other outcome of the test.
  CHECK(Proven(With(kHalves, "br eq(%from, 0), b2, b3", "br eq(%from, 1), b3, b2")).ok());
}

TEST_CASE("tapes: a swapped pop, a wrong type, another way back are refused") {
  const std::vector<Change> changes = {
      {"two pops the other way round",
       "%u1, %r = pop %u0 : f64  %w = mul %b, %r\n%u2, %from = pop %u1 : i64",
       "%u1, %from = pop %u0 : i64\n%u2, %r = pop %u1 : f64  %w = mul %b, %r",
       "a push of f64 by a pop of i64"},
      {"a pop of another type", "%m = pop %ua : i64", "%m = pop %ua : f32",
       "a push of i64 by a pop of f32"},
      {"an array for a scalar", "%m = pop %ua : i64  %g = mul %ba, %ba",
       "%m = pop %ua : [*]i64  %g = mul %ba, %ba", "a push of i64 by a pop of [*]i64"},
      {"a pop too few", "%ue1, %s = pop %ue : f64  ret mul(%be, %s), %ue1", "ret %be, %ue",
       "returns"},
      {"a pop too few on the way", "%ua1, %m = pop %ua : i64  %g = mul %ba, %ba  jump b6(%ua1, %g)",
       "%g = mul %ba, %ba  jump b6(%ua, %g)", "less than it pushed"},
      {"a pop too many", "%ua1, %m = pop %ua : i64",
       "%ua0, %q = pop %ua : i64  %ua1, %m = pop %ua0 : i64", "more than it pushed"},
      {"the other arm", "br eq(%from, 0)", "br eq(%from, 1)", "goes to"},
      {"each arm by the other's way", "b2: jump b4(%u2, %w)\nb3: jump b5(%u2, %w)",
       "b2: jump b5(%u2, %w)\nb3: jump b4(%u2, %w)", "goes to"},
      {"the reverse of another callee", "call @h.rev(%bb", "call @k.rev(%bb", "by a call"},
      {"a call that is not undone", "%c, %ub2 = call @h.rev(%bb, %ub1)\njump b6(%ub2, mul(%c, %y))",
       "jump b6(%ub1, mul(%bb, %y))", "less than it pushed"},
      {"a push that the next block does not see", "jump b3(%s, %ta1, 0)",
       "%o = tape_new  jump b3(%s, %o, 0)", "another tape"},
      {"a tag that is not the edge's", "jump b3(%y, %tb2, 1)", "jump b3(%y, %tb2, 0)", "its tags"},
      {"a tag that is no constant", "jump b3(%y, %tb2, 1)", "jump b3(%y, %tb2, %n)", "its tags"},
      {"a tape of its own", "b0: jump b1(%u, %zbar)", "b0: %o = tape_new  jump b1(%o, %zbar)",
       "begins somewhere else"},
      {"past an arm", "jump b6(%ua1, %g)", "jump b5(%ua1, %g)", "goes to b2"},
  };
  for (const Change& c : changes) {
    INFO(c.what);
    const Status s = Proven(With(kHalves, c.from, c.to));
    REQUIRE(!s.ok());
    CHECK(s.code() == Code::kInternal);
    INFO(s.ToString());
    CHECK(s.ToString().find(c.says) != std::string::npos);
  }
}

}  // namespace
}  // namespace pullback::testing
