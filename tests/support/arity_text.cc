#include "tests/support/arity_text.h"

namespace pullback::testing {

std::string ArityText(int arity, bool uniform, const std::string& dtype) {
  std::string params, sum, squares, product, arrays, args;
  for (int k = 0; k < arity; ++k) {
    const std::string p = "p" + std::to_string(k), a = "a" + std::to_string(k);
    params += p + ": " + dtype + ", ";
    sum += (k ? " + " : "") + p;
    squares += (k ? " + " : "") + p + " * " + p;
    product += (k ? " * " : "") + p;
    arrays += a + ": [m, n]" + dtype + ", ";
    args += a + ", ";
  }
  return "fn b(" + params + "s: " + dtype + ") -> " + dtype + " {\n  if s > 0.6 { return tanh(" +
         sum + ") * p0 }\n  if s > 0.3 { return exp(-(" + squares + ")) }\n  return " + product +
         "\n}\nfn f(" + arrays + "s: " + (uniform ? "[m]" : "[m, n]") + dtype + ") -> [m, n]" +
         dtype + " {\n  return b.(" + args + (uniform ? "column(s)" : "s") + ")\n}\n";
}

}  // namespace pullback::testing
