// Natural loops of a function's blocks, in the form that the passes over them change: entered at one place, left
// by the test at their top, and by nothing else but where breaks are asked for.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "core/ir/dominance.h"
#include "core/ir/ir.h"

namespace pullback::opt {

using ValueIds = absl::flat_hash_set<uint32_t>;

struct BlockLoop {
  uint32_t header = 0;
  std::vector<uint32_t> blocks;   // ascending; the header too
  std::vector<uint32_t> latches;  // blocks that jump back
  uint32_t entry = 0;             // the only block outside that jumps to the header,
  size_t entry_edge = 0;          // and by which edge
  size_t exit_edge = 0;           // of the header's branch
  bool has_breaks = false;        // other blocks leave it

  bool Holds(uint32_t block) const {
    return std::binary_search(blocks.begin(), blocks.end(), block);
  }
  const ir::Values& Arguments(const ir::Function& f) const {
    return f.blocks[entry].term.edges[entry_edge].args;
  }
  const ir::Edge& Exit(const ir::Function& f) const {
    return f.blocks[header].term.edges[exit_edge];
  }
  const ir::Edge& Stay(const ir::Function& f) const {
    return f.blocks[header].term.edges[1 - exit_edge];
  }
};

// Those that have this form. kWithBreaks: other blocks of a loop may leave it, too.
enum class LoopExits : uint8_t { kByTest, kWithBreaks };
std::vector<BlockLoop> FindLoops(const ir::Function& f, const ir::Dominators& dominators,
                                 LoopExits exits = LoopExits::kByTest);

// Where values are defined; those that are new since, nowhere.
class DefinitionBlocks {
 public:
  explicit DefinitionBlocks(const ir::Function& f);
  // What a statement defines for its own body counts as defined outside of every loop.
  bool IsInside(ir::Value v, const BlockLoop& loop) const {
    return BlockOf(v) != ir::kNoBlock && loop.Holds(BlockOf(v));
  }
  // The same in every turn: from outside, or a constant.
  bool IsFixed(ir::Value v, const BlockLoop& loop) const {
    return !IsInside(v, loop) || (Inst(v) && Inst(v)->op == ir::Op::Const);
  }
  const ir::Inst* Inst(ir::Value v) const {  // null: a parameter
    return v.id < inst_.size() ? inst_[v.id] : nullptr;
  }
  // kNoBlock: a statement defines it for its own body.
  uint32_t BlockOf(ir::Value v) const { return v.id < block_.size() ? block_[v.id] : ir::kNoBlock; }

 private:
  std::vector<uint32_t> block_;
  std::vector<const ir::Inst*> inst_;
};

// The header's test as `param op bound` while the loop goes on, where param steps by a constant and the bound is
// from outside or a constant.
struct Counter {
  size_t param;
  ir::Op op;  // Lt, Le, Gt, Ge, Ne
  ir::Value bound;
  int64_t step;
};
std::optional<Counter> FindCounter(const ir::Function& f, const BlockLoop& loop,
                                   const DefinitionBlocks& defs);
// One that goes up by ones to below the bound.
std::optional<Counter> FindCounterByOnes(const ir::Function& f, const BlockLoop& loop,
                                         const DefinitionBlocks& defs);

// Which blocks use a value; those of a statement's body count for the statement's block.
class UsingBlocks {
 public:
  explicit UsingBlocks(const ir::Function& f);
  absl::Span<const uint32_t> Of(ir::Value v) const {
    return absl::MakeConstSpan(blocks_).subspan(first_[v.id], first_[v.id + 1] - first_[v.id]);
  }
  bool AnyOutside(ir::Value v, const BlockLoop& loop) const {
    return std::any_of(blocks_.begin() + first_[v.id], blocks_.begin() + first_[v.id + 1],
                       [&](uint32_t b) { return !loop.Holds(b); });
  }

 private:
  std::vector<uint32_t> blocks_;  // of all values
  std::vector<uint32_t> first_;   // by value: where its blocks begin; one more at the end
};

// Copies instructions with operands replaced and results new.
class Copier {
 public:
  explicit Copier(ir::Function& f) : f_(f) {}
  void Set(ir::Value from, ir::Value to) { names_[from.id] = to; }
  ir::Value Get(ir::Value v) const {
    const auto it = names_.find(v.id);
    return it == names_.end() ? v : it->second;
  }
  ir::Inst Copy(const ir::Inst& inst);
  ir::Edge Copy(const ir::Edge& edge) const;
  void Rename(ir::Inst& inst) const;
  ir::Value New(ir::Value like);  // stands for `like` from now on
  const absl::flat_hash_map<uint32_t, ir::Value>& names() const { return names_; }

 private:
  ir::Function& f_;
  absl::flat_hash_map<uint32_t, ir::Value> names_;
};

// A round of changes to loops. All of them rest on what was found of the function before the round, so only loops
// that none of them has touched are changed; and what stands for a loop's values behind it is put in place in one
// walk at the end. A pass that looked at the whole function after each change would take the square of the time.
class LoopRound {
 public:
  explicit LoopRound(ir::Function& f) : f_(f), touched_(f.blocks.size()) {}

  bool IsUntouched(const BlockLoop& loop) const;  // as it was when the round began
  void Touch(const BlockLoop& loop);              // before it is changed
  // Outside of the loop `names` stand for its values.
  void RenameOutside(const BlockLoop& loop, const Copier& names);
  void End();

 private:
  struct Name {
    ir::Value to;
    uint32_t loop;
  };

  ir::Function& f_;
  std::vector<char> touched_;                  // by block
  absl::flat_hash_map<uint32_t, Name> names_;  // by value
  std::vector<BlockLoop> renamed_;
};

// A new block on the edge into the loop, which jumps to the header; the loop is entered from there.
uint32_t AddPreheader(ir::Function& f, BlockLoop& loop);

}  // namespace pullback::opt
