// A smaller program that fails as the one given does.
#pragma once

#include <functional>
#include <string>

namespace pullback::testing {

// What stays the same while a failing program is made smaller: its failure without numbers.
std::string FailureClass(const std::string& failure);

// Leaves lines and parts of expressions out as long as `fails` holds of the text.
std::string Shrink(std::string text, const std::function<bool(const std::string&)>& fails);

}  // namespace pullback::testing
