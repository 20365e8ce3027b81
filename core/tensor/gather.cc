#include <algorithm>
#include <iterator>
#include <set>

#include "core/ir/known_extents.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/normalise.h"
#include "core/tensor/row_places.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/turns.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

// Sums this cheap are worth a loop nest of their own: a contraction of reads.
constexpr int kMaxFlops = 4;

// By one of the body that is not 0, so that nothing traps.
bool DividesByNumber(const ir::Each& each, const Inst& inst) {
  if (inst.op != Op::Div && inst.op != Op::Rem) return false;
  const Inst* by = FindDef(each, inst.args[1]);
  return by && by->op == Op::Const && by->bits != 0;
}

bool IsCheap(const ir::Each& each, const ir::Function& f) {
  int flops = 0;
  for (const Inst& inst : each.body) {
    const bool of_float = inst.results.size() != 1 || f.TypeOf(inst.results[0]).IsFloat();
    if (!of_float && (!ir::MayTrap(inst, f) || DividesByNumber(each, inst))) continue;
    switch (inst.op) {
      case Op::Index:
      case Op::Const:
      case Op::AffineOf:
      case Op::Holds: break;
      case Op::Mul:
      case Op::SMul:
      case Op::Neg:
      case Op::Add:
      case Op::Sub: ++flops; break;
      default: return false;
    }
  }
  return flops <= kMaxFlops;
}

// Subscripts of reads by body values (gathers) are not affine in the indices.
bool IsAffineInIndices(const ir::Each& each, ir::AffineSpan subs) {
  std::set<Value> body;
  for (const Inst& inst : each.body) body.insert(inst.results.begin(), inst.results.end());
  for (const Affine& a : subs) {
    for (const Affine::Term& t : a.terms) {
      if (body.count(t.value)) return false;
    }
  }
  return true;
}

// Rewrites the single result so that its subscripts are the first indices, in order: each subscript
// a = out[k] becomes a new index t, and one index v with a unit coefficient in `a` is solved for.
// A place of an axis that no index says stays, as a loop's turn has it.
// False (statement untouched in meaning, to be thrown away) when another subscript has no such index, or none is left.
bool Gather(ir::Each& each, ir::Function& f) {
  ir::EachResult& r = each.results[0];
  std::vector<ir::IndexVar> first;
  for (size_t k = 0; k < r.out.size(); ++k) {
    const Affine a = r.out[k];
    const bool is_fixed = std::none_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
      return PlaceOfIndex(each, t.value) || FindDef(each, t.value);
    });
    if (is_fixed) continue;
    const auto solvable = [&](const ir::IndexVar& i) {
      const int64_t c = a.Coeff(i.var);
      return c == 1 || c == -1;
    };
    const auto it = std::find_if(each.indices.rbegin(), each.indices.rend(), solvable);
    if (it == each.indices.rend()) return false;
    const ir::IndexVar solved = *it;
    each.indices.erase(std::next(it).base());
    if (a.AsValue() == solved.var && solved.extent == r.shape[k]) {
      first.push_back(solved);
      continue;
    }
    const ir::IndexVar t{f.NewValue(ir::Type::I64(), f.names[solved.var.id]), r.shape[k]};
    first.push_back(t);
    // a(v) - t = 0, solved for v.
    const Affine e = SolveFor(a - Affine::Of(t.var), solved.var);
    SubstituteIndex(each, f, solved.var, e);
    r.out[k] = Affine::Of(t.var);
    AddRange(each, e, solved.extent);
  }
  each.indices.insert(each.indices.begin(), first.begin(), first.end());
  return !first.empty() || r.out.empty();
}

// By index, whether `subs` speak of it, or of what the body makes of it.
std::vector<bool> IndicesOf(const ir::Each& each, ir::AffineSpan subs) {
  std::set<Value> needed;
  const auto need = [&](Value v) { needed.insert(v); };
  for (const Affine& a : subs) ir::ForEachOperand(a, need);
  for (size_t k = each.body.size(); k-- > 0;) {
    const Inst& inst = each.body[k];
    const bool is_needed = std::any_of(inst.results.begin(), inst.results.end(),
                                       [&](Value v) { return needed.contains(v); });
    if (is_needed) ir::ForEachOperand(inst, need);
  }
  std::vector<bool> is;
  for (const ir::IndexVar& i : each.indices) is.push_back(needed.contains(i.var));
  return is;
}

// Puts the indices that data are read by first, and then those of the result: each of its elements is a step of a row
// away. False: something is walked across its rows then.
bool RunByData(ir::Each& each) {
  std::vector<Affine> by_data;
  for (const Inst& inst : each.body) {
    if (inst.op != Op::Index) continue;
    for (const Affine& sub : inst.subs) {
      if (!IsAffineInIndices(each, {sub})) by_data.push_back(sub);
    }
  }
  if (by_data.empty()) return false;
  const std::vector<bool> first = IndicesOf(each, by_data);
  absl::InlinedVector<ir::IndexVar, 2> order;
  for (size_t k = 0; k < each.indices.size(); ++k) {
    if (first[k]) order.push_back(each.indices[k]);
  }
  for (const Affine& a : each.results[0].out) {
    const std::optional<size_t> k = PlaceOfIndex(each, a.AsValue());
    if (!k) return false;
    if (!first[*k]) order.push_back(each.indices[*k]);
  }
  if (order.size() != each.indices.size()) return false;
  std::swap(each.indices, order);
  if (!WalksAcrossRows(each, /*with_results=*/true) && !IsPrefixForm(each, each.results[0]))
    return true;
  std::swap(each.indices, order);
  return false;
}

// Whether a subscript of the result names more than one index, as a window's does.
bool AddsInWindows(const ir::Each& each) {
  const auto is_window = [&](const Affine& a) {
    return std::count_if(each.indices.begin(), each.indices.end(),
                         [&](const ir::IndexVar& i) { return a.Coeff(i.var) != 0; }) > 1;
  };
  const ir::EachResult& r = each.results[0];
  return std::any_of(r.out.begin(), r.out.end(), is_window);
}

// Makes that index the last with which everything is walked along its rows. False: there is none. Of a sum in windows the
// others keep their order, so that rows stay outermost and can be made next to what reads them; else they go around.
bool RunAlongRows(ir::Each& each) {
  if (RunByData(each)) return true;
  const bool keeps_order = AddsInWindows(each);
  const absl::InlinedVector<ir::IndexVar, 2> order = each.indices;
  for (size_t k = 0; k < order.size(); ++k) {
    each.indices = order;
    const auto first = each.indices.begin();
    const auto behind = first + static_cast<long>(k) + 1;
    std::rotate(keeps_order ? std::prev(behind) : first, behind, each.indices.end());
    if (!WalksAcrossRows(each, /*with_results=*/true) && !IsPrefixForm(each, each.results[0]))
      return true;
  }
  return false;
}

// Arrays that statements make and nothing but statements reads; so are sums of such arrays, whose terms will be read.
std::set<Value> InnerArrays(const ir::Function& f) {
  const auto is_inside = [](const Inst& inst) { return inst.each || inst.op == Op::AddArrays; };
  std::set<Value> inner;
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (is_inside(inst)) inner.insert(inst.results.begin(), inst.results.end());
    }
  }
  const auto leaves = [&](Value v) { inner.erase(v); };
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (!is_inside(inst) && inst.op != Op::Dim) ir::ForEachOperand(inst, leaves);
    }
    ir::ForEachTermOperand(b.term, leaves);
  }
  return inner;
}

// Of them, scans and what is computed of their elements: no reader will have these put in.
std::set<Value> ScannedArrays(const ir::Function& f, const std::set<Value>& inner) {
  std::set<Value> scanned;
  const auto add = [&](Value v) {
    if (inner.contains(v)) scanned.insert(v);
  };
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      bool reads = false;
      ir::ForEachOperand(inst, [&](Value v) { reads |= scanned.contains(v); });
      if (!inst.each) {
        if (reads) std::for_each(inst.results.begin(), inst.results.end(), add);
        continue;
      }
      for (size_t k = 0; k < inst.results.size(); ++k) {
        const ir::EachResult& r = inst.each->results[k];
        const bool element = r.monoid == ir::Monoid::kGen ||
                             (r.monoid == ir::Monoid::kSum &&
                              r.out.size() == inst.each->indices.size());  // of one term
        if (ir::IsScan(r.monoid) || (reads && element)) add(inst.results[k]);
      }
    }
  }
  return scanned;
}

// Arrays that scans read.
std::set<Value> ReadByScans(const ir::Function& f) {
  const auto scans = [](const ir::EachResult& r) { return ir::IsScan(r.monoid); };
  std::set<Value> read;
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (!inst.each || std::none_of(inst.each->results.begin(), inst.each->results.end(), scans))
        continue;
      ForEachRead(*inst.each, [&](Value v, ir::AffineSpan) { read.insert(v); });
    }
  }
  return read;
}

// The result that has an element for each point, in the order of the indices, and takes there what the sum `result` takes;
// nothing: there is none, or that is an element of another array.
std::optional<size_t> SameByPoints(const ir::Each& each, size_t result) {
  const ir::EachResult& sum = each.results[result];
  const Inst* computed = FindDef(each, sum.value);
  if (!computed || computed->op == Op::Index || sum.guard.valid() || !each.where.empty())
    return std::nullopt;
  for (size_t k = 0; k < each.results.size(); ++k) {
    const ir::EachResult& r = each.results[k];
    const bool same = (r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum) &&
                      r.value == sum.value && !r.guard.valid();
    if (k != result && same && r.out.size() == each.indices.size() &&
        HasElementByIndices(each, r) && IsPrefixForm(each, r))
      return k;
  }
  return std::nullopt;
}

// Takes the elements of that array, which one result of the statement is, for the value of another.
Inst TakeElements(const Inst& statement, size_t result, Value of, ir::Function& f) {
  Inst copy = CopyWithResult(statement, result, f).inst;
  ir::Each& each = *copy.each;
  Inst read;
  read.op = Op::Index;
  read.loc = statement.loc;
  read.args = {of};
  for (const ir::IndexVar& i : each.indices) read.subs.push_back(Affine::Of(i.var));
  read.results = {f.NewLike(f, each.results[0].value)};
  each.results[0].value = read.results[0];
  each.body.push_back(std::move(read));
  PruneBody(each);
  return copy;
}

// Whether the statement's first index is the row of an array of `inner` that it reads anew at each point of its first
// `heads` indices: loops over such rows become one, and the array a row (core/loops/fuse_rows.h).
bool RunsOverRows(const ir::Each& each, size_t heads, const std::set<Value>& inner) {
  const auto named = [](const Inst& read, const ir::IndexVar& i) {
    return std::any_of(read.subs.begin(), read.subs.end(),
                       [&](const Affine& sub) { return sub.Coeff(i.var) != 0; });
  };
  return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
    return inst.op == Op::Index && inst.subs.size() > 1 && inner.contains(inst.args[0]) &&
           inst.subs[0].AsValue() == each.indices[0].var &&
           std::all_of(each.indices.begin(), each.indices.begin() + static_cast<long>(heads),
                       [&](const ir::IndexVar& i) { return named(inst, i); });
  });
}

// Whether the statement's first index runs over a range that sizes of arrays say nothing of, and reads a vector of `inner`
// over it: where loops over such ranges can become one (core/loops/fuse_rows.h), or run strip by strip, it is none.
bool RunsOverPoints(const ir::Each& each, const std::set<Value>& inner,
                    const ir::KnownExtents& extents) {
  const auto [point, range] = each.indices[0];
  if (extents.made_of_arrays.contains(range)) return false;
  return std::any_of(each.body.begin(), each.body.end(), [&, i = point](const Inst& inst) {
    return inst.op == Op::Index && inst.subs.size() == 1 && inner.contains(inst.args[0]) &&
           inst.subs[0].AsValue() == i;
  });
}

// How many indices, from the first to the last that out[] names: no more than all but one, and out[] names each by
// itself and is never out of range.
std::optional<size_t> CountHeads(const ir::Each& each, const ir::EachResult& r) {
  size_t heads = 0;
  for (size_t k = 0; k < r.out.size(); ++k) {
    const std::optional<size_t> place = PlaceOfIndex(each, r.out[k].AsValue());
    if (!place || each.indices[*place].extent != r.shape[k]) return std::nullopt;
    heads = std::max(heads, *place + 1);
  }
  if (heads == each.indices.size()) return std::nullopt;
  return heads;
}

// Of a sum over all indices but the last one, which is short: puts the one in front of it last, where everything is walked along its
// rows then, and counts the others.
std::optional<size_t> PutShortLastInFront(ir::Each& each, const ir::KnownExtents& extents) {
  const size_t count = each.indices.size();
  const ir::EachResult& r = each.results[0];
  if (count < 2 || r.out.size() != 1 || r.out[0].AsValue() != each.indices.back().var ||
      each.indices.back().extent != r.shape[0] || !extents.IsShort(r.shape[0]))
    return std::nullopt;
  std::swap(each.indices[count - 2], each.indices[count - 1]);
  if (WalksAcrossRows(each, /*with_results=*/false)) return std::nullopt;
  return count - 1;
}

// Of a sum that CountHeads has no answer for: the indices around the last one, if the result is a vector over that one,
// to which each point adds in a row; else all of them.
size_t CountOuter(const ir::Each& each, const ir::EachResult& r) {
  const size_t count = each.indices.size();
  const bool vector = count > 2 && r.out.size() == 1 &&
                      r.out[0].AsValue() == each.indices.back().var &&
                      r.shape[0] == each.indices.back().extent;
  return vector ? count - 1 : count;
}

// Of a sum whose elements data say: puts the indices that these depend on first and counts them. Nothing: they are all, or
// what else there is is short, or conditions stand in the way, or each point adds to an element of a row as it is.
std::optional<size_t> PutPlacesFirst(ir::Each& each, const ir::KnownExtents& extents) {
  const bool guarded = each.results[0].guard.valid() ||
                       std::any_of(each.body.begin(), each.body.end(),
                                   [](const Inst& inst) { return inst.guard.valid(); });
  if (guarded) return std::nullopt;
  const std::vector<bool> places = IndicesOf(each, each.results[0].out);
  const auto of_places = [&](const ir::Constraint& c) {
    return std::all_of(c.e.terms.begin(), c.e.terms.end(), [&](const Affine::Term& t) {
      const auto at = PlaceOfIndex(each, t.value);
      return !at || places[*at];
    });
  };
  if (!std::all_of(each.where.begin(), each.where.end(), of_places)) return std::nullopt;
  std::vector<ir::IndexVar> heads, others;
  bool is_long = false;
  for (size_t k = 0; k < places.size(); ++k) {
    (places[k] ? heads : others).push_back(each.indices[k]);
    is_long = is_long || (!places[k] && !extents.IsShort(each.indices[k].extent));
  }
  if (heads.empty() || !is_long) return std::nullopt;
  if (places.back() && !WalksAcrossRows(each, /*with_results=*/true)) return std::nullopt;
  const size_t count = heads.size();
  heads.insert(heads.end(), others.begin(), others.end());
  each.indices.assign(heads.begin(), heads.end());
  return count;
}

// A sum over the indices behind `heads`, in lanes along a row, and one of these sums.
void SumRowsFirst(Inst rows, size_t heads, ir::Function& f, std::vector<Inst>& out) {
  Inst sum = CopyStatement(rows, f).inst;
  ir::Each& each = *rows.each;
  ir::EachResult& of_rows = each.results[0];
  ir::EachResult& of_sums = sum.each->results[0];
  const bool is_in_range = HasElementByIndices(each, of_rows);
  const ir::Type element = f.TypeOf(of_rows.value);
  rows.results = {f.NewValue(ir::Type::Array(element.elem, static_cast<int>(heads)))};
  of_rows.out.clear();
  of_rows.shape.clear();
  std::erase_if(sum.each->where, [&](const ir::Constraint& c) {
    return std::any_of(sum.each->indices.begin() + static_cast<std::ptrdiff_t>(heads),
                       sum.each->indices.end(),
                       [&](const ir::IndexVar& i) { return c.e.Coeff(i.var) != 0; });
  });
  sum.each->indices.resize(heads);
  Inst read;
  read.op = Op::Index;
  read.args = rows.results;
  for (size_t k = 0; k < each.indices.size(); ++k) {
    const auto [var, extent] = each.indices[k];
    if (k >= heads) {
      // Without a term no element is asked for, which may be out of range.
      if (!is_in_range) sum.each->where.push_back({Affine::Of(extent) - Affine::Const(1), false});
      continue;
    }
    of_rows.out.push_back(Affine::Of(var));
    of_rows.shape.push_back(extent);
    read.subs.push_back(Affine::Of(sum.each->indices[k].var));
  }
  read.results = {f.NewValue(element)};
  of_sums.value = read.results[0];
  of_sums.guard = ir::kNoValue;
  sum.each->body.push_back(std::move(read));
  PruneBody(*sum.each);
  PruneBody(each);
  out.push_back(std::move(rows));
  out.push_back(std::move(sum));
}

class Gatherer {
 public:
  explicit Gatherer(ir::Function& f)
      : f_(f),
        inner_(InnerArrays(f)),
        scanned_(ScannedArrays(f, inner_)),
        read_by_scans_(ReadByScans(f)),
        extents_(ir::FindKnownExtents(f)) {}

  void Run(std::vector<Inst>& insts) {
    std::vector<Inst> out;
    for (Inst& inst : insts) {
      std::vector<Inst> behind;
      if (inst.each) TakeOff(inst, behind);
      if (inst.each) SplitOff(inst, out);
      if (!inst.each || !inst.each->results.empty()) out.push_back(std::move(inst));
      std::move(behind.begin(), behind.end(), std::back_inserter(out));
    }
    insts = std::move(out);
  }

 private:
  // What a scan will read in an order of its own, and others in the statement's, is computed once.
  void TakeOff(Inst& inst, std::vector<Inst>& behind) {
    for (size_t k = inst.results.size(); k-- > 0;) {
      const ir::EachResult& r = inst.each->results[k];
      if (r.monoid != ir::Monoid::kSum || IsPrefixForm(*inst.each, r) ||
          !read_by_scans_.contains(inst.results[k]))
        continue;
      const auto same = SameByPoints(*inst.each, k);
      if (!same) continue;
      Inst copy = TakeElements(inst, k, inst.results[*same], f_);
      if (!Gather(*copy.each, f_)) continue;
      behind.push_back(std::move(copy));
      Erase(inst, k);
    }
  }

  void SplitOff(Inst& inst, std::vector<Inst>& out) {
    for (size_t k = inst.results.size(); k-- > 0;) {
      const ir::EachResult& r = inst.each->results[k];
      if (r.monoid != ir::Monoid::kSum || IsPrefixForm(*inst.each, r)) continue;
      CopiedStatement copy = CopyWithResult(inst, k, f_);
      if (!IsCheap(*copy.inst.each, f_)) continue;
      CopiedStatement gather = CopyWithResult(inst, k, f_);
      if (!IsAffineInIndices(*inst.each, r.out) || StoresBySets(*inst.each, r) ||
          !Gather(*gather.inst.each, f_)) {
        const std::optional<size_t> heads = PutPlacesFirst(*copy.inst.each, extents_);
        const std::optional<size_t> front =
            heads ? heads : PutShortLastInFront(*copy.inst.each, extents_);
        if (!front) continue;
        SumRowsFirst(std::move(copy.inst), *front, f_, out);
        Erase(inst, k);
        continue;
      }
      const std::optional<size_t> heads = CountHeads(*copy.inst.each, copy.inst.each->results[0]);
      const size_t outer = heads.value_or(CountOuter(*copy.inst.each, copy.inst.each->results[0]));
      const auto runs_over_rows = [&](const ir::Each& each) {
        return RunsOverRows(each, each.indices.size(), inner_) ||
               RunsOverRows(each, outer, scanned_) || RunsOverPoints(each, inner_, extents_);
      };
      if (runs_over_rows(*copy.inst.each) && !runs_over_rows(*gather.inst.each)) {
        const std::optional<size_t> front =
            heads ? heads : PutShortLastInFront(*copy.inst.each, extents_);
        if (!front) continue;
        SumRowsFirst(std::move(copy.inst), *front, f_, out);
      } else {
        const bool across = WalksAcrossRows(*gather.inst.each, /*with_results=*/false);
        if (across && !WalksAcrossRows(*copy.inst.each, /*with_results=*/true)) continue;
        const bool reordered = across && RunAlongRows(*copy.inst.each);
        out.push_back(std::move(reordered ? copy.inst : gather.inst));
      }
      Erase(inst, k);
    }
    PruneBody(*inst.each);
  }

  // Whether a subscript is that of a row in a set, 16 * b + q with q < 16, or next to one, 16 * b + q + p with p < 3: the loops that
  // make the sets have each once, or twice.
  bool StoresBySets(const ir::Each& each, const ir::EachResult& r) const {
    return std::any_of(r.out.begin(), r.out.end(),
                       [&](const Affine& out) { return IsRowOfSet(each, out); });
  }

  bool IsRowOfSet(const ir::Each& each, const Affine& out) const {
    const std::optional<Place> place = PlaceOf(each, out, [&](Value extent) {
      const auto number = extents_.constants.find(extent);
      return number == extents_.constants.end() ? std::nullopt : std::optional(number->second);
    });
    return place && place->places.length > kFewOfSet &&
           AreFewTwice(place->places.length, place->places.step);
  }

  static void Erase(Inst& inst, size_t result) {
    inst.results.erase(inst.results.begin() + static_cast<long>(result));
    inst.each->results.erase(inst.each->results.begin() + static_cast<long>(result));
  }

  ir::Function& f_;
  const std::set<Value> inner_, scanned_, read_by_scans_;
  const ir::KnownExtents extents_;
};

}  // namespace

void GatherSums(ir::Function& f) {
  Gatherer gatherer(f);
  for (ir::Block& b : f.blocks) gatherer.Run(b.insts);
}

}  // namespace pullback::tensor
