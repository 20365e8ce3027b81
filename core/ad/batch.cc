#include "core/ad/batch.h"

#include <algorithm>
#include <map>

namespace pullback::ad {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMaxRank = 8;  // of an array

class Batcher {
 public:
  Batcher(ir::Builder& b, const ir::Function& f, const std::vector<Value>& extents,
          std::vector<Value>& made)
      : b_(b), from_(f), extents_(extents), made_(made) {}

  std::optional<std::vector<Batched>> Run(const std::vector<Batched>& args) {
    if (from_.blocks.size() != 1) return std::nullopt;
    for (const ir::ValueInfo& v : from_.values) {
      if (v.type.IsArray() && v.type.rank + static_cast<int>(extents_.size()) > kMaxRank)
        return std::nullopt;
    }
    for (size_t k = 0; k < args.size(); ++k) to_[from_.params()[k]] = args[k];
    for (const Inst& inst : from_.blocks[0].insts) {
      b_.SetLoc(inst.loc);
      if (!Visit(inst)) return std::nullopt;
    }
    std::vector<Batched> results;
    for (Value v : from_.blocks[0].term.results) results.push_back(to_.at(v));
    return results;
  }

 private:
  bool IsBatched(Value v) const {
    const auto it = to_.find(v);
    return it != to_.end() && it->second.batched;
  }
  Value Get(Value v) const { return to_.at(v).value; }

  bool Visit(const Inst& inst) {
    bool any = false;
    ir::ForEachOperand(inst, [&](Value v) { any |= IsBatched(v); });
    if (!any) {
      Copy(inst);
      return true;
    }
    if (inst.each) return VisitEach(inst);
    const auto scalar = [&](Value v) { return from_.TypeOf(v).IsScalar(); };
    switch (inst.op) {
      case Op::Dim: {
        const int axis = static_cast<int>(inst.bits + extents_.size());
        to_[inst.results[0]] = {b_.Dim(Get(inst.args[0]), axis), false};
        return true;
      }
      case Op::Index: return VisitPoint(inst, inst.subs);
      case Op::AddArrays: return VisitAddArrays(inst);
      default: break;
    }
    const bool pointwise = ir::Info(inst.op).rule != ir::TypeRule::Own || inst.op == Op::Select ||
                           inst.op == Op::Cast || inst.op == Op::StopGradient;
    if (!pointwise || inst.results.size() != 1 || !scalar(inst.results[0])) return false;
    return std::all_of(inst.args.begin(), inst.args.end(), scalar) && VisitPoint(inst, {});
  }

  void Copy(const Inst& inst) {
    Inst copy = inst;
    if (copy.each) FreshBody(*copy.each);
    ir::ForEachOperand(copy, [this](Value& v) { v = Get(v); });
    Define(copy, inst.results, false);
    ir::CanonicaliseAffines(copy);
    b_.Append(std::move(copy));
  }

  void Define(Inst& copy, const std::vector<Value>& results, bool batched) {
    copy.results.clear();
    for (Value v : results) {
      ir::Type t = from_.TypeOf(v);
      if (batched) t = ir::Type::Array(t.elem, t.rank + static_cast<int>(extents_.size()));
      const Value fresh = b_.function().NewValue(t, from_.values[v.id].name);
      to_[v] = {fresh, batched};
      copy.results.push_back(fresh);
      if (batched) made_.push_back(fresh);
    }
  }

  void FreshBody(ir::Each& each) {
    const auto fresh = [this](Value v) {
      to_[v] = {b_.function().NewValue(from_.TypeOf(v), from_.values[v.id].name), false};
      return to_[v].value;
    };
    for (ir::IndexVar& i : each.indices) i.var = fresh(i.var);
    for (Inst& body : each.body) {
      for (Value& v : body.results) v = fresh(v);
    }
  }

  std::vector<Value> BeginPoints() {
    return b_.BeginEach(extents_, std::vector<std::string>(extents_.size(), "k"));
  }
  static std::vector<Affine> Subscripts(const std::vector<Value>& indices) {
    std::vector<Affine> at;
    for (Value i : indices) at.push_back(Affine::Of(i));
    return at;
  }
  Value EndPoints(const std::vector<Value>& k, Value value) {
    ir::EachResult r;
    r.out = Subscripts(k);
    r.shape = extents_;
    r.value = value;
    made_.push_back(b_.EndEach({std::move(r)})[0]);
    return made_.back();
  }

  // A scalar instruction of the block, or a read of an element: a statement over the new axes.
  bool VisitPoint(const Inst& inst, const std::vector<Affine>& subs) {
    bool at_batched = false;
    for (const Affine& a : subs)
      ir::ForEachOperand(a, [&](Value v) { at_batched |= IsBatched(v); });
    if (at_batched) return false;
    const std::vector<Value> k = BeginPoints();
    Inst copy = inst;
    for (Value& v : copy.args) v = inst.op == Op::Index ? Get(v) : Here(v, k);
    copy.subs = Subscripts(k);
    for (Affine a : subs) {
      ir::ForEachOperand(a, [this](Value& v) { v = Get(v); });
      ir::Canonicalise(a);
      copy.subs.push_back(std::move(a));
    }
    if (inst.op != Op::Index) copy.subs.clear();
    const Value value = b_.function().NewValue(from_.TypeOf(inst.results[0]));
    copy.results = {value};
    b_.Append(std::move(copy));
    to_[inst.results[0]] = {EndPoints(k, value), true};
    return true;
  }
  // A scalar at the point of the statement that is being built.
  Value Here(Value v, const std::vector<Value>& k) {
    return IsBatched(v) ? b_.Index(Get(v), Subscripts(k)) : Get(v);
  }

  bool VisitAddArrays(const Inst& inst) {
    const int rank = from_.TypeOf(inst.args[0]).rank;
    const bool first = IsBatched(inst.args[0]);
    std::vector<Value> dims = extents_;
    for (int axis = 0; axis < rank; ++axis)
      dims.push_back(
          b_.Dim(Get(inst.args[0]), axis + (first ? static_cast<int>(extents_.size()) : 0)));
    const std::vector<Affine> all = Subscripts(b_.BeginEach(dims));
    const std::vector<Affine> own(all.begin() + static_cast<long>(extents_.size()), all.end());
    const auto read = [&](Value v) { return b_.Index(Get(v), IsBatched(v) ? all : own); };
    const Value a = read(inst.args[0]), b = read(inst.args[1]);
    ir::EachResult r;
    r.out = all;
    r.shape = dims;
    r.value = b_.Make(Op::Add, {a, b});
    made_.push_back(b_.EndEach({std::move(r)})[0]);
    to_[inst.results[0]] = {made_.back(), true};
    return true;
  }

  // Body values that differ from point to point.
  std::map<Value, bool> BatchedBody(const ir::Each& each) const {
    std::map<Value, bool> batched;
    for (const Inst& inst : each.body) {
      bool any = false;
      ir::ForEachOperand(inst, [&](Value v) { any |= IsBatched(v) || batched[v]; });
      for (Value v : inst.results) batched[v] = any;
    }
    return batched;
  }

  bool VisitEach(const Inst& inst) {
    const ir::Each& each = *inst.each;
    bool fixed_space = true;
    const auto fixed = [&](Value v) { fixed_space &= !IsBatched(v); };
    for (const ir::IndexVar& i : each.indices) fixed(i.extent);
    for (const ir::Constraint& c : each.where) ir::ForEachOperand(c.e, fixed);
    std::map<Value, bool> body = BatchedBody(each);
    std::vector<size_t> here, elsewhere;  // results with and without the new axes
    for (size_t k = 0; k < each.results.size(); ++k) {
      const ir::EachResult& r = each.results[k];
      for (Value v : r.shape) fixed(v);
      bool any = false;
      const auto look = [&](Value v) { any |= v.valid() && (IsBatched(v) || body[v]); };
      for (const Affine& a : r.out) ir::ForEachOperand(a, look);
      look(r.value);
      look(r.guard);
      look(r.second);
      (any ? here : elsewhere).push_back(k);
    }
    if (!fixed_space) return false;
    if (!elsewhere.empty()) {
      Inst rest = WithResults(inst, elsewhere);
      std::erase_if(rest.each->body, [&](const Inst& i) { return body[i.results[0]]; });
      Copy(rest);
    }
    // One statement for each: their patterns differ.
    for (size_t k : here) CopyBatched(WithResults(inst, {k}));
    return true;
  }

  static Inst WithResults(const Inst& inst, const std::vector<size_t>& which) {
    Inst copy = inst;
    copy.results.clear();
    copy.each->results.clear();
    for (size_t k : which) {
      copy.results.push_back(inst.results[k]);
      copy.each->results.push_back(inst.each->results[k]);
    }
    return copy;
  }

  void CopyBatched(const Inst& inst) {
    Inst copy = inst;
    ir::Each& each = *copy.each;
    FreshBody(each);
    std::vector<Value> k;
    for (size_t axis = 0; axis < extents_.size(); ++axis)
      k.push_back(b_.function().NewValue(ir::Type::I64(), "k"));
    const std::vector<Affine> at = Subscripts(k);
    std::vector<bool> batched;
    for (const Inst& body : each.body)
      batched.push_back((body.op == Op::Index || body.op == Op::Dim) && IsBatched(body.args[0]));
    std::vector<Inst> reads;  // of scalars from outside
    std::map<Value, Value> read;
    ir::ForEachOperand(copy, [&](Value& v) {
      if (!IsBatched(v) || from_.TypeOf(v).IsArray()) {
        v = Get(v);
      } else {
        const auto [it, fresh] = read.try_emplace(v);
        if (fresh) it->second = ReadAt(v, at, reads);
        v = it->second;
      }
    });
    AddAxes(each, k, at, batched);
    each.body.insert(each.body.begin(), std::make_move_iterator(reads.begin()),
                     std::make_move_iterator(reads.end()));
    Define(copy, inst.results, true);
    ir::CanonicaliseAffines(copy);
    b_.Append(std::move(copy));
  }

  // `batched`: by body instruction, whether it looks at an array with the new axes.
  void AddAxes(ir::Each& each, const std::vector<Value>& k, const std::vector<Affine>& at,
               const std::vector<bool>& batched) {
    for (size_t n = 0; n < each.body.size(); ++n) {
      Inst& body = each.body[n];
      if (batched[n] && body.op == Op::Index)
        body.subs.insert(body.subs.begin(), at.begin(), at.end());
      if (batched[n] && body.op == Op::Dim) body.bits += at.size();
    }
    for (size_t axis = k.size(); axis-- > 0;)
      each.indices.insert(each.indices.begin(), {k[axis], extents_[axis]});
    for (ir::EachResult& r : each.results) {
      r.out.insert(r.out.begin(), at.begin(), at.end());
      r.shape.insert(r.shape.begin(), extents_.begin(), extents_.end());
      if (ir::IsScan(r.monoid)) r.outer += static_cast<uint32_t>(at.size());
    }
  }

  Value ReadAt(Value v, const std::vector<Affine>& at, std::vector<Inst>& reads) {
    Inst read;
    read.op = Op::Index;
    read.args = {Get(v)};
    read.subs = at;
    read.results = {b_.function().NewValue(from_.TypeOf(v))};
    reads.push_back(std::move(read));
    return reads.back().results[0];
  }

  ir::Builder& b_;
  const ir::Function& from_;
  const std::vector<Value>& extents_;
  std::vector<Value>& made_;
  std::map<Value, Batched> to_;
};

}  // namespace

std::optional<std::vector<Batched>> AppendBatched(ir::Builder& b, const ir::Function& f,
                                                  const std::vector<Batched>& args,
                                                  const std::vector<ir::Value>& extents,
                                                  std::vector<ir::Value>& made) {
  return Batcher(b, f, extents, made).Run(args);
}

}  // namespace pullback::ad
