// Programs of loops whose turns take rows of arrays, and how many of these arrays are made whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"

namespace pullback::testing {

// Arrays of several axes that statements make with one as long as the first of x, by its name in the programs here.
int CountWhole(const ir::Module& m);

// x: [n, d], w: [d, s], u: [s, s]; y: [n], integers from -1 to s - 1.
std::vector<Tensor> Arguments(int64_t n, int64_t d, int64_t s);

// A function of these that ends in `body`: the same optimised and not, to the second derivatives. `whole`: how many arrays are made whole;
// nothing: it does not matter.
void CheckProgram(const std::string& body, std::optional<int> whole,
                  const std::vector<int64_t>& sizes = {0, 1, 3, 15, 16, 17, 33});

}  // namespace pullback::testing
