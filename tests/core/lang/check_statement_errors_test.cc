// What the checker says of wrong names, statements, types of functions and variables.
#include <catch2/catch.hpp>

#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

TEST_CASE("Check errors: unknown names get a suggestion") {
  CHECK(Messages(R"(fn f(speed: f64) -> f64 { return sped + q }
fn g(x: f64) -> f64 { return sine(x) + nothing(x) }
fn h(x: f64) -> f64 { let total = x; totl = 1.0; return total })") ==
        R"(1:34 unknown name 'sped'; did you mean 'speed'?
1:41 unknown name 'q'
2:30 unknown function 'sine'; did you mean 'sin'?
2:40 unknown function 'nothing'
3:38 unknown variable 'totl'; did you mean 'total'?
)");
}

TEST_CASE("Check errors: a function is no value, and a variable no function") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 { return g }
fn g(x: f64) -> f64 { return sin })") ==
        R"(1:30 'f' must return f64, but this is a function
2:30 'g' must return f64, but this is a function
)");
  CHECK(Messages("fn f(x: f64) -> f64 { return x(1.0) }") ==
        "1:30 'x' is a variable here (f64), not a function\n");
}

TEST_CASE("Check errors: duplicates") {
  CHECK(Messages(R"(fn f(x: f64, x: f64) -> f64 { return x }
fn f() -> f64 {
  let a, a = 1, 2
  var p, q = 1, 2
  p, p = 1, 2
  return sum i < 2, i < 3 { 1.0 }
})") ==
        R"(1:14 'f' has two parameters named 'x'
2:4 there is already a function named 'f'
3:10 'a' is defined twice in one statement
5:6 'p' is assigned twice in one statement
6:21 'i' is bound twice in one 'sum'
)");
}

TEST_CASE("Check errors: conditions") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 { if x { return 1.0 } while 1 { } return 2.0 }
fn g(x: f64) -> f64 { return if x { 1.0 } else { 2.0 } }
fn h(x: [n]f64) -> f64 { return if x > 0.0 { 1.0 } else { 2.0 } })") ==
        R"(1:26 the condition of 'if' must be a bool, but this is f64
1:49 the condition of 'while' must be a bool, but this is i64
2:33 the condition of 'if' must be a bool, but this is f64
3:36 the condition of 'if' must be a bool, but this is [n]bool
)");
}

TEST_CASE("Check errors: arms of an if agree") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 { return if x > 0.0 { x } else { true } }
fn g(x: f64) -> f64 { return if x > 0.0 { x } else { [x, x] } })") ==
        R"(1:54 the arms of this 'if' differ: the first gives f64, this one bool
2:54 the arms of this 'if' differ: the first gives f64, this one [*]f64
)");
}

TEST_CASE("Check errors: every path returns") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 { if x > 0.0 { return 1.0 } }
fn g(x: f64) -> f64 { while x > 0.0 { return 1.0 } }
fn h(x: f64) -> f64 { while true { if x > 1.0 { break } } }
fn i(x: f64) -> f64 { for i < 3 { return x } }
fn j(x: f64) -> f64 { if x > 0.0 { return 1.0 } else if x < 0.0 { return 2.0 } })") ==
        R"(1:4 not every path of 'f' returns a value
2:4 not every path of 'g' returns a value
3:4 not every path of 'h' returns a value
4:4 not every path of 'i' returns a value
5:4 not every path of 'j' returns a value
)");
}

TEST_CASE("Check errors: results") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 { return }
fn g(x: f64) { return x }
fn h(x: [n]f64) -> f64 { return x }
fn i(x: f64) -> i64 { return 1.5 }
fn j(x: f64) -> (f64, i64) { return (x, x) }
fn k(x: f64) -> f64 { return g(x) })") ==
        R"(1:23 'f' must return f64
2:23 'g' has no result; to give it one, write '-> f64' after its parameters
3:33 'h' must return f64, but this is [n]f64
4:30 'i' must return i64, but this is f64
5:37 'j' must return (f64, i64), but this is (f64, f64)
6:30 'g' has no result and cannot be used as a value
)");
}

TEST_CASE("Check errors: only a var can be assigned") {
  CHECK(Messages(R"(fn f(x: f64, a: [n]f64) -> f64 {
  let y = 1.0
  y = 2.0
  x = 1.0
  n = 2
  a[0] = 1.0
  for i < 3 { i = 2 }
  return x
})") ==
        R"(3:3 'y' may not be assigned: it is defined with 'let'; define it with 'var' to assign it
4:3 'x' may not be assigned: it is a parameter; copy it with 'var'
5:3 'n' may not be assigned: it is a size; copy it with 'var'
6:3 'a' may not be assigned: it is a parameter; copy it with 'var'
7:15 'i' may not be assigned: it is an index; copy it with 'var'
)");
}

TEST_CASE("Check errors: assigned values keep the type") {
  CHECK(Messages(R"(fn f(x: [n]f64) -> f64 {
  var a = x
  var k = 0
  a = 1.0
  a[0] = true
  a[0, 0] = 1.0
  a[1.5] = 1.0
  k[0] = 1
  k = 1.5
  k, a[0] = true, false
  k, a[0] = (1, 2, 3)
  return 0.0
})") ==
        R"(4:7 'a' is [*]f64, but the value is f64
5:10 an element of 'a' is f64, but the value is bool
6:3 too many subscripts: 'a' is [*]f64 and takes 1, got 2
7:5 an index must be an i64, got f64; write i64(1.5)
8:3 too many subscripts: 'k' is i64 and takes none, got 1
9:7 'k' is i64, but the value is f64; where its first value is written 0, write 0.0
10:13 'k' is i64, but the value is bool
10:19 an element of 'a' is f64, but the value is bool
11:13 2 targets need as many values, but this is (i64, i64, i64)
)");
}

TEST_CASE("Check errors: taking a tuple apart") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 {
  let (a, b) = x
  let (c, d) = (1, 2, 3)
  return a + c
})") ==
        R"(2:16 2 names need a tuple of as many elements, but the value is f64
3:16 2 names need a tuple of as many elements, but the value is (i64, i64, i64)
)");
}

TEST_CASE("Check errors: declared types") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 {
  let k: i64 = x
  let a: [2]f32 = [x, x]
  let b: [x]f64 = [1.0]
  let c: [q]f64 = [1.0]
  let d: (f64, [2]i64) = (x, [1, 2, 3])
  return x
})") ==
        R"(2:16 the declared type is i64, but the value is f64
3:19 the declared type is [2]f32, but the value is [2]f64
4:11 a size must be an i64, got f64; write i64(x)
5:11 unknown name 'q'
6:26 the value has size 3 on axis 0, but 2 is declared
)");
}

TEST_CASE("Check errors: nothing but its value leaves a block that is a value") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 {
  var s = 0.0
  let a = gen i < 3 { s = 1.0; x }
  let b = if x > 0.0 { s = 2.0; 1.0 } else { 2.0 }
  let c = sum i < 3 { if x > 0.0 { return x }  1.0 }
  while x > 0.0 { let d = gen i < 3 { if x > 0.0 { break }  1.0 } }
  while x > 0.0 { let d = if x > 1.0 { if x > 2.0 { continue }  1.0 } else { 2.0 } }
  return s
})") ==
        R"(3:23 the body of a comprehension may not assign 's', which is defined outside of it
4:24 an arm of an 'if' that gives a value may not assign 's', which is defined outside of it
5:36 'return' may not leave the body of a comprehension
6:52 'break' may not leave the body of a comprehension
7:53 'continue' may not leave an arm of an 'if' that gives a value
)");
}

TEST_CASE("Check errors: break and continue stand in loops") {
  CHECK(Messages(R"(fn f(x: f64) -> f64 {
  break
  if x > 0.0 { continue }
  return x
})") ==
        R"(2:3 'break' is outside of a loop
3:16 'continue' is outside of a loop
)");
}

TEST_CASE("Check errors: limits of types") {
  CHECK(Messages(R"(fn f(x: [a, b, c, d, e, g, h, i]f64) -> f64 {
  let y = gen j < 3 { x }
  let z = [x, x]
  return 1.0
})") ==
        R"(TYPE_TOO_LARGE
2:11 an array of rank 9 is over the limit of 8
3:11 an array of rank 9 is over the limit of 8
)");
}

}  // namespace
}  // namespace pullback::lang
