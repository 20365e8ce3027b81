// Loops that fill arrays become statements, so far as their turns do not need each other:
//
//   z0 = zeros n, h                                     z = each(i < n, j < h, k < d): sum [i, j]: x[i, k] * w[k, j]
//   b1(i, z): br lt(i, n), b2, b6
//   b2: r = each(j < h, k < d): sum [j]: x[i, k] * w[k, j]
//       …  z' = update z[i, j], r[j]  …  jump b1(i + 1, z')
//
// What a statement in a turn makes is made for all turns, with their counters as axes in front; what a loop in a turn adds to
// a number or an element from 0 on is a sum, in the order of the turns. An array is one that loops fill if each place of a turn in it is
// named by the counters of all loops that hand it on, so that no turn reads what another one stores. A loop that hands on other things as
// well goes on with these.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/axis_extents.h"
#include "core/ir/statements.h"
#include "core/opt/simplify.h"
#include "core/opt/turn_maker.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostTurnInsts = 256;
constexpr int kMostRounds = 8;

size_t MostRank(const ir::Function& f) {
  size_t most = 1;
  for (const ir::Type t : f.results) most = std::max<size_t>(most, t.rank);
  for (Value v : f.params()) most = std::max<size_t>(most, f.TypeOf(v).rank);
  return most;
}

// Walks over a turn, in order.
class NestRaiser {
 public:
  NestRaiser(ir::Module& m, ir::Function& f, const DefinitionBlocks& defs, const NestFinder& nests,
             const ir::AxisExtents& extents, const CountedNest& nest,
             const std::set<Value>& no_fillings)
      : f_(f),
        defs_(defs),
        extents_(extents),
        nest_(nest),
        no_fillings_(no_fillings),
        values_(*nest.loop, defs, nests),
        sizes_(f, values_, out_),
        maker_(m, f, values_, sizes_, out_, MostRank(f)) {}

  void Run() {
    CountUses();
    Visit(nest_);
  }
  // By parameter: what turned out to be no filling after it had been read as one. Where there is some, nothing else is right.
  const std::set<Value>& broken() const { return broken_; }
  // What stands in front of the loop, and which of its parameters are what that makes.
  std::vector<Inst> TakeStatements() {
    checks_.insert(checks_.end(), std::make_move_iterator(out_.begin()),
                   std::make_move_iterator(out_.end()));
    return std::move(checks_);
  }
  const std::map<Value, Value>& filled() const { return filled_; }
  // By what a read of the loop's gives: of which array it is now.
  const std::map<Value, TurnArray>& reread() const { return reread_; }

 private:
  void Visit(const CountedNest& nest) {
    sizes_.Enter(nest, here_.around);
    here_.around.push_back(&nest);
    const std::vector<Value> opened = Enter(nest);
    Visit(nest.turn);
    Leave(nest, opened);
    here_.around.pop_back();
  }
  void Visit(const std::vector<TurnItem>& items) {
    for (const TurnItem& item : items) {
      if (item.inst != nullptr)
        Visit(*item.inst);
      else if (item.inner)
        Visit(*item.inner);
      else
        Visit(*item.branch);
    }
  }

  // --- branches

  // Each way begins with what there was, and where they meet there is what both have come to.
  void Visit(const TurnBranch& branch) {
    const size_t outer = std::exchange(branch_at_, here_.around.size());
    std::vector<Value> before;
    for (Filling& filling : fillings_) {
      Flush(filling);
      before.push_back(filling.current);
    }
    const Way ways[] = {Visit(branch, 0, before), Visit(branch, 1, before)};
    branch_at_ = outer;
    for (const TurnBranch::Choice& choice : branch.choices) Choose(choice, branch.cond);
    for (size_t j = 0; j < before.size(); ++j) {
      if (ways[0].current[j] == before[j] && ways[1].current[j] == before[j]) continue;
      Meet(branch, j, ways[0].current[j], ways[1].current[j]);
      StoreOnce(branch, fillings_[j], ways[0].pending[j], ways[1].pending[j]);
    }
  }
  // What a way leaves of each filling.
  struct Way {
    std::vector<Value> current;
    std::vector<std::optional<TurnStore>> pending;
  };
  Way Visit(const TurnBranch& branch, size_t arm, const std::vector<Value>& before) {
    conditions_.push_back(
        std::make_unique<TurnCondition>(TurnCondition{branch.cond, arm == 0, here_.condition}));
    here_.condition = conditions_.back().get();
    for (size_t j = 0; j < before.size(); ++j) fillings_[j].current = before[j];
    Visit(branch.arms[arm]);
    Way way;
    for (size_t j = 0; j < before.size(); ++j) {
      way.current.push_back(fillings_[j].current);
      way.pending.push_back(std::exchange(fillings_[j].pending, std::nullopt));
    }
    here_.condition = here_.condition->around;
    return way;
  }
  void Choose(const TurnBranch::Choice& choice, Value cond) {
    values_.either[choice.param.id] = choice;
    values_.chosen_by[choice.param.id] = cond;
    NoteUnder(choice.param);
  }
  void NoteUnder(Value v) {
    if (here_.condition != nullptr) values_.under[v.id] = here_.condition;
  }
  void Meet(const TurnBranch& branch, size_t at, Value a, Value b) {
    Filling& filling = fillings_[at];
    filling.current = {};
    for (const TurnBranch::Choice& choice : branch.choices) {
      if (Root(choice.from[0]) != a || Root(choice.from[1]) != b) continue;
      filling.current = choice.param;
      part_of_[choice.param] = at;
    }
    filling.is_broken |= !filling.current.valid();
  }
  // What both ways store at one place, or add there, is one store.
  void StoreOnce(const TurnBranch& branch, Filling& filling, const std::optional<TurnStore>& a,
                 const std::optional<TurnStore>& b) {
    const bool same = a && b && a->stored.adds == b->stored.adds &&
                      a->stored.negated == b->stored.negated &&
                      FormsOf(a->inst->subs) == FormsOf(b->inst->subs);
    if (!same) {
      if (a) Apply(filling, *a);
      if (b) Apply(filling, *b);
      return;
    }
    StoredValue either = a->stored;
    either.value = f_.NewLike(f_, either.value);
    Choose({either.value, {a->stored.value, b->stored.value}}, branch.cond);
    Put(filling, {a->inst, either, here_});
  }

  // --- what loops hand on

  // Which of them are new fillings.
  std::vector<Value> Enter(const CountedNest& nest) {
    std::vector<Value> opened;
    const ir::Values& params = f_.blocks[nest.loop->header].params;
    for (size_t k = 0; k < params.size(); ++k) {
      if (params[k] == nest.counter) continue;
      const Value before = Root(nest.before[k]);
      if (const auto part = part_of_.find(before); part != part_of_.end()) {
        Filling& filling = fillings_[part->second];
        Flush(filling);
        filling.is_broken |= filling.current != before;
        filling.current = params[k];
        part_of_[params[k]] = part->second;
        handed_[params[k]] = before;
        continue;
      }
      std::optional<Filling> filling = Begin(params[k], before);
      if (!filling) continue;
      part_of_[params[k]] = fillings_.size();
      fillings_.push_back(*std::move(filling));
      opened.push_back(params[k]);
    }
    return opened;
  }

  std::optional<Filling> Begin(Value param, Value before) {
    if (no_fillings_.contains(param)) return std::nullopt;
    Filling filling;
    filling.level = here_.around.size() - 1;
    filling.param = filling.current = param;
    filling.begins = here_;
    const ir::Type type = f_.TypeOf(param);
    if (type.IsScalar()) {
      if (filling.level == 0 || !(type.IsFloat() || type == ir::Type::I64())) return std::nullopt;
      const Inst* start = defs_.Inst(before);
      filling.is_zero = start != nullptr && start->op == Op::Const && start->bits == 0;
      if (!filling.is_zero) filling.start = before;
      return filling;
    }
    if (!type.IsArray()) return std::nullopt;
    if (const auto made = values_.made.find(before.id); made != values_.made.end()) {
      filling.now = made->second;
      filling.is_zero = !filling.now.array.valid();
      return filling;
    }
    return values_.IsOutside(before) && BeginOutside(before, filling) ? std::optional(filling)
                                                                      : std::nullopt;
  }
  // Of an array that is made in front of the outermost loop, once for each time that it runs.
  bool BeginOutside(Value before, Filling& filling) {
    const Inst* inst = defs_.Inst(before);
    if (inst != nullptr && inst->op == Op::Zeros) {
      filling.now = {before, {}, inst->args};
      filling.is_zero = true;
      filling.zeros = inst;
    } else {
      const BlockLoop* around = values_.nests.Around(values_.outermost);
      if (around != nullptr && !defs_.IsInside(before, *around)) return false;
      filling.now = {before, {}, {}};
      for (size_t axis = 0; axis < f_.TypeOf(before).rank; ++axis) {
        filling.now.shape.push_back(extents_.Of(before, axis));
        if (!filling.now.shape.back().valid()) return false;
      }
    }
    if (filling.level == 0) maker_.AllowRank(filling.now.shape.size());
    return true;
  }

  // Nothing of a turn is seen behind the loop but what it hands on.
  void Leave(const CountedNest& nest, const std::vector<Value>& opened) {
    const ir::Values& params = f_.blocks[nest.loop->header].params;
    for (size_t k = 0; k < params.size(); ++k) {
      const auto part = part_of_.find(params[k]);
      if (part == part_of_.end()) continue;
      Filling& filling = fillings_[part->second];
      filling.is_broken |= filling.current != Root(nest.last[k]);
      filling.current = params[k];
    }
    for (Value v : opened) {
      const Filling& filling = fillings_[part_of_.at(v)];
      if (!filling.is_broken && AreTurnsApart(filling, values_))
        Finish(v, filling);
      else if (!filling.reads.empty())
        broken_.insert(v);
    }
  }

  void Finish(Value param, const Filling& filling) {
    const bool is_array = f_.TypeOf(param).IsArray();
    if (!is_array && filling.stores.empty()) return;
    values_.made[param.id] = filling.now;
    part_of_.erase(param);
    if (filling.level > 0 || filling.stores.empty()) return;
    filled_[param] = filling.now.array;
    if (filling.zeros != nullptr) CheckSizes(*filling.zeros);
    for (const Access& read : filling.reads) {
      const Value v = read.inst->results[0];
      reread_[v] = values_.read.at(v.id);
    }
  }

  // An array that is not made any more has a size all the same.
  void CheckSizes(const Inst& zeros) {
    ir::Appender out(f_, checks_, zeros.loc);
    for (Value v : zeros.args) {
      if (sizes_.IsSize(v)) continue;
      const Value zero = out.Number(Affine::Const(0));
      out.Check(out.Make(Op::Le, ir::Type::Bool(), {zero, v}), ir::TrapKind::kNegativeSize, {v});
    }
  }

  // --- instructions

  void Visit(const Inst& inst) {
    for (Value v : inst.results) NoteUnder(v);
    if (++insts_ > kMostTurnInsts) return Break(inst);
    if (inst.each) return VisitStatement(inst);
    const std::optional<size_t> at = FillingOf(inst);
    if (inst.op == Op::Zeros) {
      if (auto made = maker_.MakeZeros(inst, here_))
        values_.made[inst.results[0].id] = *std::move(made);
    } else if (inst.op == Op::Index) {
      if (at) Read(*at, inst, nullptr);
    } else if (at) {
      Store(*at, inst);
    }
  }
  void VisitStatement(const Inst& inst) {
    for (const Inst& body : inst.each->body) {
      for (Value v : body.results) NoteUnder(v);
      const std::optional<size_t> at = body.op == Op::Index ? FillingOf(body) : std::nullopt;
      if (at) Read(*at, body, inst.each.get());
      if (body.op != Op::Index) Break(body);
    }
    const std::vector<std::optional<CheapArray>> cheap = maker_.FindCheap(inst);
    for (size_t k = 0; k < cheap.size(); ++k) {
      if (cheap[k]) values_.cheap[inst.results[k].id] = *cheap[k];
    }
    std::optional<std::vector<TurnArray>> made = maker_.MakeStatement(inst, here_);
    if (!made) return;
    for (size_t k = 0; k < made->size(); ++k)
      values_.made[inst.results[k].id] = std::move((*made)[k]);
  }

  // Which filling it stores into, adds to, or reads.
  std::optional<size_t> FillingOf(const Inst& inst) const {
    for (Value v : inst.args) {
      const auto part = part_of_.find(Root(v));
      if (part != part_of_.end()) return part->second;
    }
    return std::nullopt;
  }
  // What is used in another way is not there for all turns at once.
  void Break(const Inst& inst) {
    if (inst.op == Op::Dim) return;
    ir::ForEachOperand(inst, [&](Value v) {
      const auto part = part_of_.find(Root(v));
      if (part != part_of_.end()) fillings_[part->second].is_broken = true;
    });
  }

  std::vector<Affine> FormsOf(ir::AffineSpan subs) const {
    std::vector<Affine> forms;
    for (const Affine& a : subs) forms.push_back(values_.FormOf(a));
    return forms;
  }

  // `each`: the statement that reads; null: the turn does.
  void Read(size_t at, const Inst& inst, const ir::Each* each) {
    Filling& filling = fillings_[at];
    Flush(filling);
    filling.reads.push_back({&inst, here_.around, FormsOf(inst.subs), false});
    TurnArray& read = values_.read[inst.results[0].id] = filling.now;
    if (filling.is_zero && HasElement(read.shape, filling.reads.back(), each, sizes_))
      read = {};
    else
      filling.is_broken |= !read.array.valid();
    filling.is_broken |= Root(inst.args[0]) != filling.current;
  }

  void Store(size_t at, const Inst& inst) {
    Filling& filling = fillings_[at];
    const std::optional<StoredValue> stored = StoredBy(filling, inst);
    if (!stored) return Break(inst);
    filling.current = inst.results[0];
    part_of_[filling.current] = at;
    Put(filling, {&inst, *stored, here_});
  }
  // What the instruction stores in the array as it is now, or adds to it, or to the number.
  std::optional<StoredValue> StoredBy(Filling& filling, const Inst& inst) {
    const auto is_now = [&](Value v) { return Root(v) == filling.current; };
    if (inst.op == Op::AddAt && is_now(inst.args[0])) return StoredValue{inst.args[1], true};
    if (inst.op == Op::Update && is_now(inst.args[0])) {
      const std::optional<StoredValue> added = AddedToElement(filling, inst);
      return added ? *added : StoredValue{inst.args[1]};
    }
    return f_.TypeOf(filling.param).IsScalar() ? AddedTo(inst, is_now) : std::nullopt;
  }
  // What a sum, or a difference, has beside the term that is meant.
  template <typename IsMeant>
  static std::optional<StoredValue> AddedTo(const Inst& sum, IsMeant&& is_meant) {
    if (sum.op != Op::Add && sum.op != Op::Sub) return std::nullopt;
    const bool first = is_meant(sum.args[0]);
    if (first == is_meant(sum.args[1]) || (!first && sum.op == Op::Sub)) return std::nullopt;
    return StoredValue{sum.args[first ? 1 : 0], true, sum.op == Op::Sub};
  }
  // z[i] = z[i] + e, where nobody else needs what it reads; or the same for a row, r = each(j): z[i, j] + e, z[i, j] = r[j].
  std::optional<StoredValue> AddedToElement(Filling& filling, const Inst& store) {
    const Inst* sum = defs_.Inst(store.args[1]);
    if (sum == nullptr || UsesOf(sum->results[0]) != 1) return std::nullopt;
    if (sum->op != Op::Index) return AddedToRead(filling, store, *sum, nullptr, nullptr);
    const auto cheap = values_.cheap.find(sum->args[0].id);
    if (cheap == values_.cheap.end() || UsesOf(sum->args[0]) != 1) return std::nullopt;
    const CheapArray& array = cheap->second;
    const Inst* of_row = ir::FindDef(*array.statement->each, array.value);
    if (of_row == nullptr || UsesOf(array.value) != 1) return std::nullopt;
    std::optional<StoredValue> added =
        AddedToRead(filling, store, *of_row, array.statement->each.get(), sum);
    if (!added) return std::nullopt;
    const Value part = f_.NewLike(f_, added->value);
    values_.parts[part.id] = {{array.statement, added->value, array.shape}, sum};
    added->value = part;
    return added;
  }
  // `row`: the statement that the sum is of, and what reads that.
  std::optional<StoredValue> AddedToRead(Filling& filling, const Inst& store, const Inst& sum,
                                         const ir::Each* row, const Inst* element) {
    const Access* own = nullptr;
    const auto is_own = [&](Value v) {
      const Inst* read = row != nullptr ? ir::FindDef(*row, v) : defs_.Inst(v);
      if (read == nullptr || read->op != Op::Index || UsesOf(v) != 1) return false;
      std::vector<Affine> subs = FormsOf(read->subs);
      for (size_t k = 0; row != nullptr && k < row->indices.size(); ++k) {
        for (Affine& a : subs)
          a = a.Substitute(row->indices[k].var, values_.FormOf(element->subs[k]));
      }
      if (subs != FormsOf(store.subs)) return false;
      for (const Access& access : filling.reads) {
        if (access.inst == read && IsAsRead(filling, access, store)) own = &access;
      }
      return own != nullptr;
    };
    const std::optional<StoredValue> added = AddedTo(sum, is_own);
    if (added) filling.reads.erase(filling.reads.begin() + (own - filling.reads.data()));
    return added;
  }
  // Whether nothing was stored in the array since, and other turns of the loops in between store at other places.
  bool IsAsRead(const Filling& filling, const Access& read, const Inst& store) const {
    const Access stored{&store, here_.around, FormsOf(store.subs), false};
    const std::set<const CountedNest*> named = LoopsNamed(filling, stored, values_);
    for (size_t k = 0; k < here_.around.size(); ++k) {
      const bool around_both = k < read.around.size();
      if (around_both ? read.around[k] != here_.around[k] : !named.contains(here_.around[k]))
        return false;
    }
    Value now = filling.current;
    for (size_t k = read.around.size(); k < here_.around.size(); ++k) {
      const auto before = handed_.find(now);
      if (before == handed_.end()) return false;
      now = before->second;
    }
    return Root(read.inst->args[0]) == now;
  }
  // How often instructions of the loops use it.
  size_t UsesOf(Value v) const {
    const auto it = uses_.find(v.id);
    return it == uses_.end() ? 0 : it->second;
  }
  void CountUses() {
    const auto count = [&](Value v) { ++uses_[v.id]; };
    for (uint32_t b : nest_.loop->blocks) {
      for (const Inst& inst : f_.blocks[b].insts) ir::ForEachOperand(inst, count);
      ir::ForEachTermOperand(f_.blocks[b].term, count);
    }
  }

  // Right in a way of a branch it waits for where the ways meet.
  void Put(Filling& filling, const TurnStore& store) {
    Flush(filling);
    if (branch_at_ == here_.around.size())
      filling.pending = store;
    else
      Apply(filling, store);
  }
  void Flush(Filling& filling) {
    if (filling.pending) Apply(filling, *std::exchange(filling.pending, std::nullopt));
  }
  void Apply(Filling& filling, const TurnStore& store) {
    if (filling.is_broken) return;
    filling.stores.push_back(
        {store.inst, store.place.around, FormsOf(store.inst->subs), store.stored.adds});
    std::optional<TurnArray> next = maker_.MakeStored(filling, store);
    filling.is_broken = !next;
    if (!next) return;
    filling.now = *std::move(next);
    filling.is_zero = false;
    filling.start = {};
  }

  Value Root(Value v) const { return values_.Root(v); }

  ir::Function& f_;
  const DefinitionBlocks& defs_;
  const ir::AxisExtents& extents_;
  const CountedNest& nest_;
  const std::set<Value>& no_fillings_;
  std::vector<Inst> checks_, out_;
  TurnValues values_;
  TurnSizes sizes_;
  TurnMaker maker_;
  absl::flat_hash_map<uint32_t, size_t> uses_;
  size_t insts_ = 0;
  TurnPlace here_;
  size_t branch_at_ = 0;  // around how many loops is the branch that is visited; 0: none
  std::vector<std::unique_ptr<TurnCondition>> conditions_;
  std::vector<Filling> fillings_;
  std::map<Value, Value> handed_;    // to an inner loop, by parameter of that
  std::map<Value, size_t> part_of_;  // what is handed on in loops: of which filling
  std::map<Value, Value> filled_;
  std::set<Value> broken_;
  std::map<Value, TurnArray> reread_;
};

class LoopRaiser {
 public:
  LoopRaiser(ir::Module& m, ir::Function& f)
      : m_(m), f_(f), dominators_(f), defs_(f), nests_(f, dominators_, defs_), extents_(f) {}

  bool Run() {
    std::vector<const BlockLoop*> loops = nests_.Outermost();
    while (!loops.empty()) {
      const BlockLoop& loop = *loops.back();
      loops.pop_back();
      if (Raise(loop)) continue;
      const std::vector<const BlockLoop*>& inside = nests_.Inside(loop);
      loops.insert(loops.end(), inside.begin(), inside.end());
    }
    for (Raised& raised : raised_) Put(raised);
    return !raised_.empty();
  }

 private:
  struct Raised {
    const BlockLoop& loop;
    std::vector<Inst> statements;
    std::map<Value, Value> filled;
    std::map<Value, TurnArray> reread;
    std::unique_ptr<CountedNest> nest;  // that `reread` speaks of
  };

  bool Raise(const BlockLoop& loop) {
    std::unique_ptr<CountedNest> nest = nests_.Find(loop);
    if (!nest) return false;
    std::set<Value> no_fillings;
    for (int round = 0; round < kMostRounds; ++round) {
      NestRaiser raiser(m_, f_, defs_, nests_, extents_, *nest, no_fillings);
      raiser.Run();
      no_fillings.insert(raiser.broken().begin(), raiser.broken().end());
      if (!raiser.broken().empty()) continue;
      if (raiser.filled().empty()) return false;
      raised_.push_back(
          {loop, raiser.TakeStatements(), raiser.filled(), raiser.reread(), std::move(nest)});
      return true;
    }
    return false;
  }

  // The loop hands on what was made in front of it, as it is.
  void Put(Raised& raised) {
    const BlockLoop& loop = raised.loop;
    ir::Block& entry = f_.blocks[loop.entry];
    entry.insts.insert(entry.insts.end(), std::make_move_iterator(raised.statements.begin()),
                       std::make_move_iterator(raised.statements.end()));
    const ir::Values& params = f_.blocks[loop.header].params;
    for (size_t k = 0; k < params.size(); ++k) {
      const auto filled = raised.filled.find(params[k]);
      if (filled == raised.filled.end()) continue;
      entry.term.edges[loop.entry_edge].args[k] = filled->second;
      for (ir::Edge& e : f_.blocks[loop.latches[0]].term.edges) {
        if (e.block == loop.header) e.args[k] = params[k];
      }
    }
    for (uint32_t b : loop.blocks) {
      for (Inst& inst : f_.blocks[b].insts) {
        Reread(inst, raised.reread);
        if (!inst.each) continue;
        for (Inst& body : inst.each->body) Reread(body, raised.reread);
      }
    }
  }
  void Reread(Inst& inst, const std::map<Value, TurnArray>& reread) {
    if (inst.op != Op::Index) return;
    const auto it = reread.find(inst.results[0]);
    if (it == reread.end()) return;
    std::vector<Affine> subs;
    for (const CountedNest* nest : it->second.around) subs.push_back(Affine::Of(nest->counter));
    subs.insert(subs.end(), inst.subs.begin(), inst.subs.end());
    if (it->second.array.valid()) {
      inst.args = {it->second.array};
      inst.subs = subs;
      return;
    }
    inst.op = Op::Const;
    inst.args.clear();
    inst.subs = {};
    inst.bits = 0;
    inst.loc = 0;
  }

  ir::Module& m_;
  ir::Function& f_;
  const ir::Dominators dominators_;
  const DefinitionBlocks defs_;
  NestFinder nests_;
  const ir::AxisExtents extents_;
  std::vector<Raised> raised_;
};

}  // namespace

bool RaiseLoops(ir::Module& m, ir::Function& f) { return LoopRaiser(m, f).Run(); }

}  // namespace pullback::opt
