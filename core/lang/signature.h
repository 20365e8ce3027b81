// Types and sizes of headers as text.
#pragma once

#include <string>

#include "core/lang/ast.h"

namespace pullback::lang {

// A size as written in a header: "n - m + 1".
std::string SizeText(const Expr& size);
ApiType ToApiType(const TypeExpr& type);

}  // namespace pullback::lang
