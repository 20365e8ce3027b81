// Patterns that are told before anything runs (core/ad/symbolic_pattern.h), as members of a JSON object.
#pragma once

#include <string>

#include "core/ad/symbolic_pattern.h"

namespace pullback::jit {

// `"dense": true`; or of one box of points
//     "dense": false, "elements": "[%i, %k[%i]]", "points": "%i < %n", "where": ["true"]
// where one of the conjunctions holds; or of several
//     "dense": false, "pieces": [{"elements": …, "points": …, "where": […]}, …]
std::string PatternText(const ad::SymbolicPatterns& all, const ad::SymbolicPattern& pattern);

// Parts of them, as every pattern is written.
std::string Quoted(const std::string& text);
std::string PieceText(const std::string& elements, const std::string& points,
                      const std::string& where);

}  // namespace pullback::jit
