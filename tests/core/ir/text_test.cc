// Printing and parsing: what is printed parses to the same module, and prints the same again.
#include <bit>
#include <catch2/catch.hpp>
#include <limits>

#include "core/ir/builder.h"
#include "core/ir/parser.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"

namespace pullback::ir {
namespace {

Module Parse(const std::string& text) {
  auto m = ParseModule(text);
  INFO(m.status().ToString());
  REQUIRE(m.ok());
  return std::move(m).value();
}

std::string Reprint(const std::string& text) { return Print(Parse(text)); }

// Text in the printer's own form stays as it is.
void CheckStays(const std::string& text) { CHECK(Reprint(text) == text); }

TEST_CASE("text: every kind of instruction round-trips") {
  CheckStays(R"(entry @main

fn @scale(%x: f64, %k: i64) -> (f64, bool) {
b0:
  %c = gt %k, 0
  %f = cast %k : f64
  %y = mul %x, %f
  %z = select %c, %y, 0.0
  ret %z, %c
}

fn @main(%a: [*,*]f64, %m: [*]bool, %n: i64) -> (f64, [*]f64, [*,*]f64, tape) {
b0:
  %d = dim %a, 1
  %h = affine %d - 2*%n + 3
  %ok = holds (%d <= %n and 2*%h == %n + 1)
  check %ok, negative_size, %h, 4 !9
  check true, index !2
  %z = zeros %n, %d : f64
  %t = tape_new
  %t1 = push %t, %a
  %t2, %a2 = pop %t1 : [*,*]f64
  %v = index %a2[%n - 1, 0] !3
  %u = update %z[0, %n + %d], %v !4
  %w = add_at %u[-1, 2*%n], 1.5 !5
  %s = add_arrays %w, %u !6
  %r, %q = each(i < %n, j < 3) where (%i <= %j and %i + 1 == 2*%j and %i < %n) {
    %g = holds (1 <= %j)
    %p = index %a[%j, %i] if %g !7
    %x, %y = call @scale(%p, %i) if %g
    %0 = sqrt %x
    %k = const 2.0 if %g
  } sum []: %0 if %g, gen [%i + 2*%j] of (%n): %k !8
  %e = each() {
  } max []: %v
  br %ok, b1(%e), b2
b1(%o: f64):
  jump b2
b2:
  ret %r, %q, %s, %t2
}
)");
}

TEST_CASE("text: functions without parameters, results or names that are identifiers") {
  CheckStays("entry @\"a b\\\"c\"\n\nfn @\"a b\\\"c\"() -> () {\nb0:\n  ret\n}\n");
  CHECK(Reprint("").empty());
}

TEST_CASE("text: constants read back to the same bits") {
  const uint64_t f64[] = {0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000,
                          0x3fb999999999999a, 0x0000000000000001, 0x7fefffffffffffff,
                          0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
                          0xfff8000000000000, 0x7ff8000000000001, 0x7ff0000000000001,
                          0x4480f0cf064dd592, 0xc0c81cc000000000};
  const uint64_t f32[] = {0x00000000, 0x80000000, 0x3dcccccd, 0x00000001, 0x7f7fffff, 0x7f800000,
                          0xff800000, 0x7fc00000, 0xffc00000, 0x7fc00001, 0x4b800001};
  const int64_t i64[] = {0, -1, std::numeric_limits<int64_t>::min(),
                         std::numeric_limits<int64_t>::max()};
  Module m;
  Function& f = m.Get(m.AddFunction("f"));
  Builder b(m, f);
  b.SetBlock(b.NewBlock());
  std::vector<Value> values;
  for (uint64_t bits : f64) values.push_back(b.Const(Type::F64(), bits));
  for (uint64_t bits : f32) values.push_back(b.Const(Type::Scalar(DType::kF32), bits));
  for (int64_t v : i64) values.push_back(b.I64(v));
  values.push_back(b.Bool(true));
  values.push_back(b.Bool(false));
  for (Value v : values) f.results.push_back(b.TypeOf(v));
  b.Return(values);

  const Module again = Parse(Print(m));
  CHECK(Print(again) == Print(m));
  CHECK(again.Get(0).results == f.results);
  const std::vector<Inst>& insts = again.Get(0).blocks[0].insts;
  REQUIRE(insts.size() == values.size());
  for (size_t i = 0; i < insts.size(); ++i) {
    CHECK(insts[i].bits == f.blocks[0].insts[i].bits);
    CHECK(again.Get(0).TypeOf(insts[i].results[0]) == f.results[i]);
  }
}

TEST_CASE("text: how constants look") {
  const char* text =
      "entry @f\n\nfn @f() -> (f64, f64, f32, f64, f32, f64, f64) {\nb0:\n"
      "  ret 1.0, -0.0, 0.1f, inf, -inff, nan, 1e+22\n}\n";
  CheckStays(text);
}

TEST_CASE("text: names are made unique, and stay as they are from then on") {
  Module m;
  Function& f = m.Get(m.AddFunction("f"));
  f.results = {Type::F64()};
  Builder b(m, f);
  b.SetBlock(b.NewBlock());
  const Value x = b.AddParam(0, Type::F64(), "x");
  const Value y = b.Make(Op::Neg, {x}, "x");
  const Value z = b.Make(Op::Neg, {y}, "x.1");
  const Value w = b.Make(Op::Neg, {z}, "7 up");
  b.Return({b.Make(Op::Neg, {w})});
  const std::string text = Print(m);
  CHECK(text.find("%x.1 = neg %x\n  %x.2 = neg %x.1\n  %_7_up = neg %x.2\n  %0 = neg %_7_up\n") !=
        std::string::npos);
  CHECK(Reprint(text) == text);
}

TEST_CASE("text: statements may use the same names again") {
  CheckStays(R"(entry @f

fn @f(%n: i64) -> (i64, i64) {
b0:
  %a = each(i < %n) {
    %v = mul %i, %i
  } sum []: %v
  %b = each(i < %n) {
    %v = mul %i, 2
  } sum []: %v
  ret %a, %b
}
)");
}

TEST_CASE("text: a constant that an affine form reads keeps its name") {
  CheckStays(R"(entry @f

fn @f(%n: i64) -> (i64, i64) {
b0:
  %c = const 3
  %a = affine %n + 2*%c
  ret %a, %c
}
)");
}

TEST_CASE("text: the order of values does not matter to the text") {
  // %late is used above its definition.
  CheckStays(R"(entry @f

fn @f(%n: i64) -> (i64) {
b0:
  jump b2
b1:
  %a = affine %n + %late
  ret %a
b2:
  %late = affine %n + 1
  jump b1
}
)");
}

TEST_CASE("text: constraints of every sign") {
  const char* text = R"(entry @f

fn @f(%i: i64, %j: i64) -> () {
b0:
  %0 = holds (%i <= %j and %i < %j and %i + 1 < %j and 0 <= %i)
  %1 = holds (1 <= %i and %i <= 5 and %i + %j <= 5 and 3 == %i and %i == %j + 2)
  %2 = holds (0 == 0 and 1 == 0 and 0 <= 4 and 1 <= 0)
  %3 = holds (9223372036854775807*%i <= 9223372036854775807)
  ret
}
)";
  CHECK(Reprint(Reprint(text)) == Reprint(text));
  const Module m = Parse(text);
  const Module again = Parse(Print(m));
  for (size_t i = 0; i < 4; ++i) {
    CHECK(m.Get(0).blocks[0].insts[i].constraints == again.Get(0).blocks[0].insts[i].constraints);
  }
  CHECK(Reprint(R"(fn @f(%i: i64, %j: i64) -> () {
b0:
  %0 = holds (%i >= %j and %i > %j)
  ret
}
)")
            .find("holds (%j <= %i and %j < %i)") != std::string::npos);
}

TEST_CASE("text: extreme coefficients keep their value") {
  const int64_t kMin = std::numeric_limits<int64_t>::min();
  Module m;
  Function& f = m.Get(m.AddFunction("f"));
  Builder b(m, f);
  b.SetBlock(b.NewBlock());
  const Value n = b.AddParam(0, Type::I64(), "n");
  b.AffineOf(Affine::Of(n) * kMin + Affine::Const(kMin));
  b.Holds({{Affine::Of(n) * kMin + Affine::Const(kMin), false}});
  b.Return({});
  const Module again = Parse(Print(m));
  const auto& insts = again.Get(0).blocks[0].insts;
  CHECK(insts[0].subs == f.blocks[0].insts[0].subs);
  CHECK(insts[1].constraints == f.blocks[0].insts[1].constraints);
}

TEST_CASE("text: free forms are read too") {
  const Module m = Parse(R"(
    # operations as operands, `;`, labels of any name, `%` in the head of a statement
    fn @f(%x: f64, %n: i64) -> f64 {
    start: %y = add mul(%x, 2.0), %x; %z = neg %y
      br gt(%n, 0), more, done(%z)
    more: %s = each(%i < 3) { } sum []: 1.0   jump done(%s)
    done(%r: f64): ret %r }
  )");
  CHECK(Verify(m).ToString() == "OK");
  CHECK(m.Get(0).blocks.size() == 3);
  CHECK(Reprint(Print(m)) == Print(m));
}

TEST_CASE("text: a broken instruction can still be printed") {
  Module m;
  Function& f = m.Get(m.AddFunction("f"));
  Inst index;
  index.op = Op::Index;
  Inst add;
  add.op = Op::Add;
  add.args = {Value{77}, kNoValue};
  f.blocks.emplace_back().insts = {index, add};
  const std::string text = Print(m);
  CHECK(text.find("malformed index") != std::string::npos);
  CHECK(text.find("add %undefined, %undefined") != std::string::npos);
}

}  // namespace
}  // namespace pullback::ir
