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
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/op_weight.h"
#include "core/opt/simplify.h"
#include "core/opt/turn_facts.h"
#include "core/opt/turn_statement.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Affines;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostTurnInsts = 256;

// An element that an instruction of a turn reads or stores, by what its subscripts are sums of.
struct Access {
  const Inst* inst;
  NestPath around;
  std::vector<Affine> at;
};

// A store in one way of a branch, which the other one may have, too.
struct Pending {
  const Inst* inst;
  Value value;
  const TurnCondition* condition;
  NestPath around;
};

// What loops hand on and fill: an array, or a number that they add up.
struct Filling {
  size_t level;                              // it is handed on by the loops from there on
  Value param;                               // of the first of them
  Value current;                             // what there is of it now, in a turn
  TurnArray now;                             // with all that stood before
  Value start;                               // a number from which is added, other than 0
  const TurnCondition* condition = nullptr;  // under which it begins
  const Inst* zeros = nullptr;               // of an array outside of all loops
  bool is_zero = false;
  bool is_broken = false;
  std::optional<Pending> pending;
  std::vector<Access> stores, reads;
};

class NestRaiser {
 public:
  NestRaiser(ir::Module& m, ir::Function& f, const DefinitionBlocks& defs, const NestFinder& nests,
             const CountedNest& nest)
      : m_(m), f_(f), defs_(defs), nest_(nest), values_{*nest.loop, defs, nests, {}, {},
                                                        {},         {},   {},    {}} {
    for (const ir::Type t : f.results) most_rank_ = std::max<size_t>(most_rank_, t.rank);
    for (Value v : f.params()) most_rank_ = std::max<size_t>(most_rank_, f.TypeOf(v).rank);
  }

  bool Run() {
    Visit(nest_);
    return !filled_.empty();
  }
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
  // --- walking over a turn

  void Visit(const CountedNest& nest) {
    const auto range = RangeOf(nest);
    if (range) ranges_[&nest] = *range;
    around_.push_back(&nest);
    const std::vector<Value> opened = Enter(nest);
    Visit(nest.turn);
    Leave(nest, opened);
    around_.pop_back();
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

  // Each way begins with what there was, and where they meet there is what both have come to.
  void Visit(const TurnBranch& branch) {
    const size_t outer = std::exchange(branch_at_, around_.size());
    std::vector<Value> before, ends[2];
    std::vector<std::optional<Pending>> pending[2];
    for (Filling& filling : fillings_) {
      Flush(filling);
      before.push_back(filling.current);
    }
    for (size_t k = 0; k < 2; ++k) {
      conditions_.push_back(
          std::make_unique<TurnCondition>(TurnCondition{branch.cond, k == 0, condition_}));
      condition_ = conditions_.back().get();
      for (size_t j = 0; j < before.size(); ++j) fillings_[j].current = before[j];
      Visit(branch.arms[k]);
      for (size_t j = 0; j < before.size(); ++j) {
        ends[k].push_back(fillings_[j].current);
        pending[k].push_back(std::exchange(fillings_[j].pending, std::nullopt));
      }
      condition_ = condition_->around;
    }
    branch_at_ = outer;
    for (const TurnBranch::Choice& choice : branch.choices) Choose(choice, branch.cond);
    for (size_t j = 0; j < before.size(); ++j) {
      if (ends[0][j] == before[j] && ends[1][j] == before[j]) continue;
      Meet(branch, j, ends[0][j], ends[1][j]);
      StoreOnce(branch, fillings_[j], pending[0][j], pending[1][j]);
    }
  }
  void Choose(const TurnBranch::Choice& choice, Value cond) {
    values_.either[choice.param.id] = choice;
    values_.chosen_by[choice.param.id] = cond;
    if (condition_ != nullptr) values_.under[choice.param.id] = condition_;
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
  void StoreOnce(const TurnBranch& branch, Filling& filling, std::optional<Pending>& a,
                 std::optional<Pending>& b) {
    const bool same = a && b && (a->inst->op == Op::Update) == (b->inst->op == Op::Update) &&
                      FormsOf(a->inst->subs) == FormsOf(b->inst->subs);
    if (!same) {
      if (a) Apply(filling, *a);
      if (b) Apply(filling, *b);
      return;
    }
    const Value either = f_.NewLike(f_, a->value);
    Choose({either, {a->value, b->value}}, branch.cond);
    PutStore(filling, {a->inst, either, condition_, around_});
  }

  // Values that the loop hands on as new fillings.
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
    Filling filling;
    filling.level = around_.size() - 1;
    filling.param = filling.current = param;
    filling.condition = condition_;
    const ir::Type type = f_.TypeOf(param);
    if (type.IsScalar()) {
      if (filling.level == 0 || !(type.IsFloat() || type == ir::Type::I64())) return std::nullopt;
      const Inst* start = defs_.Inst(before);
      filling.is_zero = start != nullptr && start->op == Op::Const && start->bits == 0;
      filling.start = before;
      return filling;
    }
    if (!type.IsArray()) return std::nullopt;
    if (filling.level == 0) most_rank_ = std::max<size_t>(most_rank_, type.rank);
    if (const auto made = values_.made.find(before.id); made != values_.made.end()) {
      filling.now = made->second;
      filling.is_zero = !filling.now.array.valid();
      return filling;
    }
    const Inst* zeros = defs_.Inst(before);
    if (!values_.IsOutside(before) || zeros == nullptr || zeros->op != Op::Zeros)
      return std::nullopt;
    filling.now = {before, {}, zeros->args};
    filling.is_zero = true;
    filling.zeros = zeros;
    return filling;
  }

  void Leave(const CountedNest& nest, const std::vector<Value>& opened) {
    const ir::Values& params = f_.blocks[nest.loop->header].params;
    for (size_t k = 0; k < params.size(); ++k) {
      if (params[k] == nest.counter) continue;
      const auto part = part_of_.find(params[k]);
      if (part == part_of_.end()) continue;
      Filling& filling = fillings_[part->second];
      filling.is_broken |= filling.current != Root(nest.last[k]);
      filling.current = params[k];
    }
    for (Value v : opened) {
      const Filling& filling = fillings_[part_of_.at(v)];
      // Nothing of a turn is seen behind the loop but what it hands on.
      if (IsFilled(filling)) Finish(v, filling);
    }
  }

  void Finish(Value param, const Filling& filling) {
    values_.made[param.id] = filling.now;
    part_of_.erase(param);
    if (filling.level > 0 || !f_.TypeOf(param).IsArray() || filling.stores.empty()) return;
    filled_[param] = filling.now.array;
    CheckSizes(*filling.zeros);
    for (const Access& read : filling.reads) {
      const Value v = read.inst->results[0];
      reread_[v] = values_.read.at(v.id);
    }
  }

  // An array that is not made any more has a size all the same.
  void CheckSizes(const Inst& zeros) {
    ir::Appender out(f_, checks_, zeros.loc);
    for (Value v : zeros.args) {
      if (IsSize(v)) continue;
      const Value zero = out.Number(Affine::Const(0));
      out.Check(out.Make(Op::Le, ir::Type::Bool(), {zero, v}), ir::TrapKind::kNegativeSize, {v});
    }
  }

  void Visit(const Inst& inst) {
    if (condition_ != nullptr) {
      for (Value v : inst.results) values_.under[v.id] = condition_;
      if (inst.each) {
        for (const Inst& body : inst.each->body) values_.under[body.results[0].id] = condition_;
      }
    }
    if (++insts_ > kMostTurnInsts) return Break(inst);
    if (inst.each) return VisitStatement(inst);
    if (inst.op == Op::Zeros) return VisitZeros(inst);
    const std::optional<size_t> at = FillingOf(inst);
    if (inst.op == Op::Index) {
      if (at) Read(*at, inst, nullptr);
      return;
    }
    if (!at) return Break(inst);
    Store(*at, inst);
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
    ir::ForEachOperand(inst, [&](Value v) {
      const auto part = part_of_.find(Root(v));
      if (part != part_of_.end() && inst.op != Op::Dim) fillings_[part->second].is_broken = true;
    });
  }

  void VisitZeros(const Inst& inst) {
    ir::Values shape;
    for (Value v : inst.args) {
      shape.push_back(Outside(v));
      if (!shape.back().valid() || !IsSize(v)) return;
    }
    if (shape.size() + around_.size() <= most_rank_)
      values_.made[inst.results[0].id] = {{}, around_, shape};
  }

  // --- fillings

  std::vector<Affine> FormsOf(ir::AffineSpan subs) const {
    std::vector<Affine> forms;
    for (const Affine& a : subs) {
      Affine rooted = Affine::Const(a.constant);
      for (const Affine::Term& t : a.terms) rooted = rooted + Affine::Of(Root(t.value)) * t.coeff;
      forms.push_back(FormOf(rooted, defs_));
    }
    return forms;
  }

  // `each`: the statement that reads; null: the turn does.
  void Read(size_t at, const Inst& inst, const ir::Each* each) {
    Filling& filling = fillings_[at];
    Flush(filling);
    filling.reads.push_back({&inst, around_, FormsOf(inst.subs)});
    TurnArray& read = values_.read[inst.results[0].id] = filling.now;
    if (filling.is_zero && IsThere(filling, filling.reads.back(), each)) {
      read = {};
    } else {
      filling.is_broken |= !read.array.valid();
    }
    filling.is_broken |= Root(inst.args[0]) != filling.current;
  }
  // Whether the array surely has the element.
  bool IsThere(const Filling& filling, const Access& read, const ir::Each* each) {
    for (size_t axis = 0; axis < read.at.size(); ++axis) {
      const Affine& a = read.at[axis];
      const Value extent = filling.now.shape[axis];
      bool there = a.IsConst() && IsInside({nullptr, a.constant}, extent);
      for (const CountedNest* nest : read.around) {
        const Affine more = a - Affine::Of(nest->counter);
        there |= more.IsConst() && more.constant >= 0 && IsInside({nest, more.constant}, extent);
      }
      if (each != nullptr && a.AsValue().valid()) {
        for (const ir::IndexVar& i : each->indices)
          there |= i.var == a.AsValue() && Outside(i.extent) == extent;
      }
      if (!there) return false;
    }
    return true;
  }

  void Store(size_t at, const Inst& inst) {
    Filling& filling = fillings_[at];
    const std::optional<Value> value = StoredBy(filling, inst);
    if (!value) {
      Break(inst);
      return;
    }
    filling.current = inst.results[0];
    part_of_[filling.current] = at;
    PutStore(filling, {&inst, *value, condition_, around_});
  }
  // Right in a way of a branch it waits for where the ways meet.
  void PutStore(Filling& filling, const Pending& store) {
    Flush(filling);
    if (branch_at_ == around_.size())
      filling.pending = store;
    else
      Apply(filling, store);
  }
  void Flush(Filling& filling) {
    if (filling.pending) Apply(filling, *std::exchange(filling.pending, std::nullopt));
  }
  void Apply(Filling& filling, const Pending& store) {
    if (filling.is_broken) return;
    filling.stores.push_back({store.inst, store.around, FormsOf(store.inst->subs)});
    const TurnCondition* const condition = std::exchange(condition_, store.condition);
    NestPath around = std::exchange(around_, store.around);
    std::optional<TurnArray> next =
        store.inst->op == Op::Update ? Stored(filling, store) : Added(filling, store);
    condition_ = condition;
    around_ = std::move(around);
    filling.is_broken = !next;
    if (!next) return;
    filling.now = *std::move(next);
    filling.is_zero = false;
  }
  // What the instruction stores in the array as it is now, or adds to it, or to the number.
  std::optional<Value> StoredBy(const Filling& filling, const Inst& inst) const {
    const auto is_now = [&](Value v) { return Root(v) == filling.current; };
    if (inst.op == Op::Update || inst.op == Op::AddAt)
      return is_now(inst.args[0]) ? std::optional(inst.args[1]) : std::nullopt;
    if (inst.op != Op::Add || is_now(inst.args[0]) == is_now(inst.args[1])) return std::nullopt;
    return inst.args[is_now(inst.args[0]) ? 1 : 0];
  }

  // Whether the subscript tells turns of the loop at that place apart, in one turn of those around it that are told already or hand on
  // nothing.
  bool Tells(const Affine& a, const Filling& filling, const NestPath& around, size_t at,
             const std::set<Value>& told) const {
    if (a.Coeff(around[at]->counter) == 0) return false;
    return std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
      if (t.value == around[at]->counter || told.contains(t.value)) return true;
      if (values_.IsOutside(t.value)) return true;
      return std::any_of(around.begin(),
                         around.begin() + static_cast<std::ptrdiff_t>(filling.level),
                         [&](const CountedNest* nest) { return nest->counter == t.value; });
    });
  }
  // Whether no turn needs another one: of two instructions that name elements, those of a loop that is around both and hands the array on
  // are apart.
  bool AreApart(const Filling& filling, const Access& a, const Access& b) const {
    std::set<Value> told;
    for (size_t k = filling.level; k < std::min(a.around.size(), b.around.size()); ++k) {
      if (a.around[k] != b.around[k]) return true;
      bool named = false;
      for (size_t axis = 0; axis < a.at.size(); ++axis)
        named |= a.at[axis] == b.at[axis] && Tells(a.at[axis], filling, a.around, k, told);
      if (!named) return false;
      told.insert(a.around[k]->counter);
    }
    return true;
  }
  // Those that a store's place names, of the counters of loops that hand the array on.
  std::set<Value> Named(const Filling& filling, const Access& store) const {
    std::set<Value> told;
    for (size_t k = filling.level; k < store.around.size(); ++k) {
      const bool named = std::any_of(store.at.begin(), store.at.end(), [&](const Affine& a) {
        return Tells(a, filling, store.around, k, told);
      });
      if (named) told.insert(store.around[k]->counter);
    }
    return told;
  }

  bool IsFilled(const Filling& filling) const {
    if (filling.is_broken) return false;
    const bool array = f_.TypeOf(filling.param).IsArray();
    for (const Access& store : filling.stores) {
      for (const Access& other : filling.stores) {
        const bool alone_adds = &store == &other && store.inst->op != Op::Update;
        if (!alone_adds && !AreApart(filling, store, other)) return false;
      }
      for (const Access& read : filling.reads) {
        if (!AreApart(filling, store, read)) return false;
      }
    }
    return array || !filling.stores.empty();
  }

  // --- statements

  Value Root(Value v) const { return values_.nests.Root(v); }

  // An integer of a turn that is the same in all of them, from outside.
  Value Outside(Value v) {
    v = Root(v);
    if (values_.IsOutside(v)) return v;
    if (const auto it = outside_.find(v); it != outside_.end()) return it->second;
    const Inst* inst = defs_.Inst(v);
    if (inst == nullptr || f_.TypeOf(v) != ir::Type::I64()) return {};
    if (inst->op == Op::Dim) {
      const auto made = values_.made.find(Root(inst->args[0]).id);
      if (made != values_.made.end()) return made->second.shape[inst->bits];
    }
    const bool pure = (ir::Info(inst->op).flags & ir::kPure) != 0 && inst->op != Op::Index;
    if (!pure) return {};
    Inst copy = *inst;
    bool known = true;
    ir::ForEachOperand(copy, [&](Value& u) {
      const Value outside =
          f_.TypeOf(u).IsScalar() || values_.IsOutside(Root(u)) ? Outside(u) : Value();
      known &= outside.valid();
      if (outside.valid()) u = outside;
    });
    if (!known) return {};
    copy.results = {f_.NewLike(f_, v)};
    outside_[v] = copy.results[0];
    out_.push_back(std::move(copy));
    return outside_[v];
  }

  // Of an extent in a turn, for all of which it is the same: whether turns that there are not would not trap for it.
  bool IsSize(Value v) const {
    const Inst* inst = defs_.Inst(Root(v));
    if (inst != nullptr && inst->op == Op::Dim) return true;
    const Affine form = FormOf(Root(v), defs_);
    return (form.IsConst() && form.constant >= 0) || IsNotNegative(form, defs_);
  }

  // Its turns are never more than the extent, and their counters not negative.
  std::optional<TurnRange> RangeOf(const CountedNest& nest) {
    TurnRange range;
    const Affine counter = Affine::Of(nest.counter);
    const Affine first = FormOf(Root(nest.first), defs_);
    if (!IsStart(first)) return std::nullopt;
    if (first != Affine::Const(0)) range.at_least_0.push_back(counter - first);
    const Value bound = Outside(nest.bound);
    if (bound.valid()) {
      range.extent = SizeOf(bound, Root(nest.bound));
      range.end = FormOf(Root(nest.bound), defs_);
      return range;
    }
    const Affine end = FormOf(Root(nest.bound), defs_);
    range.at_least_0.push_back(end - counter - Affine::Const(1));
    SetExtentOver(end, range);
    return range.extent.valid() ? std::optional(range) : std::nullopt;
  }
  // Of sums of counters of loops around it, and of what is not negative.
  bool IsStart(const Affine& first) const {
    Affine rest = first;
    for (const CountedNest* nest : around_) {
      if (first.Coeff(nest->counter) < 0) return false;
      rest = rest.Substitute(nest->counter, Affine::Const(0));
    }
    if (rest.IsConst()) return rest.constant >= 0;
    return IsNotNegative(rest, defs_);
  }
  Value SizeOf(Value outside, Value of_turn) {
    if (IsSize(of_turn)) return outside;
    TurnStatement numbers(m_, f_, values_, out_);
    return numbers.builder().Make(Op::Max, {outside, numbers.builder().I64(0)});
  }
  // What i + 1, or n - i, is no more than: the extent of i, and n.
  void SetExtentOver(const Affine& bound, TurnRange& range) {
    Affine rest = bound;
    const TurnRange* of_turn = nullptr;
    for (const CountedNest* nest : around_) {
      const int64_t coeff = bound.Coeff(nest->counter);
      if (coeff == 0) continue;
      rest = rest.Substitute(nest->counter, Affine::Const(0));
      if (coeff < 0) continue;
      const auto around = ranges_.find(nest);
      if (coeff != 1 || of_turn || around == ranges_.end()) return;
      of_turn = &around->second;
    }
    if (of_turn != nullptr) {
      if (rest.IsConst() && rest.constant <= 1) range.extent = of_turn->extent;
      range.end = of_turn->end;
      return;
    }
    const bool outside =
        std::all_of(rest.terms.begin(), rest.terms.end(),
                    [&](const Affine::Term& t) { return values_.IsOutside(t.value); });
    if (!outside || !IsNotNegative(rest, defs_)) return;
    TurnStatement numbers(m_, f_, values_, out_);
    range.extent = numbers.builder().AffineOf(rest);
    range.end = rest;
  }

  // Points of these loops' turns, in this order; false: some loop has no range.
  bool BeginTurns(TurnStatement& s, const NestPath& order, ir::ValueSpan own,
                  std::vector<Value>* own_indices = nullptr,
                  const std::set<const CountedNest*>& from_end = {}) {
    ir::Values extents;
    for (const CountedNest* nest : order) {
      const auto range = ranges_.find(nest);
      if (range == ranges_.end()) return false;
      extents.push_back(range->second.extent);
    }
    extents.insert(extents.end(), own.begin(), own.end());
    const std::vector<Value> indices = s.Begin(extents);
    for (size_t k = 0; k < order.size(); ++k) {
      const Affine at = Affine::Of(indices[k]);
      const bool backwards = from_end.contains(order[k]);
      s.Bind(order[k]->counter, backwards ? Affine::Of(extents[k]) - at - Affine::Const(1) : at,
             extents[k]);
    }
    for (const CountedNest* nest : order) {
      for (const Affine& e : ranges_.at(nest).at_least_0) {
        if (!s.Where(e)) return false;
      }
    }
    if (own_indices != nullptr)
      own_indices->assign(indices.begin() + static_cast<std::ptrdiff_t>(order.size()),
                          indices.end());
    return true;
  }
  ir::Values ExtentsOf(const NestPath& around) const {
    ir::Values extents;
    for (const CountedNest* nest : around) extents.push_back(ranges_.at(nest).extent);
    return extents;
  }

  // What a statement of a turn makes, for all turns.
  void VisitStatement(const Inst& inst) {
    const ir::Each& each = *inst.each;
    bool fits = true;
    for (const Inst& body : each.body) {
      const std::optional<size_t> at = body.op == Op::Index ? FillingOf(body) : std::nullopt;
      if (at) Read(*at, body, &each);
      if (body.op != Op::Index) Break(body);
    }
    NoteCheap(inst);
    for (const ir::EachResult& r : each.results)
      fits &= r.out.size() + around_.size() <= most_rank_ && !r.into.valid();
    if (!fits) return;
    std::vector<TurnArray> made;
    TurnStatement s(m_, f_, values_, out_);
    if (!CopyStatement(inst, s, made)) return;
    for (size_t k = 0; k < made.size(); ++k) values_.made[inst.results[k].id] = std::move(made[k]);
  }

  void NoteCheap(const Inst& inst) {
    const ir::Each& each = *inst.each;
    const bool plain =
        each.where.empty() && std::none_of(each.body.begin(), each.body.end(),
                                           [](const Inst& b) { return ir::IsDear(b); });
    if (!plain) return;
    ir::Values shape;
    for (const ir::IndexVar& i : each.indices) {
      shape.push_back(IsSize(i.extent) ? Outside(i.extent) : Value());
      if (!shape.back().valid()) return;
    }
    for (size_t k = 0; k < each.results.size(); ++k) {
      const ir::EachResult& r = each.results[k];
      const bool by_elements = r.monoid == ir::Monoid::kGen && !r.guard.valid() &&
                               r.out.size() == each.indices.size() && ir::IsPrefixForm(each, r);
      bool whole = by_elements;
      for (size_t axis = 0; whole && axis < shape.size(); ++axis)
        whole = Outside(r.shape[axis]) == shape[axis];
      if (whole) values_.cheap[inst.results[k].id] = {&inst, k, shape};
    }
  }

  bool CopyStatement(const Inst& inst, TurnStatement& s, std::vector<TurnArray>& made) {
    const ir::Each& each = *inst.each;
    ir::Values own;
    for (const ir::IndexVar& i : each.indices) {
      own.push_back(IsSize(i.extent) ? Outside(i.extent) : Value());
      if (!own.back().valid()) return false;
    }
    for (const ir::EachResult& r : each.results) {
      made.push_back({{}, around_, {}});
      for (Value v : r.shape) {
        made.back().shape.push_back(IsSize(v) ? Outside(v) : Value());
        if (!made.back().shape.back().valid()) return false;
      }
    }
    std::vector<Value> indices;
    s.builder().SetLoc(inst.loc);
    if (!BeginTurns(s, around_, own, &indices)) return false;
    for (size_t k = 0; k < indices.size(); ++k)
      s.Bind(each.indices[k].var, Affine::Of(indices[k]), own[k]);
    for (const ir::Constraint& c : each.where) {
      if (!s.Where(c.e, c.equality)) return false;
    }
    for (const Inst& body : each.body) {
      if (!s.Copy(body)) return false;
    }
    std::vector<ir::EachResult> results;
    for (size_t k = 0; k < each.results.size(); ++k) {
      std::optional<ir::EachResult> r = ResultOf(each.results[k], made[k], s);
      if (!r) return false;
      results.push_back(*std::move(r));
    }
    const std::vector<Value> arrays = s.builder().EndEach(std::move(results));
    for (size_t k = 0; k < arrays.size(); ++k) made[k].array = arrays[k];
    return true;
  }
  std::optional<ir::EachResult> ResultOf(const ir::EachResult& r, const TurnArray& made,
                                         TurnStatement& s) const {
    ir::EachResult copy = r;
    const auto get = [&](Value& v) {
      if (!v.valid()) return true;
      v = s.Get(v);
      return v.valid();
    };
    if (!get(copy.value) || !get(copy.guard) || !get(copy.second)) return std::nullopt;
    const std::optional<Value> guard = s.GuardOf(condition_);
    std::optional<Affines> out = s.Counters(made.around), own = s.Get(r.out);
    if (!out || !own || !guard) return std::nullopt;
    if (guard->valid() && !copy.guard.valid()) copy.guard = *guard;
    out->insert(out->end(), own->begin(), own->end());
    copy.out = *std::move(out);
    copy.shape = ExtentsOf(made.around);
    copy.shape.insert(copy.shape.end(), made.shape.begin(), made.shape.end());
    if (ir::IsScan(r.monoid)) copy.outer += static_cast<uint32_t>(made.around.size());
    return copy;
  }

  NestPath Batch(const Filling& filling) const {
    return {around_.begin(), around_.begin() + static_cast<std::ptrdiff_t>(filling.level)};
  }

  // With the value where a turn stores it.
  std::optional<TurnArray> Stored(const Filling& filling, const Pending& pending) {
    const Access& store = filling.stores.back();
    if (Named(filling, store).size() + filling.level != around_.size()) return std::nullopt;
    if (!filling.is_zero) return Replaced(filling, store, pending.value, false);
    return Made(filling, store, pending.value, ir::Monoid::kGen, around_);
  }
  std::optional<TurnArray> Added(const Filling& filling, const Pending& pending) {
    const Access& store = filling.stores.back();
    const std::set<Value> named = Named(filling, store);
    if (!filling.is_zero && !filling.start.valid()) {
      const bool once = named.size() + filling.level == around_.size();
      return once ? Replaced(filling, store, pending.value, true) : std::nullopt;
    }
    // Terms of one element in the order of the turns, one after the other: by an index behind theirs.
    NestPath order = Batch(filling), reduced;
    for (size_t k = filling.level; k < around_.size(); ++k)
      (named.contains(around_[k]->counter) ? order : reduced).push_back(around_[k]);
    if (order.empty()) return std::nullopt;
    order.insert(order.end() - 1, reduced.begin(), reduced.end());
    if (!filling.is_zero)
      return reduced.size() == 1 ? AddedToStart(filling, pending.value, order) : std::nullopt;
    return Made(filling, store, pending.value, ir::Monoid::kSum, order);
  }

  // What is added to is the first term; the loop's turns come one later.
  std::optional<TurnArray> AddedToStart(const Filling& filling, Value value,
                                        const NestPath& order) {
    const CountedNest* last = around_.back();
    TurnArray made{{}, Batch(filling), {}};
    const auto range = ranges_.find(last);
    if (range == ranges_.end() || made.around.size() > most_rank_) return std::nullopt;
    TurnStatement s(m_, f_, values_, out_);
    ir::Values extents;
    for (const CountedNest* nest : order) {
      if (!ranges_.contains(nest)) return std::nullopt;
      extents.push_back(ranges_.at(nest).extent);
      if (nest == last)
        extents.back() = s.builder().AffineOf(Affine::Of(extents.back()) + Affine::Const(1));
    }
    const std::vector<Value> indices = s.Begin(extents);
    std::vector<ir::Constraint> is_first, is_later;
    for (size_t k = 0; k < order.size(); ++k) {
      Affine at = Affine::Of(indices[k]);
      if (order[k] == last) {
        is_first.push_back({at, true});
        at = at - Affine::Const(1);
        is_later.push_back({at, false});
        s.Bind(last->counter, at);
      } else {
        s.Bind(order[k]->counter, at, extents[k]);
      }
    }
    for (const CountedNest* nest : order) {
      for (const Affine& e : ranges_.at(nest).at_least_0) {
        const std::optional<Affine> form = s.Get(e);
        if (!form) return std::nullopt;
        if (nest == last)
          is_later.push_back({*form, false});
        else
          s.builder().Where({*form, false});
      }
    }
    const std::optional<Value> outer = s.GuardOf(filling.condition);
    if (!outer) return std::nullopt;
    s.builder().SetGuard(*outer);
    const Value first = s.builder().Holds(std::move(is_first));
    const Value later = s.builder().Holds(std::move(is_later));
    s.builder().SetGuard({});
    const Value start = s.Get(filling.start);
    s.SetBase(later);
    const std::optional<Value> guard = s.GuardOf(condition_);
    const Value term = guard ? s.Get(value) : Value();
    std::optional<Affines> out = s.Counters(made.around);
    if (!start.valid() || !term.valid() || !out) return std::nullopt;
    ir::EachResult r;
    r.monoid = ir::Monoid::kSum;
    r.value = s.builder().Make(Op::Select, {first, start, term});
    r.guard = condition_ == filling.condition ? *outer : s.builder().Make(Op::Or, {first, *guard});
    r.out = *out;
    r.shape = ExtentsOf(made.around);
    made.array = s.builder().EndEach({std::move(r)})[0];
    return made;
  }

  // The loops that go from the last place to the first: their points go from the first on.
  std::set<const CountedNest*> FromEnd(const Filling& filling, const Access& store) const {
    std::set<const CountedNest*> backwards;
    for (size_t axis = 0; axis < store.at.size(); ++axis) {
      for (size_t k = filling.level; k < store.around.size(); ++k) {
        const CountedNest* nest = store.around[k];
        const auto range = ranges_.find(nest);
        if (range == ranges_.end() || range->second.extent != filling.now.shape[axis]) continue;
        const Affine last = range->second.end - Affine::Const(1);
        if (store.at[axis] == last - Affine::Of(nest->counter)) backwards.insert(nest);
      }
    }
    return backwards;
  }
  std::optional<TurnArray> Made(const Filling& filling, const Access& store, Value value,
                                ir::Monoid monoid, const NestPath& order) {
    TurnArray made{{}, Batch(filling), filling.now.shape};
    if (made.around.size() + made.shape.size() > most_rank_ && filling.level > 0)
      return std::nullopt;
    TurnStatement s(m_, f_, values_, out_);
    s.builder().SetLoc(store.inst->loc);
    ir::EachResult r;
    r.monoid = monoid;
    const bool begun = BeginTurns(s, order, {}, nullptr, FromEnd(filling, store));
    if (begun) r.value = s.Get(value);
    const std::optional<Value> guard = begun ? s.GuardOf(condition_) : std::nullopt;
    std::optional<Affines> out = begun ? s.Counters(made.around) : std::nullopt;
    std::optional<Affines> own = begun ? s.Get(store.inst->subs) : std::nullopt;
    if (!out || !own || !guard || !r.value.valid()) return std::nullopt;
    r.guard = *guard;
    out->insert(out->end(), own->begin(), own->end());
    r.out = *std::move(out);
    r.shape = ExtentsOf(made.around);
    r.shape.insert(r.shape.end(), made.shape.begin(), made.shape.end());
    r.loc = store.inst->loc;
    made.array = s.builder().EndEach({std::move(r)})[0];
    return made;
  }

  // Of a store, by axis of the array: the loop whose counter it is, and a number more; of others what is said for them all.
  struct Place {
    const CountedNest* nest;
    int64_t more;
  };
  // Nothing: a place is no such, or may be none of the array's.
  std::optional<std::vector<Place>> PlacesOf(const Filling& filling, const Access& store) const {
    std::vector<Place> places;
    std::set<const CountedNest*> placed;
    for (size_t axis = 0; axis < store.at.size(); ++axis) {
      Affine rest = store.at[axis];
      Place place{nullptr, 0};
      for (size_t k = filling.level; k < store.around.size(); ++k) {
        const int64_t coeff = rest.Coeff(store.around[k]->counter);
        if (coeff == 0) continue;
        if (coeff != 1 || place.nest != nullptr) return std::nullopt;
        place.nest = store.around[k];
      }
      if (place.nest != nullptr) rest = rest.Substitute(place.nest->counter, Affine::Const(0));
      if (!rest.IsConst() || rest.constant < 0) return std::nullopt;
      place.more = rest.constant;
      if (!IsInside(place, filling.now.shape[axis])) return std::nullopt;
      if (place.nest != nullptr && !placed.insert(place.nest).second) return std::nullopt;
      places.push_back(place);
    }
    const bool all = placed.size() + filling.level == store.around.size();
    return all ? std::optional(places) : std::nullopt;
  }
  bool IsInside(const Place& place, Value extent) const {
    const Affine rows = FormOf(extent, defs_);
    if (place.nest == nullptr) return rows.IsConst() && place.more < rows.constant;
    const auto range = ranges_.find(place.nest);
    if (range == ranges_.end()) return false;
    const Affine beyond = rows - range->second.end;
    return beyond.IsConst() && beyond.constant >= place.more;
  }

  // The array that was, with what turns store in place of its elements, or added to these.
  std::optional<TurnArray> Replaced(const Filling& filling, const Access& store, Value value,
                                    bool adds) {
    const auto places = PlacesOf(filling, store);
    if (!places) return std::nullopt;
    TurnArray made{{}, Batch(filling), filling.now.shape};
    std::vector<Value> own;
    TurnStatement s(m_, f_, values_, out_);
    s.builder().SetLoc(store.inst->loc);
    if (!BeginTurns(s, made.around, made.shape, &own)) return std::nullopt;
    std::vector<ir::Constraint> stored;
    for (size_t axis = 0; axis < own.size(); ++axis) {
      const Affine at = Affine::Of(own[axis]) - Affine::Const((*places)[axis].more);
      const CountedNest* nest = (*places)[axis].nest;
      if (nest == nullptr) {
        stored.push_back({at, true});
        continue;
      }
      s.Bind(nest->counter, at, ranges_.at(nest).extent);
      if ((*places)[axis].more > 0) stored.push_back({at, false});
      if (ranges_.at(nest).extent != made.shape[axis])
        stored.push_back({Affine::Of(ranges_.at(nest).extent) - at - Affine::Const(1), false});
    }
    for (const Place& place : *places) {
      if (place.nest == nullptr) continue;
      for (const Affine& e : ranges_.at(place.nest).at_least_0) {
        const std::optional<Affine> form = s.Get(e);
        if (!form) return std::nullopt;
        stored.push_back({*form, false});
      }
    }
    if (!stored.empty()) s.SetBase(s.builder().Holds(std::move(stored)));
    const std::optional<Value> guard = s.GuardOf(condition_);
    const Value fresh = guard ? s.Get(value) : Value();
    std::optional<Affines> at = s.Counters(made.around);
    if (!fresh.valid() || !at) return std::nullopt;
    for (Value v : own) at->push_back(Affine::Of(v));
    ir::Builder& b = s.builder();
    const auto was = [&] { return b.Index(filling.now.array, {at->begin(), at->end()}); };
    ir::EachResult r;
    r.value = fresh;
    if (adds) {
      const Value old = was();
      r.value = b.Make(Op::Add, {old, fresh});
      if (guard->valid()) r.value = b.Make(Op::Select, {*guard, r.value, old});
    } else if (guard->valid()) {
      r.value = b.Make(Op::Select, {*guard, fresh, was()});
    }
    r.out = *at;
    r.shape = ExtentsOf(made.around);
    r.shape.insert(r.shape.end(), made.shape.begin(), made.shape.end());
    made.array = b.EndEach({std::move(r)})[0];
    return made;
  }

  ir::Module& m_;
  ir::Function& f_;
  const DefinitionBlocks& defs_;
  const CountedNest& nest_;
  TurnValues values_;
  size_t most_rank_ = 1;
  size_t insts_ = 0;
  NestPath around_;
  const TurnCondition* condition_ = nullptr;
  size_t branch_at_ = 0;  // around how many loops is the branch that is visited; 0: none
  std::vector<std::unique_ptr<TurnCondition>> conditions_;
  std::map<const CountedNest*, TurnRange> ranges_;
  std::vector<Filling> fillings_;
  std::map<Value, size_t> part_of_;  // what is handed on in loops: of which filling
  std::map<Value, Value> outside_;
  std::vector<Inst> checks_, out_;
  std::map<Value, Value> filled_;
  std::map<Value, TurnArray> reread_;
};

class LoopRaiser {
 public:
  LoopRaiser(ir::Module& m, ir::Function& f)
      : m_(m), f_(f), dominators_(f), defs_(f), nests_(f, dominators_, defs_) {}

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
    NestRaiser raiser(m_, f_, defs_, nests_, *nest);
    if (!raiser.Run()) return false;
    raised_.push_back(
        {loop, raiser.TakeStatements(), raiser.filled(), raiser.reread(), std::move(nest)});
    return true;
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
  std::vector<Raised> raised_;
};

}  // namespace

bool RaiseLoops(ir::Module& m, ir::Function& f) { return LoopRaiser(m, f).Run(); }

}  // namespace pullback::opt
