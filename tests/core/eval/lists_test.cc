// Lists and boxes: value semantics, in place where unique, traps, depth.
#include "tests/core/eval/eval_support.h"

namespace pullback::eval {
namespace {

Tensor ListOf(std::vector<std::vector<Tensor>> records) {
  Tensor t;
  t.list = std::make_shared<ListValue>(ListValue{std::move(records)});
  return t;
}

TEST_CASE("lists are values: the old one stays") {
  const Result r = RunText(R"(
record R { x: f64, a: [*]f64 }
fn @f(%a: [*]f64) -> (list<R>, list<R>, list<R>, i64) {
b0: %n = list_new : list<R>
    %l = list_push %n, 1.0, %a
    %b = update %a[0], 9.0
    %m = list_push %l, 2.0, %b
    %s = list_set %m, 0, 5.0, %b
    %k = list_len %s
    ret %l, %m, %s, %k
})",
                           {Vec({1, 2})});
  const auto at = [&](size_t v, size_t i, size_t k) { return r.values[v].list->records[i][k]; };
  REQUIRE(r.values[0].list->records.size() == 1);
  CHECK(at(0, 0, 0).At<double>(0) == 1);
  CHECK(Doubles(at(0, 0, 1)) == std::vector<double>{1, 2});
  REQUIRE(r.values[1].list->records.size() == 2);
  CHECK(at(1, 0, 0).At<double>(0) == 1);
  CHECK(at(1, 1, 0).At<double>(0) == 2);
  CHECK(at(2, 0, 0).At<double>(0) == 5);
  CHECK(Doubles(at(2, 0, 1)) == std::vector<double>{9, 2});
  CHECK(r.values[3].At<int64_t>(0) == 2);
}

TEST_CASE("take and pop move an element out; take leaves zeros") {
  const Result r = RunText(
      R"(
record R { x: f64, a: [*,*]f64, l: list<R> }
fn @f(%in: list<R>) -> (list<R>, f64, list<R>, i64) {
b0: %t, %x, %a, %l = list_take %in, 0
    %p, %y, %b, %m = list_pop %t
    %d = dim %b, 0
    ret %t, %y, %p, %d
})",
      {ListOf({{Tensor::F64(3), Tensor::Of<double>(DType::kF64, {1, 1}, {4}), ListOf({})}})});
  const std::vector<Tensor> left = r.values[0].list->records.at(0);
  CHECK(left[0].At<double>(0) == 0);
  CHECK(left[1].shape == std::vector<int64_t>{0, 0});
  CHECK(left[2].list->records.empty());
  CHECK(r.values[1].At<double>(0) == 0);
  CHECK(r.values[2].list->records.empty());
  CHECK(r.values[3].At<int64_t>(0) == 0);
}

TEST_CASE("an array taken from a list is changed in place, and so is the list") {
  const Result r = RunText(R"(
record R { a: [*]f64 }
fn @f(%n: i64) -> (list<R>) {
b0: %z = zeros %n : f64
    %e = list_new : list<R>
    %l0 = list_push %e, %z
    jump b1(%l0, 0)
b1(%l: list<R>, %i: i64): br lt(%i, %n), b2, b3
b2: %t, %a = list_take %l, 0
    %b = update %a[%i], 2.0
    %s = list_set %t, 0, %b
    jump b1(%s, add(%i, 1))
b3: ret %l
})",
                           {Tensor::I64(1000)});
  CHECK(r.cost.array_bytes == 8000);
  CHECK(Doubles(r.values[0].list->records[0][0]) == std::vector<double>(1000, 2.0));
}

TEST_CASE("traps of lists") {
  const std::string head =
      "record R { x: f64 }\nfn @f(%i: i64) -> (f64) {\nb0: %e = list_new : list<R>\n";
  const Trap get = TrapOf(head + "%x = list_get %e, %i !7\nret %x }", {Tensor::I64(2)});
  CHECK(get.kind == ir::TrapKind::kIndex);
  CHECK(get.loc == 7);
  CHECK(get.a == 2);
  CHECK(get.b == 0);
  CHECK(TrapOf(head + "%l, %x = list_pop %e\nret %x }", {Tensor::I64(2)}).a == -1);
  const Trap size = TrapOf(
      head + "%l = list_of %i, 1.0 : list<R> !3\n%x = list_get %l, 0\nret %x }", {Tensor::I64(-2)});
  CHECK(size.kind == ir::TrapKind::kNegativeSize);
  CHECK(size.a == -2);
  Limits limits;
  limits.max_bytes = 4096;
  CHECK(TrapOf(head + "%l = list_of %i, 1.0 : list<R>\n%x = list_get %l, 0\nret %x }",
               {Tensor::I64(1000)}, limits)
            .kind == ir::TrapKind::kMemory);
}

TEST_CASE("fit makes zeros of what has no elements") {
  const std::string text = R"(
fn @f(%a: [*,*]f64, %n: i64, %m: i64) -> ([*,*]f64) {
b0: %b = fit %a, %n, %m
    ret %b
})";
  const auto shape = [&](Tensor a, int64_t n, int64_t m) {
    return RunText(text, {std::move(a), Tensor::I64(n), Tensor::I64(m)}).values[0].shape;
  };
  const Tensor none = Tensor::Of<double>(DType::kF64, {0, 0}, {});
  const Tensor one = Tensor::Of<double>(DType::kF64, {1, 1}, {4});
  CHECK(shape(none, 2, 3) == std::vector<int64_t>{2, 3});
  CHECK(shape(none, 0, 3) == std::vector<int64_t>{0, 3});
  CHECK(shape(one, 2, 3) == std::vector<int64_t>{1, 1});
}

TEST_CASE("boxes are shared") {
  const Result r = RunText(R"(
record Cell { x: f64, next: list<Link> }
record Link { to: box<Cell> }
entry @f
fn @bump(%b: box<Cell>) -> () {
b0: %x, %n = box_get %b
    box_set %b, add(%x, 1.0), %n
    ret
}
fn @f() -> (f64) {
b0: %none = list_new : list<Link>
    %b = box_new 1.0, %none : box<Cell>
    %cycle = list_push %none, %b
    box_set %b, 2.0, %cycle
    call @bump(%b)
    %x, %l = box_get %b
    %same = list_get %l, 0
    call @bump(%same)
    %y, %l2 = box_get %b
    ret %y
})");
  CHECK(r.values[0].At<double>(0) == 4);
}

TEST_CASE("a list that nests a million deep is given up without recursion") {
  const char* const text = R"(
record R { l: list<R> }
fn @f(%n: i64) -> (list<R>, i64) {
b0: %e = list_new : list<R>
    jump b1(%e, 0)
b1(%l: list<R>, %i: i64): br lt(%i, %n), b2, b3
b2: %m = list_new : list<R>
    %p = list_push %m, %l
    jump b1(%p, add(%i, 1))
b3: %k = list_len %l
    %o = list_new : list<R>
    ret %o, %k
})";
  CHECK(RunText(text, {Tensor::I64(1000000)}).values[1].At<int64_t>(0) == 1);
}

TEST_CASE("a result that nests too deep is refused") {
  const ir::Module m = Parse(R"(
record R { l: list<R> }
fn @f(%n: i64) -> (list<R>) {
b0: %e = list_new : list<R>
    jump b1(%e, 0)
b1(%l: list<R>, %i: i64): br lt(%i, %n), b2, b3
b2: %m = list_new : list<R>
    %p = list_push %m, %l
    jump b1(%p, add(%i, 1))
b3: ret %l
})");
  CHECK(Run(m, {Tensor::I64(900)}).ok());
  CHECK(Run(m, {Tensor::I64(1100)}).status().reason() == "VALUE_TOO_DEEP");
}

TEST_CASE("arguments that are no such list") {
  const ir::Module m = Parse("record R { x: f64 }\nfn @f(%l: list<R>) -> (list<R>) { b0: ret %l }");
  CHECK(Run(m, {ListOf({{Tensor::F64(1)}})}).ok());
  CHECK(Run(m, {Tensor::F64(1)}).status().reason() == "BAD_ARGUMENTS");
  CHECK(Run(m, {ListOf({{}})}).status().reason() == "BAD_ARGUMENTS");
  CHECK(Run(m, {ListOf({{Tensor::I64(1)}})}).status().reason() == "BAD_ARGUMENTS");
}

}  // namespace
}  // namespace pullback::eval
