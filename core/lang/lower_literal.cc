// Array literals, of scalars, arrays, tuples and structs; zeros.
#include "core/lang/lower_array.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

// The scalars of a literal of literals, in row-major order; false: an element is no literal.
bool FlattenLiteral(const Expr& e, size_t depth, std::vector<int64_t>& dims,
                    std::vector<const Expr*>& scalars) {
  const int64_t count = static_cast<int64_t>(e.operands.size());
  if (dims.size() == depth) dims.push_back(count);
  if (e.kind != Expr::Kind::kArray || dims[depth] != count) return false;
  for (const ExprPtr& operand : e.operands) {
    if (operand->type.kind == Type::Kind::kScalar) {
      scalars.push_back(operand.get());
    } else if (!FlattenLiteral(*operand, depth + 1, dims, scalars)) {
      return false;
    }
  }
  return true;
}

// zeros, then an update for every element.
ArrayRef StoredValues(Context& c, const Expr& e, DType elem, const std::vector<int64_t>& dims,
                      const std::vector<Value>& values) {
  std::vector<Value> extents;
  std::vector<Affine> forms;
  for (int64_t d : dims) {
    extents.push_back(c.I64(d));
    forms.push_back(Affine::Const(d));
  }
  c.SetLoc(e.ordinal);
  Value v = c.b.Zeros(elem, extents);
  for (size_t i = 0; i < values.size(); ++i) {
    Subs subs(dims.size());
    int64_t rest = static_cast<int64_t>(i);
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) {
      subs[axis] = Affine::Const(rest % dims[axis]);
    }
    v = c.b.Update(v, std::move(subs), values[i]);
  }
  c.SetDims(v, std::move(forms));
  return ArrayOf(c, {v, nullptr});
}

ArrayRef StoredLiteral(Context& c, const Expr& e, const std::vector<int64_t>& dims,
                       const std::vector<const Expr*>& scalars) {
  std::vector<Value> values;
  for (const Expr* s : scalars) values.push_back(*LowerScalar(c, *s));
  return StoredValues(c, e, e.type.elem, dims, values);
}

ArrayRef StoredElements(Context& c, const Expr& e, DType elem, const std::vector<Leaf>& elements) {
  std::vector<Value> values;
  for (const Leaf& element : elements) values.push_back(element.value);
  return StoredValues(c, e, elem, {static_cast<int64_t>(values.size())}, values);
}

// Element `sub` of a list of leaves, each read at `rest`.
MaybeValue ChooseElement(Context& c, const std::vector<Leaf>& elements, const Affine& sub,
                         const Subs& rest) {
  const auto read = [&](const Leaf& leaf) -> MaybeValue {
    return rest.empty() ? leaf.value : ReadAt(c, *ArrayOf(c, leaf), rest);
  };
  if (sub.IsConst()) return read(elements[static_cast<size_t>(sub.constant)]);
  PB_TRY(Value v, read(elements.back()));
  for (size_t i = elements.size() - 1; i-- > 0;) {
    PB_TRY(const Value element, read(elements[i]));
    const Value here = c.b.Make(Op::Eq, {c.ToValue(sub), c.b.I64(static_cast<int64_t>(i))});
    v = c.b.Make(Op::Select, {here, element, v});
  }
  return v;
}

constexpr size_t kMaxChosen = 64;  // every read looks at all of them

// Elements that are computed where they are read.
std::optional<ArrayRef> Chosen(Context& c, const Expr& e, const ir::Type& type,
                               const std::vector<Leaf>& elements) {
  auto out = std::make_shared<Array>();
  out->elem = type.elem;
  out->dims = {Affine::Const(static_cast<int64_t>(elements.size()))};
  if (type.rank > 1) {
    c.SetLoc(e.ordinal);
    const std::vector<Affine> first = ExtentsOf(c, elements[0]);
    for (const Leaf& element : elements) {
      for (size_t axis = 0; axis < first.size(); ++axis) {
        if (!RequireEqual(c, first[axis], ExtentsOf(c, element)[axis])) return std::nullopt;
      }
    }
    out->dims.insert(out->dims.end(), first.begin(), first.end());
  }
  Context* context = &c;
  out->at = [context, elements](const Subs& subs) {
    return ChooseElement(*context, elements, subs[0], Subs(subs.begin() + 1, subs.end()));
  };
  return out;
}

std::optional<ArrayRef> ChosenLiteral(Context& c, const Expr& e) {
  if (e.operands.size() > kMaxChosen && c.InBody()) return std::nullopt;
  std::vector<Leaf> elements;
  for (const ExprPtr& operand : e.operands) {
    PB_TRY(const Leaves leaves, Lower(c, *operand));
    elements.push_back(leaves[0]);
  }
  return Chosen(c, e, c.module.Flatten(e.type)[0], elements);
}

}  // namespace

ArrayRef ZerosArray(Context& c, DType elem, std::vector<Affine> dims) {
  auto out = std::make_shared<Array>();
  out->elem = elem;
  out->dims = std::move(dims);
  Context* context = &c;
  out->at = [context, elem](const Subs&) { return context->b.Zero(ir::Type::Scalar(elem)); };
  return out;
}

std::optional<ArrayRef> LowerArrayLiteral(Context& c, const Expr& e) {
  std::vector<int64_t> dims;
  std::vector<const Expr*> scalars;
  if (!c.InBody() && FlattenLiteral(e, 0, dims, scalars)) return StoredLiteral(c, e, dims, scalars);
  return ChosenLiteral(c, e);
}

std::optional<Leaves> LowerStructLiteral(Context& c, const Expr& e) {
  if (e.operands.size() > kMaxChosen && c.InBody()) return std::nullopt;
  std::vector<Leaves> elements;
  for (const ExprPtr& operand : e.operands) {
    PB_TRY(Leaves leaves, Lower(c, *operand));
    elements.push_back(std::move(leaves));
  }
  const std::vector<ir::Type> types = c.module.Flatten(e.type);
  Leaves out;
  for (size_t k = 0; k < types.size(); ++k) {
    std::vector<Leaf> part;
    for (const Leaves& element : elements) part.push_back(element[k]);
    if (!c.InBody() && types[k].rank == 1) {
      out.push_back(LeafOf(c, StoredElements(c, e, types[k].elem, part)));
      continue;
    }
    PB_TRY(const ArrayRef array, Chosen(c, e, types[k], part));
    out.push_back(LeafOf(c, array));
  }
  return out;
}

}  // namespace pullback::lang
