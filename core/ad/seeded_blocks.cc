#include "core/ad/seeded_blocks.h"

#include <algorithm>
#include <utility>

#include "core/ad/adjoint.h"
#include "core/ad/batch_blocks.h"
#include "core/ad/batch_insts.h"
#include "core/ad/seeded_chunks.h"
#include "core/ad/sparse_pattern.h"
#include "core/ad/tangent.h"
#include "core/ir/builder.h"
#include "core/ir/jacobian.h"

namespace pullback::ad {
namespace {

using ir::Affine;
using ir::Op;
using ir::Value;
using Leaf = SeededLeaf;

// Both ways: tangents of parameters are seeded and those of results stored, or cotangents of results and those
// of parameters.
enum class Way : uint8_t { kTangents, kCotangents };

// The function that is run for a chunk of seeds, with the axis behind theirs.
struct Pushed {
  BatchedFunctions::Made batched;
  bool stores = false;  // values for every seed, on tapes or in lists
};

class BlocksWriter {
 public:
  BlocksWriter(ir::Module& module, uint32_t f, const std::vector<bool>& wrt,
               const JacobianRows& rows, const ChunkSizes& sizes, Way way, Pushed pushed,
               uint32_t target)
      : from_(module.Get(f)),
        f_(f),
        wrt_(wrt),
        rows_(rows),
        sizes_(sizes),
        way_(way),
        pushed_(std::move(pushed)),
        b_(module, module.Get(target)),
        chunks_(b_) {}

  // `otherwise`: the functions for many more parameters than results, for many and for few of these.
  struct Otherwise {
    std::optional<uint32_t> many, few;
  };
  void Run(const Otherwise& otherwise, bool of_gradient) {
    b_.NewBlock();
    for (Value v : from_.params())
      args_.push_back(b_.AddParam(0, from_.TypeOf(v), from_.names[v.id]));
    for (size_t p = 0; p < args_.size(); ++p) {
      if (wrt_[p]) params_.push_back({args_[p], {}, {}, {}});
    }
    Declare();
    columns_ = chunks_.Number(params_);
    primal_ = b_.Call(f_, args_);
    for (size_t r = 0; r < primal_.size(); ++r) {
      if (rows_.differentiated[r]) results_.push_back({primal_[r], {}, {}, {}});
    }
    if (of_gradient) {  // which is as large as the parameters
      for (size_t r = 0; r < results_.size(); ++r) results_[r].dims = params_[r].dims;
      all_rows_ = columns_;
      return Chunks();
    }
    all_rows_ = chunks_.Number(results_);
    if (otherwise.few) RunOtherwise(otherwise);
    Chunks();
  }

 private:
  // The types of the results.
  void Declare() {
    std::vector<ir::Type>& types = b_.function().results;
    for (size_t r = 0; r < from_.results.size(); ++r) {
      if (rows_.given[r]) types.push_back(from_.results[r]);
    }
    for (size_t r = 0; r < from_.results.size(); ++r) {
      for (size_t p = 0; rows_.differentiated[r] && p < params_.size(); ++p) {
        const ir::Type column = b_.TypeOf(params_[p].value);
        const int rank = from_.results[r].rank + column.rank;
        types.push_back(rank == 0 ? column : ir::Type::Array(column.elem, rank));
      }
    }
  }

  void RunOtherwise(const Otherwise& otherwise) {
    const uint32_t here = b_.NewBlock(), there = b_.NewBlock(), few = b_.NewBlock();
    const Value most = b_.Make(Op::Mul, {all_rows_, b_.I64(sizes_.columns_per_row)});
    b_.Branch(b_.Make(Op::Le, {columns_, most}), {here, {}}, {there, {}});
    b_.SetBlock(there);
    if (otherwise.many) {
      const uint32_t many = b_.NewBlock();
      const Value is_few = b_.Make(Op::Lt, {all_rows_, b_.I64(sizes_.least_rows)});
      b_.Branch(is_few, {few, {}}, {many, {}});
      b_.SetBlock(many);
      b_.Return(b_.Call(*otherwise.many, args_));
    } else {
      b_.Jump(few, {});
    }
    b_.SetBlock(few);
    b_.Return(b_.Call(*otherwise.few, args_));
    b_.SetBlock(here);
  }

  bool Forward() const { return way_ == Way::kTangents; }

  Value Chunk() {
    if (pushed_.stores) return b_.I64(sizes_.with_tape);
    const Value per_seed = b_.Make(Op::Add, {columns_, all_rows_});
    const Value fits =
        b_.Make(Op::Div, {b_.I64(sizes_.elements), b_.Make(Op::Max, {per_seed, b_.I64(1)})});
    return b_.Make(Op::Max, {fits, b_.I64(sizes_.least)});
  }

  // For each leaf that is stored, the columns of all parameters (rows of all results) side by side: behind its
  // axes those of the parameters, in front of them those of the results.
  void Chunks() {
    const Value chunk = Chunk(), seeds = Forward() ? columns_ : all_rows_;
    const std::vector<Leaf>& stored = Forward() ? results_ : params_;
    std::vector<Value> all;
    for (const Leaf& leaf : stored) {
      std::vector<Value> dims = leaf.dims;
      dims.insert(Forward() ? dims.end() : dims.begin(), seeds);
      all.push_back(b_.Zeros(b_.TypeOf(leaf.value).elem, dims));
    }
    const std::vector<Value> filled =
        chunks_.Loop(b_.I64(0), seeds, chunk, all, [&](Value first, std::vector<Value> into) {
          const Value count = b_.Make(Op::Min, {chunk, b_.Make(Op::Sub, {seeds, first})});
          const std::vector<Batched> made = Forward() ? Push(first, count) : Pull(first, count);
          for (size_t k = 0; k < into.size(); ++k)
            into[k] = Store(into[k], made[k], stored[k].dims, first, count);
          return into;
        });
    std::vector<Value> out;
    for (size_t r = 0; r < primal_.size(); ++r) {
      if (rows_.given[r]) out.push_back(primal_[r]);
    }
    for (size_t r = 0; r < results_.size(); ++r) {
      for (size_t p = 0; p < params_.size(); ++p)
        out.push_back(Block(filled[Forward() ? r : p], results_[r], params_[p]));
    }
    b_.Return(out);
  }

  std::vector<Value> Run(Value count, std::vector<Value> seeds) {
    std::vector<Value> args = {count};
    args.insert(args.end(), args_.begin(), args_.end());
    args.insert(args.end(), seeds.begin(), seeds.end());
    return b_.Call(pushed_.batched.function, args);
  }

  // The tangents of the results that are differentiated, for seeds from number `first` on.
  std::vector<Batched> Push(Value first, Value count) {
    std::vector<Value> seeds;
    for (const Leaf& p : params_) seeds.push_back(chunks_.Seeds(p, first, count));
    const std::vector<Value> made = Run(count, std::move(seeds));
    std::vector<Batched> dots;
    size_t next = from_.results.size();
    for (size_t r = 0; r < from_.results.size(); ++r) {
      if (rows_.differentiated[r]) dots.push_back({made[next], pushed_.batched.results[next]});
      next += ir::CarriesTangent(b_.module(), from_.results[r]);
    }
    return dots;
  }

  // The cotangents of the parameters, likewise.
  std::vector<Batched> Pull(Value first, Value count) {
    std::vector<Value> seeds;
    for (const Leaf& r : results_) seeds.push_back(chunks_.Seeds(r, first, count));
    const std::vector<Value> made = Run(count, std::move(seeds));
    std::vector<Batched> bars;
    for (size_t k = from_.results.size(); k < made.size(); ++k)
      bars.push_back({made[k], pushed_.batched.results[k]});
    return bars;
  }

  // Among columns (rows) `first`, … of all.
  Value Store(Value all, const Batched& made, const std::vector<Value>& dims, Value first,
              Value count) {
    std::vector<Value> extents = dims;
    extents.push_back(count);
    return chunks_.ForEach(all, extents, [&](Value into, const std::vector<Value>& at) {
      std::vector<Affine> from = SubscriptsOf(at), to = from;
      to.pop_back();
      to.insert(Forward() ? to.end() : to.begin(), from.back() + Affine::Of(first));
      if (!made.batched) from.pop_back();
      const Value v = from.empty() ? made.value : b_.Index(made.value, from);
      return b_.Update(into, to, v);
    });
  }

  Value Block(Value all, const Leaf& result, const Leaf& param) {
    const DType to = b_.TypeOf(param.value).elem;
    const Leaf& seeded = Forward() ? param : result;
    const bool only = (Forward() ? params_ : results_).size() == 1;
    if (only && seeded.dims.size() == 1 && b_.TypeOf(all).elem == to) return all;
    std::vector<Value> dims = result.dims;
    dims.insert(dims.end(), param.dims.begin(), param.dims.end());
    if (dims.empty()) return b_.Cast(b_.Index(all, {Affine::Of(seeded.begin)}), to);
    const std::vector<Value> at = b_.BeginEach(dims);
    const auto middle = at.begin() + static_cast<long>(result.dims.size());
    const std::vector<Value> by_result(at.begin(), middle), by_param(middle, at.end());
    const Value element =
        FlatIndex(b_, SubscriptsOf(Forward() ? by_param : by_result), seeded.dims);
    std::vector<Affine> from = SubscriptsOf(Forward() ? by_result : by_param);
    from.insert(Forward() ? from.end() : from.begin(),
                Affine::Of(element) + Affine::Of(seeded.begin));
    ir::EachResult r;
    r.out = SubscriptsOf(at);
    r.shape = dims;
    r.value = b_.Cast(b_.Index(all, std::move(from)), to);
    return b_.EndEach({std::move(r)})[0];
  }

  const ir::Function& from_;
  const uint32_t f_;
  const std::vector<bool> wrt_;
  const JacobianRows rows_;
  const ChunkSizes sizes_;
  const Way way_;
  const Pushed pushed_;
  ir::Builder b_;
  SeedChunks chunks_;
  std::vector<Value> args_, primal_;
  std::vector<Leaf> params_, results_;
  Value columns_, all_rows_;  // how many
};

bool AnyArray(const std::vector<ir::Type>& types) {
  return std::any_of(types.begin(), types.end(), [](ir::Type t) { return t.IsArray(); });
}

// Straight-line code with functions called in bodies: in a loop over seeds their partials are invariants, computed
// once (core/opt/fission.cc), where a statement over seeds would call them for each.
bool CallsOncePerPoint(const ir::Function& f) {
  if (f.blocks.size() != 1) return false;
  const auto calls = [](const ir::Inst& inst) { return ir::HasCallee(inst.op); };
  return std::any_of(f.blocks[0].insts.begin(), f.blocks[0].insts.end(), [&](const ir::Inst& inst) {
    return inst.each && std::any_of(inst.each->body.begin(), inst.each->body.end(), calls);
  });
}

// Whether chunks pay, and arrays may have the axis.
bool MayHaveChunks(const std::vector<ir::Type>& params, const std::vector<ir::Type>& results) {
  const auto full = [](ir::Type t) { return t.rank + 1 > ir::kMaxBlockRank; };
  if (std::any_of(results.begin(), results.end(), full) ||
      std::any_of(params.begin(), params.end(), full))
    return false;
  return AnyArray(params) && AnyArray(results);
}

// `derived` run for many seeds, of which the function it is derived from has `params`.
std::optional<Pushed> PushMany(ir::Module& module, uint32_t derived, size_t params) {
  std::vector<bool> batched(params);
  batched.resize(module.Get(derived).params().size(), true);
  BatchedFunctions functions(module);
  const auto made = functions.Of(derived, batched);
  if (!made) return std::nullopt;
  return Pushed{*made, functions.HasTapes()};
}

bool HasTapes(const ir::Module& module) {
  return std::any_of(module.functions.begin(), module.functions.end(), [](const auto& f) {
    return std::any_of(f->values.begin(), f->values.end(), [](ir::Type t) { return t.IsTape(); });
  });
}

// Chunks of cotangents; nothing, and the module as it was, where the code has no form for many. Nor of code that is
// a derivative: reverse mode over reverse mode is seldom wanted, and long.
StatusOr<std::optional<uint32_t>> PullInChunks(ir::Module& module, uint32_t f,
                                               const std::vector<bool>& columns,
                                               const JacobianRows& rows, const ChunkSizes& sizes) {
  using Made = std::optional<uint32_t>;
  if (HasTapes(module)) return Made();
  const ir::Function& from = module.Get(f);
  for (size_t r = 0; r < from.results.size(); ++r) {
    if (!rows.differentiated[r] && ir::CarriesTangent(module, from.results[r])) return Made();
  }
  ir::Module trial = module.Clone();
  PB_ASSIGN_OR_RETURN(const uint32_t vjp, BuildGradient(trial, f, columns, Seed::kParams));
  const auto pulled = PushMany(trial, vjp, from.params().size());
  if (!pulled) return Made();
  const uint32_t target = trial.AddFunction(trial.Get(f).name + ".pulled");
  BlocksWriter(trial, f, columns, rows, sizes, Way::kCotangents, *pulled, target).Run({}, false);
  module = std::move(trial);
  return Made(target);
}

}  // namespace

StatusOr<std::optional<uint32_t>> SeedInChunks(ir::Module& module, uint32_t f,
                                               const std::vector<bool>& wrt,
                                               const JacobianRows& rows, bool of_gradient,
                                               const ChunkSizes& sizes) {
  using Made = std::optional<uint32_t>;
  const ir::Function& from = module.Get(f);
  std::vector<bool> columns(wrt.size());
  std::vector<ir::Type> params, results;
  for (size_t p = 0; p < wrt.size(); ++p) {
    const ir::Type t = from.TypeOf(from.params()[p]);
    columns[p] = wrt[p] && t.IsFloat();
    if (columns[p]) params.push_back(t);
  }
  for (size_t r = 0; r < from.results.size(); ++r) {
    if (rows.differentiated[r]) results.push_back(from.results[r]);
  }
  if (!MayHaveChunks(params, results) || CallsOncePerPoint(from)) return Made();
  BlocksWriter::Otherwise otherwise;
  if (!of_gradient) {
    PB_ASSIGN_OR_RETURN(otherwise.many, PullInChunks(module, f, columns, rows, sizes));
    otherwise.few = ir::AddReverseJacobian(module, f, columns);
  }
  PB_ASSIGN_OR_RETURN(const uint32_t jvp, Tangents(module).Jvp(f, columns, 1));
  const auto pushed = PushMany(module, jvp, columns.size());
  if (!pushed) return Made();
  const uint32_t target = module.AddFunction(module.Get(f).name + ".seeded");
  BlocksWriter(module, f, columns, rows, sizes, Way::kTangents, *pushed, target)
      .Run(otherwise, of_gradient);
  return Made(target);
}

}  // namespace pullback::ad
