#include "core/ad/set_lists.h"

#include <algorithm>
#include <utility>

#include "core/ad/sparse_pattern.h"
#include "core/base/status.h"

namespace pullback::ad {
namespace {

using ir::Builder;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;
using Map = std::function<Value(Value)>;

class Pusher {
 public:
  Pusher(Builder& b, SetLists& types, ListFunctions& lists, const Inst& inst, Value width,
         const Map& to, const Map& sets)
      : b_(b), types_(types), lists_(lists), inst_(inst), width_(width), to_(to), sets_(sets) {}

  std::vector<Value> Run() {
    switch (inst_.op) {
      case Op::ListOf: return {b_.ListOf(ResultType().record, P(0), Fields(1))};
      case Op::ListGet: return Results(0, lists_.Get(b_, List(), P(1)));
      case Op::ListSet: return {b_.ListSet(Whole(0), P(1), Fields(2))};
      case Op::ListPush: return {b_.ListPush(Whole(-1), Fields(1))};
      case Op::ListTake: return Parts(lists_.Take(b_, List(), P(1)));
      case Op::ListPop: return Parts(lists_.Pop(b_, List()));
      default: PB_CHECK(!"no op on lists"); return {};
    }
  }

 private:
  bool Carries(Value v) const { return ir::CarriesTangent(b_.module(), b_.TypeOf(to_(v))); }
  Type ResultType() { return types_.TypeOf(b_.TypeOf(to_(inst_.results[0]))); }
  Value P(size_t k) { return to_(inst_.args[k]); }
  Value OrNone(Value v) {
    const Value sets = sets_(v);
    return sets.valid() ? sets : ListFunctions::ZeroField(b_, types_.TypeOf(b_.TypeOf(to_(v))));
  }
  Value List() { return OrNone(inst_.args[0]); }
  // The list of sets that is changed, as long as the list. The new list tells its length: one that is read
  // after it was changed is not changed in place.
  Value Whole(int64_t longer) {
    const Value n = b_.ListLen(to_(inst_.results[0]));
    return lists_.Full(b_, List(), b_.AffineOf(ir::Affine::Of(n) + ir::Affine::Const(longer)));
  }
  std::vector<Value> Fields(size_t first) {
    std::vector<Value> fields;
    for (size_t k = first; k < inst_.args.size(); ++k) {
      if (Carries(inst_.args[k])) fields.push_back(OrNone(inst_.args[k]));
    }
    return fields;
  }
  // Outside of lists there is a row for each element.
  std::vector<Value> Results(size_t first, const std::vector<Value>& fields) {
    std::vector<Value> sets(inst_.results.size());
    size_t next = 0;
    for (size_t k = first; k < inst_.results.size(); ++k) {
      if (!Carries(inst_.results[k])) continue;
      sets[k] = fields[next++];
      if (b_.TypeOf(sets[k]).IsArray()) sets[k] = b_.Fit(sets[k], {Elements(k), width_});
    }
    return sets;
  }
  Value Elements(size_t k) {
    const Value v = to_(inst_.results[k]);
    std::vector<Value> extents;
    for (int axis = 0; axis < b_.TypeOf(v).rank; ++axis) extents.push_back(b_.Dim(v, axis));
    return ElementCount(b_, extents);
  }
  std::vector<Value> Parts(const Builder::Taken& taken) {
    std::vector<Value> sets = Results(1, taken.fields);
    sets[0] = taken.list;
    return sets;
  }

  Builder& b_;
  SetLists& types_;
  ListFunctions& lists_;
  const Inst& inst_;
  const Value width_;
  const Map& to_;
  const Map& sets_;
};

}  // namespace

Type SetLists::TypeOf(Type t) {
  if (t.IsTape()) return t;
  if (!t.IsList()) return Type::Array(DType::kI64, 2);
  const auto [it, fresh] = records_.try_emplace(t.record);
  if (fresh) {  // a record may hold lists of itself
    const uint32_t made = it->second =
        module_.AddRecord({module_.records[t.record].name + ".sets", {}, {}});
    const std::vector<Type> fields = module_.FieldsOf(t);
    const std::vector<std::string> names = module_.records[t.record].field_names;
    for (size_t k = 0; k < fields.size(); ++k) {
      if (!ir::CarriesTangent(module_, fields[k])) continue;
      const Type field = TypeOf(fields[k]);
      module_.records[made].fields.push_back(field);
      module_.records[made].field_names.push_back(names[k]);
    }
  }
  return Type::List(records_.at(t.record));
}

bool SetLists::Follows(Op op) {
  switch (op) {
    case Op::ListNew:
    case Op::ListOf:
    case Op::ListGet:
    case Op::ListSet:
    case Op::ListTake:
    case Op::ListPush:
    case Op::ListPop: return true;
    default: return false;
  }
}

std::vector<Value> SetLists::Push(Builder& b, const Inst& inst, Value width, const Map& to,
                                  const Map& sets) {
  const bool none =
      std::all_of(inst.args.begin(), inst.args.end(), [&](Value v) { return !sets(v).valid(); });
  if (none) return std::vector<Value>(inst.results.size());
  return Pusher(b, *this, functions_, inst, width, to, sets).Run();
}

}  // namespace pullback::ad
