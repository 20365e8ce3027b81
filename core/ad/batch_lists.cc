#include "core/ad/batch_lists.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace pullback::ad {
namespace {

using ir::Builder;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

bool FitsRecord(const ir::Module& module, uint32_t record, std::set<uint32_t>& seen) {
  if (!seen.insert(record).second) return true;
  const std::vector<Type>& fields = module.records[record].fields;
  return std::all_of(fields.begin(), fields.end(), [&](Type t) {
    if (t.IsList()) return FitsRecord(module, t.record, seen);
    return !t.IsBox() && t.rank + 1u <= kMaxArrayRank;
  });
}

class Visitor {
 public:
  Visitor(Builder& b, InstBatcher& insts, BatchedLists& lists, const Inst& inst, Value count)
      : b_(b), insts_(insts), lists_(lists), inst_(inst), count_(count) {}

  bool Run() {
    if (inst_.op == Op::ListLen) {
      insts_.Bind(inst_.results[0], {b_.ListLen(insts_.Get(inst_.args[0])), false});
      return true;
    }
    for (Value v : inst_.args) {
      if (insts_.IsBatched(v) && !Carries(v)) return false;
    }
    switch (inst_.op) {
      case Op::ListOf: return Bind({b_.ListOf(Record(inst_.results[0]), Get(0), Fields(1))});
      case Op::ListGet: return Bind(b_.ListGet(List(), Get(1)));
      case Op::ListSet: return Bind({b_.ListSet(List(), Get(1), Fields(2))});
      case Op::ListPush: return Bind({b_.ListPush(List(), Fields(1))});
      case Op::ListTake: return BindTaken(b_.ListTake(List(), Get(1)));
      case Op::ListPop: return BindTaken(b_.ListPop(List()));
      default: PB_CHECK(!"no op on lists"); return false;
    }
  }

 private:
  bool Carries(Value v) const { return ir::CarriesTangent(b_.module(), insts_.OwnType(v)); }
  uint32_t Record(Value list) { return lists_.TypeOf(insts_.OwnType(list)).record; }
  Value Get(size_t k) { return insts_.Get(inst_.args[k]); }
  Value List() { return insts_.Spread(inst_.args[0]); }
  std::vector<Value> Fields(size_t first) {
    std::vector<Value> fields;
    for (size_t k = first; k < inst_.args.size(); ++k)
      fields.push_back(Carries(inst_.args[k]) ? insts_.Spread(inst_.args[k]) : Get(k));
    return fields;
  }
  // A scalar has one element for each seed; arrays are given their shape where they are read.
  bool Bind(const std::vector<Value>& made) {
    for (size_t k = 0; k < made.size(); ++k) {
      const Value v = inst_.results[k];
      if (!Carries(v)) {
        insts_.Bind(v, {made[k], false});
      } else {
        insts_.Bind(v, {insts_.OwnType(v).IsScalar() ? b_.Fit(made[k], {count_}) : made[k], true});
      }
    }
    return true;
  }
  bool BindTaken(const Builder::Taken& taken) {
    std::vector<Value> all = taken.fields;
    all.insert(all.begin(), taken.list);
    return Bind(all);
  }

  Builder& b_;
  InstBatcher& insts_;
  BatchedLists& lists_;
  const Inst& inst_;
  const Value count_;
};

}  // namespace

bool IsOnLists(Op op) {
  switch (op) {
    case Op::ListLen:
    case Op::ListOf:
    case Op::ListGet:
    case Op::ListSet:
    case Op::ListTake:
    case Op::ListPush:
    case Op::ListPop: return true;
    default: return false;
  }
}

bool VisitListOp(Builder& b, InstBatcher& insts, BatchedLists& lists, const Inst& inst,
                 Value count) {
  return Visitor(b, insts, lists, inst, count).Run();
}

bool BatchedLists::Fits(Type list) const {
  std::set<uint32_t> seen;
  return list.IsList() && FitsRecord(module_, list.record, seen);
}

Type BatchedLists::TypeOf(Type t) {
  if (t.IsTape()) return t;
  if (!t.IsList()) return Type::Array(t.elem, t.rank + 1);
  const auto [it, fresh] = records_.try_emplace(t.record);
  if (fresh) {  // a record may hold lists of itself
    ir::Record batched = module_.records[t.record];
    batched.name += ".batched";
    const std::vector<Type> fields = std::exchange(batched.fields, {});
    const uint32_t made = it->second = module_.AddRecord(std::move(batched));
    for (Type field : fields) {
      const Type with = ir::CarriesTangent(module_, field) ? TypeOf(field) : field;
      module_.records[made].fields.push_back(with);
    }
  }
  return Type::List(records_.at(t.record));
}

Value BatchedLists::Spread(Builder& b, Value v, Value count) {
  const Type t = b.TypeOf(v);
  if (t.IsList()) return b.Call(SpreadFunction(t), {v, count})[0];
  std::vector<Value> dims;
  for (int axis = 0; axis < t.rank; ++axis) dims.push_back(b.Dim(v, axis));
  dims.push_back(count);
  std::vector<Value> at = b.BeginEach(dims);
  ir::EachResult r;
  r.out = SubscriptsOf(at);
  r.shape = dims;
  at.pop_back();
  r.value = at.empty() ? v : b.Index(v, SubscriptsOf(at));
  return b.EndEach({std::move(r)})[0];
}

uint32_t BatchedLists::SpreadFunction(Type list) {
  const auto [it, fresh] = spread_.try_emplace(list.record);
  if (!fresh) return it->second;  // also inside a recursion: it is declared already
  const Type to = TypeOf(list);
  const uint32_t f = it->second =
      module_.AddFunction(module_.records[list.record].name + ".spread");
  Builder b(module_, module_.Get(f));
  const uint32_t entry = b.NewBlock(), header = b.NewBlock(), body = b.NewBlock(),
                 done = b.NewBlock();
  b.function().results = {to};
  const Value from = b.AddParam(entry, list, "list"),
              count = b.AddParam(entry, Type::I64(), "count");
  const Value i = b.AddParam(header, Type::I64(), "i"), into = b.AddParam(header, to, "into");
  b.SetBlock(entry);
  b.Jump(header, {b.I64(0), b.ListNew(to.record)});
  b.SetBlock(header);
  b.Branch(b.Make(Op::Lt, {i, b.ListLen(from)}), {body, {}}, {done, {}});
  b.SetBlock(body);
  std::vector<Value> fields = b.ListGet(from, i);
  for (Value& field : fields) {
    if (ir::CarriesTangent(module_, b.TypeOf(field))) field = Spread(b, field, count);
  }
  b.Jump(header, {b.Make(Op::Add, {i, b.I64(1)}), b.ListPush(into, fields)});
  b.SetBlock(done);
  b.Return({into});
  return f;
}

}  // namespace pullback::ad
