#include "core/lang/lower_list.h"

#include "core/lang/builtins.h"
#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"

namespace pullback::lang {
namespace {

// The leaves of operand i, in memory.
std::vector<Value> Operand(Context& c, const Expr& e, size_t i) {
  return ValuesOf(c, LowerStored(c, *e.operands[i]));
}

Leaves Only(Value v) { return {{v, nullptr}}; }

Leaves LowerListLiteral(Context& c, const Expr& e) {
  Value list = c.b.ListNew(c.module.RecordOf(e.type.elements[0]));
  std::vector<std::vector<Value>> elements;
  for (size_t i = 0; i < e.operands.size(); ++i) elements.push_back(Operand(c, e, i));
  c.SetLoc(e.ordinal);
  for (const std::vector<Value>& fields : elements) list = c.b.ListPush(list, fields);
  return Only(list);
}

Leaves LowerLast(Context& c, const Expr& e) {
  const Value list = Operand(c, e, 0)[0];
  const Value last = c.Integer(Op::Sub, c.b.ListLen(list), c.I64(1));
  c.SetLoc(e.ordinal);
  return LeavesOf(c, c.b.ListGet(list, last));
}

Leaves LowerPop(Context& c, const Expr& e) {
  const Value list = Operand(c, e, 0)[0];
  c.SetLoc(e.ordinal);
  const ir::Builder::Taken taken = c.b.ListPop(list);
  Leaves all = Only(taken.list);
  for (const Leaf& leaf : LeavesOf(c, taken.fields)) all.push_back(leaf);
  return all;
}

}  // namespace

Leaves LeavesOf(Context& c, const std::vector<Value>& fields) {
  Leaves leaves;
  for (Value v : fields) {
    if (c.b.TypeOf(v).IsArray()) c.ReadDims(v);
    leaves.push_back({v, nullptr});
  }
  return leaves;
}

std::vector<Value> ValuesOf(Context& c, const Leaves& leaves) {
  std::vector<Value> values;
  for (Leaf leaf : leaves) {
    Store(c, leaf);
    values.push_back(leaf.value);
  }
  return values;
}

Value Nothing(Context& c, Value v) {
  const ir::Type type = c.b.TypeOf(v);
  if (type.IsList()) return c.b.ListNew(type.record);
  if (!type.IsArray()) return v;
  const std::vector<Value> extents(type.rank, c.I64(0));
  const Value zeros = c.b.Zeros(type.elem, extents);
  c.SetDims(zeros, std::vector<Affine>(type.rank, Affine::Const(0)));
  return zeros;
}

std::optional<Leaves> LowerListElement(Context& c, const Expr& e) {
  if (c.InBody()) return UnknownBeforehand(c, e.type);
  const Value list = Operand(c, e, 0)[0];
  const Value index = c.ToValue(*LowerInt(c, *e.subscripts[0].index));
  c.SetLoc(e.ordinal);
  return LeavesOf(c, c.b.ListGet(list, index));
}

// The list stands outside of any body.
std::optional<Affine> LowerListLength(Context& c, const Expr& list) {
  PB_TRY(const Leaves leaves, Lower(c, list));
  AtBlock block(c);
  const Value n = c.b.ListLen(leaves[0].value);
  c.small.insert(n.id);
  c.sizes.insert(n.id);
  return Affine::Of(n);
}

std::optional<Leaves> LowerListCall(Context& c, const Expr& e) {
  if (c.InBody()) return UnknownBeforehand(c, e.type);
  switch (static_cast<Builtin>(e.builtin)) {
    case Builtin::List: return LowerListLiteral(c, e);
    case Builtin::Repeat: {
      const std::vector<Value> fields = Operand(c, e, 0);
      const Value n = *LowerScalar(c, *e.operands[1]);
      c.SetLoc(e.ordinal);
      return Only(c.b.ListOf(c.module.RecordOf(e.type.elements[0]), n, fields));
    }
    case Builtin::Push: {
      const Value list = Operand(c, e, 0)[0];
      const std::vector<Value> fields = Operand(c, e, 1);
      c.SetLoc(e.ordinal);
      return Only(c.b.ListPush(list, fields));
    }
    case Builtin::Pop: return LowerPop(c, e);
    case Builtin::Last: return LowerLast(c, e);
    case Builtin::Box: {
      const std::vector<Value> fields = Operand(c, e, 0);
      return Only(c.b.BoxNew(c.module.RecordOf(e.type.elements[0]), fields));
    }
    case Builtin::Get: return LeavesOf(c, c.b.BoxGet(Operand(c, e, 0)[0]));
    case Builtin::Set: {
      const Value box = Operand(c, e, 0)[0];
      c.b.BoxSet(box, Operand(c, e, 1));
      return Leaves();
    }
    default: PB_CHECK(false);
  }
  return std::nullopt;
}

}  // namespace pullback::lang
