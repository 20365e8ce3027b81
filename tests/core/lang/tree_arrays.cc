// Arrays: elements and parts, comprehensions, scans.
#include "core/base/status.h"
#include "core/ir/monoid.h"
#include "core/lang/builtins.h"
#include "tests/core/lang/tree.h"

namespace pullback::lang::tree_eval {

Datum Tree::EvalBroadcast(const Expr& e) {
  const std::vector<Datum> args = Operands(e);
  if (e.builtin >= 0) return MapOp(OpOf(e.builtin), e.type.elem, args);
  const Type& result = program_.functions[e.callee]->result_type;
  const bool tuple = result.kind == Type::Kind::kTuple;
  std::vector<DType> types;
  for (const Type& t : tuple ? result.elements : std::vector<Type>{result}) types.push_back(t.elem);
  std::vector<Datum> out = Map(types, args, [&](const std::vector<uint64_t>& x) {
    std::vector<Datum> scalars;
    for (size_t i = 0; i < x.size(); ++i) scalars.push_back(Scalar(args[i].elem, x[i]));
    const Datum value = Call(e.callee, std::move(scalars));
    std::vector<uint64_t> bits;
    for (const Datum& d : tuple ? value.tuple : std::vector<Datum>{value})
      bits.push_back(d.bits[0]);
    return bits;
  });
  return tuple ? Made(Datum::Kind::kTuple, out) : out[0];
}

size_t Tree::ElementOf(const Datum& x, const std::vector<Subscript>& subscripts) {
  std::vector<int64_t> index;
  for (size_t i = 0; i < subscripts.size(); ++i) {
    index.push_back(AsInt(Eval(*subscripts[i].index)));
    if (index[i] < 0 || index[i] >= x.shape[i]) throw Trapped{TrapKind::kIndex};
  }
  return Offset(x.shape, index);
}

Datum Tree::EvalIndex(const Expr& e) {
  Datum x = Eval(*e.operands[0]);
  if (x.kind == Datum::Kind::kList) {
    return Datum(ListElement(x, Eval(*e.subscripts[0].index)));
  }
  for (const Subscript& s : e.subscripts) {
    if (s.index && s.index->type.kind == Type::Kind::kArray) return EvalGather(x, e.subscripts);
  }
  std::vector<int64_t> lo, step, extent, axes;
  for (size_t i = 0; i < e.subscripts.size(); ++i) {
    const Subscript& s = e.subscripts[i];
    const int64_t dim = x.shape[i];
    lo.push_back(s.is_slice ? (s.lo ? AsInt(Eval(*s.lo)) : 0) : AsInt(Eval(*s.index)));
    const int64_t hi = s.is_slice ? (s.hi ? AsInt(Eval(*s.hi)) : dim) : lo[i] + 1;
    step.push_back(s.step ? s.step->int_value : 1);
    if (lo[i] < 0 || hi < lo[i] || hi > dim) throw Trapped{TrapKind::kIndex};
    if (!s.is_slice) continue;
    axes.push_back(static_cast<int64_t>(i));
    extent.push_back((hi - lo[i] + step[i] - 1) / step[i]);
  }
  Datum out{x.elem, extent, {}, {}, Datum::Kind::kTensor, nullptr};
  ForEachIndex(extent, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> index = lo;
    for (size_t a = 0; a < axes.size(); ++a) {
      const size_t axis = static_cast<size_t>(axes[a]);
      index[axis] += at[a] * step[axis];
    }
    out.bits.push_back(x.bits[Offset(x.shape, index)]);
  });
  return out;
}

// By axis, the offsets that the subscripts choose, and the extents of what is chosen.
std::vector<std::vector<int64_t>> Tree::Choose(const Datum& x,
                                               const std::vector<Subscript>& subscripts,
                                               std::vector<int64_t>& shape) {
  std::vector<std::vector<int64_t>> all;
  for (size_t i = 0; i < subscripts.size(); ++i) {
    const Subscript& s = subscripts[i];
    all.emplace_back();
    if (!s.is_slice) {
      const Datum index = Eval(*s.index);
      for (uint64_t v : index.bits) all[i].push_back(static_cast<int64_t>(v));
      shape.insert(shape.end(), index.shape.begin(), index.shape.end());
    } else {
      const int64_t lo = s.lo ? AsInt(Eval(*s.lo)) : 0;
      const int64_t hi = s.hi ? AsInt(Eval(*s.hi)) : x.shape[i];
      if (lo < 0 || hi < lo || hi > x.shape[i]) throw Trapped{TrapKind::kIndex};
      for (int64_t k = lo; k < hi; k += s.step ? s.step->int_value : 1) all[i].push_back(k);
      shape.push_back(static_cast<int64_t>(all[i].size()));
    }
  }
  return all;
}

// Calls fn on the offset in x of every chosen element, in order.
void ForEachChosen(const Datum& x, const std::vector<std::vector<int64_t>>& chosen,
                   const std::function<void(size_t)>& fn) {
  std::vector<int64_t> extents;
  for (const auto& axis : chosen) extents.push_back(static_cast<int64_t>(axis.size()));
  ForEachIndex(extents, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> index;
    for (size_t i = 0; i < at.size(); ++i) {
      index.push_back(chosen[i][static_cast<size_t>(at[i])]);
      if (index[i] < 0 || index[i] >= x.shape[i]) throw Trapped{TrapKind::kIndex};
    }
    fn(Offset(x.shape, index));
  });
}

Datum Tree::EvalGather(const Datum& x, const std::vector<Subscript>& subscripts) {
  Datum out{x.elem, {}, {}, {}, Datum::Kind::kTensor, nullptr};
  const auto chosen = Choose(x, subscripts, out.shape);
  ForEachChosen(x, chosen, [&](size_t at) { out.bits.push_back(x.bits[at]); });
  return out;
}

void Tree::ChangeRegion(Datum& x, const std::vector<Subscript>& subscripts, const Datum& value) {
  std::vector<int64_t> shape;
  const auto chosen = Choose(x, subscripts, shape);
  if (!value.shape.empty() && value.shape != shape) throw Trapped{TrapKind::kSizeMismatch};
  size_t next = 0;
  ForEachChosen(x, chosen,
                [&](size_t at) { x.bits[at] = value.bits[value.shape.empty() ? 0 : next++]; });
}

Datum Tree::EvalArray(const Expr& e) {
  const std::vector<Datum> elements = Operands(e);
  Datum out{e.type.elem, elements[0].shape, {}, {}, Datum::Kind::kTensor, nullptr};
  for (const Datum& d : elements) {
    if (d.shape != elements[0].shape) throw Trapped{TrapKind::kSizeMismatch};
    out.bits.insert(out.bits.end(), d.bits.begin(), d.bits.end());
  }
  out.shape.insert(out.shape.begin(), static_cast<int64_t>(elements.size()));
  return out;
}

void Tree::Nest(const Expr& e, size_t depth, const std::function<void()>& body) {
  if (depth == e.binders.size()) return body();
  const Binder& b = e.binders[depth];
  const int64_t lo = b.lo ? AsInt(Eval(*b.lo)) : 0;
  const int64_t hi = AsInt(Eval(*b.hi));
  if (hi < lo) throw Trapped{TrapKind::kNegativeSize};
  for (int64_t i = lo; i < hi; ++i) {
    run_->locals[b.local] = Int(i);
    Nest(e, depth + 1, body);
  }
}

Datum Tree::EvalComprehension(const Expr& e) {
  static constexpr ir::Monoid kMonoids[] = {ir::Monoid::kGen, ir::Monoid::kSum, ir::Monoid::kProd,
                                            ir::Monoid::kMax, ir::Monoid::kMin};
  const bool logical = IsLogical(e.comprehension);
  const ir::Monoid m = logical ? ir::Monoid::kSum : kMonoids[static_cast<int>(e.comprehension)];
  const Op join = e.comprehension == Comprehension::kAnd ? Op::And : logical ? Op::Or : Op::Add;
  if (!e.operands.empty()) run_->locals[e.local] = Eval(*e.operands[0]);
  Datum out{e.type.elem, {}, {}, {}, Datum::Kind::kTensor, nullptr};
  bool first = true;
  if (m == ir::Monoid::kGen) {
    for (const Binder& b : e.binders) {
      const int64_t extent = AsInt(Eval(*b.hi)) - (b.lo ? AsInt(Eval(*b.lo)) : 0);
      if (extent < 0) throw Trapped{TrapKind::kNegativeSize};
      out.shape.push_back(extent);
    }
  } else if (e.type.kind == Type::Kind::kScalar) {
    out.bits = {logical ? join == Op::And : ir::MonoidIdentity(m, e.type.elem)};
    first = false;
  }
  std::vector<int64_t> inner(static_cast<size_t>(e.body.result->type.rank), 0);
  Nest(e, 0, [&] {
    const Datum v = Value(e.body);
    if (first) inner = v.shape;
    if (v.shape != inner) throw Trapped{TrapKind::kSizeMismatch};
    if (m == ir::Monoid::kGen) {
      out.bits.insert(out.bits.end(), v.bits.begin(), v.bits.end());
    } else {
      if (first) out.bits.assign(v.bits.size(), ir::MonoidIdentity(m, e.type.elem));
      for (size_t i = 0; i < v.bits.size(); ++i) {
        const Op op = logical ? join : ir::MonoidOp(m);
        out.bits[i] = Apply(op, e.type.elem, {out.bits[i], v.bits[i]});
      }
    }
    first = false;
  });
  // The sizes of elements that there are none of are not looked for here.
  if (first && !inner.empty()) throw Trapped{TrapKind::kStopped};
  if (e.type.kind == Type::Kind::kArray)
    out.shape.insert(out.shape.end(), inner.begin(), inner.end());
  return out;
}

// The first point whose value no later one beats.
Datum Tree::EvalArg(const Expr& e) {
  const DType t = e.body.result->type.elem;
  const Op beats = e.comprehension == Comprehension::kArgMax ? Op::Gt : Op::Lt;
  std::vector<Datum> best(e.binders.size(), Int(-1));
  std::optional<uint64_t> extremum;
  Nest(e, 0, [&] {
    const uint64_t v = Value(e.body).bits[0];
    const bool nan = Apply(Op::Ne, t, {v, v}) != 0;
    if (extremum) {
      const bool was_nan = Apply(Op::Ne, t, {*extremum, *extremum}) != 0;
      if (was_nan || (!nan && Apply(beats, t, {v, *extremum}) == 0)) return;
    }
    extremum = v;
    for (size_t i = 0; i < best.size(); ++i) best[i] = run_->locals[e.binders[i].local];
  });
  return best.size() == 1 ? best[0] : Made(Datum::Kind::kTuple, best);
}

Datum Tree::EvalScan(const Expr& e) {
  static constexpr ir::Monoid kMonoids[] = {ir::Monoid::kGen, ir::Monoid::kSum, ir::Monoid::kProd,
                                            ir::Monoid::kMax, ir::Monoid::kMin};
  const ir::Monoid m = kMonoids[static_cast<int>(e.comprehension)];
  Datum out = Eval(*e.operands[0]);
  size_t inner = 1;  // elements of what is joined
  for (size_t axis = e.operands[0]->binders.size(); axis < out.shape.size(); ++axis) {
    inner *= static_cast<size_t>(out.shape[axis]);
  }
  std::vector<uint64_t> state(inner, ir::MonoidIdentity(m, e.type.elem));
  for (size_t i = 0; i < out.bits.size(); ++i) {
    const uint64_t next = Apply(ir::MonoidOp(m), e.type.elem, {state[i % inner], out.bits[i]});
    out.bits[i] = e.exclusive ? state[i % inner] : next;
    state[i % inner] = next;
  }
  return out;
}

}  // namespace pullback::lang::tree_eval
