// Lists, boxes, and the arrays that stand for zeros in them.
#include "core/base/status.h"
#include "core/ir/builder.h"

namespace pullback::ir {
namespace {

Values Joined(Values first, ValueSpan rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

Inst Plain(Op op, Values args) {
  Inst inst;
  inst.op = op;
  inst.args = std::move(args);
  return inst;
}

}  // namespace

void Builder::CheckFields(uint32_t record, ValueSpan fields) const {
  PB_CHECK(record < module_.records.size());
  const std::vector<Type>& wanted = module_.records[record].fields;
  PB_CHECK(fields.size() == wanted.size());
  for (size_t i = 0; i < fields.size(); ++i) PB_CHECK(TypeOf(fields[i]) == wanted[i]);
}

// Appends an op of a list or box whose results are its fields, behind the list itself where the op
// gives that too.
std::vector<Value> Builder::AppendWithFields(Op op, Values args) {
  Inst inst = Plain(op, std::move(args));
  const Type t = TypeOf(inst.args[0]);
  PB_CHECK(t.HasRecord());
  if (op == Op::ListTake || op == Op::ListPop) inst.results.push_back(function_.NewValue(t));
  const Record& record = module_.records[t.record];
  for (size_t i = 0; i < record.fields.size(); ++i) {
    inst.results.push_back(function_.NewValue(record.fields[i], record.field_names[i]));
  }
  return ToVector(Append(std::move(inst)).results);
}

Value Builder::ListNew(uint32_t record, std::string name) {
  PB_CHECK(record < module_.records.size());
  return AppendOne(Plain(Op::ListNew, {}), Type::List(record), std::move(name));
}

Value Builder::ListOf(uint32_t record, Value n, ValueSpan fields) {
  PB_CHECK(TypeOf(n) == Type::I64());
  CheckFields(record, fields);
  return AppendOne(Plain(Op::ListOf, Joined({n}, fields)), Type::List(record));
}

Value Builder::ListLen(Value list) {
  PB_CHECK(TypeOf(list).IsList());
  return AppendOne(Plain(Op::ListLen, {list}), Type::I64());
}

std::vector<Value> Builder::ListGet(Value list, Value index) {
  PB_CHECK(TypeOf(list).IsList() && TypeOf(index) == Type::I64());
  return AppendWithFields(Op::ListGet, {list, index});
}

Value Builder::ListSet(Value list, Value index, ValueSpan fields) {
  PB_CHECK(TypeOf(list).IsList() && TypeOf(index) == Type::I64());
  CheckFields(TypeOf(list).record, fields);
  return AppendOne(Plain(Op::ListSet, Joined({list, index}, fields)), TypeOf(list));
}

Builder::Taken Builder::ListTake(Value list, Value index) {
  PB_CHECK(TypeOf(list).IsList() && TypeOf(index) == Type::I64());
  const std::vector<Value> all = AppendWithFields(Op::ListTake, {list, index});
  return {all[0], {all.begin() + 1, all.end()}};
}

Value Builder::ListPush(Value list, ValueSpan fields) {
  PB_CHECK(TypeOf(list).IsList());
  CheckFields(TypeOf(list).record, fields);
  return AppendOne(Plain(Op::ListPush, Joined({list}, fields)), TypeOf(list));
}

Builder::Taken Builder::ListPop(Value list) {
  PB_CHECK(TypeOf(list).IsList());
  const std::vector<Value> all = AppendWithFields(Op::ListPop, {list});
  return {all[0], {all.begin() + 1, all.end()}};
}

Value Builder::BoxNew(uint32_t record, ValueSpan fields, std::string name) {
  CheckFields(record, fields);
  return AppendOne(Plain(Op::BoxNew, Joined({}, fields)), Type::Box(record), std::move(name));
}

std::vector<Value> Builder::BoxGet(Value box) {
  PB_CHECK(TypeOf(box).IsBox());
  return AppendWithFields(Op::BoxGet, {box});
}

void Builder::BoxSet(Value box, ValueSpan fields) {
  PB_CHECK(TypeOf(box).IsBox());
  CheckFields(TypeOf(box).record, fields);
  Append(Plain(Op::BoxSet, Joined({box}, fields)));
}

Value Builder::Fit(Value array, ValueSpan extents) {
  PB_CHECK(TypeOf(array).IsArray() && TypeOf(array).rank == extents.size());
  for (Value e : extents) PB_CHECK(TypeOf(e) == Type::I64());
  return AppendOne(Plain(Op::Fit, Joined({array}, extents)), TypeOf(array));
}

}  // namespace pullback::ir
