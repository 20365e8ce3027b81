// `xs[i] = push(xs[i], e)`: an element that is read and later replaced is moved out of the list in between,
// so that an array or a list in it has one owner and is changed in place.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Block;
using ir::Function;
using ir::Inst;
using ir::Op;
using ir::Value;

bool Reads(const Inst& inst, Value v) {
  bool reads = false;
  ir::ForEachOperand(inst, [&](Value x) { reads |= x == v; });
  return reads;
}

class Mover {
 public:
  explicit Mover(Function& f) : f_(f) {}

  bool Run() {
    bool changed = false;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (size_t k = 0; k < f_.blocks[b].insts.size(); ++k) {
        if (f_.blocks[b].insts[k].op != Op::ListSet || !Move(b, k)) continue;
        ++k;  // the list_set itself has moved on
        changed = true;
      }
    }
    return changed;
  }

 private:
  // The list_set number `set` of block b, where its element was read in the block before.
  bool Move(uint32_t b, size_t set) {
    std::vector<Inst>& insts = f_.blocks[b].insts;
    const Value list = insts[set].args[0], index = insts[set].args[1];
    std::vector<size_t> gets;
    std::optional<size_t> last;  // what reads the list last before it is changed
    for (size_t k = 0; k < set; ++k) {
      const Inst& inst = insts[k];
      if (!Reads(inst, list)) continue;
      if (inst.op != Op::ListGet && inst.op != Op::ListLen) return false;
      if (inst.op == Op::ListGet && inst.args[1] == index && HoldsReferences(inst))
        gets.push_back(k);
      last = k;
    }
    if (gets.empty() || IsReadAfter(b, set, list)) return false;
    if (!AnyReadAfter(insts, *last, set, gets)) return false;

    Inst take;  // does not trap: the element was read
    take.op = Op::ListTake;
    take.loc = insts[set].loc;
    take.args = {list, index};
    take.results = {f_.NewValue(f_.TypeOf(list), f_.names[list.id])};
    for (Value v : insts[gets[0]].results)
      take.results.push_back(f_.NewValue(f_.TypeOf(v), f_.names[v.id]));
    insts[set].args[0] = take.results[0];
    for (size_t get : gets) {
      for (size_t k = 0; k < insts[get].results.size(); ++k)
        ReplaceAfter(b, *last, insts[get].results[k], take.results[1 + k]);
    }
    insts.insert(insts.begin() + static_cast<long>(*last) + 1, std::move(take));
    return true;
  }

  bool HoldsReferences(const Inst& get) const {
    return std::any_of(get.results.begin(), get.results.end(),
                       [&](Value v) { return f_.TypeOf(v).IsArray() || f_.TypeOf(v).IsList(); });
  }

  // Whether something between reads what the gets gave, beside the list_set itself.
  static bool AnyReadAfter(const std::vector<Inst>& insts, size_t last, size_t set,
                           const std::vector<size_t>& gets) {
    for (size_t k = last + 1; k < set; ++k) {
      for (size_t get : gets) {
        for (Value v : insts[get].results) {
          if (Reads(insts[k], v)) return true;
        }
      }
    }
    return false;
  }

  // Whether `v` is read behind instruction `at` of block b before it is defined anew.
  bool IsReadAfter(uint32_t b, size_t at, Value v) const {
    const Block& block = f_.blocks[b];
    for (size_t k = at + 1; k < block.insts.size(); ++k) {
      if (Reads(block.insts[k], v)) return true;
    }
    for (size_t k = 2; k < block.insts[at].args.size(); ++k) {
      if (block.insts[at].args[k] == v) return true;
    }
    if (TerminatorReads(block, v)) return true;
    std::vector<char> seen(f_.blocks.size());
    std::vector<uint32_t> work;
    const auto follow = [&](const Block& from) {
      for (const ir::Edge& e : from.term.edges) {
        if (!seen[e.block]) work.push_back(e.block);
        seen[e.block] = 1;
      }
    };
    follow(block);
    while (!work.empty()) {
      const Block& next = f_.blocks[work.back()];
      work.pop_back();
      if (std::find(next.params.begin(), next.params.end(), v) != next.params.end()) continue;
      bool defines = false;
      for (const Inst& inst : next.insts) {
        if (Reads(inst, v)) return true;
        defines |= std::find(inst.results.begin(), inst.results.end(), v) != inst.results.end();
      }
      if (defines) continue;
      if (TerminatorReads(next, v)) return true;
      follow(next);
    }
    return false;
  }

  static bool TerminatorReads(const Block& block, Value v) {
    bool reads = false;
    ir::ForEachTermOperand(block.term, [&](Value x) { reads |= x == v; });
    return reads;
  }

  // Uses of `from` behind instruction `at` of block b become uses of `to`; other blocks that use it come
  // later.
  void ReplaceAfter(uint32_t b, size_t at, Value from, Value to) {
    const auto replace = [&](Value& v) {
      if (v == from) v = to;
    };
    for (uint32_t block = 0; block < f_.blocks.size(); ++block) {
      std::vector<Inst>& insts = f_.blocks[block].insts;
      for (size_t k = block == b ? at + 1 : 0; k < insts.size(); ++k) {
        if (!Reads(insts[k], from)) continue;
        ir::ForEachOperand(insts[k], replace);
        ir::CanonicaliseAffines(insts[k]);
      }
      ir::ForEachTermOperand(f_.blocks[block].term, replace);
    }
  }

  Function& f_;
};

}  // namespace

bool MoveElements(Function& f) { return Mover(f).Run(); }

}  // namespace pullback::opt
