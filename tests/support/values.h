// Arguments, results and derivatives as vectors of floats: lists are walked, leaf by leaf.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "core/base/tensor.h"

namespace pullback::testing {

bool IsFloatLeaf(const Tensor& t);  // no list
// `t` with fn of every leaf in place of the leaf.
Tensor MapLeaves(const Tensor& t, const std::function<Tensor(Tensor)>& fn);
double FloatAt(const Tensor& leaf, int64_t i);
void SetFloat(Tensor& leaf, int64_t i, double v);

// The floats of all leaves, in order.
std::vector<double> FloatsOf(const Tensor& t);
// Random in [-1, 1) where `like` has floats, 0 elsewhere.
Tensor RandomLike(const Tensor& like, std::mt19937& rng);
// x + h dx, where x has floats.
Tensor Moved(const Tensor& x, const Tensor& dx, double h);
// Lists of the same lengths, leaves of the same dtypes and shapes.
bool SameShape(const Tensor& a, const Tensor& b);
// The same shape and bytes.
bool SameBits(const Tensor& a, const Tensor& b);

}  // namespace pullback::testing
