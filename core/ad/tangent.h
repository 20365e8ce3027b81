// Forward mode: every active value travels with `width` tangents (multidimensional duals).
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/ad/list_functions.h"
#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// Makes tangent functions of one module, each once.
class Tangents {
 public:
  explicit Tangents(ir::Module& module) : module_(module), lists_(module) {}

  // (params…, for every active parameter that carries a tangent: width of them…) ->
  // (results…, for every result that carries one: width tangents…)
  StatusOr<uint32_t> Jvp(uint32_t f, const std::vector<bool>& active, int width);

  // As Jvp with width 1, for those who look at lists among the tangents: none is a short zero.
  StatusOr<uint32_t> FilledJvp(uint32_t f, const std::vector<bool>& active);

  // Of a function of scalars: (params…) -> (results…, for every float result: its partial by every
  // active parameter…).
  StatusOr<uint32_t> Partials(uint32_t f, const std::vector<bool>& active);

 private:
  using Key = std::tuple<uint32_t, std::vector<bool>, int>;
  ir::Module& module_;
  ListFunctions lists_;
  std::map<Key, uint32_t> jvps_;
  std::map<std::pair<uint32_t, std::vector<bool>>, uint32_t> filled_;
  std::map<std::pair<uint32_t, std::vector<bool>>, uint32_t> partials_;
};

}  // namespace pullback::ad
