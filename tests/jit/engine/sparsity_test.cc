// What explain says of the elements of Jacobians and Hessians before anything runs. That these are the elements that
// are found when it runs is checked in tests/core/pipeline/symbolic_check.h.
#include <catch2/catch.hpp>

#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

Engine& TheEngine() {
  static Engine engine(EngineOptions(), Ok(MakeLlvmBackend()));
  return engine;
}

// The row of the block by x.
std::string Row(const std::string& program, Transform transform = Transform::kJacobian) {
  const std::string text = Ok(TheEngine().Explain(Ask(program, "f", transform, {"x"}), "sparsity"));
  const std::string before = "{\n  \"blocks\": [\n    {\"result\": 0, \"parameter\": \"x\", ",
                    after = "}\n  ]\n}\n";
  INFO(text);
  REQUIRE(text.starts_with(before));
  REQUIRE(text.ends_with(after));
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

std::string Piece(const std::string& elements, const std::string& points,
                  const std::string& where = "true") {
  return "\"elements\": \"" + elements + "\", \"points\": \"" + points + "\", \"where\": [\"" +
         where + "\"]";
}
std::string One(const std::string& elements, const std::string& points,
                const std::string& where = "true") {
  return "\"dense\": false, " + Piece(elements, points, where);
}
std::string Several(const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& piece : pieces) out += (out.empty() ? "{" : ", {") + piece + "}";
  return "\"dense\": false, \"pieces\": [" + out + "]";
}

const char* const kDense = "\"dense\": true";
const char* const kFound = "\"dense\": null, \"pattern\": \"found when it runs\"";

TEST_CASE("Sparsity before a run: what is moved") {
  CHECK(Row("fn f(x: [n, m]f64) -> [m, n]f64 { return x.T }") ==
        One("[%i, %i.1, %i.1, %i]", "%i < %m and %i.1 < %n"));
  CHECK(Row("fn f(x: [2 * n]f64) -> [n]f64 { return gen i < n { x[2 * i] } }") ==
        One("[%i, 2*%i]", "%i < %n"));
  CHECK(Row("fn f(x: [2 * n]f64) -> [n]f64 { return gen i < n { x[2 * i] * x[2 * i + 1] } }") ==
        Several({Piece("[%i, 2*%i]", "%i < %n"), Piece("[%i, 2*%i + 1]", "%i < %n")}));
  CHECK(Row("fn f(x: [n, n]f64) -> [n]f64 { return gen i < n { x[i, i] } }") ==
        One("[%i, %i, %i]", "%i < %n"));
  CHECK(Row("fn f(x: [n, m]f64) -> [n * m]f64 { return flatten(x) }") ==
        One("[%i, div(%i, %m), rem(%i, %m)]", "%i < mul(%n, %m)"));
  CHECK(Row("fn f(x: [n]f64) -> f64 { return x[0] * x[1] }") ==
        Several({Piece("[1]", "true"), Piece("[0]", "true")}));
}

TEST_CASE("Sparsity before a run: products") {
  const std::string by_vector = "a: [n, m]f64, x: [m]f64) -> [n]f64 { return a @ x }";
  CHECK(Row("fn f(" + by_vector) == kDense);
  CHECK(Row("fn f(x: [n, m]f64, a: [m]f64) -> [n]f64 { return x @ a }") ==
        One("[%i, %i, %i.1]", "%i < %n and %i.1 < %m"));
  CHECK(Row("fn f(x: [n, k]f64, b: [k, m]f64) -> [n, m]f64 { return x @ b }") ==
        One("[%i, %i.1, %i, %i.2]", "%i < %n and %i.1 < %m and %i.2 < %k"));
  CHECK(Row("fn f(a: [n, k]f64, x: [k, m]f64) -> [n, m]f64 { return a @ x }") ==
        One("[%i, %i.1, %i.2, %i.1]", "%i < %n and %i.1 < %m and %i.2 < %0"));
  CHECK(Row("fn f(x: [n, k]f64, b: [k, k]f64, c: [k, m]f64) -> [n, m]f64 {\n"
            "  return tanh.(x @ b) @ c }") ==
        One("[%i, %i.1, %i, %i.2]", "%i < %n and %i.1 < %m and %i.2 < %k"));
  CHECK(Row("fn f(a: [n, n]f64, x: [n]f64) -> [n]f64 {\n"
            "  return gen i < n { sum j < n { [j <= i] * a[i, j] * x[j] } } }") ==
        One("[%i, %i.1]", "%i < %0 and %i.1 < %0", "%i.1 <= %i"));
}

TEST_CASE("Sparsity before a run: index arrays and relations") {
  CHECK(Row("fn f(x: [n]f64, k: [m]i64) -> [m]f64 { return gen i < m { x[k[i]] } }") ==
        One("[%i, %k[%i]]", "%i < %m"));
  CHECK(Row("fn f(x: [n]f64, k: [m]i64, l: [p]i64) -> [p]f64 {\n"
            "  let y = gen i < m { x[k[i]] * x[k[i]] }\n"
            "  return gen j < p { y[l[j]] * y[l[j]] } }") == One("[%j, %k[%l[%j]]]", "%j < %p"));
  CHECK(Row("fn f(x: [n]f64, k: [n]i64, y: [m]f64) -> [m]f64 {\n"
            "  return gen j < m { sum i < n { [k[i] == j] * x[i] * x[i] } } }") ==
        One("[%k[%i], %i]", "%i < %n", "0 <= %k[%i] and %k[%i] < %m"));
  CHECK(Row("fn f(r: rel[n, m], x: [m]f64) -> [n]f64 {\n"
            "  return gen i < n { sum j < m { [r(i, j)] * x[j] } } }") ==
        One("[%r.1[%p], %r.2[%p]]", "%p < dim(%r.1, 0)"));
}

TEST_CASE("Sparsity before a run: brackets and stencils") {
  CHECK(Row("fn f(x: [n]f64) -> [n]f64 {\n"
            "  return gen i < n { [exists k < n: i == 2 * k] * x[i] * x[i] } }") ==
        One("[2*%k, 2*%k]", "%k < %n", "2*%k < %n"));
  CHECK(Row("fn f(x: [n]f64, k: [m]i64) -> [n]f64 {\n"
            "  return gen i < n { [exists q < m: k[q] == i] * x[i] * x[i] } }") ==
        One("[%k[%q], %k[%q]]", "%q < %m", "0 <= %k[%q] and %k[%q] < %n"));
  CHECK(Row("fn f(x: [n]f64) -> [n]f64 {\n"
            "  return gen i < n { sum j < n { [i == j or i == j + 2] * x[j] * x[j] } } }") ==
        Several({Piece("[%i, %i]", "%i < %n"), Piece("[%i, %i - 2]", "%i < %n", "2 <= %i")}));
  // A condition on floats counts as true.
  CHECK(Row("fn f(x: [n]f64) -> [n]f64 { return gen i < n { [x[i] > 0.0] * x[i] } }") ==
        One("[%i, %i]", "%i < %n"));
  CHECK(Row("fn f(x: [n]f64) -> [n]f64 {\n"
            "  let y = gen i < n { x[i] * x[i] + [i > 0] * x[i - 1] }\n"
            "  return gen i < n { sin(y[i]) * y[i] + [i + 1 < n] * y[i + 1] } }") ==
        Several({Piece("[%i, %i]", "%i < %n"), Piece("[%i, %i - 1]", "%i < %n", "1 <= %i"),
                 Piece("[%i, %i + 1]", "%i < %n", "%i + 2 <= %n")}));
}

TEST_CASE("Sparsity before a run: scans") {
  const std::string triangle = One("[%i, %i.1]", "%i < %n and %i.1 < %n", "%i.1 <= %i");
  CHECK(Row("fn f(x: [n]f64) -> [n]f64 { return cumsum(x * x) }") == triangle);
  CHECK(Row("fn f(x: [n]f64) -> [n]f64 { return scan sum i < n { x[i] * x[i] } }") == triangle);
  CHECK(Row("fn f(x: [n, m]f64) -> [n, m]f64 {\n"
            "  return gen i < n { scan sum j < m { x[i, j] * x[i, j] } } }") ==
        One("[%i, %i.1, %i, %i.2]", "%i < %n and %i.1 < %m and %i.2 < %m", "%i.2 <= %i.1"));
}

TEST_CASE("Sparsity before a run: Hessians") {
  const Transform h = Transform::kHessian;
  CHECK(Row("fn f(x: [n]f64) -> f64 { let s = sum(x * x)\n  return s * s }", h) == kDense);
  CHECK(Row("fn f(x: [n]f64, a: [m, n]f64) -> f64 { return sum(tanh.(a @ x)) }", h) == kDense);
  CHECK(Row("fn f(x: [n, n]f64) -> f64 { return sum i < n { x[i, i] * x[i, i] } }", h) ==
        One("[%i, %i, %i, %i]", "%i < %n"));
  CHECK(Row("fn f(x: [n]f64, k: [m]i64) -> f64 { return sum i < m { x[k[i]] ** 3 } }", h) ==
        One("[%k[%i], %k[%i]]", "%i < %m"));
}

// A gradient's array that is added to has elements of both.
TEST_CASE("Sparsity before a run: a sum into an array") {
  CHECK(Row("fn f(x: [n]f64) -> f64 {\n"
            "  return sum i < n - 1 { (x[i + 1] - x[i] * x[i]) ** 2.0 } }") ==
        Several({Piece("[%i + 1]", "%i < %n - 1"), Piece("[%i]", "%i < %n - 1")}));
}

// Too many pieces, control flow.
TEST_CASE("Sparsity before a run: what is found when it runs") {
  std::string far = "fn f(x: [n]f64, k: [n]i64) -> [n]f64 {\n  let y0 = x\n";
  for (int i = 0; i < 6; ++i) {
    const std::string y = "y" + std::to_string(i);
    far += "  let y" + std::to_string(i + 1) + " = gen i < n { sin(" + y + "[i]) * " + y +
           "[k[i]] + [i > 0] * " + y + "[i - 1] }\n";
  }
  CHECK(Row(far + "  return y6 }") == kFound);
  CHECK(Row("fn f(x: [n]f64) -> [n]f64 { return sort(x) }") == kFound);
}

}  // namespace
}  // namespace pullback::jit
