// The loop IR: scalar control flow over explicit buffers. What every back end reads; it needs nothing
// else. Functions keep the blocks of the IR; a tensor statement has become structured loops.
//
// Semantics:
// - Registers are written once (by a node, a block parameter, or a loop/if that encloses their use).
//   An array register holds a handle to a reference-counted dense row-major array.
// - Ownership: every array register that is defined owns one reference, which is consumed exactly
//   once: by Release, Unique, Push, a call argument, a block argument, or a return. Retain adds one.
//   Dim, Load, Store only borrow. A function owns its array parameters. (Tapes: the same, linear;
//   lists: the same.)
// - Store goes only into arrays made by Alloc or Unique in the same function whose handle has not been
//   retained, pushed, passed or returned yet: nothing else can see them.
// - Offsets of Load and Store are row-major element offsets, already checked to be in range.
// - Float ops are never reassociated or contracted; integers wrap.
// - Arithmetic ops (kScalar) are those of ops.def with a scalar rule, SMul excepted (gone). Integer div
//   and rem come with their zero check already made (proofs); INT64_MIN / -1 must still be safe (= INT64_MIN, 0).
// - Lanes (ir.h, "Order of a reduction"): LanesNew makes eight accumulators at the monoid's identity;
//   LaneAdd combines a term into lane (offset mod 8); LanesTotal combines them as a tree.
// - For runs index from lo while index < hi, step 1; the body defines nothing that is visible after it.
//   Long loops must stay stoppable: a back end polls RunContext::stop at least once per 16384
//   iterations of an innermost loop and on every back edge and call of the block graph.
// - If runs `body` or `other`; its results take body_yields or other_yields.
// - Contract is a sum of products over a box that a library may compute (contract.h); unless it does, `body`,
//   which stores the same elements, runs. Whether it does depends on sizes, never on the tier.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/monoid.h"  // of lanes: back ends see it through here

namespace pullback::loops {

using Reg = ir::Value;
// What subscripts are, axis by axis: `is`, where that is a register, and the outermost index that they are near to: `period` times
// the subscript is from step * near + first - behind to step * near + last + ahead (ir/row_windows.h), where `behind` and `ahead` are
// extents of arrays, or kNoValue for 0. kNoValue: they are no register, or near to none.
struct Subscript {
  Reg is, near;
  Reg behind, ahead;
  int64_t first = 0, last = 0;
  int64_t step = 1, period = 1;
  bool operator==(const Subscript&) const = default;
};
using Rows = absl::InlinedVector<Subscript, 2>;
// Indices of loops; kNoValue: none.
using Turns = absl::InlinedVector<Reg, 2>;

struct RegInfo {
  ir::Type type;       // scalar, array or tape
  bool lanes = false;  // eight accumulators of `type`
  std::string name;
};

// That an access is in range, said by a check in front of it (core/loops/checked_accesses.h). Nodes may change places
// only where the check stays in front.
struct Proof {
  Reg token;  // of the check and of what relies on it: no register, its number is beyond theirs
  // Of the check: indices of the loops around it. Of what relies on it: which turn of these loops checks it; kNoValue:
  // no loop's.
  Turns turns;
};
inline constexpr uint32_t kFirstToken = uint32_t{1} << 31;
// The token of a check that has none of its own. What it says may be why anything that comes behind it, or behind the
// loop that it is in, is in range, a divisor not 0, or an extent not negative: accesses, divisions of integers and
// allocations rely on it without saying so.
inline constexpr Reg kFacts{kFirstToken - 1};

struct Node {
  enum class Kind : uint8_t {
    kScalar,  // results[0] = op(args)            (Const: bits; Cast: to the result's type)
    kDim,     // results[0] = extent of axis bits of array args[0]
    kLoad,    // results[0] = args[0][offset args[1]]
    kStore,   // args[0][offset args[1]] = args[2]; see `apart`
    kAlloc,   // results[0] = new array with extents args (each checked >= 0 already); zeroed when
              //   bits == 1, else every element is stored before it is read or leaves the statement
    kRetain,  // one more reference to args[0]
    kRelease,   // one reference less; the last frees
    kUnique,    // results[0] = args[0] if it is the only reference, else a copy (consumes args[0])
    kFor,       // results[0] = index; args = lo, hi; body
    kIf,        // args[0] = condition; results, body, body_yields, other, other_yields
    kLanesNew,  // results[0] = lanes of `monoid`
    kLaneAdd,   // args = lanes, offset (i64), term; monoid
    kLanesTotal,  // results[0] = total of lanes args[0]; monoid
    kCheck,    // unless args[0]: trap of kind bits at loc with details args[1], args[2] (optional)
    kCall,     // results = callee(args)
    kTapeNew,  // results[0]
    kPush,     // results[0] = push args[0] (tape), args[1]
    kPop,      // results[0] (tape), results[1] (value) = pop args[0]
    kContract,  // args: result, two operands (arrays), the offset in each, then for every index its extent
                // and its steps in the three; bits == 1: added to what is there
    kList,  // the op of a list, or fit, by ops.def; indices and counts are checked already. Consumes
            //   the list (but len and get borrow it) and the fields; every result is owned
  };
  Kind kind = Kind::kScalar;
  ir::Op op = ir::Op::Const;
  ir::Monoid monoid = ir::Monoid::kSum;
  uint64_t bits = 0;
  uint32_t callee = 0;
  uint32_t loc = 0;
  std::vector<Reg> results;
  std::vector<Reg> args;
  std::vector<Node> body, other;
  std::vector<Reg> body_yields, other_yields;
  // kStore: indices of enclosing loops that the element tells: iterations that differ in them store to
  // different elements.
  std::vector<Reg> apart;
  // kLoad, kStore: the element's subscripts, of an array that is seen by its axes.
  Rows rows;
  // kCheck: what it proves (none: kFacts); kLoad, kStore, integer div and rem (kScalar): what proves it.
  std::vector<Proof> proofs;
};

// Of kContract's args: behind the arrays and the offsets, four for each index.
inline constexpr size_t kContractArrays = 3;
inline constexpr size_t kContractIndexArgs = 4;
inline constexpr size_t kMostContractIndices = 8;

struct Block {
  ir::Values params;
  std::vector<Node> nodes;
  ir::Terminator term;
};

struct Function {
  std::string name;
  std::vector<ir::Type> results;
  std::vector<Block> blocks;  // blocks[0] is the entry; its params are the function's
  std::vector<RegInfo> regs;
  Reg NewReg(ir::Type t, std::string name = {});
  ir::Type TypeOf(Reg r) const { return regs[r.id].type; }
};

struct Module {
  std::vector<std::unique_ptr<Function>> functions;
  uint32_t entry = 0;
};

// The loops as text, for people and tests: indented, affine offsets readable.
std::string Print(const Module& module);

}  // namespace pullback::loops
