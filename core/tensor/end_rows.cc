#include "core/tensor/end_rows.h"

#include <memory>
#include <utility>

#include "core/ir/append.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Constraint;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

// A body that takes elements of a row for the places of the result.
class RowReader {
 public:
  RowReader(Each& each, Value array, uint32_t loc, ir::Function& f)
      : each_(each), array_(array), loc_(loc), f_(f) {}

  // The condition, and the element, 0 elsewhere.
  std::pair<Value, Value> ReadWhere(std::vector<Constraint> where, const Affine& row) {
    Inst holds;
    holds.op = Op::Holds;
    holds.constraints = std::move(where);
    holds.results = {f_.NewValue(ir::Type::Bool())};
    Inst read;
    read.op = Op::Index;
    read.loc = loc_;
    read.args = {array_};
    ir::Affines subs(each_.results[0].out.begin(), each_.results[0].out.end());
    subs[0] = row;
    read.subs = ir::AffineSpan(subs);
    read.guard = holds.results[0];
    read.results = {f_.NewValue(f_.TypeOf(array_).Element())};
    const std::pair<Value, Value> made = {holds.results[0], read.results[0]};
    each_.body.push_back(std::move(holds));
    each_.body.push_back(std::move(read));
    return made;
  }

 private:
  Each& each_;
  const Value array_;
  const uint32_t loc_;
  ir::Function& f_;
};

}  // namespace

Inst MakeEndedRows(const EndedRows& of, ir::ValueSpan shape, Value extent, uint32_t loc,
                   ir::Function& f) {
  Inst inst;
  inst.op = Op::Each;
  inst.loc = loc;
  inst.results = {f.NewLike(f, of.array)};
  inst.each = std::make_unique<Each>();
  Each& each = *inst.each;
  EachResult& r = each.results.emplace_back();
  r.shape = ir::Values(shape.begin(), shape.end());
  r.loc = loc;
  for (const Value count : shape) {
    const Value index = f.NewValue(ir::Type::I64());
    each.indices.push_back({index, count});
    r.out.push_back(Affine::Of(index));
  }
  const Affine last = Affine::Of(extent) - Affine::Const(1), at = r.out[0];
  RowReader reader(each, of.array, loc, f);
  std::vector<std::pair<Value, Value>> chosen;  // conditions, and elements
  for (const End& end : of.ends) {
    std::vector<Constraint> where = {{at * end.sign + end.bound, end.equality}};
    for (const Affine& e : {end.row, last - end.row}) {
      if (!e.IsConst() || e.constant < 0) where.push_back({e, false});
    }
    chosen.push_back(reader.ReadWhere(std::move(where), end.row));
  }
  ir::Appender body(f, each.body, loc);
  if (of.shift) {
    const Affine row = at + Affine::Const(*of.shift);
    r.value = reader.ReadWhere({{row, false}, {last - row, false}}, row).second;
  } else {
    r.value = body.Make(Op::Const, f.TypeOf(of.array).Element(), {});
  }
  for (auto end = chosen.rbegin(); end != chosen.rend(); ++end)
    r.value =
        body.Make(Op::Select, f.TypeOf(of.array).Element(), {end->first, end->second, r.value});
  return inst;
}

}  // namespace pullback::tensor
