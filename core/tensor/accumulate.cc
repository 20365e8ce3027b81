// add_arrays(a, s), s the result of a statement and read nowhere else: the statement adds to a, where its
// points lie, and no array is made for s. So a loop whose step reads a row, or a window, of an array costs its
// reverse the row at each step and not the array.
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <optional>

#include "core/ir/known_extents.h"
#include "core/ir/op_weight.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

bool Reads(const Inst& inst, Value v) {
  bool reads = false;
  ir::ForEachOperand(inst, [&](const Value& x) { reads |= x == v; });
  return reads;
}

// One block. A statement may move down to where its result is added, whose instruction is gone.
class BlockAccumulator {
 public:
  BlockAccumulator(ir::Function& f, ir::Block& block, const std::vector<int>& uses,
                   const std::vector<bool>& is_param, const std::vector<bool>& is_dim,
                   const std::vector<Value>& added_to, const ir::OwnArrays& own)
      : f_(f),
        insts_(block.insts),
        uses_(uses),
        is_param_(is_param),
        is_dim_(is_dim),
        added_to_(added_to),
        own_(own) {
    for (size_t at = 0; at < insts_.size(); ++at) {
      for (Value v : insts_[at].results) defined_[v.id] = at;
      ir::ForEachOperand(insts_[at], [&](const Value& v) {
        if (f_.TypeOf(v).IsArray() || defined_.contains(v.id)) readers_[v.id].push_back(at);
      });
    }
  }

  void Run() {
    for (size_t at = 0; at < insts_.size(); ++at) {
      if (insts_[at].op == Op::AddArrays) Accumulate(at);
    }
    std::erase_if(insts_, [](const Inst& inst) {
      return inst.results.empty() && (inst.op == Op::Each || inst.op == Op::AddArrays);
    });
  }

 private:
  struct Term {
    size_t at = 0;      // of the statement
    size_t result = 0;  // of its results
  };

  void Accumulate(size_t at) {
    for (size_t operand : {1, 0}) {
      const Value term = insts_[at].args[operand], into = insts_[at].args[1 - operand];
      const auto found = Find(term);
      if (!found || Reads(insts_[found->at], into) || StaysLarger(into, at)) continue;
      if ((SumsToVector(*found) || ReadsLarger(*found, into)) && !IsCarried(into)) continue;
      if (Replace(*found, at, into)) return;
    }
  }

  // An array larger than the function's own that is read later, as it was: adding to it makes another such one.
  bool StaysLarger(Value into, size_t at) const {
    const ir::EachResult* made = MakerOf(into);
    const auto readers = readers_.find(into.id);
    return made && !own_.IsNoLarger(made->shape) && readers != readers_.end() &&
           readers->second.back() > at;
  }

  // The statement of this block that makes `v`, for one reader.
  std::optional<Term> Find(Value v) const {
    const auto at = defined_.find(v.id);
    if (at == defined_.end() || uses_[v.id] != 1) return std::nullopt;
    const Inst& inst = insts_[at->second];
    if (inst.op != Op::Each) return std::nullopt;
    const auto result = std::find(inst.results.begin(), inst.results.end(), v);
    const Term term{at->second, static_cast<size_t>(result - inst.results.begin())};
    const ir::EachResult& r = inst.each->results[term.result];
    const bool adds = r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum;
    if (!adds || r.into.valid() || f_.TypeOf(r.value).elem == DType::kBool) return std::nullopt;
    return term;
  }

  // Beside points of several axes a vector, or a narrow matrix, costs nothing, and adding to one that was made before keeps
  // the matrices that they read whole: the statements that read these could not be one loop over their rows
  // (core/loops/fuse_rows.h). No matter of whether there is a matrix: terms that are added in place have other bits
  // than their sum, and these are the same wherever one was made, or was fused into its reader.
  bool SumsToVector(const Term& term) const {
    const ir::Each& each = *insts_[term.at].each;
    const ir::EachResult& r = each.results[term.result];
    size_t long_axes = 0;
    bool whole = false;  // more than a column of a narrow matrix
    for (size_t k = 0; k < r.out.size(); ++k) {
      long_axes += IsShort(r.shape[k]) ? 0 : 1;
      whole |= IsShort(r.shape[k]) && !r.out[k].IsConst();
    }
    if (long_axes != 1) return false;
    if (whole) return CountLong(each) > 1;
    return each.indices.size() > 1 || (each.indices.size() == 1 && Scatters(each, r));
  }
  // The same of arrays that may be larger than any of the function's own, where `into` is made by statements, too: beside
  // these another array like the result costs nothing. A statement with other results keeps what these are made of, too.
  // (What stores at places that data say may touch few of many.) A few sums of all rows are made of what each row gives.
  bool ReadsLarger(const Term& term, Value into) const {
    const auto made = defined_.find(into.id);
    if (made == defined_.end() || insts_[made->second].op == Op::Zeros) return false;
    const ir::Each& each = *insts_[term.at].each;
    if (each.results.size() > 1 && !StoresByData(term)) return true;
    const ir::EachResult& r = each.results[term.result];
    const bool is_short =
        std::all_of(r.shape.begin(), r.shape.end(), [&](Value extent) { return IsShort(extent); });
    return ReadsLarger(each, is_short || StoresByData(term) || StoresApart(each, r));
  }
  // `also_made`: or what it reads is made of such.
  bool ReadsLarger(const ir::Each& each, bool also_made) const {
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      if (inst.op != Op::Index || inst.subs.size() < 2 || StartsByData(each, inst.subs))
        return false;  // no turn of a loop makes what it reads of these
      const ir::EachResult* made = MakerOf(inst.args[0]);
      if (made && !own_.IsNoLarger(made->shape)) return true;
      const auto maker = also_made ? defined_.find(inst.args[0].id) : defined_.end();
      return maker != defined_.end() && insts_[maker->second].each &&
             ReadsLarger(*insts_[maker->second].each, false);
    });
  }
  // From the end, or rows that are not behind each other.
  static bool StoresApart(const ir::Each& each, const ir::EachResult& r) {
    return std::any_of(r.out.begin(), r.out.end(), [&](const ir::Affine& sub) {
      return std::any_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
        const int64_t step = sub.Coeff(i.var);
        return step != 0 && step != 1;
      });
    });
  }
  static bool StartsByData(const ir::Each& each, ir::AffineSpan subs) {
    return FindDef(each, subs[0].AsValue()) != nullptr;
  }
  bool StoresByData(const Term& term) const {
    const ir::Each& each = *insts_[term.at].each;
    return tensor::StoresByData(each, each.results[term.result]);
  }
  // An array beside it may be much larger than what is stored, and what the body does for it costs little.
  bool MayCopy(const Term& term) const {
    constexpr int kLittle = 16;
    if (!StoresByData(term)) return false;
    Inst alone = insts_[term.at];
    alone.each->results = {alone.each->results[term.result]};
    PruneBody(*alone.each);
    const auto& body = alone.each->body;
    return body.size() <= kLittle && std::none_of(body.begin(), body.end(), ir::IsDear);
  }
  // Its other results are arrays larger than the function's own: their loops would wait for all that `into` is.
  bool MakesLarger(const Term& term) const {
    const auto& results = insts_[term.at].each->results;
    for (size_t k = 0; k < results.size(); ++k) {
      if (k != term.result && !own_.IsNoLarger(results[k].shape)) return true;
    }
    return false;
  }
  // Of an array, or of one that is added to others to make it.
  const ir::EachResult* MakerOf(Value array) const {
    auto at = defined_.find(array.id);
    while (at != defined_.end() && insts_[at->second].op == Op::AddArrays) {
      array = insts_[at->second].args[0];
      at = defined_.find(array.id);
    }
    if (at == defined_.end() || !insts_[at->second].each) return nullptr;
    const Inst& maker = insts_[at->second];
    const auto result = std::find(maker.results.begin(), maker.results.end(), array);
    return &maker.each->results[static_cast<size_t>(result - maker.results.begin())];
  }
  size_t CountLong(const ir::Each& each) const {
    return static_cast<size_t>(
        std::count_if(each.indices.begin(), each.indices.end(),
                      [&](const ir::IndexVar& i) { return !IsShort(i.extent); }));
  }
  // From a range that no array has: beside as many points a vector costs nothing.
  bool Scatters(const ir::Each& each, const ir::EachResult& r) const {
    const ir::IndexVar& i = each.indices[0];
    const bool apart = std::any_of(r.out.begin(), r.out.end(),
                                   [&](const ir::Affine& a) { return a.AsValue() == i.var; });
    return !apart && !is_dim_[i.extent.id] && !IsShort(i.extent);
  }
  bool IsShort(Value extent) const {
    const auto at = defined_.find(extent.id);
    if (at == defined_.end() || insts_[at->second].op != Op::Const) return false;
    return static_cast<int64_t>(insts_[at->second].bits) <= ir::kShortExtent;
  }

  // Whether `v` is a block's parameter with something added: an array that a loop carries, or a caller's. What has
  // been found is kept, since each of n sums of one array asks for the one before.
  bool IsCarried(Value v) {
    std::vector<Value> way;
    bool carried = false;
    while (v.valid()) {
      if (const auto known = carried_.find(v.id); known != carried_.end()) {
        carried = known->second;
        break;
      }
      way.push_back(v);
      const auto at = defined_.find(v.id);
      if (at == defined_.end() && is_param_[v.id]) {
        carried = true;
        break;
      }
      v = at == defined_.end() ? added_to_[v.id] : AddedTo(insts_[at->second], v);
    }
    for (Value on_way : way) carried_[on_way.id] = carried;
    return carried;
  }

 public:
  // The array that `v`, a result of `inst`, is with something added; none where it is made anew.
  static Value AddedTo(const Inst& inst, Value v) {
    if (inst.op == Op::AddArrays || inst.op == Op::AddAt || inst.op == Op::Update ||
        inst.op == Op::Fit)
      return inst.args[0];
    if (inst.op != Op::Each) return ir::kNoValue;
    const auto result = std::find(inst.results.begin(), inst.results.end(), v);
    return inst.each->results[static_cast<size_t>(result - inst.results.begin())].into;
  }

 private:
  // The statement stays where it is, moves to `add` as a whole, or leaves this result to a copy there, which
  // costs its body once more: only for an array that costs more than a step otherwise.
  bool Replace(const Term& term, size_t add, Value into) {
    Inst& inst = insts_[term.at];
    const Value sum = insts_[add].results[0];
    const auto defined = defined_.find(into.id);
    const bool early = defined == defined_.end() || defined->second < term.at;
    const bool apart = MakesLarger(term) && MayCopy(term);
    if (early && !apart && !IsReadBetween(into, term.at, add)) {
      SetInto(inst, term.result, into, sum);
      defined_[sum.id] = term.at;
      insts_[add].results.clear();
      return true;
    }
    const bool moves =
        !apart && std::none_of(inst.results.begin(), inst.results.end(), [&](Value v) {
          return v == into || IsReadBetween(v, term.at, add);
        });
    if (!moves && !IsCarried(into) && !MayCopy(term)) return false;
    Inst moved;
    if (moves) {
      moved = std::move(inst);
      inst = Inst();
      inst.op = Op::Each;  // swept
      for (Value v : moved.results) defined_[v.id] = add;
      SetInto(moved, term.result, into, sum);
    } else {
      moved = CopyWithResult(inst, term.result, f_).inst;
      SetInto(moved, 0, into, sum);
      inst.results.erase(inst.results.begin() + static_cast<long>(term.result));
      inst.each->results.erase(inst.each->results.begin() + static_cast<long>(term.result));
      PruneBody(*inst.each);
    }
    insts_[add] = std::move(moved);
    defined_[sum.id] = add;
    return true;
  }

  static void SetInto(Inst& inst, size_t result, Value into, Value sum) {
    inst.each->results[result].into = into;
    inst.results[result] = sum;
  }

  bool IsReadBetween(Value v, size_t after, size_t before) const {
    const auto readers = readers_.find(v.id);
    if (readers == readers_.end()) return false;
    const auto next = std::upper_bound(readers->second.begin(), readers->second.end(), after);
    return next != readers->second.end() && *next < before;
  }

  ir::Function& f_;
  std::vector<Inst>& insts_;
  const std::vector<int>& uses_;
  const std::vector<bool>&is_param_, &is_dim_;  // an extent of an array
  const std::vector<Value>& added_to_;          // by value, of all blocks as they were
  const ir::OwnArrays& own_;
  absl::flat_hash_map<uint32_t, size_t> defined_;
  absl::flat_hash_map<uint32_t, bool> carried_;
  absl::flat_hash_map<uint32_t, absl::InlinedVector<size_t, 2>>
      readers_;  // of what is asked for; ascending
};

}  // namespace

void AccumulateInPlace(ir::Function& f) {
  const auto adds_arrays = [](const ir::Block& b) {
    return std::any_of(b.insts.begin(), b.insts.end(),
                       [](const Inst& inst) { return inst.op == Op::AddArrays; });
  };
  if (std::none_of(f.blocks.begin(), f.blocks.end(), adds_arrays)) return;
  std::vector<int> uses(f.values.size());
  std::vector<bool> is_param(f.values.size()), is_dim(f.values.size());
  std::vector<Value> added_to(f.values.size());
  const auto count = [&](const Value& v) { ++uses[v.id]; };
  for (const ir::Block& b : f.blocks) {
    for (Value v : b.params) is_param[v.id] = true;
    for (const Inst& inst : b.insts) {
      ir::ForEachOperand(inst, count);
      for (Value v : inst.results) {
        if (f.TypeOf(v).IsArray()) added_to[v.id] = BlockAccumulator::AddedTo(inst, v);
      }
      if (inst.op == Op::Dim) is_dim[inst.results[0].id] = true;
    }
    ir::ForEachTermOperand(b.term, count);
  }
  const ir::OwnArrays own(f);
  for (ir::Block& b : f.blocks) {
    if (adds_arrays(b)) BlockAccumulator(f, b, uses, is_param, is_dim, added_to, own).Run();
  }
}

}  // namespace pullback::tensor
