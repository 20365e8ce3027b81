// The start of a block's reverse: what is popped from the tape, and what is computed again from it.
#include <algorithm>
#include <map>
#include <set>

#include "core/ad/keep.h"
#include "core/ad/reverse_function.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;
using Choice = KeepOrRecompute::Choice;

namespace {

// Index variables and values of the body.
std::set<Value> InnerValues(const Inst& inst) {
  std::set<Value> inner;
  if (!inst.each) return inner;
  for (const ir::IndexVar& i : inst.each->indices) inner.insert(i.var);
  for (const Inst& body : inst.each->body) inner.insert(body.results.begin(), body.results.end());
  return inner;
}

// Gives what a copy of a statement defines inside new names in `to`.
std::map<Value, Value> NameInner(Inst& copy, const ir::Function& from, ir::Function& to) {
  std::map<Value, Value> names;
  const auto name = [&](Value& v) {
    v = names.emplace(v, to.NewValue(from.TypeOf(v), from.names[v.id])).first->second;
  };
  if (!copy.each) return names;
  for (ir::IndexVar& i : copy.each->indices) name(i.var);
  for (Inst& body : copy.each->body) std::for_each(body.results.begin(), body.results.end(), name);
  return names;
}

}  // namespace

// The version of its array that is in use at this point. Where none was carried along, it dies in this
// block, so that keeping it costs no copy.
Value ReverseFunction::Version(Value v) {
  const uint32_t web = undo_.Of(v);
  const auto begun = begun_.find(web);
  const bool earlier = begun != begun_.end() && begun->second != v;
  const auto [it, fresh] = (earlier ? earlier_ : versions_).emplace(web, ir::kNoValue);
  if (fresh) it->second = Fetch(forward_[v.id], flow_.def_block[v.id]);
  return it->second;
}

void ReverseFunction::UndoUpdate(const Inst& inst) {
  if (inst.op != Op::Update && inst.op != Op::AddAt) return;
  const auto version = versions_.find(undo_.Of(inst.results[0]));
  if (version == versions_.end() || undo_.Of(inst.args[0]) != version->first) return;
  const auto [old, fresh] = overwritten_.emplace(&inst, ir::kNoValue);
  if (fresh) {
    old->second = NewForward(ir::Type::Scalar(work_.TypeOf(inst.results[0]).elem), "old");
  }
  const std::vector<ir::Affine> at = Primal(inst.subs);
  version->second = rb_->Update(version->second, at, Fetch(old->second, current_));
}

// The arrays that `inst` makes, rather than changes, are the first of their webs: an operand in the same web
// is another array.
void ReverseFunction::BeginVersions(const Inst& inst) {
  for (Value v : inst.results) {
    const uint32_t web = undo_.Of(v);
    const bool continues =
        (inst.op == Op::Update || inst.op == Op::AddAt) && undo_.Of(inst.args[0]) == web;
    if (web != UndoWebs::kNone && !continues) begun_[web] = v;
  }
}

// Before what made an array there was none, or one that `inst` was reversed with.
void ReverseFunction::ForgetVersions() {
  for (const auto& [web, v] : begun_) versions_.erase(web);
  versions_.merge(earlier_);
  begun_.clear();
  earlier_.clear();
}

// One value while it is decided how the reverse of the current block gets it.
struct ReverseFunction::Candidate {
  Value work;
  const Inst* def = nullptr;         // of what may be computed again
  const Counter* counter = nullptr;  // a loop's counter, from its trip count
  Value undone;                      // what a loop carries, taken along
  Value table;                       // of an index: what it reads when the loops are over
  std::optional<uint32_t>
      kept_behind;  // of an array: the block that keeps it, for all turns of a loop
  std::vector<size_t> operands;
  Value copy;  // in the reverse half
  Value source;
};

// Of an array that is undone there is only the version in use, which a block's start need not have.
bool ReverseFunction::AtHand(Value v) const {
  return const_def_[v.id] != nullptr || (combined_ && undo_.Of(v) == UndoWebs::kNone &&
                                         flow_.SurvivesTo(current_, flow_.def_block[v.id]));
}

// Where a loop ends that the current block is in and `from` is not, but next to it: its reverse comes in front of that of the loop's
// turns, for each run of `from`. Of several the outermost.
std::optional<uint32_t> ReverseFunction::BehindLoops(uint32_t from) const {
  std::optional<uint32_t> header;
  for (uint32_t h : around_[current_]) {
    if (around_[from].contains(h)) continue;
    if (header && !around_[*header].contains(h)) continue;
    header = h;
  }
  if (!header || flow_.way[*header] != WayBack::kTrips) return std::nullopt;
  for (const ir::Edge& e : work_.blocks[*header].term.edges) {
    const std::vector<Predecessor>& preds = flow_.preds[e.block];
    const bool is_behind = around_[e.block] == around_[from] && !flow_.skipped[e.block] &&
                           preds.size() == 1 && preds[0].block == *header;
    if (is_behind) return e.block;
  }
  return std::nullopt;
}

// An array of a turn around the loops that the current block is in may be kept for all their turns.
std::optional<uint32_t> ReverseFunction::KeptBehind(Value array) const {
  const bool may =
      work_.TypeOf(array).IsArray() && undo_.Of(array) == UndoWebs::kNone && read_alone_.Is(array);
  return may ? BehindLoops(flow_.def_block[array.id]) : std::nullopt;
}

// Of a loop that the current block is in, as it is behind it.
size_t ReverseFunction::AddTable(Value table, KeepOrRecompute& cut,
                                 std::vector<Candidate>& candidates, CandidateNumbers& numbers) {
  if (const auto it = numbers.of_tables.find(table); it != numbers.of_tables.end())
    return it->second;
  Candidate c;
  c.work = table;
  c.source = forward_[table.id];
  c.kept_behind = BehindLoops(flow_.preds[flow_.def_block[table.id]][0].block);
  const size_t number = cut.Add(c.kept_behind ? kRowOnTape : kNever, kNever);
  numbers.of_tables[table] = number;
  candidates.push_back(std::move(c));
  return number;
}

// Operands first.
size_t ReverseFunction::AddCandidate(Value v, KeepOrRecompute& cut,
                                     std::vector<Candidate>& candidates, CandidateNumbers& numbers,
                                     int depth) {
  if (const auto it = numbers.of_values.find(v); it != numbers.of_values.end()) return it->second;
  Candidate c;
  c.work = v;
  c.source = forward_[v.id];
  const ir::Type type = work_.TypeOf(v);
  const bool asked = blocks_[current_].popped.count(c.source) != 0;
  // An array on the tape is one more owner: it is kept only where the reverse itself asks for it.
  const int64_t array = asked ? kScalarOnTape * kElements : kNever;
  if (!asked) c.kept_behind = KeptBehind(v);
  const int64_t keep = c.kept_behind ? kRowOnTape : type.IsScalar() ? kScalarOnTape : array;
  int64_t again = kNever;
  std::vector<Value> operands;
  const auto counter = counters_.find(v);
  if (const Value undone = Undone(v); undone.valid()) {
    c.undone = undone;
    again = 1;
  } else if (counter != counters_.end() && flow_.IsLoopBodyOf(current_, counter->second.header)) {
    c.counter = &counter->second;
    operands = {counter->second.start};
    again = 2;
  } else if (const Inst* def = defs_[v.id]; def != nullptr && depth < kDeepest) {
    again = undo_.Of(v) == UndoWebs::kNone ? CostOfRecomputing(*def, work_) : kNever;
    if (again < kNever) {
      c.def = def;
      c.table = combined_ ? settled_.TableOf(*def) : Value();
      const std::set<Value> inner = InnerValues(*def);
      ir::ForEachOperand(*def, [&](Value x) {
        if ((!c.table.valid() || x != def->args[0]) && inner.count(x) == 0) operands.push_back(x);
      });
      if ((def->op == Op::Sin || def->op == Op::Cos) &&
          blocks_[current_].popped.count(forward_[def->args[0].id]))
        again = kSecondOfSinCos;
    }
  }
  for (Value x : operands) {
    if (!AtHand(x)) c.operands.push_back(AddCandidate(x, cut, candidates, numbers, depth + 1));
  }
  if (c.table.valid() && !settled_.IsOfOutermost(c.table))
    c.operands.push_back(AddTable(c.table, cut, candidates, numbers));
  const size_t number = cut.Add(keep, again);
  for (size_t operand : c.operands) cut.AddOperand(number, operand);
  numbers.of_values[v] = number;
  candidates.push_back(std::move(c));
  return number;
}

// Splits what the reverse of block b asks for: state.needs become what is taped, in `again` stands
// what is computed from it.
std::vector<Inst> ReverseFunction::ChooseKept(uint32_t b) {
  BlockState& state = blocks_[b];
  KeepOrRecompute cut;
  std::vector<Candidate> candidates;
  CandidateNumbers numbers;
  std::vector<Need> kept;
  for (const Need& need : state.needs) {
    if (!need.work.valid()) {
      kept.push_back(need);
    } else {
      cut.Need(AddCandidate(need.work, cut, candidates, numbers, 0));
    }
  }
  const std::vector<Choice> choices = cut.Solve();
  std::map<Value, Value> copies, tables;  // of work values
  for (const Need& need : state.needs) {
    if (need.work.valid()) copies[need.work] = need.copy;
  }
  const auto copy_of = [&](Value v) {
    if (AtHand(v)) return Primal(v);
    const auto [it, fresh] = copies.emplace(v, ir::kNoValue);
    if (fresh) it->second = rb_->function().NewValue(work_.TypeOf(v), work_.names[v.id]);
    return it->second;
  };
  std::vector<Inst> again;
  for (size_t k = 0; k < candidates.size(); ++k) {
    const Candidate& c = candidates[k];
    if (choices[k] == Choice::kUnneeded) continue;
    if (choices[k] == Choice::kKeep && c.kept_behind) {
      const bool is_table = numbers.of_tables.contains(c.work) && numbers.of_tables[c.work] == k;
      (is_table ? tables : copies)[c.work] = FetchAt(*c.kept_behind, c.source);
      continue;
    }
    if (choices[k] == Choice::kKeep) {
      kept.push_back({c.source, copy_of(c.work), c.work});
      continue;
    }
    Inst inst;
    if (c.undone.valid()) {
      const bool integer = work_.TypeOf(c.work) == ir::Type::I64();
      inst.op = integer ? Op::AffineOf : Op::And;
      if (integer) inst.subs = {ir::Affine::Of(c.undone)};
      if (!integer) inst.args = {c.undone, c.undone};
    } else if (c.counter != nullptr) {  // start + step * turns made before this one
      const bool at_header = current_ == c.counter->header;
      const Value turns = blocks_[c.counter->header].reverse_trips;
      inst.op = Op::AffineOf;
      inst.subs = {ir::Affine::Of(copy_of(c.counter->start)) +
                   (ir::Affine::Of(turns) - ir::Affine::Const(at_header ? 0 : 1)) *
                       c.counter->step};
    } else {
      inst = *c.def;
      if (c.table.valid()) inst.args.clear();
      const std::map<Value, Value> inner = NameInner(inst, work_, rb_->function());
      ir::ForEachOperand(inst, [&](Value& v) {
        const auto it = inner.find(v);
        v = it == inner.end() ? copy_of(v) : it->second;
      });
      if (c.table.valid())
        inst.args = {settled_.IsOfOutermost(c.table) ? forward_[c.table.id] : tables.at(c.table)};
      ir::CanonicaliseAffines(inst);
    }
    inst.results = {copy_of(c.work)};
    again.push_back(std::move(inst));
  }
  state.needs = std::move(kept);
  return again;
}

}  // namespace pullback::ad
