#include "tests/core/pipeline/sparse_check.h"

#include <catch2/catch.hpp>

namespace pullback::pipeline {

ir::Module Derive(const SparseProgram& p, bool sparse, bool optimise) {
  const ir::Module lowered = testing::LowerText(p.text, "f");
  const ir::Function& f = lowered.Get(lowered.entry);
  std::vector<bool> wrt;
  for (ir::Value v : f.params()) wrt.push_back(f.names[v.id] == "x");
  Options options;
  options.sparse = sparse;
  options.optimise = optimise;
  StatusOr<Staged> staged = Derive(lowered, p.transform, wrt, options);
  INFO(staged.status().ToString());
  REQUIRE(staged.ok());
  return std::move(staged->final);
}

std::vector<CooBlock> Blocks(const std::vector<Tensor>& results, size_t first, size_t count) {
  std::vector<CooBlock> blocks;
  for (size_t at = first; at < results.size() && blocks.size() < count;) {
    CooBlock b{results[at].At<int64_t>(0), {}, {}, {}};
    const Tensor& shape = results[at + 1];
    for (int64_t k = 0; k < shape.ElementCount(); ++k) b.shape.push_back(shape.At<int64_t>(k));
    at += 2;
    for (size_t k = 0; k < b.shape.size(); ++k) b.coordinates.push_back(results[at++]);
    b.values = testing::Doubles(results[at++]);
    blocks.push_back(std::move(b));
  }
  return blocks;
}

std::vector<double> Dense(const CooBlock& b) {
  int64_t count = 1, last = -1;
  for (int64_t extent : b.shape) count *= extent;
  std::vector<double> dense(static_cast<size_t>(count), 0.0);
  for (size_t e = 0; e < b.values.size(); ++e) {
    int64_t flat = 0;
    for (size_t axis = 0; axis < b.shape.size(); ++axis) {
      const auto at = b.coordinates[axis].At<int64_t>(static_cast<int64_t>(e));
      REQUIRE(at >= 0);
      REQUIRE(at < b.shape[axis]);
      flat = flat * b.shape[axis] + at;
    }
    REQUIRE(flat > last);
    last = flat;
    dense[static_cast<size_t>(flat)] = b.values[e];
  }
  return dense;
}

void Check(const SparseProgram& p) {
  INFO(p.name);
  const std::vector<Tensor> dense = testing::RunOk(Derive(p, false, false), p.args);
  const size_t count = p.seeds.size(), given = dense.size() - count;
  for (const bool optimise : {false, true}) {
    const auto sparse = Blocks(testing::RunOk(Derive(p, true, optimise), p.args), given, count);
    REQUIRE(sparse.size() == count);
    for (size_t k = 0; k < count; ++k) {
      if (p.seeds[k] >= 0) CHECK(sparse[k].seeds == p.seeds[k]);
      CHECK(sparse[k].shape == dense[given + k].shape);
      const std::vector<double> got = Dense(sparse[k]), want = testing::Doubles(dense[given + k]);
      REQUIRE(got.size() == want.size());
      for (size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == Approx(want[i]).epsilon(1e-12).margin(1e-14));
    }
    if (p.elements >= 0) CHECK(static_cast<int64_t>(sparse[0].values.size()) == p.elements);
  }
}

Tensor Ints(const std::vector<int64_t>& v) {
  return Tensor::Of(DType::kI64, {static_cast<int64_t>(v.size())}, v);
}

Tensor SevenNumbers() { return testing::Vec({0.5, -1.25, 2.0, 0.75, 1.5, -0.5, 0.25}); }

}  // namespace pullback::pipeline
