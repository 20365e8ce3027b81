#include "core/ad/seeded_blocks.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/ad/batch_blocks.h"
#include "core/ad/batch_insts.h"
#include "core/ad/sparse_pattern.h"
#include "core/ad/tangent.h"
#include "core/ir/builder.h"
#include "core/ir/jacobian.h"

namespace pullback::ad {
namespace {

using ir::Affine;
using ir::Op;
using ir::Value;

// A parameter or a result that takes part.
struct Leaf {
  Value value;
  std::vector<Value> dims;
  Value begin, count;  // its elements, among those of all of its side
};

class Writer {
 public:
  Writer(ir::Module& module, uint32_t f, const std::vector<bool>& wrt, const JacobianRows& rows,
         const ChunkSizes& sizes, const BatchedFunctions::Made& batched, bool tapes,
         uint32_t target)
      : from_(module.Get(f)),
        f_(f),
        wrt_(wrt),
        rows_(rows),
        sizes_(sizes),
        batched_(batched),
        tapes_(tapes),
        b_(module, module.Get(target)) {}

  // `loop`: the function for fewer cotangents than chunks of tangents.
  void Run(std::optional<uint32_t> loop) {
    b_.NewBlock();
    for (Value v : from_.params())
      args_.push_back(b_.AddParam(0, from_.TypeOf(v), from_.values[v.id].name));
    for (size_t p = 0; p < args_.size(); ++p) {
      if (wrt_[p]) params_.push_back({args_[p], {}, {}, {}});
    }
    Declare();
    columns_ = Number(params_);
    primal_ = b_.Call(f_, args_);
    for (size_t r = 0; r < primal_.size(); ++r) {
      if (rows_.differentiated[r]) results_.push_back({primal_[r], {}, {}, {}});
    }
    if (!loop) {  // of a gradient, which is as large as the parameters
      for (size_t r = 0; r < results_.size(); ++r) results_[r].dims = params_[r].dims;
      return Chunks(columns_);
    }
    const Value rows = Number(results_);
    const uint32_t chunks = b_.NewBlock(), one = b_.NewBlock();
    const Value most = b_.Make(Op::Mul, {rows, b_.I64(sizes_.columns_per_row)});
    b_.Branch(b_.Make(Op::Le, {columns_, most}), {chunks, {}}, {one, {}});
    b_.SetBlock(one);
    b_.Return(b_.Call(*loop, args_));
    b_.SetBlock(chunks);
    Chunks(rows);
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

  // Extents and numbers of elements; gives how many there are.
  Value Number(std::vector<Leaf>& leaves) {
    Value next = b_.I64(0);
    for (Leaf& leaf : leaves) {
      for (int axis = 0; axis < b_.TypeOf(leaf.value).rank; ++axis)
        leaf.dims.push_back(b_.Dim(leaf.value, axis));
      leaf.begin = next;
      leaf.count = ElementCount(b_, leaf.dims);
      next = b_.Make(Op::Add, {next, leaf.count});
    }
    return next;
  }

  Value Chunk(Value rows) {
    if (tapes_) return b_.I64(sizes_.with_tape);
    const Value per_seed = b_.Make(Op::Add, {columns_, rows});
    const Value fits =
        b_.Make(Op::Div, {b_.I64(sizes_.elements), b_.Make(Op::Max, {per_seed, b_.I64(1)})});
    return b_.Make(Op::Max, {fits, b_.I64(sizes_.least)});
  }

  void Chunks(Value rows) {
    const Value chunk = Chunk(rows);
    std::vector<Value> all;  // by result, the columns of all parameters side by side
    for (const Leaf& r : results_) {
      std::vector<Value> dims = r.dims;
      dims.push_back(columns_);
      all.push_back(b_.Zeros(b_.TypeOf(r.value).elem, std::move(dims)));
    }
    const std::vector<Value> filled =
        Loop(b_.I64(0), columns_, chunk, all, [&](Value first, std::vector<Value> into) {
          const Value left = b_.Make(Op::Sub, {columns_, first});
          const Value count = b_.Make(Op::Min, {chunk, left});
          const std::vector<Batched> dots = Push(first, count);
          for (size_t r = 0; r < into.size(); ++r)
            into[r] = Store(into[r], dots[r], results_[r].dims, first, count);
          return into;
        });
    std::vector<Value> out;
    for (size_t r = 0; r < primal_.size(); ++r) {
      if (rows_.given[r]) out.push_back(primal_[r]);
    }
    for (size_t r = 0; r < results_.size(); ++r) {
      for (const Leaf& p : params_) out.push_back(Block(filled[r], results_[r], p));
    }
    b_.Return(std::move(out));
  }

  // The tangents of the results that are differentiated, for seeds from number `first` on.
  std::vector<Batched> Push(Value first, Value count) {
    std::vector<Value> args = {count};
    args.insert(args.end(), args_.begin(), args_.end());
    for (const Leaf& p : params_) args.push_back(Seeds(p, first, count));
    const std::vector<Value> made = b_.Call(batched_.function, std::move(args));
    std::vector<Batched> dots;
    size_t next = from_.results.size();
    for (size_t r = 0; r < from_.results.size(); ++r) {
      if (rows_.differentiated[r]) dots.push_back({made[next], batched_.results[next]});
      next += ir::CarriesTangent(b_.module(), from_.results[r]);
    }
    return dots;
  }

  // [k = i]: seed k is 1 at the element of that number, counted from `first`.
  Value Seeds(const Leaf& p, Value first, Value count) {
    const Value k = b_.BeginEach({count}, {"k"})[0];
    const Affine element = Affine::Of(k) + Affine::Of(first) - Affine::Of(p.begin);
    std::vector<Affine> at;
    if (p.dims.size() == 1) {
      at = {element};
    } else if (!p.dims.empty()) {
      at = SubscriptsOf(Unflatten(b_, b_.AffineOf(element), p.dims));
    }
    if (p.dims.empty()) {
      b_.Where({element, true});
    } else {
      b_.Where({element, false});
      b_.Where({Affine::Of(p.count) - element - Affine::Const(1), false});
    }
    ir::EachResult r;
    r.out = std::move(at);
    r.out.push_back(Affine::Of(k));
    r.shape = p.dims;
    r.shape.push_back(count);
    r.value = b_.One(b_.TypeOf(p.value).Element());
    return b_.EndEach({std::move(r)})[0];
  }

  // Into columns `first`, … of all.
  Value Store(Value all, const Batched& dot, const std::vector<Value>& dims, Value first,
              Value count) {
    std::vector<Value> extents = dims;
    extents.push_back(count);
    return StoreAxes(all, extents, {}, [&](Value into, const std::vector<Value>& at) {
      std::vector<Affine> from = SubscriptsOf(at), to = from;
      to.back() = to.back() + Affine::Of(first);
      if (!dot.batched) from.pop_back();
      const Value v = from.empty() ? dot.value : b_.Index(dot.value, from);
      return b_.Update(into, to, v);
    });
  }

  // Loops over the axes from number at.size() on.
  Value StoreAxes(Value array, const std::vector<Value>& dims, const std::vector<Value>& at,
                  const std::function<Value(Value, const std::vector<Value>&)>& store) {
    if (at.size() == dims.size()) return store(array, at);
    return Loop(b_.I64(0), dims[at.size()], b_.I64(1), {array},
                [&](Value i, const std::vector<Value>& into) {
                  std::vector<Value> inner = at;
                  inner.push_back(i);
                  return std::vector<Value>{StoreAxes(into[0], dims, inner, store)};
                })[0];
  }

  Value Block(Value all, const Leaf& result, const Leaf& param) {
    const DType to = b_.TypeOf(param.value).elem;
    if (params_.size() == 1 && param.dims.size() == 1 && b_.TypeOf(all).elem == to) return all;
    std::vector<Value> dims = result.dims;
    dims.insert(dims.end(), param.dims.begin(), param.dims.end());
    if (dims.empty()) return b_.Cast(b_.Index(all, {Affine::Of(param.begin)}), to);
    const std::vector<Value> at = b_.BeginEach(dims);
    const auto own = at.begin() + static_cast<long>(result.dims.size());
    const Value element = FlatIndex(b_, SubscriptsOf({own, at.end()}), param.dims);
    std::vector<Affine> from = SubscriptsOf({at.begin(), own});
    from.push_back(Affine::Of(element) + Affine::Of(param.begin));
    ir::EachResult r;
    r.out = SubscriptsOf(at);
    r.shape = dims;
    r.value = b_.Cast(b_.Index(all, std::move(from)), to);
    return b_.EndEach({std::move(r)})[0];
  }

  std::vector<Value> Loop(
      Value begin, Value end, Value step, const std::vector<Value>& state,
      const std::function<std::vector<Value>(Value, const std::vector<Value>&)>& turn) {
    const uint32_t header = b_.NewBlock(), body = b_.NewBlock(), done = b_.NewBlock();
    const Value i = b_.AddParam(header, ir::Type::I64());
    std::vector<Value> into, entering = {begin};
    for (Value v : state) into.push_back(b_.AddParam(header, b_.TypeOf(v)));
    entering.insert(entering.end(), state.begin(), state.end());
    b_.Jump(header, std::move(entering));
    b_.SetBlock(header);
    b_.Branch(b_.Make(Op::Lt, {i, end}), {body, {}}, {done, {}});
    b_.SetBlock(body);
    std::vector<Value> next = turn(i, into);
    next.insert(next.begin(), b_.Make(Op::Add, {i, step}));
    b_.Jump(header, std::move(next));
    b_.SetBlock(done);
    return into;
  }

  const ir::Function& from_;
  const uint32_t f_;
  const std::vector<bool> wrt_;
  const JacobianRows rows_;
  const ChunkSizes sizes_;
  const BatchedFunctions::Made batched_;
  const bool tapes_;
  ir::Builder b_;
  std::vector<Value> args_, primal_;
  std::vector<Leaf> params_, results_;
  Value columns_;
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
  PB_ASSIGN_OR_RETURN(const uint32_t jvp, Tangents(module).Jvp(f, columns, 1));
  std::vector<bool> batched(from.params().size());
  batched.resize(module.Get(jvp).params().size(), true);
  BatchedFunctions functions(module);
  const auto made = functions.Of(jvp, batched);
  if (!made) return Made();
  std::optional<uint32_t> loop;
  if (!of_gradient) loop = ir::AddReverseJacobian(module, f, columns);
  const uint32_t target = module.AddFunction(module.Get(f).name + ".seeded");
  Writer(module, f, columns, rows, sizes, *made, functions.HasTapes(), target).Run(loop);
  return Made(target);
}

}  // namespace pullback::ad
