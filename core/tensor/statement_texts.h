// Equal expressions of a function's statements have one text, whatever their indices are called.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

class StatementTexts {
 public:
  explicit StatementTexts(const ir::Function& f) : f_(f) {}

  // Starts on a statement: its indices are their positions, its body is what it computes.
  void Enter(const ir::Each& each);
  // Of the statement entered. Equal keys: equal statements.
  std::string Key(const ir::Each& each);
  // Of a value as the statement entered sees it; body values of equal expressions have one.
  std::string Text(ir::Value v) const;
  std::string Text(const ir::Affine& a) const;
  std::string Text(const ir::Constraint& c) const;

 private:
  std::string TextOf(const ir::Inst& inst) const;
  std::string Shortened(std::string text);

  const ir::Function& f_;
  std::map<std::string, std::string> long_;  // what stands for long texts, over all statements
  std::unordered_map<uint32_t, std::string> local_;  // of the statement entered
};

}  // namespace pullback::tensor
