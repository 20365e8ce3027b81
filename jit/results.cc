#include "jit/results.h"

#include <algorithm>

#include "core/base/relation.h"
#include "jit/copy_elements.h"
#include "jit/leaves.h"
#include "jit/list_output.h"
#include "jit/list_types.h"

namespace pullback::jit {
namespace {

class Copier {
 public:
  Copier(RunContext* context, const TextView& view, const uint64_t* slots)
      : context_(context), view_(view), next_(slots), budget_(context, view) {}

  void Copy(const ApiType& type, ApiValue* value) { Walk(type, /*floats_only=*/false, value); }
  void CopyFloats(const ApiType& type, ApiValue* value) { Walk(type, /*floats_only=*/true, value); }
  // The blocks that lie from here on, row-major: `columns` of them in a row. The structure of `rows`, of
  // whose floats the first is row number `row`, with the structure of `type`, whose first float is
  // column number `column`, in place of each float.
  void BeginBlocks(size_t columns) {
    blocks_ = next_;
    columns_ = columns;
  }
  void CopyBlocks(const ApiType& rows, size_t* row, const ApiType& type, size_t column,
                  ApiValue* value);
  // Of sparse blocks: where each of them lies, by number.
  void BeginSparse(size_t columns, std::vector<const uint64_t*> blocks) {
    columns_ = columns;
    sparse_ = std::move(blocks);
  }
  const uint64_t* next() const { return next_; }
  const Status& status() const { return budget_.status(); }

 private:
  void Walk(const ApiType& type, bool floats_only, ApiValue* value);
  void CopySparse(const ApiType& type, size_t* block, ApiValue* value);
  static void CopyNumber(DType dtype, uint64_t slot, Tensor* t);
  void CopyArray(const ApiType& type, Array* a, Tensor* t);

  RunContext* const context_;
  const TextView& view_;
  const uint64_t* next_;
  const uint64_t* blocks_ = nullptr;
  size_t columns_ = 0;
  std::vector<const uint64_t*> sparse_;
  CopyBudget budget_;
};

// The type with `dims` in front of those of its leaves.
ApiType InFront(const std::vector<std::string>& dims, const ApiType& type) {
  ApiType out = type;
  if (!type.is_tuple) out.dims.insert(out.dims.begin(), dims.begin(), dims.end());
  for (ApiType& element : out.elements) element = InFront(dims, element);
  return out;
}

void Copier::CopyBlocks(const ApiType& rows, size_t* row, const ApiType& type, size_t column,
                        ApiValue* value) {
  if (rows.is_tuple) {
    value->is_tuple = true;
    value->elements.resize(rows.elements.size());
    for (size_t i = 0; i < rows.elements.size(); ++i)
      CopyBlocks(rows.elements[i], row, type, column, &value->elements[i]);
  } else if (!IsActive(rows, view_.signature.structs)) {
    value->is_tuple = true;
  } else {
    size_t block = *row * columns_ + column;
    ++*row;
    if (!sparse_.empty()) return CopySparse(type, &block, value);
    next_ = blocks_ + block;
    CopyFloats(InFront(rows.dims, type), value);
  }
}

// The blocks by the floats of a parameter's type, of which `block` is the first.
void Copier::CopySparse(const ApiType& type, size_t* block, ApiValue* value) {
  value->is_tuple = true;
  if (type.is_tuple) {
    value->elements.resize(type.elements.size());
    for (size_t i = 0; i < type.elements.size(); ++i)
      CopySparse(type.elements[i], block, &value->elements[i]);
  } else if (IsActive(type, view_.signature.structs)) {
    next_ = sparse_[(*block)++];
    std::vector<ApiValue>& parts = value->elements;
    parts.resize(4);
    ApiType vector;
    vector.dims = {"elements"};
    const auto copy = [&](DType dtype, ApiValue* to) {
      vector.dtype = dtype;
      CopyArray(vector, reinterpret_cast<Array*>(*next_++), &to->tensor);  // NOLINT
    };
    CopyNumber(DType::kI64, *next_++, &parts[0].tensor);
    copy(DType::kI64, &parts[1]);
    parts[2].is_tuple = true;
    parts[2].elements.resize(static_cast<size_t>(parts[1].tensor.ElementCount()));
    for (ApiValue& coordinates : parts[2].elements) copy(DType::kI64, &coordinates);
    copy(type.dtype, &parts[3]);
  }
}

void Copier::Walk(const ApiType& type, bool floats_only, ApiValue* value) {
  if (IsRelation(type)) {  // never a result
    value->is_tuple = true;
  } else if (type.is_tuple) {
    value->is_tuple = true;
    value->elements.resize(type.elements.size());
    for (size_t i = 0; i < type.elements.size(); ++i) {
      Walk(type.elements[i], floats_only, &value->elements[i]);
    }
  } else if (floats_only && !IsActive(type, view_.signature.structs)) {
    value->is_tuple = true;
  } else if (type.is_list) {
    // A kernel writes its results as words.
    const auto* list = reinterpret_cast<List*>(*next_++);  // NOLINT(performance-no-int-to-ptr)
    value->list = CopyList(list, view_.lists->Of(type), floats_only, budget_);
  } else if (type.dims.empty()) {
    CopyNumber(type.dtype, *next_++, &value->tensor);
  } else {
    CopyArray(type, reinterpret_cast<Array*>(*next_++),  // NOLINT(performance-no-int-to-ptr)
              &value->tensor);
  }
}

void Copier::CopyNumber(DType dtype, uint64_t slot, Tensor* t) {
  t->dtype = dtype;
  CopyScalar(dtype, slot, &t->data);
}

void Copier::CopyArray(const ApiType& type, Array* a, Tensor* t) {
  if (!budget_.Charge(a->bytes)) return;
  t->dtype = type.dtype;
  t->shape.assign(a->dims, a->dims + type.dims.size());
  CopyElements(budget_, type.dtype, *a, &t->data);
  ReleaseResult(context_, a);
}

// For every parameter of wrt: the first of its floats among those of wrt, in the parameters' order.
std::vector<size_t> FirstFloats(const TextView& view, const std::vector<uint32_t>& wrt,
                                size_t* count) {
  std::vector<size_t> first(wrt.size());
  *count = 0;
  for (uint32_t p = 0; p < view.signature.params.size(); ++p) {
    const auto i = static_cast<size_t>(std::find(wrt.begin(), wrt.end(), p) - wrt.begin());
    if (i == wrt.size()) continue;
    first[i] = *count;
    ForEachLeaf(view.signature.params[p].type,
                [&](const ApiType& leaf) { *count += IsActive(leaf, view.signature.structs); });
  }
  return first;
}

// The axes of every float of a type.
void AppendRanks(const TextView& view, const ApiType& type, std::vector<size_t>* ranks) {
  ForEachLeaf(type, [&](const ApiType& leaf) {
    if (IsActive(leaf, view.signature.structs)) ranks->push_back(leaf.dims.size());
  });
}

// Where sparse blocks lie: how many slots one has depends on its axes.
std::vector<const uint64_t*> SparseBlocks(const TextView& view, const Derivation& derivation,
                                          const uint64_t* slots) {
  std::vector<size_t> rows, columns;
  std::vector<uint32_t> order = derivation.wrt;
  std::sort(order.begin(), order.end());
  for (uint32_t p : order) AppendRanks(view, view.signature.params[p].type, &columns);
  if (derivation.transform == Transform::kHessian) rows = columns;
  if (derivation.transform == Transform::kJacobian) AppendRanks(view, view.signature.result, &rows);
  std::vector<const uint64_t*> blocks;
  for (size_t row : rows) {
    for (size_t column : columns) {
      blocks.push_back(slots);
      slots += 3 + row + column;
    }
  }
  return blocks;
}

// Jacobian: by parameter of wrt, the result's structure; Hessian: by parameter of wrt a tuple, by
// parameter of wrt, of the first one's structure.
void CopyMatrix(Copier& copier, const TextView& view, const Derivation& derivation,
                std::vector<ApiValue>* derivatives) {
  const std::vector<uint32_t>& wrt = derivation.wrt;
  const std::vector<lang::Parameter>& params = view.signature.params;
  size_t count = 0;
  const std::vector<size_t> first = FirstFloats(view, wrt, &count);
  copier.BeginBlocks(count);
  if (derivation.sparse) copier.BeginSparse(count, SparseBlocks(view, derivation, copier.next()));
  derivatives->resize(wrt.size());
  for (size_t i = 0; i < wrt.size(); ++i) {
    ApiValue& derivative = (*derivatives)[i];
    size_t row = 0;
    if (derivation.transform == Transform::kJacobian) {
      copier.CopyBlocks(view.signature.result, &row, params[wrt[i]].type, first[i], &derivative);
      continue;
    }
    derivative.is_tuple = true;
    derivative.elements.resize(wrt.size());
    for (size_t j = 0; j < wrt.size(); ++j) {
      row = first[i];
      copier.CopyBlocks(params[wrt[i]].type, &row, params[wrt[j]].type, first[j],
                        &derivative.elements[j]);
    }
  }
}

}  // namespace

Status CopyResults(RunContext* context, const TextView& view, const Derivation& derivation,
                   const uint64_t* slots, Outputs* outputs) {
  Copier copier(context, view, slots);
  copier.Copy(view.signature.result, &outputs->value);
  if (derivation.transform == Transform::kJvp) {
    copier.CopyFloats(view.signature.result, &outputs->derivatives.emplace_back());
  } else if (derivation.transform == Transform::kJacobian ||
             derivation.transform == Transform::kHessian) {
    CopyMatrix(copier, view, derivation, &outputs->derivatives);
  } else if (derivation.transform != Transform::kValue) {
    outputs->derivatives.resize(derivation.wrt.size());
    for (size_t i : InSlotOrder(derivation.wrt)) {
      copier.CopyFloats(view.signature.params[derivation.wrt[i]].type, &outputs->derivatives[i]);
    }
  }
  return copier.status();
}

}  // namespace pullback::jit
