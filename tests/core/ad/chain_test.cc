// Layers as data and as closures (Innes 2018, section 4): the gradient of a model is a model.
#include <catch2/catch.hpp>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

const char* const kChain =
    "struct Dense { w: [n, n]f64, b: [n]f64, act: i64 }\n"
    "struct Chain { layers: list Dense, scale: f64 }\n"
    "fn dense(l: Dense, x: [n]f64) -> [n]f64 {\n"
    "  let z = l.w @ x + l.b\n"
    "  if l.act == 0 { return tanh.(z) }\n"
    "  return z }\n"
    "fn run(c: Chain, x: [n]f64) -> [n]f64 {\n"
    "  var h = x * c.scale\n"
    "  for i < len(c.layers) { h = dense(c.layers[i], h) }\n"
    "  return h }\n"
    "fn loss(c: Chain, x: [n]f64) -> f64 { let y = run(c, x)\n return dot(y, y) }\n";

ir::Module Lowered(const std::string& rest) { return LowerText(kChain + rest, "f"); }

const std::vector<Tensor>& Weights() {
  static const std::vector<Tensor> args = {Mat(2, 2, {0.3, -0.2, 0.5, 0.1}),
                                           Vec({0.1, -0.3}),
                                           Mat(2, 2, {0.7, 0.2, -0.4, 0.3}),
                                           Vec({0.05, -0.15}),
                                           Tensor::F64(0.9),
                                           Vec({0.8, -1.1})};
  return args;
}
const char* const kModel =
    "fn f(w: [n, n]f64, b: [n]f64, v: [n, n]f64, c: [n]f64, s: f64, x: [n]f64) -> f64 {\n"
    "  let model = Chain(list(Dense(w, b, 0), Dense(v, c, 1)), s)\n";

TEST_CASE("Chain and Dense: by every weight") {
  CheckDerivatives(Lowered(std::string(kModel) + "  return loss(model, x) }"), Weights());
}

// What grad gives goes where a Chain goes, with no type written: its layers are layers, its integers zeros.
TEST_CASE("Chain and Dense: the adjoint is a Chain") {
  const ir::Module m = Lowered(
      "fn step(c: Chain, g: Chain, rate: f64) -> Chain {\n"
      "  var layers = c.layers\n"
      "  for i < len(layers) {\n"
      "    layers[i].w = layers[i].w - rate * g.layers[i].w\n"
      "    layers[i].b = layers[i].b - rate * g.layers[i].b\n"
      "    layers[i].act = layers[i].act + g.layers[i].act }\n"
      "  return Chain(layers, c.scale - rate * g.scale) }\n" +
      std::string(kModel) +
      "  let g = grad(|t| loss(t, x))(model)\n"
      "  return loss(step(model, g, 0.05), x) + 0.0 * f64(len(g.layers)) }");
  CheckDerivatives(m, Weights());  // a gradient through a step of descent
  const ir::Module plain = Lowered(std::string(kModel) + "  return loss(model, x) }");
  CHECK(Scalar(RunOk(Derived(m, Transform::kValue), Weights())[0]) <
        Scalar(RunOk(Derived(plain, Transform::kValue), Weights())[0]));
}

// Layers as functions that capture their weights, composed: the weights have gradients.
TEST_CASE("Chain and Dense: closures composed") {
  CheckDerivatives(
      LowerText(
          "fn dense(w: [n, n]f64, b: [n]f64) -> fn([n]f64) -> [n]f64 {\n"
          "  return |x: [n]f64| tanh.(w @ x + b) }\n"
          "fn chain(first: fn([n]f64) -> [n]f64, second: fn([n]f64) -> [n]f64)"
          " -> fn([n]f64) -> [n]f64 {\n  return |x: [n]f64| second(first(x)) }\n"
          "fn f(w: [n, n]f64, b: [n]f64, v: [n, n]f64, c: [n]f64, s: f64, x: [n]f64) -> f64 {\n"
          "  let model = chain(dense(w, b), chain(dense(v, c), |y: [n]f64| y * s))\n"
          "  let y = model(x)\n  return dot(y, y) }",
          "f"),
      Weights());
}

}  // namespace
}  // namespace pullback::testing
