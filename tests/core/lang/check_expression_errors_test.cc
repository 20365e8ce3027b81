// What the checker says of wrong expressions: operators, calls, arrays, comprehensions.
#include <catch2/catch.hpp>

#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

TEST_CASE("Check errors: operators name the types that they got") {
  CHECK(Messages(R"(fn neg(b: bool) -> bool { return -b }
fn no(x: f64) -> bool { return not x }
fn both(b: bool, x: f64) -> bool { return b and x }
fn less(b: bool) -> bool { return b < b }
fn plus(b: bool, x: f64) -> f64 { return b + x }
fn same(t: (f64, f64)) -> bool { return t != t }
fn power(x: f64) -> f64 { return x ** true }
fn product(a: [n, m]f64, x: f64) -> [n]f64 { return a @ x })") ==
        R"(1:34 '-' needs a number, got bool
2:32 'not' needs a bool, got f64
3:43 'and' needs bools, got bool and f64
4:35 '<' needs numbers, got bool and bool
5:42 '+' needs numbers, got bool and f64
6:41 '!=' needs scalars or arrays, got (f64, f64) and (f64, f64)
7:34 '**' needs numbers, got f64 and bool
8:53 '@' needs vectors or matrices of numbers, got [n, m]f64 and f64
)");
}

TEST_CASE("Check errors: numbers do not mix, and the message says what to write") {
  CHECK(Messages(R"(fn f(k: i64, x: f64) -> f64 { return k * x }
fn g(k: i64, x: f32) -> f32 { return x - (k + 1) }
fn h(x: f32, y: f64) -> f64 { return x / y }
fn i(k: i64) -> f64 { return k ** 0.5 }
fn ii(k: i64) -> i64 { return k ** 2 + 2 ** k }
fn j(a: [n]f64, b: [n]f32) -> f64 { return a @ b }
fn k(n: i64, x: f64) -> f64 { return 1 / 2 * x }
fn l(x: f64) -> f64 {
  var s = 0
  s += x
  return x
})") ==
        R"(1:38 '*' of i64 and f64: the types must be equal; write f64(k)
2:38 '-' of f32 and i64: the types must be equal; write f32(k + 1)
3:38 '/' of f32 and f64: the types must be equal; write f64(x)
4:30 '**' of i64 and f64: the types must be equal; write f64(k)
5:31 '**' is a power of floats, got i64 on its left; write f64(k)
5:40 '**' is a power of floats, got i64 on its left; write f64(2)
6:44 '@' of [n]f64 and [n]f32: the element types must be equal; write f64(b)
7:38 '*' of i64 and f64: the types must be equal; write f64(1 / 2)
10:3 '+' of i64 and f64: the types must be equal; if 's' shall be a float, give it one as its first value, such as 0.0
)");
}

TEST_CASE("Check errors: casts, tuples, fields") {
  CHECK(Messages(R"(fn f(t: (f64, f64)) -> f64 { return f64(t) }
fn g(t: (f64, i64), x: f64) -> f64 { return t.2 + x.0 })") ==
        R"(1:37 f64(…) needs a scalar or an array, got (f64, f64)
2:45 there is no field .2 in (f64, i64)
2:51 there is no field .0 in f64
)");
}

TEST_CASE("Check errors: arguments") {
  CHECK(Messages(R"(fn f(x: f64, v: [n]f64) -> f64 {
  let a = f(x) + f(x, v, v)
  let b = f(v, v)
  let c = f(x, x)
  let d = f(true, v)
  let e = f(dim(v, 0), v)
  return f((x, x), v)
})") ==
        R"(2:11 'f' takes 2 arguments, got 1
2:18 'f' takes 2 arguments, got 3
3:13 argument 'x' of 'f' must be f64, got [n]f64; to call it for every element, write f.(…)
4:16 argument 'v' of 'f' must be [n]f64, got f64
5:13 argument 'x' of 'f' must be f64, got bool; write f64(true)
6:13 argument 'x' of 'f' must be f64, got i64; write f64(dim(v, 0))
7:12 argument 'x' of 'f' must be f64, got (f64, f64)
)");
}

TEST_CASE("Check errors: scalar built-in functions") {
  CHECK(Messages(R"(fn f(x: f64, k: i64, v: [n]f64) -> f64 {
  let a = sin(x, x) + atan2(x)
  let b = sin(v)
  let c = sqrt(k) + sqrt(true)
  let d = max(k, 1.5) + max(x, x, x)
  let e = max(v, x)
  let g = select(k, x, x) + select(true, x, k)
  return abs((x, x))
})") ==
        R"(2:11 'sin' takes 1 argument, got 2
2:23 'atan2' takes 2 arguments, got 1
3:11 'sin' takes scalars, got [n]f64; for every element, write sin.(…)
4:11 'sqrt' takes floats, got i64; write f64(k)
4:21 'sqrt' takes floats, got bool
5:11 the arguments of 'max' must have one type, got i64 and f64; write f64(k)
5:25 'max' takes 2 arguments, got 3
6:11 'max' takes scalars, got [n]f64; for every element, write max.(…)
7:18 the condition of 'select' must be a bool, got i64
7:29 the arguments of 'select' must have one type, got f64 and i64; write f64(k)
8:10 'abs' takes scalars, got (f64, f64)
)");
}

TEST_CASE("Check errors: structural built-in functions") {
  CHECK(Messages(R"(fn f(x: f64, v: [n]f64, a: [n, m]f64) -> f64 {
  let b = len(x)
  let c = dim(x, 0) + dim(v, 1) + dim(a, n)
  let d = zeros()
  let e = zeros(x)
  let g = column(a)
  return transpose(x) + x.T
})") ==
        R"(2:11 'len' takes an array or a list, got f64
3:11 'dim' takes an array, got f64
3:30 the axis of 'dim' is an integer literal, here from 0 to 0
3:42 the axis of 'dim' is an integer literal, here from 0 to 1
4:11 'zeros' takes at least one size
5:17 a size of 'zeros' must be an i64, got f64; write i64(x)
6:11 'column' takes an array of rank 1, got [n, m]f64
7:10 only an array can be transposed, not f64
7:25 only an array can be transposed, not f64
)");
}

TEST_CASE("Check errors: reductions of arrays") {
  CHECK(Messages(R"(fn f(x: f64, b: [n]bool) -> f64 {
  let a = sum(x) + max(x)
  let c = sum(b)
  let d = prod()
  return sum(x, x)
})") ==
        R"(2:11 'sum' of one argument needs an array of numbers, got f64
2:20 'max' of one argument needs an array of numbers, or takes two scalars, got f64
3:11 'sum' of one argument needs an array of numbers, got [n]bool
4:11 'prod' takes one array, or binders and a body: prod i < n { … }
5:10 'sum' takes one array, or binders and a body: sum i < n { … }
)");
}

TEST_CASE("Check errors: calls for every element") {
  CHECK(Messages(R"(fn s(x: f64) -> f64 { return x }
fn v(x: [n]f64) -> f64 { return 1.0 }
fn t(x: f64) -> [2]f64 { return [x, x] }
fn u(x: f64) { return }
fn f(x: [n]f64, k: [n]i64) -> f64 {
  let a = v.(x)
  let b = t.(x)
  let c = u.(x)
  let d = s.(k)
  let e = len.(x)
  let g = sin.(k)
  let h = s.((x, x))
  let i = nope.(x)
  let j = s.(x, x)
  return 1.0
})") ==
        R"(6:11 'v' cannot be called for every element: its parameter 'x' is no scalar
7:11 't' cannot be called for every element: it must take scalars and give a scalar or a tuple of scalars
8:11 'u' cannot be called for every element: it must take scalars and give a scalar or a tuple of scalars
9:14 argument 'x' of 's' must have elements of type f64, got [n]i64; write f64(k)
10:11 'len' is not a function of scalars
11:11 'sin' takes floats, got [*]i64; write f64(k)
12:11 's.(…)' takes scalars and arrays, got ([n]f64, [n]f64)
13:11 unknown function 'nope'
14:11 's' takes 1 argument, got 2
)");
}

TEST_CASE("Check errors: subscripts") {
  CHECK(Messages(R"(fn f(x: f64, y: [n]f64) -> f64 {
  let a = x[0] + y[0, 1] + y[x] + y[y]
  return sum(y[x:2])
})") ==
        R"(2:11 too many subscripts: f64 takes none, got 1
2:18 too many subscripts: [n]f64 takes at most 1, got 2
2:30 an index must be an i64, got f64; write i64(x)
2:37 an index must be an i64, got [*]f64
3:16 a bound of a slice must be an i64, got f64; write i64(x)
)");
}

TEST_CASE("Check errors: array literals") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 {
  let a = [1.0, true]
  let b = [1, [2]]
  let c = [(1, 2), (3, 4)]
  let d = [x, f32(1)]
  let e = [[1, 2], [1, 2, 3]]
  return x
})") ==
        R"(2:17 the elements of this array differ: the first is f64, this one bool
3:15 the elements of this array differ: the first is i64, this one [1]i64
5:15 the elements of this array differ: the first is f64, this one f32
6:20 the elements of this array differ in size: the first has 2, this one 3
)");
}

TEST_CASE("Check errors: comprehensions") {
  CHECK(Messages(R"(fn f(x: [n]f64) -> f64 {
  let a = sum i < 2.5 { 1.0 }
  let b = sum i in 0..true { 1.0 }
  let c = sum i < n { x[i] > 0.0 }
  let d = max i < n { x > 0.0 }
  let e = gen i < n { (1.0, 2.0) }
  for i < x { }
  return 1.0
})") ==
        R"(2:19 a bound of 'i' must be an i64, got f64; write i64(2.5)
3:23 a bound of 'i' must be an i64, got bool; write i64(true)
4:23 'sum' needs numbers, got bool; [p] is 1 where p holds and 0 elsewhere
5:23 'max' needs numbers, got [n]bool
7:11 a bound of 'i' must be an i64, got [*]f64
)");
}

TEST_CASE("Check errors: arrays are regular") {
  CHECK(Messages(R"(fn f(n: i64) -> f64 {
  let a = gen i < n, j < i { 1.0 }
  let b = gen i < n, j in i..n { 1.0 }
  let c = gen i < n { gen j < i + 1 { 1.0 } }
  let d = sum i < n { zeros(2 * i) }
  return 1.0
})") ==
        R"(2:26 a bound of 'gen' may not depend on 'i': the rows of an array are equally long
3:27 a bound of 'gen' may not depend on 'i': the rows of an array are equally long
4:23 the size i + 1 differs from element to element of this 'gen'
5:23 the size 2 * i differs from element to element of this 'sum'
)");
}

}  // namespace
}  // namespace pullback::lang
