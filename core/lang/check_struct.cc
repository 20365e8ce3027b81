// Structs: their declarations, and types that name them.
#include <algorithm>

#include "core/lang/struct_array.h"

namespace pullback::lang {
namespace {

bool IsWholeNumber(const Expr& e) {
  return e.kind == Expr::Kind::kInt && (!e.has_suffix || e.elem == DType::kI64);
}

// Sizes of a struct's field: whole numbers and names.
void CheckFieldSizes(TypeExpr& t, Reporter& report) {
  for (ExprPtr& dim : t.dims) {
    dim->type = Type::Scalar(DType::kI64);
    if (IsWholeNumber(*dim) || dim->kind == Expr::Kind::kName) continue;
    report.Error(dim->span, "a size in a struct is a whole number or a name");
  }
}

// Sizes in lists and boxes: names alone, since their elements may differ in size.
void CheckElementSizes(TypeExpr& t, const NameTaken& taken, Reporter& report) {
  for (ExprPtr& dim : t.dims) {
    dim->type = Type::Scalar(DType::kI64);
    if (dim->kind == Expr::Kind::kName && !taken(dim->name)) continue;
    report.Error(dim->span,
                 "arrays in lists and boxes have sizes of their own, which their type "
                 "does not say: write _ for the size");
  }
}

void KnownSizes(TypeExpr& t) {
  for (ExprPtr& dim : t.dims) dim->type = Type::Scalar(DType::kI64);
}

// The types inside structs, lists and boxes; `sizes` checks an array's.
Type ResolveInside(TypeExpr& t, const StructTable& structs, const NameTaken& taken,
                   Reporter& report, const Limits& limits,
                   const std::function<void(TypeExpr&)>& sizes) {
  switch (t.kind) {
    case TypeExpr::Kind::kScalar: return Type::Scalar(t.elem);
    case TypeExpr::Kind::kGiven: return t.given;
    case TypeExpr::Kind::kOmitted: return {};
    case TypeExpr::Kind::kArray:
      if (IsStructArray(t)) break;
      sizes(t);
      return Type::Array(t.elem, static_cast<int>(t.dims.size()));
    case TypeExpr::Kind::kStructArray: break;
    case TypeExpr::Kind::kFunction:
    case TypeExpr::Kind::kStruct:
    case TypeExpr::Kind::kList:
    case TypeExpr::Kind::kBox: return ResolveData(t, structs, taken, report, limits);
    case TypeExpr::Kind::kRelation:
      report.Unimplemented(t.span, "a relation inside a struct, list, box or function type");
      return {};
    case TypeExpr::Kind::kTuple: break;
  }
  if (IsStructArray(t)) {
    sizes(t);
    return ResolveStructArray(t, structs, report, limits, [&](TypeExpr& part) {
      // What a struct says of its sizes is said already, and so are the array's.
      const bool element = &part == &t.elements[0];
      return ResolveInside(part, structs, taken, report, limits, element ? sizes : KnownSizes);
    });
  }
  Type type = Type::Tuple({});
  for (TypeExpr& element : t.elements) {
    type.elements.push_back(ResolveInside(element, structs, taken, report, limits, sizes));
  }
  return type;
}

// --- recursion

// No struct holds itself without a list between; and what they hold has bounds.
class RecursionChecker {
 public:
  RecursionChecker(Reporter& report, const Limits& limits) : report_(report), limits_(limits) {}

  void Visit(const Struct& s) { Measure(s, 1); }

 private:
  struct Extent {
    int leaves = 0;  // counted through nesting and no further than past the limit; 0: being visited
    int depth = 1;   // of structs inside each other
  };

  // `level`: how many structs are being visited, so that recursion here has a bound.
  Extent Measure(const Struct& s, int level) {
    auto [it, added] = extents_.emplace(&s, Extent());
    if (!added) return it->second;
    Extent all;
    for (const Field& f : s.fields) Add(f.type, s, level, all);
    if (all.leaves > limits_.max_tuple) {
      report_.Limit(s.span, "TYPE_TOO_LARGE",
                    "'" + s.name + "' has more than " + std::to_string(limits_.max_tuple) +
                        " fields, counted through nesting");
    }
    if (all.depth > limits_.max_nesting && !too_deep_) {
      too_deep_ = true;
      report_.Limit(
          s.span, "NESTING_TOO_DEEP",
          "more than " + std::to_string(limits_.max_nesting) + " structs hold each other");
    }
    return extents_[&s] = all;
  }

  void Add(const TypeExpr& t, const Struct& s, int level, Extent& all) {
    if (t.kind == TypeExpr::Kind::kTuple) {
      for (const TypeExpr& element : t.elements) Add(element, s, level, all);
      return;
    }
    if (t.kind == TypeExpr::Kind::kStructArray) return Add(t.elements[0], s, level, all);
    Extent part{1, 1};
    if (t.kind == TypeExpr::Kind::kBox) {
      Add(t.elements[0], s, level, part);
      part.leaves = 1;
    } else if (t.kind == TypeExpr::Kind::kStruct && t.structure && level <= limits_.max_nesting) {
      part = Measure(*t.structure, level + 1);
      if (part.leaves == 0) Recursive(t, s);
      ++part.depth;
    } else if (t.kind == TypeExpr::Kind::kStruct && t.structure) {
      part.depth = limits_.max_nesting + 1;
    }
    all.leaves = std::min(all.leaves + std::max(part.leaves, 1), limits_.max_tuple + 1);
    all.depth = std::max(all.depth, part.depth);
  }

  void Recursive(const TypeExpr& at, const Struct& s) {
    std::string holder = at.name == s.name ? "itself" : "'" + at.name + "', which holds it";
    report_.Error(at.span, "'" + s.name + "' cannot hold " + holder +
                               ": a struct recurs through a list only (list " + at.name + ")");
  }

  Reporter& report_;
  const Limits& limits_;
  std::unordered_map<const Struct*, Extent> extents_;
  bool too_deep_ = false;
};

}  // namespace

Type ResolveData(TypeExpr& t, const StructTable& structs, const NameTaken& taken, Reporter& report,
                 const Limits& limits) {
  if (t.kind == TypeExpr::Kind::kStruct) {
    t.structure = structs.Find(t.name);
    if (t.structure) return Type::Of(t.structure);
    report.Error(t.span, "unknown type '" + t.name + "'" + DidYouMean(t.name, structs.Names()));
    return {};
  }
  if (t.kind == TypeExpr::Kind::kFunction) {
    std::vector<Type> types;
    for (TypeExpr& e : t.elements) {
      types.push_back(ResolveInside(e, structs, taken, report, limits, [&](TypeExpr& array) {
        CheckElementSizes(array, taken, report);
      }));
      if (types.back().kind == Type::Kind::kError) return {};
    }
    return Type::Dynamic(std::move(types));
  }
  Type element = ResolveInside(t.elements[0], structs, taken, report, limits,
                               [&](TypeExpr& array) { CheckElementSizes(array, taken, report); });
  if (element.kind == Type::Kind::kError) return {};
  return t.kind == TypeExpr::Kind::kList ? Type::List(element) : Type::Box(element);
}

void StructTable::Declare(std::vector<std::unique_ptr<Struct>>& structs, Reporter& report,
                          const Limits& limits) {
  for (const auto& s : structs) {
    if (structs_.emplace(s->name, s.get()).second) continue;
    report.Error(s->span, "there is already a struct named '" + s->name + "'");
  }
  const NameTaken nothing = [](const std::string&) { return false; };
  for (auto& s : structs) {
    std::unordered_map<std::string_view, bool> names;
    for (Field& f : s->fields) {
      if (!names.emplace(f.name, true).second) {
        report.Error(f.span, "'" + s->name + "' has two fields named '" + f.name + "'");
      }
      f.resolved = ResolveInside(f.type, *this, nothing, report, limits,
                                 [&](TypeExpr& t) { CheckFieldSizes(t, report); });
      CheckTypeSize(f.resolved, f.type.span, report, limits);
    }
  }
  RecursionChecker recursion(report, limits);
  for (const auto& s : structs) recursion.Visit(*s);
}

const Struct* StructTable::Find(const std::string& name) const {
  auto it = structs_.find(name);
  return it == structs_.end() ? nullptr : it->second;
}

std::vector<std::string_view> StructTable::Names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, s] : structs_) names.push_back(name);
  return names;
}

}  // namespace pullback::lang
