#include "core/lang/lower_place.h"

#include <algorithm>

#include "core/lang/lower_array.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_list.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

bool CheckField(Context& c, const TypeExpr& declared, const Leaves& value) {
  std::vector<const TypeExpr*> types;
  Flatten(declared, types);
  for (size_t i = 0; i < types.size(); ++i) {
    if (!CheckDeclared(c, *types[i], value[i])) return false;
  }
  return true;
}

// Walks down a path and writes the way back up.
class Changing {
 public:
  Changing(Context& c, const std::vector<Access>& path, const Change& change)
      : c_(c), path_(path), change_(change) {}

  // Leaves from `first` on are a value of that type; `declared` is what a struct says of it.
  bool Run(const Type& type, size_t step, Leaves& leaves, size_t first, const TypeExpr* declared) {
    if (step == path_.size()) return Replace(leaves, first, declared);
    if (!path_[step].IsField()) {
      if (type.kind == Type::Kind::kList) return ListElement(type, step, leaves[first]);
      ArrayElement(step, leaves[first]);
      return true;
    }
    const size_t index = static_cast<size_t>(path_[step].index);
    for (size_t i = 0; i < index; ++i) first += FlatCount(PartOf(type, i));
    const bool is_struct = type.kind == Type::Kind::kStruct;
    return Run(PartOf(type, index), step + 1, leaves, first,
               is_struct ? &type.structure->fields[index].type : nullptr);
  }

 private:
  bool Replace(Leaves& leaves, size_t first, const TypeExpr* declared) {
    c_.b.SetLoc(change_.loc);
    if (declared && !CheckField(c_, *declared, change_.value)) return false;
    for (size_t i = 0; i < change_.value.size(); ++i) leaves[first + i] = change_.value[i];
    return true;
  }

  void ArrayElement(size_t step, Leaf& leaf) {
    c_.b.SetLoc(change_.loc);
    if (!change_.region.empty()) return ChangeRegion(c_, leaf, change_);
    const Value old = leaf.value;
    Value v = change_.value[0].value;
    if (change_.negates) v = UnaryScalar(c_, UnaryOp::kNeg, v);
    Subs subs = change_.subs[step];
    leaf.value =
        change_.adds ? c_.b.AddAt(old, std::move(subs), v) : c_.b.Update(old, std::move(subs), v);
    c_.SetDims(leaf.value, c_.DimsOf(old));
  }

  // An element that changes in part is taken out, so that what is in it has one owner.
  bool ListElement(const Type& list, size_t step, Leaf& leaf) {
    const Value index = c_.ToValue(change_.subs[step][0]);
    c_.b.SetLoc(change_.loc);
    Leaves element = change_.value;
    if (step + 1 < path_.size()) {
      const ir::Builder::Taken taken = c_.b.ListTake(leaf.value, index);
      leaf.value = taken.list;
      element = LeavesOf(c_, taken.fields);
      if (!Run(list.elements[0], step + 1, element, 0, nullptr)) return false;
    }
    c_.b.SetLoc(change_.loc);
    leaf.value = c_.b.ListSet(leaf.value, index, ValuesOf(c_, element));
    return true;
  }

  Context& c_;
  const std::vector<Access>& path_;
  const Change& change_;
};

}  // namespace

std::optional<Leaves> LowerConstruct(Context& c, const Expr& e) {
  Leaves all;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    PB_TRY(const Leaves leaves, Lower(c, *e.operands[i]));
    c.SetLoc(e.ordinal);
    if (!CheckField(c, e.type.structure->fields[i].type, leaves)) return std::nullopt;
    all.insert(all.end(), leaves.begin(), leaves.end());
  }
  return all;
}

std::optional<Leaves> LowerWith(Context& c, const Expr& e) {
  const Type& base = e.operands[0]->type;
  PB_TRY(Leaves leaves, Lower(c, *e.operands[0]));
  const uint32_t loc = c.at->base + e.ordinal - c.at->function->first_ordinal;
  Change change;
  const bool fields =
      std::all_of(e.path.begin(), e.path.end(), [](const Access& a) { return a.IsField(); });
  if (fields) {
    change.subs.resize(e.path.size());
    PB_TRY(change.value, Lower(c, *e.operands[1]));
  } else {
    if (c.InBody()) return std::nullopt;
    change = LowerPath(c, e.path);
    change.value = LowerStored(c, *e.operands[1]);
    c.SetLoc(e.ordinal);
    for (Leaf& leaf : leaves) Store(c, leaf);
  }
  change.loc = loc;
  if (!ChangePlace(c, base, e.path, leaves, change)) return std::nullopt;
  return leaves;
}

Change LowerPath(Context& c, const std::vector<Access>& path) {
  Change change;
  change.subs.resize(path.size());
  for (size_t step = 0; step < path.size(); ++step) {
    for (const Subscript& s : path[step].subscripts) {
      if (!path[step].region) {
        change.subs[step].push_back(*LowerInt(c, *s.index));
        continue;
      }
      PartAxis axis;
      if (s.is_slice) {
        axis.step = s.step ? s.step->int_value : 1;
        if (s.lo) axis.lo = *LowerInt(c, *s.lo);
        if (s.hi) axis.hi = *LowerInt(c, *s.hi);
      } else if (s.index->type.kind == Type::Kind::kArray) {
        axis.indices = LowerStored(c, *s.index)[0].value;
      } else {
        axis.lo = *LowerInt(c, *s.index);
      }
      change.region.push_back(std::move(axis));
    }
  }
  return change;
}

bool ChangePlace(Context& c, const Type& base, const std::vector<Access>& path, Leaves& leaves,
                 const Change& change) {
  return Changing(c, path, change).Run(base, 0, leaves, 0, nullptr);
}

bool EndsInArray(const Type& base, const std::vector<Access>& path) {
  Type type = base;
  for (const Access& a : path) {
    if (!a.IsField() && type.kind == Type::Kind::kArray) return true;
    Type part = a.IsField() ? PartOf(type, static_cast<size_t>(a.index)) : type.elements[0];
    type = std::move(part);
  }
  return false;
}

}  // namespace pullback::lang
