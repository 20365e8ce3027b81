#include "core/opt/nest_raiser.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/ir/append.h"
#include "core/ir/statements.h"
#include "core/opt/store_reader.h"
#include "core/opt/turn_maker.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostTurnInsts = 256;

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
             const ir::AxisExtents& extents, const CountedNest& nest, const Filled& filled,
             const Refused& refused)
      : f_(f),
        defs_(defs),
        extents_(extents),
        nest_(nest),
        shapes_(filled.shapes),
        refused_(refused),
        values_(*nest.loop, defs, nests, extents),
        sizes_(f, values_, out_),
        maker_(m, f, values_, sizes_, out_, MostRank(f)),
        stores_(f, values_) {
    values_.makers = filled.makers;
  }

  void Run() {
    Visit(nest_);
    // A loop that goes on adds up what it did.
    const ir::Values& params = f_.blocks[nest_.loop->header].params;
    if (reads_made_ && !has_effects_ && filled_.size() + 1 == params.size()) return;
    std::erase_if(filled_, [&](const auto& f) { return f_.TypeOf(f.first).IsScalar(); });
  }
  RaisedNest Take() {
    checks_.insert(checks_.end(), std::make_move_iterator(out_.begin()),
                   std::make_move_iterator(out_.end()));
    return {std::move(found_),         std::move(checks_), std::move(filled_),
            std::move(values_.makers), std::move(reread_), std::move(idle_)};
  }

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
      if (ways[0].current[j] == before[j] && ways[1].current[j] == before[j]) {
        fillings_[j].current = before[j];
        TakeExtremum(branch, j);
        continue;
      }
      Meet(branch, j, ways[0].current[j], ways[1].current[j]);
      StoreOnce(branch, fillings_[j], ways[0].pending[j], ways[1].pending[j]);
    }
    for (const TurnBranch::Choice& choice : branch.choices) {
      for (Value from : choice.from) BreakUnless(choice.param, from);
    }
  }
  // Of an array that turns fill, what there is at some time is handed on as what there is of it then, or not at all.
  void BreakUnless(Value param, Value from) {
    const auto part = part_of_.find(Root(from)), own = part_of_.find(param);
    if (part == part_of_.end() || f_.TypeOf(param).IsScalar()) return;
    if (own == part_of_.end() || own->second != part->second)
      fillings_[part->second].is_broken = true;
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
  // Where neither way stores: if e > m { m = e }.
  void TakeExtremum(const TurnBranch& branch, size_t at) {
    Filling& filling = fillings_[at];
    for (const TurnBranch::Choice& choice : branch.choices) {
      const auto stored = stores_.ExtremumOf(filling, branch.cond, choice);
      if (!stored) continue;
      filling.current = choice.param;
      part_of_[choice.param] = at;
      Put(filling, {defs_.Inst(Root(branch.cond)), *stored, here_});
      return;
    }
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
    const bool same = a && b && a->stored.join == b->stored.join &&
                      a->stored.negated == b->stored.negated && !a->stored.strict &&
                      !b->stored.strict &&
                      stores_.PlacesOf(filling, *a) == stores_.PlacesOf(filling, *b);
    if (!same) {
      if (a) Apply(filling, *a);
      if (b) Apply(filling, *b);
      return;
    }
    StoredValue either = a->stored;
    either.value = f_.NewLike(f_, either.value);
    Choose({either.value, {a->stored.value, b->stored.value}}, branch.cond);
    const bool by_first = stores_.FormsOf(a->inst->subs) == stores_.PlacesOf(filling, *a);
    Put(filling, {by_first ? a->inst : b->inst, either, here_});
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
        stores_.HandOn(params[k], before);
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
    if (refused_.fillings.contains(param)) return std::nullopt;
    Filling filling;
    filling.level = here_.around.size() - 1;
    filling.param = filling.current = param;
    filling.begins = here_;
    const ir::Type type = f_.TypeOf(param);
    if (type.IsScalar()) {
      if (!type.IsFloat() && type != ir::Type::I64()) return std::nullopt;
      const Inst* start = defs_.Inst(before);
      filling.is_zero = start != nullptr && start->op == Op::Const && start->bits == 0;
      if (!filling.is_zero) filling.start = before;
      return filling;
    }
    if (!type.IsArray()) return std::nullopt;
    if (const auto made = values_.made.find(before.id); made != values_.made.end()) {
      filling.now = made->second;
      filling.was_zero = filling.is_zero = !filling.now.array.valid();
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
      filling.was_zero = filling.is_zero = true;
      filling.zeros = inst;
    } else {
      const BlockLoop* around = values_.nests.Around(values_.outermost);
      if (around != nullptr && !defs_.IsInside(before, *around)) return false;
      const std::optional<ir::Values> shape = ShapeOf(before);
      if (!shape) return false;
      filling.now = {before, {}, *shape};
    }
    for (Value& v : filling.now.shape) v = extents_.First(v);
    if (filling.level == 0) maker_.AllowRank(filling.now.shape.size());
    return true;
  }

  // Of an array from outside; nothing: it is not known.
  std::optional<ir::Values> ShapeOf(Value array) const {
    if (const auto filled = shapes_.find(array); filled != shapes_.end()) return filled->second;
    const Inst* inst = defs_.Inst(array);
    if (inst != nullptr && inst->op == Op::Zeros) return inst->args;
    if (inst != nullptr && (inst->op == Op::Update || inst->op == Op::AddAt))
      return ShapeOf(inst->args[0]);
    ir::Values shape;
    for (size_t axis = 0; axis < f_.TypeOf(array).rank; ++axis) {
      shape.push_back(extents_.Of(array, axis));
      if (!shape.back().valid()) return std::nullopt;
    }
    return shape;
  }

  // Nothing of a turn is seen behind the loop but what it hands on.
  void Leave(const CountedNest& nest, const std::vector<Value>& opened) {
    const ir::Values& params = f_.blocks[nest.loop->header].params;
    for (size_t k = 0; k < params.size(); ++k) {
      BreakUnless(params[k], nest.last[k]);
      const auto part = part_of_.find(params[k]);
      if (part == part_of_.end()) continue;
      Filling& filling = fillings_[part->second];
      filling.is_broken |= filling.current != Root(nest.last[k]);
      filling.current = params[k];
    }
    for (Value v : opened) {
      Filling& filling = fillings_[part_of_.at(v)];
      if (!filling.is_broken && AreTurnsApart(filling, values_))
        Finish(v, filling);
      else
        GiveUp(filling);
    }
  }

  void GiveUp(Filling& filling) {
    filling.is_broken = true;
    const bool on_the_way = values_.made.erase(filling.param.id) > 0;
    if (on_the_way || !filling.reads.empty()) found_.fillings.insert(filling.param);
  }
  void Finish(Value param, const Filling& filling) {
    const bool is_array = f_.TypeOf(param).IsArray();
    values_.made.erase(param.id);  // what turns of its loop have had
    if (!is_array && filling.stores.empty()) return;
    values_.made[param.id] = filling.now;
    part_of_.erase(param);
    for (const Access& read : filling.reads) {
      const Value v = read.inst->results[0];
      if (!IsOfEarlierTurns(filling, read)) continue;
      if (!refused_.reads.contains(v)) found_.reads.insert(v);
      values_.read[v.id] = filling.now;  // for the loop that goes on
    }
    if (filling.level > 0 || filling.stores.empty()) return;
    filled_[param] = filling.now;
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
    if (inst.op == Op::Check && IsIdle(inst)) {
      idle_.insert(&inst);
      return;
    }
    has_effects_ |= (ir::Info(inst.op).flags & ir::kEffect) != 0;
    if (inst.each) return VisitStatement(inst);
    const std::optional<size_t> at = FillingOf(inst);
    if (inst.op == Op::Zeros) {
      if (auto made = maker_.MakeZeros(inst, here_))
        values_.made[inst.results[0].id] = *std::move(made);
    } else if (inst.op == Op::Index) {
      reads_made_ |= IsOfMade(inst);
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
      reads_made_ |= body.op == Op::Index && IsColumnOfMade(body, *inst.each);
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

  // A check that the counter of a loop around it, or a number more or less, is no less than 0, or below the loop's end.
  bool IsIdle(const Inst& check) const {
    const Inst* test = defs_.Inst(Root(check.args[0]));
    if (test == nullptr || test->args.size() != 2 || f_.TypeOf(test->args[0]) != ir::Type::I64())
      return false;
    Affine apart = values_.FormOf(test->args[0]) - values_.FormOf(test->args[1]);
    if (test->op == Op::Le || test->op == Op::Lt) apart = apart * -1;
    const bool strictly = test->op == Op::Lt || test->op == Op::Gt;
    if (!strictly && test->op != Op::Le && test->op != Op::Ge) return false;
    return std::any_of(here_.around.begin(), here_.around.end(), [&](const CountedNest* nest) {
      const TurnRange* range = sizes_.RangeOf(nest);
      if (range == nullptr) return false;
      const Affine counter = Affine::Of(nest->counter);
      for (const Affine& least_0 : {counter, range->end - counter - Affine::Const(1)}) {
        const Affine more = apart - least_0;
        if (more.IsConst() && more.constant >= (strictly ? 1 : 0)) return true;
      }
      return false;
    });
  }
  // Whether it reads elements, in a loop inside, of an array of several axes that the program makes in front of the loops.
  bool IsOfMade(const Inst& read) const {
    const Value array = read.args[0];
    const ir::Values& params = f_.params();
    return here_.around.size() > 1 && f_.TypeOf(array).rank > 1 && values_.IsOutside(array) &&
           std::find(params.begin(), params.end(), array) == params.end();
  }
  // Whether a statement of a turn runs down a column of such an array.
  bool IsColumnOfMade(const Inst& read, const ir::Each& each) const {
    const ir::Values& params = f_.params();
    const Value array = read.args[0];
    if (!values_.IsOutside(array) || read.subs.size() < 2) return false;
    if (std::find(params.begin(), params.end(), array) != params.end()) return false;
    return ir::PlaceOfIndex(each, read.subs[0].AsValue()).has_value() &&
           read.subs[1].Coeff(here_.around.back()->counter) != 0;
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
      // What a number is in a turn has no form.
      if (part != part_of_.end() && f_.TypeOf(v).IsArray())
        fillings_[part->second].is_broken = true;
    });
  }

  // `each`: the statement that reads; null: the turn does.
  void Read(size_t at, const Inst& inst, const ir::Each* each) {
    Filling& filling = fillings_[at];
    Flush(filling);
    if (filling.is_broken) return;
    filling.reads.push_back({&inst, here_.around, stores_.FormsOf(inst.subs)});
    filling.is_broken |= Root(inst.args[0]) != filling.current;
    if (refused_.reads.contains(inst.results[0])) return;
    TurnArray& read = values_.read[inst.results[0].id] = filling.now;
    if (filling.is_zero && HasElement(read.shape, filling.reads.back(), each, sizes_))
      read = {};
    else
      filling.is_broken |= !read.array.valid();
  }

  void Store(size_t at, const Inst& inst) {
    Filling& filling = fillings_[at];
    const std::optional<StoredValue> stored = stores_.StoredBy(filling, inst, here_.around);
    if (!stored) return Break(inst);
    filling.current = inst.results[0];
    part_of_[filling.current] = at;
    Put(filling, {&inst, *stored, here_});
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
        {store.inst, store.place.around, stores_.PlacesOf(filling, store), store.stored.join});
    if (f_.TypeOf(filling.param).IsScalar() && !MakeRunning(filling, store)) return;
    if (StoresNothing(filling, store)) return;
    std::optional<TurnArray> next = maker_.MakeStored(filling, store);
    filling.is_broken = !next;
    if (!next) return;
    if (auto maker = out_.empty() ? std::nullopt : TurnMaker::FindMaker(out_.back());
        maker && out_.back().results[0] == next->array)
      values_.makers[next->array.id] = *std::move(maker);
    filling.now = *std::move(next);
    filling.is_zero = false;
    filling.start = {};
  }

  // What turns begin with, of a number that is needed on the way. False: it was given before something else was added.
  bool MakeRunning(Filling& filling, const TurnStore& store) {
    if (values_.made.contains(filling.param.id)) {
      filling.is_broken = true;
      found_.fillings.insert(filling.param);
      return false;
    }
    const bool needed = store.stored.join == Join::kAdd && filling.stores.size() == 1 &&
                        stores_.UsesOf(store.inst->results[0]) > 1;
    if (!needed || store.place.condition != nullptr) return true;
    if (auto running = maker_.MakeRunning(filling, store))
      values_.made[filling.param.id] = *std::move(running);
    return true;
  }
  // 0 where there is 0.
  bool StoresNothing(const Filling& filling, const TurnStore& store) {
    const Inst* value = defs_.Inst(store.stored.value);
    return filling.is_zero && store.stored.join == Join::kReplace && value != nullptr &&
           value->op == Op::Const && value->bits == 0 &&
           HasElement(filling.now.shape, filling.stores.back(), nullptr, sizes_);
  }
  Value Root(Value v) const { return values_.Root(v); }

  ir::Function& f_;
  const DefinitionBlocks& defs_;
  const ir::AxisExtents& extents_;
  const CountedNest& nest_;
  const std::map<Value, ir::Values>& shapes_;  // of what loops before it fill
  const Refused& refused_;
  bool reads_made_ = false, has_effects_ = false;
  std::vector<Inst> checks_, out_;
  TurnValues values_;
  TurnSizes sizes_;
  TurnMaker maker_;
  StoreReader stores_;
  size_t insts_ = 0;
  TurnPlace here_;
  size_t branch_at_ = 0;  // around how many loops is the branch that is visited; 0: none
  std::vector<std::unique_ptr<TurnCondition>> conditions_;
  std::vector<Filling> fillings_;
  std::map<Value, size_t> part_of_;  // what is handed on in loops: of which filling
  std::map<Value, TurnArray> filled_;
  Refused found_;
  std::set<const Inst*> idle_;
  std::map<Value, TurnArray> reread_;
};

}  // namespace

RaisedNest RaiseNest(ir::Module& m, ir::Function& f, const DefinitionBlocks& defs,
                     const NestFinder& nests, const ir::AxisExtents& extents,
                     const CountedNest& nest, const Filled& filled, const Refused& refused) {
  NestRaiser raiser(m, f, defs, nests, extents, nest, filled, refused);
  raiser.Run();
  return raiser.Take();
}

}  // namespace pullback::opt
