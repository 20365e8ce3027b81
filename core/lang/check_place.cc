// Fields of structs and tuples, and places in values: what is read, constructed, changed.
#include <algorithm>

#include "core/lang/check_body.h"
#include "core/lang/habits.h"
#include "core/lang/struct_array.h"

namespace pullback::lang {

bool Scatters(const std::vector<Access>& path) {
  return !path.empty() && path.back().region &&
         std::any_of(path.back().subscripts.begin(), path.back().subscripts.end(),
                     [](const Subscript& s) {
                       return s.index && s.index->type.kind == Type::Kind::kArray;
                     });
}

// x.sum() is sum(x).
std::string BodyChecker::AdviceOnField(const std::string& name) const {
  std::string habit = HabitOfField(name);
  if (!habit.empty()) return habit;
  const std::vector<std::string_view> functions = program_.FunctionNames();
  const bool known = name == "sum" || name == "prod" ||
                     std::find(functions.begin(), functions.end(), name) != functions.end();
  return known ? "; here it is " + name + "(x)" : "";
}

// Whether the type has such a field. A struct's is found by its name, which gives `index`.
bool BodyChecker::FindField(const Type& type, std::string& name, int64_t& index, const Span& span) {
  if (IsStructArray(type)) return FindField(type.elements[0], name, index, span);
  if (type.kind == Type::Kind::kStruct && !name.empty()) {
    const std::vector<Field>& fields = type.structure->fields;
    auto it =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
    index = it - fields.begin();
    if (it != fields.end()) return true;
    std::vector<std::string_view> names;
    for (const Field& f : fields) names.push_back(f.name);
    report_.Error(span, "'" + type.structure->name + "' has no field '" + name + "'" +
                            DidYouMean(name, names));
    return false;
  }
  if (type.kind == Type::Kind::kTuple && name.empty() &&
      static_cast<size_t>(index) < type.elements.size()) {
    return true;
  }
  std::string field = name.empty() ? std::to_string(index) : name;
  report_.Error(span,
                "there is no field ." + field + " in " + ToString(type) + AdviceOnField(name));
  return false;
}

Shape BodyChecker::CheckField(Expr& e) {
  std::vector<Shape> shapes;
  if (!CheckOperands(e, shapes)) return {};
  const Type& type = e.operands[0]->type;
  e.type = Type();
  if (!FindField(type, e.name, e.int_value, e.span)) return {};
  const Expr& of = *e.operands[0];
  if (of.kind == Expr::Kind::kIndex && IsStructArray(of.operands[0]->type)) {
    return FieldOfElement(e, shapes[0]);
  }
  size_t field = static_cast<size_t>(e.int_value);
  e.type = PartOf(type, field);
  return shapes[0].elements[field];
}

// S(e, …) and S(a: e, …).
Shape BodyChecker::CheckConstruct(Expr& e, const Struct& s) {
  std::vector<Shape> shapes;
  bool good = OrderFields(e, s);
  good &= CheckOperands(e, shapes);
  e.type = Type();
  if (!good) return {};
  e.kind = Expr::Kind::kConstruct;
  Shape shape = UnknownShape(Type::Of(&s));
  for (size_t i = 0; i < s.fields.size(); ++i) {
    const Field& f = s.fields[i];
    ExprPtr& value = e.operands[i];
    std::string what = "the field '" + f.name + "' of '" + s.name + "'";
    if (!Convert(*value, f.resolved)) {
      report_.Error(value->span, what + " is " +
                                     Describe(f.resolved, shape.elements[i], f_.locals) +
                                     ", but the value is " + Text(value->type, shapes[i]));
      good = false;
      continue;
    }
    MustEqual(shapes[i], shape.elements[i], value->span, what);
    shape.elements[i] = shapes[i];
  }
  if (good) e.type = Type::Of(&s);
  return shape;
}

// Brings the operands into the order of the fields.
bool BodyChecker::OrderFields(Expr& e, const Struct& s) {
  if (e.operands.size() != s.fields.size()) {
    report_.Error(e.span, "'" + s.name + "' has " + std::to_string(s.fields.size()) +
                              (s.fields.size() == 1 ? " field" : " fields") + ", got " +
                              std::to_string(e.operands.size()));
    return false;
  }
  if (e.labels.empty()) return true;
  std::vector<size_t> places(e.operands.size());
  std::vector<bool> given(s.fields.size());
  for (size_t i = 0; i < e.operands.size(); ++i) {
    int64_t index = 0;
    const Span span = e.operands[i]->span;
    if (!FindField(Type::Of(&s), e.labels[i], index, span)) return false;
    places[i] = static_cast<size_t>(index);
    if (given[places[i]]) {
      report_.Error(span, "the field '" + e.labels[i] + "' is given twice");
      return false;
    }
    given[places[i]] = true;
  }
  std::vector<ExprPtr> ordered(s.fields.size());
  std::vector<std::string> labels;
  for (size_t i = 0; i < places.size(); ++i) ordered[places[i]] = std::move(e.operands[i]);
  for (const Field& f : s.fields) labels.push_back(f.name);
  e.operands = std::move(ordered);
  e.labels = std::move(labels);
  return true;
}

// s with a.b[i] = e
Shape BodyChecker::CheckWith(Expr& e) {
  std::vector<Shape> shapes;
  bool good = CheckOperands(e, shapes);
  const Type base = e.operands[0]->type;
  Shape place;
  const Type want = CheckPath(e.path, base, "this value", place);
  e.type = Type();
  if (!good || want.kind == Type::Kind::kError) return {};
  ExprPtr& value = e.operands[1];
  if (!ConvertPart(*value, e.path, want)) {
    report_.Error(value->span, "this place in " + ToString(base) + " is " + ToString(want) +
                                   ", but the value is " + ToString(value->type));
    return {};
  }
  MustEqual(shapes[1], place, value->span, "the value");
  e.type = base;
  return e.path.back().IsField() ? UnknownShape(base) : shapes[0];
}

Type BodyChecker::CheckPath(std::vector<Access>& path, Type base, const std::string& name,
                            Shape& shape) {
  shape = UnknownShape(base);
  Type type = std::move(base);
  std::string text = name;
  for (Access& a : path) {
    if (!a.IsField()) {
      type = CheckElement(a, type, text, &a == &path.back());
      shape = UnknownShape(type);
      text += "[…]";
    } else if (type.kind != Type::Kind::kError) {
      if (!FindField(type, a.field, a.index, a.span)) {
        type = Type();
        continue;
      }
      size_t index = static_cast<size_t>(a.index);
      const Type part = PartOf(type, index);
      const Shape inner = shape.elements[index];
      type = part;
      shape = inner;
      text += "." + (a.field.empty() ? std::to_string(a.index) : a.field);
    }
  }
  return type;
}

// x[i, j] as a place; x[a:b], x[k] as a part of an array.
Type BodyChecker::CheckElement(Access& a, const Type& array, const std::string& name, bool last) {
  if (IsStructArray(array)) return CheckStructElement(a, array, last);
  if (array.kind == Type::Kind::kError || (array.kind == Type::Kind::kArray && last)) {
    Shape shape;
    const size_t rank = static_cast<size_t>(array.rank), got = a.subscripts.size();
    if (array.kind == Type::Kind::kArray && got > rank) {
      report_.Error(a.span, "too many subscripts: '" + name + "' is " + ToString(array) +
                                " and takes " + std::to_string(rank) + ", got " +
                                std::to_string(got));
      return {};
    }
    if (!CheckSubscripts(a.subscripts, array, UnknownShape(array), a.span, shape)) return {};
    if (array.kind == Type::Kind::kError) return {};
    a.region = !shape.dims.empty();
    return a.region ? Type::Array(array.elem, static_cast<int>(shape.dims.size()))
                    : Type::Scalar(array.elem);
  }
  bool good = true;
  for (Subscript& s : a.subscripts) good &= CheckSubscript(s, nullptr);
  if (!good) return {};
  if (array.kind == Type::Kind::kList) {
    return CheckListSubscript(a.subscripts, a.span) ? array.elements[0] : Type();
  }
  if (array.kind == Type::Kind::kArray) {
    report_.Error(a.span, "write all indices in one pair of brackets: x[i, j] = …");
    return {};
  }
  report_.Error(a.span, "too many subscripts: '" + name + "' is " + ToString(array) +
                            " and takes none, got " + std::to_string(a.subscripts.size()));
  return {};
}

// ps[i] as a place, which may have fields behind it; ps[a:b] as a part of the array.
Type BodyChecker::CheckStructElement(Access& a, const Type& array, bool last) {
  Shape shape;
  if (!CheckSubscripts(a.subscripts, array, UnknownShape(array), a.span, shape)) return {};
  a.region = !shape.dims.empty();
  if (a.region && !last) {
    report_.Error(a.span,
                  "only one element has fields to assign: write ps[i].x = …, or ps.x[a:b] = … for "
                  "a part of the array of all x");
    return {};
  }
  return ArrayOver(array.elements[0], static_cast<int>(shape.dims.size()));
}

// A value for a part of an array: of its rank, of fewer axes (those are its last), or one number for all
// of it.
bool BodyChecker::ConvertPart(Expr& value, const std::vector<Access>& path, const Type& want) {
  const bool region = !path.empty() && path.back().region;
  if (region && value.type.kind == Type::Kind::kScalar) {
    return Convert(value, Type::Scalar(want.elem));
  }
  if (region && value.type.kind == Type::Kind::kArray && value.type.rank < want.rank) {
    return Convert(value, Type::Array(want.elem, value.type.rank));
  }
  if (region && IsStructArray(want) && !IsStructArray(value.type)) {
    return Convert(value, want.elements[0]);
  }
  return Convert(value, want);
}

}  // namespace pullback::lang
