// Instructions of integers behind others, for passes that have a function and no Builder.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

class Appender {
 public:
  // Behind what `out` has; `loc` is the place of what is checked.
  Appender(Function& f, std::vector<Inst>& out, uint32_t loc) : f_(f), out_(out), loc_(loc) {}

  Value Make(Op op, Type type, Values args) {
    Inst& inst = out_.emplace_back();
    inst.op = op;
    inst.args = std::move(args);
    inst.results = {f_.NewValue(type)};
    return inst.results[0];
  }
  // As a value: itself where it is one.
  Value Number(const Affine& a) {
    if (const Value v = a.AsValue(); v.valid()) return v;
    const Value made = Make(a.IsConst() ? Op::Const : Op::AffineOf, Type::I64(), {});
    if (a.IsConst())
      out_.back().bits = static_cast<uint64_t>(a.constant);
    else
      out_.back().subs = {a};
    return made;
  }
  // Ends the run where it does not hold; `details` as the kind has them.
  void Check(Value holds, TrapKind kind, Values details) {
    Inst& check = out_.emplace_back();
    check.op = Op::Check;
    check.bits = static_cast<uint64_t>(kind);
    check.args = {holds};
    check.args.insert(check.args.end(), details.begin(), details.end());
    check.loc = loc_;
  }

 private:
  Function& f_;
  std::vector<Inst>& out_;
  const uint32_t loc_;
};

}  // namespace pullback::ir
