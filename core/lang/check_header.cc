// Headers of functions: parameter and result types, size variables and how the arguments give them.
#include <set>
#include <unordered_map>

#include "core/lang/check.h"
#include "core/lang/relation.h"
#include "core/lang/struct_array.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

constexpr size_t kMaxSizes = 1024;  // bounds the work of solving

class HeaderChecker {
  struct Dim {  // of a parameter leaf
    Size size;
    const ExprPtr* expr;
    uint32_t leaf;
    uint32_t axis;
  };

 public:
  HeaderChecker(Function& f, const StructTable& structs, Reporter& report, const Limits& limits)
      : f_(f), structs_(structs), report_(report), limits_(limits) {}
  Header Run();

 private:
  void DeclareParams();
  void FindSizeNames(TypeExpr& t);
  void FindSizeNames(Expr& e);
  uint32_t FindLocal(const std::string& name) const;
  void AddSize(const Expr& name);

  Type Resolve(TypeExpr& t, Shape& shape);
  Type ResolveArrayOfStructs(TypeExpr& t, Shape& shape);
  Type ResolveRelation(TypeExpr& t, Shape& shape);
  Size ResolveDim(Expr& e);
  Size ResolveName(Expr& e);
  Size ResolveBinary(Expr& e);
  void Wrong(const Span& span, std::string message);
  void Misplaced(const Expr& e);

  void SolveSizes();
  bool SolveSome(bool plain);
  bool TrySolve(const Dim& dim, bool plain);
  void CollectDims(const TypeExpr& t, const Shape& shape, uint32_t& leaf);

  Function& f_;
  const StructTable& structs_;
  Reporter& report_;
  const Limits& limits_;
  Header header_;
  std::vector<Dim> dims_;
  std::unordered_map<std::string, uint32_t> names_;
  std::set<uint32_t> solved_;
  bool sound_ = true;  // no size is wrong in itself
};

uint32_t HeaderChecker::FindLocal(const std::string& name) const {
  auto it = names_.find(name);
  return it == names_.end() ? kNone : it->second;
}

void HeaderChecker::DeclareParams() {
  for (Param& p : f_.params) {
    p.local = static_cast<uint32_t>(f_.locals.size());
    if (!names_.emplace(p.name, p.local).second) {
      report_.Error(p.span, "'" + f_.name + "' has two parameters named '" + p.name + "'");
    }
    f_.locals.push_back({Local::Kind::kParam, p.name, {}, p.span});
    // A scalar's type is needed at once: sizes may speak of it.
    if (p.type.kind == TypeExpr::Kind::kGiven) f_.locals.back().type = p.type.given;
    if (p.type.kind == TypeExpr::Kind::kScalar) f_.locals.back().type = Type::Scalar(p.type.elem);
  }
  if (f_.params.size() <= static_cast<size_t>(limits_.max_params)) return;
  report_.Limit(f_.span, "TYPE_TOO_LARGE",
                "'" + f_.name + "' has " + std::to_string(f_.params.size()) +
                    " parameters, over the limit of " + std::to_string(limits_.max_params));
}

// Every name in a parameter's sizes that is no parameter is a size variable. Lists and boxes have
// sizes of their own.
void HeaderChecker::FindSizeNames(TypeExpr& t) {
  if (t.kind == TypeExpr::Kind::kList || t.kind == TypeExpr::Kind::kBox) return;
  for (ExprPtr& dim : t.dims) FindSizeNames(*dim);
  for (TypeExpr& element : t.elements) FindSizeNames(element);
}

void HeaderChecker::FindSizeNames(Expr& e) {
  if (e.kind == Expr::Kind::kName && FindLocal(e.name) == kNone) AddSize(e);
  for (ExprPtr& operand : e.operands) FindSizeNames(*operand);
}

void HeaderChecker::AddSize(const Expr& name) {
  names_.emplace(name.name, static_cast<uint32_t>(f_.locals.size()));
  f_.size_locals.push_back(static_cast<uint32_t>(f_.locals.size()));
  f_.locals.push_back({Local::Kind::kSize, name.name, Type::Scalar(DType::kI64), name.span});
}

Type HeaderChecker::Resolve(TypeExpr& t, Shape& shape) {
  if (t.kind == TypeExpr::Kind::kScalar) return Type::Scalar(t.elem);
  if (t.kind == TypeExpr::Kind::kGiven) {
    shape = UnknownShape(t.given);
    return t.given;
  }
  if (IsStructArray(t)) return ResolveArrayOfStructs(t, shape);
  if (t.kind == TypeExpr::Kind::kStruct || t.kind == TypeExpr::Kind::kList ||
      t.kind == TypeExpr::Kind::kBox) {
    const NameTaken taken = [&](const std::string& name) { return FindLocal(name) != kNone; };
    const Type type = ResolveData(t, structs_, taken, report_, limits_);
    shape = UnknownShape(type);
    return type;
  }
  if (t.kind == TypeExpr::Kind::kRelation) return ResolveRelation(t, shape);
  Type type = Type::Tuple({});
  if (t.kind == TypeExpr::Kind::kArray) {
    type = Type::Array(t.elem, static_cast<int>(t.dims.size()));
    for (ExprPtr& dim : t.dims) shape.dims.push_back(ResolveDim(*dim));
  }
  for (TypeExpr& element : t.elements) {
    shape.elements.emplace_back();
    type.elements.push_back(Resolve(element, shape.elements.back()));
  }
  return type;
}

Type HeaderChecker::ResolveArrayOfStructs(TypeExpr& t, Shape& shape) {
  std::vector<Shape> shapes;  // of the element, then of each part
  Type type = ResolveStructArray(t, structs_, report_, limits_, [&](TypeExpr& part) {
    shapes.emplace_back();
    return Resolve(part, shapes.back());
  });
  for (ExprPtr& dim : t.dims) shape.dims.push_back(ResolveDim(*dim));
  if (type.kind == Type::Kind::kError) {
    sound_ = false;
    shape = {};  // nothing is bound by the sizes of a wrong type
    return {};
  }
  shape.elements.assign(shapes.begin() + 1, shapes.end());
  return type;
}

Type HeaderChecker::ResolveRelation(TypeExpr& t, Shape& shape) {
  Type type = RelationType(ArityOf(t));
  shape = UnknownShape(type);
  for (size_t i = 0; i < t.dims.size(); ++i) {
    shape.elements[0].dims[i] = ResolveDim(*t.dims[i]);
  }
  if (&t == &f_.result) {
    report_.Unimplemented(t.span, "a relation as the result of a function");
    return {};
  }
  return type;
}

// A size in a header: names, whole numbers, + - * / % and unary minus.
Size HeaderChecker::ResolveDim(Expr& e) {
  e.type = Type::Scalar(DType::kI64);
  switch (e.kind) {
    case Expr::Kind::kInt:
      if (e.has_suffix && e.elem != DType::kI64) Misplaced(e);
      return Size::Const(e.int_value);
    case Expr::Kind::kName: return ResolveName(e);
    case Expr::Kind::kUnary:
      if (e.unary != UnaryOp::kNeg) Misplaced(e);
      return Size::Const(0) - ResolveDim(*e.operands[0]);
    case Expr::Kind::kBinary: return ResolveBinary(e);
    default: Misplaced(e); return {};
  }
}

void HeaderChecker::Wrong(const Span& span, std::string message) {
  sound_ = false;
  report_.Error(span, std::move(message));
}

void HeaderChecker::Misplaced(const Expr& e) {
  Wrong(e.span, "a size is made of names, whole numbers, + - * / and %");
}

Size HeaderChecker::ResolveName(Expr& e) {
  if (IsUnwritten(e)) return {};
  e.local = FindLocal(e.name);
  if (e.local == kNone) {
    std::vector<std::string_view> names;
    for (const Local& l : f_.locals) names.push_back(l.name);
    Wrong(e.span, "unknown size '" + e.name +
                      "': sizes of the result are made of the parameters' sizes" +
                      DidYouMean(e.name, names));
    return {};
  }
  const Local& local = f_.locals[e.local];
  if (local.type == Type::Scalar(DType::kI64)) return Size::Of(e.local);
  Wrong(e.span, "the size '" + e.name + "' is a parameter that is not an i64");
  return {};
}

Size HeaderChecker::ResolveBinary(Expr& e) {
  Size a = ResolveDim(*e.operands[0]);
  Size b = ResolveDim(*e.operands[1]);
  switch (e.binary) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv:
    case BinaryOp::kRem: return {};
    default: Misplaced(e); return {};
  }
}

void HeaderChecker::CollectDims(const TypeExpr& t, const Shape& shape, uint32_t& leaf) {
  if (t.kind == TypeExpr::Kind::kRelation) {
    for (size_t i = 0; i < ArityOf(t) && !shape.elements.empty(); ++i) {
      dims_.push_back({shape.elements[0].dims[i], &t.dims[i], leaf, static_cast<uint32_t>(i)});
    }
    leaf += static_cast<uint32_t>(t.elements.size()) + 1;
    return;
  }
  if (t.kind == TypeExpr::Kind::kStructArray) {  // the parts say all of its sizes
    for (size_t i = 0; i < t.parts.size() && i < shape.elements.size(); ++i) {
      CollectDims(t.parts[i], shape.elements[i], leaf);
    }
    return;
  }
  for (size_t i = 0; i < t.dims.size() && i < shape.dims.size(); ++i) {  // none of a wrong type
    dims_.push_back({shape.dims[i], &t.dims[i], leaf, static_cast<uint32_t>(i)});
  }
  for (size_t i = 0; i < t.elements.size(); ++i) {
    if (t.kind == TypeExpr::Kind::kTuple) CollectDims(t.elements[i], shape.elements[i], leaf);
  }
  if (t.kind == TypeExpr::Kind::kStruct && t.structure) {
    leaf += static_cast<uint32_t>(LeafCount(Type::Of(t.structure)));
  } else if (t.kind == TypeExpr::Kind::kGiven) {
    leaf += static_cast<uint32_t>(LeafCount(t.given));
  } else if (t.kind != TypeExpr::Kind::kTuple) {
    ++leaf;
  }
}

// Solves the size for its one name that is not solved yet, if it is linear in it.
bool HeaderChecker::TrySolve(const Dim& dim, bool plain) {
  std::set<uint32_t> unknown;
  auto collect = [&](const Expr& e) {
    bool size = e.kind == Expr::Kind::kName && e.local != kNone &&
                f_.locals[e.local].kind == Local::Kind::kSize;
    if (size && solved_.count(e.local) == 0) unknown.insert(e.local);
  };
  ForEachExpr(*dim.expr, collect);
  if (unknown.size() != 1 || (plain && (*dim.expr)->kind != Expr::Kind::kName)) return false;
  uint32_t local = *unknown.begin();
  std::optional<int64_t> coeff = dim.size.LinearIn(local);
  if (!coeff) return false;
  f_.size_bindings.push_back({local, dim.leaf, dim.axis, *coeff, dim.expr->get()});
  solved_.insert(local);
  return true;
}

// One walk over all sizes; whether it found any.
bool HeaderChecker::SolveSome(bool plain) {
  bool found = false;
  for (const Dim& d : dims_) found |= TrySolve(d, plain);
  return found;
}

// Plain appearances first; then whatever is linear in one unknown, as long as that finds more.
void HeaderChecker::SolveSizes() {
  if (f_.size_locals.size() > kMaxSizes) {
    report_.Limit(f_.span, "TYPE_TOO_LARGE",
                  "'" + f_.name + "' has more than " + std::to_string(kMaxSizes) + " sizes");
    return;
  }
  uint32_t leaf = 0;
  for (size_t i = 0; i < f_.params.size(); ++i) {
    CollectDims(f_.params[i].type, header_.param_shapes[i], leaf);
  }
  SolveSome(true);
  while (SolveSome(false)) {
  }
  for (uint32_t local : f_.size_locals) {
    if (!sound_ || solved_.count(local) != 0) continue;
    const std::string& name = f_.locals[local].name;
    report_.Error(f_.locals[local].span,
                  "the arguments do not give the size '" + name +
                      "': an axis of some parameter must have it as its size, or a linear form "
                      "of it such as " +
                      name + " + 1");
  }
}

Header HeaderChecker::Run() {
  DeclareParams();
  for (Param& p : f_.params) FindSizeNames(p.type);
  header_.facts.resize(f_.locals.size());
  for (Param& p : f_.params) {
    Shape shape;
    Type type = Resolve(p.type, shape);
    if (!CheckTypeLimits(type, p.type.span, report_, limits_)) type = Type();
    f_.locals[p.local].type = type;
    header_.facts[p.local].shape = shape;
    header_.param_types.push_back(type);
    header_.param_shapes.push_back(std::move(shape));
  }
  for (uint32_t i = 0; i < f_.locals.size(); ++i) {
    if (f_.locals[i].type == Type::Scalar(DType::kI64)) header_.facts[i].value = Size::Of(i);
  }
  SolveSizes();
  f_.result_type = Type();
  f_.result_type.kind = Type::Kind::kUnit;
  if (!f_.has_result) return std::move(header_);
  if (f_.infers_result) {
    f_.result_type = Type();
    return std::move(header_);
  }
  f_.result_type = Resolve(f_.result, header_.result_shape);
  if (!CheckTypeLimits(f_.result_type, f_.result.span, report_, limits_)) f_.result_type = Type();
  return std::move(header_);
}

}  // namespace

Header CheckHeader(Function& function, const StructTable& structs, Reporter& report,
                   const Limits& limits) {
  return HeaderChecker(function, structs, report, limits).Run();
}

}  // namespace pullback::lang
