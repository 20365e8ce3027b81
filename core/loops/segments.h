// For a device: a statement that gives the offset of the best of all its terms has a loop around its outermost
// one, whose turns are segments of that. Each segment finds its best by itself; a loop after them joins those in
// order (best.h).
#pragma once

#include <vector>

#include "core/loops/results.h"

namespace pullback::loops {

inline constexpr int64_t kMostSegments = 8192;  // threads of a device; each leaves 16 bytes

class Segments {
 public:
  Segments(Emitter& e, std::vector<ResultWriter>& results) : e_(e), results_(results) {}

  static bool Wanted(const std::vector<ResultWriter>& results);
  // In front of the nest.
  void Begin();
  // Around the outermost loop, over `loop`, whose bounds become those of a segment.
  void Open(ir::Value loop, Reg* lo, Reg* hi);
  void Close();

 private:
  Emitter& e_;
  std::vector<ResultWriter>& results_;
  Reg count_ = ir::kNoValue, segment_ = ir::kNoValue;
};

}  // namespace pullback::loops
