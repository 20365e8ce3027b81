// At which rows of an array a statement reads, as an index of it runs, and which of these are made together (rows_as_read.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

inline uint64_t Magnitude(int64_t number) {
  return number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
}

// step * i + from, for i < rows; of sets, step * i + from + q with q < length.
struct Places {
  int64_t step = 0;
  ir::Affine from;
  ir::Value rows;
  int64_t length = 1;

  bool AreSets() const { return length > 1; }
  bool operator==(const Places&) const = default;
};

// Of a subscript of a statement: that at `index`, and where in the set, from 0 on, in short indices.
struct Place {
  Places places;
  ir::Value index;
  ir::Affine within;
};

// Of a subscript by one index, or by several: the one that counts the most is that of the sets, the others have few turns, a number of
// them that `length` gives. Nothing: it is no such.
std::optional<Place> PlaceOf(const ir::Each& reader, const ir::Affine& sub,
                             const std::function<std::optional<int64_t>(ir::Value)>& length);
// Whether so many rows of each set, with some next to these, are no more than a quarter more than the sets are apart.
bool AreFewTwice(int64_t rows, int64_t step);

// Which row of a set of `all` the first one of `part` is; nothing: it is none, or not all of `part` are in it.
std::optional<int64_t> OffsetIn(const Places& all, const Places& part);

// What is made for reads at all of these: as they are where no two of them have a row in common; of sets those that have are
// one, which may have as many rows more than it is apart from the next one as a quarter of that. Nothing: some rows would be made
// more than once otherwise, or these are too many.
std::optional<std::vector<Places>> MadeTogether(std::vector<Places> parts);

}  // namespace pullback::tensor
