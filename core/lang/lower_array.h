// Arrays that are computed where they are read: windows of arrays in memory (slices, transposes),
// elementwise trees, matrix products. Storing one is a single tensor statement.
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

// One axis of the array in memory: subscript = offset + stride * (subscript `axis` of the window).
struct Axis {
  Affine offset;
  int64_t stride = 0;
  int axis = -1;  // -1: fixed
};

struct Array {
  DType elem = DType::kF64;
  std::vector<Affine> dims;
  // A window of an array in memory,
  Value base;
  std::vector<Axis> axes;  // of base
  // or code that computes the element at `subs` (inside dims) at the builder's place,
  std::function<MaybeValue(const Subs& subs)> at;
  // or the sum of `term` over 0 <= k < *inner.
  std::optional<Affine> inner;
  std::function<MaybeValue(const Subs& subs, const Affine& k)> term;
  // Code of which a read outside of the dims traps by itself, as that of a whole array in memory does.
  bool exact = false;
  // Elements are read again for next to nothing.
  bool cheap = false;
  // Each takes a sum, or a call (a product does in any case): who reads it again and again had better store it.
  bool dear = false;
  // Indices of the frames in which it was made; it was not in a body.
  std::optional<size_t> made_within;
  // Of an array whose extents depend on indices: how many loops read it (ReadAt).
  mutable int reading_loops = 0;
};

// Any expression of array type.
std::optional<ArrayRef> LowerArray(Context& c, const Expr& e);
ArrayRef ArrayOf(Context& c, const Leaf& leaf);
Leaf LeafOf(Context& c,
            const ArrayRef& array);  // a window that is the whole array becomes that array
// The element at `subs`, which are known to be inside. An array whose extents depend on indices is read in one
// loop only, if its elements are not cheap: a loop that stores it for each of those indices takes no more room
// than one of them, and computes nothing twice.
MaybeValue ReadAt(Context& c, const Array& a, const Subs& subs);
bool IsArrayLeaf(const Context& c, const Leaf& leaf);
// Block mode: a leaf that stands in memory (the builder's loc names the place).
void Store(Context& c, Leaf& leaf);
const std::vector<Affine>& ExtentsOf(Context& c, const Leaf& leaf);
// The identity axes of an array of these dims.
std::vector<Axis> WholeAxes(size_t rank);

MaybeValue LowerDot(Context& c, const Expr& e);  // vector @ vector
// len(x), dim(x, k) as an affine form; nullopt when e is something else.
std::optional<Affine> LowerExtent(Context& c, const Expr& e);
// f.(x, y): arrays, or scalars when all arguments are.
std::optional<Leaves> LowerBroadcastCall(Context& c, const Expr& e);

// --- lower_store.cc
// In a body: the same array in memory, for every point that it depends on; its extents are known outside.
// `guarded`: also where it is needed under a guard and may trap, for every point that the guard depends on.
std::optional<ArrayRef> StoreInBody(Context& c, const ArrayRef& a, bool guarded = true);
// The same of one that is dear and whose extents are; others stay as they are.
std::optional<ArrayRef> StoreIfDear(Context& c, const ArrayRef& a);
// Those that become the value of a local of f which is read as a whole. False: one cannot be stored.
bool StoreIfDear(Context& c, const Function& f, uint32_t local, Leaves& leaves);
bool IsDear(const Array& a);

// --- lower_element.cc
// x[i, j]: the subscripts are checked.
MaybeValue LowerElement(Context& c, const Expr& e);

// --- lower_slice.cc
// 0 <= lo <= hi <= dim, kIndex; false: a check that a body cannot make.
bool RequireSlice(Context& c, const Affine& lo, const Affine& hi, const Affine& dim);
// ceil(length / step), length >= 0.
std::optional<Affine> StridedExtent(Context& c, const Affine& length, int64_t step);
std::optional<ArrayRef> LowerSlice(Context& c, const Expr& e);
// ps[…] of an array of structs: the subscripts are evaluated once, for all its arrays.
std::optional<Leaves> LowerStructElement(Context& c, const Expr& e);
ArrayRef Transposed(const ArrayRef& x);
ArrayRef AsColumn(const ArrayRef& x);
// Whether a read outside of the window traps by itself.
bool IsExact(Context& c, const Array& a);

// --- lower_literal.cc
ArrayRef ZerosArray(Context& c, DType elem, std::vector<Affine> dims);
std::optional<ArrayRef> LowerArrayLiteral(Context& c, const Expr& e);
std::optional<Leaves> LowerStructLiteral(Context& c, const Expr& e);

// --- lower_elementwise.cc
// A tree of elementwise operations.
std::optional<ArrayRef> LowerElementwise(Context& c, const Expr& e);
// A scalar is computed here and now; an array lazily, unless it must stand in memory.
std::optional<Leaf> LowerOperand(Context& c, const Expr& e);

// An elementwise function of scalars and arrays, broadcast.
using ScalarFn = std::function<MaybeValue(const std::vector<Value>& operands)>;
// What e does to the elements of its operands.
ScalarFn ScalarFunction(Context& c, const Expr& e);
std::optional<ArrayRef> MapElements(Context& c, DType elem, const std::vector<Leaf>& operands,
                                    ScalarFn fn);

// --- lower_array_chain.cc
// A product with Iverson brackets and arrays.
std::optional<ArrayRef> LowerArrayChain(Context& c, const Expr& e);
// The same without the brackets.
std::optional<ArrayRef> LowerArrayRest(Context& c, const Expr& e);

}  // namespace pullback::lang
