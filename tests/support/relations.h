// Relations for tests: random ones, as arguments of a module and as dense masks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace pullback::testing {

struct TestRelation {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> coordinates;  // by axis

  ApiValue Value() const;
  Tensor Mask() const;  // [sizes]i64, 1 where related
};

// `tuples` random ones, in no order; some may come twice.
TestRelation RandomRelation(const std::vector<int64_t>& sizes, int64_t tuples, uint32_t seed);

// The program with every relation among r, s, t as an array of integers: `r: rel[n, m]` becomes
// `r: [n, m]i64`, and `r(i, j)` `(r[i, j] != 0)`.
std::string Masked(const std::string& program);

// The arguments of the entry's IR: the arrays of each relation, then `rest`.
std::vector<Tensor> WithRelations(const std::vector<TestRelation>& relations,
                                  const std::vector<Tensor>& rest);
// The same of Masked(…).
std::vector<Tensor> WithMasks(const std::vector<TestRelation>& relations,
                              const std::vector<Tensor>& rest);

// Programs with relations; the entry is f, whose relations come first.
struct RelationProgram {
  const char* name;
  const char* text;
  std::vector<TestRelation> relations;
  std::vector<Tensor> rest;
};
const std::vector<RelationProgram>& RelationPrograms();
// Those of relation_key_programs.cc, which are among them.
std::vector<RelationProgram> KeyPrograms();
std::vector<RelationProgram> EitherPrograms();

// Arguments of these programs: floats between 0.3 and 2, and integers.
Tensor PositiveFloats(std::vector<int64_t> shape);
Tensor IntVector(const std::vector<int64_t>& values);

}  // namespace pullback::testing
