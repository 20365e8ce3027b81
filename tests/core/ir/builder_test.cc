#include "core/ir/builder.h"

#include <catch2/catch.hpp>

#include "core/ir/printer.h"
#include "core/ir/verifier.h"

namespace pullback::ir {
namespace {

Function& NewFunction(Module& m, const char* name, std::vector<Type> results) {
  Function& f = m.Get(m.AddFunction(name));
  f.results = std::move(results);
  return f;
}

void CheckPrints(const Module& m, const std::string& text) {
  CHECK(Verify(m).ToString() == "OK");
  CHECK(Print(m) == text);
}

TEST_CASE("builder: blocks, parameters and terminators") {
  Module m;
  Function& f = NewFunction(m, "pow", {Type::F64()});
  Builder b(m, f);
  const uint32_t entry = b.NewBlock(), head = b.NewBlock(), body = b.NewBlock(),
                 exit = b.NewBlock();
  const Value x = b.AddParam(entry, Type::F64(), "x");
  const Value n = b.AddParam(entry, Type::I64(), "n");
  const Value r = b.AddParam(head, Type::F64(), "r");
  const Value k = b.AddParam(head, Type::I64(), "k");
  b.SetBlock(entry);
  b.Jump(head, {b.F64(1.0), n});
  CHECK(b.Terminated());
  b.SetBlock(head);
  CHECK_FALSE(b.Terminated());
  b.Branch(b.Make(Op::Gt, {k, b.I64(0)}, "more"), {body, {}}, {exit, {}});
  b.SetBlock(body);
  const Value next = b.Make(Op::Mul, {r, x});
  b.Jump(head, {next, b.Make(Op::Sub, {k, b.I64(1)})});
  b.SetBlock(exit);
  b.Return({r});
  CheckPrints(m, R"(entry @pow

fn @pow(%x: f64, %n: i64) -> (f64) {
b0:
  jump b1(1.0, %n)
b1(%r: f64, %k: i64):
  %more = gt %k, 0
  br %more, b2, b3
b2:
  %0 = mul %r, %x
  %1 = sub %k, 1
  jump b1(%0, %1)
b3:
  ret %r
}
)");
}

TEST_CASE("builder: a tensor statement, its guards and trap ordinals") {
  Module m;
  Function& f = NewFunction(m, "f", {Type::Array(DType::kF64, 1), Type::F64()});
  Builder b(m, f);
  b.SetBlock(b.NewBlock());
  const Value a = b.AddParam(0, Type::Array(DType::kF64, 1), "a");
  const Value n = b.Dim(a, 0);
  b.SetLoc(7);
  const std::vector<Value> i = b.BeginEach({n}, {"i"});
  CHECK(b.InEach());
  b.Where({Affine::Of(i[0]) - Affine::Const(1), false});
  const Value g = b.Holds({{Affine::Of(n) - Affine::Of(i[0]) - Affine::Const(2), false}});
  b.SetGuard(g);
  const Value v = b.Index(a, {Affine::Of(i[0]) + Affine::Const(1)}, "v");
  b.SetGuard(kNoValue);
  const Value w = b.Make(Op::Mul, {v, b.F64(2.0)});
  const std::vector<Value> y = b.EndEach(
      {{Monoid::kGen, {Affine::Of(i[0])}, {n}, w, kNoValue}, {Monoid::kSum, {}, {}, v, g}},
      {"y", "s"});
  b.Return(y);
  CheckPrints(m, R"(entry @f

fn @f(%a: [*]f64) -> ([*]f64, f64) {
b0:
  %0 = dim %a, 0
  %y, %s = each(i < %0) where (1 <= %i) {
    %1 = holds (%i + 2 <= %0)
    %v = index %a[%i + 1] if %1 !7
    %2 = mul %v, 2.0
  } gen [%i] of (%0): %2, sum []: %v if %1 !7
  ret %y, %s
}
)");
}

TEST_CASE("builder: arrays, calls, checks and tapes") {
  Module m;
  Function& g = NewFunction(m, "g", {Type::Scalar(DType::kF32), Type::Scalar(DType::kF32)});
  {
    Builder b(m, g);
    b.SetBlock(b.NewBlock());
    const Value x = b.AddParam(0, Type::Scalar(DType::kF32), "x");
    b.Return({x, b.One(Type::Scalar(DType::kF32))});
  }
  Function& f = NewFunction(m, "f", {Type::Array(DType::kF32, 2)});
  m.entry = 1;
  Builder b(m, f);
  b.SetBlock(b.NewBlock());
  const Value n = b.AddParam(0, Type::I64(), "n");
  const Value z = b.Zeros(DType::kF32, {n, n});
  const Value like = b.ZerosLike(z);
  const std::vector<Value> two = b.Call(0, {b.Float(DType::kF32, 0.1)});
  b.Check(b.Make(Op::Ge, {n, b.I64(1)}), TrapKind::kSizeMismatch, n);
  const Value t1 = b.Push(b.TapeNew(), two[0]);
  const auto [t2, popped] = b.Pop(t1, Type::Scalar(DType::kF32));
  const Affine zero = Affine::Const(0);
  const Value u = b.Update(z, {zero, zero}, b.Cast(b.AffineOf(Affine::Of(n) * 2), DType::kF32));
  const Value w = b.AddAt(u, {zero, zero}, popped);
  CHECK(b.AffineOf(Affine::Of(n)) == n);
  b.Return({b.Add(w, like)});
  (void)t2;
  CheckPrints(m, R"(entry @f

fn @g(%x: f32) -> (f32, f32) {
b0:
  ret %x, 1.0f
}

fn @f(%n: i64) -> ([*,*]f32) {
b0:
  %0 = zeros %n, %n : f32
  %1 = dim %0, 0
  %2 = dim %0, 1
  %3 = zeros %1, %2 : f32
  %4, %5 = call @g(0.1f)
  %6 = ge %n, 1
  check %6, size_mismatch, %n
  %7 = tape_new
  %8 = push %7, %4
  %9, %10 = pop %8 : f32
  %11 = affine 2*%n
  %12 = cast %11 : f32
  %13 = update %0[0, 0], %12
  %14 = add_at %13[0, 0], %10
  %15 = add_arrays %14, %3
  ret %15
}
)");
}

TEST_CASE("builder: a pass may append to a list of its own") {
  Module m;
  Function& f = NewFunction(m, "f", {Type::F64()});
  Builder b(m, f);
  b.SetBlock(b.NewBlock());
  const Value n = b.AddParam(0, Type::I64(), "n");
  std::vector<Inst> list;
  b.RedirectTo(&list);
  const std::vector<Value> i = b.BeginEach({n}, {"i"});
  const Value x = b.Cast(i[0], DType::kF64);
  const Value s = b.EndEach({{Monoid::kSum, {}, {}, x, kNoValue}})[0];
  CHECK(f.blocks[0].insts.empty());
  CHECK(list.size() == 1);
  CHECK(list[0].each->body.size() == 1);
  b.RedirectTo(nullptr);
  f.blocks[0].insts = std::move(list);
  b.Return({s});
  CHECK(Verify(m).ToString() == "OK");
}

TEST_CASE("builder: only what may trap gets an ordinal") {
  Module m;
  Function& f = NewFunction(m, "f", {});
  Builder b(m, f);
  b.SetBlock(b.NewBlock());
  const Value x = b.AddParam(0, Type::F64());
  const Value n = b.AddParam(0, Type::I64());
  b.SetLoc(5);
  b.Make(Op::Div, {x, x});
  b.Make(Op::Div, {n, n});
  b.Make(Op::Add, {n, n});
  const std::vector<Inst>& insts = f.blocks[0].insts;
  CHECK(insts[0].loc == 0);
  CHECK(insts[1].loc == 5);
  CHECK(insts[2].loc == 0);
}

TEST_CASE("module: names of functions are unique, clones are deep") {
  Module m;
  m.AddFunction("f");
  m.Get(m.AddFunction("f")).results = {Type::F64()};
  CHECK(m.Get(1).name == "f.1");
  const Module copy = m.Clone();
  m.Get(1).results.clear();
  CHECK(copy.Get(1).results.size() == 1);
}

}  // namespace
}  // namespace pullback::ir
