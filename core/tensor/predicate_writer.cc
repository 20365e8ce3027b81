#include "core/tensor/predicate_writer.h"

#include "core/analysis/quotients.h"

namespace pullback::tensor {

using analysis::Predicate;
using ir::Affine;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

Value PredicateWriter::Make(Op op, Type type, ir::Values args) {
  Inst inst;
  inst.op = op;
  inst.args = std::move(args);
  return Append(std::move(inst), type);
}

Value PredicateWriter::I64(int64_t v) {
  Inst inst;
  inst.op = Op::Const;
  inst.bits = static_cast<uint64_t>(v);
  return Append(std::move(inst), Type::I64());
}

Value PredicateWriter::Holds(std::vector<Constraint> constraints) {
  Inst inst;
  inst.op = Op::Holds;
  inst.constraints = std::move(constraints);
  return Append(std::move(inst), Type::Bool());
}

Value PredicateWriter::Form(const Affine& e) {
  Inst inst;
  inst.op = Op::AffineOf;
  inst.subs = {e};
  return Append(std::move(inst), Type::I64());
}

Value PredicateWriter::Clamp(const TameValues::Clamped& c) {
  const Value from_below = Make(Op::Max, Type::I64(), {Form(c.form), I64(c.range.lo)});
  return Make(Op::Min, Type::I64(), {from_below, I64(c.range.hi)});
}

Value PredicateWriter::IsMultiple(const analysis::Stride& s) {
  const Value rest = Make(Op::Rem, Type::I64(), {Form(s.e), I64(s.k)});
  return Make(Op::Eq, Type::Bool(), {rest, I64(0)});
}

// Division truncates, so what it divides is made positive: floor(e / d) is floor((e + d * n) / d) - n.
Affine PredicateWriter::FloorOf(const analysis::Quotient& q) {
  const int64_t n = analysis::LeastShift(q, box_);
  const Affine positive = q.e + Affine::Const(q.d * n);
  const Value part = Make(Op::Div, Type::I64(), {Form(positive), I64(q.d)});
  box_.AddValue(part, {0, box_.RangeOf(positive)->hi / q.d});
  return Affine::Of(part) - Affine::Const(n);
}

// The same with quotients that are computed.
Predicate PredicateWriter::Computed(Predicate p) {
  for (size_t k = 0; k < p.quotients.size(); ++k) {
    const analysis::Quotient q = p.quotients[k];
    const Affine value = FloorOf(q);
    for (size_t l = k + 1; l < p.quotients.size(); ++l)
      p.quotients[l].e = p.quotients[l].e.Substitute(q.name, value);
    for (Constraint& c : p.constraints) c.e = c.e.Substitute(q.name, value);
    for (analysis::Stride& s : p.strides) s.e = s.e.Substitute(q.name, value);
  }
  p.quotients.clear();
  return p;
}

Value PredicateWriter::All(const Predicate& with_quotients) {
  const Predicate p = Computed(with_quotients);
  Value all = Holds(p.constraints);
  for (const analysis::Stride& s : p.strides)
    all = Make(Op::And, Type::Bool(), {all, IsMultiple(s)});
  return all;
}

Value PredicateWriter::Any(const std::vector<Predicate>& pieces) {
  if (pieces.empty()) return Holds({{Affine::Const(-1), false}});
  Value any = All(pieces[0]);
  for (size_t k = 1; k < pieces.size(); ++k)
    any = Make(Op::Or, Type::Bool(), {any, All(pieces[k])});
  return any;
}

Value PredicateWriter::Append(Inst inst, Type type) {
  inst.results = {f_.NewValue(type)};
  into_.push_back(std::move(inst));
  return into_.back().results[0];
}

}  // namespace pullback::tensor
