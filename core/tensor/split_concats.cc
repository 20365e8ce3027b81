// Rows of two arrays that are put behind each other and are more than any of the function's own are not put there where what is
// made of them is made row by row: it is made of the rows of each, and these are put behind each other once they are few numbers.
//
//   c = each(i < N, j < k) { p = holds (i < n); select p, a[i, j] if p, b[i - n, j] if not p } gen [i, j] of (N, k)
//   s = each(i < N, j < k) { tanh(c[i, j]) * v[j] } sum [i] of (N)                                      N = n + m
//
//   s1 = each(i < n, j < k) { tanh(a[i, j]) * v[j] } sum [i] of (n)
//   s2 = each(i < m, j < k) { tanh(b[i, j]) * v[j] } sum [i] of (m)
//   s = each(i < N) { p = holds (i < n); select p, s1[i] if p, s2[i - n] if not p } gen [i] of (N)
//
// A sum over the rows is that of each part, added. Where all rows are needed at once, keys of attention, products of all pairs, and
// where other code than statements needs them, the array is made.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/analysis/outer_values.h"
#include "core/ir/axis_extents.h"
#include "core/ir/op_weight.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

constexpr size_t kMostConcats = 8;  // of a function
constexpr size_t kMostTries = 32;   // each walks over its block

// The rows of two arrays behind each other, along an axis of both.
struct Concat {
  Value first, second;
  size_t axis = 0;
};
// How many rows both have, and each.
struct Lengths {
  Value whole, first, second;
};

bool TakesWork(const Inst& inst) {
  return std::any_of(inst.each->results.begin(), inst.each->results.end(),
                     [](const EachResult& r) { return r.monoid != Monoid::kGen; }) ||
         std::any_of(inst.each->body.begin(), inst.each->body.end(), ir::IsDear);
}

// Of one array that a block puts together.
class ConcatSplitter {
 public:
  ConcatSplitter(ir::Function& f, ir::Block& b, const ir::OwnArrays& own, Concat concat,
                 Lengths lengths)
      : f_(f), b_(b), own_(own), concat_(concat), lengths_(lengths) {}

  // False: some of the large arrays would be put together all the same.
  bool Run(size_t at) {
    Plan(at);
    if (!pays_) return false;
    std::vector<Inst> out;
    parts_[b_.insts[at].results[0]] = concat_;
    for (size_t k = 0; k < b_.insts.size(); ++k) {
      Inst& inst = b_.insts[k];
      if (split_.contains(k))
        Split(inst, out);
      else if (k != at || whole_.contains(inst.results[0]))
        out.push_back(std::move(inst));
    }
    b_.insts = std::move(out);
    return true;
  }

 private:
  // Which statements are split, and which arrays are put together.
  void Plan(size_t at) {
    std::map<Value, size_t> axes = {{b_.insts[at].results[0], concat_.axis}};
    std::set<Value> large = {b_.insts[at].results[0]};
    const auto need = [&](Value v) {
      if (axes.contains(v)) whole_.insert(v);
    };
    for (size_t k = at + 1; k < b_.insts.size(); ++k) {
      const Inst& inst = b_.insts[k];
      bool reads = false;
      ir::ForEachOperand(inst, [&](Value v) { reads |= axes.contains(v); });
      if (!reads) continue;
      const Value row = inst.each ? RowOf(*inst.each, axes) : Value();
      if (!row.valid()) {
        ir::ForEachOperand(inst, need);
        continue;
      }
      split_[k] = row;
      for (size_t r = 0; r < inst.results.size(); ++r) {
        const EachResult& made = inst.each->results[r];
        const auto out = std::find(made.out.begin(), made.out.end(), Affine::Of(row));
        if (out == made.out.end()) continue;
        axes[inst.results[r]] = static_cast<size_t>(out - made.out.begin());
        if (made.shape.size() > 1 && !own_.IsNoLarger(made.shape)) large.insert(inst.results[r]);
      }
    }
    for (const ir::Block& other : f_.blocks) {
      if (&other != &b_) {
        for (const Inst& inst : other.insts) ir::ForEachOperand(inst, need);
      }
      ir::ForEachTermOperand(other.term, need);
    }
    axes_ = std::move(axes);
    pays_ = std::none_of(whole_.begin(), whole_.end(), [&](Value v) { return large.contains(v); });
  }

  // The one index that numbers rows of such arrays, at which all of them are read; kNoValue: the statement stays.
  Value RowOf(const Each& each, const std::map<Value, size_t>& axes) const {
    Value row;
    for (const Inst& inst : each.body) {
      if (inst.op != Op::Index || !axes.contains(inst.args[0])) continue;
      const Value at = inst.subs[axes.at(inst.args[0])].AsValue();
      const std::optional<size_t> place = PlaceOfIndex(each, at);
      const bool whole = place && each.indices[*place].extent == lengths_.whole;
      if (!whole || (row.valid() && row != at)) return {};
      row = at;
    }
    if (!row.valid()) return {};
    const bool may = std::all_of(each.results.begin(), each.results.end(),
                                 [&](const EachResult& r) { return MayPart(each, r, row); });
    return may ? row : Value();
  }
  bool MayPart(const Each& each, const EachResult& r, Value row) const {
    if (r.into.valid()) return false;
    const size_t named = static_cast<size_t>(std::count_if(
        r.out.begin(), r.out.end(), [&](const Affine& a) { return a.Coeff(row) != 0; }));
    if (named == 0) return r.monoid == Monoid::kSum;
    const auto out = std::find(r.out.begin(), r.out.end(), Affine::Of(row));
    return named == 1 && out != r.out.end() &&
           r.shape[static_cast<size_t>(out - r.out.begin())] == lengths_.whole &&
           (!ir::IsScan(r.monoid) || *PlaceOfIndex(each, row) < r.outer);
  }

  void Split(Inst& inst, std::vector<Inst>& out) {
    const size_t at = static_cast<size_t>(&inst - b_.insts.data());
    Inst first = Part(inst, split_.at(at), false), second = Part(inst, split_.at(at), true);
    const std::vector<Value> of_first(first.results.begin(), first.results.end());
    const std::vector<Value> of_second(second.results.begin(), second.results.end());
    out.push_back(std::move(first));
    out.push_back(std::move(second));
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const Value made = inst.results[k];
      const auto axis = axes_.find(made);
      if (axis == axes_.end()) {
        out.push_back(Added(made, of_first[k], of_second[k], inst.each->results[k], inst.loc));
        continue;
      }
      parts_[made] = {of_first[k], of_second[k], axis->second};
      if (whole_.contains(made)) out.push_back(Joined(made, inst.each->results[k], inst.loc));
    }
  }

  // The statement for the rows of one part alone.
  Inst Part(const Inst& inst, Value row, bool second) {
    CopiedStatement copy = CopyStatement(inst, f_);
    Inst part = std::move(copy.inst);
    Each& each = *part.each;
    const Value old = copy.fresh.at(row.id), fresh = f_.NewLike(f_, old);
    const Value extent = second ? lengths_.second : lengths_.first;
    each.indices[*PlaceOfIndex(each, old)] = {fresh, extent};
    for (EachResult& r : each.results) {
      const auto out = std::find(r.out.begin(), r.out.end(), Affine::Of(old));
      if (out == r.out.end()) continue;
      *out = Affine::Of(fresh);
      r.shape[static_cast<size_t>(out - r.out.begin())] = extent;
    }
    for (Inst& read : each.body) {
      const auto of = read.op == Op::Index ? parts_.find(read.args[0]) : parts_.end();
      if (of == parts_.end()) continue;
      read.subs[of->second.axis] = Affine::Of(fresh);
      read.args[0] = second ? of->second.second : of->second.first;
    }
    const Affine from = second ? Affine::Of(lengths_.first) : Affine();
    SubstituteIndex(each, f_, old, Affine::Of(fresh) + from);
    for (Value& v : part.results) v = f_.NewLike(f_, v);
    return part;
  }

  Inst Added(Value made, Value first, Value second, const EachResult& r, uint32_t loc) {
    Inst add;
    add.loc = loc;
    add.results = {made};
    if (!f_.TypeOf(made).IsArray()) {
      add.op = Op::Add;
      add.args = {first, second};
      return add;
    }
    add.op = Op::Each;
    add.each = std::make_unique<Each>();
    Each& each = *add.each;
    EachResult gen = Element(r, each);
    Inst sum;
    sum.op = Op::Add;
    for (Value part : {first, second}) sum.args.push_back(Read(part, gen.out, {}, each));
    sum.results = {f_.NewValue(f_.TypeOf(made).Element())};
    gen.value = sum.results[0];
    each.body.push_back(std::move(sum));
    each.results.push_back(std::move(gen));
    return add;
  }

  // The parts behind each other.
  Inst Joined(Value made, const EachResult& r, uint32_t loc) {
    const Concat& parts = parts_.at(made);
    Inst join;
    join.op = Op::Each;
    join.loc = loc;
    join.results = {made};
    join.each = std::make_unique<Each>();
    Each& each = *join.each;
    EachResult gen = Element(r, each);
    const Affine row = gen.out[parts.axis], n = Affine::Of(lengths_.first);
    const Value in_first = Holds(n - row - Affine::Const(1), each);
    const Value in_second = Holds(row - n, each);
    const Value first = Read(parts.first, gen.out, in_first, each);
    ir::Affines behind(gen.out.begin(), gen.out.end());
    behind[parts.axis] = row - n;
    const Value second = Read(parts.second, behind, in_second, each);
    Inst select;
    select.op = Op::Select;
    select.args = {in_first, first, second};
    select.results = {f_.NewLike(f_, first)};
    gen.value = select.results[0];
    each.body.push_back(std::move(select));
    each.results.push_back(std::move(gen));
    return join;
  }

  // Each element of such an array, by indices of its own.
  EachResult Element(const EachResult& r, Each& each) {
    EachResult gen;
    gen.monoid = Monoid::kGen;
    gen.shape = r.shape;
    gen.loc = r.loc;
    for (Value extent : r.shape) {
      const Value index = f_.NewValue(ir::Type::I64(), "i");
      each.indices.push_back({index, extent});
      gen.out.push_back(Affine::Of(index));
    }
    return gen;
  }
  Value Holds(Affine e, Each& each) {
    Inst inst;
    inst.op = Op::Holds;
    inst.constraints = {{std::move(e), false}};
    inst.results = {f_.NewValue(ir::Type::Bool())};
    each.body.push_back(std::move(inst));
    return each.body.back().results[0];
  }
  Value Read(Value array, ir::AffineSpan subs, Value guard, Each& each) {
    Inst inst;
    inst.op = Op::Index;
    inst.args = {array};
    inst.subs = subs;
    inst.guard = guard;
    inst.results = {f_.NewValue(f_.TypeOf(array).Element())};
    each.body.push_back(std::move(inst));
    return each.body.back().results[0];
  }

  ir::Function& f_;
  ir::Block& b_;
  const ir::OwnArrays& own_;
  const Concat concat_;
  const Lengths lengths_;
  bool pays_ = false;
  std::map<size_t, Value> split_;  // by statement of the block: the index of its rows
  std::map<Value, size_t> axes_;   // of the rows, by array that is made in parts
  std::set<Value> whole_;          // of these, those that are put together
  std::map<Value, Concat> parts_;  // by array
};

class ConcatFinder {
 public:
  explicit ConcatFinder(ir::Function& f)
      : f_(f), outer_(f), own_(f), extents_(f), equal_(ir::CheckedEqual(f.blocks[0])) {
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.each && TakesWork(inst)) worked_.insert(inst.results.begin(), inst.results.end());
      }
    }
  }

  bool Run() {
    size_t tries = 0;
    for (ir::Block& b : f_.blocks) {
      for (size_t k = 0; k < b.insts.size(); ++k) {
        if (!b.insts[k].each) continue;
        const std::optional<Concat> concat = ConcatOf(b.insts[k]);
        if (!concat) continue;
        if (++tries > kMostTries) return false;
        const std::optional<Lengths> lengths = LengthsOf(b.insts[k], *concat);
        if (lengths && ConcatSplitter(f_, b, own_, *concat, *lengths).Run(k)) return true;
      }
    }
    return false;
  }

 private:
  // Of a large array, some of whose rows it takes work to make.
  std::optional<Concat> ConcatOf(const Inst& inst) const {
    const Each& each = *inst.each;
    if (each.results.size() != 1) return std::nullopt;
    const EachResult& r = each.results[0];
    if (r.monoid != Monoid::kGen || r.guard.valid() || r.into.valid() || !each.where.empty() ||
        r.shape.size() < 2 || !HasElementByIndices(each, r) || own_.IsNoLarger(r.shape))
      return std::nullopt;
    const Inst* select = FindDef(each, r.value);
    if (!select || select->op != Op::Select || select->guard.valid()) return std::nullopt;
    const Inst* p = FindDef(each, select->args[0]);
    const Inst* first = FindDef(each, select->args[1]);
    const Inst* second = FindDef(each, select->args[2]);
    if (!p || !first || !second || p->op != Op::Holds || p->guard.valid() ||
        p->constraints.size() != 1 || p->constraints[0].equality || first->op != Op::Index ||
        second->op != Op::Index || first->guard != p->results[0] ||
        !(ir::AffineSpan(r.out) == first->subs) || second->subs.size() != r.out.size())
      return std::nullopt;
    if (!worked_.contains(first->args[0]) && !worked_.contains(second->args[0]))
      return std::nullopt;
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      if (second->subs[axis] == r.out[axis]) continue;
      const Affine from = r.out[axis] - second->subs[axis];
      const bool others =
          std::equal(second->subs.begin() + static_cast<long>(axis) + 1, second->subs.end(),
                     r.out.begin() + static_cast<long>(axis) + 1);
      const bool behind = p->constraints[0].e == from - r.out[axis] - Affine::Const(1);
      if (!others || !behind || !IsElsewhere(each, second->guard, *p, r.out[axis] - from))
        return std::nullopt;
      return Concat{first->args[0], second->args[0], axis};
    }
    return std::nullopt;
  }
  // Whether the guard is that p does not hold, as the constraint e >= 0 says.
  static bool IsElsewhere(const Each& each, Value guard, const Inst& p, const Affine& e) {
    const Inst* def = FindDef(each, guard);
    if (!def || def->guard.valid()) return false;
    if (def->op == Op::Not) return def->args[0] == p.results[0];
    return def->op == Op::Holds && def->constraints.size() == 1 && !def->constraints[0].equality &&
           def->constraints[0].e == e;
  }

  // Nothing: nothing says that the rows of the second begin where those of the first end, or that there are no more of them.
  std::optional<Lengths> LengthsOf(const Inst& inst, const Concat& concat) const {
    const Each& each = *inst.each;
    const EachResult& r = each.results[0];
    const Inst* second = FindDef(each, FindDef(each, r.value)->args[2]);
    const Affine from = r.out[concat.axis] - second->subs[concat.axis];
    const Lengths lengths = {r.shape[concat.axis], extents_.Of(concat.first, concat.axis),
                             extents_.Of(concat.second, concat.axis)};
    if (!lengths.first.valid() || !lengths.second.valid()) return std::nullopt;
    // Along the others a read is in range of the parts where it is of the whole, and only there.
    for (size_t axis = 0; axis < r.shape.size(); ++axis) {
      const auto is_as_long = [&](Value part) {
        return extents_.AreEqual(extents_.Of(part, axis), r.shape[axis]);
      };
      if (axis != concat.axis && (!is_as_long(concat.first) || !is_as_long(concat.second)))
        return std::nullopt;
    }
    const auto is_size = [&](Value size, const Affine& e) {
      if (Described(size) == e) return true;
      return std::any_of(equal_.begin(), equal_.end(), [&](const auto& pair) {
        return (pair.first == size && Described(pair.second) == e) ||
               (pair.second == size && Described(pair.first) == e);
      });
    };
    Affine start = from;
    for (const Affine::Term& t : from.terms) start = start.Substitute(t.value, Described(t.value));
    const bool fits =
        is_size(lengths.first, start) && is_size(lengths.whole, start + Described(lengths.second));
    return fits ? std::optional(lengths) : std::nullopt;
  }
  Affine Described(Value v) const {
    analysis::Box box;
    return outer_.Describe(v, box);
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const ir::OwnArrays own_;
  const ir::AxisExtents extents_;
  const std::vector<std::pair<Value, Value>> equal_;  // that the entry checks
  std::set<Value> worked_;                            // results that take work
};

// Whether some statement chooses between two elements at all.
bool AnyChooses(const ir::Function& f) {
  return std::any_of(f.blocks.begin(), f.blocks.end(), [](const ir::Block& b) {
    return std::any_of(b.insts.begin(), b.insts.end(), [](const Inst& inst) {
      return inst.each && std::any_of(inst.each->body.begin(), inst.each->body.end(),
                                      [](const Inst& in) { return in.op == Op::Select; });
    });
  });
}

}  // namespace

bool SplitConcats(ir::Function& f) {
  if (!AnyChooses(f)) return false;
  bool changed = false;
  for (size_t k = 0; k < kMostConcats && ConcatFinder(f).Run(); ++k) changed = true;
  return changed;
}

}  // namespace pullback::tensor
