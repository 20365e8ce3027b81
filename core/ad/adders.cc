#include "core/ad/adders.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ad/early_cotangents.h"
#include "core/ad/loop_parts.h"
#include "core/ad/partials.h"
#include "core/ad/prepare.h"
#include "core/ad/sum_threads.h"
#include "core/ad/turn_costs.h"
#include "core/analysis/activity.h"
#include "core/analysis/loop_nest.h"
#include "core/ir/builder.h"

namespace pullback::ad {
namespace {

using ir::Block;
using ir::Edge;
using ir::Function;
using ir::Inst;
using ir::kNoBlock;
using ir::Op;
using ir::Terminator;
using ir::Type;
using ir::Value;

// Of a function: each walks over all of it.
constexpr int kMostRegions = 32;
// Each of these takes arrays as large as those that it reads.
constexpr int kMostForOne = 2;

// A number, or an array that elements or arrays are added to.
bool MayBeSum(Type t) { return t.IsFloat(); }
bool Fits(Type t) { return t.IsScalar() || (t.IsArray() && !t.HasRecord()); }

class Outlining {
 public:
  Outlining(ir::Module& module, uint32_t id, Adders& adders)
      : module_(module), id_(id), f_(module.Get(id)), adders_(adders) {}

  bool Next() {
    const ReverseFlow flow(f_);
    const EarlyCotangents early(f_, flow, [&](uint32_t g) { return adders_.SumsOf(g); });
    const analysis::LoopNest nest(f_, flow.dominators);
    LoopParts parts(module_, id_);
    parts_ = &parts;
    preds_ = ir::Predecessors(f_);
    FindReaders();
    for (uint32_t b : flow.dominators.order()) {
      if (flow.exit == kNoExit) return false;
      if (nest.Innermost(b) == b) {
        std::optional<Loop> loop = LoopAt(preds_, b, flow.dominators);
        if (!loop || !IsAdder(*loop) || !IsWorthIt(*loop, nest, flow, early)) continue;
        ReplaceLoop(*loop);
        return true;
      }
      if (adders_.parts.contains(id_) && early.IsSure(b) && IsAdder(b, flow, early)) {
        ReplaceArms(b, flow);
        return true;
      }
    }
    return false;
  }

 private:
  // --- loops

  bool IsWorthIt(Loop& loop, const analysis::LoopNest& nest, const ReverseFlow& flow,
                 const EarlyCotangents& early) {
    for_one_ = false;
    const bool in_part = adders_.parts.contains(id_);  // whose tape is over with its turn
    const bool once = nest.Around(loop.header) == kNoBlock;
    if (once && (!in_part || flow.dominators.Dominates(loop.header, flow.exit)) &&
        IsKnown(loop, early))
      return true;
    if (in_part) return false;
    for_one_ = once && IsForOne(loop, nest);
    return for_one_ || AllInsideAdd(loop, nest, flow);
  }

  // What it carries are sums, one at least, its counter and other integers.
  bool IsAdder(Loop& loop) {
    const Block& header = f_.blocks[loop.header];
    if (!IsCounted(loop) || !HasPlainBlocks(loop)) return false;
    const ir::Values sums = SumsOf(header);
    const auto integers = std::count_if(header.params.begin(), header.params.end(),
                                        [&](Value v) { return IsInteger(f_.TypeOf(v)); });
    if (sums.empty() || sums.size() + static_cast<size_t>(integers) != header.params.size())
      return false;
    const SumThreads threads(f_, adders_, sums, loop);
    for (size_t k = 0; k < sums.size(); ++k) {
      if (!threads.IsGood(static_cast<int>(k))) return false;
    }
    return true;
  }
  ir::Values SumsOf(const Block& b) const {
    ir::Values sums;
    std::copy_if(b.params.begin(), b.params.end(), std::back_inserter(sums),
                 [&](Value v) { return MayBeSum(f_.TypeOf(v)); });
    return sums;
  }
  bool IsKnown(const Loop& loop, const EarlyCotangents& early) const {
    const ir::Values sums = SumsOf(f_.blocks[loop.header]);
    return std::all_of(sums.begin(), sums.end(), [&](Value v) {
      return early.IsKnown(v, {loop.header, -1, &loop.contains});
    });
  }
  // Whether it has one sum, for which it can be reversed before the cotangent is known, and turns that a tape would keep
  // something of: what takes more than arithmetic, arrays, and which way control went. What it is made for a cotangent of 1 takes
  // the time of the arrays that are read: so not where turns read less.
  bool IsForOne(const Loop& loop, const analysis::LoopNest& nest) const {
    const ir::Values sums = SumsOf(f_.blocks[loop.header]);
    const Inst* end = parts_->Definition(end_);
    if (sums.size() != 1 || f_.TypeOf(sums[0]) != Type::F64() || !end || end->op != Op::Dim)
      return false;
    const auto made = adders_.for_one_of.find(id_);
    if (made != adders_.for_one_of.end() && made->second == kMostForOne) return false;
    const bool branches = std::count(loop.contains.begin(), loop.contains.end(), 1) > 2;
    return (branches || IsDear(f_, loop, 1)) && ReadsAll(f_, loop, nest, *parts_);
  }
  // Whether elements are read of an array that a loop around changes: the tape would keep each of them.
  bool ReadsWhatChanges(const Loop& loop, const analysis::LoopNest& nest) const {
    bool reads = false;
    for (uint32_t b : loop.blocks) {
      for (const Inst& inst : f_.blocks[b].insts) {
        if (inst.op != Op::Index || !f_.TypeOf(inst.args[0]).IsFloat()) continue;
        const bool outside = !parts_->IsInside(loop, inst.args[0]);
        reads |= outside && nest.Innermost(parts_->BlockOf(inst.args[0])) != kNoBlock;
      }
    }
    return reads;
  }
  // Whether there are loops inside, or elements are read that loops around change, and each loop inside does no more than this
  // one: what the tape would keep may be more than all arrays together. Not where it is dear to run the turns again.
  bool AllInsideAdd(Loop& loop, const analysis::LoopNest& nest, const ReverseFlow& flow) {
    const Value end = end_;
    bool any = ReadsWhatChanges(loop, nest);
    bool all = !IsDear(f_, loop, 2) && !KeepsVersions(f_, loop, nest, flow, *parts_);
    for (uint32_t b : flow.dominators.order()) {
      if (b == loop.header || !loop.contains[b]) continue;
      if (nest.Innermost(b) != b) continue;
      any = true;
      std::optional<Loop> inner = LoopAt(preds_, b, flow.dominators);
      all &= inner && IsAdder(*inner);
    }
    end_ = end;
    return any && all;
  }

  // Left by its header's lt(%counter, %end) alone, entered by one edge.
  bool IsCounted(Loop& loop) {
    const Terminator& term = f_.blocks[loop.header].term;
    if (term.kind != Terminator::Kind::kBranch || !loop.contains[term.edges[0].block] ||
        loop.contains[term.edges[1].block])
      return false;
    const Inst* test = parts_->Definition(term.cond);
    if (!test || test->op != Op::Lt || !IsCounter(test->args[0], loop)) return false;
    end_ = test->args[1];
    const Inst* def = parts_->Definition(end_);
    if (parts_->IsInside(loop, end_) && !(def && def->op == Op::Const)) return false;
    size_t ways_in = 0, ways_out = 0;
    for (uint32_t b : preds_[loop.header]) ways_in += loop.contains[b] ? 0 : 1;
    for (uint32_t b : loop.blocks) {
      const Terminator& t = f_.blocks[b].term;
      if (t.kind == Terminator::Kind::kReturn || t.snapshots.valid()) return false;
      for (const Edge& e : t.edges) ways_out += loop.contains[e.block] ? 0 : 1;
    }
    return ways_in == 1 && ways_out == 1;
  }

  bool IsCounter(Value v, Loop& loop) const {
    const ir::Values& params = f_.blocks[loop.header].params;
    const auto at = std::find(params.begin(), params.end(), v);
    if (at == params.end() || f_.TypeOf(v) != Type::I64()) return false;
    loop.counter = static_cast<size_t>(at - params.begin());
    bool counts = true;
    for (uint32_t b : loop.blocks) {
      for (const Edge& e : f_.blocks[b].term.edges)
        counts &= e.block != loop.header || parts_->IsOneMore(e.args[loop.counter], v);
    }
    return counts;
  }

  // Numbers and arrays of them, no effects but checks and calls; nothing of it is read outside but the sums.
  bool HasPlainBlocks(const Loop& loop) const {
    bool plain = true;
    const ir::Values given = WithoutCounter(f_.blocks[loop.header].params, loop);
    for (uint32_t b : loop.blocks) {
      ForEachDefinition(f_.blocks[b], [&](Value v) {
        plain &= Fits(f_.TypeOf(v));
        const bool is_given = std::find(given.begin(), given.end(), v) != given.end();
        plain = plain && (is_given || !IsReadOutside(loop, v));
      });
      for (const Inst& inst : f_.blocks[b].insts) {
        plain &= inst.op == Op::Check || inst.op == Op::Call ||
                 (ir::Info(inst.op).flags & ir::kEffect) == 0;
      }
      ForEachUse(f_.blocks[b], [&](Value v) { plain &= Fits(f_.TypeOf(v)); });
    }
    for (Value v : f_.blocks[loop.header].term.edges[1].args) {
      const bool is_given = std::find(given.begin(), given.end(), v) != given.end();
      plain &= is_given || !parts_->IsInside(loop, v);
    }
    return plain;
  }
  bool IsReadOutside(const Loop& loop, Value v) const {
    const auto readers = readers_[v.id];
    return std::any_of(readers.begin(), readers.end(),
                       [&](uint32_t b) { return !loop.contains[b]; });
  }
  void FindReaders() {
    readers_ = FlatLists(f_.values.size(), [&](auto&& add) {
      for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
        ForEachUse(f_.blocks[b], [&](Value v) {
          if (parts_->BlockOf(v) != b) add(v.id, b);
        });
      }
    });
  }

  void ReplaceLoop(Loop& loop) {
    Block& header = f_.blocks[loop.header];
    const Value counter = header.params[loop.counter];
    SumsFirst(loop.header, counter);
    loop.counter = header.params.size() - 1;
    const LoopPart turn = parts_->Step(loop);
    const size_t sums = SumsOf(header).size();
    NotePart(turn, sums);
    const uint32_t region = LoopOf(turn, sums);
    if (for_one_) {
      adders_.for_one.insert(region);
      ++adders_.for_one_of[id_];
    }
    const ir::Values params = std::move(header.params);
    header.params.clear();
    for (Value v : params) header.params.push_back(f_.NewLike(f_, v));
    const ir::Values first = WithoutCounter(header.params, loop);
    Inst call;
    call.op = Op::Call;
    call.callee = region;
    call.args = first;
    call.args.insert(call.args.end(), turn.captured.begin(), turn.captured.end());
    std::vector<Inst> insts;
    Value end = end_;
    if (parts_->IsInside(loop, end)) {
      insts.push_back(*parts_->Definition(end));
      end = insts.back().results[0] = f_.NewLike(f_, end);
    }
    call.args.insert(call.args.end(), {header.params[loop.counter], end});
    call.results = WithoutCounter(params, loop);
    insts.push_back(std::move(call));
    header.insts = std::move(insts);
    header.term = {Terminator::Kind::kJump, ir::kNoValue, {std::move(header.term.edges[1])}, {}};
    std::vector<char> gone = loop.contains;
    gone[loop.header] = 0;
    RemoveBlocks(f_, gone);
  }
  // The block's parameters in this order: sums, integers, `last`.
  void SumsFirst(uint32_t block, Value last) {
    const ir::Values params = f_.blocks[block].params;
    std::vector<size_t> order;
    for (int rank = 0; rank < 3; ++rank) {
      for (size_t k = 0; k < params.size(); ++k) {
        const int of = params[k] == last ? 2 : IsInteger(f_.TypeOf(params[k])) ? 1 : 0;
        if (of == rank) order.push_back(k);
      }
    }
    const auto reorder = [&](ir::Values& values) {
      ir::Values sorted;
      for (size_t k : order) sorted.push_back(values[k]);
      values = std::move(sorted);
    };
    reorder(f_.blocks[block].params);
    for (Block& b : f_.blocks) {
      for (Edge& e : b.term.edges) {
        if (e.block == block) reorder(e.args);
      }
    }
  }

  // (sums…, integers…, captured…, begin, end) -> sums…, integers…
  uint32_t LoopOf(const LoopPart& turn, size_t sums) {
    const uint32_t region = NewRegion(".adder", turn.function, sums);
    const Function& part = module_.Get(turn.function);
    ir::Builder b(module_, module_.Get(region));
    for (int k = 0; k < 4; ++k) b.NewBlock();
    ir::Values first, captured, at;
    for (size_t k = 0; k + 1 < part.params().size(); ++k) {
      const Type t = part.TypeOf(part.params()[k]);
      const bool carried = k < part.results.size();
      (carried ? first : captured).push_back(b.AddParam(0, t));
      if (carried) at.push_back(b.AddParam(1, t));
    }
    const Value begin = b.AddParam(0, Type::I64()), end = b.AddParam(0, Type::I64());
    const Value i = b.AddParam(1, Type::I64(), "i");
    const auto with = [](ir::Values values, Value last) {
      values.push_back(last);
      return values;
    };
    b.SetBlock(0);
    b.Jump(1, with(first, begin));
    b.SetBlock(1);
    b.Branch(b.Make(Op::Lt, {i, end}), {2, {}}, {3, {}});
    b.SetBlock(2);
    ir::Values args = at;
    args.insert(args.end(), captured.begin(), captured.end());
    const std::vector<Value> next = b.Call(turn.function, with(args, i));
    b.Jump(1, with(ir::Values(next.begin(), next.end()), b.Make(Op::Add, {i, b.I64(1)})));
    b.SetBlock(3);
    b.Return(at);
    std::vector<bool>& carries = adders_.carries[region] = adders_.carries.at(turn.function);
    carries.push_back(false);  // both ends
    return region;
  }

  // --- branches of a part

  // What lies between a branch and where its arms meet; the arms by their first blocks.
  struct Arms {
    uint32_t join = kNoBlock;
    std::vector<char> between;
    ir::Values entering;  // by sum that is a parameter of the join: the sum in front of the branch
  };

  bool IsAdder(uint32_t fork, const ReverseFlow& flow, const EarlyCotangents& early) {
    const Terminator& term = f_.blocks[fork].term;
    if (term.kind != Terminator::Kind::kBranch) return false;
    arms_ = {};
    // Where every run comes by next.
    uint32_t join = flow.exit;
    while (join != fork && flow.dominators.Idom(join) != fork) join = flow.dominators.Idom(join);
    if (join == fork) return false;
    arms_.join = join;
    arms_.between.assign(f_.blocks.size(), 0);
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (b == fork || !flow.dominators.Dominates(fork, b) || flow.dominators.Dominates(join, b))
        continue;
      arms_.between[b] = 1;
      const Terminator& t = f_.blocks[b].term;
      if (!IsInArm(b, term, flow) || t.snapshots.valid() || t.kind == Terminator::Kind::kReturn)
        return false;
    }
    const Block& behind = f_.blocks[join];
    const ir::Values sums = SumsOf(behind);
    if (sums.empty() || !early.IsSure(join)) return false;
    for (const Edge& e : term.edges) {
      if (e.block == join || !e.args.empty() || !f_.blocks[e.block].params.empty()) return false;
    }
    return std::all_of(
               behind.params.begin(), behind.params.end(),
               [&](Value v) { return MayBeSum(f_.TypeOf(v)) || IsInteger(f_.TypeOf(v)); }) &&
           FindEntering(flow, sums) && std::all_of(sums.begin(), sums.end(), [&](Value v) {
             return early.IsKnown(v, {join, -1});
           });
  }
  static bool IsInArm(uint32_t b, const Terminator& fork, const ReverseFlow& flow) {
    return flow.dominators.Dominates(fork.edges[0].block, b) !=
           flow.dominators.Dominates(fork.edges[1].block, b);
  }

  // Of each sum that the arms give on, the one value of it that they read.
  bool FindEntering(const ReverseFlow& flow, const ir::Values& sums) {
    Loop all;
    all.contains.resize(f_.blocks.size(), 1);
    all.blocks.resize(f_.blocks.size());
    std::iota(all.blocks.begin(), all.blocks.end(), 0);
    const ir::Values first(f_.params().begin(),
                           f_.params().begin() + static_cast<long>(adders_.parts.at(id_)));
    const SumThreads threads(f_, adders_, first, all);
    std::vector<Value> by_thread(first.size());
    bool single = true;
    for (size_t b = 0; b < f_.blocks.size(); ++b) {
      if (!arms_.between[b]) continue;
      ForEachUse(f_.blocks[b], [&](Value v) {
        if (arms_.between[flow.def_block[v.id]] || threads.Of(v) < 0) return;
        Value& known = by_thread[static_cast<size_t>(threads.Of(v))];
        single &= !known.valid() || known == v;
        known = v;
      });
    }
    for (Value v : sums) {
      const int thread = threads.Of(v);
      if (!threads.IsGood(thread)) return false;
      Value& entering = by_thread[static_cast<size_t>(thread)];
      if (!single || !entering.valid()) return false;
      arms_.entering.push_back(std::exchange(entering, ir::kNoValue));
    }
    return std::none_of(by_thread.begin(), by_thread.end(), [](Value v) { return v.valid(); });
  }

  void ReplaceArms(uint32_t fork, const ReverseFlow& flow) {
    SumsFirst(arms_.join, ir::kNoValue);
    const Terminator term = f_.blocks[fork].term;
    std::vector<LoopPart> arms;
    for (const Edge& e : term.edges) {
      Loop arm;
      arm.header = e.block;
      arm.contains.resize(f_.blocks.size());
      for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
        if (!flow.dominators.Dominates(e.block, b) || !arms_.between[b]) continue;
        arm.contains[b] = 1;
        arm.blocks.push_back(b);
      }
      arms.push_back(parts_->Arm(arm, arms_.entering));
      NotePart(arms.back(), arms_.entering.size());
    }
    std::set<Value> captured;
    for (const LoopPart& arm : arms) captured.insert(arm.captured.begin(), arm.captured.end());
    Inst call;
    call.op = Op::Call;
    call.args = arms_.entering;
    call.args.insert(call.args.end(), captured.begin(), captured.end());
    call.args.push_back(term.cond);
    call.callee = BranchOf(arms, captured);
    for (Value v : f_.blocks[arms_.join].params) call.results.push_back(v);
    f_.blocks[arms_.join].params.clear();
    f_.blocks[fork].insts.push_back(std::move(call));
    f_.blocks[fork].term = {Terminator::Kind::kJump, ir::kNoValue, {{arms_.join, {}}}, {}};
    RemoveBlocks(f_, arms_.between);
  }

  // (sums…, captured of both…, condition) -> sums…, integers…
  uint32_t BranchOf(const std::vector<LoopPart>& arms, const std::set<Value>& captured) {
    const size_t sums = arms_.entering.size();
    const uint32_t region = NewRegion(".branch", arms[0].function, sums);
    ir::Builder b(module_, module_.Get(region));
    for (int k = 0; k < 4; ++k) b.NewBlock();
    ir::Values first;
    for (Value v : arms_.entering) first.push_back(b.AddParam(0, f_.TypeOf(v)));
    for (Type t : b.function().results) b.AddParam(3, t);
    std::map<Value, bool> carries;
    std::map<Value, Value> handed;
    for (Value v : captured) handed[v] = b.AddParam(0, f_.TypeOf(v), f_.names[v.id]);
    b.SetBlock(0);
    b.Branch(b.AddParam(0, Type::Bool()), {1, {}}, {2, {}});
    for (size_t arm = 0; arm < 2; ++arm) {
      b.SetBlock(static_cast<uint32_t>(arm) + 1);
      ir::Values args = first;
      for (Value v : arms[arm].captured) {
        carries[handed.at(v)] =
            carries[handed.at(v)] || adders_.carries.at(arms[arm].function)[args.size()];
        args.push_back(handed.at(v));
      }
      const std::vector<Value> sum = b.Call(arms[arm].function, args);
      b.Jump(3, ir::Values(sum.begin(), sum.end()));
    }
    b.SetBlock(3);
    b.Return(b.function().blocks[3].params);
    for (size_t k = 0; k < b.function().params().size(); ++k)
      adders_.carries[region].push_back(k < sums || carries[b.function().params()[k]]);
    return region;
  }

  // --- both

  // Before anything of it is a call.
  void NotePart(const LoopPart& part, size_t sums) {
    const Function& f = module_.Get(part.function);
    adders_.parts[part.function] = sums;
    const std::function<bool(Op)> is_constant = [](Op op) { return RuleOf(op) == Rule::kConstant; };
    const analysis::Activity activity(module_, f, std::vector<bool>(f.params().size(), true),
                                      std::vector<bool>(f.results.size(), true), is_constant);
    std::vector<bool>& carries = adders_.carries[part.function];
    for (Value v : f.params()) carries.push_back(carries.size() < sums || activity.Active(v));
  }
  uint32_t NewRegion(const char* name, uint32_t part, size_t sums) {
    const uint32_t region = module_.AddFunction(f_.name + name);
    module_.Get(region).results = module_.Get(part).results;
    adders_.regions[region] = sums;
    return region;
  }

  ir::Module& module_;
  const uint32_t id_;
  Function& f_;
  Adders& adders_;
  LoopParts* parts_ = nullptr;
  FlatLists preds_;
  FlatLists readers_;  // by value: other blocks than its own that read it
  Value end_;
  bool for_one_ = false;  // the loop that is being replaced
  Arms arms_;
};

bool Branches(const Function& f) {
  return std::any_of(f.blocks.begin(), f.blocks.end(),
                     [](const Block& b) { return b.term.kind == Terminator::Kind::kBranch; });
}

}  // namespace

uint32_t OutlineAdders(ir::Module& module, uint32_t f, Adders& adders) {
  if (!Branches(module.Get(f))) return f;
  const uint32_t copy = module.AddFunction(module.Get(f).name + ".adding");
  const std::string name = module.Get(copy).name;
  module.Get(copy) = module.Get(f);
  module.Get(copy).name = name;
  PrepareForReverse(module.Get(copy));
  if (const auto part = adders.parts.find(f); part != adders.parts.end())
    adders.parts[copy] = part->second;
  int made = 0;
  while (made < kMostRegions && Outlining(module, copy, adders).Next()) ++made;
  if (made > 0) return copy;
  adders.parts.erase(copy);
  module.functions.pop_back();
  return f;
}

}  // namespace pullback::ad
