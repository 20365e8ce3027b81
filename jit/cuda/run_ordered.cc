// Launches of terms that are joined in the order of the loops (jit/device_code.h).
#include <algorithm>
#include <numeric>

#include "jit/cuda/run.h"

namespace pullback::jit::cuda {
namespace {

using P = OrderedParam;

constexpr int64_t kMostCounts = int64_t{1} << 22;  // 32 MiB

constexpr size_t Index(P p) { return static_cast<size_t>(p); }

}  // namespace

// Room for so many bytes; what was there before is lost.
bool CudaRun::Grow(int64_t bytes, P p) {
  Memory& scratch = scratch_[Index(p)];
  return scratch.bytes >= bytes || (Settle() && Give(&scratch) && Take(bytes, &scratch));
}

// Whether the run's budget lets them be filed.
bool CudaRun::HasRoomFor(int64_t terms) const {
  int64_t more = 0;
  for (const P p : {P::kElements, P::kTerms}) {
    more += std::max<int64_t>(terms * 8 - Scratch(p).bytes, 0);
  }
  return more <= Room();
}

// Fewer threads, each with more points, where the budget is small: most of it is for the terms.
int64_t CudaRun::MostSegments(int64_t buckets) const {
  const int64_t room = (Room() + Scratch(P::kCounts).bytes) / 4;
  const int64_t counts = std::min(kMostCounts, room / 8);
  return std::clamp<int64_t>(counts / buckets, 1, kernels_->limits().segments);
}

void CudaRun::SetOrdered(Params& params, P p, uint64_t value) {
  params.values[params.values.size() - kOrderedParams + Index(p)] = value;
}

// The totals of the buckets become where each of them starts.
bool CudaRun::PlaceTerms(const OrderedKernels& about, int64_t* terms) {
  std::vector<int64_t> starts(about.buckets + 1);
  const DeviceAddress address = Scratch(P::kStarts).address;
  const size_t bytes = about.buckets * sizeof(int64_t);
  if (!Settle()) return false;
  if (!Check(driver_.cuMemcpyDtoH(starts.data() + 1, address, bytes), "a kernel")) return false;
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  *terms = starts.back();
  return Check(driver_.cuMemcpyHtoD(address, starts.data(), bytes + sizeof(int64_t)),
               "copying to the device");
}

// Where the terms are too many for the scratch or for the budget, the chunk becomes smaller and is to be run again.
bool CudaRun::RunChunk(uint32_t kernel, Chunk& chunk, Params& params, bool* failed) {
  const DeviceKernel& about = kernels_->kernels()[kernel];
  const int64_t buckets = about.ordered.buckets;
  const int64_t words = chunk.segments * buckets;
  if (!Grow(words * 8, P::kCounts) || !Grow((buckets + 1) * 8, P::kStarts)) return false;
  SetOrdered(params, P::kBegin, static_cast<uint64_t>(chunk.begin));
  SetOrdered(params, P::kEnd, static_cast<uint64_t>(chunk.end));
  SetOrdered(params, P::kSegments, static_cast<uint64_t>(chunk.segments));
  for (const P p : {P::kCounts, P::kStarts}) SetOrdered(params, p, Scratch(p).address);
  int64_t terms = 0;
  if (!Check(driver_.cuMemsetD8(Scratch(P::kCounts).address, 0, static_cast<size_t>(words) * 8),
             "clearing memory") ||
      !Start(kernel, chunk.segments, params) || !Start(kernel + 1, buckets, params) ||
      !PlaceTerms(about.ordered, &terms) || (about.checks && !TakeFailed(failed))) {
    return false;
  }
  if (*failed) return true;
  const bool fits = terms <= kernels_->limits().terms && HasRoomFor(terms);
  if (!fits && chunk.end - chunk.begin > 1) {
    chunk.end = chunk.begin;
    return true;
  }
  for (const P p : {P::kElements, P::kTerms}) {
    if (!Grow(terms * 8, p)) return false;
    SetOrdered(params, p, Scratch(p).address);
  }
  return Start(kernel + 2, chunk.segments, params) && Settle() &&
         Start(kernel + 3, about.ordered.joiners, params) && (!about.checks || TakeFailed(failed));
}

int32_t CudaRun::LaunchOrdered(uint32_t kernel, int64_t points, const uint64_t* slots) {
  Params params;
  bool failed = false;
  bool good = PrepareWord() && Collect(kernels_->kernels()[kernel], slots, params);
  params.values.resize(params.values.size() + kOrderedParams);
  int64_t length = std::min(points, kernels_->limits().terms);
  const int64_t segments = MostSegments(kernels_->kernels()[kernel].ordered.buckets);
  for (int64_t begin = 0; good && !failed && begin < points;) {
    Chunk chunk{begin, std::min(points, begin + length), 0};
    chunk.segments = std::min(chunk.end - chunk.begin, segments);
    good = RunChunk(kernel, chunk, params, &failed);
    if (chunk.end == begin) length = std::max<int64_t>(length / 2, 1);
    begin = chunk.end;
  }
  return Finish(good, failed, params);
}

}  // namespace pullback::jit::cuda
