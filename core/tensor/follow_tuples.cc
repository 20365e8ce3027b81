// A matrix that is stored at tuples which data say, and is 0 elsewhere, is not made where each of its readers multiplies
// by its elements: the reader runs over the tuples itself.
//
//   a = each(p) { i = rows[p]; j = columns[p]; e } gen [i, j]: e
//   y = each(i, j) { a[i, j] * x[j] } sum [i]
//                           y = each(p) { i = rows[p]; j = columns[p]; e; e * x[j] } sum [i]
//
// What is at no tuple was never there, as behind a bracket: a product with it is no term (docs/language.md, Products).
// Elements and conditions that take work are stored by tuple first where they are read more than once.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/analysis/outer_values.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/tuple_arrays.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Constraint;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

// Comparisons that each reader may make again for an element.
constexpr size_t kMostLight = 8;

bool CanFollow(const Each& each, const analysis::Box& box, Value array, const ir::Values& shape) {
  if (!ReadsByIndices(each, box, array, shape)) return false;
  const Value read = OnlyReadOf(each, array)->results[0];
  return std::all_of(each.results.begin(), each.results.end(), [&](const EachResult& r) {
    const bool adds = r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum;
    return adds && !r.into.valid() && IsAbsentWith(each, r.value, read);
  });
}

bool Names(const Affine& e, const std::unordered_map<uint32_t, Value>& by) {
  return std::any_of(e.terms.begin(), e.terms.end(),
                     [&](const Affine::Term& t) { return by.contains(t.value.id); });
}

// Makes one statement out of what stores at tuples and what reads.
class Joiner {
 public:
  Joiner(ir::Function& f, const Inst& stores, Value array)
      : f_(f), tuples_(*CopyStatement(stores, f).inst.each), array_(array) {}

  void Join(Each& reader) {
    const EachResult& stored = tuples_.results[0];
    const Inst read = *OnlyReadOf(reader, array_);
    for (size_t axis = 0; axis < stored.out.size(); ++axis)
      by_[read.subs[axis].AsValue().id] = stored.out[axis].AsValue();
    guard_ = stored.guard;
    Inst joined;
    joined.op = Op::Each;
    joined.each = std::make_unique<Each>();
    Each& each = *joined.each;
    each.indices = tuples_.indices;
    std::vector<Constraint> where = reader.where;
    for (const ir::IndexVar& i : reader.indices) {
      const auto axis = std::find(read.subs.begin(), read.subs.end(), Affine::Of(i.var));
      if (axis == read.subs.end()) {
        each.indices.push_back(i);
      } else if (stored.shape[static_cast<size_t>(axis - read.subs.begin())] != i.extent) {
        where.push_back(Below(i.var, i.extent));
      }
    }
    each.body = std::move(tuples_.body);
    each.where = std::move(tuples_.where);
    TakeWhere(where, each);
    for (Inst& inst : reader.body) TakeInst(std::move(inst), read, stored.value, each.body);
    each.results = std::move(reader.results);
    for (EachResult& r : each.results) {
      if (!r.guard.valid()) r.guard = guard_;
    }
    ReplaceValues(joined, by_);
    reader = std::move(each);
  }

 private:
  // What speaks of the tuples is a guard.
  void TakeWhere(const std::vector<Constraint>& where, Each& each) {
    std::vector<Constraint> of_tuples;
    for (const Constraint& c : where) (Names(c.e, by_) ? of_tuples : each.where).push_back(c);
    if (of_tuples.empty()) return;
    Inst holds;
    holds.op = Op::Holds;
    holds.guard = guard_;
    holds.constraints = std::move(of_tuples);
    holds.results = {f_.NewValue(ir::Type::Bool())};
    guard_ = holds.results[0];
    each.body.push_back(std::move(holds));
  }

  // An element that is read under a guard is 0 elsewhere.
  void TakeInst(Inst inst, const Inst& read, Value element, std::vector<Inst>& body) {
    const bool is_read = inst.results == read.results;
    if (!inst.guard.valid()) inst.guard = guard_;
    if (!is_read) return body.push_back(std::move(inst));
    if (!read.guard.valid()) {
      by_[read.results[0].id] = element;
      return;
    }
    Inst zero, chosen;
    zero.op = Op::Const;
    zero.guard = chosen.guard = guard_;
    zero.results = {f_.NewLike(f_, element)};
    chosen.op = Op::Select;
    chosen.args = {read.guard, element, zero.results[0]};
    chosen.results = read.results;
    body.push_back(std::move(zero));
    body.push_back(std::move(chosen));
  }

  ir::Function& f_;
  Each tuples_;
  const Value array_;
  std::unordered_map<uint32_t, Value>
      by_;       // the reader's indices and its element, as the tuples say them
  Value guard_;  // under which the reader's body is evaluated
};

class TupleFollower {
 public:
  explicit TupleFollower(ir::Function& f) : f_(f), reads_(f) {
    for (size_t b = 0; b < f.blocks.size(); ++b) {
      for (const Inst& inst : f.blocks[b].insts) {
        if (inst.each) NoteReads(*inst.each, b);
      }
    }
  }

  bool Run() {
    if (!HasCandidate()) return false;
    outer_.emplace(f_);
    bool changed = false;
    for (size_t b = 0; b < f_.blocks.size(); ++b) {
      std::vector<Inst> made;
      for (Inst& inst : f_.blocks[b].insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k)
          changed |= Visit(inst, k, b, made);
        made.push_back(std::move(inst));
      }
      f_.blocks[b].insts = std::move(made);
    }
    return changed;
  }

 private:
  struct Reader {
    Each* each;
    size_t block;
  };

  void NoteReads(Each& each, size_t block) {
    for (const Inst& inst : each.body) {
      if (inst.op != Op::Index || f_.TypeOf(inst.args[0]).rank < 2) continue;
      std::vector<Reader>& readers = readers_[inst.args[0]];
      if (readers.empty() || readers.back().each != &each) readers.push_back({&each, block});
    }
  }

  bool HasCandidate() const {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
          if (IsCandidate(inst, k)) return true;
        }
      }
    }
    return false;
  }

  bool IsCandidate(const Inst& inst, size_t k) const {
    return IsTupleArray(inst, k, f_) && reads_.OnlyByStatements(inst.results[k]);
  }

  // `before`: what comes in front of the statement.
  bool Visit(Inst& inst, size_t k, size_t block, std::vector<Inst>& before) {
    const Value array = inst.results[k];
    const EachResult& r = inst.each->results[k];
    if (!IsCandidate(inst, k)) return false;
    const std::vector<Reader>& readers = readers_[array];
    const auto follows = [&](const Reader& reader) {
      return !changed_.contains(reader.each) &&
             CanFollow(*reader.each, outer_->BoxOf(*reader.each), array, r.shape);
    };
    if (changed_.contains(inst.each.get()) || newly_read_.contains(array) || readers.empty() ||
        !std::all_of(readers.begin(), readers.end(), follows))
      return false;
    Inst stores = ResultAlone(inst, k, f_);
    const bool once = readers.size() == 1 && readers[0].block == block &&
                      readers[0].each->indices.size() == r.out.size();
    std::vector<Inst> stored;
    if (!once) {
      StoreElements(*stores.each, inst.loc, stored);
      if (TakesWork(*stores.each)) StoreCondition(stores, stored);
      if (TakesWork(*stores.each)) return false;
    }
    std::move(stored.begin(), stored.end(), std::back_inserter(before));
    for (const Inst& read : stores.each->body) {
      if (read.op == Op::Index) newly_read_.insert(read.args[0]);
    }
    for (const Reader& reader : readers) {
      Joiner(f_, stores, array).Join(*reader.each);
      changed_.insert(reader.each);
    }
    return true;
  }

  // More than what is read, and a few comparisons.
  static bool TakesWork(const Each& each) {
    size_t light = 0;
    for (const Inst& inst : each.body) {
      switch (inst.op) {
        case Op::Index:
        case Op::Const:
        case Op::Holds:
        case Op::AffineOf: break;
        case Op::And:
        case Op::Or:
        case Op::Not: ++light; break;
        default:
          if (ir::Info(inst.op).rule != ir::TypeRule::Cmp) return true;
          ++light;
      }
    }
    return light > kMostLight;
  }

  // An element that is more than something read is stored by its tuple.
  void StoreElements(Each& each, uint32_t loc, std::vector<Inst>& before) {
    EachResult& r = each.results[0];
    const Inst* def = FindDef(each, r.value);
    if (!def || def->op == Op::Index || def->op == Op::Const) return;
    Inst read = StoreByTuple(each, r.value, loc, before);
    read.guard = r.guard;
    r.value = read.results[0];
    each.body.push_back(std::move(read));
    PruneBody(each);
  }

  // A condition likewise, as 1 where it holds; elsewhere 0 is there.
  void StoreCondition(Inst& stores, std::vector<Inst>& before) {
    Each& each = *stores.each;
    const Value guard = each.results[0].guard;
    if (!guard.valid()) return;
    Inst one, holds;
    one.op = Op::Const;
    one.bits = 1;
    one.results = {f_.NewValue(ir::Type::I64())};
    each.body.push_back(one);
    Inst read = StoreByTuple(each, one.results[0], stores.loc, before);
    each.body.pop_back();
    holds.op = Op::Eq;
    holds.args = {read.results[0], one.results[0]};
    holds.results = {f_.NewLike(f_, guard)};
    ReplaceValues(stores, {{guard.id, holds.results[0]}});
    std::vector<Inst> body;
    for (Inst* inst : {&one, &read, &holds}) body.push_back(std::move(*inst));
    std::move(each.body.begin(), each.body.end(), std::back_inserter(body));
    each.body = std::move(body);
    PruneBody(each);
  }

  // A statement in `before` stores the value where the result has one; gives the read of it, at the statement's point.
  Inst StoreByTuple(const Each& each, Value v, uint32_t loc, std::vector<Inst>& before) {
    Inst values, read;
    values.op = Op::Each;
    values.loc = read.loc = loc;
    values.each = std::make_unique<Each>(each);
    EachResult& stored = values.each->results[0];
    stored.value = v;
    stored.out.clear();
    stored.shape.clear();
    for (const ir::IndexVar& i : each.indices) {
      stored.out.push_back(Affine::Of(i.var));
      stored.shape.push_back(i.extent);
    }
    read.op = Op::Index;
    read.subs = ir::AffineSpan(stored.out);
    const auto rank = static_cast<int>(stored.out.size());
    values.results = {f_.NewValue(ir::Type::Array(f_.TypeOf(v).elem, rank))};
    read.args = values.results;
    read.results = {f_.NewLike(f_, v)};
    before.push_back(CopyStatement(values, f_).inst);
    return read;
  }

  ir::Function& f_;
  const ArrayReads reads_;
  std::optional<analysis::OuterValues> outer_;  // of the function before it changes
  std::map<Value, std::vector<Reader>> readers_;
  std::set<const Each*> changed_;
  std::set<Value> newly_read_;  // by statements that have changed
};

}  // namespace

bool FollowTuples(ir::Function& f) { return TupleFollower(f).Run(); }

}  // namespace pullback::tensor
