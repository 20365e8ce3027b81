// Forward mode: every active value travels with `width` tangents (multidimensional duals).
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// Makes tangent functions of one module, each once.
class Tangents {
 public:
  explicit Tangents(ir::Module& module) : module_(module) {}

  // (params…, for every active float parameter: width tangents…) ->
  // (results…, for every float result: width tangents…)
  StatusOr<uint32_t> Jvp(uint32_t f, const std::vector<bool>& active, int width);

  // Of a function of scalars: (params…) -> (results…, for every float result: its partial by every
  // active parameter…).
  StatusOr<uint32_t> Partials(uint32_t f, const std::vector<bool>& active);

 private:
  using Key = std::tuple<uint32_t, std::vector<bool>, int>;
  ir::Module& module_;
  std::map<Key, uint32_t> jvps_;
  std::map<std::pair<uint32_t, std::vector<bool>>, uint32_t> partials_;
};

}  // namespace pullback::ad
