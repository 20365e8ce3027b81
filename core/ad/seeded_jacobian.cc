#include "core/ad/seeded_jacobian.h"

#include <map>
#include <utility>

#include "core/ad/batch.h"
#include "core/ad/float_flow.h"
#include "core/ad/tangent.h"
#include "core/ir/builder.h"

namespace pullback::ad {
namespace {

using ir::Affine;
using ir::Value;

class Writer {
 public:
  Writer(ir::Module& module, uint32_t f, JacobianRows rows, uint32_t target)
      : module_(module),
        from_(module.Get(f)),
        f_(f),
        rows_(std::move(rows)),
        b_(module, module.Get(target)),
        flow_(module, from_, from_.blocks[0].insts) {}

  StatusOr<bool> Run(const std::vector<bool>& wrt) {
    b_.NewBlock();
    for (Value v : from_.params())
      args_.push_back({b_.AddParam(0, from_.TypeOf(v), from_.values[v.id].name), false});
    std::vector<std::vector<Value>> columns;  // by parameter, by row
    Tangents tangents(module_);
    for (size_t p = 0; p < wrt.size(); ++p) {
      if (!wrt[p] || !from_.TypeOf(from_.params()[p]).IsFloat()) continue;
      if (!columns.empty() && !AnyDepends(p)) {  // the first brings the primal
        columns.push_back(ZeroColumn(p));
        continue;
      }
      std::vector<bool> active(wrt.size(), false);
      active[p] = true;
      PB_ASSIGN_OR_RETURN(const uint32_t jvp, tangents.Jvp(f_, active, 1));
      std::optional<std::vector<Value>> column = Column(module_.Get(jvp), p);
      if (!column) return false;
      columns.push_back(std::move(*column));
    }
    Return(columns);
    return true;
  }

  std::vector<Value> TakeSeeded() { return std::move(seeded_); }

 private:
  static std::vector<Affine> Subscripts(const std::vector<Value>& indices) {
    std::vector<Affine> at;
    for (Value i : indices) at.push_back(Affine::Of(i));
    return at;
  }
  const std::vector<Value>& Dims(Value v) {
    auto [it, fresh] = dims_.try_emplace(v);
    for (int axis = 0; fresh && axis < b_.TypeOf(v).rank; ++axis)
      it->second.push_back(b_.Dim(v, axis));
    return it->second;
  }

  // A function with a derivative of its own says itself what depends on what.
  bool Depends(size_t r, size_t p) {
    return from_.HasRule() || flow_.Depends(from_.blocks[0].term.results[r], from_.params()[p]);
  }
  bool AnyDepends(size_t p) {
    for (size_t r = 0; r < from_.results.size(); ++r) {
      if (rows_.differentiated[r] && Depends(r, p)) return true;
    }
    return false;
  }

  std::vector<Value> ZeroColumn(size_t p) {
    std::vector<Value> blocks;
    for (size_t r = 0; r < from_.results.size(); ++r) {
      if (rows_.differentiated[r]) blocks.push_back(ZeroBlock(primal_[r], args_[p].value));
    }
    return blocks;
  }
  Value ZeroBlock(Value result, Value param) {
    const DType to = b_.TypeOf(param).elem;
    std::vector<Value> extents = Dims(result);
    const std::vector<Value>& seeds = Dims(param);
    extents.insert(extents.end(), seeds.begin(), seeds.end());
    return extents.empty() ? b_.Zero(ir::Type::Scalar(to)) : b_.Zeros(to, std::move(extents));
  }

  // A rule called in a body gives value and tangent at once, and both get the seeds' axes: no primal is there then.
  bool TakePrimal(const std::vector<Batched>& results) {
    for (size_t r = 0; r < from_.results.size(); ++r) {
      if (results[r].batched) return false;
      primal_.push_back(results[r].value);
    }
    return true;
  }

  // The blocks by one parameter. The primal comes with every column; CSE leaves one of them.
  std::optional<std::vector<Value>> Column(const ir::Function& jvp, size_t p) {
    const std::vector<Value>& dims = Dims(args_[p].value);
    std::vector<Batched> args = args_;
    args.push_back(Seed(args_[p].value, dims));
    const auto results = AppendBatched(b_, jvp, args, dims, seeded_);
    if (!results) return std::nullopt;
    if (primal_.empty() && !TakePrimal(*results)) return std::nullopt;
    std::vector<Value> blocks;
    size_t next = from_.results.size();
    for (size_t r = 0; r < from_.results.size(); ++r) {
      const bool carries = ir::CarriesTangent(module_, from_.results[r]);
      if (rows_.differentiated[r]) {
        blocks.push_back(Depends(r, p) ? Block((*results)[next], primal_[r], args_[p].value, dims)
                                       : ZeroBlock(primal_[r], args_[p].value));
      }
      next += carries;
    }
    return blocks;
  }

  // [k = i]
  Batched Seed(Value param, const std::vector<Value>& dims) {
    const ir::Type element = b_.TypeOf(param).Element();
    if (dims.empty()) return {b_.One(element), false};
    std::vector<Value> extents = dims;
    extents.insert(extents.end(), dims.begin(), dims.end());
    const std::vector<Value> indices = b_.BeginEach(extents);
    for (size_t axis = 0; axis < dims.size(); ++axis)
      b_.Where({Affine::Of(indices[axis]) - Affine::Of(indices[dims.size() + axis]), true});
    ir::EachResult r;
    r.out = Subscripts(indices);
    r.shape = extents;
    r.value = b_.One(element);
    seeded_.push_back(b_.EndEach({std::move(r)})[0]);
    return {seeded_.back(), true};
  }

  // The tangent with the axes of the result in front, in the parameter's type.
  Value Block(const Batched& dot, Value result, Value param, const std::vector<Value>& seeds) {
    const std::vector<Value>& own = Dims(result);
    std::vector<Value> extents = own;
    extents.insert(extents.end(), seeds.begin(), seeds.end());
    const DType to = b_.TypeOf(param).elem;
    if (extents.empty()) return b_.Cast(dot.value, to);
    const std::vector<Value> indices = b_.BeginEach(extents);
    std::vector<Value> at(indices.begin(), indices.begin() + static_cast<long>(own.size()));
    if (dot.batched)
      at.insert(at.begin(), indices.begin() + static_cast<long>(own.size()), indices.end());
    const Value element =
        b_.TypeOf(dot.value).IsScalar() ? dot.value : b_.Index(dot.value, Subscripts(at));
    ir::EachResult r;
    r.out = Subscripts(indices);
    r.shape = extents;
    r.value = b_.Cast(element, to);
    return b_.EndEach({std::move(r)})[0];
  }

  void Return(const std::vector<std::vector<Value>>& columns) {
    std::vector<Value> results;
    for (size_t r = 0; r < primal_.size(); ++r) {
      if (rows_.given[r]) results.push_back(primal_[r]);
    }
    const size_t rows = columns.empty() ? 0 : columns[0].size();
    for (size_t r = 0; r < rows; ++r) {
      for (const std::vector<Value>& column : columns) {
        results.push_back(column[r]);
      }
    }
    for (Value v : results) b_.function().results.push_back(b_.TypeOf(v));
    b_.Return(std::move(results));
  }

  ir::Module& module_;
  const ir::Function& from_;
  const uint32_t f_;
  const JacobianRows rows_;
  ir::Builder b_;
  std::vector<Batched> args_;
  std::vector<Value> primal_, seeded_;
  FloatFlow flow_;
  std::map<Value, std::vector<Value>> dims_;
};

}  // namespace

StatusOr<std::optional<SeededJacobian>> SeedJacobian(ir::Module& module, uint32_t f,
                                                     const std::vector<bool>& wrt,
                                                     const JacobianRows& rows) {
  using Made = std::optional<SeededJacobian>;
  if (module.Get(f).blocks.size() != 1) return Made();
  const uint32_t target = module.AddFunction(module.Get(f).name + ".jacobian");
  Writer writer(module, f, rows, target);
  PB_ASSIGN_OR_RETURN(const bool done, writer.Run(wrt));
  if (!done) return Made();
  return Made(SeededJacobian{target, writer.TakeSeeded()});
}

}  // namespace pullback::ad
