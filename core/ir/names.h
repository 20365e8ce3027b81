// How the values of a function are spelled in text: which constants stand inline and which unique
// name every other value has. Both depend on the order of definitions in the text only, not on the
// numbering of values, so that printing what was parsed gives the same text.
#pragma once

#include <string>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

class Names {
 public:
  explicit Names(const Function& f);

  // "%x", or the literal of an inline constant.
  const std::string& Text(Value v) const;
  // A constant that is printed where it is used and not where it is defined: one that is used, but
  // in no affine form (which would absorb it), and has no guard.
  bool IsInline(Value v) const { return inline_[v.id]; }
  // Place of the definition in the text; affine terms are printed in this order.
  uint32_t Rank(Value v) const { return v.id < rank_.size() ? rank_[v.id] : UINT32_MAX; }

 private:
  void FindInlineConstants(const Function& f);

  std::vector<bool> inline_;
  std::vector<uint32_t> rank_;
  std::vector<std::string> text_;
};

// "@f", or "@\"a b\"" where the name is no identifier.
std::string FunctionName(const std::string& name);
bool IsNameChar(char c);  // may stand in a name of a value or function

}  // namespace pullback::ir
