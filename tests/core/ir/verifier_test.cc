// One case for each way to violate an invariant of core/ir/verifier.h, as text where text can say it.
#include "core/ir/verifier.h"

#include <catch2/catch.hpp>

#include "core/ir/builder.h"
#include "core/ir/parser.h"

namespace pullback::ir {
namespace {

Module Parsed(const std::string& text) {
  auto m = ParseModule(text);
  INFO(m.status().ToString());
  REQUIRE(m.ok());
  return std::move(m).value();
}

std::string MessageOf(const Module& m) {
  const Status s = Verify(m);
  if (s.ok()) return "ok";
  CHECK(s.code() == Code::kInternal);
  CHECK(s.reason() == "IR_INVALID");
  return s.message();
}

// Wraps `blocks` into a function with parameters of every type.
std::string Verified(const std::string& blocks, const std::string& results = "") {
  return MessageOf(Parsed("fn @f(%x: f64, %n: i64, %p: bool, %a: [*]f64, %t: tape) -> (" + results +
                          ") {\n" + blocks + "\n}\n" +
                          "fn @scalar(%x: f64) -> (f64) { b0: ret %x }\n"
                          "fn @array(%x: [*]f64) -> (f64) { b0: ret 1.0 }\n"));
}

std::string VerifiedBody(const std::string& body, const std::string& results = "sum []: 1.0") {
  return Verified("b0: %s = each(i < %n) { " + body + " } " + results + "  ret");
}

TEST_CASE("verifier: a good function") {
  CHECK(Verified("b0: %y = add %x, 1.0  br %p, b1(%y), b1(%x)  b1(%z: f64): ret %z", "f64") ==
        "ok");
  CHECK(VerifiedBody("%v = index %a[%i] if true  %w = call @scalar(%v)",
                     "gen [%n - %i] of (%n): %w") == "ok");
  CHECK(MessageOf(Module()) == "ok");
}

// --- 1: definitions and uses

TEST_CASE("verifier 1: a use must be dominated by its definition") {
  CHECK(Verified("b0: br %p, b1, b2  b1: %y = neg %x jump b3  b2: jump b3  b3: %z = neg %y ret") ==
        "@f, b3, instruction 0 (neg): %y is used where its definition does not reach");
  CHECK(Verified("b0: %z = neg %y  %y = neg %x  ret") ==
        "@f, b0, instruction 0 (neg): %y is used where its definition does not reach");
  CHECK(Verified("b0: %y = neg %y  ret").find("%y is used where") != std::string::npos);
  CHECK(Verified("b0: br %p, b1, b2  b1: %y = neg %x jump b2  b2: ret %y", "f64")
            .find("@f, b2, terminator: %y is used where") == 0);
}

TEST_CASE("verifier 1: values of a body are visible in their statement only") {
  // The text's scopes cannot say it: the second statement is made to read the first one's value.
  Module m = Parsed(R"(fn @f(%n: i64) -> () {
b0:
  %r = each(i < %n) { %v = mul %i, %i } sum []: %v
  %s = each(j < %n) { %w = mul %j, %j } sum []: %w
  ret
})");
  std::vector<Inst>& insts = m.Get(0).blocks[0].insts;
  insts[1].each->results[0].value = insts[0].each->body[0].results[0];
  CHECK(MessageOf(m).find("%v is used where its definition does not reach") != std::string::npos);
  insts[1].each->results[0].value = insts[1].each->body[0].results[0];
  CHECK(MessageOf(m) == "ok");
  insts[1].each->indices[0].extent = insts[1].each->indices[0].var;  // an extent is outside
  CHECK(MessageOf(m).find("%j is used where") != std::string::npos);
}

TEST_CASE("verifier 1: constraints do not see the body, bodies see what is above") {
  Module m = Parsed(R"(fn @f(%n: i64) -> () {
b0:
  %r = each(i < %n) { %v = mul %i, %i  %w = mul %v, %v } sum []: %v
  ret
})");
  Each& each = *m.Get(0).blocks[0].insts[0].each;
  each.where.push_back({Affine::Of(each.body[0].results[0]), false});
  CHECK(MessageOf(m).find("%v is used where") != std::string::npos);
  each.where.clear();
  std::swap(each.body[0], each.body[1]);
  CHECK(
      MessageOf(m) ==
      "@f, b0, instruction 0 (each, body 0, mul): %v is used where its definition does not reach");
}

TEST_CASE("verifier 1: a value is defined once and exists") {
  Module m = Parsed("fn @f(%x: f64) -> () { b0: %y = neg %x  %z = neg %x  ret }");
  std::vector<Inst>& insts = m.Get(0).blocks[0].insts;
  insts[1].results = insts[0].results;
  CHECK(MessageOf(m).find("is defined twice") != std::string::npos);
  insts[1].results = {Value{99}};
  CHECK(MessageOf(m).find("defines a value that does not exist") != std::string::npos);
  insts.pop_back();
  insts[0].args[0] = Value{99};
  CHECK(MessageOf(m).find("value 99 is not defined") != std::string::npos);
  insts[0].args[0] = kNoValue;
  CHECK(MessageOf(m).find("is not defined") != std::string::npos);
}

TEST_CASE("verifier 1: a value has a type") {
  Module m = Parsed("fn @f(%x: f64) -> () { b0: jump b1(%x) b1(%y: f64): ret }");
  m.Get(0).values[m.Get(0).blocks[1].params[0].id] = Type{};
  CHECK(MessageOf(m).find("@f, b0, terminator: %x is f64, but the parameter of b1 is none") == 0);
  m.Get(0).values[m.Get(0).params()[0].id] = Type{};
  CHECK(MessageOf(m) == "@f, b0: %x has no type");
}

TEST_CASE("verifier 1: each value has a place for its name") {
  Module m = Parsed("fn @f(%x: f64) -> () { b0: ret }");
  m.Get(0).names.pop_back();
  CHECK(MessageOf(m) == "@f: has not as many names as values");
}

TEST_CASE("verifier 1: unreachable blocks") {
  CHECK(Verified("b0: ret  b1: ret") == "@f, b1: the block is unreachable");
  CHECK(Verified("b0: ret  b1: jump b2  b2: jump b1") == "@f, b1: the block is unreachable");
}

// --- 2: operand and result types

TEST_CASE("verifier 2: operand types obey the op's row") {
  const char* const kWrong[] = {
      "add %x, %n",        "add %p, %p",        "smul %n, %n",      "sqrt %n",
      "and %n, %n",        "eq %x, %n",         "eq %a, %a",        "select %x, %x, %x",
      "select %p, %x, %n", "select %p, %a, %a", "not %x",           "cast %a : f64",
      "dim %x, 0",         "dim %a, 1",         "zeros %x : f64",   "zeros : f64",
      "index %x[0]",       "update %a[0], %n",  "add_at %a[0], %n", "add_arrays %x, %x",
      "add_arrays %a, %x", "push %x, %x",       "push %t, %t",      "neg %t",
      "cast %x : [*]f64",  "affine %x + 1",     "holds (%x <= 1)",  "index %a[0, 1]",
      "update %a[], %x",
  };
  for (const char* wrong : kWrong) {
    INFO(wrong);
    CHECK(Verified(std::string("b0: %y = ") + wrong + " ret").find("@f, b0, instruction") == 0);
  }
  CHECK(Verified("b0: %u, %y = pop %x : f64 ret").find("takes a tape") != std::string::npos);
  CHECK(Verified("b0: %u, %y = pop %t : tape ret").find("holds no tapes") != std::string::npos);
  CHECK(Verified("b0: check %x, index ret").find("takes a bool") != std::string::npos);
  CHECK(Verified("b0: check %p, index, %x ret").find("takes a bool") != std::string::npos);
  CHECK(Verified("b0: check %p, index, %n, %n, %n ret").find("takes a bool") != std::string::npos);
}

TEST_CASE("verifier 2: counts and result types") {
  Module m = Parsed("fn @f(%x: f64) -> () { b0: %y = add %x, %x  %c = const 1 ret }");
  const Module good = m.Clone();
  Function& f = m.Get(0);
  f.blocks[0].insts[0].args.pop_back();
  CHECK(MessageOf(m).find("wrong number of operands") != std::string::npos);
  m = good.Clone();
  m.Get(0).values[m.Get(0).blocks[0].insts[0].results[0].id] = Type::I64();
  CHECK(MessageOf(m).find("a result is i64 and should be f64") != std::string::npos);
  m = good.Clone();
  m.Get(0).blocks[0].insts[0].results.clear();
  CHECK(MessageOf(m).find("wrong number of results") != std::string::npos);
  m = good.Clone();
  m.Get(0).values[m.Get(0).blocks[0].insts[1].results[0].id] = Type::Bool();
  m.Get(0).blocks[0].insts[1].bits = 2;
  CHECK(MessageOf(m).find("a bool is 0 or 1") != std::string::npos);
  m = good.Clone();
  m.Get(0).blocks[0].insts[0].op = Op::Each;
  CHECK(MessageOf(m).find("a statement is missing or misplaced") != std::string::npos);
}

TEST_CASE("verifier 2: a kind of trap exists") {
  Module m = Parsed("fn @f(%p: bool) -> () { b0: check %p, index ret }");
  m.Get(0).blocks[0].insts[0].bits = 12;
  CHECK(MessageOf(m).find("this kind of trap does not exist") != std::string::npos);
}

// --- 3: blocks and edges

TEST_CASE("verifier 3: every block ends in one terminator") {
  CHECK(Verified("b0: %y = neg %x") == "@f, b0, terminator: the block has no terminator");
  Module m = Parsed("fn @f() -> () { b0: ret }");
  m.Get(0).blocks[0].term.edges.push_back({0, {}});
  CHECK(MessageOf(m).find("wrong number of edges") != std::string::npos);
  m.Get(0).blocks[0].term.kind = Terminator::Kind::kJump;
  CHECK(MessageOf(m) == "@f, b0, terminator: jumps to the entry");
  m.Get(0).blocks[0].term.edges[0].block = 7;
  CHECK(MessageOf(m).find("a block that does not exist") != std::string::npos);
  m.Get(0).blocks.clear();
  CHECK(MessageOf(m) == "@f: has no blocks");
}

TEST_CASE("verifier 3: edges pass what the target takes") {
  CHECK(Verified("b0: jump b1  b1(%y: f64): ret") ==
        "@f, b0, terminator: passes 0 arguments to b1, which has 1 parameters");
  CHECK(Verified("b0: jump b1(%n)  b1(%y: f64): ret") ==
        "@f, b0, terminator: %n is i64, but the parameter of b1 is f64");
  CHECK(Verified("b0: jump b0") == "@f, b0, terminator: jumps to the entry");
  CHECK(Verified("b0: br %x, b1, b1  b1: ret").find("not a bool") != std::string::npos);
}

// --- 4: returns and calls

TEST_CASE("verifier 4: returns and calls match the function") {
  CHECK(Verified("b0: ret %n", "f64") ==
        "@f, b0, terminator: does not return the function's result types");
  CHECK(Verified("b0: ret", "f64").find("does not return") != std::string::npos);
  CHECK(Verified("b0: %y = call @scalar(%n) ret") ==
        "@f, b0, instruction 0 (call): argument 0 is i64 and should be f64");
  CHECK(Verified("b0: %y = call @scalar() ret").find("wrong number of arguments") !=
        std::string::npos);
  CHECK(Verified("b0: call @scalar(%x) ret").find("wrong number of results") != std::string::npos);
  Module m = Parsed("fn @f() -> () { b0: call @f() ret }");
  m.Get(0).blocks[0].insts[0].callee = 3;
  CHECK(MessageOf(m).find("there is no such function") != std::string::npos);
  m.entry = 4;
  CHECK(MessageOf(m) == "the entry function does not exist");
}

// --- 5: affine forms

TEST_CASE("verifier 5: affine forms are sorted, merged and without zeros") {
  Module m = Parsed("fn @f(%i: i64, %j: i64) -> () { b0: %y = affine %i + %j ret }");
  Affine::Terms& terms = m.Get(0).blocks[0].insts[0].subs[0].terms;
  std::swap(terms[0], terms[1]);
  CHECK(MessageOf(m).find("not sorted and merged") != std::string::npos);
  terms[0] = terms[1];
  CHECK(MessageOf(m).find("not sorted and merged") != std::string::npos);
  terms = {{terms[0].value, 0}};
  CHECK(MessageOf(m).find("zero coefficient") != std::string::npos);
}

TEST_CASE("verifier 5: subscripts are i64 and as many as axes") {
  CHECK(Verified("b0: %y = index %a[%x] ret").find("not i64") != std::string::npos);
  CHECK(VerifiedBody("%v = index %a[%i, %i]").find("not the array's rank") != std::string::npos);
  CHECK(VerifiedBody("%v = index %a[%i]", "gen [%v] of (%n): %v").find("not i64") !=
        std::string::npos);
}

// --- 6: bodies

TEST_CASE("verifier 6: bodies hold scalar operations only") {
  const char* const kWrong[] = {"%v = zeros %n : f64",    "%v = call @array(%a)",
                                "%v = add_arrays %a, %a", "check %p, index",
                                "%v = tape_new",          "%v = update %a[0], %x"};
  for (const char* wrong : kWrong) {
    INFO(wrong);
    CHECK(VerifiedBody(wrong).find("this operation may not stand in a body") != std::string::npos);
  }
  CHECK(VerifiedBody("%v = each(j < 2) { } sum []: 1.0").find("statements do not nest") !=
        std::string::npos);
}

TEST_CASE("verifier 6: guards are bools of the same body") {
  CHECK(VerifiedBody("%v = neg %x if %x").find("%x is a guard and no bool") != std::string::npos);
  CHECK(VerifiedBody("%v = neg %x if %p").find("not of the same body") != std::string::npos);
  CHECK(VerifiedBody("", "sum []: %x if %p").find("not of the same body") != std::string::npos);
  CHECK(VerifiedBody("%g = not %p  %v = neg %x if %g", "sum []: %v if %g") == "ok");
}

TEST_CASE("verifier 6: results") {
  CHECK(VerifiedBody("", "prod [%i] of (%n): %x") == "ok");
  CHECK(VerifiedBody("", "prod [%i + 1] of (%n): %x") == "ok");
  CHECK(VerifiedBody("", "argmax [0] of (%n): %x").find("argmax takes the first index") !=
        std::string::npos);
  const auto by = [](const std::string& out) {
    return Verified("b0: %s = each(i < %n, j < %n, k < %n) { } argmin " + out + ": %x ret");
  };
  for (const std::string out : {"[%i] of (%n)", "[%i, %j] of (%n, %n)", "[%k, %i] of (%n, %n)"})
    CHECK(by(out) == "ok");
  for (const std::string out : {"[%j] of (%n)", "[%k, %k] of (%n, %n)", "[%k, %i + 1] of (%n, %n)"})
    CHECK(by(out).find("argmin takes the first index") != std::string::npos);
  CHECK(VerifiedBody("", "gen [%i]: %x").find("the sizes of out and shape differ") !=
        std::string::npos);
  CHECK(VerifiedBody("", "gen [%i] of (%x): %x").find("an extent is not i64") != std::string::npos);
  CHECK(VerifiedBody("", "sum []: %p").find("bools cannot be reduced") != std::string::npos);
  CHECK(VerifiedBody("", "sum []: %a").find("not a scalar") != std::string::npos);
  CHECK(VerifiedBody("", "scan_sum 0 beside 1 [%i] of (%n): %x") == "ok");
  CHECK(VerifiedBody("", "scan_sum 1 beside 1 [%i] of (%n): %x").find("has fewer indices than") !=
        std::string::npos);
  CHECK(Verified("b0: each() { } ret").find("a statement has results") != std::string::npos);
  CHECK(Verified("b0: %s = each(i < %x) { } sum []: %x ret").find("an extent is not i64") !=
        std::string::npos);
}

TEST_CASE("verifier 6: what a result is added to") {
  CHECK(VerifiedBody("", "gen [%i] of (%n) into %a: %x") == "ok");
  CHECK(VerifiedBody("", "sum [%i] of (%n) into %a: %x") == "ok");
  CHECK(VerifiedBody("", "prod [%i] of (%n) into %a: %x").find("only gen and sum add") !=
        std::string::npos);
  CHECK(VerifiedBody("", "sum [] into %a: %x").find("not an array of the result's type") !=
        std::string::npos);
  CHECK(VerifiedBody("", "gen [%i] of (%n) into %a: %n").find("not an array of the result's") !=
        std::string::npos);
  CHECK(VerifiedBody("", "gen [%i] of (%n) into %x: %x").find("not an array of the result's") !=
        std::string::npos);
  CHECK(VerifiedBody("%v = index %a[%i]", "gen [%i] of (%n) into %a: %v")
            .find("reads an array that it adds to") != std::string::npos);
  CHECK(VerifiedBody("", "gen [%i] of (%n) into %a: %x, gen [%i] of (%n) into %a: %x")
            .find("reads an array that it adds to") != std::string::npos);
  CHECK(VerifiedBody("%v = neg %x", "gen [%i] of (%n) into %v: %x")
            .find("%v is used where its definition does not reach") != std::string::npos);
}

// --- 7: tapes

TEST_CASE("verifier 7: a tape is consumed once on every path") {
  CHECK(Verified("b0: %u = push %t, %x  %v = push %t, %x  ret") ==
        "@f, b0: %t is a tape that is used twice on a path");
  CHECK(Verified("b0: br %p, b1, b2  b1: %u = push %t, %x ret  b2: %v = push %t, %n ret") == "ok");
  CHECK(Verified("b0: br %p, b1, b2  b1: %u = push %t, %x jump b2  b2: ret %t", "tape") ==
        "@f, b2: %t is a tape that is used twice on a path");
  CHECK(Verified("b0: jump b1  b1: %u = push %t, %x  br %p, b1, b2  b2: ret") ==
        "@f, b1: %t is a tape that is used twice on a path");
  CHECK(Verified("b0: jump b1(%t)  b1(%s: tape): %u = push %s, %x  br %p, b1(%u), b2(%u)"
                 "  b2(%v: tape): ret %v",
                 "tape") == "ok");
  CHECK(Verified("b0: br %p, b1(%t), b1(%t)  b1(%s: tape): ret") == "ok");
  CHECK(Verified("b0: jump b1(%t, %t)  b1(%s: tape, %u: tape): ret").find("used twice") !=
        std::string::npos);
  CHECK(Verified("b0: jump b1  b1: %s = tape_new  %u = push %s, %x  br %p, b1, b2  b2: ret %u",
                 "tape") == "ok");
}

// --- 8: guards

TEST_CASE("verifier 8: guards stand in bodies only") {
  CHECK(Verified("b0: %y = neg %x if %p  ret") ==
        "@f, b0, instruction 0 (neg): a guard may stand in a body only");
}

}  // namespace
}  // namespace pullback::ir
