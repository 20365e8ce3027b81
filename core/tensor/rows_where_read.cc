// Arrays of which readers take only the rows in front of one, or only those from one on, as a condition says, are made of these
// rows alone: what `if i < n { x[i] @ w } else { … }` chooses from.
//
//   %z = each(i < N, l < h, p < d) { %c = holds (i < n) … x[i, p] if %c … } sum [i, l] of (N, h)
//   %s = each(i < N, l < h) { %c = holds (i < n) … index %z[i, l] if %c … }
//
//   %z = each(i < n, l < h, p < d) { %c = holds (i < n) … x[i, p] if %c … } sum [i, l] of (n, h)
//   %s as it is
//
// From row n on, `i >= n`, the array has N - n rows, and the reader takes row i - n.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/outer_values.h"
#include "core/ir/axis_extents.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

// Rows first to end - 1, of which one is 0 or the end of all.
struct RowsRead {
  Affine first, end;
  bool operator==(const RowsRead&) const = default;
};

class NarrowRows {
 public:
  explicit NarrowRows(ir::Function& f) : f_(f), outer_(f), own_(f), reads_(f), extents_(f) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      for (size_t k = 0; k < b.insts.size(); ++k) {
        if (!MakesLargeRows(b.insts[k], own_) || !reads_.OnlyByStatements(b.insts[k].results[0]))
          continue;
        const std::optional<RowsRead> rows = RowsOf(b.insts[k]);
        if (!rows) continue;
        k += Narrow(b, k, *rows);
        changed = true;
      }
    }
    return changed;
  }

 private:
  // By all that read it.
  std::optional<RowsRead> RowsOf(const Inst& inst) const {
    const EachResult& r = inst.each->results[0];
    const std::optional<size_t> place = PlaceOfIndex(*inst.each, r.out[0].AsValue());
    if (!place || CountNaming(r, r.out[0].AsValue()) != 1 ||
        inst.each->indices[*place].extent != r.shape[0])
      return std::nullopt;
    std::optional<RowsRead> all;
    for (const ArrayReads::Read& read : reads_.Of(inst.results[0])) {
      const std::optional<RowsRead> rows = RowsOf(*read.statement, *read.inst, r.shape[0]);
      if (!rows || (all && all != rows)) return std::nullopt;
      all = rows;
    }
    const bool fits = all && IsPart(*all, r.shape[0]) && MakesNoOther(*inst.each, r, *all);
    return fits ? all : std::nullopt;
  }
  // Whether what it reads for the rows that go cannot trap: its reads have the same condition, or are in range of what is as long.
  bool MakesNoOther(const Each& each, const EachResult& r, const RowsRead& rows) const {
    return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      if (!ir::MayTrap(inst, f_)) return true;
      if (inst.guard.valid() && RowsIn(each, r.out[0].AsValue(), inst.guard, r.shape[0]) == rows)
        return true;
      for (size_t axis = 0; axis < inst.subs.size(); ++axis) {
        const Value extent = extents_.Of(inst.args[0], axis);
        if (std::none_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
              return inst.subs[axis].AsValue() == i.var && extents_.AreEqual(i.extent, extent);
            }))
          return false;
      }
      return inst.op == Op::Index;
    });
  }
  // Of a read at an index of as many rows, under one condition that parts them.
  static std::optional<RowsRead> RowsOf(const Each& reader, const Inst& read, Value all_rows) {
    const Value i = read.subs[0].AsValue();
    const std::optional<size_t> place = PlaceOfIndex(reader, i);
    if (!place || reader.indices[*place].extent != all_rows) return std::nullopt;
    return RowsIn(reader, i, read.guard, all_rows);
  }
  // Where the guard holds.
  static std::optional<RowsRead> RowsIn(const Each& reader, Value i, Value guard, Value all_rows) {
    const Inst* test = FindDef(reader, guard);
    const bool negated = test && test->op == Op::Not && !test->guard.valid();
    if (negated) test = FindDef(reader, test->args[0]);
    if (!test || test->op != Op::Holds || test->guard.valid() || test->constraints.size() != 1)
      return std::nullopt;
    const Affine one = Affine::Const(1), at = Affine::Of(i), last = Affine::Of(all_rows) - one;
    Affine e = test->constraints[0].e;
    if (test->constraints[0].equality) {
      if (!negated) return std::nullopt;
      if (e == at || e * -1 == at) return RowsRead{one, Affine::Of(all_rows)};
      if (e == last - at || e == at - last) return RowsRead{{}, last};
      return std::nullopt;
    }
    if (negated) e = e * -1 - one;
    const bool from = e.Coeff(i) == 1;
    if (!from && e.Coeff(i) != -1) return std::nullopt;
    const Affine bound = from ? at - e : e + at + one;  // i >= bound, i < bound
    for (const Affine::Term& t : bound.terms) {
      if (PlaceOfIndex(reader, t.value) || FindDef(reader, t.value)) return std::nullopt;
    }
    return from ? RowsRead{bound, Affine::Of(all_rows)} : RowsRead{{}, bound};
  }

  // Whether there are such rows, whatever the arguments are.
  bool IsPart(const RowsRead& rows, Value all_rows) const {
    analysis::Box box;
    const Affine all = outer_.Describe(all_rows, box);
    const Affine first = outer_.Describe(rows.first, box), end = outer_.Describe(rows.end, box);
    const auto is_size = [&](const Affine& a) {
      const std::optional<analysis::Interval> range = box.RangeOf(a);
      return range && range->lo >= 0;
    };
    return is_size(first) && is_size(end - first) && is_size(all - end);
  }

  // How many instructions there are more in front.
  size_t Narrow(ir::Block& b, size_t k, const RowsRead& rows) {
    const Value array = b.insts[k].results[0];
    const size_t before = b.insts.size();
    for (ir::Block& block : f_.blocks) {
      for (Inst& inst : block.insts) {
        for (size_t p = 0; inst.each && p < inst.each->body.size(); ++p) {
          Inst& read = inst.each->body[p];
          if (read.op == Op::Index && read.args[0] == array)
            read.subs[0] = read.subs[0] - rows.first;
        }
      }
    }
    const Value count = Count(b, k, rows.end - rows.first);
    Inst& inst = b.insts[k + b.insts.size() - before];
    Each& each = *inst.each;
    EachResult& r = each.results[0];
    ir::IndexVar& index = each.indices[*PlaceOfIndex(each, r.out[0].AsValue())];
    const Value number = index.var, row = f_.NewLike(f_, number);
    index = {row, count};
    r.out[0] = Affine::Of(row);
    r.shape[0] = count;
    SubstituteIndex(each, f_, number, Affine::Of(row) + rows.first);
    return b.insts.size() - before;
  }
  // As a value in front of instruction k.
  Value Count(ir::Block& b, size_t k, const Affine& count) {
    analysis::Box box;
    const Affine form = outer_.Describe(count, box);
    if (form.AsValue().valid()) return form.AsValue();
    Inst inst;
    inst.op = Op::AffineOf;
    inst.subs = {form};
    inst.results = {f_.NewValue(ir::Type::I64())};
    const Value made = inst.results[0];
    b.insts.insert(b.insts.begin() + static_cast<std::ptrdiff_t>(k), std::move(inst));
    return made;
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const ir::OwnArrays own_;
  const ArrayReads reads_;
  const ir::AxisExtents extents_;
};

}  // namespace

bool MakeRowsWhereRead(ir::Function& f) { return NarrowRows(f).Run(); }

}  // namespace pullback::tensor
