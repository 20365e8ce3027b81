#include "core/ad/seeded_jacobian.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/ad/batch_insts.h"
#include "core/ad/float_flow.h"
#include "core/ad/tangent.h"
#include "core/ir/builder.h"

namespace pullback::ad {
namespace {

using ir::Affine;
using ir::Value;

// Instructions of f that all columns together go through, at most; with more, cotangents of the results or a loop
// over seeds are the shorter program.
constexpr size_t kMostSeeded = size_t{1} << 19;

class SeededWriter {
 public:
  SeededWriter(ir::Module& module, uint32_t f, JacobianRows rows, uint32_t target)
      : module_(module),
        from_(module.Get(f)),
        f_(f),
        rows_(std::move(rows)),
        b_(module, module.Get(target)),
        tangents_(module),
        flow_(module, from_, from_.blocks[0].insts) {}

  StatusOr<bool> Run(const std::vector<bool>& wrt) {
    if (!Plan(wrt)) return false;
    b_.NewBlock();
    for (Value v : from_.params())
      args_.push_back({b_.AddParam(0, from_.TypeOf(v), from_.names[v.id]), false});
    std::vector<std::vector<Value>> columns;  // by parameter, by row
    for (const Column& column : columns_) {
      Dots dots;
      bool has_form = true;
      if (columns.empty() || from_.HasRule()) {  // the first brings the primal
        PB_ASSIGN_OR_RETURN(has_form, PushWhole(column, dots));
      } else if (!column.results.empty()) {
        PB_ASSIGN_OR_RETURN(has_form, PushPart(column, dots));
      }
      if (!has_form) return false;
      columns.push_back(BlocksOf(column, dots));
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
    for (int axis = 0; fresh && axis < b_.TypeOf(v).rank; ++axis) {
      it->second.push_back(b_.Dim(v, axis));
      NameDim(v, static_cast<uint64_t>(axis), it->second.back());
    }
    return it->second;
  }
  // As the function calls this extent of a parameter: patterns speak of it.
  void NameDim(Value param, uint64_t axis, Value dim) {
    for (const ir::Inst& inst : from_.blocks[0].insts) {
      if (inst.op != ir::Op::Dim || inst.bits != axis) continue;
      for (size_t p = 0; p < args_.size(); ++p) {
        if (args_[p].value == param && inst.args[0] == from_.params()[p])
          b_.function().names[dim.id] = from_.names[inst.results[0].id];
      }
    }
  }

  // A function with a derivative of its own says itself what depends on what.
  bool Depends(size_t r, size_t p) {
    return from_.HasRule() || flow_.Depends(from_.blocks[0].term.results[r], from_.params()[p]);
  }
  // The derivatives by one parameter: of the results that depend on it, from the code between.
  struct Column {
    size_t p;
    std::vector<size_t> results;
    std::vector<uint32_t> insts;
  };
  using Dots = std::map<size_t, Batched>;  // by result

  // False where too much would be written.
  bool Plan(const std::vector<bool>& wrt) {
    const size_t all = from_.blocks[0].insts.size() + wrt.size();
    size_t written = all;
    for (size_t p = 0; p < wrt.size(); ++p) {
      if (!wrt[p] || !from_.TypeOf(from_.params()[p]).IsFloat()) continue;
      Column column{p, {}, {}};
      std::vector<Value> values;
      for (size_t r = 0; r < from_.results.size(); ++r) {
        if (!rows_.differentiated[r] || !Depends(r, p)) continue;
        column.results.push_back(r);
        values.push_back(from_.blocks[0].term.results[r]);
      }
      column.insts = flow_.Between(values, from_.params()[p]).insts;
      written += from_.HasRule() ? all : column.insts.size();
      if (written > kMostSeeded) return false;
      columns_.push_back(std::move(column));
    }
    return true;
  }

  Value ZeroBlock(Value result, Value param) {
    const DType to = b_.TypeOf(param).elem;
    std::vector<Value> extents = Dims(result);
    const std::vector<Value>& seeds = Dims(param);
    extents.insert(extents.end(), seeds.begin(), seeds.end());
    return extents.empty() ? b_.Zero(ir::Type::Scalar(to)) : b_.Zeros(to, extents);
  }

  // A rule called in a body gives value and tangent at once, and both get the seeds' axes: no primal is there then.
  bool TakePrimal(const std::vector<Batched>& results) {
    for (size_t r = 0; r < from_.results.size(); ++r) {
      if (results[r].batched) return false;
      primal_.push_back(results[r].value);
    }
    return true;
  }

  // The primal comes with every column; CSE leaves one of them. False where there is no form for all seeds.
  StatusOr<bool> PushWhole(const Column& column, Dots& dots) {
    std::vector<bool> active(from_.params().size(), false);
    active[column.p] = true;
    PB_ASSIGN_OR_RETURN(const uint32_t jvp, tangents_.Jvp(f_, active, 1));
    const auto results = Push(jvp, args_, column.p);
    if (!results || (primal_.empty() && !TakePrimal(*results))) return false;
    size_t next = from_.results.size();
    for (size_t r = 0; r < from_.results.size(); ++r) {
      if (ir::CarriesTangent(module_, from_.results[r])) dots[r] = (*results)[next++];
    }
    return true;
  }

  // A tape or a box that is made elsewhere would come without its tangent.
  StatusOr<bool> PushPart(const Column& column, Dots& dots) {
    const std::vector<Value> reads = ReadsOf(column);
    for (Value v : reads) {
      const ir::Type t = from_.TypeOf(v);
      if (t.IsTape() || t.IsBox()) return PushWhole(column, dots);
    }
    std::vector<Batched> args;
    for (Value v : reads) args.push_back(Primal().At(v));
    std::vector<bool> active(reads.size(), false);
    active[0] = true;
    PB_ASSIGN_OR_RETURN(const uint32_t jvp, tangents_.Jvp(AddPart(column, reads), active, 1));
    const auto results = Push(jvp, std::move(args), column.p);
    if (!results) return false;
    for (size_t k = 0; k < column.results.size(); ++k)
      dots[column.results[k]] = (*results)[column.results.size() + k];
    return true;
  }

  std::optional<std::vector<Batched>> Push(uint32_t jvp, std::vector<Batched> args, size_t p) {
    const std::vector<Value>& dims = Dims(args_[p].value);
    args.push_back(Seed(args_[p].value, dims));
    return AppendBatched(b_, module_.Get(jvp), args, dims, seeded_);
  }

  // The parameter, then what the column's code reads from elsewhere.
  std::vector<Value> ReadsOf(const Column& column) {
    std::vector<Value> reads = {from_.params()[column.p]};
    std::set<Value> known = {reads[0]};
    for (uint32_t k : column.insts) {
      const ir::Inst& inst = from_.blocks[0].insts[k];
      if (inst.each) {
        for (const ir::IndexVar& i : inst.each->indices) known.insert(i.var);
        for (const ir::Inst& body : inst.each->body)
          known.insert(body.results.begin(), body.results.end());
      }
      ir::ForEachOperand(inst, [&](Value v) {
        if (known.insert(v).second) reads.push_back(v);
      });
      known.insert(inst.results.begin(), inst.results.end());
    }
    return reads;
  }

  // (reads…) -> (the column's results)
  uint32_t AddPart(const Column& column, const std::vector<Value>& reads) {
    const uint32_t part = module_.AddFunction(from_.name + ".part");
    ir::Builder b(module_, module_.Get(part));
    b.NewBlock();
    InstBatcher copy(b, from_, Axes::kFront, {});
    for (Value v : reads) copy.Bind(v, {b.AddParam(0, from_.TypeOf(v), from_.names[v.id]), false});
    for (uint32_t k : column.insts) copy.Copy(from_.blocks[0].insts[k]);
    std::vector<Value> results;
    for (size_t r : column.results) {
      results.push_back(copy.Get(from_.blocks[0].term.results[r]));
      b.function().results.push_back(from_.results[r]);
    }
    b.Return(results);
    return part;
  }

  // All of f as it is.
  InstBatcher& Primal() {
    if (primal_copy_) return *primal_copy_;
    primal_copy_.emplace(b_, from_, Axes::kFront, std::vector<Value>());
    for (size_t k = 0; k < args_.size(); ++k) primal_copy_->Bind(from_.params()[k], args_[k]);
    for (const ir::Inst& inst : from_.blocks[0].insts) primal_copy_->Copy(inst);
    return *primal_copy_;
  }

  std::vector<Value> BlocksOf(const Column& column, const Dots& dots) {
    const Value param = args_[column.p].value;
    std::vector<Value> blocks;
    size_t next = 0;
    for (size_t r = 0; r < from_.results.size(); ++r) {
      if (!rows_.differentiated[r]) continue;
      const bool depends = next < column.results.size() && column.results[next] == r;
      next += depends;
      blocks.push_back(depends ? Block(dots.at(r), primal_[r], param, Dims(param))
                               : ZeroBlock(primal_[r], param));
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
    b_.Return(results);
  }

  ir::Module& module_;
  const ir::Function& from_;
  const uint32_t f_;
  const JacobianRows rows_;
  ir::Builder b_;
  Tangents tangents_;
  std::vector<Column> columns_;
  std::optional<InstBatcher> primal_copy_;
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
  SeededWriter writer(module, f, rows, target);
  PB_ASSIGN_OR_RETURN(const bool done, writer.Run(wrt));
  if (!done) return Made();
  return Made(SeededJacobian{target, writer.TakeSeeded()});
}

}  // namespace pullback::ad
