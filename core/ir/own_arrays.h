// How large a function's own arrays are: its parameters and results.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/known_extents.h"

namespace pullback::ir {

class OwnArrays {
 public:
  explicit OwnArrays(const Function& f);

  // Whether no array of this shape holds more than one of the function's own does, but for short axes: of few points.
  bool IsNoLarger(ValueSpan shape) const;
  // How many axes it has, but for short ones, beyond those of one of these, of which as few as may be; 0: it is no larger.
  size_t AxesBeyond(ValueSpan shape) const;

 private:
  using Shape = std::vector<Value>;
  // Whether some check finds them equal, or they are the same constant.
  bool AreEqual(Value a, Value b) const { return Root(a) == Root(b); }
  Value Root(Value v) const;
  void Unite(Value a, Value b);
  void LearnEqual(const Function& f);
  void AddShapes(const Function& f);
  size_t Beyond(const Shape& shape, size_t at, Shape& left) const;

  const KnownExtents extents_;
  std::unordered_map<uint32_t, Value> root_;
  std::vector<Shape> shapes_;
};

}  // namespace pullback::ir
