// What is computed of a point's row for each pair that data make of points, is computed for each point, where there are
// fewer of these:
//
//   u = each(p < P, c < h, k < d) {               few = P <= N; Q = min(P, N)     N: the rows of x, or P where d is 0
//     i = a[p]                                    u = each(q < Q, c < h, k < d) {
//     x[i, k] * w[k, c] } sum [p, c]                i = few ? a[q] : q
//   y = each(p < P, c < h) { … u[p, c] … }          x[i, k] * w[k, c] } sum [q, c]
//                                                 y = each(p < P, c < h) { … u[few ? p : a[p], c] … }
//
// What is made of these rows alone, an activation, another product, follows them.
//
// The two ends of a relation's pairs, and of the edges of a graph, are such pairs; labels and words, of which there may be many
// fewer than points, are not: of them a row is made where it is read. Neighbours, x[a[p, j]] with p a point, are never fewer:
//
//   u = each(p < N, j < J, c < h, k < d) {        Q = 0 < J ? N : 0
//     i = a[p, j]                                 u = each(q < Q, c < h, k < d) { x[q, k] * w[k, c] } sum [q, c]
//     x[i, k] * w[k, c] } sum [p, j, c]           … u[a[p, j], c] …
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "core/analysis/carried_extents.h"
#include "core/ir/dominance.h"
#include "core/ir/op_weight.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using analysis::Extent;
using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMost = 64;  // candidates of a function

// At each of `pairs` points data say one of `points` places.
struct Place {
  Value data;
  ir::Values pairs;  // extents, as many as the data have axes
  Extent points;

  bool operator==(const Place&) const = default;
};

struct Candidate {
  Value rows;                // the statement's result
  std::vector<size_t> axes;  // of the pairs: by axis of the data
  Place place;
  uint32_t loc;      // of what is read there
  Value neighbours;  // of two axes: the extent of that which is not the points'
  Value base;        // of what is made of rows of a candidate alone: these
};

bool IsJust(const Affine& a, Value v) { return a.AsValue() == v; }

bool Mentions(const Inst& inst, Value v) {
  bool found = false;
  ir::ForEachOperand(inst, [&](Value x) { found |= x == v; });
  return found;
}

bool IsRestricted(const ir::Each& each, Value index) {
  return std::any_of(each.where.begin(), each.where.end(),
                     [&](const ir::Constraint& c) { return c.e.Coeff(index) != 0; });
}

// The only body instruction that needs v, or nullptr.
const Inst* OnlyReader(const ir::Each& each, Value v) {
  const Inst* only = nullptr;
  for (const Inst& inst : each.body) {
    if (!Mentions(inst, v)) continue;
    if (only != nullptr) return nullptr;
    only = &inst;
  }
  return only;
}

// Of a read of integers by indices, each by another: which indices. Empty: it is none.
std::vector<size_t> IndicesOf(const ir::Each& each, const Inst& read, const ir::Function& f) {
  if (read.op != Op::Index || read.guard.valid() || f.TypeOf(read.results[0]) != ir::Type::I64())
    return {};
  std::vector<size_t> indices;
  for (const Affine& sub : read.subs) {
    const std::optional<size_t> index = PlaceOfIndex(each, sub.AsValue());
    if (!index || std::count(indices.begin(), indices.end(), *index) > 0) return {};
    indices.push_back(*index);
  }
  return indices;
}

// Whether a call of the function ends, without a trap, whatever it is given.
bool IsTotal(const ir::Module& m, uint32_t callee, int depth = 0) {
  constexpr int kMostDeep = 4;
  const ir::Function& f = m.Get(callee);
  if (depth == kMostDeep) return false;
  const std::vector<uint32_t> order = ir::ReversePostorder(f);
  std::vector<size_t> place(f.blocks.size());
  for (size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
  return std::all_of(order.begin(), order.end(), [&](uint32_t b) {
    const ir::Edges& edges = f.blocks[b].term.edges;
    const auto& insts = f.blocks[b].insts;
    return std::all_of(edges.begin(), edges.end(),
                       [&](const ir::Edge& e) { return place[e.block] > place[b]; }) &&
           std::all_of(insts.begin(), insts.end(), [&](const Inst& inst) {
             if (inst.op == Op::Call) return IsTotal(m, inst.callee, depth + 1);
             return !inst.each && !ir::MayTrap(inst, f) &&
                    (ir::Info(inst.op).flags & ir::kEffect) == 0;
           });
  });
}

class Finder {
 public:
  Finder(const ir::Module& m, const ir::Function& f) : m_(m), f_(f), extents_(f) {}

  std::vector<Candidate> Find() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.each) AddPlaces(*inst.each);
        if (inst.each && candidates_.size() < kMost) AddCandidate(inst);
      }
    }
    if (candidates_.empty()) return {};
    DropReadOtherwise();
    std::erase_if(candidates_,
                  [&](const Candidate& c) { return c.base.valid() && !CandidateOf(c.base); });
    std::vector<Candidate> found;
    for (const Candidate& c : candidates_) {
      if (IsOfPairs(c)) found.push_back(c);
    }
    return found;
  }

 private:
  void AddPlaces(const ir::Each& each) {
    for (const Inst& read : each.body) {
      const std::vector<size_t> indices = IndicesOf(each, read, f_);
      if (indices.size() != 1) continue;
      const ir::Values pairs = {each.indices[indices[0]].extent};
      const Value place = read.results[0];
      const auto add = [&](Extent points) { places_.push_back({read.args[0], pairs, points}); };
      for (const Inst& inst : each.body) {
        for (size_t axis = 0; inst.op == Op::Index && axis < inst.subs.size(); ++axis) {
          if (IsJust(inst.subs[axis], place))
            add(extents_.Of(inst.args[0], static_cast<int>(axis)));
        }
      }
      for (const ir::EachResult& r : each.results) {
        for (size_t axis = 0; axis < r.out.size(); ++axis) {
          if (IsJust(r.out[axis], place)) add(extents_.Of(r.shape[axis]));
        }
      }
    }
  }

  void AddCandidate(const Inst& inst) {
    const ir::Each& each = *inst.each;
    if (each.results.size() != 1) return;
    const ir::EachResult& r = each.results[0];
    const bool plain = each.where.empty() &&
                       (r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum) &&
                       !r.guard.valid() && !r.into.valid() && IsPrefixForm(each, r);
    const bool takes_work = r.out.size() < each.indices.size() ||
                            std::any_of(each.body.begin(), each.body.end(), ir::IsDear);
    const bool traps = std::any_of(each.body.begin(), each.body.end(), [&](const Inst& body) {
      if (body.guard.valid()) return true;
      if (body.op == Op::Call) return !IsTotal(m_, body.callee);
      return body.op != Op::Index && ir::MayTrap(body, f_);
    });
    if (!plain || traps) return;
    for (const Inst& read : each.body) {
      std::optional<Candidate> found;
      if (takes_work) found = ByData(inst, read);
      if (!found) found = ByRows(inst, read);
      if (!found) continue;
      candidates_.push_back(*found);
      return;
    }
  }

  // The read is of data by indices of the result that nothing else needs, and what it says is read by alone.
  std::optional<Candidate> ByData(const Inst& inst, const Inst& read) const {
    const ir::Each& each = *inst.each;
    const std::vector<size_t> axes = IndicesOf(each, read, f_);
    if (axes.empty() || axes.size() > 2) return std::nullopt;
    Candidate found{inst.results[0], axes, {read.args[0], {}, {}}, 0, {}, {}};
    for (size_t index : found.axes) {
      const auto [var, extent] = each.indices[index];
      if (index >= each.results[0].out.size() || OnlyReader(each, var) != &read)
        return std::nullopt;
      found.place.pairs.push_back(extent);
    }
    if (!FindPoints(each, read.results[0], found)) return std::nullopt;
    const ir::Values& pairs = found.place.pairs;
    const auto of_points = std::find_if(pairs.begin(), pairs.end(), [&](Value extent) {
      return extents_.Of(extent) == found.place.points;
    });
    // A point has neighbours; a permutation of points makes no more of them.
    if ((of_points != pairs.end()) != (pairs.size() == 2)) return std::nullopt;
    if (pairs.size() == 2) found.neighbours = pairs[of_points == pairs.begin() ? 1 : 0];
    return found;
  }

  // The read is of a candidate's rows, by an index of the result by which rows of the same points are read, and nothing else.
  std::optional<Candidate> ByRows(const Inst& inst, const Inst& read) const {
    const ir::Each& each = *inst.each;
    const Candidate* base = read.op == Op::Index ? CandidateOf(read.args[0]) : nullptr;
    if (base == nullptr || base->axes.size() != 1) return std::nullopt;
    const auto index = PlaceOfIndex(each, read.subs[base->axes[0]].AsValue());
    if (!index || *index >= each.results[0].out.size()) return std::nullopt;
    const Value var = each.indices[*index].var;
    for (const Inst& body : each.body) {
      if (Mentions(body, var) && !ReadsRowOf(body, var, base->place)) return std::nullopt;
    }
    if (each.indices[*index].extent != base->place.pairs[0] || each.results[0].value == var)
      return std::nullopt;
    return Candidate{inst.results[0], {*index}, base->place, base->loc, {}, base->rows};
  }
  const Candidate* CandidateOf(Value rows) const {
    const auto it = std::find_if(candidates_.begin(), candidates_.end(),
                                 [&](const Candidate& c) { return c.rows == rows; });
    return it == candidates_.end() ? nullptr : &*it;
  }
  bool ReadsRowOf(const Inst& read, Value index, const Place& place) const {
    const Candidate* c = read.op == Op::Index ? CandidateOf(read.args[0]) : nullptr;
    if (c == nullptr || c->axes.size() != 1 || c->place != place) return false;
    for (size_t axis = 0; axis < read.subs.size(); ++axis) {
      const bool names = read.subs[axis].Coeff(index) != 0;
      if (names != (axis == c->axes[0]) || (names && !IsJust(read.subs[axis], index))) return false;
    }
    return true;
  }

  // Arrays are read at that place of axes that are as long, and nothing else asks for it.
  bool FindPoints(const ir::Each& each, Value place, Candidate& found) const {
    Extent& points = found.place.points;
    for (const Inst& body : each.body) {
      if (!Mentions(body, place)) continue;
      if (body.op != Op::Index) return false;
      for (size_t k = 0; k < body.subs.size(); ++k) {
        if (body.subs[k].Coeff(place) == 0) continue;
        const Extent extent = extents_.Of(body.args[0], static_cast<int>(k));
        const bool first = !points.value.valid();
        if (!IsJust(body.subs[k], place) || (!first && extent != points)) return false;
        points = extent;
        if (first) found.loc = body.loc;
      }
    }
    return points.value.valid() && each.results[0].value != place;
  }

  // Those stay of which statements read every row, and nothing else asks.
  void DropReadOtherwise() {
    std::vector<int> reads(f_.values.size());
    std::vector<char> otherwise(f_.values.size());
    std::vector<size_t> of(f_.values.size(), SIZE_MAX);
    for (size_t k = 0; k < candidates_.size(); ++k) of[candidates_[k].rows.id] = k;
    const auto ask = [&](Value v) { otherwise[v.id] = 1; };
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        if (!inst.each) {
          ir::ForEachOperand(inst, ask);
          continue;
        }
        for (const Inst& body : inst.each->body) {
          for (Value v : body.args) {
            if (of[v.id] == SIZE_MAX) continue;
            const bool each_row =
                body.op == Op::Index && ReadsEachRow(*inst.each, body, candidates_[of[v.id]]);
            each_row ? ++reads[v.id] : otherwise[v.id] = 1;
          }
        }
        for (const ir::EachResult& r : inst.each->results) {
          if (r.into.valid()) ask(r.into);
        }
      }
      ir::ForEachTermOperand(b.term, ask);
    }
    std::erase_if(candidates_, [&](const Candidate& c) {
      return otherwise[c.rows.id] != 0 || reads[c.rows.id] == 0;
    });
  }

  static bool ReadsEachRow(const ir::Each& each, const Inst& read, const Candidate& c) {
    if (read.guard.valid()) return false;
    for (size_t k = 0; k < c.axes.size(); ++k) {
      const std::optional<size_t> index = PlaceOfIndex(each, read.subs[c.axes[k]].AsValue());
      if (!index || each.indices[*index].extent != c.place.pairs[k] ||
          IsRestricted(each, each.indices[*index].var))
        return false;
    }
    return true;
  }

  // Other data say another place among as many, or rows of another array are read for as many pairs; or points have
  // neighbours.
  bool IsOfPairs(const Candidate& c) const {
    const auto is_other = [&](const Place& p) {
      return p.data != c.place.data && p.pairs == c.place.pairs;
    };
    return c.axes.size() == 2 ||
           std::any_of(places_.begin(), places_.end(),
                       [&](const Place& p) { return is_other(p) && p.points == c.place.points; }) ||
           std::any_of(candidates_.begin(), candidates_.end(),
                       [&](const Candidate& other) { return is_other(other.place); });
  }

  const ir::Module& m_;
  const ir::Function& f_;
  const analysis::CarriedExtents extents_;
  std::vector<Place> places_;
  std::vector<Candidate> candidates_;
};

class Mover {
 public:
  // `counts`: by rows, of which there are no more than that and than pairs.
  Mover(ir::Function& f, const Candidate& c, const std::vector<Candidate>& all,
        std::map<Value, Value>& counts)
      : f_(f), c_(c), all_(all), counts_(counts) {}

  void Run() {
    for (ir::Block& b : f_.blocks) {
      std::vector<Inst> out;
      for (Inst& inst : b.insts) {
        if (inst.each && inst.results.size() == 1 && inst.results[0] == c_.rows) {
          MakeRows(inst, out);
        } else if (inst.each && !Follows(inst)) {
          ReadRows(*inst.each);
        }
        out.push_back(std::move(inst));
      }
      b.insts = std::move(out);
    }
  }

 private:
  // A turn of its reads the row of the same turn.
  bool Follows(const Inst& inst) const {
    return std::any_of(all_.begin(), all_.end(), [&](const Candidate& c) {
      return c.base.valid() && c.place == c_.place && inst.results.size() == 1 &&
             c.rows == inst.results[0];
    });
  }

  Value Append(Op op, ir::Values args, ir::Type type, std::vector<Inst>& out) const {
    Inst& inst = out.emplace_back();
    inst.op = op;
    inst.args = std::move(args);
    inst.results = {f_.NewValue(type)};
    return inst.results[0];
  }

  void MakeRows(Inst& inst, std::vector<Inst>& out) {
    const Extent points = c_.place.points;
    Value count = c_.base.valid() ? counts_.at(c_.base) : points.value;
    if (!c_.base.valid() && !points.IsInteger()) {
      count = Append(Op::Dim, {points.value}, ir::Type::I64(), out);
      out.back().bits = static_cast<uint64_t>(points.axis);
    }
    if (c_.axes.size() == 1) {
      MakeFewer(*inst.each, count, out);
    } else {
      MakeAll(inst, count, out);
    }
  }

  Value AppendI64(uint64_t bits, std::vector<Inst>& out) const {
    const Value v = Append(Op::Const, {}, ir::Type::I64(), out);
    out.back().bits = bits;
    return v;
  }

  // Whether an element has a term: else nothing is read, wherever it says. Not valid: it has.
  Value HasTerms(const ir::Each& each, std::vector<Inst>& out) const {
    Value has;
    for (size_t k = each.results[0].out.size(); k < each.indices.size(); ++k) {
      const Value zero = AppendI64(0, out);
      const Value some = Append(Op::Lt, {zero, each.indices[k].extent}, ir::Type::Bool(), out);
      has = has.valid() ? Append(Op::And, {has, some}, ir::Type::Bool(), out) : some;
    }
    return has;
  }

  // Those of the pairs, if there are no more.
  void MakeFewer(ir::Each& each, Value count, std::vector<Inst>& out) {
    const Value pairs = c_.place.pairs[0];
    if (const Value has = HasTerms(each, out); has.valid())
      count = Append(Op::Select, {has, count, pairs}, ir::Type::I64(), out);
    counts_[c_.rows] = count;
    few_ = Append(Op::Le, {pairs, count}, ir::Type::Bool(), out);
    ir::IndexVar& index = each.indices[c_.axes[0]];
    index.extent = each.results[0].shape[c_.axes[0]] =
        Append(Op::Min, {pairs, count}, ir::Type::I64(), out);
    if (c_.base.valid()) return;  // it has the rows of its turns
    const auto read = ReadOf(each, index.var);
    Inst choose;
    choose.op = Op::Select;
    choose.results = read->results;
    read->results = {f_.NewValue(ir::Type::I64())};
    choose.args = {few_, read->results[0], index.var};
    each.body.insert(read + 1, std::move(choose));
  }

  // All, where a point has neighbours at all; of rows without terms one.
  void MakeAll(Inst& inst, Value count, std::vector<Inst>& out) {
    ir::Each& each = *inst.each;
    const size_t kept = c_.axes[0], dropped = c_.axes[1];
    has_terms_ = HasTerms(each, out);
    zero_ = AppendI64(0, out);
    const Value some = Append(Op::Lt, {zero_, c_.neighbours}, ir::Type::Bool(), out);
    const Value point = each.indices[kept].var;
    Value rows = Append(Op::Select, {some, count, zero_}, ir::Type::I64(), out);
    if (has_terms_.valid())
      rows = Append(Op::Select, {has_terms_, rows, AppendI64(1, out)}, ir::Type::I64(), out);
    each.indices[kept].extent = each.results[0].shape[kept] = rows;
    const auto read = ReadOf(each, point);
    const Value place = read->results[0];
    each.body.erase(read);
    for (Inst& body : each.body) {
      for (Affine& sub : body.subs) {
        if (IsJust(sub, place)) sub = Affine::Of(point);
      }
    }
    const auto drop = [dropped](auto& list) {
      list.erase(list.begin() + static_cast<long>(dropped));
    };
    drop(each.indices);
    drop(each.results[0].out);
    drop(each.results[0].shape);
    ir::Type type = f_.TypeOf(c_.rows);
    --type.rank;
    fewer_axes_ = inst.results[0] = f_.NewValue(type, f_.names[c_.rows.id]);
  }

  static std::vector<Inst>::iterator ReadOf(ir::Each& each, Value index) {
    return std::find_if(each.body.begin(), each.body.end(),
                        [&](const Inst& body) { return Mentions(body, index); });
  }

  void ReadRows(ir::Each& each) const {
    std::vector<Inst> body;
    for (Inst& read : each.body) {
      if (read.op == Op::Index && read.args[0] == c_.rows) ReadRow(read, body);
      body.push_back(std::move(read));
    }
    each.body = std::move(body);
  }
  void ReadRow(Inst& read, std::vector<Inst>& body) const {
    Value place = Append(Op::Index, {c_.place.data}, ir::Type::I64(), body);
    for (size_t axis : c_.axes) body.back().subs.push_back(read.subs[axis]);
    body.back().loc = read.loc;
    if (few_.valid()) {
      const Value pair = read.subs[c_.axes[0]].AsValue();
      place = Append(Op::Select, {few_, pair, place}, ir::Type::I64(), body);
    } else {
      read.args = {fewer_axes_};
      if (has_terms_.valid())
        place = Append(Op::Select, {has_terms_, place, zero_}, ir::Type::I64(), body);
    }
    read.loc = c_.loc;
    read.subs[c_.axes[0]] = Affine::Of(place);
    if (c_.axes.size() == 1) return;
    std::vector<Affine> subs;
    for (size_t axis = 0; axis < read.subs.size(); ++axis) {
      if (axis != c_.axes[1]) subs.push_back(read.subs[axis]);
    }
    read.subs = std::move(subs);
  }

  ir::Function& f_;
  const Candidate& c_;
  const std::vector<Candidate>& all_;
  std::map<Value, Value>& counts_;
  Value few_;                            // of one axis
  Value fewer_axes_, has_terms_, zero_;  // of two
};

}  // namespace

bool RowsAtPoints(const ir::Module& m, ir::Function& f) {
  const std::vector<Candidate> found = Finder(m, f).Find();
  std::map<Value, Value> counts;
  for (const Candidate& c : found) Mover(f, c, found, counts).Run();
  return !found.empty();
}

}  // namespace pullback::tensor
