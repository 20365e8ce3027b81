// Lowers IR text to loops, runs it in the loop interpreter and compares with the reference.
#pragma once

#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"
#include "core/loops/interpret.h"
#include "core/loops/lower.h"

namespace pullback::loops {

// Parses and verifies.
ir::Module ParseIr(const std::string& text);
std::string PrintLoops(const std::string& text, const LowerOptions& options = {});

inline constexpr LowerOptions kRows{false, false, false, true};

// Runs both; requires equal bits (NaNs are alike) or equal traps, and no broken promise; without options, with
// sums by strips and the argmax of everything by segments, too. kAny: a
// program with several causes may trap by another one than the reference.
enum class Traps : uint8_t { kSame, kAny };
const ScalarOps& OpsForTests();
Outcome RunBoth(const ir::Module& module, const std::vector<Tensor>& args,
                Traps traps = Traps::kSame, const LowerOptions& options = {});
Outcome RunBoth(const std::string& text, const std::vector<Tensor>& args);

Tensor Vector(const std::vector<double>& values);
Tensor Ints(const std::vector<int64_t>& values);
Tensor Matrix(int64_t rows, int64_t columns, const std::vector<double>& values);
// 0.1, -0.2, 0.3, ... : sums of these depend on their order.
Tensor Ramp(std::vector<int64_t> shape);

}  // namespace pullback::loops
