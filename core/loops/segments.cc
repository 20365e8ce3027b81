#include "core/loops/segments.h"

#include <algorithm>

namespace pullback::loops {

using ir::Type;

bool Segments::Wanted(const std::vector<ResultWriter>& results) {
  return std::any_of(results.begin(), results.end(),
                     [](const ResultWriter& r) { return r.IsWholeArg(); });
}

void Segments::Begin() {
  for (ResultWriter& r : results_) {
    if (r.IsWholeArg()) r.best().AllocSegments(kMostSegments);
  }
}

void Segments::Open(ir::Value loop, Reg* lo, Reg* hi) {
  const Reg most = e_.I64(kMostSegments);
  const Reg turns = e_.Sub(e_.Max(*hi, *lo), *lo);  // the first is not negative
  const Reg length = e_.Div(e_.Add(turns, e_.I64(kMostSegments - 1)), kMostSegments);
  count_ = e_.Min(turns, most);
  segment_ = e_.OpenFor(e_.I64(0), count_, e_.function().NewReg(Type::I64(), "segment"));
  for (ResultWriter& r : results_) {
    r.SetSegment(segment_, loop);
    if (r.IsWholeArg()) r.best().EnterSegment();
  }
  *lo = e_.Add(*lo, e_.Mul(segment_, length));
  *hi = e_.Min(*hi, e_.Add(*lo, length));
}

void Segments::Close() {
  for (ResultWriter& r : results_) {
    if (r.IsWholeArg()) r.best().LeaveSegment(segment_);
  }
  e_.CloseFor();
  const Reg one = e_.OpenFor(e_.I64(0), count_, e_.function().NewReg(Type::I64(), "segment"));
  for (ResultWriter& r : results_) {
    if (r.IsWholeArg()) r.best().JoinSegment(one);
  }
  e_.CloseFor();
}

}  // namespace pullback::loops
