// Which registers of a block are the same integer.
#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/loops/loops.h"

namespace pullback::loops {

class SameIntegers {
 public:
  explicit SameIntegers(const Function& f) : f_(f) {}

  // Of the block's own nodes, in order.
  void Note(const Node& n) {
    if (n.kind != Node::Kind::kScalar && n.kind != Node::Kind::kDim) return;
    const ir::Type t = f_.TypeOf(n.results[0]);
    if (t != ir::Type::I64() && t != ir::Type::Bool()) return;
    const Key key{n.kind, n.op, n.bits, All(n.args), t.elem};
    const auto [it, fresh] = known_.try_emplace(key, n.results[0]);
    if (!fresh)
      first_.emplace(n.results[0], it->second);
    else
      keys_.emplace(n.results[0], key);
  }
  Reg Of(Reg r) const {
    const auto it = first_.find(r);
    return it == first_.end() ? r : it->second;
  }
  std::vector<Reg> All(std::vector<Reg> registers) const {
    for (Reg& r : registers) r = Of(r);
    return registers;
  }
  bool IsZero(Reg r) const {
    const auto it = keys_.find(Of(r));
    return it != keys_.end() && std::get<0>(it->second) == Node::Kind::kScalar &&
           std::get<1>(it->second) == ir::Op::Const && std::get<2>(it->second) == 0;
  }
  // Whether it is the product of these, in some order.
  bool IsProduct(Reg r, const std::vector<Reg>& factors) const {
    std::vector<Reg> own, wanted;
    bool few = AddFactors(r, own);
    for (Reg factor : factors) few = few && AddFactors(factor, wanted);
    if (!few) return false;
    std::sort(own.begin(), own.end());
    std::sort(wanted.begin(), wanted.end());
    return own == wanted;
  }

 private:
  // With what it gives: true is no 1, and bool(x) no i64(x).
  using Key = std::tuple<Node::Kind, ir::Op, uint64_t, std::vector<Reg>, DType>;

  // False: there are many, as of a square of a square.
  bool AddFactors(Reg r, std::vector<Reg>& factors) const {
    constexpr size_t kMany = 64;
    const auto it = keys_.find(Of(r));
    const bool product = it != keys_.end() && std::get<0>(it->second) == Node::Kind::kScalar &&
                         std::get<1>(it->second) == ir::Op::Mul;
    if (!product) {
      factors.push_back(Of(r));
      return factors.size() < kMany;
    }
    const std::vector<Reg>& args = std::get<3>(it->second);
    return AddFactors(args[0], factors) && AddFactors(args[1], factors);
  }

  const Function& f_;
  std::map<Key, Reg> known_;
  std::map<Reg, Reg> first_;
  std::map<Reg, Key> keys_;
};

}  // namespace pullback::loops
