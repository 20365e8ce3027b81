// How the statements of a function read its arrays of several axes.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/known_extents.h"

namespace pullback::tensor {

// Those that are read otherwise than by `index` in bodies of statements.
std::set<ir::Value> ArraysNeededWhole(const ir::Function& f);
// Those of which some statement needs rows at several places at once, by two indices or where data say, or that are needed
// whole otherwise than as a term of a sum of arrays. Rows: along that axis. Whether `index` in blocks, of one
// element, needs all rows is said by:
enum class ReadsOfBlocks : uint8_t { kNeedAll, kNeedTheirRow };
std::set<ir::Value> ArraysOfManyRows(const ir::Function& f, size_t axis = 0,
                                     ReadsOfBlocks reads_of_blocks = ReadsOfBlocks::kNeedAll);
// The one index of the statement that the subscript runs along, but for short ones beside it, as of a window, or one of these
// where it runs along them alone; kNoValue: none. Nothing: there are several, or data say where it is.
std::optional<ir::Value> IndexAlong(const ir::Each& statement, const ir::Affine& sub,
                                    const ir::KnownExtents& extents);

class ArrayReads {
 public:
  struct Read {
    const ir::Each* statement;
    const ir::Inst* inst;  // of its body
  };
  // Of arrays of so many axes.
  explicit ArrayReads(const ir::Function& f, int least_rank = 2);

  // Whether it has that many axes, is read, and only by `index` in the bodies of statements.
  bool OnlyByStatements(ir::Value array) const;
  // Likewise, or by `index` in blocks.
  bool OnlyByIndex(ir::Value array) const;
  bool IsReadInBlocks(ir::Value array) const;
  // All reads in statements of such an array, as they are now.
  const std::vector<Read>& Of(ir::Value array) const { return of_.at(array.id).reads; }
  // Of two axes, by how much the subscript of the first is more than that of the second.
  struct AtDiagonal {
    size_t first, second;
    int64_t apart;
  };
  // The first two whose subscripts are so in all reads of such an array.
  std::optional<AtDiagonal> Diagonal(ir::Value array) const;
  // The axis at which all reads of such an array have what is now the first index of the statement that they stand in.
  std::optional<size_t> FirstIndexAxis(ir::Value array) const;

 private:
  struct Array {
    bool other = false;             // it is read otherwise
    bool in_blocks = false;         // by `index`
    std::vector<ir::Affines> subs;  // by read, as they were
    std::vector<Read> reads;
  };
  void Forbid(ir::Value v);
  void Visit(const ir::Inst& statement);

  const ir::Function& f_;
  const int least_rank_;
  std::unordered_map<uint32_t, Array> of_;
};

}  // namespace pullback::tensor
