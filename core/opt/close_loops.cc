// What is read behind a loop that a turn may leave, of what it carries, is handed on wherever it is left:
//
//   b1(i, v): br lt(i, n), b2, b4          b1(i, v): br lt(i, n), b2, b4(v)
//   b2: br c, b4, b3                       b2: br c, b4(v), b3
//   b3: … jump b1(i + 1, v2)               b3: … jump b1(i + 1, v2)
//   b4: ret v                              b4(v'): ret v'
//
// so that one around it can carry the same (turn_blocks.cc). Not of loops that are left to several blocks. A test that asks more than whether all turns are over, of a loop whose turns take rows, is two:
//
//   b1(i, v): br and(lt(i, n), c), b2, b4        b1(i, v): br lt(i, n), b5, b4
//                                                b5: br c, b2, b4
#include <algorithm>
#include <optional>
#include <vector>

#include "core/ir/dominance.h"
#include "core/opt/block_loops.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Value;

class Closer {
 public:
  explicit Closer(ir::Function& f) : f_(f), dominators_(f), users_(f), defs_(f), round_(f) {}

  void Run(std::optional<ir::Function>& before) {
    std::vector<BlockLoop> loops = FindLoops(f_, dominators_, LoopExits::kWithBreaks);
    std::erase_if(loops, [&](const BlockLoop& loop) {
      return f_.blocks[loop.header].term.snapshots.valid();
    });
    const auto is_left = [&](const BlockLoop& loop) {
      return loop.has_breaks || TestOf(loop).has_value();
    };
    if (std::none_of(loops.begin(), loops.end(), is_left)) return;
    before = f_;
    for (size_t k = 0; k < loops.size(); ++k) SplitTest(loops, k);
    for (const BlockLoop& loop : loops) {
      if (loop.has_breaks) Close(loop);
    }
    round_.End();
  }

 private:
  // Whether all turns are over, and what else the test asks.
  struct Test {
    Value counts, other;
  };
  std::optional<Test> TestOf(const BlockLoop& loop) const {
    const ir::Inst* test = defs_.Inst(f_.blocks[loop.header].term.cond);
    if (loop.exit_edge != 1 || !test || test->op != ir::Op::And) return std::nullopt;
    for (size_t k = 0; k < 2; ++k) {
      const ir::Inst* counts = defs_.Inst(test->args[k]);
      if (counts && counts->op == ir::Op::Lt && TakesRows(loop, counts->args[0]))
        return Test{test->args[k], test->args[1 - k]};
    }
    return std::nullopt;
  }
  void SplitTest(std::vector<BlockLoop>& loops, size_t at) {
    BlockLoop& loop = loops[at];
    const std::optional<Test> test = TestOf(loop);
    if (!test) return;
    ir::Terminator& term = f_.blocks[loop.header].term;
    const auto block = static_cast<uint32_t>(f_.blocks.size());
    ir::Block asks;
    asks.term = term;
    asks.term.cond = test->other;
    term.cond = test->counts;
    term.edges[0] = {block, {}};
    f_.blocks.push_back(std::move(asks));
    loop.has_breaks = true;
    for (BlockLoop& around : loops) {
      if (around.Holds(loop.header)) around.blocks.push_back(block);
    }
  }
  // Whether v is what the loop carries, and statements or turns in it read arrays of several axes at it that statements in front make.
  bool TakesRows(const BlockLoop& loop, Value v) const {
    const ir::Values& params = f_.blocks[loop.header].params;
    if (std::find(params.begin(), params.end(), v) == params.end()) return false;
    const auto reads = [&](const ir::Inst& inst) {
      if (inst.op != ir::Op::Index || inst.subs.size() < 2 || inst.subs[0].Coeff(v) == 0)
        return false;
      const ir::Inst* made = defs_.Inst(inst.args[0]);
      return made && made->each && !defs_.IsInside(inst.args[0], loop);
    };
    return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](uint32_t b) {
      return std::any_of(
          f_.blocks[b].insts.begin(), f_.blocks[b].insts.end(), [&](const ir::Inst& inst) {
            return reads(inst) || (inst.each && std::any_of(inst.each->body.begin(),
                                                            inst.each->body.end(), reads));
          });
    });
  }

  void Close(const BlockLoop& loop) {
    std::vector<Value> read;
    for (Value v : f_.blocks[loop.header].params) {
      if (users_.AnyOutside(v, loop)) read.push_back(v);
    }
    if (read.empty() || !IsLeftToOne(loop)) return;
    const uint32_t to = loop.Exit(f_).block;
    for (uint32_t b : loop.blocks) {
      for (ir::Edge& e : f_.blocks[b].term.edges) {
        if (e.block == to) e.args.insert(e.args.end(), read.begin(), read.end());
      }
    }
    Copier names(f_);
    for (Value v : read) f_.blocks[to].params.push_back(names.New(v));
    round_.RenameOutside(loop, names);
  }

  // Wherever it is left, that leads to one block, where nothing else does.
  bool IsLeftToOne(const BlockLoop& loop) const {
    const uint32_t to = loop.Exit(f_).block;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (const ir::Edge& e : f_.blocks[b].term.edges) {
        const bool leaves = loop.Holds(b) && !loop.Holds(e.block);
        if (leaves != (e.block == to)) return false;
      }
    }
    return true;
  }

  ir::Function& f_;
  const ir::Dominators dominators_;
  const UsingBlocks users_;
  const DefinitionBlocks defs_;
  LoopRound round_;
};

}  // namespace

void CloseLoops(ir::Function& f, std::optional<ir::Function>& before) { Closer(f).Run(before); }

}  // namespace pullback::opt
