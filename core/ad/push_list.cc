#include "core/ad/push_list.h"

#include "core/base/status.h"

namespace pullback::ad {
namespace {

using ir::Builder;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;
using Map = std::function<Value(Value)>;

class ListPusher {
 public:
  ListPusher(Builder& b, ListFunctions& lists, const Inst& inst, const Map& primal,
             const Map& tangent)
      : b_(b), lists_(lists), inst_(inst), primal_(primal), tangent_(tangent) {}

  std::vector<Value> Run() {
    switch (inst_.op) {
      case Op::Fit: return {Fit()};
      case Op::ListOf: return {b_.ListOf(Result(0).record, P(0), Fields(1))};
      case Op::ListGet: return Shaped(0, lists_.Get(b_, Dot(0), P(1)));
      case Op::ListSet: return {b_.ListSet(Whole(0), P(1), Fields(2))};
      case Op::ListPush: return {b_.ListPush(Whole(-1), Fields(1))};
      case Op::ListTake: return Parts(lists_.Take(b_, Dot(0), P(1)));
      case Op::ListPop: return Parts(lists_.Pop(b_, Dot(0)));
      default: PB_CHECK(!"no op on lists"); return {};
    }
  }

 private:
  Type Result(size_t k) const { return b_.TypeOf(primal_(inst_.results[k])); }
  Value P(size_t k) { return primal_(inst_.args[k]); }
  Value Dot(size_t k) {
    const Value dot = tangent_(inst_.args[k]);
    return dot.valid() ? dot : ListFunctions::ZeroField(b_, b_.TypeOf(P(k)));
  }
  // The tangent of the list that is changed, as long as the list. The new list tells its length: one that
  // is read after it was changed is not changed in place.
  Value Whole(int64_t longer) {
    const Value n = b_.ListLen(primal_(inst_.results[0]));
    return lists_.Full(b_, Dot(0), b_.AffineOf(ir::Affine::Of(n) + ir::Affine::Const(longer)));
  }
  std::vector<Value> Fields(size_t first) {
    std::vector<Value> fields;
    for (size_t k = first; k < inst_.args.size(); ++k) fields.push_back(Dot(k));
    return fields;
  }
  Value Fit() {
    std::vector<Value> extents;
    for (size_t k = 1; k < inst_.args.size(); ++k) extents.push_back(P(k));
    return b_.Fit(Dot(0), extents);
  }
  // Arrays outside of lists have their primal's shape.
  std::vector<Value> Shaped(size_t first, std::vector<Value> fields) {
    for (size_t k = 0; k < fields.size(); ++k) {
      const Value like = primal_(inst_.results[first + k]);
      const Type t = b_.TypeOf(like);
      if (!ir::CarriesTangent(b_.module(), t)) {
        fields[k] = ir::kNoValue;
      } else if (t.IsArray()) {
        std::vector<Value> extents;
        for (int axis = 0; axis < t.rank; ++axis) extents.push_back(b_.Dim(like, axis));
        fields[k] = b_.Fit(fields[k], extents);
      }
    }
    return fields;
  }
  std::vector<Value> Parts(const Builder::Taken& taken) {
    std::vector<Value> all = Shaped(1, taken.fields);
    all.insert(all.begin(), taken.list);
    return all;
  }

  Builder& b_;
  ListFunctions& lists_;
  const Inst& inst_;
  const Map& primal_;
  const Map& tangent_;
};

}  // namespace

bool IsListOp(Op op) {
  switch (op) {
    case Op::Fit:
    case Op::ListOf:
    case Op::ListGet:
    case Op::ListSet:
    case Op::ListTake:
    case Op::ListPush:
    case Op::ListPop: return true;
    default: return false;
  }
}

std::vector<Value> PushListOp(Builder& b, ListFunctions& lists, const Inst& inst, const Map& primal,
                              const Map& tangent) {
  return ListPusher(b, lists, inst, primal, tangent).Run();
}

}  // namespace pullback::ad
