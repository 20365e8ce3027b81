// What is cheap is computed again rather than kept: an array larger than any of the function's own, that statements of
// several loops read, since totals of some are needed by others, is made for each of these loops, where a turn needs what
// a turn makes (turns.h), or becomes part of its reader.
//
//   c = each(i, j): gen [i, j]: a[i, j] - m[i]          c = each(i, j): gen [i, j]: a[i, j] - m[i]
//   t = each(i, j): sum []: c[i, j] * c[i, j]           t = each(i, j): sum []: c[i, j] * c[i, j]
//   g = each(i, j, k): sum [i, k]:                      c' = each(i, j): gen [i, j]: a[i, j] - m[i]
//           t * c[i, j] * x[j, k]                       g = each(i, j, k): sum [i, k]: t * c'[i, j] * x[j, k]
//
// A sum over short axes, of distances of points in space, is as cheap; it does not become part of a reader.
//
// As long as that is no more than arithmetic on what is there anyway: of the arrays that it reads, which are kept for
// others, at most one of as many axes lasts longer for it, and none that is larger.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/known_extents.h"
#include "core/ir/op_weight.h"
#include "core/ir/own_arrays.h"
#include "core/ir/row_windows.h"
#include "core/ir/statements.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/sum_statements.h"
#include "core/tensor/turns.h"

namespace pullback::tensor {
namespace {

using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int64_t kMostWeight = 40;  // of an element
// Instructions from what makes an array to its last reader.
constexpr size_t kMostToLastReader = 400;

// How one statement reads an array.
struct Reader {
  size_t at = 0;
  std::vector<size_t> reads = {};  // places in the body
  uint32_t axes = ~0U;             // along which all reads go by the first index
  Value row = {};                  // what is the first subscript of the last read
  bool visits_once = true;         // no element is read there twice, but by another read

  // Each read is of the row that the turn of the first index makes.
  bool ByRows() const { return (axes & 1U) != 0; }
  bool ByTurns() const { return axes != 0; }
  // The axis that makes it so, if it comes first.
  size_t Axis() const { return static_cast<size_t>(std::countr_zero(axes)); }
};

class BlockRepeats {
 public:
  BlockRepeats(ir::Function& f, ir::Block& block, const ir::OwnArrays& own,
               const ir::KnownExtents& extents, const std::vector<bool>& elsewhere)
      : f_(f), insts_(block.insts), own_(own), extents_(extents), elsewhere_(elsewhere) {}

  bool Run() {
    const auto is_larger = [&](const ir::Values& shape) { return !own_.IsNoLarger(shape); };
    SumStatements& sums = sums_.emplace(f_, insts_, is_larger);
    for (size_t at = 0; at < insts_.size(); ++at) {
      NoteUses(at);
      NoteMade(at);
    }
    for (Value v : large_) Visit(v, arrays_.at(v));
    bool changed = !copies_.empty();
    sums.PutBack(insts_, [&](const Inst& sum) {
      const bool stays = IsWorthIt(sum);
      changed |= stays;
      return stays;
    });
    InsertCopies();
    return changed;
  }

 private:
  struct Array {
    size_t maker, result;
    size_t last;  // of what uses it
    bool whole;   // something reads it that is no `index` of a statement of this block
    std::vector<Reader> readers = {};
  };

  const Each& EachOf(const Array& array) const { return *insts_[array.maker].each; }
  const EachResult& ResultOf(const Array& array) const {
    return EachOf(array).results[array.result];
  }

  void NoteMade(size_t at) {
    const Inst& inst = insts_[at];
    for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
      const Value v = inst.results[k];
      if (f_.TypeOf(v).rank < 2) continue;
      const bool elsewhere = v.id < elsewhere_.size() && elsewhere_[v.id];
      arrays_.emplace(v, Array{at, k, elsewhere ? insts_.size() : at, elsewhere});
      if (!elsewhere && !own_.IsNoLarger(inst.each->results[k].shape)) large_.push_back(v);
    }
  }

  void NoteUses(size_t at) {
    std::map<Value, int> others;
    ir::ForEachOperand(insts_[at], [&](const Value& v) {
      if (arrays_.contains(v)) ++others[v];
      if (!insts_[at].each && insts_[at].op != Op::Dim && f_.TypeOf(v).IsArray())
        consumers_[v].push_back(at);
    });
    for (size_t k = 0; insts_[at].each && k < insts_[at].results.size(); ++k) {
      const Value into = insts_[at].each->results[k].into;
      if (into.valid()) consumers_[into].push_back(at);
    }
    if (others.empty()) return;
    for (size_t k = 0; insts_[at].each && k < insts_[at].each->body.size(); ++k) {
      const Inst& read = insts_[at].each->body[k];
      const auto it = read.op == Op::Index ? others.find(read.args[0]) : others.end();
      if (it == others.end()) continue;
      --it->second;
      NoteRead(arrays_.at(it->first), at, k);
    }
    for (const auto& [v, count] : others) {
      Array& array = arrays_.at(v);
      array.last = std::max(array.last, at);
      array.whole |= count > 0;
    }
  }
  void NoteRead(Array& array, size_t at, size_t k) {
    if (array.readers.empty() || array.readers.back().at != at) array.readers.push_back({at});
    Reader& reader = array.readers.back();
    const Each& each = *insts_[at].each;
    const Inst& read = each.body[k];
    const Value turn = IndexAt(insts_[at], 0);
    uint32_t axes = 0;
    for (size_t axis = 0; axis < read.subs.size(); ++axis) {
      if (turn.valid() && read.subs[axis].AsValue() == turn) axes |= 1U << axis;
    }
    reader.axes &= axes;
    reader.row = read.subs[0].AsValue();
    reader.visits_once &= VisitsOnce(each, read, ResultOf(array).shape);
    reader.reads.push_back(k);
  }
  // Whether the subscripts are the statement's indices, each over all of the axis, or from its end.
  static bool VisitsOnce(const Each& each, const Inst& read, const ir::Values& shape) {
    std::set<size_t> places;
    for (size_t axis = 0; axis < read.subs.size(); ++axis) {
      auto place = PlaceOfIndex(each, read.subs[axis].AsValue());
      if (!place) place = PlaceOfIndex(each, MirroredIndex(each, read.subs[axis], shape[axis]));
      if (!place || each.indices[*place].extent != shape[axis]) return false;
      places.insert(*place);
    }
    return places.size() == each.indices.size();
  }

  // Of one element a point, all of them.
  static bool IsGen(const Each& each, const EachResult& r) {
    if (r.monoid != ir::Monoid::kGen || r.into.valid() || r.guard.valid() || !each.where.empty() ||
        r.out.size() != each.indices.size())
      return false;
    std::set<size_t> places;
    for (size_t k = 0; k < r.out.size(); ++k) {
      const auto place = PlaceOfIndex(each, r.out[k].AsValue());
      if (!place || r.shape[k] != each.indices[*place].extent) return false;
      places.insert(*place);
    }
    return places.size() == each.indices.size();
  }
  // How many terms an element has: one of a gen, also under a condition; of a sum over short axes as many as these have
  // points. Nothing: others.
  std::optional<int64_t> TermsOf(const Array& array) const {
    const Each& each = EachOf(array);
    const EachResult& r = ResultOf(array);
    if (IsGen(each, r)) return 1;
    const bool plain = !r.into.valid() && each.where.empty() && ir::IsPrefixForm(each, r);
    const bool sums = r.monoid == ir::Monoid::kSum;
    const bool stores = r.monoid == ir::Monoid::kGen && r.out.size() == each.indices.size();
    if (!plain || !(sums || stores)) return std::nullopt;
    int64_t terms = 1;
    for (size_t k = 0; k < each.indices.size(); ++k) {
      const Value extent = each.indices[k].extent;
      if (k < r.out.size() && extent == r.shape[k]) continue;
      if (k < r.out.size() || !extents_.IsShort(extent)) return std::nullopt;
      terms *= extents_.constants.at(extent);
    }
    return terms;
  }
  static std::vector<const Inst*> NeededBy(const Each& each, const EachResult& r) {
    std::set<Value> values = {r.value};
    if (r.guard.valid()) values.insert(r.guard);
    std::vector<const Inst*> needed;
    for (auto op = each.body.rbegin(); op != each.body.rend(); ++op) {
      const bool is_needed = std::any_of(op->results.begin(), op->results.end(),
                                         [&](Value v) { return values.contains(v); });
      if (!is_needed) continue;
      needed.push_back(&*op);
      ir::ForEachOperand(*op, [&](const Value& v) { values.insert(v); });
    }
    return needed;
  }
  // What its element takes, but for what is the same for all; nothing: more than arithmetic. `needed`: the last comes first.
  static std::optional<int64_t> WeightOf(const Each& each, const std::vector<const Inst*>& needed) {
    std::set<Value> varying;
    for (const ir::IndexVar& i : each.indices) varying.insert(i.var);
    int64_t weight = 0;
    for (auto op = needed.rbegin(); op != needed.rend(); ++op) {
      if ((ir::Info((*op)->op).flags & ir::kLibm) || ir::HasCallee((*op)->op)) return std::nullopt;
      bool varies = false;
      ir::ForEachOperand(**op, [&](const Value& v) { varies |= varying.contains(v); });
      if (!varies) continue;
      varying.insert((*op)->results.begin(), (*op)->results.end());
      weight += ir::OpWeight((*op)->op);
    }
    return weight;
  }

  bool MayChange(const Array& array) const {
    if (array.whole || array.readers.empty() || array.last - array.maker > kMostToLastReader ||
        !TermsOf(array) || changed_.contains(array.maker))
      return false;
    const bool is_gen = IsGen(EachOf(array), ResultOf(array));
    return std::all_of(array.readers.begin(), array.readers.end(), [&](const Reader& r) {
      // What is changed already may read something else now.
      return (r.ByRows() || (r.visits_once ? is_gen : MayTurn(array, r))) &&
             !changed_.contains(r.at) && MayStay(insts_[r.at]);
    });
  }
  // Not where the reader could run over the array's rows first, in the loop that makes them (core/loops/rows_first.h).
  bool MayTurn(const Array& array, const Reader& r) const {
    if (!r.ByTurns() || !PlaceOfIndex(*insts_[r.at].each, r.row)) return false;
    const auto is_near = [&](const Each& each, const ir::Affine& sub, Value index) {
      return ir::FindRowWindow(each, sub, index, ir::RowFactsOf(extents_)).has_value();
    };
    const Turns turns(insts_, array.maker, r.at, {{r.at, r.row}}, 0, is_near);
    return turns.LoopOf(r.at) != turns.LoopOf(array.maker);
  }
  // Not a sum of two arrays one of which cannot become part of it: that is added to in place.
  bool MayStay(const Inst& reader) const {
    if (!sums_->Has(reader.results[0])) return true;
    bool may = true;
    ForEachRead(*reader.each, [&](Value v, ir::AffineSpan) {
      const auto it = arrays_.find(v);
      may &= it != arrays_.end() && IsGen(EachOf(it->second), ResultOf(it->second));
    });
    return may;
  }

  // What it takes to make the array again.
  struct Needs {
    int64_t weight = 0;
    std::set<Value> reads;  // arrays
    std::set<Value> kept;  // of these, made here, of several axes, or may be: of fewer than its own
    std::map<Value, int> loose;  // others of such, and how often they are read
  };
  std::optional<Needs> NeedsOf(const Array& array) {
    Needs needs;
    const std::vector<const Inst*> needed = NeededBy(EachOf(array), ResultOf(array));
    const std::optional<int64_t> weight = WeightOf(EachOf(array), needed);
    if (!weight || *weight > kMostWeight) return std::nullopt;
    needs.weight = *weight * *TermsOf(array);
    if (needs.weight > kMostWeight) return std::nullopt;
    for (const Inst* op : needed) {
      if (op->op != Op::Index) continue;
      const Value v = op->args[0];
      needs.reads.insert(v);
      const auto it = arrays_.find(v);
      if (it == arrays_.end()) continue;
      if (IsKept(it->second) || HasFewerAxes(ResultOf(it->second).shape, ResultOf(array).shape))
        needs.kept.insert(v);
      else
        ++needs.loose[v];
    }
    return needs;
  }
  // What is not kept becomes part of what is made again: it has to be as cheap, and made of what is kept.
  bool TakeIn(Needs& needs) {
    for (const auto& [v, reads] : needs.loose) {
      const Array& array = arrays_.at(v);
      if (!IsGen(EachOf(array), ResultOf(array)) || changed_.contains(array.maker)) return false;
      const std::optional<Needs> own = NeedsOf(array);
      if (!own || !own->loose.empty()) return false;
      needs.weight += own->weight * reads;
      needs.kept.insert(own->kept.begin(), own->kept.end());
      needs.reads.insert(own->reads.begin(), own->reads.end());
    }
    return needs.weight <= kMostWeight;
  }
  // Whether no more than one of the arrays that it is made of, of as many axes, lasts longer for it, and none is larger. Nothing
  // may lose its unique owner for it: what is updated meanwhile would be copied.
  bool MayLast(const Array& array, const Needs& needs) const {
    const size_t last = array.readers.back().at;
    const bool consumed = std::any_of(needs.reads.begin(), needs.reads.end(), [&](Value v) {
      const auto it = consumers_.find(v);
      return it != consumers_.end() &&
             std::any_of(it->second.begin(), it->second.end(),
                         [&](size_t at) { return at > array.maker && at < last; });
    });
    if (consumed) return false;
    int longer = 0;
    for (Value v : needs.kept) {
      const Array& read = arrays_.at(v);
      if (read.last >= last) continue;
      const ir::Values &shape = ResultOf(read).shape, &own = ResultOf(array).shape;
      if (!IsNoLarger(shape, own)) return false;
      longer += HasFewerAxes(shape, own) ? 0 : 1;
    }
    return longer <= 1;
  }
  // A row beside it, or a column.
  static bool HasFewerAxes(const ir::Values& shape, const ir::Values& than) {
    return shape.size() < than.size() && IsNoLarger(shape, than);
  }
  static bool IsNoLarger(ir::Values shape, ir::Values than) {
    std::sort(shape.begin(), shape.end());
    std::sort(than.begin(), than.end());
    return std::includes(than.begin(), than.end(), shape.begin(), shape.end());
  }

  void Visit(Value v, const Array& array) {
    if (!MayChange(array)) return;
    std::optional<Needs> needs = NeedsOf(array);
    if (!needs || !IsKept(array) || !TakeIn(*needs) || !MayLast(array, *needs)) return;
    if (needs->loose.empty()) return Repeat(v, array);
    // Those first.
    changed_.insert(array.maker);
    for (Inst& read : insts_[array.maker].each->body) {
      if (read.op == Op::Index && needs->loose.contains(read.args[0]))
        read.args = {Copy(arrays_.at(read.args[0]), array.maker, 0)};
    }
  }

  const Turns& turns() {
    if (!turns_) turns_.emplace(insts_, 0, insts_.size() - 1, std::map<size_t, Value>());
    return *turns_;
  }
  // The loop of the readers that read what is made now. What is made alone can wait for its first reader.
  int LoopOf(const Array& array) {
    const bool alone = insts_[array.maker].results.size() == 1;
    return turns().LoopOf(alone && !array.readers.empty() ? array.readers[0].at : array.maker);
  }
  bool IsKept(const Array& array) {
    return array.whole ||
           std::any_of(array.readers.begin(), array.readers.end(), [&](const Reader& r) {
             return !r.ByRows() || turns().LoopOf(r.at) != LoopOf(array);
           });
  }
  void Repeat(Value v, const Array& array) {
    changed_.insert(array.maker);
    // By loop and the axis that comes first, what readers by turns read.
    std::map<std::pair<int, size_t>, Value> by_loop = {{{LoopOf(array), 0}, v}};
    for (const Reader& reader : array.readers) {
      changed_.insert(reader.at);
      Inst& statement = insts_[reader.at];
      if (reader.ByRows() || !reader.visits_once) {
        const size_t axis = reader.Axis();
        const auto [it, fresh] = by_loop.try_emplace({turns().LoopOf(reader.at), axis}, v);
        if (fresh) it->second = Copy(array, reader.at, axis);
        for (size_t k : reader.reads) {
          statement.each->body[k].args = {it->second};
          ir::BringToFront(statement.each->body[k].subs, axis);
        }
      } else {
        for (size_t k : reader.reads) statement.each->body[k].args = {Copy(array, reader.at, 0)};
      }
    }
  }
  // In front of a reader, with that axis first.
  Value Copy(const Array& array, size_t reader, size_t axis) {
    Inst copy = CopyWithResult(insts_[array.maker], array.result, f_).inst;
    EachResult& r = copy.each->results[0];
    ir::BringToFront(r.out, axis);
    ir::BringToFront(r.shape, axis);
    ir::Values order;
    for (const ir::Affine& sub : r.out) order.push_back(sub.AsValue());
    ir::BringIndicesFirst(*copy.each, order);
    copy.results = {f_.NewLike(f_, copy.results[0])};
    copies_[reader].push_back(std::move(copy));
    return *made_.insert(copies_[reader].back().results[0]).first;
  }

  // Whether a sum of two arrays, as a statement, reads copies, or both become part of it, since nothing else reads them, or
  // all three are rows of one loop.
  bool IsWorthIt(const Inst& sum) {
    bool copied = false, both = true, rows = IsOfRows(sum.results[0]);
    ForEachRead(*sum.each, [&](Value v, ir::AffineSpan) {
      const auto it = arrays_.find(v);
      copied |= made_.contains(v);
      both &= it != arrays_.end() && HasOneReader(it->second);
      rows &= IsOfRows(v);
    });
    return copied || both || rows;
  }
  bool IsOfRows(Value v) {
    const auto it = arrays_.find(v);
    return it != arrays_.end() && !it->second.readers.empty() && !IsKept(it->second);
  }
  bool HasOneReader(const Array& array) const {
    const bool is_statement =
        insts_[array.maker].each != nullptr;  // or a sum that does not stay one
    return is_statement && !array.whole && array.readers.size() == 1 &&
           array.readers[0].reads.size() == 1 && EachOf(array).results.size() == 1 &&
           IsGen(EachOf(array), ResultOf(array));
  }

  void InsertCopies() {
    std::vector<Inst> out;
    for (size_t at = 0; at < insts_.size(); ++at) {
      if (const auto it = copies_.find(at); it != copies_.end())
        std::move(it->second.begin(), it->second.end(), std::back_inserter(out));
      out.push_back(std::move(insts_[at]));
    }
    insts_ = std::move(out);
  }

  ir::Function& f_;
  std::vector<Inst>& insts_;
  const ir::OwnArrays& own_;
  const ir::KnownExtents& extents_;
  const std::vector<bool>& elsewhere_;
  std::map<Value, Array> arrays_;                   // of several axes, that statements make
  std::vector<Value> large_;                        // of these, as they come
  std::map<Value, std::vector<size_t>> consumers_;  // what may take an array over, or keep it
  std::set<Value> made_;                            // copies
  std::optional<SumStatements> sums_;
  std::optional<Turns> turns_;
  std::set<size_t> changed_;                    // statements
  std::map<size_t, std::vector<Inst>> copies_;  // by what they come in front of
};

}  // namespace

bool RepeatCheap(ir::Function& f) {
  const ir::OwnArrays own(f);
  const ir::KnownExtents extents = ir::FindKnownExtents(f);
  const std::vector<bool> elsewhere = ir::UsedElsewhere(f);
  bool changed = false;
  for (ir::Block& b : f.blocks) changed |= BlockRepeats(f, b, own, extents, elsewhere).Run();
  return changed;
}

}  // namespace pullback::tensor
