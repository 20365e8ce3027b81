#include "tests/support/values.h"

#include <algorithm>
#include <cstring>

namespace pullback::testing {
namespace {

// Whether `same` holds of all leaves of two values whose lists have the same lengths.
template <typename Fn>
bool AllLeaves(const Tensor& a, const Tensor& b, Fn&& same) {
  if (!a.list != !b.list) return false;
  if (!a.list) return same(a, b);
  const auto &x = a.list->records, &y = b.list->records;
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].size() != y[i].size()) return false;
    for (size_t k = 0; k < x[i].size(); ++k) {
      if (!AllLeaves(x[i][k], y[i][k], same)) return false;
    }
  }
  return true;
}

}  // namespace

bool IsFloatLeaf(const Tensor& t) {
  return !t.list && (t.dtype == DType::kF64 || t.dtype == DType::kF32);
}

Tensor MapLeaves(const Tensor& t, const std::function<Tensor(Tensor)>& fn) {
  if (!t.list) return fn(t);
  ListValue list = *t.list;
  for (std::vector<Tensor>& record : list.records) {
    for (Tensor& leaf : record) leaf = MapLeaves(leaf, fn);
  }
  Tensor out;
  out.list = std::make_shared<ListValue>(std::move(list));
  return out;
}

double FloatAt(const Tensor& leaf, int64_t i) {
  return leaf.dtype == DType::kF32 ? static_cast<double>(leaf.At<float>(i)) : leaf.At<double>(i);
}

void SetFloat(Tensor& leaf, int64_t i, double v) {
  if (leaf.dtype == DType::kF32) {
    const auto f = static_cast<float>(v);
    std::memcpy(leaf.data.data() + i * 4, &f, 4);
  } else {
    std::memcpy(leaf.data.data() + i * 8, &v, 8);
  }
}

std::vector<double> FloatsOf(const Tensor& t) {
  std::vector<double> out;
  MapLeaves(t, [&](Tensor leaf) {
    for (int64_t i = 0; IsFloatLeaf(leaf) && i < leaf.ElementCount(); ++i)
      out.push_back(FloatAt(leaf, i));
    return leaf;
  });
  return out;
}

Tensor RandomLike(const Tensor& like, std::mt19937& rng) {
  std::uniform_real_distribution<double> d(-1, 1);
  return MapLeaves(like, [&](Tensor t) {
    if (!IsFloatLeaf(t)) std::fill(t.data.begin(), t.data.end(), uint8_t{0});
    for (int64_t i = 0; IsFloatLeaf(t) && i < t.ElementCount(); ++i) SetFloat(t, i, d(rng));
    return t;
  });
}

Tensor Moved(const Tensor& x, const Tensor& dx, double h) {
  const std::vector<double> d = FloatsOf(dx);
  size_t at = 0;
  return MapLeaves(x, [&](Tensor t) {
    for (int64_t i = 0; IsFloatLeaf(t) && i < t.ElementCount(); ++i)
      SetFloat(t, i, FloatAt(t, i) + h * d.at(at++));
    return t;
  });
}

bool SameShape(const Tensor& a, const Tensor& b) {
  return AllLeaves(a, b, [](const Tensor& x, const Tensor& y) {
    return x.dtype == y.dtype && x.shape == y.shape;
  });
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return AllLeaves(a, b, [](const Tensor& x, const Tensor& y) {
    return x.dtype == y.dtype && x.shape == y.shape && x.data == y.data;
  });
}

}  // namespace pullback::testing
