// Which loops of a function can run on a device, and how: the plan that host code and kernels share.
//
// A nest of loops goes as a whole or not at all. It becomes a kernel for each way in which its results
// can be made by many threads, fewer where these would compute the same (offload_share.h); each kernel runs the
// nest and keeps some of its results only:
// - kGrid: one thread for each iteration of those loops that the elements stored tell apart
//   (Node::apart); the other loops run inside the thread, in their order.
// - kTiles: the same, where the threads of a block read the same rows and columns (contractions): a tile of
//   kTile * kTile of the two innermost parallel loops is a block, which brings kTile steps of what it reads
//   into shared memory at a time. Each thread sums in the order of kGrid.
// - kOrdered: lanes that are totalled after the nest, and scatters. The terms are made in parallel, by threads
//   that each run a segment of the outermost loops, and filed into buckets in the order of the loops: a
//   bucket for each lane, and kScatterBuckets for an array. Then a thread for each lane, and threads that own
//   elements, join them in that order: the order of a sum is that of loops.h, bit for bit.
// What a loop inside a thread keeps from turn to turn (the state of a scan, the best of an argmax) is the
// thread's own. What runs in one thread alone (a scan of everything) stays on the host, and so does what
// allocates, recurs, uses tapes or lists.
//
// A check that fails in a kernel only says so: the host then runs the nest itself, which ends in the trap
// that is first in the order of the iterations. So no check may depend on what the nest itself stores.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/loops/loops.h"

namespace pullback::loops {

inline constexpr uint32_t kLanes = 8;
inline constexpr uint32_t kScatterBuckets = 64;  // by the element's offset, modulo
inline constexpr uint32_t kBucketOwners = 16;    // threads that share a bucket's elements
inline constexpr uint32_t kTile = 16;

// What terms are joined to in the order of the loops: lanes, or an array. `op`: element op term; Const: the
// last term is the element.
struct OrderedTarget {
  Reg into;
  bool lanes = false;
  ir::Op op = ir::Op::Const;

  uint32_t buckets() const { return lanes ? kLanes : kScatterBuckets; }
  uint32_t threads() const { return lanes ? kLanes : kScatterBuckets * kBucketOwners; }
};

// A load that the threads of a block make together.
struct StagedLoad {
  const Node* load = nullptr;
  bool rows = false;  // depends on the second but innermost parallel loop, not on the innermost
  std::vector<const Node*> offset;  // nodes inside the step that make its offset, in order
};
struct TilePlan {
  const Node* step = nullptr;  // the loop that is not parallel
  std::vector<StagedLoad> staged;
};

struct OffloadKernel {
  enum class Form : uint8_t { kGrid, kTiles, kOrdered };
  Form form = Form::kGrid;
  // kGrid, kTiles: the loops whose iterations are threads; kOrdered: those whose iterations are cut into segments.
  // Outermost first; bounds are known outside the nest.
  std::vector<const Node*> parallel;
  std::vector<Reg> keeps;              // arrays that the threads store into themselves
  std::vector<OrderedTarget> ordered;  // kOrdered
  TilePlan tile;                       // kTiles

  uint32_t buckets() const;  // of all targets
};

struct OffloadNest {
  const Node* root = nullptr;
  // What the nest reads and does not define: scalars that are not constants, arrays (and the extents that it
  // asks of them), lanes.
  std::vector<Reg> scalars, arrays, lanes;
  struct Extent {
    Reg array;
    uint64_t axis;
  };
  std::vector<Extent> extents;
  std::vector<Reg> constants;
  std::vector<Reg> stored;           // arrays
  std::vector<Reg> cells;            // and those of which each thread has its own (offload_cells.h)
  std::map<const Node*, Reg> terms;  // by store into an array of kOrdered: what joins the element
  bool checks = false;               // may fail
  std::vector<OffloadKernel> kernels;
};

struct OffloadPlan {
  std::map<const Node*, OffloadNest> nests;   // by root
  std::map<uint32_t, const Node*> constants;  // of the function: registers that a Const defines
  // Why an outermost loop stays on the host, and its place (ir::Inst::loc).
  struct Refusal {
    std::string why;
    uint32_t loc = 0;
  };
  std::vector<Refusal> refusals;
};

// `module` must not change while the plan lives.
OffloadPlan PlanOffload(const Module& module, const Function& f);

// Whether a kernel may call it: scalars alone, calls of such functions only.
bool IsDeviceFunction(const Module& module, uint32_t function);

}  // namespace pullback::loops
