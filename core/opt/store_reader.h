// What instructions of a turn store in arrays that nested loops fill, or add to numbers (raise_loops.cc).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/opt/fillings.h"

namespace pullback::opt {

class StoreReader {
 public:
  StoreReader(ir::Function& f, TurnValues& values);

  // A filling is handed to a loop inside, by that parameter.
  void HandOn(ir::Value param, ir::Value before) { handed_[param] = before; }
  // How often instructions of the loops use it.
  size_t UsesOf(ir::Value v) const;

  std::vector<ir::Affine> FormsOf(ir::AffineSpan subs) const;
  // Of a store, what its subscripts are sums of; where i == j holds, and turns are told apart so, j for i.
  std::vector<ir::Affine> PlacesOf(const Filling& filling, const TurnStore& store) const;

  // What the instruction stores in the array as it is now, or makes of it and a value, or of the number; nothing: it does not. What it
  // reads of it for that is no read of the filling's any more.
  std::optional<StoredValue> StoredBy(Filling& filling, const ir::Inst& inst,
                                      const NestPath& around);
  // Of if e > m { m = e }, m what there is of the filling: e.
  std::optional<StoredValue> ExtremumOf(const Filling& filling, ir::Value cond,
                                        const TurnBranch::Choice& choice) const;

 private:
  ir::Value Root(ir::Value v) const { return values_.Root(v); }
  std::optional<StoredValue> AddedToElement(Filling& filling, const ir::Inst& store,
                                            const NestPath& around);
  std::optional<StoredValue> AddedToRead(Filling& filling, const ir::Inst& store,
                                         const ir::Inst& sum, const ir::Each* row,
                                         const ir::Inst* element, const NestPath& around);
  bool IsAsRead(const Filling& filling, const Access& read, const ir::Inst& store,
                const NestPath& around) const;
  std::optional<ir::Affine> ZeroWhere(const TurnCondition& condition) const;

  ir::Function& f_;
  TurnValues& values_;
  const DefinitionBlocks& defs_;
  absl::flat_hash_map<uint32_t, size_t> uses_;
  absl::flat_hash_set<uint32_t> kept_;  // sums and extrema that are handed on, or part of such
  std::map<ir::Value, ir::Value> handed_;
};

}  // namespace pullback::opt
