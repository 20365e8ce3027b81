#include "core/ad/set_pattern.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/ad/partials.h"
#include "core/ad/point_loops.h"
#include "core/ad/set_lists.h"
#include "core/ad/set_rules.h"
#include "core/analysis/activity.h"
#include "core/analysis/outer_values.h"
#include "core/base/status.h"
#include "core/ir/builder.h"
#include "core/ir/checkpointed_loop.h"
#include "core/ir/dominance.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// A call gives the sets of every result that carries a tangent; of its tape where it is given one's.
bool HasSets(const ir::Module& m, ir::Type t, bool tape) {
  return t.IsTape() ? tape : ir::CarriesTangent(m, t);
}

std::vector<bool> ResultsWithSets(const ir::Module& m, const ir::Function& f, bool tape) {
  std::vector<bool> with;
  for (ir::Type t : f.results) with.push_back(HasSets(m, t, tape));
  return with;
}

// Copies a function into `target`, sets beside values. An active value's may be kNoValue (empty); block
// parameters always have theirs.
class Writer {
 public:
  using CalleeOf = std::function<std::optional<uint32_t>(uint32_t, const std::vector<bool>&)>;

  Writer(ir::Module& module, const ir::Function& from, uint32_t target,
         const std::vector<bool>& active, const SparseFunctions& functions, SetLists& lists,
         CalleeOf callee_of)
      : from_(from),
        b_(module, module.Get(target)),
        functions_(functions),
        lists_(lists),
        is_constant_(IsConstant),
        tape_(analysis::TapeIsActive(from, active)),
        activity_(module, from, active, ResultsWithSets(module, from, tape_), is_constant_),
        callee_of_(std::move(callee_of)),
        outer_(b_.function()),
        to_(from.values.size()),
        sets_(from.values.size()) {}

  bool Run(const std::vector<bool>& active) {
    for (uint32_t v = 0; v < from_.values.size(); ++v) {
      if (from_.values[v].IsBox() && Active(Value{v})) return false;
    }
    Declare(active);
    const ir::Dominators dominators(from_);
    for (uint32_t block : dominators.order()) {
      b_.SetBlock(start_[block]);
      for (const Inst& inst : from_.blocks[block].insts) {
        b_.SetLoc(inst.loc);
        if (!Visit(inst)) return false;
      }
      Terminate(block);
    }
    return true;
  }

 private:
  bool Active(Value v) const { return activity_.Active(v); }
  Value& Sets(Value v) { return sets_[v.id]; }
  Value To(Value v) const { return to_[v.id]; }

  void Declare(const std::vector<bool>& active) {
    for (uint32_t block = 0; block < from_.blocks.size(); ++block) {
      start_.push_back(b_.NewBlock());
      if (block == 0) width_ = b_.AddParam(0, ir::Type::I64(), "width");
      const ir::Values& params = from_.blocks[block].params;
      for (Value v : params)
        to_[v.id] = b_.AddParam(start_[block], from_.TypeOf(v), from_.names[v.id]);
      for (size_t k = 0; k < params.size(); ++k) {
        const ir::Type t = from_.TypeOf(params[k]);
        const bool has =
            block == 0 ? active[k] && ir::CarriesTangent(b_.module(), t) : Active(params[k]);
        if (has) Sets(params[k]) = b_.AddParam(start_[block], lists_.TypeOf(t), "sets");
      }
    }
    b_.function().results = from_.results;
    for (ir::Type t : from_.results) {
      if (HasSets(b_.module(), t, tape_)) b_.function().results.push_back(lists_.TypeOf(t));
    }
  }

  std::vector<Value> Dims(Value v) {
    std::vector<Value> dims;
    for (int axis = 0; axis < from_.TypeOf(v).rank; ++axis) dims.push_back(b_.Dim(To(v), axis));
    return dims;
  }
  Value Empty(Value rows) { return b_.Zeros(DType::kI64, {rows, width_}); }
  Value SetsOrEmpty(Value v) {
    if (Sets(v).valid()) return Sets(v);
    const ir::Type t = from_.TypeOf(v);
    PB_CHECK(!t.IsTape());
    if (t.IsList()) return b_.ListNew(lists_.TypeOf(t).record);
    return Empty(ElementCount(b_, Dims(v)));
  }
  Value Call(uint32_t function, const std::vector<Value>& args) {
    return b_.Call(function, args)[0];
  }
  Value Join(Value into, Value row, Value from, Value from_row) {
    return Call(functions_.join, {into, row, from, from_row});
  }

  // The copy of an instruction; its results are new.
  const Inst& Copy(const Inst& inst) {
    Inst copy = inst;
    const auto fresh = [this](Value& v) {
      to_[v.id] = b_.function().NewValue(from_.TypeOf(v), from_.names[v.id]);
      v = to_[v.id];
    };
    if (copy.each) {
      for (ir::IndexVar& i : copy.each->indices) fresh(i.var);
      for (Inst& body : copy.each->body) {
        for (Value& v : body.results) fresh(v);
      }
    }
    ir::ForEachOperand(copy, [this](Value& v) { v = To(v); });
    for (Value& v : copy.results) fresh(v);
    ir::CanonicaliseAffines(copy);
    const Inst& made = b_.Append(std::move(copy));
    outer_.Learn(made);
    return made;
  }

  bool Visit(const Inst& inst) {
    const bool active =
        std::any_of(inst.results.begin(), inst.results.end(), [&](Value v) { return Active(v); });
    if (active && inst.op == Op::Call) return VisitCall(inst);
    const Inst copy = Copy(inst);
    if (!active) return true;
    if (inst.each) return VisitEach(inst, copy);
    const Value result = inst.results[0];
    if (SetLists::Follows(inst.op)) {
      VisitList(inst);
      return true;
    }
    switch (inst.op) {
      case Op::TapeNew: Sets(result) = b_.TapeNew(); return true;
      case Op::Push: VisitPush(inst); return true;
      case Op::Pop: VisitPop(inst); return true;
      case Op::Index: {
        const Value array = inst.args[0];
        if (Sets(array).valid()) {
          const Value at = FlatIndex(b_, copy.subs, Dims(array));
          Sets(result) = Call(functions_.row, {Sets(array), at});
        }
        return true;
      }
      case Op::Update:
      case Op::AddAt: {
        if (!Sets(inst.args[0]).valid() && !Sets(inst.args[1]).valid()) return true;
        const Value at = FlatIndex(b_, copy.subs, Dims(inst.args[0]));
        const Value array = SetsOrEmpty(inst.args[0]), v = SetsOrEmpty(inst.args[1]);
        Sets(result) = Call(inst.op == Op::Update ? functions_.put : functions_.join,
                            {array, at, v, b_.I64(0)});
        return true;
      }
      case Op::AddArrays: VisitArgs(inst, functions_.join_rows); return true;
      case Op::Fit:
        if (Sets(inst.args[0]).valid())
          Sets(result) = b_.Fit(Sets(inst.args[0]), {ElementCount(b_, Dims(result)), width_});
        return true;
      default: break;
    }
    const bool scalars = std::all_of(inst.args.begin(), inst.args.end(),
                                     [&](Value v) { return from_.TypeOf(v).IsScalar(); });
    if (!scalars || inst.results.size() != 1) return false;
    VisitArgs(inst, functions_.join_rows);
    return true;
  }

  void VisitList(const Inst& inst) {
    const std::vector<Value> made = lists_.Push(
        b_, inst, width_, [this](Value v) { return To(v); }, [this](Value v) { return Sets(v); });
    for (size_t k = 0; k < made.size(); ++k) Sets(inst.results[k]) = made[k];
  }

  // Row by row, from all operands.
  void VisitArgs(const Inst& inst, uint32_t join) {
    Value all;
    for (Value v : inst.args) {
      if (!Sets(v).valid()) continue;
      all = all.valid() ? Call(join, {all, Sets(v)}) : Sets(v);
    }
    Sets(inst.results[0]) = all;
  }

  void VisitPush(const Inst& inst) {
    const Value tape = Sets(inst.args[0]), v = inst.args[1];
    const bool carries = ir::CarriesTangent(b_.module(), from_.TypeOf(v));
    Sets(inst.results[0]) = carries ? b_.Push(tape, SetsOrEmpty(v)) : tape;
  }

  void VisitPop(const Inst& inst) {
    const Value tape = Sets(inst.args[0]), v = inst.results[1];
    Sets(inst.results[0]) = tape;
    if (ir::CarriesTangent(b_.module(), from_.TypeOf(v)))
      std::tie(Sets(inst.results[0]), Sets(v)) = b_.Pop(tape, lists_.TypeOf(from_.TypeOf(v)));
  }

  bool VisitCall(const Inst& inst) {
    std::vector<bool> active;
    std::vector<Value> args = {width_};
    for (Value v : inst.args) {
      active.push_back(Active(v));
      args.push_back(To(v));
    }
    for (Value v : inst.args) {
      if (Active(v)) args.push_back(SetsOrEmpty(v));
    }
    const auto callee = callee_of_(inst.callee, active);
    if (!callee) return false;
    const std::vector<Value> made = b_.Call(*callee, args);
    size_t next = inst.results.size();
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const Value v = inst.results[k];
      to_[v.id] = made[k];
      if (HasSets(b_.module(), from_.TypeOf(v), Active(v))) Sets(v) = made[next++];
    }
    return true;
  }

  // The sets of what each point reads, joined to that of the element that it makes.
  bool VisitEach(const Inst& inst, const Inst& copy) {
    std::map<Value, Value> sources;  // to their sets
    ir::ForEachOperand(inst, [&](Value v) {
      if (Sets(v).valid()) sources[To(v)] = Sets(v);
    });
    for (size_t k = 0; k < inst.results.size(); ++k) {
      if (!Active(inst.results[k])) continue;
      const bool scan = ir::IsScan(inst.each->results[k].monoid);
      const std::optional<Value> sets =
          scan ? Scanned(copy, k, sources)
               : Joined(StatementStep(b_.function(), copy, k), sources, Dims(inst.results[k]));
      if (!sets) return false;
      Sets(inst.results[k]) = *sets;
    }
    return true;
  }

  // Of the elements of an array of those extents, which a step makes.
  std::optional<Value> Joined(const PatternStep& step, const std::map<Value, Value>& sources,
                              const std::vector<Value>& to_dims) {
    Value sets = Empty(ElementCount(b_, to_dims));
    for (const PatternAccess& read : step.reads) {
      const auto source = sources.find(read.source);
      if (source == sources.end()) continue;
      std::vector<Value> from_dims;
      for (int axis = 0; axis < b_.TypeOf(read.source).rank; ++axis)
        from_dims.push_back(b_.Dim(read.source, axis));
      if (!JoinRead(step, read, source->second, from_dims, to_dims, sets)) return std::nullopt;
    }
    return sets;
  }

  std::optional<Value> Scanned(const Inst& copy, size_t k, const std::map<Value, Value>& sources) {
    std::vector<Value> points, to_dims = Dims(copy.each->results[k]);
    for (const ir::IndexVar& i : copy.each->indices) points.push_back(i.extent);
    const auto terms = Joined(ScanTerms(b_.function(), copy, k), sources, points);
    if (!terms) return std::nullopt;
    const Value states = Call(functions_.scanned_sets, {*terms, ScanGroup(b_, copy, k)});
    const PatternStep stored = ScanStored(copy, k, ir::kNoValue);
    Value sets = Empty(ElementCount(b_, to_dims));
    if (!JoinRead(stored, stored.reads[0], states, points, to_dims, sets)) return std::nullopt;
    return sets;
  }
  static std::vector<Value> Dims(const ir::EachResult& r) { return ir::ToVector(r.shape); }

  bool JoinRead(const PatternStep& step, const PatternAccess& read, Value source,
                const std::vector<Value>& from_dims, const std::vector<Value>& to_dims,
                Value& sets) {
    analysis::Box box = outer_.BoxOf(step.points);
    for (Value extent : from_dims) box.AddValue(extent, {0, kMaxExtent});
    for (Value extent : to_dims) box.AddValue(extent, {0, kMaxExtent});
    PointLoops loops(b_, step.points, box, {read.at, from_dims, step.to, to_dims, read.guards});
    if (!loops.ok()) return false;
    sets = loops.Emit({sets}, [&](const PointLoops::State& s) {
      const Value row = FlatIndex(b_, loops.To(), to_dims);
      const Value from_row = FlatIndex(b_, loops.From(), from_dims);
      return PointLoops::State{Join(s[0], row, source, from_row)};
    })[0];
    return true;
  }

  void Terminate(uint32_t block) {
    const ir::Terminator& term = from_.blocks[block].term;
    std::vector<ir::Edge> edges;
    for (const ir::Edge& e : term.edges) {
      ir::Edge& edge = edges.emplace_back(ir::Edge{start_[e.block], {}});
      const ir::Values& params = from_.blocks[e.block].params;
      for (Value v : e.args) edge.args.push_back(To(v));
      for (size_t k = 0; k < params.size(); ++k) {
        if (Active(params[k])) edge.args.push_back(SetsOrEmpty(e.args[k]));
      }
    }
    if (term.kind == ir::Terminator::Kind::kJump) {
      b_.Jump(edges[0].block, std::move(edges[0].args));
    } else if (term.kind == ir::Terminator::Kind::kBranch) {
      b_.Branch(To(term.cond), std::move(edges[0]), std::move(edges[1]));
    } else {
      std::vector<Value> out;
      for (Value v : term.results) out.push_back(To(v));
      for (Value v : term.results) {
        if (HasSets(b_.module(), from_.TypeOf(v), tape_)) out.push_back(SetsOrEmpty(v));
      }
      b_.Return(out);
    }
  }

  const ir::Function& from_;
  ir::Builder b_;
  const SparseFunctions functions_;
  SetLists& lists_;
  const std::function<bool(Op)> is_constant_;
  const bool tape_;  // whether the function's tape has sets
  const analysis::Activity activity_;
  const CalleeOf callee_of_;
  analysis::OuterValues outer_;  // copies: a statement reads from no other integers
  Value width_;
  std::vector<Value> to_, sets_;
  std::vector<uint32_t> start_;  // by block of `from_`
};

// Makes functions with sets of one module, each once.
class SetsFunctions {
 public:
  SetsFunctions(ir::Module& module, const SparseFunctions& functions)
      : module_(module), functions_(functions), lists_(module) {}

  std::optional<uint32_t> Of(uint32_t f, const std::vector<bool>& active) {
    const auto [it, fresh] = made_.try_emplace({f, active});
    if (!fresh) return it->second;
    const ir::Function& from = module_.Get(f);
    const uint32_t target = module_.AddFunction(from.name + ".sets");
    it->second = target;  // where calls are recursive, they need it before its code
    const auto callee_of = [this](uint32_t g, const std::vector<bool>& a) { return Of(g, a); };
    if (from.HasRule() && ir::ScheduleOf(module_, f) == ir::kNoFunction) {
      SetsByRule rule(module_, f, target, active, functions_, lists_);
      if (!rule.Write(FollowsRule(rule), callee_of)) return std::nullopt;
      return target;
    }
    Writer writer(module_, from, target, active, functions_, lists_, callee_of);
    if (!writer.Run(active)) return std::nullopt;
    return target;
  }

 private:
  // What fails midway leaves functions without ends: tried on a copy.
  bool FollowsRule(const SetsByRule& rule) {
    if (!OnlyCarries(module_, rule.function(), rule.active())) return false;
    ir::Module trial = module_.Clone();
    return SetsFunctions(trial, functions_).Of(rule.function(), rule.active()).has_value();
  }

  ir::Module& module_;
  const SparseFunctions functions_;
  SetLists lists_;
  std::map<std::pair<uint32_t, std::vector<bool>>, uint32_t> made_;
};

}  // namespace

Value SetWidth(ir::Builder& b, const SparseFunctions& functions, Value columns) {
  return b.Call(functions.set_width,
                {columns, b.I64(kNumbersOfSets), b.I64(kLeastInSet), b.I64(kMostInSet)})[0];
}

std::optional<uint32_t> AddSetsFunction(ir::Module& module, uint32_t f, size_t p,
                                        const SparseFunctions& functions) {
  std::vector<bool> active(module.Get(f).params().size());
  active[p] = true;
  const size_t functions_before = module.functions.size(), records_before = module.records.size();
  const std::optional<uint32_t> made = SetsFunctions(module, functions).Of(f, active);
  if (!made) {  // what fails midway leaves functions without ends
    module.functions.resize(functions_before);
    module.records.resize(records_before);
  }
  return made;
}

}  // namespace pullback::ad
