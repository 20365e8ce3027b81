#include "tests/core/pipeline/sparse_check.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/core/pipeline/symbolic_check.h"

namespace pullback::pipeline {

namespace {

std::vector<bool> ByX(const ir::Function& f) {
  std::vector<bool> wrt;
  for (ir::Value v : f.params()) wrt.push_back(f.names[v.id] == "x");
  return wrt;
}

bool IsStraight(const ir::Function& f) {
  const auto is_own = [&](const ir::Inst& inst) {
    const auto lists = [&](ir::Value v) { return f.TypeOf(v).IsList(); };
    return ir::HasCallee(inst.op) || std::any_of(inst.results.begin(), inst.results.end(), lists);
  };
  const std::vector<ir::Inst>& code = f.blocks[0].insts;
  return f.blocks.size() == 1 && !f.HasRule() && std::none_of(code.begin(), code.end(), is_own);
}

void CheckTold(const SparseProgram& p, const ir::Module& ssa, const std::vector<CooBlock>& found) {
  const ir::Function& f = ssa.Get(ssa.entry);
  const ToldPatterns all = CheckTold(ssa, p.transform, ByX(f), p.args, found);
  CHECK(all.told == (IsStraight(f) ? static_cast<int>(found.size()) : 0));
  CHECK(all.exact == all.told);
}

}  // namespace

ir::Module Derive(const SparseProgram& p, bool sparse, bool optimise, ir::Module* ssa) {
  const ir::Module lowered = testing::LowerText(p.text, "f");
  const std::vector<bool> wrt = ByX(lowered.Get(lowered.entry));
  Options options;
  options.sparse = sparse;
  options.optimise = optimise;
  StatusOr<Staged> staged = Derive(lowered, p.transform, wrt, options);
  INFO(staged.status().ToString());
  REQUIRE(staged.ok());
  if (ssa != nullptr) *ssa = std::move(staged->ssa);
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
    ir::Module ssa;
    const auto sparse =
        Blocks(testing::RunOk(Derive(p, true, optimise, &ssa), p.args), given, count);
    REQUIRE(sparse.size() == count);
    if (optimise) CheckTold(p, ssa, sparse);
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
