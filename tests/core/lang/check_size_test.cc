// Sizes that are compared while compiling.
#include <catch2/catch.hpp>

#include "core/lang/check_size.h"
#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

// n and m are size variables, k is any integer.
const std::vector<Local>& SomeLocals() {
  static const std::vector<Local> locals = {
      {Local::Kind::kSize, "n", Type::Scalar(DType::kI64), {}},
      {Local::Kind::kSize, "m", Type::Scalar(DType::kI64), {}},
      {Local::Kind::kLet, "k", Type::Scalar(DType::kI64), {}},
  };
  return locals;
}
Size N() { return Size::Of(0); }
Size M() { return Size::Of(1); }
Size K() { return Size::Of(2); }
Size C(int64_t c) { return Size::Const(c); }
std::string Text(const Size& s) { return ToString(s, SomeLocals()); }
bool Unequal(const Size& a, const Size& b) { return ProvablyUnequal(a, b, SomeLocals()); }
bool Clash(const Size& a, const Size& b) { return ProvablyNotBroadcastable(a, b, SomeLocals()); }

TEST_CASE("Size: arithmetic") {
  CHECK(Text(N() - M() + C(1)) == "n - m + 1");
  CHECK(Text((N() + C(1)) * (N() - C(1))) == "n * n - 1");
  CHECK(Text(C(2) * N() - M() * N()) == "2 * n - n * m");
  CHECK(Text(C(-3) - N()) == "-n - 3");
  CHECK(Text(N() - N()) == "0");
  CHECK(Text((C(4) * N() + C(2)).DividedBy(2)) == "2 * n + 1");
  CHECK(Text((C(4) * N() + C(1)).DividedBy(2)) == "?");
  CHECK(Text(N() + Size()) == "?");
  CHECK(Text(C(INT64_MAX) + C(1)) == "?");
  CHECK(Text(C(INT64_MIN)) == "-9223372036854775808");
  CHECK((N() + C(3) - N()).AsConst() == 3);
  CHECK(!(N() + C(3)).AsConst());
}

TEST_CASE("Size: arithmetic has bounds") {
  Size power = N() + M() + K();
  for (int i = 0; i < 4; ++i) power = power * power;
  CHECK(!power.known());
}

TEST_CASE("Size: linear forms") {
  CHECK((C(2) * N() + M()).LinearIn(0) == 2);
  CHECK(!(N() * M()).LinearIn(0));
  CHECK(!(N() * N()).LinearIn(0));
  CHECK(!M().LinearIn(0));
  Size swapped = (N() - C(2) * M()).Substitute([](uint32_t l) { return Size::Of(1 - l); });
  CHECK(Text(swapped) == "m - 2 * n");
}

TEST_CASE("Size: provably unequal") {
  CHECK(Unequal(C(3), C(4)));
  CHECK(Unequal(N(), N() + C(1)));
  CHECK(Unequal(N(), C(2) * N() + M() + C(1)));  // sizes are not negative
  CHECK(Unequal(C(2) * N(), C(2) * M() + C(1)));
  CHECK(Unequal(C(4) * K(), C(6) * M() + C(3)));
  CHECK(!Unequal(N(), M()));
  CHECK(!Unequal(N(), N()));
  CHECK(!Unequal(N(), C(2) * N()));        // equal for 0
  CHECK(!Unequal(N(), N() + K() + C(1)));  // k may be negative
  CHECK(!Unequal(N(), M() + C(1)));
  CHECK(!Unequal(N(), Size()));
}

TEST_CASE("Size: provably not broadcastable") {
  CHECK(Clash(C(3), C(4)));
  CHECK(Clash(N() + C(2), N() + C(3)));
  CHECK(!Clash(N(), N() + C(1)));  // 0 and 1
  CHECK(!Clash(C(1), C(4)));
  CHECK(!Clash(C(3), N()));
}

TEST_CASE("Check: sizes that broadcast or multiply") {
  CHECK(Messages(R"(fn f(x: [n]f64, y: [n + 1]f64, a: [3]f64, b: [4]f64, c: [n + 2, m]f64) -> f64 {
  let d = a + b
  let e = c * c[1:]
  let g = [1, 2] @ [1, 2, 3]
  let h = c @ c
  let i = atan2.(a, b)
  return x @ y
})") == R"(2:11 sizes 3 and 4 do not broadcast: they are neither equal nor is one of them 1
4:11 '@' of [2]i64 and [3]i64: the inner sizes 2 and 3 differ
6:11 sizes 3 and 4 do not broadcast: they are neither equal nor is one of them 1
7:10 '@' of [n]f64 and [n + 1]f64: the inner sizes n and n + 1 differ
)");
}

TEST_CASE("Check: sizes of results") {
  CHECK(Messages(R"(fn f(x: [n]f64) -> [n + 1]f64 { return x }
fn g(x: [n]f64) -> [n]f64 { return x[1:] }
fn h(x: [n]f64) -> [n]f64 { return gen i in 1..n { x[i] } }
fn i(x: [n, m]f64) -> ([n, m]f64, [m + 1]f64) { return (x, x[0]) }
fn j(k: i64) -> [k]f64 { return zeros(k + 1) }
fn k(x: [n]f64) -> [n]f64 { let m = len(x) + 2; return zeros(m) }
fn l(x: [n]f64) -> [n]f64 { return [1.0, 2.0, 3.0][0:2] + x[0] }
fn m(x: [3]f64) -> [2]f64 { return x[::2][::2] }
fn o(x: [n]f64) -> [n]f64 { return column(x)[:, 0].T + column(x[1:])[:, 0] })") ==
        R"(1:40 the result of 'f' has size n on axis 0, but n + 1 is declared
2:36 the result of 'g' has size n - 1 on axis 0, but n is declared
3:36 the result of 'h' has size n - 1 on axis 0, but n is declared
4:56 the result of 'i' has size m on axis 0, but m + 1 is declared
5:33 the result of 'j' has size k + 1 on axis 0, but k is declared
6:56 the result of 'k' has size n + 2 on axis 0, but n is declared
8:36 the result of 'm' has size 1 on axis 0, but 2 is declared
)");
}

TEST_CASE("Check: sizes of arguments") {
  CHECK(Messages(R"(fn two(x: [n]f64, y: [n]f64) -> f64 { return 1.0 }
fn next(x: [n]f64, y: [n + 1]f64) -> [n]f64 { return x }
fn half(x: [2 * n]f64) -> [n]f64 { return zeros(n) }
fn sized(k: i64, x: [k]f64) -> [k, k]f64 { return zeros(k, k) }
fn pair(t: ([n]f64, [n]f64)) -> f64 { return 1.0 }
fn f(x: [n]f64, y: [n + 1]f64, z: [4 * m]f64) -> [2 * m + 1]f64 {
  let a = two(x, y)
  let b = next(x, x)
  let c = sized(3, [1, 2])
  let d = pair((x, y))
  let e = half([1, 2, 3])
  return half(z)
})") == R"(7:18 argument 'y' of 'two' has size n + 1 on axis 0, expected n
8:19 argument 'y' of 'next' has size n on axis 0, expected n + 1
9:20 argument 'x' of 'sized' has size 2 on axis 0, expected k = 3
10:16 argument 't' of 'pair' has size n + 1 on axis 0, expected n
12:10 the result of 'f' has size 2 * m on axis 0, but 2 * m + 1 is declared
)");
}

TEST_CASE("Check: sizes that may be right are left to the run") {
  CHECK(Messages(R"(fn two(x: [n]f64, y: [n]f64) -> f64 { return 1.0 }
fn f(x: [n]f64, y: [m]f64, k: i64) -> [n]f64 {
  let a = two(x, y) + two(x, x[k:]) + two(zeros(k), y)
  let b = x + y
  let h = n / 2
  let c: [h]f64 = gen i < n / 2 { x[i] }
  var d = x
  d = y
  let e = if k > 0 { x } else { y }
  let g = x + x[1:]
  let i = gen i < n { let s = n - n / 2; zeros(s) }
  if k > 1 { return d }
  if k > 2 { return e }
  return b
})") == "");
}

TEST_CASE("Check: how size variables are found") {
  Program program = Checked(
      "fn f(x: [2 * n + m]f64, y: [m + 1, p - m]f64, t: (f64, [m]f64), k: i64, z: [k]f64) -> f64 "
      "{ return 1.0 }");
  const Function& f = *program.functions[0];
  REQUIRE(f.size_bindings.size() == 3);
  auto text = [&](size_t i) {
    const SizeBinding& b = f.size_bindings[i];
    return f.locals[b.local].name + ": leaf " + std::to_string(b.leaf) + " axis " +
           std::to_string(b.axis) + " coefficient " + std::to_string(b.coeff);
  };
  CHECK(text(0) == "m: leaf 3 axis 0 coefficient 1");  // alone: before linear forms
  CHECK(text(1) == "n: leaf 0 axis 0 coefficient 2");
  CHECK(text(2) == "p: leaf 1 axis 1 coefficient 1");
  CHECK(f.size_bindings[1].dim == f.params[0].type.dims[0].get());
}

TEST_CASE("Check: sizes in headers") {
  CHECK(
      Messages(R"(fn f(x: [n - m]f64) -> f64 { return 1.0 }
fn g(x: [rows]f64) -> [row]f64 { return x }
fn h(x: [n * n]f64) -> f64 { return 1.0 }
fn i(x: [n]f64, n: f64) -> f64 { return 1.0 }
fn j(x: [sin(n)]f64) -> f64 { return 1.0 }
fn k(x: [n / 2]f64) -> f64 { return 1.0 }
fn l(x: [n]f64) -> [n ** 2]f64 { return x }
fn m(x: [n + m - m]f64) -> f64 { return 1.0 }
fn o(x: [2f32]f64) -> f64 { return 1.0 })") ==
      R"(1:10 the arguments do not give the size 'n': an axis of some parameter must have it as its size, or a linear form of it such as n + 1
1:14 the arguments do not give the size 'm': an axis of some parameter must have it as its size, or a linear form of it such as m + 1
2:24 unknown size 'row': sizes of the result are made of the parameters' sizes; did you mean 'rows'?
3:10 the arguments do not give the size 'n': an axis of some parameter must have it as its size, or a linear form of it such as n + 1
4:10 the size 'n' is a parameter that is not an i64
5:10 a size is made of names, whole numbers, + - * / and %
6:10 the arguments do not give the size 'n': an axis of some parameter must have it as its size, or a linear form of it such as n + 1
7:21 a size is made of names, whole numbers, + - * / and %
8:10 the arguments do not give the size 'n': an axis of some parameter must have it as its size, or a linear form of it such as n + 1
8:14 the arguments do not give the size 'm': an axis of some parameter must have it as its size, or a linear form of it such as m + 1
9:10 a size is made of names, whole numbers, + - * / and %
)");
}

}  // namespace
}  // namespace pullback::lang
