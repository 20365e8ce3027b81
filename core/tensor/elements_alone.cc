// Arrays of which turns of a loop take rows, and statements an element of each row, `e[i, y[i]]`, have these elements made once
// more, for the statements: the loop can make the rows in its turns then, and nobody keeps all of them. One of k elements
// takes one of k parts of the row's work.
//
//   %e = each(i < n, l < k, p < d) { … x[i, p] * w[p, l] } sum [i, l] of (n, k)
//   … a loop of blocks: %e[t, l] in its turn t …
//   %s = each(i < n) { %c = index %y[i]; %v = index %e[i, %c] … }
//
//   %e and the loop as they are
//   %in = each(l < k) {} gen [l] of (k): -0.0
//   %m = each(i < n, p < d) where (0 < k) { %c = max(0, min(k - 1, y[i])) … x[i, p] * w[p, %c] } sum [i] of (n)
//   %s = each(i < n) { %c = index %y[i]; %a = index %m[i]; %b = index %in[%c]; %v = add %a, %b … }
//
// A place that data say may be none: `in` ends the run where the read of %e did, and adds nothing. Of what larger arrays are made of
// row by row, tanh(x[i] @ w), the same is asked again. Comes in front of the passes that let turns make rows;
// rows at one place, `e[0, y[0]]`, are made by the one behind it, fixed_rows.cc.
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/known_extents.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/normalise.h"
#include "core/tensor/read_ranges.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/turn_values.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostRoundsAlone = 16;  // of what rows are made of

class ElementsAlone {
 public:
  explicit ElementsAlone(ir::Function& f)
      : f_(f),
        own_(f),
        reads_(f),
        ranges_(f),
        turns_(f),
        taken_(turns_.ArraysTaken(f)),
        known_(ir::FindKnownExtents(f)) {}

  bool Run() {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (const Inst& inst : f_.blocks[b].insts) {
        const bool alone = MakesElements(inst) && taken_.contains(inst.results[0]);
        if (alone) makers_.push_back({&inst, b});
        const bool of_rows =
            inst.each &&
            std::any_of(inst.each->body.begin(), inst.each->body.end(), [&](const Inst& read) {
              return read.op == Op::Index &&
                     (large_.contains(read.args[0].id) || of_rows_.contains(read.args[0]));
            });
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
          if (of_rows) of_rows_.insert(inst.results[k]);
          if (!own_.IsNoLarger(inst.each->results[k].shape))
            large_[inst.results[k].id] = alone ? &inst : nullptr;
        }
      }
    }
    // What others make their rows of comes before them.
    for (auto maker = makers_.rbegin(); maker != makers_.rend(); ++maker) {
      if (Visit(*maker)) return true;
    }
    return false;
  }

 private:
  struct Maker {
    const Inst* inst;
    uint32_t block;
  };
  struct Element {
    uint32_t block;
    size_t statement, inst;       // of the block, of its body
    std::vector<size_t> indices;  // of the statement, by which the element is told
    std::vector<size_t> unknown;  // axes whose subscript may be out of range
    bool IsOf(const Element& o) const { return block == o.block && statement == o.statement; }
  };

  // One array, each element of which is made alone.
  bool MakesElements(const Inst& inst) const {
    if (!inst.each || inst.results.size() != 1) return false;
    const EachResult& r = inst.each->results[0];
    return r.shape.size() > 1 && !r.into.valid() && !ir::IsScan(r.monoid) && !ir::IsArg(r.monoid) &&
           f_.TypeOf(r.value).IsFloat() && !r.guard.valid() && HasElementByIndices(*inst.each, r) &&
           reads_.OnlyByIndex(inst.results[0]);
  }

  // False: nothing has changed.
  bool Visit(const Maker& maker) {
    const Value array = maker.inst->results[0];
    std::vector<Element> elements;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (size_t k = 0; k < f_.blocks[b].insts.size(); ++k) {
        const Inst& reader = f_.blocks[b].insts[k];
        for (size_t i = 0; reader.each && i < reader.each->body.size(); ++i) {
          const Inst& read = reader.each->body[i];
          if (read.op != Op::Index || read.args[0] != array) continue;
          if (turns_.Takes(read.subs[0], maker.block) || MakesRowOfTaken(reader, read) ||
              IsFixed(*reader.each, read.subs[0]))
            continue;
          auto element = ElementOf(maker, b, k, i);
          if (!element) return false;
          elements.push_back(*std::move(element));
        }
      }
    }
    if (elements.empty() || own_.IsNoLarger(maker.inst->each->results[0].shape) ||
        !IsOfElements(*maker.inst))
      return false;
    Make(*maker.inst, elements);
    return true;
  }

  // Whether the row is one outside: fixed_rows.cc makes it.
  static bool IsFixed(const Each& reader, const Affine& row) {
    return std::none_of(row.terms.begin(), row.terms.end(), [&](const Affine::Term& t) {
      return PlaceOfIndex(reader, t.value) || FindDef(reader, t.value);
    });
  }
  // Whether it reads larger arrays of which elements cannot be made alone.
  bool ReadsRows(const Each& reader) const {
    return std::any_of(reader.body.begin(), reader.body.end(), [&](const Inst& read) {
      const auto of = read.op == Op::Index ? large_.find(read.args[0].id) : large_.end();
      return of != large_.end() && (of->second == nullptr || !IsOfElements(*of->second));
    });
  }
  // Whether an element needs one alone of each larger array, of the same row, and nothing that is made of all of the row.
  bool IsOfElements(const Inst& maker) const {
    const Each& each = *maker.each;
    const ir::Affines& out = each.results[0].out;
    return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& read) {
      if (read.op != Op::Index) return true;
      if (!large_.contains(read.args[0].id)) return !of_rows_.contains(read.args[0]);
      const auto& alone = large_.at(read.args[0].id);
      const auto is_element = [&](const Affine& sub) {
        return sub.IsConst() || std::find(out.begin(), out.end(), sub) != out.end();
      };
      return alone != nullptr && !read.guard.valid() && read.subs[0] == out[0] &&
             std::all_of(read.subs.begin(), read.subs.end(), is_element) && IsOfElements(*alone);
    });
  }
  bool MakesRowOfTaken(const Inst& reader, const Inst& read) const {
    return reader.results.size() == 1 && taken_.contains(reader.results[0]) &&
           read.subs[0] == reader.each->results[0].out[0];
  }

  // Nothing: it is not one element for each point of one index, or of few indices.
  std::optional<Element> ElementOf(const Maker& maker, uint32_t block, size_t statement,
                                   size_t inst) const {
    const Each& reader = *f_.blocks[block].insts[statement].each;
    const Inst& read = reader.body[inst];
    if (read.guard.valid() || !turns_.AreInSameLoops(block, maker.block) || ReadsRows(reader))
      return std::nullopt;
    Element element{block, statement, inst, {}, {}};
    std::set<size_t> indices;
    for (const Affine& sub : read.subs) {
      if (!AddIndices(reader, sub, indices)) return std::nullopt;
    }
    size_t rows = 0;
    for (size_t k : indices) {
      const auto& [var, extent] = reader.indices[k];
      if (known_.IsShort(extent)) continue;
      if (read.subs[0].Coeff(var) == 0 || ++rows > 1) return std::nullopt;
    }
    element.indices.assign(indices.begin(), indices.end());
    for (const ir::Constraint& c : reader.where) {
      const auto [these, others] = CountIndices(reader, c.e, element.indices);
      if (these > 0 && others > 0) return std::nullopt;
    }
    const EachResult& r = maker.inst->each->results[0];
    for (size_t axis = 0; axis < r.shape.size(); ++axis) {
      if (ranges_.IsInRange(reader, {}, read.subs[axis], r.shape[axis]) ||
          IsClamped(reader, read.subs[axis], r.shape[axis]))
        continue;
      if (axis == 0) return std::nullopt;
      element.unknown.push_back(axis);
    }
    return CanPlace(*maker.inst->each, reader, read, element) ? std::optional(element)
                                                              : std::nullopt;
  }
  // Whether it is max(0, min(extent - 1, …)), as here: of elements that are made alone.
  static bool IsClamped(const Each& reader, const Affine& sub, Value extent) {
    const Inst* max = FindDef(reader, sub.AsValue());
    const Inst* least = max && max->op == Op::Max ? FindDef(reader, max->args[0]) : nullptr;
    const Inst* min = least ? FindDef(reader, max->args[1]) : nullptr;
    const Inst* last = min && min->op == Op::Min ? FindDef(reader, min->args[0]) : nullptr;
    return last && least->op == Op::Const && least->bits == 0 && last->op == Op::AffineOf &&
           last->subs[0] == Affine::Of(extent) - Affine::Const(1);
  }
  // Whether the maker's conditions stay conditions of indices where the element's place stands in them.
  static bool CanPlace(const Each& maker, const Each& reader, const Inst& read,
                       const Element& element) {
    const EachResult& r = maker.results[0];
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      const Affine& sub = read.subs[axis];
      const bool by_data =
          Contains(element.unknown, axis) ||
          std::any_of(sub.terms.begin(), sub.terms.end(),
                      [&](const Affine::Term& t) { return FindDef(reader, t.value) != nullptr; });
      const auto names = [&](const ir::Constraint& c) {
        return c.e.Coeff(r.out[axis].AsValue()) != 0;
      };
      if (by_data && std::any_of(maker.where.begin(), maker.where.end(), names)) return false;
    }
    return true;
  }
  // Of the reader's indices those that the subscript is made of; false: under conditions, or otherwise than by reads.
  bool AddIndices(const Each& reader, const Affine& sub, std::set<size_t>& indices) const {
    return std::all_of(sub.terms.begin(), sub.terms.end(),
                       [&](const Affine::Term& t) { return AddIndices(reader, t.value, indices); });
  }
  bool AddIndices(const Each& reader, Value v, std::set<size_t>& indices) const {
    if (const auto place = PlaceOfIndex(reader, v)) {
      indices.insert(*place);
      return true;
    }
    const Inst* def = FindDef(reader, v);
    if (!def) return true;
    if (def->guard.valid() || def->op == Op::Call) return false;
    bool all = true;
    ir::ForEachOperand(*def, [&](Value of) { all &= AddIndices(reader, of, indices); });
    return all;
  }
  // How many of these indices are in it, and how many others.
  static std::pair<int, int> CountIndices(const Each& each, const Affine& e,
                                          const std::vector<size_t>& these) {
    std::pair<int, int> count;
    for (const Affine::Term& t : e.terms) {
      const auto place = PlaceOfIndex(each, t.value);
      if (place) ++(Contains(these, *place) ? count.first : count.second);
    }
    return count;
  }
  static bool Contains(const std::vector<size_t>& numbers, size_t k) {
    return std::find(numbers.begin(), numbers.end(), k) != numbers.end();
  }

  void Make(const Inst& maker, const std::vector<Element>& elements) {
    // Instructions move.
    const Inst made = CopyStatement(maker, f_).inst;
    for (size_t k = elements.size(); k > 0;) {
      const Element& last = elements[k - 1];
      std::vector<Inst>& insts = f_.blocks[last.block].insts;
      std::vector<Inst> front;
      for (; k > 0 && elements[k - 1].IsOf(last); --k)
        ReadAlone(made, elements[k - 1], insts[last.statement], front);
      PruneBody(*insts[last.statement].each);
      insts.insert(insts.begin() + static_cast<std::ptrdiff_t>(last.statement),
                   std::make_move_iterator(front.begin()), std::make_move_iterator(front.end()));
    }
  }

  // The reader takes its element of what `front` makes.
  void ReadAlone(const Inst& maker, const Element& e, Inst& reader, std::vector<Inst>& front) {
    Inst alone = Alone(maker, e, reader);
    const Value elements = alone.results[0];
    const EachResult& r = maker.each->results[0];
    const Inst read = reader.each->body[e.inst];
    std::vector<Inst> body(reader.each->body.begin(),
                           reader.each->body.begin() + static_cast<std::ptrdiff_t>(e.inst));
    Affines own;
    for (size_t k : e.indices) own.push_back(Affine::Of(reader.each->indices[k].var));
    Value v = elements;
    if (!own.empty()) v = Read(elements, own, read, body);
    front.push_back(std::move(alone));
    for (size_t axis : e.unknown) {
      const Value in = Neutral(r.shape[axis], maker, front);
      const Value adds = Read(in, {read.subs[axis]}, read, body);
      v = ir::Appender(f_, body, 0).Make(Op::Add, f_.TypeOf(v), {v, adds});
    }
    for (size_t k = e.inst + 1; k < reader.each->body.size(); ++k)
      body.push_back(std::move(reader.each->body[k]));
    reader.each->body = std::move(body);
    ReplaceValues(reader, {{read.results[0].id, v}});
  }
  using Affines = ir::Affines;
  Value Read(Value array, const Affines& subs, const Inst& as, std::vector<Inst>& body) {
    Inst read = as;
    read.args = {array};
    read.subs = ir::AffineSpan(subs);
    read.results = {f_.NewValue(f_.TypeOf(array).Element())};
    body.push_back(std::move(read));
    return body.back().results[0];
  }
  // An element for each that an axis has, which adds nothing.
  Value Neutral(Value extent, const Inst& maker, std::vector<Inst>& front) {
    Inst neutral;
    neutral.op = Op::Each;
    neutral.loc = maker.loc;
    neutral.each = std::make_unique<Each>();
    const Value index = f_.NewValue(ir::Type::I64());
    neutral.each->indices.push_back({index, extent});
    const ir::Type t = f_.TypeOf(maker.results[0]);
    EachResult& r = neutral.each->results.emplace_back();
    r.monoid = ir::Monoid::kGen;
    r.out = {Affine::Of(index)};
    r.shape = {extent};
    r.loc = maker.loc;
    r.value = NegativeZero(t.Element(), neutral.each->body);
    neutral.results = {f_.NewValue(ir::Type::Array(t.elem, 1))};
    front.push_back(std::move(neutral));
    return front.back().results[0];
  }
  Value NegativeZero(ir::Type t, std::vector<Inst>& out) {
    const Value zero = ir::Appender(f_, out, 0).Make(Op::Const, t, {});
    out.back().bits = t.elem == DType::kF32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
    return zero;
  }

  // The elements that the reader takes, by the indices that tell them.
  Inst Alone(const Inst& maker, const Element& e, const Inst& reader) {
    CopiedStatement places = CopyStatement(reader, f_);
    Inst inst = CopyStatement(maker, f_).inst;
    Each &of = *places.inst.each, &each = *inst.each;
    std::vector<Inst> body;
    const Value element = places.fresh.at(reader.each->body[e.inst].results[0].id);
    auto read = of.body.begin();
    for (; read->results[0] != element; ++read) body.push_back(std::move(*read));
    const ir::EachResult whole = each.results[0];
    for (size_t axis = 0; axis < whole.out.size(); ++axis) {
      Affine place = read->subs[axis];
      if (Contains(e.unknown, axis)) {
        each.where.push_back({Affine::Of(whole.shape[axis]) - Affine::Const(1), false});
        place = Affine::Of(Clamped(place, whole.shape[axis], body));
      }
      const Value index = whole.out[axis].AsValue();
      SubstituteIndex(each, f_, index, place);
      const auto is_it = [&](const ir::IndexVar& i) { return i.var == index; };
      each.indices.erase(std::find_if(each.indices.begin(), each.indices.end(), is_it));
    }
    for (const ir::Constraint& c : of.where) {
      if (CountIndices(of, c.e, e.indices).second == 0) each.where.push_back(c);
    }
    MoveInto(each, std::move(body));
    EachResult& r = each.results[0];
    r.out.clear();
    r.shape.clear();
    for (size_t k = 0; k < e.indices.size(); ++k) {
      const ir::IndexVar& i = of.indices[e.indices[k]];
      each.indices.insert(each.indices.begin() + static_cast<std::ptrdiff_t>(k), i);
      r.out.push_back(Affine::Of(i.var));
      r.shape.push_back(i.extent);
    }
    PruneBody(each);
    inst.loc = r.loc = reader.loc;  // of a number of points that is negative
    const ir::Type t = f_.TypeOf(maker.results[0]).Element();
    const auto rank = static_cast<int>(r.out.size());
    inst.results = {
        f_.NewValue(rank == 0 ? t : ir::Type::Array(t.elem, rank), f_.names[maker.results[0].id])};
    return inst;
  }
  // In front of what the body does.
  static void MoveInto(Each& each, std::vector<Inst> front) {
    each.body.insert(each.body.begin(), std::make_move_iterator(front.begin()),
                     std::make_move_iterator(front.end()));
  }
  Value Clamped(const Affine& place, Value extent, std::vector<Inst>& body) {
    ir::Appender append(f_, body, 0);
    const Value last = append.Number(Affine::Of(extent) - Affine::Const(1));
    const Value below = append.Make(Op::Min, ir::Type::I64(), {last, append.Number(place)});
    return append.Make(Op::Max, ir::Type::I64(), {append.Number({}), below});
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  const ArrayReads reads_;
  const ReadRanges ranges_;
  const TurnValues turns_;
  const std::set<Value> taken_;
  const ir::KnownExtents known_;
  std::vector<Maker> makers_;
  std::set<Value> of_rows_;                          // what is made of larger arrays
  std::unordered_map<uint32_t, const Inst*> large_;  // by array: who makes its elements alone
};

}  // namespace

bool MakeElementsAlone(ir::Function& f) {
  if (f.blocks.size() < 2) return false;
  bool changed = false;
  for (int round = 0; round < kMostRoundsAlone && ElementsAlone(f).Run(); ++round) changed = true;
  return changed;
}

}  // namespace pullback::tensor
