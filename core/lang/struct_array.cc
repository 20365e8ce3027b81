#include "core/lang/struct_array.h"

#include <algorithm>
#include <iterator>

namespace pullback::lang {
namespace {

// --- what may be an element

// Looks through a type; gives up on one that is too large, whatever it is.
class ElementChecker {
 public:
  ElementChecker(const StructTable& structs, const Limits& limits)
      : structs_(structs), limits_(limits) {}

  std::string Visit(const TypeExpr& t) {
    if (++visited_ > kMost) return TooLarge();
    switch (t.kind) {
      case TypeExpr::Kind::kScalar:
      case TypeExpr::Kind::kOmitted: return Leaf();
      case TypeExpr::Kind::kGiven: return Visit(t.given);
      case TypeExpr::Kind::kList: return Holds("list");
      case TypeExpr::Kind::kBox: return Holds("box");
      case TypeExpr::Kind::kFunction: return Holds("function");
      case TypeExpr::Kind::kRelation: return Holds("relation");
      case TypeExpr::Kind::kStruct: return VisitNamed(t);
      case TypeExpr::Kind::kArray: {
        std::string open = OpenSize(t);
        if (!open.empty()) return open;
        return t.name.empty() ? Leaf() : VisitNamed(t);
      }
      case TypeExpr::Kind::kStructArray: {
        const std::string open = OpenSize(t);
        return open.empty() ? Visit(t.elements[0]) : open;
      }
      case TypeExpr::Kind::kTuple: break;
    }
    for (const TypeExpr& e : t.elements) {
      if (std::string why = Visit(e); !why.empty()) return why;
    }
    return "";
  }

  // Whether there was a type that nobody declared; it is reported where it stands.
  bool unknown() const { return unknown_; }

  std::string Visit(const Type& t) {
    if (++visited_ > kMost) return TooLarge();
    switch (t.kind) {
      case Type::Kind::kList: return Holds("list");
      case Type::Kind::kBox: return Holds("box");
      case Type::Kind::kFunction: return Holds("function");
      case Type::Kind::kRelation: return Holds("relation");
      case Type::Kind::kStruct: return VisitFields(*t.structure);
      case Type::Kind::kStructArray: return Visit(t.elements[0]);
      case Type::Kind::kTuple: break;
      default: return Leaf();
    }
    for (const Type& e : t.elements) {
      if (std::string why = Visit(e); !why.empty()) return why;
    }
    return "";
  }

 private:
  static constexpr int kMost = 10000;

  std::string TooLarge() const {
    return "the elements of this array have more than " + std::to_string(limits_.max_tuple) +
           " parts, counted through nesting";
  }
  std::string Leaf() { return ++leaves_ > limits_.max_tuple ? TooLarge() : ""; }

  std::string Holds(const std::string& what) const {
    std::string place;
    if (!path_.empty()) {
      place = ", as '" + field_->name + "' of '" + path_.back()->name + "' is";
    }
    return "the elements of an array are numbers, arrays, tuples and structs, and hold no " + what +
           place;
  }

  // In a struct, a size that is no number may differ from value to value.
  std::string OpenSize(const TypeExpr& t) const {
    if (path_.empty()) return "";
    for (const ExprPtr& dim : t.dims) {
      if (dim->kind == Expr::Kind::kInt) continue;
      const std::string size = dim->kind == Expr::Kind::kName ? " '" + dim->name + "'" : "";
      return "the elements of an array are all of one size, but the size" + size + " of '" +
             field_->name + "' of '" + path_.back()->name + "' is open: write a number there";
    }
    return "";
  }

  std::string VisitNamed(const TypeExpr& t) {
    const Struct* s = t.structure ? t.structure : structs_.Find(t.name);
    unknown_ |= s == nullptr;
    return s ? VisitFields(*s) : "";
  }

  std::string VisitFields(const Struct& s) {
    if (std::find(path_.begin(), path_.end(), &s) != path_.end()) {
      return "'" + s.name + "' cannot hold an array of itself: a struct recurs through a list only";
    }
    if (path_.size() >= static_cast<size_t>(limits_.max_nesting)) return TooLarge();
    const Field* const outer = field_;
    path_.push_back(&s);
    std::string why;
    for (const Field& f : s.fields) {
      field_ = &f;
      if (why.empty()) why = Visit(f.type);
    }
    path_.pop_back();
    field_ = outer;
    return why;
  }

  const StructTable& structs_;
  const Limits& limits_;
  std::vector<const Struct*> path_;  // structs inside each other
  const Field* field_ = nullptr;     // of the innermost
  int visited_ = 0;
  int leaves_ = 0;
  bool unknown_ = false;
};

// --- the arrays of the parts, as written

using Dims = std::vector<ExprPtr>;

Dims CloneDims(const TypeExpr& t) {
  TypeExpr clone = CloneType(t);
  return std::move(clone.dims);
}

ExprPtr UnwrittenSize(const Span& span) {
  auto e = std::make_unique<Expr>();
  e->kind = Expr::Kind::kName;
  e->span = span;
  e->type = Type::Scalar(DType::kI64);
  return e;
}

// An array of a value of which no more than the type is known.
TypeExpr RaisedGiven(const Type& given, const TypeExpr& over) {
  TypeExpr t;
  t.kind = IsComposite(given) ? TypeExpr::Kind::kStructArray : TypeExpr::Kind::kArray;
  t.span = over.span;
  t.elem = given.elem;
  if (given.kind == Type::Kind::kStructArray) {
    t.elements.push_back(GivenType(given.elements[0], over.span));
  } else if (IsComposite(given)) {
    t.elements.push_back(GivenType(given, over.span));
  }
  t.dims = CloneDims(over);
  for (int i = 0; i < given.rank; ++i) t.dims.push_back(UnwrittenSize(over.span));
  return t;
}

TypeExpr Raised(const TypeExpr& part, const TypeExpr& over) {
  if (part.kind == TypeExpr::Kind::kGiven) return RaisedGiven(part.given, over);
  TypeExpr t;
  if (IsComposite(part) && part.kind != TypeExpr::Kind::kStructArray) {
    t.kind = TypeExpr::Kind::kStructArray;
    t.elements.push_back(CloneType(part));
  } else {
    t = CloneType(part);
    if (t.kind == TypeExpr::Kind::kScalar) t.kind = TypeExpr::Kind::kArray;
  }
  t.span = over.span;
  Dims own = std::move(t.dims);
  t.dims = CloneDims(over);
  std::move(own.begin(), own.end(), std::back_inserter(t.dims));
  return t;
}

void WriteParts(TypeExpr& t) {
  t.parts.clear();
  TypeExpr over;
  over.span = t.span;
  over.dims = std::move(t.dims);
  const TypeExpr& element = t.elements[0];
  if (element.kind == TypeExpr::Kind::kGiven) {
    ForEachPart(element.given,
                [&](const Type& part) { t.parts.push_back(RaisedGiven(part, over)); });
  } else {
    ForEachPart(element, [&](const TypeExpr& part) { t.parts.push_back(Raised(part, over)); });
  }
  t.dims = std::move(over.dims);
}

}  // namespace

Type ArrayOver(const Type& element, int rank) {
  if (rank == 0) return element;
  switch (element.kind) {
    case Type::Kind::kScalar: return Type::Array(element.elem, rank);
    case Type::Kind::kArray: return Type::Array(element.elem, element.rank + rank);
    case Type::Kind::kStructArray: return ArrayOver(element.elements[0], element.rank + rank);
    case Type::Kind::kTuple:
    case Type::Kind::kStruct: break;
    default: return {};
  }
  Type type;
  type.kind = Type::Kind::kStructArray;
  type.rank = rank;
  type.elements.push_back(element);
  ForEachPart(element, [&](const Type& part) { type.elements.push_back(ArrayOver(part, rank)); });
  return type;
}

Shape ArrayOver(Shape element, const std::vector<Size>& dims) {
  element.dims.insert(element.dims.begin(), dims.begin(), dims.end());
  for (Shape& part : element.elements) part = ArrayOver(std::move(part), dims);
  return element;
}

Shape ChosenOf(Shape array, size_t rank, const std::vector<Size>& dims) {
  const auto begin = array.dims.begin();
  array.dims.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(rank, array.dims.size())));
  array.dims.insert(array.dims.begin(), dims.begin(), dims.end());
  for (Shape& part : array.elements) part = ChosenOf(std::move(part), rank, dims);
  return array;
}

std::string WhyNoElement(const Type& element, const StructTable& structs, const Limits& limits) {
  return ElementChecker(structs, limits).Visit(element);
}

Type ResolveStructArray(TypeExpr& t, const StructTable& structs, Reporter& report,
                        const Limits& limits, const ResolvePart& resolve) {
  TypeExpr named;
  if (t.kind == TypeExpr::Kind::kArray) {
    if (!structs.Find(t.name)) {
      report.Error(t.span, "unknown type '" + t.name + "'" + DidYouMean(t.name, structs.Names()));
      return {};
    }
    named.kind = TypeExpr::Kind::kStruct;
    named.name = t.name;
    named.span = t.span;
  }
  const bool is_named = t.kind == TypeExpr::Kind::kArray;
  ElementChecker checker(structs, limits);
  const std::string why = checker.Visit(is_named ? named : t.elements[0]);
  if (!why.empty()) {
    report.Error(t.span, why);
    return {};
  }
  if (checker.unknown()) {
    if (!is_named) resolve(t.elements[0]);
    return {};
  }
  if (is_named) {
    t.kind = TypeExpr::Kind::kStructArray;
    t.name.clear();
    t.elements.push_back(std::move(named));
  }
  Type type;
  type.kind = Type::Kind::kStructArray;
  type.rank = static_cast<int>(t.dims.size());
  type.elements.push_back(resolve(t.elements[0]));
  WriteParts(t);
  for (TypeExpr& part : t.parts) type.elements.push_back(resolve(part));
  for (const Type& e : type.elements) {
    if (e.kind == Type::Kind::kError) return {};
  }
  return type;
}

}  // namespace pullback::lang
