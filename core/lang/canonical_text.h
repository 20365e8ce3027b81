// The canonical text of one function, and of one struct.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/lang/ast.h"

namespace pullback::lang {

// Structs are numbered as the texts come to name them; their names and those of fields are gone.
class StructNumbers {
 public:
  uint32_t Number(const Struct* s);
  const std::vector<const Struct*>& order() const { return order_; }

 private:
  std::unordered_map<const Struct*, uint32_t> numbers_;
  std::vector<const Struct*> order_;
};

// `self` is the function's canonical number, `number[i]` that of function i of the program. One
// line per statement, every compound expression in brackets; locals are v<index>, functions
// f<number>, and literals and Iverson brackets, whose types follow from what is around them, carry
// their type. Different trees, up to names and positions, give different texts.
std::string CanonicalText(const Function& f, uint32_t self, const std::vector<uint32_t>& number,
                          StructNumbers& structs);
std::string CanonicalText(const Struct& s, StructNumbers& structs);

}  // namespace pullback::lang
