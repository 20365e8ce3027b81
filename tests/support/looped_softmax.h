// A function of arrays with loops and several returns, softmax as it could be written without `max`.
#pragma once

namespace pullback::testing {

// fn looped_softmax(x: [n]f64) -> [n]f64
inline constexpr char kLoopedSoftmax[] = R"(
fn looped_lse(x: [n]f64) -> f64 {
  var k = -1
  var most = -1.0 / 0.0
  for i < n { if x[i] > most { most = x[i]; k = i } }
  if k < 0 { return -1.0 / 0.0 }
  let m = x[k]
  if m == 1.0 / 0.0 { return m }
  return m + log(sum i < n { exp(x[i] - m) })
}
fn looped_softmax(x: [n]f64) -> [n]f64 {
  let l = looped_lse(x)
  return gen i < n { exp(x[i] - l) }
}
)";

}  // namespace pullback::testing
