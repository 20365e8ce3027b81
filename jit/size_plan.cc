#include "jit/size_plan.h"

#include <algorithm>

#include "core/lang/lang.h"

namespace pullback::jit {
namespace {

using lang::BinaryOp;
using lang::Expr;
using lang::TypeExpr;

void Flatten(const TypeExpr& type, std::vector<const TypeExpr*>& leaves) {
  if (!lang::IsComposite(type)) leaves.push_back(&type);
  if (type.kind == TypeExpr::Kind::kRelation) {  // its sizes are the first array's
    for (const TypeExpr& array : type.elements) leaves.push_back(&array);
  }
  lang::ForEachPart(type, [&](const TypeExpr& part) { Flatten(part, leaves); });
}

std::optional<int64_t> Divide(BinaryOp op, int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  const bool quotient = op == BinaryOp::kDiv;
  if (b == -1) return quotient ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : 0;
  return quotient ? a / b : a % b;
}

// The value of a size; integers wrap, as when the program runs. Its depth is bounded by the parser.
template <typename Values>
std::optional<int64_t> Evaluate(const Expr& e, const Values& values) {
  if (e.kind == Expr::Kind::kInt) return e.int_value;
  if (lang::IsAnySize(e)) return std::nullopt;
  if (e.kind == Expr::Kind::kName) return values[e.local];
  const std::optional<int64_t> a = Evaluate(*e.operands[0], values);
  if (!a) return std::nullopt;
  const auto x = static_cast<uint64_t>(*a);
  if (e.kind == Expr::Kind::kUnary) return static_cast<int64_t>(-x);
  const std::optional<int64_t> b = Evaluate(*e.operands[1], values);
  if (!b) return std::nullopt;
  const auto y = static_cast<uint64_t>(*b);
  switch (e.binary) {
    case BinaryOp::kAdd: return static_cast<int64_t>(x + y);
    case BinaryOp::kSub: return static_cast<int64_t>(x - y);
    case BinaryOp::kMul: return static_cast<int64_t>(x * y);
    default: return Divide(e.binary, *a, *b);
  }
}

// What messages about sizes need: of arrays the shape.
Tensor WithoutElements(const TensorView& t) {
  if (t.shape.empty()) return t.Copy();
  return {t.dtype, {t.shape.begin(), t.shape.end()}, {}};
}

size_t TreeBytes(const Expr& e) {
  size_t bytes = sizeof(Expr);
  for (const lang::ExprPtr& operand : e.operands) bytes += TreeBytes(*operand);
  return bytes;
}

size_t TreeBytes(const std::vector<const TypeExpr*>& leaves) {
  size_t bytes = leaves.size() * sizeof(TypeExpr);
  for (const TypeExpr* leaf : leaves) {
    for (const lang::ExprPtr& dim : leaf->dims) bytes += TreeBytes(*dim);
  }
  return bytes;
}

}  // namespace

SizePlan::SizePlan(lang::Program program, std::string entry)
    : program_(std::move(program)), entry_(std::move(entry)) {
  program_.text.clear();
  program_.text.shrink_to_fit();
  program_.comments = {};
  program_.spans = {};
  std::erase_if(program_.functions,
                [&](const auto& f) { return f->from_prelude || f->name != entry_; });
  PB_CHECK(program_.functions.size() == 1);
  program_.user_functions = 1;
  lang::Function& f = *program_.functions[0];
  f.body = {};
  f.locals.resize(f.params.size() + f.size_locals.size());
  function_ = &f;
  for (const lang::Param& p : f.params) {
    if (f.locals[p.local].type == lang::Type::Scalar(DType::kI64)) {
      integers_.push_back({p.local, static_cast<uint32_t>(params_.size())});
    }
    Flatten(p.type, params_);
  }
  if (f.has_result) Flatten(f.result, results_);
  has_arrays_ =
      std::any_of(params_.begin(), params_.end(), [](auto* t) { return !t->dims.empty(); });
  bytes_ = sizeof(*this) + sizeof(f) + f.locals.size() * sizeof(lang::Local) + TreeBytes(params_) +
           TreeBytes(results_);
}

bool SizePlan::Solve(std::span<const TensorView> arguments, Values& values) const {
  values.assign(function_->locals.size(), 0);
  for (const Integer& i : integers_) values[i.local] = arguments[i.leaf].At<int64_t>(0);
  for (const lang::SizeBinding& b : function_->size_bindings) {
    // The unknown is still 0, so this is the rest of the linear form. An extent is not negative, so the
    // difference is not INT64_MIN, which could not be divided by -1.
    const std::optional<int64_t> rest = Evaluate(*b.dim, values);
    int64_t difference;
    const int64_t extent = arguments[b.leaf].shape[b.axis];
    if (!rest || __builtin_sub_overflow(extent, *rest, &difference)) return false;
    if (difference % b.coeff != 0 || difference / b.coeff < 0) return false;
    values[b.local] = difference / b.coeff;
  }
  return true;
}

bool SizePlan::Agrees(std::span<const TensorView> arguments) const {
  Values values;
  if (!Solve(arguments, values)) return false;
  for (size_t leaf = 0; leaf < params_.size(); ++leaf) {
    for (size_t axis = 0; axis < params_[leaf]->dims.size(); ++axis) {
      if (lang::IsAnySize(*params_[leaf]->dims[axis])) continue;
      if (Evaluate(*params_[leaf]->dims[axis], values) != arguments[leaf].shape[axis]) return false;
    }
  }
  return true;
}

Status SizePlan::Check(std::span<const TensorView> arguments) const {
  if (!has_arrays_ || Agrees(arguments)) return {};
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> pointers;
  for (const TensorView& argument : arguments) tensors.push_back(WithoutElements(argument));
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  return lang::CheckArguments(program_, entry_, pointers);
}

std::vector<SizePlan::Extents> SizePlan::ResultExtents(
    std::span<const TensorView> arguments) const {
  Values values;
  const bool solved = Solve(arguments, values);
  std::vector<Extents> extents(results_.size());
  for (size_t leaf = 0; leaf < results_.size(); ++leaf) {
    for (const lang::ExprPtr& dim : results_[leaf]->dims) {
      extents[leaf].push_back(solved ? Evaluate(*dim, values) : std::nullopt);
    }
  }
  return extents;
}

}  // namespace pullback::jit
