// Files of IR text for one pass (tests/core/ir/filetest.h), and what they check beyond the text.
//
// A heading may hold lines `# run: 2.0, [1, 2, 3], 4`: arguments of the entry, one per parameter.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/tensor.h"
#include "core/ir/ir.h"
#include "tests/core/ir/filetest.h"

namespace pullback::testing {

// The arguments of a `# run:` line, of the parameters' types; fails the test when they do not fit.
std::vector<Tensor> ParseArguments(const std::string& text, const ir::Module& module);

// Every `# run:` line of a file, with its case.
void ForEachRun(const std::string& file,
                const std::function<void(const ir::filetest::Case&, const std::string& args)>& fn);

// The interpreter gives the same results (within rounding) for both at the arguments of a `# run:` line.
void CheckSameResults(const ir::Module& before, const ir::Module& after, const std::string& line);

// A pass over functions as one over modules.
std::function<Status(ir::Module&)> OverFunctions(std::function<void(ir::Function&)> pass);

// Every file of tests/filetests/<pass>: text in, text out; and the interpreter gives the same results
// (within rounding) before and after for every `# run:` line.
void RunPassFiles(const std::string& pass_name, const std::function<Status(ir::Module&)>& pass);

// The same for a pass that derives: at every `# run:` line the derivatives of what stands before are
// checked in both modes and against differences.
void RunDerivativeFiles(const std::string& pass_name,
                        const std::function<Status(ir::Module&)>& pass);

}  // namespace pullback::testing
