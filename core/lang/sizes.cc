// CheckArguments: the sizes of a call from outside, solved and checked before anything runs. The same
// equations inside the program are checked by code (BindSizes of lowering).
#include <algorithm>
#include <map>

#include "core/lang/entry.h"
#include "core/lang/lang.h"
#include "core/lang/signature.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

// A tensor that the entry takes: a parameter, or a part of one ("p.0", "camera.r").
struct Leaf {
  std::string name;
  const TypeExpr* type;
};

void Flatten(const std::string& name, const TypeExpr& type, std::vector<Leaf>& leaves) {
  if (!IsComposite(type)) {
    leaves.push_back({name, &type});
    // The arrays of a relation; the first has its sizes.
    if (type.kind == TypeExpr::Kind::kRelation) {
      for (const TypeExpr& array : type.elements) leaves.push_back({name, &array});
    }
    return;
  }
  size_t i = 0;
  ForEachPart(type, [&](const TypeExpr& part) {
    const Struct* const s = StructOf(type);
    const std::string field = s ? s->fields[i].name : std::to_string(i);
    Flatten(name + "." + field, part, leaves);
    ++i;
  });
}

Status TypeMismatch(std::string message) {
  return Status(Code::kInvalidArgument, "TYPE_MISMATCH", std::move(message));
}
Status SizeMismatch(std::string message) {
  return Status(Code::kInvalidArgument, "SIZE_MISMATCH", std::move(message));
}

std::string Describe(const Tensor& t) {
  ApiType type;
  type.dtype = t.dtype;
  for (int64_t extent : t.shape) type.dims.push_back(std::to_string(extent));
  return type.ToString();
}

// The value of a size; integers wrap as they do when the program runs.
std::optional<int64_t> Evaluate(const Expr& e, const std::map<uint32_t, int64_t>& values) {
  if (e.kind == Expr::Kind::kInt) return e.int_value;
  if (e.kind == Expr::Kind::kName) return values.at(e.local);
  std::optional<int64_t> a = Evaluate(*e.operands[0], values);
  if (!a) return std::nullopt;
  uint64_t x = static_cast<uint64_t>(*a);
  if (e.kind == Expr::Kind::kUnary) return static_cast<int64_t>(-x);
  std::optional<int64_t> b = Evaluate(*e.operands[1], values);
  if (!b) return std::nullopt;
  uint64_t y = static_cast<uint64_t>(*b);
  switch (e.binary) {
    case BinaryOp::kAdd: return static_cast<int64_t>(x + y);
    case BinaryOp::kSub: return static_cast<int64_t>(x - y);
    case BinaryOp::kMul: return static_cast<int64_t>(x * y);
    default: break;
  }
  if (*b == 0) return std::nullopt;
  bool divides = e.binary == BinaryOp::kDiv;
  if (*b == -1) return divides ? static_cast<int64_t>(-x) : 0;
  return divides ? *a / *b : *a % *b;
}

class ArgumentChecker {
 public:
  ArgumentChecker(const Function& f, const std::vector<const Tensor*>& arguments)
      : f_(f), arguments_(arguments) {
    for (const Param& p : f.params) Flatten(p.name, p.type, leaves_);
  }

  Status Run() {
    PB_RETURN_IF_ERROR(CheckTypes());
    ReadIntegers();
    for (const SizeBinding& b : f_.size_bindings) PB_RETURN_IF_ERROR(Solve(b));
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      for (size_t axis = 0; axis < leaves_[leaf].type->dims.size(); ++axis) {
        PB_RETURN_IF_ERROR(CheckSize(leaf, axis));
      }
    }
    return {};
  }

 private:
  Status CheckTypes() const;
  void ReadIntegers();
  Status Solve(const SizeBinding& b);
  Status CheckSize(size_t leaf, size_t axis) const;
  std::string Origins(const Expr& size) const;
  std::string Place(size_t leaf, size_t axis) const {
    return "argument '" + leaves_[leaf].name + "' axis " + std::to_string(axis);
  }

  const Function& f_;
  const std::vector<const Tensor*>& arguments_;
  std::vector<Leaf> leaves_;
  std::map<uint32_t, int64_t> values_;       // by local
  std::map<uint32_t, std::string> origins_;  // where the value comes from, by local
};

Status ArgumentChecker::CheckTypes() const {
  if (arguments_.size() != leaves_.size()) {
    return TypeMismatch("'" + f_.name + "' takes " + std::to_string(leaves_.size()) +
                        " arguments, got " + std::to_string(arguments_.size()));
  }
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const TypeExpr& want = *leaves_[i].type;
    if (want.kind == TypeExpr::Kind::kGiven) continue;  // of a relation: made by RelationArrays
    const Tensor& got = *arguments_[i];
    if (want.elem != got.dtype || want.dims.size() != got.shape.size()) {
      return TypeMismatch("argument '" + leaves_[i].name + "': expected " +
                          ToApiType(want).ToString() + ", got " + Describe(got));
    }
    bool sound = std::all_of(got.shape.begin(), got.shape.end(), [](int64_t n) { return n >= 0; });
    if (!sound || (got.shape.empty() && got.data.size() != DTypeSize(got.dtype))) {
      return TypeMismatch("argument '" + leaves_[i].name + "' is no whole tensor");
    }
  }
  return {};
}

// Sizes may be made of i64 parameters.
void ArgumentChecker::ReadIntegers() {
  size_t leaf = 0;
  for (const Param& p : f_.params) {
    if (f_.locals[p.local].type == Type::Scalar(DType::kI64)) {
      values_[p.local] = arguments_[leaf]->At<int64_t>(0);
      origins_[p.local] = "argument '" + p.name + "'";
    }
    std::vector<Leaf> own;
    Flatten(p.name, p.type, own);
    leaf += own.size();
  }
}

Status ArgumentChecker::Solve(const SizeBinding& b) {
  int64_t extent = arguments_[b.leaf]->shape[b.axis];
  values_[b.local] = 0;
  std::optional<int64_t> rest = Evaluate(*b.dim, values_);
  PB_CHECK(rest.has_value());  // a linear form has no division
  int64_t difference;
  bool solved = !__builtin_sub_overflow(extent, *rest, &difference) && difference % b.coeff == 0;
  std::string equation =
      Place(b.leaf, b.axis) + ": " + SizeText(*b.dim) + " = " + std::to_string(extent);
  const std::string& name = f_.locals[b.local].name;
  if (!solved) return SizeMismatch(equation + " has no whole solution " + name + Origins(*b.dim));
  int64_t value = difference / b.coeff;
  if (value < 0) {
    return SizeMismatch(equation + " gives " + name + " = " + std::to_string(value) +
                        ", but a size is at least 0" + Origins(*b.dim));
  }
  values_[b.local] = value;
  origins_[b.local] = Place(b.leaf, b.axis);
  return {};
}

Status ArgumentChecker::CheckSize(size_t leaf, size_t axis) const {
  const Expr& size = *leaves_[leaf].type->dims[axis];
  if (IsAnySize(size)) return {};
  int64_t got = arguments_[leaf]->shape[axis];
  std::optional<int64_t> want = Evaluate(size, values_);
  if (want == got) return {};
  std::string text = SizeText(size);
  if (size.kind != Expr::Kind::kInt) {
    text += want ? " = " + std::to_string(*want) : ", which divides by zero,";
  }
  return SizeMismatch(Place(leaf, axis) + ": expected " + text + Origins(size) + ", got " +
                      std::to_string(got));
}

// " (from argument 'x' axis 0)", " (n = 3 from argument 'x' axis 0, k = 2 from argument 'k')".
std::string ArgumentChecker::Origins(const Expr& size) const {
  std::map<uint32_t, const Expr*> names;
  auto collect = [&](const Expr& e) {
    if (e.kind == Expr::Kind::kName && origins_.count(e.local) != 0) names[e.local] = &e;
  };
  for (const ExprPtr& operand : size.operands) ForEachExpr(operand, collect);
  collect(size);
  std::string text;
  for (const auto& [local, name] : names) {
    text += text.empty() ? " (" : ", ";
    if (&size != name) text += name->name + " = " + std::to_string(values_.at(local)) + " ";
    text += "from " + origins_.at(local);
  }
  return text.empty() ? text : text + ")";
}

}  // namespace

Status CheckArguments(const Program& program, const std::string& entry,
                      const std::vector<const Tensor*>& leaves) {
  PB_ASSIGN_OR_RETURN(uint32_t index, FindEntry(program, entry));
  return ArgumentChecker(*program.functions[index], leaves).Run();
}

}  // namespace pullback::lang
