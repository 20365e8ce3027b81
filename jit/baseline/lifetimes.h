// How long each register of a function is needed, by nodes numbered in the order in which they are
// written: blocks in theirs, a node before what is inside it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/loops/loops.h"

namespace pullback::jit {

class Lifetimes {
 public:
  Lifetimes(const loops::Function& f, const std::vector<uint32_t>& order);

  // Registers whose last use lies in node `number`, or inside it.
  const std::vector<loops::Reg>& EndIn(uint32_t number) const { return ends_[number]; }
  // The bits of a register that a Const gives: it needs no slot.
  std::optional<uint64_t> Constant(loops::Reg r) const {
    return is_constant_[r.id] ? std::optional(bits_[r.id]) : std::nullopt;
  }

 private:
  // A list of nodes that the walk is in, and the number of its node that it has come to.
  struct Level {
    uint32_t list;
    uint32_t node;
  };
  void Walk(const std::vector<loops::Node>& nodes);
  void Visit(const loops::Node& node);
  void Define(loops::Reg r);
  void Use(loops::Reg r);

  static constexpr uint32_t kLong = ~uint32_t{0};  // lives as long as the function

  std::vector<Level> path_;
  uint32_t lists_ = 0;
  uint32_t nodes_ = 0;
  std::vector<uint32_t> list_of_;  // by register: the list that defines it
  std::vector<uint32_t> last_;     // by register: node
  std::vector<bool> is_constant_;
  std::vector<uint64_t> bits_;
  std::vector<std::vector<loops::Reg>> ends_;
};

}  // namespace pullback::jit
