// Ends of tensor statements. A statement that was written inside another's body cannot stay there:
// it is lifted in front of it. What its body reads of the bodies around it is copied into it, and
// the indices around it that this depends on become its own first indices:
//
//   gen i < n { w[i] * sum j < m { a[i, j] } }
//   %t = each(i < n, j < m) { a[i, j] } sum [i]
//   %y = each(i < n) { w[i] * %t[i] } gen [i]
//
// Expensive values are not copied but stored by a statement of their own first (they are
// "spilled").
#include <algorithm>

#include "core/ir/op_weight.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_emit.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

using ir::Inst;

using ValueSet = std::unordered_set<uint32_t>;
using Renaming = std::unordered_map<uint32_t, Value>;

bool Defines(const Inst& inst, const ValueSet& values) {
  return std::any_of(inst.results.begin(), inst.results.end(),
                     [&](Value v) { return values.count(v.id) != 0; });
}

// --- lifting

// What a statement needs of the open frames around it.
class Lifting {
 public:
  Lifting(Context& c, Finished& inner, size_t frames) : c_(c), f_(inner), frames_(frames) {}
  // For an instruction of frame `frame` that is being spilled, like those before it that need it.
  void Spilling(size_t frame, bool is_call) {
    spilling_ = frame;
    one_at_least_ = is_call;
  }

  // Makes the statement closed. The outer indices that it got, in order.
  std::vector<Value> Run();

 private:
  void NeedOperands(const Inst& inst) {
    ir::ForEachOperand(inst, [&](Value v) { needed_.insert(v.id); });
  }
  void NeedWhereOf(const Frame& frame);
  void NeedFrame(size_t frame);
  void NeedBound();
  void NeedInstead(const std::vector<ir::IndexVar>& indices);
  bool IsAdopted(const Constraint& k) const;
  bool IsOfTuple(Value index) const;
  void KeepNonEmpty();
  void AddIndices();
  void CopyNeeded();
  void CopyNeeded(const std::vector<Inst>& from, std::vector<Inst>& to);
  bool TrapsSomewhere(const Inst& inst) const;
  void NeedTold();
  void GuardByTold(std::vector<Inst>& body, size_t from);
  void Rename(Inst& inst);
  Affine Rename(const Affine& a) const;
  Value Rename(Value v) const {
    auto it = renaming_.find(v.id);
    return it == renaming_.end() ? v : it->second;
  }

  Context& c_;
  Finished& f_;
  size_t frames_;  // the outermost so many frames are around the statement
  size_t spilling_ = SIZE_MAX;
  bool one_at_least_ = false;
  ValueSet needed_;
  Renaming renaming_;
  std::vector<ir::IndexVar> outer_;
  std::vector<Constraint> outer_where_;
  std::vector<Constraint>
      told_;  // of what is read here in place of indices around, where copies could trap
  std::vector<std::pair<Value, Value>> aliases_;
};

void Spill(Context& c, size_t frame, const ValueSet& needed);

void Lifting::NeedWhereOf(const Frame& frame) {
  for (const Constraint& k : frame.where) {
    if (IsAdopted(k)) continue;  // a guard says it there
    ir::ForEachOperand(k.e, [&](Value v) { needed_.insert(v.id); });
    outer_where_.push_back(k);
  }
}

// Closes `needed_` under what instructions of the frame read: first as far as the expensive ones,
// then, when these are reads of stored results, all the way.
void Lifting::NeedFrame(size_t frame) {
  for (bool spilled : {false, true}) {
    const std::vector<Inst>& body = c_.frames[frame]->body;
    for (size_t i = body.size(); i-- > 0;) {
      if (Defines(body[i], needed_) && (spilled || !ir::IsDear(body[i]))) NeedOperands(body[i]);
    }
    if (!spilled && frame != spilling_) Spill(c_, frame, needed_);
  }
}

bool Lifting::IsAdopted(const Constraint& k) const {
  const auto mentions = [&](const std::vector<std::pair<Value, Value>>& adopted) {
    return std::any_of(adopted.begin(), adopted.end(),
                       [&](const auto& pair) { return k.e.Coeff(pair.first) != 0; });
  };
  return mentions(f_.adopted) ||
         std::any_of(c_.frames.begin(), c_.frames.begin() + static_cast<std::ptrdiff_t>(frames_),
                     [&](const auto& frame) { return mentions(frame->adopted); });
}

// What stands for an index of a frame is needed in its place: for one that is read there instead of
// what it is read from, for others once the reads have asked for it.
void Lifting::NeedBound() {
  for (size_t f = 0; f < frames_; ++f) {
    const Frame& frame = *c_.frames[f];
    NeedInstead(frame.bound);
    for (size_t i = frame.reads.size(); i-- > 0;) {
      if (Defines(frame.reads[i], needed_)) NeedOperands(frame.reads[i]);
    }
    NeedInstead(frame.indices);
  }
}

void Lifting::NeedInstead(const std::vector<ir::IndexVar>& indices) {
  const auto replace = [&](const std::vector<std::pair<Value, Value>>& adopted, bool own) {
    for (const auto& [index, here] : adopted) {
      const bool among = std::any_of(indices.begin(), indices.end(),
                                     [&](const ir::IndexVar& i) { return i.var == index; });
      if (!among) continue;
      const bool was = needed_.erase(index.id) != 0;
      if (own || was) aliases_.emplace_back(index, here);
      if (!own && was) needed_.insert(here.id);
    }
  };
  for (size_t f = 0; f < frames_; ++f) replace(c_.frames[f]->adopted, false);
  replace(f_.adopted, true);
}

// Wherever its arguments are what they are.
bool Lifting::TrapsSomewhere(const Inst& inst) const {
  if (inst.op == Op::Div || inst.op == Op::Rem)
    return c_.b.TypeOf(inst.results[0]) == ir::Type::I64();
  return (ir::Info(inst.op).flags & (ir::kTraps | ir::kEffect)) != 0;
}

void Lifting::NeedTold() {
  bool traps = false;
  for (size_t f = 0; f < frames_; ++f) {
    for (const Inst& inst : c_.frames[f]->body) {
      traps = traps || (Defines(inst, needed_) && TrapsSomewhere(inst));
    }
  }
  if (!traps) return;
  told_ = f_.told;
  for (size_t f = 0; f < frames_; ++f) {
    const std::vector<Constraint>& told = c_.frames[f]->told;
    told_.insert(told_.end(), told.begin(), told.end());
  }
  for (const Constraint& k : told_) {
    ir::ForEachOperand(k.e, [&](Value v) { needed_.insert(v.id); });
  }
}

// Whether a tuple says what the index is: where there is a tuple its range is not empty.
bool Lifting::IsOfTuple(Value index) const {
  const auto says = [&](const std::vector<std::pair<Value, Value>>& adopted) {
    return std::any_of(adopted.begin(), adopted.end(), [&](const auto& pair) {
      return pair.first == index && c_.in_range.contains(pair.second.id);
    });
  };
  return says(f_.adopted) ||
         std::any_of(c_.frames.begin(), c_.frames.begin() + static_cast<std::ptrdiff_t>(frames_),
                     [&](const auto& frame) { return says(frame->adopted); });
}

// Indices around the statement that it does not depend on: where their range is empty it must not
// run if it may trap.
void Lifting::KeepNonEmpty() {
  bool traps = std::any_of(f_.body.begin(), f_.body.end(),
                           [&](const Inst& i) { return MayTrapHere(c_, i); });
  for (size_t i = 0; i < frames_; ++i) {
    for (const Inst& inst : c_.frames[i]->body) {
      traps = traps || (Defines(inst, needed_) && MayTrapHere(c_, inst));
    }
  }
  if (!traps) return;
  std::vector<Affine> present;
  for (const ir::IndexVar& i : f_.indices) present.push_back(c_.AffineFor(i.extent));
  for (const ir::IndexVar& i : outer_) present.push_back(c_.AffineFor(i.extent));
  for (size_t f = 0; f < frames_; ++f) {
    for (const ir::IndexVar& i : c_.frames[f]->indices) {
      const Affine extent = c_.AffineFor(i.extent);
      if (needed_.count(i.var.id) != 0 || (extent.IsConst() && extent.constant > 0)) continue;
      if (std::find(present.begin(), present.end(), extent) != present.end()) continue;
      if (IsOfTuple(i.var)) continue;
      f_.where.push_back({extent - Affine::Const(1), false});
      present.push_back(extent);
    }
  }
}

void Lifting::AddIndices() {
  for (size_t f = 0; f < frames_; ++f) {
    for (const ir::IndexVar& i : c_.frames[f]->indices) {
      if (needed_.count(i.var.id) != 0) outer_.push_back(i);
    }
  }
}

void Lifting::CopyNeeded(const std::vector<Inst>& from, std::vector<Inst>& to) {
  for (const Inst& inst : from) {
    if (!Defines(inst, needed_)) continue;
    to.push_back(inst);
    for (Value& v : to.back().results) {
      const Value copy = c_.function.NewLike(c_.function, v);
      renaming_[v.id] = copy;
      v = copy;
    }
  }
}

void Lifting::CopyNeeded() {
  std::vector<Inst> body;
  // Reads are of what the frame itself runs over, or of what stands here for an index around.
  for (Inst& inst : f_.reads) body.push_back(std::move(inst));
  for (size_t f = frames_; f-- > 0;) CopyNeeded(c_.frames[f]->reads, body);
  for (const auto& [index, here] : aliases_) renaming_[index.id] = Rename(here);
  const size_t reads = body.size();
  for (size_t f = 0; f < frames_; ++f) CopyNeeded(c_.frames[f]->body, body);
  GuardByTold(body, reads);
  c_.module.Charge(body.size());
  for (Inst& inst : f_.body) body.push_back(std::move(inst));
  for (Inst& inst : body) Rename(inst);
  f_.body = std::move(body);
}

// In the bodies around, indices are in their ranges and fulfil their conditions. What is read here need not, and the copies
// from body[from] on would trap where it does not.
void Lifting::GuardByTold(std::vector<Inst>& body, size_t from) {
  if (told_.empty()) return;
  const auto begin = body.begin() + static_cast<std::ptrdiff_t>(from);
  std::vector<Inst> copies(std::make_move_iterator(begin), std::make_move_iterator(body.end()));
  body.resize(from);
  const auto append = [&](Op op) -> Inst& {
    Inst& inst = body.emplace_back();
    inst.op = op;
    inst.results = {c_.function.NewValue(ir::Type::Bool())};
    return inst;
  };
  Inst& holds = append(Op::Holds);
  for (const Constraint& k : told_) holds.constraints.push_back(k);
  const Value all = holds.results[0];
  std::unordered_map<uint32_t, Value> both;  // by guard
  for (Inst& inst : copies) {
    if (TrapsSomewhere(inst)) {
      Value& guard = both.try_emplace(inst.guard.id, all).first->second;
      if (inst.guard.valid() && guard == all) {
        Inst& join = append(Op::And);
        join.args = {all, inst.guard};
        guard = join.results[0];
      }
      inst.guard = guard;
    }
    body.push_back(std::move(inst));
  }
}

void Lifting::Rename(Inst& inst) {
  ir::ForEachOperand(inst, [&](Value& v) { v = Rename(v); });
  ir::CanonicaliseAffines(inst);
}

Affine Lifting::Rename(const Affine& a) const {
  Affine out = a;
  ir::ForEachOperand(out, [&](Value& v) { v = Rename(v); });
  ir::Canonicalise(out);
  return out;
}

std::vector<Value> Lifting::Run() {
  for (const Inst& inst : f_.body) NeedOperands(inst);
  for (Value v : f_.values) needed_.insert(v.id);
  if (f_.guard.valid()) needed_.insert(f_.guard.id);
  if (f_.second.valid()) needed_.insert(f_.second.id);
  for (const Constraint& k : f_.where) {
    ir::ForEachOperand(k.e, [&](Value v) { needed_.insert(v.id); });
  }
  for (size_t f = 0; f < frames_; ++f) NeedWhereOf(*c_.frames[f]);
  for (size_t f = frames_; f-- > 0;) NeedFrame(f);
  NeedTold();
  NeedBound();
  AddIndices();
  if (outer_.empty() && one_at_least_) outer_.push_back(c_.frames[0]->indices[0]);
  KeepNonEmpty();
  std::vector<Value> old;
  std::vector<ir::IndexVar> indices;
  std::vector<Value> out;
  for (const ir::IndexVar& i : outer_) {
    const Value copy = c_.function.NewValue(ir::Type::I64(), c_.function.names[i.var.id]);
    renaming_[i.var.id] = copy;
    old.push_back(i.var);
    indices.push_back({copy, i.extent});
    out.push_back(copy);
  }
  for (const auto& [index, here] : f_.adopted) {
    old.push_back(index);
    out.push_back(here);
  }
  indices.insert(indices.end(), f_.indices.begin(), f_.indices.end());
  out.insert(out.end(), f_.out.begin(), f_.out.end());
  f_.indices = std::move(indices);
  f_.out = std::move(out);
  CopyNeeded();
  f_.where.insert(f_.where.end(), outer_where_.begin(), outer_where_.end());
  for (Constraint& k : f_.where) k.e = Rename(k.e);
  for (Value& v : f_.values) v = Rename(v);
  f_.guard = f_.guard.valid() ? Rename(f_.guard) : f_.guard;
  f_.second = f_.second.valid() ? Rename(f_.second) : f_.second;
  return old;
}

// --- spilling

// The instruction's results as arrays over the indices that it depends on; `subs` are those.
std::vector<Value> StoreInst(Context& c, size_t frame, const Inst& inst, Subs& subs) {
  Finished f;
  f.loc = inst.loc;
  f.body.push_back(inst);
  for (Value& v : f.body[0].results) {
    v = c.function.NewValue(c.b.TypeOf(v));
    f.values.push_back(v);
  }
  Lifting lifting(c, f, frame + 1);
  lifting.Spilling(frame, inst.op == Op::Call);
  for (Value i : lifting.Run()) subs.push_back(Affine::Of(i));
  return subs.empty() ? std::vector<Value>() : Emit(c, std::move(f));
}

// Replaces the frame's expensive instructions among `needed` by reads of stored results.
void Spill(Context& c, size_t frame, const ValueSet& needed) {
  Frame& fr = *c.frames[frame];
  const auto spills = [&](const Inst& i) { return ir::IsDear(i) && Defines(i, needed); };
  if (std::none_of(fr.body.begin(), fr.body.end(), spills)) return;
  c.module.Charge(fr.body.size());
  fr.undo.push_back(fr.body);
  std::vector<Inst> body = std::exchange(fr.body, {});
  std::vector<size_t> places;
  for (Inst& inst : body) {
    places.push_back(fr.body.size());
    Subs subs;
    std::vector<Value> stored;
    if (spills(inst)) stored = StoreInst(c, frame, inst, subs);
    for (size_t r = 0; r < stored.size(); ++r) {
      Inst read;
      read.op = Op::Index;
      read.args = {stored[r]};
      read.subs = subs;
      read.results = {inst.results[r]};
      read.guard = inst.guard;
      read.loc = inst.loc != 0 ? inst.loc : c.b.loc();
      fr.body.push_back(std::move(read));
    }
    if (stored.empty()) fr.body.push_back(std::move(inst));
  }
  places.push_back(fr.body.size());
  for (Region& r : c.regions) {
    if (r.frame == frame) r.begin = places[r.begin];
  }
}

// --- hoisting

const Inst* FindDefinition(Context& c, Value v) {
  for (const auto& f : c.frames) {
    for (auto inst = f->body.rbegin(); inst != f->body.rend(); ++inst) {
      if (std::find(inst->results.begin(), inst->results.end(), v) != inst->results.end()) {
        return &*inst;
      }
    }
  }
  return nullptr;
}

MaybeValue HoistValue(Context& c, Value v) {
  if (c.OwnerOf(v) == 0) return v;
  const Inst* inst = c.IsIndex(v) ? nullptr : FindDefinition(c, v);
  if (!inst || !CannotTrap(c, *inst) || !c.module.Charge(1)) return std::nullopt;
  Inst copy = *inst;
  bool good = true;
  ir::ForEachOperand(copy, [&](Value& operand) {
    const MaybeValue hoisted = HoistValue(c, operand);
    good = good && hoisted.has_value();
    if (hoisted) operand = *hoisted;
  });
  if (!good) return std::nullopt;
  ir::CanonicaliseAffines(copy);
  AtBlock block(c);
  copy.results = {c.function.NewValue(c.b.TypeOf(v))};
  const Value result = copy.results[0];
  c.b.Append(std::move(copy));
  return result;
}

// Values of the right types: the program is going to be refused.
std::vector<Value> AbandonStatement(Context& c, const Statement& s,
                                    const std::vector<Value>& values) {
  c.CloseFrame();
  std::vector<Value> results;
  for (Value v : values) {
    const bool arg = s.reduce && ir::IsArg(*s.reduce);
    const DType elem = arg ? DType::kI64 : c.b.TypeOf(v).elem;
    if (c.InBody() || s.out.empty()) {
      results.push_back(c.b.Zero(ir::Type::Scalar(elem)));
      continue;
    }
    const std::vector<Affine> dims(s.out.size(), Affine::Const(0));
    results.push_back(c.b.Zeros(elem, std::vector<Value>(s.out.size(), c.I64(0))));
    c.SetDims(results.back(), dims);
  }
  return results;
}

}  // namespace

bool CannotTrap(const Context& c, const Inst& inst) {
  if (inst.guard.valid()) return false;
  if (ir::Info(inst.op).flags & ir::kPure) return true;
  if (inst.op != Op::Div && inst.op != Op::Rem) return false;
  if (c.b.TypeOf(inst.results[0]) != ir::Type::I64()) return true;
  const Affine divisor = c.AffineFor(inst.args[1]);
  return divisor.IsConst() && divisor.constant != 0;
}

bool MayTrapHere(Context& c, const Inst& inst) {
  if (inst.op == Op::Call) return true;
  if (inst.op == Op::Div || inst.op == Op::Rem)
    return c.b.TypeOf(inst.results[0]) == ir::Type::I64();
  if (inst.op != Op::Index) return false;
  const std::vector<Affine>& dims = c.DimsOf(inst.args[0]);
  for (size_t i = 0; i < dims.size(); ++i) {
    const Affine last = dims[i] - inst.subs[i] - Affine::Const(1);
    if (!IsNonNegative(c, Least(c, inst.subs[i])) || !IsNonNegative(c, Least(c, last))) return true;
  }
  return false;
}

Lifted LiftStatement(Context& c, const Statement& s, const std::vector<Value>& values) {
  if (c.module.IsTooLarge()) return {AbandonStatement(c, s, values), {}};
  ApplyGuards(c);
  Frame& frame = c.frame();
  Finished f;
  f.indices = frame.indices;
  f.where = std::move(frame.where);
  f.body = std::move(frame.body);
  f.reads = std::move(frame.reads);
  f.bound = frame.bound;
  f.adopted = frame.adopted;
  f.told = std::move(frame.told);
  f.out = s.out;
  f.values = values;
  f.guard = s.guard;
  f.second = s.second;
  f.monoid = s.reduce.value_or(ir::Monoid::kGen);
  f.loc = s.loc;
  Lifted lifted;
  Lifting lifting(c, f, c.frames.size() - 1);
  for (Value i : lifting.Run()) lifted.outer.push_back(Affine::Of(i));
  if (ir::IsScan(f.monoid)) f.outer = static_cast<uint32_t>(lifted.outer.size() + s.outer);
  c.CloseFrame();
  lifted.results = Emit(c, std::move(f));
  return lifted;
}

std::vector<Value> FinishStatement(Context& c, const Statement& s,
                                   const std::vector<Value>& values) {
  Lifted lifted = LiftStatement(c, s, values);
  if (lifted.outer.empty()) return lifted.results;
  for (Value& v : lifted.results) v = c.b.Index(v, lifted.outer);
  return lifted.results;
}

void SpillCostly(Context& c) {
  ApplyGuards(c);
  ValueSet all;
  for (const Inst& inst : c.frame().body) {
    for (Value v : inst.results) all.insert(v.id);
  }
  Spill(c, c.frames.size() - 1, all);
}

std::vector<Affine> HoistExtremum(Context& c, const Affine& a, Op extremum) {
  if (const std::optional<Affine> form = Hoist(c, a)) return {*form};
  for (const Affine::Term& t : a.terms) {
    const Inst* def = c.IsIndex(t.value) ? nullptr : FindDefinition(c, t.value);
    if (!def || def->op != extremum || t.coeff != 1) continue;
    const Affine rest = a - Affine::Of(t.value);
    std::vector<Affine> all;
    for (Value arg : ir::Values(def->args)) {  // what is looked for may move it
      const std::vector<Affine> of = HoistExtremum(c, c.AffineFor(arg) + rest, extremum);
      if (of.empty()) return {};
      all.insert(all.end(), of.begin(), of.end());
    }
    return all;
  }
  return {};
}

std::optional<Affine> Hoist(Context& c, const Affine& a) {
  Affine out = Affine::Const(a.constant);
  for (const Affine::Term& t : a.terms) {
    Value v = t.value;
    if (!c.IsIndex(v)) {
      PB_TRY(v, HoistValue(c, v));
    }
    out = out + Affine::Of(v) * t.coeff;
  }
  return out;
}

}  // namespace pullback::lang
