#include "core/ad/list_functions.h"

#include <functional>
#include <tuple>

#include "core/base/status.h"

namespace pullback::ad {
namespace {

using ir::Builder;
using ir::Op;
using ir::Type;
using ir::Value;

// The blocks of `for i < n` around an accumulator of several values: `step(i, values)` gives the next
// ones. Leaves the builder behind the loop.
std::vector<Value> LoopAround(
    Builder& b, Value n, const std::vector<Value>& start,
    const std::function<std::vector<Value>(Value, std::vector<Value>)>& step) {
  const uint32_t header = b.NewBlock(), body = b.NewBlock(), after = b.NewBlock();
  std::vector<Value> args = start;
  args.push_back(b.I64(0));
  b.Jump(header, args);
  b.SetBlock(header);
  std::vector<Value> state;
  for (Value v : start) state.push_back(b.AddParam(header, b.TypeOf(v)));
  const Value i = b.AddParam(header, Type::I64(), "i");
  b.Branch(b.Make(Op::Lt, {i, n}), {body, {}}, {after, {}});
  b.SetBlock(body);
  std::vector<Value> next = step(i, state);
  next.push_back(b.Make(Op::Add, {i, b.I64(1)}));
  b.Jump(header, next);
  b.SetBlock(after);
  return state;
}

// Returns `results()` where `cond` holds; code goes on where it does not.
void ReturnIf(Builder& b, Value cond, const std::function<std::vector<Value>()>& results) {
  const uint32_t leave = b.NewBlock(), go_on = b.NewBlock();
  b.Branch(cond, {leave, {}}, {go_on, {}});
  b.SetBlock(leave);
  b.Return(results());
  b.SetBlock(go_on);
}

Value IsShort(Builder& b, Value list) { return b.Make(Op::Eq, {b.ListLen(list), b.I64(0)}); }

std::vector<Value> Dims(Builder& b, Value array) {
  std::vector<Value> dims;
  for (int axis = 0; axis < b.TypeOf(array).rank; ++axis) dims.push_back(b.Dim(array, axis));
  return dims;
}

Value HasNoElements(Builder& b, Value array) {
  Value none;
  for (Value dim : Dims(b, array)) {
    const Value zero = b.Make(Op::Eq, {dim, b.I64(0)});
    none = none.valid() ? b.Make(Op::Or, {none, zero}) : zero;
  }
  return none;
}

std::vector<Value> Joined(const Builder::Taken& taken) {
  std::vector<Value> all = taken.fields;
  all.insert(all.begin(), taken.list);
  return all;
}

Builder::Taken Parted(const std::vector<Value>& all) {
  return {all[0], {all.begin() + 1, all.end()}};
}

}  // namespace

Value ListFunctions::ZeroField(Builder& b, Type t) {
  if (t.IsScalar()) return b.Zero(t);
  if (t.IsList()) return b.ListNew(t.record);
  PB_CHECK(t.IsArray());
  return b.Zeros(t.elem, std::vector<Value>(t.rank, b.I64(0)));
}

std::vector<Value> ListFunctions::ZeroFields(Builder& b, Type t) {
  std::vector<Value> zeros;
  for (Type field : FieldsOf(t)) zeros.push_back(ZeroField(b, field));
  return zeros;
}

// --- calls

std::vector<Value> ListFunctions::Get(Builder& b, Value list, Value i) {
  return b.Call(Of(Kind::kGet, b.TypeOf(list)), {list, i});
}

Builder::Taken ListFunctions::Take(Builder& b, Value list, Value i) {
  return Parted(b.Call(Of(Kind::kTake, b.TypeOf(list)), {list, i}));
}

Builder::Taken ListFunctions::Pop(Builder& b, Value list) {
  return Parted(b.Call(Of(Kind::kPop, b.TypeOf(list)), {list}));
}

Value ListFunctions::Full(Builder& b, Value list, Value n) {
  return b.Call(Of(Kind::kFull, b.TypeOf(list)), {list, n})[0];
}

Value ListFunctions::AddAt(Builder& b, Value list, Value n, Value i,
                           const std::vector<Value>& fields) {
  const Type t = b.TypeOf(list);
  std::vector<Value> args = {list, n, i};
  for (size_t k = 0; k < fields.size(); ++k) {
    if (!ir::CarriesTangent(module_, FieldsOf(t)[k])) continue;
    args.push_back(fields[k].valid() ? fields[k] : ZeroField(b, FieldsOf(t)[k]));
  }
  return b.Call(Of(Kind::kAddAt, t), args)[0];
}

Value ListFunctions::Add(Builder& b, Value x, Value y) {
  if (!b.TypeOf(x).IsList()) return b.Add(x, y);
  return b.Call(Of(Kind::kAdd, b.TypeOf(x)), {x, y})[0];
}

std::vector<Value> ListFunctions::Sum(Builder& b, Value list) {
  return b.Call(Of(Kind::kSum, b.TypeOf(list)), {list});
}

Value ListFunctions::Shaped(Builder& b, Value array, const std::vector<Value>& extents) {
  std::vector<Value> args = extents;
  args.insert(args.begin(), array);
  return b.Call(Of(Kind::kShaped, b.TypeOf(array)), args)[0];
}

Value ListFunctions::Fill(Builder& b, Value list, Value like) {
  return b.Call(Of(Kind::kFill, b.TypeOf(list)), {list, like})[0];
}

// --- the functions

uint32_t ListFunctions::Of(Kind kind, Type t) {
  struct Row {
    const char* name;
    Body make;
  };
  static constexpr Row kRows[] = {{"get", &ListFunctions::MakeGet},
                                  {"take", &ListFunctions::MakeTake},
                                  {"pop", &ListFunctions::MakePop},
                                  {"full", &ListFunctions::MakeFull},
                                  {"add_at", &ListFunctions::MakeAddAt},
                                  {"add", &ListFunctions::MakeAdd},
                                  {"add_arrays", &ListFunctions::MakeAddArrays},
                                  {"sum", &ListFunctions::MakeSum},
                                  {"shaped", &ListFunctions::MakeShaped},
                                  {"fill", &ListFunctions::MakeFill}};
  const auto [it, fresh] = made_.try_emplace({kind, t.record, t.elem, t.rank});
  if (!fresh) return it->second;  // also inside a recursion: it is declared already
  const Row& row = kRows[static_cast<size_t>(kind)];
  const std::string of = t.IsList() ? module_.records[t.record].name : "array";
  const uint32_t f = module_.AddFunction(of + "." + row.name);
  it->second = f;
  Builder b(module_, module_.Get(f));
  b.NewBlock();
  (this->*row.make)(b, t);
  return f;
}

void ListFunctions::MakeGet(Builder& b, Type t) {
  b.function().results = FieldsOf(t);
  const Value list = b.AddParam(0, t, "list"), i = b.AddParam(0, Type::I64(), "i");
  ReturnIf(b, IsShort(b, list), [&] { return ZeroFields(b, t); });
  b.Return(b.ListGet(list, i));
}

void ListFunctions::MakeTake(Builder& b, Type t) {
  b.function().results = FieldsOf(t);
  b.function().results.insert(b.function().results.begin(), t);
  const Value list = b.AddParam(0, t, "list"), i = b.AddParam(0, Type::I64(), "i");
  ReturnIf(b, IsShort(b, list), [&] { return Joined({list, ZeroFields(b, t)}); });
  b.Return(Joined(b.ListTake(list, i)));
}

void ListFunctions::MakePop(Builder& b, Type t) {
  b.function().results = FieldsOf(t);
  b.function().results.insert(b.function().results.begin(), t);
  const Value list = b.AddParam(0, t, "list");
  ReturnIf(b, IsShort(b, list), [&] { return Joined({list, ZeroFields(b, t)}); });
  b.Return(Joined(b.ListPop(list)));
}

void ListFunctions::MakeFull(Builder& b, Type t) {
  b.function().results = {t};
  const Value list = b.AddParam(0, t, "list"), n = b.AddParam(0, Type::I64(), "n");
  ReturnIf(b, b.Make(Op::Not, {IsShort(b, list)}), [&] { return std::vector<Value>{list}; });
  b.Return({b.ListOf(t.record, n, ZeroFields(b, t))});
}

void ListFunctions::MakeAddAt(Builder& b, Type t) {
  b.function().results = {t};
  const Value list = b.AddParam(0, t, "list"), n = b.AddParam(0, Type::I64(), "n"),
              i = b.AddParam(0, Type::I64(), "i");
  std::vector<Value> add;
  for (Type field : FieldsOf(t)) {
    add.push_back(ir::CarriesTangent(module_, field) ? b.AddParam(0, field) : ir::kNoValue);
  }
  Builder::Taken taken = b.ListTake(Full(b, list, n), i);
  for (size_t k = 0; k < add.size(); ++k) {
    if (add[k].valid()) taken.fields[k] = AddField(b, taken.fields[k], add[k]);
  }
  b.Return({b.ListSet(taken.list, i, taken.fields)});
}

Value ListFunctions::AddField(Builder& b, Value x, Value y) {
  const Type t = b.TypeOf(x);
  if (!ir::CarriesTangent(module_, t)) return x;
  return t.IsArray() ? b.Call(Of(Kind::kAddArrays, t), {x, y})[0] : Add(b, x, y);
}

void ListFunctions::MakeAdd(Builder& b, Type t) {
  b.function().results = {t};
  const Value x = b.AddParam(0, t, "x"), y = b.AddParam(0, t, "y");
  ReturnIf(b, IsShort(b, x), [&] { return std::vector<Value>{y}; });
  ReturnIf(b, IsShort(b, y), [&] { return std::vector<Value>{x}; });
  b.Return(LoopAround(b, b.ListLen(y), {x}, [&](Value i, const std::vector<Value>& sum) {
    Builder::Taken taken = b.ListTake(sum[0], i);
    const std::vector<Value> more = b.ListGet(y, i);
    for (size_t k = 0; k < more.size(); ++k)
      taken.fields[k] = AddField(b, taken.fields[k], more[k]);
    return std::vector<Value>{b.ListSet(taken.list, i, taken.fields)};
  }));
}

void ListFunctions::MakeAddArrays(Builder& b, Type t) {
  b.function().results = {t};
  const Value x = b.AddParam(0, t, "x"), y = b.AddParam(0, t, "y");
  ReturnIf(b, HasNoElements(b, x), [&] { return std::vector<Value>{y}; });
  ReturnIf(b, HasNoElements(b, y), [&] { return std::vector<Value>{x}; });
  b.Return({b.AddArrays(x, y)});
}

void ListFunctions::MakeSum(Builder& b, Type t) {
  b.function().results = FieldsOf(t);
  const Value list = b.AddParam(0, t, "list");
  b.Return(LoopAround(b, b.ListLen(list), ZeroFields(b, t), [&](Value i, std::vector<Value> sum) {
    const std::vector<Value> more = b.ListGet(list, i);
    for (size_t k = 0; k < more.size(); ++k) sum[k] = AddField(b, sum[k], more[k]);
    return sum;
  }));
}

void ListFunctions::MakeShaped(Builder& b, Type t) {
  b.function().results = {t};
  const Value array = b.AddParam(0, t, "array");
  std::vector<Value> extents;
  for (int axis = 0; axis < t.rank; ++axis) extents.push_back(b.AddParam(0, Type::I64(), "n"));
  Value differs;
  for (int axis = 0; axis < t.rank; ++axis) {
    const Value here = b.Make(Op::Ne, {b.Dim(array, axis), extents[static_cast<size_t>(axis)]});
    differs = differs.valid() ? b.Make(Op::Or, {differs, here}) : here;
  }
  ReturnIf(b, differs, [&] { return std::vector<Value>{b.Zeros(t.elem, extents)}; });
  b.Return({array});
}

void ListFunctions::MakeFill(Builder& b, Type t) {
  b.function().results = {t};
  const Value list = b.AddParam(0, t, "list"), like = b.AddParam(0, t, "like");
  const Value n = b.ListLen(like), full = Full(b, list, n);
  bool flat = true;
  for (Type field : FieldsOf(t)) flat &= field.IsScalar();
  if (flat) return b.Return({full});
  b.Return(LoopAround(b, n, {full}, [&](Value i, const std::vector<Value>& filled) {
    Builder::Taken taken = b.ListTake(filled[0], i);
    const std::vector<Value> shape = b.ListGet(like, i);
    for (size_t k = 0; k < shape.size(); ++k) {
      Value& field = taken.fields[k];
      const Type type = b.TypeOf(field);
      if (type.IsArray()) field = b.Fit(field, Dims(b, shape[k]));
      if (type.IsList()) field = Fill(b, field, shape[k]);
    }
    return std::vector<Value>{b.ListSet(taken.list, i, taken.fields)};
  }));
}

}  // namespace pullback::ad
