// What is kept on the tape and what is computed again, by a minimum cut.
//
// The reverse of a block needs some values of the block. Each is kept (its bytes on the tape) or
// computed again from its operands, which then are needed themselves (Enzyme's min-cut, Tapenade's
// recompute-or-store). A value v is two vertices, needed(v) and again(v):
//   source -> needed(v)          without bound, where the reverse asks for v
//   needed(v) -> again(v)        what keeping v costs: cut here, v is on the tape
//   again(v) -> needed(operand)  without bound
//   again(v) -> sink             what computing v again costs
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ad {

// A byte on the tape weighs 1, as much as an operation of arithmetic (core/ir/op_weight.h): it is written, read,
// and may cost a page. So a function of the math table is dearer than keeping its result. Of sin and cos of one
// argument the second weighs six, since one evaluation gives both.
inline constexpr int64_t kNever = int64_t{1} << 40;
inline constexpr int64_t kScalarOnTape = 8;
// An array that is there, kept once for all turns of a loop that read its elements: of each turn no more than an element, that nobody
// writes to the tape.
inline constexpr int64_t kRowOnTape = 4;
// An array counts as one of so many elements, whatever its extents: what is made of it by arithmetic on elements is made again
// where it is kept itself.
inline constexpr int64_t kElements = 1024;
// kNever where `inst` cannot be computed again from its operands' values. Of statements those that store an element for each point,
// which few operations of arithmetic make of others.
int64_t CostOfRecomputing(const ir::Inst& inst, const ir::Function& f);
inline constexpr int64_t kSecondOfSinCos = 6;

class KeepOrRecompute {
 public:
  enum class Choice : uint8_t { kUnneeded, kKeep, kRecompute };

  // Gives the value's number.
  size_t Add(int64_t keep, int64_t recompute);
  void AddOperand(size_t value, size_t operand);
  void Need(size_t value);
  // By number. Every needed value can be kept or recomputed from what is at hand.
  std::vector<Choice> Solve();

 private:
  struct Edge {
    uint32_t to;
    int64_t capacity;  // what is left of it
  };
  void Connect(uint32_t from, uint32_t to, int64_t capacity);
  bool FindLevels();
  void AugmentAll();
  void Send(std::vector<uint32_t>& path);
  std::vector<char> Reached() const;

  std::vector<Edge> edges_;      // an edge and its reverse side by side
  std::vector<uint32_t> level_;  // by vertex
  std::vector<std::vector<uint32_t>> out_ = std::vector<std::vector<uint32_t>>(2);
};

}  // namespace pullback::ad
