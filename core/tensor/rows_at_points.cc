// What is computed of a point's row for each pair that data make of points, is computed for each point, where there are
// fewer of these:
//
//   u = each(p < P, c < h, k < d) {               few = P <= N; Q = min(P, N)     N: the rows of x, or P where d is 0
//     i = a[p]                                    used = each(p < few ? 0 : P) sum [a[p]] of (N): 1
//     x[i, k] * w[k, c] } sum [p, c]              u = each(q < Q, c < h, k < d) {
//   y = each(p < P, c < h) { … u[p, c] … }          i = few ? a[q] : used[q] > 0 ? q : a[0]
//                                                   x[i, k] * w[k, c] } sum [q, c]
//                                                 y = each(p < P, c < h) { … u[few ? p : a[p], c] … }
//
// A point that is in no pair has the row of one that is, so that nothing depends on what it holds. What is made of these rows
// alone, an activation, another product, follows them.
//
// The two ends of a relation's pairs, and of the edges of a graph, are such pairs; labels and words, of which there may be many
// fewer than points, are not: of them a row is made where it is read.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/analysis/carried_extents.h"
#include "core/ir/op_weight.h"
#include "core/ir/total.h"
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
struct PointPlace {
  Value data;
  Value pairs;  // an extent
  Extent points;

  bool operator==(const PointPlace&) const = default;
};

struct Candidate {
  Value rows;   // the statement's result
  size_t axis;  // of the pairs
  PointPlace place;
  uint32_t loc;  // of what is read there
  Value base;    // of what is made of rows of a candidate alone: these
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

// The index by which an integer is read of a vector; kNoValue: it is none.
Value IndexOf(const ir::Each& each, const Inst& read, const ir::Function& f) {
  if (read.op != Op::Index || read.guard.valid() || read.subs.size() != 1 ||
      f.TypeOf(read.results[0]) != ir::Type::I64())
    return {};
  const Value index = read.subs[0].AsValue();
  return PlaceOfIndex(each, index) ? index : Value();
}

// Whether everything is read at indices, at values from outside, and at `place`: so of points that are in no pair, too.
bool ReadsAnywhere(const ir::Each& each, Value place) {
  return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
    return std::all_of(inst.subs.begin(), inst.subs.end(), [&](const Affine& sub) {
      return std::all_of(sub.terms.begin(), sub.terms.end(), [&](const Affine::Term& t) {
        return t.value == place || FindDef(each, t.value) == nullptr;
      });
    });
  });
}

class Finder {
 public:
  Finder(const ir::Module& m, const ir::Function& f)
      : m_(m), f_(f), extents_(f, /*checked=*/false) {}

  std::vector<Candidate> Find() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.each) AddPlaces(*inst.each);
        if (inst.each && candidates_.size() < kMost) AddCandidate(inst);
      }
    }
    if (candidates_.empty()) return {};
    DropReadOtherwise();
    std::vector<Candidate> found;
    std::set<Value> rows;  // of these: a base comes first
    for (const Candidate& c : candidates_) {
      if (!IsOfPairs(c) || (c.base.valid() && !rows.contains(c.base))) continue;
      found.push_back(c);
      rows.insert(c.rows);
    }
    return found;
  }

 private:
  void AddPlaces(const ir::Each& each) {
    for (const Inst& read : each.body) {
      const Value index = IndexOf(each, read, f_);
      if (!index.valid()) continue;
      const Value pairs = each.indices[*PlaceOfIndex(each, index)].extent;
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
      return body.op != Op::Index && ir::MayTrap(body, f_, m_);
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

  // The read is of data by an index of the result that nothing else needs, and what it says is read by alone.
  std::optional<Candidate> ByData(const Inst& inst, const Inst& read) const {
    const ir::Each& each = *inst.each;
    const Value index = IndexOf(each, read, f_);
    if (!index.valid() || OnlyReader(each, index) != &read) return std::nullopt;
    const size_t axis = *PlaceOfIndex(each, index);
    const Value pairs = each.indices[axis].extent;
    Candidate found{inst.results[0], axis, {read.args[0], pairs, {}}, 0, {}};
    // A permutation of points makes no more of them.
    if (axis >= each.results[0].out.size() || !FindPoints(each, read.results[0], found) ||
        !ReadsAnywhere(each, read.results[0]) || extents_.Of(pairs) == found.place.points)
      return std::nullopt;
    return found;
  }

  // The read is of a candidate's rows, by an index of the result by which these are read, and nothing else.
  std::optional<Candidate> ByRows(const Inst& inst, const Inst& read) const {
    const ir::Each& each = *inst.each;
    const Candidate* base = read.op == Op::Index ? CandidateOf(read.args[0]) : nullptr;
    if (base == nullptr || !ReadsAnywhere(each, ir::kNoValue)) return std::nullopt;
    const auto index = PlaceOfIndex(each, read.subs[base->axis].AsValue());
    if (!index || *index >= each.results[0].out.size()) return std::nullopt;
    const Value var = each.indices[*index].var;
    for (const Inst& body : each.body) {
      if (Mentions(body, var) && !ReadsRowOf(body, var, *base)) return std::nullopt;
    }
    if (each.indices[*index].extent != base->place.pairs || each.results[0].value == var)
      return std::nullopt;
    return Candidate{inst.results[0], *index, base->place, base->loc, base->rows};
  }
  const Candidate* CandidateOf(Value rows) const {
    const auto it = std::find_if(candidates_.begin(), candidates_.end(),
                                 [&](const Candidate& c) { return c.rows == rows; });
    return it == candidates_.end() ? nullptr : &*it;
  }
  static bool ReadsRowOf(const Inst& read, Value index, const Candidate& base) {
    if (read.op != Op::Index || read.args[0] != base.rows) return false;
    for (size_t axis = 0; axis < read.subs.size(); ++axis) {
      const bool names = read.subs[axis].Coeff(index) != 0;
      if (names != (axis == base.axis) || (names && !IsJust(read.subs[axis], index))) return false;
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
    const std::optional<size_t> index = PlaceOfIndex(each, read.subs[c.axis].AsValue());
    return index && !read.guard.valid() && each.indices[*index].extent == c.place.pairs &&
           !IsRestricted(each, each.indices[*index].var);
  }

  // Other data say another place among as many, or rows of another array are read for as many pairs.
  bool IsOfPairs(const Candidate& c) const {
    const auto is_other = [&](const PointPlace& p) {
      return p.data != c.place.data && p.pairs == c.place.pairs;
    };
    return std::any_of(
               places_.begin(), places_.end(),
               [&](const PointPlace& p) { return is_other(p) && p.points == c.place.points; }) ||
           std::any_of(candidates_.begin(), candidates_.end(),
                       [&](const Candidate& other) { return is_other(other.place); });
  }

  const ir::Module& m_;
  const ir::Function& f_;
  const analysis::CarriedExtents extents_;
  std::vector<PointPlace> places_;
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
          MakeRows(*inst.each, out);
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

  void MakeRows(ir::Each& each, std::vector<Inst>& out) {
    const Value pairs = c_.place.pairs;
    Value points, count;
    if (c_.base.valid()) {
      count = counts_.at(c_.base);
    } else {
      count = points = CountPoints(out);
    }
    if (const Value has = HasTerms(each, out); has.valid())
      count = Append(Op::Select, {has, count, pairs}, ir::Type::I64(), out);
    counts_[c_.rows] = count;
    few_ = Append(Op::Le, {pairs, count}, ir::Type::Bool(), out);
    ir::IndexVar& index = each.indices[c_.axis];
    index.extent = each.results[0].shape[c_.axis] =
        Append(Op::Min, {pairs, count}, ir::Type::I64(), out);
    if (!c_.base.valid()) ChooseRows(each, index.var, UsedPoints(points, out));
  }

  Value CountPoints(std::vector<Inst>& out) const {
    const Extent points = c_.place.points;
    if (points.IsInteger()) return points.value;
    const Value count = Append(Op::Dim, {points.value}, ir::Type::I64(), out);
    out.back().bits = static_cast<uint64_t>(points.axis);
    return count;
  }

  // How many pairs a point is in, where there are rows of points.
  Value UsedPoints(Value points, std::vector<Inst>& out) const {
    const Value zero = AppendI64(0, out), one = AppendI64(1, out);
    const Value turns = Append(Op::Select, {few_, zero, c_.place.pairs}, ir::Type::I64(), out);
    Inst used;
    used.op = Op::Each;
    used.loc = c_.loc;
    used.each = std::make_unique<ir::Each>();
    const Value pair = f_.NewValue(ir::Type::I64());
    used.each->indices.push_back({pair, turns});
    const Value place = Append(Op::Index, {c_.place.data}, ir::Type::I64(), used.each->body);
    used.each->body.back().subs = {Affine::Of(pair)};
    ir::EachResult& r = used.each->results.emplace_back();
    r.monoid = ir::Monoid::kSum;
    r.out = {Affine::Of(place)};
    r.shape = {points};
    r.value = one;
    r.loc = c_.loc;
    used.results = {f_.NewValue(ir::Type::Array(DType::kI64, 1))};
    out.push_back(std::move(used));
    return out.back().results[0];
  }

  // Of a point that is in no pair the row of one that is.
  void ChooseRows(ir::Each& each, Value turn, Value used) const {
    std::vector<Inst> body;
    for (Inst& inst : each.body) {
      if (inst.op != Op::Index || inst.args[0] != c_.place.data || !Mentions(inst, turn)) {
        body.push_back(std::move(inst));
        continue;
      }
      const Value place = std::exchange(inst.results[0], f_.NewValue(ir::Type::I64()));
      const Value of_pair = inst.results[0];
      body.push_back(std::move(inst));
      const Value pairs = Append(Op::Index, {used}, ir::Type::I64(), body);
      body.back().subs = {Affine::Of(turn)};
      const Value zero = AppendI64(0, body);
      const Value is_used = Append(Op::Gt, {pairs, zero}, ir::Type::Bool(), body);
      const Value other = Append(Op::Index, {c_.place.data}, ir::Type::I64(), body);
      body.back().subs = {Affine::Const(0)};
      const Value of_point = Append(Op::Select, {is_used, turn, other}, ir::Type::I64(), body);
      Append(Op::Select, {few_, of_pair, of_point}, ir::Type::I64(), body);
      body.back().results = {place};
    }
    each.body = std::move(body);
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
    const Affine pair = read.subs[c_.axis];
    const Value point = Append(Op::Index, {c_.place.data}, ir::Type::I64(), body);
    body.back().subs = {pair};
    body.back().loc = read.loc;
    const Value row = Append(Op::Select, {few_, pair.AsValue(), point}, ir::Type::I64(), body);
    read.loc = c_.loc;
    read.subs[c_.axis] = Affine::Of(row);
  }

  ir::Function& f_;
  const Candidate& c_;
  const std::vector<Candidate>& all_;
  std::map<Value, Value>& counts_;
  Value few_;
};

}  // namespace

bool RowsAtPoints(const ir::Module& m, ir::Function& f) {
  const std::vector<Candidate> found = Finder(m, f).Find();
  std::map<Value, Value> counts;
  for (const Candidate& c : found) Mover(f, c, found, counts).Run();
  return !found.empty();
}

}  // namespace pullback::tensor
