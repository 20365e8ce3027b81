// How large a function's own arrays are: its parameters and results.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/known_extents.h"

namespace pullback::loops {

class OwnArrays {
 public:
  explicit OwnArrays(const ir::Function& f);

  // Whether no array of this shape holds more than one of the function's own does, but for short axes.
  bool IsNoLarger(ir::ValueSpan shape) const;

 private:
  using Shape = std::vector<ir::Value>;
  // Whether some check finds them equal, or they are the same constant.
  bool AreEqual(ir::Value a, ir::Value b) const { return Root(a) == Root(b); }
  ir::Value Root(ir::Value v) const;
  void Unite(ir::Value a, ir::Value b);
  void LearnEqual(const ir::Function& f);
  void AddShapes(const ir::Function& f);
  bool Fits(const Shape& shape, size_t at, Shape& left) const;

  const ir::KnownExtents extents_;
  std::unordered_map<uint32_t, ir::Value> root_;
  std::vector<Shape> shapes_;
};

}  // namespace pullback::loops
