// Subscripts, transposition, brackets and array literals, broadcasting.
#include <algorithm>

#include "core/lang/check_body.h"
#include "core/lang/each.h"
#include "core/lang/struct_array.h"

namespace pullback::lang {

// An array of that rank, or a scalar for rank 0; over the limit it is reported and kError.
Type BodyChecker::ArrayType(const Expr& e, DType elem, size_t rank) {
  if (rank == 0) return Type::Scalar(elem);
  Type type = Type::Array(elem, static_cast<int>(rank));
  CheckTypeLimits(type, e.span, report_, limits_);
  return type.rank > limits_.max_rank ? Type() : type;
}

// Gives e the sizes of its operands' broadcast: axes align at the end, size 1 expands. e.type.elem
// is set; e.type gets the rank.
Shape BodyChecker::Broadcast(Expr& e, const std::vector<Shape>& shapes) {
  Shape all;
  for (const Shape& shape : shapes) {
    if (shape.dims.size() > all.dims.size()) {
      all.dims.insert(all.dims.begin(), shape.dims.size() - all.dims.size(), Size::Const(1));
    }
    size_t skipped = all.dims.size() - shape.dims.size();
    for (size_t i = 0; i < shape.dims.size(); ++i) {
      Size& dim = all.dims[skipped + i];
      if (ProvablyNotBroadcastable(dim, shape.dims[i], f_.locals)) {
        return Fail(e, "sizes " + Text(dim) + " and " + Text(shape.dims[i]) +
                           " do not broadcast: they are neither equal nor is one of them 1");
      }
      dim = BroadcastSize(dim, shape.dims[i]);
    }
  }
  e.type = ArrayType(e, e.type.elem, all.dims.size());
  return all;
}

Size BodyChecker::BroadcastSize(const Size& a, const Size& b) const {
  Size one = Size::Const(1);
  if (a == b || b == one) return a;
  if (a == one) return b;
  if (ProvablyUnequal(a, one, f_.locals)) return a;  // so b is a or 1
  return ProvablyUnequal(b, one, f_.locals) ? b : Size();
}

Shape BodyChecker::CheckIndex(Expr& e) {
  Shape base = Check(e.operands[0]);
  const Type type = e.operands[0]->type;
  Shape shape;
  if (type.kind == Type::Kind::kScalar && IsEachValues(e.operands[0]->name)) {
    e.type = Type();  // reported where the loop is
    return {};
  }
  const bool known = type.kind != Type::Kind::kError;
  const bool good = CheckSubscripts(e.subscripts, type, base, e.span, shape);
  e.type = Type();
  if (type.kind == Type::Kind::kList) return CheckListIndex(e, good);
  if (!good || !known) return {};
  if (IsStructArray(type)) {
    e.type = ArrayOver(type.elements[0], static_cast<int>(shape.dims.size()));
    if (!CheckTypeLimits(e.type, e.span, report_, limits_)) e.type = Type();
    return ChosenOf(base, static_cast<size_t>(type.rank), shape.dims);
  }
  e.type = ArrayType(e, type.elem, shape.dims.size());
  return shape;
}

// ps[i].x is ps.x[i]: only the arrays that are asked for are read.
Shape BodyChecker::FieldOfElement(Expr& e, const Shape& shape) {
  ExprPtr element = std::move(e.operands[0]);
  const Type& array = element->operands[0]->type;
  auto part = std::make_unique<Expr>();
  part->kind = Expr::Kind::kField;
  part->span = e.span;
  part->name = std::move(e.name);
  part->int_value = e.int_value;
  part->height = e.height;
  const size_t field = static_cast<size_t>(e.int_value);
  part->type = PartOf(array, field);
  e.kind = Expr::Kind::kIndex;
  e.name.clear();
  e.int_value = 0;
  e.type = PartOf(element->type, field);
  e.subscripts = std::move(element->subscripts);
  const size_t rank = static_cast<size_t>(part->type.rank);
  while (e.subscripts.size() < rank) {
    e.subscripts.emplace_back();
    e.subscripts.back().is_slice = true;
    e.subscripts.back().span = e.span;
  }
  part->operands.push_back(std::move(element->operands[0]));
  e.operands[0] = std::move(part);
  return shape.elements[field];
}

// Gives `shape` the sizes of what the subscripts choose of a value of that type. False: reported.
bool BodyChecker::CheckSubscripts(std::vector<Subscript>& subscripts, const Type& type,
                                  const Shape& base, const Span& span, Shape& shape) {
  bool good = true;
  std::vector<Shape> gathered(subscripts.size());
  int gathers = 0;
  const bool list = type.kind == Type::Kind::kList;
  for (size_t i = 0; i < subscripts.size(); ++i) {
    good &= CheckSubscript(subscripts[i], list ? nullptr : &gathered[i]);
    gathers += gathered[i].dims.empty() ? 0 : 1;
  }
  if (!good || list || type.kind == Type::Kind::kError) return good;
  size_t rank = static_cast<size_t>(type.rank);
  if (subscripts.size() > rank) {
    report_.Error(span, "too many subscripts: " + Text(type, base) + " takes " +
                            (rank == 0 ? "none" : "at most " + std::to_string(rank)) + ", got " +
                            std::to_string(subscripts.size()) +
                            (type.kind == Type::Kind::kRelation
                                 ? "; whether it holds is asked in parentheses: e(i, j)"
                                 : ""));
    return false;
  }
  if (gathers > 1 && !ShareAxes(gathered, span)) return false;
  while (subscripts.size() < rank) {  // a[i] is a[i, :]
    subscripts.emplace_back();
    subscripts.back().is_slice = true;
    subscripts.back().span = span;
    gathered.emplace_back();
  }
  for (size_t i = 0; i < rank; ++i) {
    if (subscripts[i].is_slice) {
      shape.dims.push_back(SliceSize(subscripts[i], base.dims[i]));
    }
    shape.dims.insert(shape.dims.end(), gathered[i].dims.begin(), gathered[i].dims.end());
  }
  return true;
}

// Several arrays of indices have one shape, whose axes stand where the first of them does.
bool BodyChecker::ShareAxes(std::vector<Shape>& gathered, const Span& span) {
  const Shape* first = nullptr;
  for (Shape& shape : gathered) {
    if (shape.dims.empty()) continue;
    if (!first) {
      first = &shape;
      continue;
    }
    bool equal = shape.dims.size() == first->dims.size();
    for (size_t axis = 0; equal && axis < shape.dims.size(); ++axis) {
      equal = !ProvablyUnequal(shape.dims[axis], first->dims[axis], f_.locals);
    }
    if (!equal) {
      report_.Error(
          span, "the arrays of indices must have one shape, got " +
                    Text(Type::Array(DType::kI64, static_cast<int>(first->dims.size())), *first) +
                    " and " +
                    Text(Type::Array(DType::kI64, static_cast<int>(shape.dims.size())), shape));
      return false;
    }
    shape = Shape();
  }
  return true;
}

// Whether all its parts are i64; an index may be an array of them, whose sizes `gathered` gets.
bool BodyChecker::CheckSubscript(Subscript& s, Shape* gathered) {
  bool good = true;
  for (ExprPtr* part : {&s.index, &s.lo, &s.hi, &s.step}) {
    if (!*part) continue;
    Shape shape = Check(*part);
    const Type& type = (*part)->type;
    const bool array = type.kind == Type::Kind::kArray && type.elem == DType::kI64;
    if (array && gathered && part == &s.index && !s.is_slice) {
      *gathered = std::move(shape);
      continue;
    }
    good &= type == Type::Scalar(DType::kI64);
    ExpectI64(*part, s.is_slice ? "a bound of a slice" : "an index");
  }
  return good;
}

Size BodyChecker::SliceSize(const Subscript& s, const Size& extent) const {
  Size hi = s.hi ? ValueOf(*s.hi) : extent;
  Size size = s.lo ? hi - ValueOf(*s.lo) : hi;
  int64_t step = s.step ? s.step->int_value : 1;
  if (step == 1) return size;
  std::optional<int64_t> constant = size.AsConst();
  if (!constant || *constant < 0) return {};
  return Size::Const(*constant / step + (*constant % step != 0));
}

Shape BodyChecker::CheckTranspose(Expr& e) {
  std::vector<Shape> shapes;
  if (!CheckOperands(e, shapes)) return {};
  return Transpose(e, shapes[0]);
}

Shape BodyChecker::Transpose(Expr& e, Shape shape) {
  const Type& type = e.operands[0]->type;
  if (type.kind != Type::Kind::kArray) {
    return Fail(e, "only an array can be transposed, not " + Text(type, shape));
  }
  e.type = type;
  std::reverse(shape.dims.begin(), shape.dims.end());
  return shape;
}

// [e]: an Iverson bracket where e is a bool, else an array of one element.
Shape BodyChecker::CheckBracket(Expr& e) {
  Shape element = Check(e.operands[0]);
  if (e.operands[0]->type == Type::Scalar(DType::kBool)) {
    e.kind = Expr::Kind::kIverson;
    e.type = Type::Scalar(DType::kI64);
    return {};
  }
  e.kind = Expr::Kind::kArray;
  return ArrayOf(e, {element});
}

Shape BodyChecker::CheckArrayLiteral(Expr& e) {
  std::vector<Shape> elements;
  if (!CheckOperands(e, elements)) return {};
  return ArrayOf(e, elements);
}

Shape BodyChecker::ArrayOfStructs(Expr& e, const std::vector<Shape>& elements,
                                  const std::vector<ExprPtr*>& parts) {
  UnifyTuples(parts);
  const Type first = e.operands[0]->type;
  e.type = Type();
  const std::string why = WhyNoElement(first, program_.structs(f_), limits_);
  if (!why.empty()) return Fail(*e.operands[0], why);
  Shape shape = elements[0];
  for (size_t i = 0; i < elements.size(); ++i) {
    Expr& element = *e.operands[i];
    if (!Convert(element, first)) {
      return Fail(element, "the elements of this array differ: the first is " +
                               Text(first, elements[0]) + ", this one " +
                               Text(element.type, elements[i]));
    }
    MustEqual(elements[i], elements[0], element.span, "this element");
    shape = Join(shape, elements[i]);
  }
  e.type = ArrayOver(first, 1);
  if (!CheckTypeLimits(e.type, e.span, report_, limits_)) e.type = Type();
  return ArrayOver(shape, {Size::Const(static_cast<int64_t>(e.operands.size()))});
}

Shape BodyChecker::ArrayOf(Expr& e, const std::vector<Shape>& elements) {
  std::vector<ExprPtr*> parts;
  for (ExprPtr& operand : e.operands) parts.push_back(&operand);
  if (IsComposite(e.operands[0]->type)) return ArrayOfStructs(e, elements, parts);
  bool unified = Unify(parts);
  const Type first = e.operands[0]->type;
  e.type = Type();
  if (first.kind == Type::Kind::kError) return {};
  if (first.kind != Type::Kind::kScalar && first.kind != Type::Kind::kArray) {
    return Fail(
        *e.operands[0],
        "the elements of an array are numbers, arrays, tuples and structs, not " + ToString(first));
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    Expr& element = *e.operands[i];
    bool same = element.type.kind == first.kind && element.type.rank == first.rank;
    if (!same || (!unified && element.type.elem != first.elem)) {
      return Fail(element, "the elements of this array differ: the first is " +
                               Text(first, elements[0]) + ", this one " +
                               Text(element.type, elements[i]));
    }
    for (size_t axis = 0; axis < elements[i].dims.size(); ++axis) {
      const Size &a = elements[0].dims[axis], &b = elements[i].dims[axis];
      if (!ProvablyUnequal(a, b, f_.locals)) continue;
      return Fail(element, "the elements of this array differ in size: the first has " + Text(a) +
                               ", this one " + Text(b));
    }
  }
  Shape shape = elements[0];
  shape.dims.insert(shape.dims.begin(), Size::Const(static_cast<int64_t>(elements.size())));
  e.type = ArrayType(e, first.elem, shape.dims.size());
  return shape;
}

}  // namespace pullback::lang
