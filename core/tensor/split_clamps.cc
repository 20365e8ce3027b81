// Rows that are held at the ends of an axis, `z[max(0, min(n - 1, i + q - 1))]`, are read of an array that repeats the ends, where each
// row is one of z under a condition on its index: a window then, and two fixed rows (fixed_rows.cc).
//
//   %s = each(i < n, q < 3, l < h) { %v = max 0, min n - 1, i + q - 1; %u = index %z[%v, l] … }            z: (n, h)
//
//   %p = each(t < n + 2, l < h) {
//     %u = index %z[0, l] if t <= 0 and 1 <= n
//     %v = index %z[n - 1, l] if n < t and 1 <= n
//     %w = index %z[t - 1, l] if 1 <= t and t <= n
//   } gen [t, l] of (n + 2, h): the one that is there, or 0
//   %s = each(i < n, q < 3, l < h) { %u = index %p[i + q, l] … }
//
// Windows around a ring, `z[(i + q + n - 1) % n]`, are read of an array whose ends are rows of the other end, `z[n - 1]` first: a
// few of them, each at a place of its own, which for fewer rows than that is a remainder.
//
// Of large arrays (made_rows.h) that take work, where the reader's points say that there are rows. Comes before derivatives, in front of
// fixed_rows.cc.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/outer_values.h"
#include "core/ir/append.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/body_forms.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/normalise.h"
#include "core/tensor/read_ranges.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostHeld = 4;    // arrays of one that repeat its ends
constexpr int64_t kMostAway = 16;  // rows beyond an end
constexpr int64_t kMostRound = 6;  // beyond the ends of a ring, together

// max 0, min last, e: of both ends, or of one; or (e + turns * size) rem size.
struct Clamp {
  Affine e;
  bool first = false, last = false;
  int64_t turns = -1;  // not negative: around a ring
  bool IsRing() const { return turns >= 0; }
};

class SplitClampsOf {
 public:
  explicit SplitClampsOf(ir::Function& f)
      : f_(f), outer_(f), own_(f), reads_(f), ranges_(f), known_(ir::FindKnownExtents(f)) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      large_.clear();
      held_.clear();
      std::vector<Inst> out;
      for (Inst& inst : b.insts) {
        if (inst.each) changed |= Visit(*inst.each, out);
        if (MakesLargeRows(inst, own_) && reads_.OnlyByStatements(inst.results[0]))
          large_.emplace(inst.results[0], inst.each->results[0].shape);
        out.push_back(std::move(inst));
      }
      b.insts = std::move(out);
    }
    return changed;
  }

 private:
  // Row t of it is row t + from of `array`, or the end that is nearer; around a ring, the rows in front of the first one and
  // behind the last one are so many of the other end.
  struct Held {
    Value array;
    int64_t from;
    Affine rows;
    int64_t in_front = 0, behind = 0;
    bool IsRing() const { return in_front + behind > 0; }
    bool operator==(const Held&) const = default;
  };

  bool Visit(Each& each, std::vector<Inst>& out) {
    bool changed = false;
    BodyForms forms(each, f_);
    for (Inst& read : each.body) {
      forms.Note(read);
      const auto large = read.op == Op::Index ? large_.find(read.args[0]) : large_.end();
      if (large == large_.end()) continue;
      const Value extent = large->second[0];
      const std::optional<Clamp> clamp = ClampOf(each, forms, read.subs[0].AsValue(), extent);
      const std::optional<Held> held = clamp ? HeldOf(each, read, *clamp, extent) : std::nullopt;
      const std::optional<Value> array =
          held ? ArrayOf(*held, large->second, read, out) : std::nullopt;
      if (!array) continue;
      read.subs[0] = clamp->e - Affine::Const(held->from);
      read.args = {*array};
      changed = true;
    }
    return changed;
  }

  std::optional<Clamp> RingOf(const Each& each, const BodyForms& forms, Value v,
                              Value extent) const {
    const Inst* def = FindDef(each, v);
    if (!def || def->op != Op::Rem || def->guard.valid()) return std::nullopt;
    analysis::Box box;
    const auto of_outside = [&](Value arg) {
      const std::optional<Affine> form = forms.FormOf(arg, {});
      return form ? std::optional(outer_.Describe(*form, each, box)) : form;
    };
    const Affine size = outer_.Describe(Affine::Of(extent), each, box);
    const std::optional<Affine> e = of_outside(def->args[0]);
    if (!e || of_outside(def->args[1]) != size || !size.AsValue().valid()) return std::nullopt;
    Clamp ring;
    ring.turns = e->Coeff(size.AsValue());
    ring.e = *e - size * ring.turns;
    return ring.IsRing() ? std::optional(ring) : std::nullopt;
  }

  std::optional<Clamp> ClampOf(const Each& each, const BodyForms& forms, Value v,
                               Value extent) const {
    if (auto ring = RingOf(each, forms, v, extent)) return ring;
    Clamp clamp;
    analysis::Box box;
    const auto of_outside = [&](const Affine& form) { return outer_.Describe(form, each, box); };
    const Affine last = of_outside(Affine::Of(extent) - Affine::Const(1));
    while (const Inst* def = v.valid() ? FindDef(each, v) : nullptr) {
      bool& end = def->op == Op::Max ? clamp.first : clamp.last;
      if ((def->op != Op::Max && def->op != Op::Min) || end || def->guard.valid()) break;
      const Affine at = def->op == Op::Max ? Affine() : last;
      const auto is_end = [&](Value arg) {
        const std::optional<Affine> form = forms.FormOf(arg, {});
        return form && of_outside(*form) == at;
      };
      const bool by_first = is_end(def->args[0]);
      if (!by_first && !is_end(def->args[1])) return std::nullopt;
      end = true;
      v = def->args[by_first ? 1 : 0];
    }
    const std::optional<Affine> e = forms.FormOf(v, {});
    if (!e || !(clamp.first || clamp.last)) return std::nullopt;
    clamp.e = *e;
    return clamp;
  }

  // Nothing: it is no window along an index, or the read may be out of range.
  std::optional<Held> HeldOf(const Each& each, const Inst& read, const Clamp& clamp,
                             Value extent) const {
    const Affine& e = clamp.e;
    if (e.constant < -kMostAway || e.constant > kMostAway) return std::nullopt;
    Affine rows;
    Value run;
    for (const Affine::Term& t : e.terms) {
      const std::optional<size_t> place = PlaceOfIndex(each, t.value);
      if (!place || t.coeff != 1) return std::nullopt;
      const Value count = each.indices[*place].extent;
      if (known_.IsShort(count)) {
        rows = rows + Affine::Const(known_.constants.at(count) - 1);
      } else {
        if (std::exchange(run, count).valid()) return std::nullopt;
        rows = rows + Affine::Of(count);
      }
    }
    if (!run.valid() || rows.constant > kMostAway ||
        !ranges_.IsInRange(each, read.guard, Affine(), extent))
      return std::nullopt;
    if (clamp.IsRing()) return RingHeld(each, read, clamp, rows, run, extent);
    const bool is_there = (clamp.first || ranges_.IsFromZero(each, read.guard, e)) &&
                          (clamp.last || ranges_.IsBelow(each, read.guard, e, extent));
    if (!is_there) return std::nullopt;
    return Held{read.args[0], e.constant, rows};
  }

  // Of as many rows as the ring has, and those next to them. A dividend is nowhere a negative number but of -size or less times
  // a whole number: with t turns in front, at most 2 t rows are.
  std::optional<Held> RingHeld(const Each& each, const Inst& read, const Clamp& ring,
                               const Affine& rows, Value run, Value extent) const {
    Held held{read.args[0], ring.e.constant, rows};
    held.in_front = std::max<int64_t>(0, -held.from);
    held.behind = std::max<int64_t>(0, rows.constant + held.from);
    analysis::Box box;
    const bool as_many = outer_.Describe(Affine::Of(run), each, box) ==
                         outer_.Describe(Affine::Of(extent), each, box);
    const bool is_there = as_many && held.IsRing() && held.in_front + held.behind <= kMostRound &&
                          held.in_front <= 2 * ring.turns && held.from + rows.constant >= 0;
    return is_there ? std::optional(held) : std::nullopt;
  }

  std::optional<Value> ArrayOf(const Held& held, const ir::Values& shape, const Inst& read,
                               std::vector<Inst>& out) {
    const auto is_it = [&](const auto& one) { return one.first == held; };
    const auto made = std::find_if(held_.begin(), held_.end(), is_it);
    if (made != held_.end()) return made->second;
    const auto of_array = [&](const auto& one) { return one.first.array == held.array; };
    if (std::count_if(held_.begin(), held_.end(), of_array) == kMostHeld) return std::nullopt;
    ir::Values rows(shape.begin(), shape.end());
    rows[0] = ir::Appender(f_, out, read.loc).Number(held.rows);
    const std::vector<End> ends =
        held.IsRing() ? RingEnds(held, shape[0], read.loc, out) : HeldEnds(shape[0]);
    out.push_back(Repeat(held, ends, shape[0], rows, read.loc));
    held_.emplace_back(held, out.back().results[0]);
    return out.back().results[0];
  }

  // The row that is repeated where sign * at + bound >= 0, or == 0, of rows at -1, -2, … in front of the array, size, … behind.
  struct End {
    int64_t sign;
    Affine bound;
    bool equality;
    Affine row;
  };
  static std::vector<End> HeldEnds(Value extent) {
    const Affine one = Affine::Const(1), size = Affine::Of(extent);
    return {{-1, one * -1, false, {}}, {1, size * -1, false, size - one}};
  }
  std::vector<End> RingEnds(const Held& held, Value extent, uint32_t loc, std::vector<Inst>& out) {
    ir::Appender made(f_, out, loc);
    const ir::Type type = ir::Type::I64();
    const Value least = made.Number(Affine::Const(1)),
                size = made.Make(Op::Max, type, {extent, least});
    const auto around = [&](int64_t row) {  // of no rows: any
      if (row == 0) return Affine();
      const Value rest = made.Make(Op::Rem, type, {made.Number(Affine::Const(row)), size});
      const Value up = made.Make(Op::Add, type, {rest, size});
      return Affine::Of(made.Make(Op::Rem, type, {up, size}));
    };
    std::vector<End> ends;
    for (int64_t k = 1; k <= held.in_front; ++k)
      ends.push_back({1, Affine::Const(k), true, around(-k)});
    for (int64_t k = 0; k < held.behind; ++k)
      ends.push_back({1, (Affine::Of(extent) + Affine::Const(k)) * -1, true, around(k)});
    return ends;
  }

  Inst Repeat(const Held& held, const std::vector<End>& ends, Value extent, const ir::Values& shape,
              uint32_t loc) {
    Inst inst;
    inst.op = Op::Each;
    inst.loc = loc;
    inst.results = {f_.NewLike(f_, held.array)};
    inst.each = std::make_unique<Each>();
    Each& each = *inst.each;
    EachResult r;
    r.shape = shape;
    r.loc = loc;
    for (Value count : shape) {
      const Value index = f_.NewValue(ir::Type::I64());
      each.indices.push_back({index, count});
      r.out.push_back(Affine::Of(index));
    }
    const Affine last = Affine::Of(extent) - Affine::Const(1),
                 at = r.out[0] + Affine::Const(held.from);
    const auto read_where = [&](std::vector<ir::Constraint> where, const Affine& row) {
      Inst holds;
      holds.op = Op::Holds;
      holds.constraints = std::move(where);
      holds.results = {f_.NewValue(ir::Type::Bool())};
      Inst read;
      read.op = Op::Index;
      read.loc = loc;
      read.args = {held.array};
      ir::Affines subs(r.out.begin(), r.out.end());
      subs[0] = row;
      read.subs = ir::AffineSpan(subs);
      read.guard = holds.results[0];
      read.results = {f_.NewValue(f_.TypeOf(held.array).Element())};
      each.body.push_back(std::move(holds));
      each.body.push_back(std::move(read));
      return std::pair(each.body.back().guard, each.body.back().results[0]);
    };
    std::vector<std::pair<Value, Value>> chosen;  // conditions, and elements
    for (const End& end : ends) {
      const ir::Constraint here{at * end.sign + end.bound, end.equality};
      std::vector<ir::Constraint> where = {here};
      for (const Affine& e : {end.row, last - end.row}) {
        if (!e.IsConst()) where.push_back({e, false});  // 0
      }
      chosen.push_back(read_where(std::move(where), end.row));
    }
    r.value = read_where({{at, false}, {last - at, false}}, at).second;
    ir::Appender body(f_, each.body, loc);
    const ir::Type element = f_.TypeOf(held.array).Element();
    for (auto end = chosen.rbegin(); end != chosen.rend(); ++end)
      r.value = body.Make(Op::Select, element, {end->first, end->second, r.value});
    each.results.push_back(std::move(r));
    return inst;
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const ir::OwnArrays own_;
  const ArrayReads reads_;
  const ReadRanges ranges_;
  const ir::KnownExtents known_;
  // Of the block so far.
  std::map<Value, ir::Values> large_;
  std::vector<std::pair<Held, Value>> held_;
};

}  // namespace

bool SplitClamps(ir::Function& f) { return SplitClampsOf(f).Run(); }

}  // namespace pullback::tensor
