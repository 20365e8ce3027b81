// The tree of a parsed program as text, without places and layout: what formatting must keep.
#pragma once

#include <string>

#include "core/lang/ast.h"

namespace pullback::lang {

std::string Shape(const Program& program);
std::string Shape(const Expr& e);

// Parses `text`, which must be good; the shape of `result` in `fn f() { return result }`.
std::string ShapeOf(const std::string& expression);

// The message of the first error of a text that must be bad, as "line:column: message".
std::string FirstError(const std::string& text);
std::string ReasonOf(const std::string& text);

}  // namespace pullback::lang
