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
      ArrayPlace(type, step, leaves, first, {});
      return true;
    }
    column_ = column_ || type.kind == Type::Kind::kStructArray;
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
    for (size_t i = 0; column_ && i < change_.value.size(); ++i) {
      if (!KeepsShape(leaves[first + i], change_.value[i])) return false;
    }
    for (size_t i = 0; i < change_.value.size(); ++i) leaves[first + i] = change_.value[i];
    return true;
  }

  // The arrays of an array of structs stay equally long.
  bool KeepsShape(const Leaf& old, const Leaf& leaf) {
    const std::vector<Affine> dims = ExtentsOf(c_, old);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (!RequireEqual(c_, ExtentsOf(c_, leaf)[axis], dims[axis])) return false;
    }
    return true;
  }

  // A place in the arrays that a value of that type is, from `first` on: behind the subscripts `at`.
  void ArrayPlace(const Type& type, size_t step, Leaves& leaves, size_t first, Subs at) {
    if (step == path_.size()) return Put(FlatCount(type), leaves, first, at);
    if (path_[step].IsField()) {
      const size_t index = static_cast<size_t>(path_[step].index);
      for (size_t i = 0; i < index; ++i) first += FlatCount(PartOf(type, i));
      return ArrayPlace(PartOf(type, index), step + 1, leaves, first, std::move(at));
    }
    const Subs& more = change_.subs[step];  // none of a region, which is the last step
    at.insert(at.end(), more.begin(), more.end());
    ArrayPlace(type, step + 1, leaves, first, std::move(at));
  }

  void Put(size_t count, Leaves& leaves, size_t first, const Subs& at) {
    for (size_t i = 0; i < count; ++i) PutLeaf(leaves[first + i], change_.value[i], at);
  }

  void PutLeaf(Leaf& leaf, const Leaf& value, const Subs& at) {
    c_.b.SetLoc(change_.loc);
    const Value old = leaf.value;
    const size_t rank = c_.DimsOf(old).size();
    if (!change_.region.empty() || at.size() < rank) {
      Change part = change_;
      part.value = {value};
      part.region.clear();
      for (const Affine& index : at) part.region.push_back({index, {}, 0, {}});
      part.region.insert(part.region.end(), change_.region.begin(), change_.region.end());
      while (part.region.size() < rank) part.region.push_back({Affine::Const(0), {}, 1, {}});
      return ChangeRegion(c_, leaf, part);
    }
    Value v = value.value;
    if (change_.negates) v = UnaryScalar(c_, UnaryOp::kNeg, v);
    leaf.value = change_.adds ? c_.b.AddAt(old, at, v) : c_.b.Update(old, at, v);
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
  bool column_ = false;  // all of one part of an array of structs
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
  bool in_element = false;  // of an array of structs
  for (const Access& a : path) {
    if (!a.IsField() && type.kind == Type::Kind::kArray) return true;
    const bool index = !a.IsField() && type.kind == Type::Kind::kStructArray;
    in_element = in_element || (index && !a.region);
    Type part = a.IsField() ? PartOf(type, static_cast<size_t>(a.index)) : type.elements[0];
    type = std::move(part);
  }
  return in_element && type.kind == Type::Kind::kScalar;
}

}  // namespace pullback::lang
