// Programs of any number of statements, one kind of statement each, for measuring how the passes grow.
#pragma once

#include <string>
#include <vector>

namespace pullback::testing {

struct ProgramFamily {
  const char* name;
  const char* statements;               // what they are, for the table
  std::string (*text)(int statements);  // declares f, differentiable by its first parameter
};

const std::vector<ProgramFamily>& ProgramFamilies();

}  // namespace pullback::testing
