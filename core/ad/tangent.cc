#include "core/ad/tangent.h"

#include <functional>
#include <tuple>

#include "core/ad/fill.h"
#include "core/ad/partials.h"
#include "core/ad/push_list.h"
#include "core/ad/rules.h"
#include "core/ad/statement.h"
#include "core/ir/builder.h"
#include "core/ir/checkpointed_loop.h"
#include "core/ir/dominance.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// A call gives the tangent of every result that carries one; of its tape where it is given one's.
bool HasTangent(const ir::Module& m, ir::Type t, bool tape) {
  return t.IsTape() ? tape : ir::CarriesTangent(m, t);
}

std::vector<bool> ActiveResults(const ir::Module& m, const ir::Function& f, bool tape) {
  std::vector<bool> out;
  for (ir::Type t : f.results) out.push_back(HasTangent(m, t, tape));
  return out;
}

// Copies a function into `target`, tangents beside values. An active value's tangents may be kNoValue
// (zero); block parameters always carry all of theirs.
class Dual {
 public:
  using JvpOf = std::function<StatusOr<uint32_t>(uint32_t, const std::vector<bool>&)>;
  using PartialsOf = std::function<StatusOr<uint32_t>(uint32_t, const std::vector<bool>&)>;

  Dual(ir::Module& module, const ir::Function& from, uint32_t target,
       const std::vector<bool>& active, int width, ListFunctions& lists, JvpOf jvp_of,
       PartialsOf partials_of)
      : from_(from),
        b_(module, module.Get(target)),
        lists_(lists),
        is_constant_(IsConstant),
        tape_(analysis::TapeIsActive(from, active)),
        activity_(module, from, active, ActiveResults(module, from, tape_), is_constant_),
        width_(static_cast<size_t>(width)),
        jvp_of_(std::move(jvp_of)),
        partials_of_(std::move(partials_of)),
        primal_(from.values.size()),
        dots_(from.values.size(), std::vector<Value>(width_)) {}

  Status Run(const std::vector<bool>& active) {
    BindParams(active);
    const ir::Dominators dominators(from_);
    DeclareBlocks();
    for (uint32_t b : dominators.order()) {
      b_.SetBlock(b);
      for (const Inst& inst : from_.blocks[b].insts) {
        b_.SetLoc(inst.loc);
        PB_RETURN_IF_ERROR(Visit(inst));
      }
      Terminate(b);
    }
    return {};
  }

 private:
  bool Active(Value v) const { return activity_.Active(v); }
  Value P(Value v) const { return primal_[v.id]; }

  void BindParams(const std::vector<bool>& active) {
    const ir::Values& have = b_.function().params();
    const size_t n = from_.params().size();
    size_t next = n;
    for (size_t k = 0; k < n; ++k) {
      const Value v = from_.params()[k];
      primal_[v.id] = have[k];
      if (!active[k] || !ir::CarriesTangent(b_.module(), from_.TypeOf(v))) continue;
      for (size_t d = 0; d < width_; ++d) dots_[v.id][d] = have[next++];
    }
  }

  void DeclareBlocks() {
    for (uint32_t b = 1; b < from_.blocks.size(); ++b) {
      b_.NewBlock();
      for (Value v : from_.blocks[b].params)
        primal_[v.id] = b_.AddParam(b, from_.TypeOf(v), from_.names[v.id]);
      for (Value v : from_.blocks[b].params) {
        if (!Active(v)) continue;
        for (size_t d = 0; d < width_; ++d)
          dots_[v.id][d] = b_.AddParam(b, from_.TypeOf(v), from_.names[v.id] + ".dot");
      }
    }
  }

  Value ZeroOf(Value v) { return b_.ZerosLike(P(v)); }
  Value DotOrZero(Value v, size_t d) {
    const Value dot = dots_[v.id][d];
    return dot.valid() ? dot : ZeroOf(v);
  }

  // The copy of an instruction with its operands mapped; results are new.
  void Copy(const Inst& inst) {
    Inst copy = inst;
    const auto fresh = [this](Value& v) {
      primal_[v.id] = b_.function().NewValue(from_.TypeOf(v), from_.names[v.id]);
      v = primal_[v.id];
    };
    if (copy.each) {
      for (ir::IndexVar& i : copy.each->indices) fresh(i.var);
      for (Inst& body : copy.each->body) {
        for (Value& v : body.results) fresh(v);
      }
    }
    ir::ForEachOperand(copy, [this](Value& v) { v = P(v); });
    for (Value& v : copy.results) fresh(v);
    ir::CanonicaliseAffines(copy);
    b_.Append(std::move(copy));
  }

  Status Visit(const Inst& inst) {
    bool active = false;
    for (Value v : inst.results) active |= Active(v);
    if (!active) {
      Copy(inst);
      return {};
    }
    if (inst.op == Op::Each) return VisitEach(inst);
    if (inst.op == Op::Call) return VisitCall(inst);
    Copy(inst);
    if (IsListOp(inst.op)) {
      for (size_t d = 0; d < width_; ++d) VisitList(inst, d);
      return {};
    }
    const bool tape = from_.TypeOf(inst.results[0]).IsTape();
    for (size_t d = 0; d < width_; ++d) {
      if (tape) {
        VisitTape(inst, d);
      } else {
        dots_[inst.results[0].id][d] = Dot(inst, d);
      }
    }
    return {};
  }

  void VisitList(const Inst& inst, size_t d) {
    bool zero = true;
    for (Value v : inst.args) zero &= !dots_[v.id][d].valid();
    if (zero) return;
    const std::vector<Value> dots = PushListOp(
        b_, lists_, inst, [this](Value v) { return P(v); },
        [this, d](Value v) { return dots_[v.id][d]; });
    for (size_t k = 0; k < dots.size(); ++k) {
      if (Active(inst.results[k])) dots_[inst.results[k].id][d] = dots[k];
    }
  }

  // The tangent tape beside the tape: what carries one there has its tangent here, a zero where it is
  // not active.
  void VisitTape(const Inst& inst, size_t d) {
    Value& out = dots_[inst.results[0].id][d];
    if (inst.op == Op::TapeNew) {
      out = b_.TapeNew();
      return;
    }
    const Value tape = dots_[inst.args[0].id][d];
    PB_CHECK(tape.valid());
    const bool push = inst.op == Op::Push;
    const Value v = push ? inst.args[1] : inst.results[1];
    if (!ir::CarriesTangent(b_.module(), from_.TypeOf(v))) {
      out = tape;
    } else if (push) {
      out = b_.Push(tape, DotOrZero(v, d));
    } else {
      std::tie(out, dots_[v.id][d]) = b_.Pop(tape, from_.TypeOf(v));
    }
  }

  Value Dot(const Inst& inst, size_t d) {
    if (RuleOf(inst.op) == Rule::kPartials) return DotByPartials(inst, d);
    const auto dot = [&](size_t k) { return dots_[inst.args[k].id][d]; };
    const auto any = [&](size_t i, size_t j) { return dot(i).valid() || dot(j).valid(); };
    switch (inst.op) {
      case Op::Cast:
        return dot(0).valid() ? b_.Cast(dot(0), from_.TypeOf(inst.results[0]).elem) : Value{};
      case Op::Select:
        if (!any(1, 2)) return {};
        return b_.Make(Op::Select,
                       {P(inst.args[0]), DotOrZero(inst.args[1], d), DotOrZero(inst.args[2], d)});
      case Op::Index: return dot(0).valid() ? b_.Index(dot(0), Map(inst.subs)) : Value{};
      case Op::Update:
      case Op::AddAt: {
        if (!any(0, 1)) return {};
        const Value array = DotOrZero(inst.args[0], d), v = DotOrZero(inst.args[1], d);
        return inst.op == Op::Update ? b_.Update(array, Map(inst.subs), v)
                                     : b_.AddAt(array, Map(inst.subs), v);
      }
      case Op::AddArrays:
        if (!dot(0).valid()) return dot(1);
        return dot(1).valid() ? b_.AddArrays(dot(0), dot(1)) : dot(0);
      default: PB_CHECK(!"an active op without a tangent"); return {};
    }
  }

  Value DotByPartials(const Inst& inst, size_t d) {
    const std::function<Value(Value)> primal = [this](Value v) { return P(v); };
    Value sum;
    for (size_t k = 0; k < inst.args.size(); ++k) {
      const Value x = dots_[inst.args[k].id][d];
      if (!x.valid()) continue;
      const Value term = Times(b_, x, PartialOf({b_, inst, primal}, static_cast<int>(k)));
      if (term.valid()) sum = sum.valid() ? b_.Make(Op::Add, {sum, term}) : term;
    }
    return sum;
  }

  std::vector<ir::Affine> Map(ir::AffineSpan subs) const {
    std::vector<ir::Affine> out = ir::ToVector(subs);
    for (ir::Affine& a : out) {
      for (ir::Affine::Term& t : a.terms) t.value = P(t.value);
      ir::Canonicalise(a);
    }
    return out;
  }

  Status VisitEach(const Inst& inst) {
    const Surroundings around{from_, activity_, [this](Value v) { return P(v); },
                              [this](Value v, int axis) { return b_.Dim(P(v), axis); },
                              partials_of_};
    PB_ASSIGN_OR_RETURN(
        TangentStatement made,
        PushStatement(b_, around, inst, static_cast<int>(width_),
                      [this](Value v, int d) { return dots_[v.id][static_cast<size_t>(d)]; }));
    for (size_t k = 0; k < inst.results.size(); ++k) {
      primal_[inst.results[k].id] = made.primal[k];
      b_.function().names[made.primal[k].id] = from_.names[inst.results[k].id];
      dots_[inst.results[k].id] = made.dots[k];
    }
    return {};
  }

  Status VisitCall(const Inst& inst) {
    std::vector<bool> active;
    std::vector<Value> args;
    for (Value v : inst.args) {
      active.push_back(Active(v));
      args.push_back(P(v));
    }
    for (Value v : inst.args) {
      if (!Active(v)) continue;
      for (size_t d = 0; d < width_; ++d) args.push_back(DotOrZero(v, d));
    }
    PB_ASSIGN_OR_RETURN(const uint32_t callee, jvp_of_(inst.callee, active));
    const std::vector<Value> made = b_.Call(callee, args, inst.checkpoint);
    size_t next = inst.results.size();
    for (size_t k = 0; k < inst.results.size(); ++k) {
      primal_[inst.results[k].id] = made[k];
      const Value v = inst.results[k];
      if (!HasTangent(b_.module(), from_.TypeOf(v), Active(v))) continue;
      for (size_t d = 0; d < width_; ++d) dots_[inst.results[k].id][d] = made[next++];
    }
    return {};
  }

  void Terminate(uint32_t b) {
    ir::Terminator term = from_.blocks[b].term;
    ir::ForEachTermOperand(term, [this](Value& v) { v = P(v); });
    if (term.kind == ir::Terminator::Kind::kReturn) {
      for (Value v : from_.blocks[b].term.results) {
        if (!HasTangent(b_.module(), from_.TypeOf(v), tape_)) continue;
        for (size_t d = 0; d < width_; ++d) term.results.push_back(DotOrZero(v, d));
      }
    }
    for (size_t e = 0; e < term.edges.size(); ++e) {
      const ir::Edge& edge = from_.blocks[b].term.edges[e];
      const ir::Values& params = from_.blocks[edge.block].params;
      for (size_t k = 0; k < params.size(); ++k) {
        if (!Active(params[k])) continue;
        for (size_t d = 0; d < width_; ++d)
          term.edges[e].args.push_back(DotOrZero(edge.args[k], d));
      }
    }
    b_.function().blocks[b].term = std::move(term);
  }

  const ir::Function& from_;
  ir::Builder b_;
  ListFunctions& lists_;
  std::function<bool(Op)> is_constant_;
  bool tape_;  // whether the function's tape has a tangent
  analysis::Activity activity_;
  size_t width_;
  JvpOf jvp_of_;
  PartialsOf partials_of_;
  std::vector<Value> primal_;
  std::vector<std::vector<Value>> dots_;
};

void CopyParams(const ir::Function& from, ir::Builder& b) {
  b.NewBlock();
  b.function().results = from.results;
  for (Value v : from.params()) b.AddParam(0, from.TypeOf(v), from.names[v.id]);
}

}  // namespace

StatusOr<uint32_t> Tangents::Jvp(uint32_t f, const std::vector<bool>& active, int width) {
  const auto [it, fresh] = jvps_.try_emplace({f, active, width});
  if (!fresh) return it->second;
  const uint32_t target = module_.AddFunction(module_.Get(f).name + ".jvp");
  it->second = target;
  const ir::Function& from = module_.Get(f);
  ir::Builder b(module_, module_.Get(target));
  CopyParams(from, b);
  for (size_t k = 0; k < from.params().size(); ++k) {
    const Value v = from.params()[k];
    if (!active[k] || !ir::CarriesTangent(module_, from.TypeOf(v))) continue;
    for (int d = 0; d < width; ++d) b.AddParam(0, from.TypeOf(v), from.names[v.id] + ".dot");
  }
  const bool tape = analysis::TapeIsActive(from, active);
  for (ir::Type t : from.results) {
    for (int d = 0; d < width && HasTangent(module_, t, tape); ++d)
      b.function().results.push_back(t);
  }
  const uint32_t schedule = ir::ScheduleOf(module_, f);
  if (schedule != ir::kNoFunction) {  // a loop with snapshots: its tangent is one too
    PB_ASSIGN_OR_RETURN(module_.Get(target).vjp_rule, Jvp(schedule, active, width));
  } else if (from.HasRule()) {
    PB_RETURN_IF_ERROR(WriteJvpByRule(module_, f, target, active, width));
    return target;
  }
  Dual dual(
      module_, from, target, active, width, lists_,
      [this, width](uint32_t callee, const std::vector<bool>& a) { return Jvp(callee, a, width); },
      [this](uint32_t callee, const std::vector<bool>& a) { return Partials(callee, a); });
  PB_RETURN_IF_ERROR(dual.Run(active));
  return target;
}

StatusOr<uint32_t> Tangents::FilledJvp(uint32_t f, const std::vector<bool>& active) {
  PB_ASSIGN_OR_RETURN(const uint32_t jvp, Jvp(f, active, 1));
  const auto [it, fresh] = filled_.try_emplace({f, active});
  if (fresh) it->second = FillTangents(module_, lists_, jvp, f);
  return it->second;
}

StatusOr<uint32_t> Tangents::Partials(uint32_t f, const std::vector<bool>& active) {
  const auto [it, fresh] = partials_.try_emplace({f, active});
  if (!fresh) return it->second;
  int width = 0;
  for (bool a : active) width += a;
  const uint32_t target = module_.AddFunction(module_.Get(f).name + ".partials");
  it->second = target;
  PB_ASSIGN_OR_RETURN(const uint32_t jvp, Jvp(f, active, width));
  const ir::Function& from = module_.Get(f);
  ir::Builder b(module_, module_.Get(target));
  CopyParams(from, b);
  ir::Values args = from.params();
  for (size_t k = 0; k < args.size(); ++k) args[k] = b.function().params()[k];
  int seeded = 0;  // parameter number `seeded` among the active ones gets the unit vector e_seeded
  for (size_t k = 0; k < active.size(); ++k) {
    if (!active[k]) continue;
    const ir::Type t = from.TypeOf(from.params()[k]);
    for (int d = 0; d < width; ++d) args.push_back(d == seeded ? b.One(t) : b.Zero(t));
    ++seeded;
  }
  for (ir::Type t : from.results) {
    for (int d = 0; d < width && t.IsFloat(); ++d) b.function().results.push_back(t);
  }
  b.Return(b.Call(jvp, std::move(args)));
  return target;
}

}  // namespace pullback::ad
