// Which integers of a statement's body are affine forms of its indices and of what is outside.
#pragma once

#include <map>
#include <optional>

#include "core/analysis/quotients.h"
#include "core/ir/ir.h"

namespace pullback::analysis {

// An order of integers: 0 <= args[more] - args[less] - apart.
struct IntegerOrder {
  size_t less, more;
  int64_t apart;
};
// nullopt: the op is none.
std::optional<IntegerOrder> OrderOf(ir::Op op);

// Learns a body from its front on.
class BodyForms {
 public:
  // With `quotients`, those of forms by numbers are forms too.
  BodyForms(const ir::Each& each, const ir::Function& f, Quotients* quotients = nullptr);

  void Note(const ir::Inst& inst);
  // Equal as machine integers, since both wrap alike, to what an instruction under `guard` reads; nullopt: no affine
  // form. A value that has a guard is its form where that holds, and 0 elsewhere: only who is under the same guard
  // never sees the 0.
  std::optional<ir::Affine> FormOf(ir::Value v, ir::Value guard) const;

 private:
  struct Known {
    std::optional<ir::Affine> form;
    ir::Value guard;
  };
  std::optional<ir::Affine> Describe(const ir::Inst& inst) const;
  std::optional<ir::Affine> DescribeQuotient(const ir::Inst& inst) const;

  const ir::Function& f_;
  Quotients* const quotients_;
  std::map<ir::Value, Known> known_;  // the indices and the body
};

}  // namespace pullback::analysis
