#include "core/ad/batch_blocks.h"

#include <functional>
#include <string>
#include <tuple>

#include "core/ad/batch_insts.h"
#include "core/ir/builder.h"
#include "core/ir/dominance.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class Writer {
 public:
  using CalleeOf =
      std::function<std::optional<BatchedFunctions::Made>(uint32_t, const std::vector<bool>&)>;

  Writer(ir::Module& module, const ir::Function& from, uint32_t target, std::vector<bool> batched,
         std::vector<bool> results, BatchedLists& lists, CalleeOf callee_of)
      : from_(from),
        b_(module, module.Get(target)),
        batched_(std::move(batched)),
        results_(std::move(results)),
        lists_(lists),
        callee_of_(std::move(callee_of)) {}

  bool Run() {
    b_.NewBlock();
    count_ = b_.AddParam(0, ir::Type::I64(), "seeds");
    insts_.emplace(b_, from_, Axes::kBack, std::vector<Value>{count_}, &lists_);
    start_.resize(from_.blocks.size());
    for (uint32_t block = 0; block < from_.blocks.size(); ++block) {
      start_[block] = block == 0 ? 0 : b_.NewBlock();
      for (Value v : from_.blocks[block].params) {
        const ir::Type t = insts_->TypeOf(v, Is(v));
        insts_->Bind(v, {b_.AddParam(start_[block], t, from_.names[v.id]), Is(v)});
      }
    }
    for (size_t r = 0; r < results_.size(); ++r) {
      const ir::Type t = from_.results[r];
      b_.function().results.push_back(results_[r] ? lists_.TypeOf(t) : t);
    }
    const ir::Dominators dominators(from_);
    for (uint32_t block : dominators.order()) {
      b_.SetBlock(start_[block]);
      for (const Inst& inst : from_.blocks[block].insts) {
        b_.SetLoc(inst.loc);
        if (!Visit(inst)) return false;
      }
      if (!Terminate(from_.blocks[block].term)) return false;
    }
    return true;
  }

 private:
  bool Is(Value v) const { return batched_[v.id]; }
  Value Get(Value v) const { return insts_->Get(v); }

  bool Visit(const Inst& inst) {
    switch (inst.op) {
      case Op::Call: return VisitCall(inst);
      case Op::TapeNew:
        insts_->Bind(inst.results[0], {b_.TapeNew(), Is(inst.results[0])});
        return true;
      case Op::Push: VisitPush(inst); return true;
      case Op::Pop: VisitPop(inst); return true;
      case Op::Update:
      case Op::AddAt:
        if (Is(inst.results[0])) return VisitElement(inst);
        break;
      case Op::Fit:
        if (Is(inst.results[0])) return VisitFit(inst);
        break;
      default: break;
    }
    return insts_->Visit(inst);
  }

  void VisitPush(const Inst& inst) {
    const bool batched = Is(inst.args[0]);
    const Value v = Passed(inst.args[1], batched);
    insts_->Bind(inst.results[0], {b_.Push(Get(inst.args[0]), v), batched});
  }

  void VisitPop(const Inst& inst) {
    const bool batched = Is(inst.args[0]);
    const auto [tape, v] = b_.Pop(Get(inst.args[0]), insts_->TypeOf(inst.results[1], batched));
    insts_->Bind(inst.results[0], {tape, batched});
    insts_->Bind(inst.results[1], {v, batched});
  }

  // A value where one with the axis, or one without, is expected.
  Value Passed(Value v, bool batched) { return batched ? insts_->Spread(v) : Get(v); }

  bool VisitCall(const Inst& inst) {
    std::vector<bool> batched;
    bool any = false;
    for (Value v : inst.args) {
      batched.push_back(Is(v));
      any |= Is(v);
    }
    for (Value v : inst.results) any |= Is(v);
    if (!any) {
      insts_->Copy(inst);
      return true;
    }
    const auto callee = callee_of_(inst.callee, batched);
    if (!callee) return false;
    std::vector<Value> args = {count_};
    for (Value v : inst.args) args.push_back(Get(v));
    const std::vector<Value> made = b_.Call(callee->function, args, inst.checkpoint);
    for (size_t k = 0; k < made.size(); ++k)
      insts_->Bind(inst.results[k], {made[k], callee->results[k]});
    return true;
  }

  bool VisitFit(const Inst& inst) {
    std::vector<Value> extents;
    for (size_t k = 1; k < inst.args.size(); ++k) {
      if (Is(inst.args[k])) return false;
      extents.push_back(Get(inst.args[k]));
    }
    extents.push_back(count_);
    insts_->Bind(inst.results[0], {b_.Fit(Get(inst.args[0]), extents), true});
    return true;
  }

  // An element of the program's own is a row of seeds: a loop over them.
  bool VisitElement(const Inst& inst) {
    for (const ir::Affine& a : inst.subs) {
      bool fixed = true;
      ir::ForEachOperand(a, [&](Value v) { fixed &= !Is(v); });
      if (!fixed) return false;
    }
    const Value array = insts_->Spread(inst.args[0]);
    const uint32_t header = b_.NewBlock(), body = b_.NewBlock(), done = b_.NewBlock();
    const Value k = b_.AddParam(header, ir::Type::I64(), "k");
    const Value into = b_.AddParam(header, b_.TypeOf(array));
    b_.Jump(header, {b_.I64(0), array});
    b_.SetBlock(header);
    b_.Branch(b_.Make(Op::Lt, {k, count_}), {body, {}}, {done, {}});
    b_.SetBlock(body);
    std::vector<ir::Affine> own;
    for (const ir::Affine& a : inst.subs) own.push_back(insts_->Get(a));
    const std::vector<ir::Affine> at = insts_->WithPoint(std::move(own), {k});
    const Value v = insts_->Here(inst.args[1], {k});
    const Value next = inst.op == Op::Update ? b_.Update(into, at, v) : b_.AddAt(into, at, v);
    b_.Jump(header, {b_.Make(Op::Add, {k, b_.I64(1)}), next});
    b_.SetBlock(done);
    insts_->Bind(inst.results[0], {into, true});
    return true;
  }

  bool Terminate(const ir::Terminator& term) {
    if ((term.cond.valid() && Is(term.cond)) || (term.snapshots.valid() && Is(term.snapshots)))
      return false;
    if (term.kind == ir::Terminator::Kind::kReturn) {
      std::vector<Value> out;
      for (size_t r = 0; r < term.results.size(); ++r)
        out.push_back(Passed(term.results[r], results_[r]));
      b_.Return(out);
      return true;
    }
    std::vector<ir::Edge> edges;
    for (const ir::Edge& e : term.edges) {
      ir::Edge& edge = edges.emplace_back(ir::Edge{start_[e.block], {}});
      for (size_t k = 0; k < e.args.size(); ++k)
        edge.args.push_back(Passed(e.args[k], Is(from_.blocks[e.block].params[k])));
    }
    if (term.kind == ir::Terminator::Kind::kJump) {
      b_.Jump(edges[0].block, std::move(edges[0].args));
    } else {
      b_.Branch(Get(term.cond), std::move(edges[0]), std::move(edges[1]));
    }
    if (term.snapshots.valid())
      b_.function().blocks[b_.block()].term.snapshots = Get(term.snapshots);
    return true;
  }

  const ir::Function& from_;
  ir::Builder b_;
  const std::vector<bool> batched_, results_;
  BatchedLists& lists_;
  const CalleeOf callee_of_;
  Value count_;
  std::optional<InstBatcher> insts_;
  std::vector<uint32_t> start_;  // by block of `from_`
};

// Arrays have no more axes than there may be.
bool HasForm(const ir::Function& f, const std::vector<bool>& batched, const BatchedLists& lists) {
  for (size_t v = 0; v < f.values.size(); ++v) {
    const ir::Type t = f.values[v];
    if (!batched[v]) continue;
    if (t.HasRecord() && !lists.Fits(t)) return false;
    if (t.IsArray() && t.rank + 1u > kMaxArrayRank) return false;
  }
  return true;
}

}  // namespace

std::optional<BatchedFunctions::Made> BatchedFunctions::Of(uint32_t f,
                                                           const std::vector<bool>& params) {
  const BatchedValues::Signature signature = values_.Of(f, params);
  const auto function = Function(f, signature.params);
  if (!function) return std::nullopt;
  return Made{*function, values_.Of(f, signature.params).results};
}

std::optional<uint32_t> BatchedFunctions::Function(uint32_t f, const std::vector<bool>& params) {
  const auto [it, fresh] = made_.try_emplace({f, params});
  if (!fresh) return it->second;
  std::vector<bool> batched = values_.In(f, params);
  if (!HasForm(module_.Get(f), batched, lists_)) return std::nullopt;
  for (size_t v = 0; v < batched.size(); ++v) {
    const ir::Type t = module_.Get(f).values[v];
    has_tapes_ |= batched[v] && (t.IsTape() || t.IsList());
  }
  const uint32_t target = module_.AddFunction(module_.Get(f).name + ".batched");
  it->second = target;
  Writer writer(module_, module_.Get(f), target, std::move(batched), values_.Of(f, params).results,
                lists_, [this](uint32_t g, const std::vector<bool>& args) { return Of(g, args); });
  if (!writer.Run()) return std::nullopt;
  return target;
}

}  // namespace pullback::ad
