// Derivatives of lists, in both modes, against each other and against differences.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/derivatives.h"
#include "tests/support/list_programs.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

Tensor ListOf(std::vector<std::vector<Tensor>> records) {
  Tensor t;
  t.list = std::make_shared<ListValue>(ListValue{std::move(records)});
  return t;
}

Tensor Floats(const std::vector<double>& v) {
  std::vector<std::vector<Tensor>> records;
  for (double x : v) records.push_back({Tensor::F64(x)});
  return ListOf(std::move(records));
}

TEST_CASE("lists: elements are updated in a loop") {
  const ir::Module m = ParseIr(R"(
record R { x: f64 }
fn @f(%in: list<R>, %x: f64) -> (list<R>, f64) {
b0: %n = list_len %in
    jump b1(%in, 1)
b1(%l: list<R>, %i: i64): br lt(%i, %n), b2, b3
b2: %u = list_get %l, sub(%i, 1)
    %v = list_get %l, %i
    %m = list_set %l, %i, mul(sin(%u), mul(%v, %x))
    jump b1(%m, add(%i, 1))
b3: %y = list_get %l, sub(%n, 1)
    ret %l, %y
})");
  CheckDerivatives(m, {Floats({0.3, 1.2, -0.7, 2.0}), Tensor::F64(1.4)});
  CheckDerivatives(m, {Floats({0.3}), Tensor::F64(1.4)});
}

TEST_CASE("lists: taken, put back, popped, dropped") {
  const ir::Module m = ParseIr(R"(
record R { x: f64, a: [*]f64, k: i64 }
fn @f(%in: list<R>, %b: [*]f64) -> (list<R>, f64) {
b0: %t, %x, %a, %k = list_take %in, 0
    %w = update %a[1], mul(%x, %x)
    %s = list_set %t, 0, mul(%x, 2.0), %w, %k
    %p = list_push %s, %x, %b, 7
    %q, %y, %c, %j = list_pop %p
    %r, %z, %d, %i = list_pop %q
    %u = index %c[0]
    %v = index %d[1]
    %o, %h, %g, %f = list_take %r, 0
    %last = index %g[1]
    ret %o, add(mul(add(%u, %v), mul(%y, %z)), %last)
})");
  const Tensor in = ListOf({{Tensor::F64(1.5), Vec({1, 2}), Tensor::I64(4)},
                            {Tensor::F64(-0.5), Vec({3, 4, 5}), Tensor::I64(5)}});
  CheckDerivatives(m, {in, Vec({0.2, 0.4})});
}

TEST_CASE("lists: the programs") {
  for (const ListProgram& p : ListPrograms()) {
    INFO(p.name);
    CheckDerivatives(ParseIr(p.text), p.args);
    for (int64_t n : {0, 1, 2, 3}) {  // how many elements
      if (p.args.size() < 2 || p.args[1].dtype != DType::kI64) continue;
      if (std::string(p.name).find("not active") != std::string::npos && n < 3) continue;
      CheckDerivatives(ParseIr(p.text), {p.args[0], Tensor::I64(n)});
    }
  }
}

// first-tests 27: y = 3 x, dy/dx = 3.
TEST_CASE("lists: push to an empty list, then get") {
  CHECK(Scalar(Gradients(ParseIr(ListPrograms()[0].text), {Tensor::F64(2)})[0]) == 3);
}

// A tree: sum over the nodes of (value dot value) times a power of x by the depth.
constexpr char kTree[] = R"(
record Node { v: [*]f64, children: list<Node> }
entry @f
fn @f(%l: list<Node>, %x: f64) -> f64 {
b0: %s = call @sum(%l, %x)
    ret %s
}
fn @sum(%l: list<Node>, %x: f64) -> f64 {
b0: %n = list_len %l
    jump b1(0, 0.0)
b1(%i: i64, %s: f64): br lt(%i, %n), b2, b3
b2: %v, %c = list_get %l, %i
    %d = dim %v, 0
    %t = each(k < %d) { %u = index %v[%k]
      %w = mul %u, %u
    } sum []: %w
    %b = call @sum(%c, %x)
    jump b1(add(%i, 1), add(%s, add(%t, mul(%b, sin(%x)))))
b3: ret %s
})";

Tensor Node(const std::vector<double>& v, std::vector<std::vector<Tensor>> children = {}) {
  return ListOf({{Vec(v), ListOf(std::move(children))}});
}

Tensor Tree() {
  std::vector<std::vector<Tensor>> inner = Node({1, 2}).list->records;
  inner.push_back(Node({}).list->records[0]);
  inner.push_back(Node({0.5}, Node({3, -1, 2}).list->records).list->records[0]);
  std::vector<std::vector<Tensor>> top = Node({-1}, inner).list->records;
  top.push_back(Node({4, 4}, {}).list->records[0]);
  return ListOf(top);
}

TEST_CASE("lists: a tree, by recursion through its children") {
  CheckDerivatives(ParseIr(kTree), {Tree(), Tensor::F64(0.4)});
}

// A gradient with respect to a list inside a program has the list's length and shapes.
TEST_CASE("lists: derivatives inside a program have no short zeros") {
  const std::string f = R"(
record R { x: f64, a: [*]f64, l: list<R> }
entry @g
fn @f(%l: list<R>, %x: f64) -> (f64, list<R>) { b0: ret %x, %l }
)";
  const std::string in = R"(
    %none = list_new : list<R>
    %a = zeros 3 : f64
    %inner = list_of 2, %x, %a, %none : list<R>
    %l = list_of 4, %x, %a, %inner : list<R>
)";
  const std::string look = R"(
    %y, %b, %k = list_get %dl, 3
    %z, %c, %m = list_get %k, 1
    %b2 = index %b[2]
    %c2 = index %c[2]
    ret add(%y, add(%b2, add(%z, %c2)))
})";
  const std::string vjp = f + "fn @g(%x: f64) -> f64 { b0: " + in +
                          "%v, %w, %dl = vjp @f wrt(0) (%l, %x, 1.0, %none)" + look;
  CHECK(Scalar(RunOk(Derived(ParseIr(vjp), Transform::kValue), {Tensor::F64(2)})[0]) == 0);
  const std::string jvp = f + "fn @g(%x: f64) -> f64 { b0: " + in +
                          "%v, %w, %dx, %dl = jvp @f wrt(0) (%l, %x, %none)" + look;
  CHECK(Scalar(RunOk(Derived(ParseIr(jvp), Transform::kValue), {Tensor::F64(2)})[0]) == 0);
}

// Derivatives of derivatives: each level against differences of the one below it.
void CheckNested(const ListProgram& p) {
  const size_t first = p.text.find("fn @f");
  const std::string records = p.text.substr(0, first), f = p.text.substr(first);
  const ir::Module m = ParseIr(p.text);
  const ir::Function& of = m.Get(0);
  std::string params, names;
  for (ir::Value v : of.params()) {
    const std::string name = "%p" + std::to_string(v.id);
    params += (params.empty() ? "" : ", ") + name + ": " + ToString(of.TypeOf(v));
    names += (names.empty() ? "" : ", ") + name;
  }
  if (of.results.size() != 1) return;  // the seed of an array needs its shape
  for (const std::string inner : {"jvp", "vjp"}) {
    const std::string d = "fn @d(" + params + ") -> f64 { b0: %y, %dx = " + inner + " @f wrt(0) (" +
                          names + ", 1.0)  ret %dx }\n";
    for (const std::string outer : {"jvp", "vjp"}) {
      INFO(outer << " over " << inner);
      const std::string g = "fn @g(" + params + ") -> f64 { b0: %y, %dx = " + outer +
                            " @d wrt(0) (" + names + ", 1.0)  ret %dx }\n";
      CheckDerivatives(ParseIr(records + "entry @g\n" + f + d + g), p.args);
    }
  }
}

TEST_CASE("lists: derivatives nest, in every pair of modes") {
  for (const ListProgram& p : ListPrograms()) {
    INFO(p.name);
    CheckNested(p);
  }
}

TEST_CASE("boxes: the programs, and nested") {
  for (const ListProgram& p : BoxPrograms()) {
    INFO(p.name);
    CheckDerivatives(ParseIr(p.text), p.args);
    CheckNested(p);
  }
}

// first-tests 26: (2, 3) -> (9, 12).
TEST_CASE("boxes: a captured variable, multiplied twice") {
  const std::vector<Tensor> g =
      Gradients(ParseIr(BoxPrograms()[0].text), {Tensor::F64(2), Tensor::F64(3)});
  CHECK(Scalar(g[0]) == 9);
  CHECK(Scalar(g[1]) == 12);
}

// first-tests 33: f(y) = (x := x y), differentiated twice; the second derivative is x again, since what the
// first put into x is a value, not its tangent.
TEST_CASE("boxes: the inner level of a derivative dies on return") {
  for (const std::string op : {"jvp", "vjp"}) {
    const ir::Module m = ParseIr(
        "record Cell { x: f64 }\nentry @g\n"
        "fn @g(%x: f64) -> f64 { b0: %b = box_new %x : box<Cell>\n"
        "%v, %d = " +
        op +
        " @f wrt(1) (%b, 1.0, 1.0)\n"
        "%u, %e = " +
        op +
        " @f wrt(1) (%b, 1.0, 1.0)\nret %e }\n"
        "fn @f(%b: box<Cell>, %y: f64) -> f64 { b0: %x = box_get %b\n"
        "%z = mul %x, %y\nbox_set %b, %z\nret %z }");
    CHECK(Scalar(Gradients(m, {Tensor::F64(1)})[0]) == 1);
    CheckDerivatives(m, {Tensor::F64(1.7)});
  }
}

// Every call of a program keeps its arguments alone.
TEST_CASE("lists: checkpointed calls") {
  for (const ListProgram& p : {ListPrograms()[5], ListPrograms()[6], BoxPrograms()[2]}) {
    INFO(p.name);
    std::string text = p.text;
    for (size_t at = 0; (at = text.find("call @", at)) != std::string::npos; at += 16)
      text.insert(at + 5, "checkpoint ");
    CheckDerivatives(ParseIr(text), p.args);
  }
}

// A rule is users' code: what it gets is as long as the list, whatever the cotangent was.
TEST_CASE("lists: derivative rules") {
  const std::string head = R"(
record R { x: f64, a: [*]f64 }
entry @f
fn @f(%x: f64, %n: i64) -> f64 {
b0: %z = each(k < %n) { %c = add %x, 1.0 } gen [%k] of (%n): %c
    %l = list_of %n, %x, %z : list<R>
    %m = call @g(%l, %x)
    %y, %a = list_get %m, 1
    %u = index %a[0]
    ret mul(%y, mul(%u, sin(%x)))
}
)";
  // Doubles the last element's x and all of its array.
  const std::string g = R"(
b0: %n = list_len %l
    %t, %v, %a = list_take %l, sub(%n, 1)
    %d = dim %a, 0
    %b = each(k < %d) { %c = index %a[%k]
      %e = mul %c, 2.0
    } gen [%k] of (%d): %e
    %m = list_set %t, sub(%n, 1), mul(%v, 2.0), %b
    ret %m
}
)";
  const std::string rules = "fn @g(%l: list<R>, %x: f64) -> (list<R>) ";
  const std::string vjp = "fn @back(%l: list<R>, %x: f64, %w: list<R>) -> (list<R>, f64) {" +
                          std::string(g).replace(g.find("list_len %l"), 11, "list_len %w");
  const std::string jvp =
      "fn @push(%l: list<R>, %x: f64, %ldot: list<R>, %xdot: f64) -> (list<R>, list<R>) {" + g;
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    return text;
  };
  const std::string back = with(with(vjp, "list_take %l", "list_take %w"), "ret %m", "ret %m, 0.0");
  const std::string push = with(jvp, "ret %m", "%r = call @plain(%ldot)\n    ret %m, %r");
  const std::string plain = "fn @plain(%l: list<R>) -> (list<R>) {" + g;
  for (int64_t n : {2, 3}) {
    const std::vector<Tensor> args = {Tensor::F64(0.7), Tensor::I64(n)};
    CheckDerivatives(ParseIr(head + rules + "vjp @back {" + g + back), args);
    CheckDerivatives(ParseIr(head + rules + "jvp @push {" + g + push + plain), args);
  }
}

}  // namespace
}  // namespace pullback::testing
