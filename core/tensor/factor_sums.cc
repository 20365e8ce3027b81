// What one factor alone has an index of is added up first, where the others run over more:
//
//   y = each(i, l, j, k) { x[i, j, k] * w[k, l] } sum [i, l]
//                           s = each(i, j, k) { x[i, j, k] } sum [i, k]
//                           y = each(i, l, k) where (1 <= extent of j) { s[i, k] * w[k, l] } sum [i, l]
//
// The sum of x * w over j is w times the sum of x: fewer products, of the same terms in another order. (An index of several
// factors is for core/loops/split_contractions.h to choose.)
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/tensor/block_values.h"
#include "core/tensor/normalise.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/summands.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostFactors = 16;

class SumFactorer {
 public:
  explicit SumFactorer(ir::Function& f) : f_(f), values_(f) {}

  bool Run() {
    std::vector<std::map<size_t, Inst>> sums(f_.blocks.size());  // by block and place
    bool changed = false;
    for (size_t b = 0; b < f_.blocks.size(); ++b) {
      for (size_t at = 0; at < f_.blocks[b].insts.size(); ++at) {
        Inst& inst = f_.blocks[b].insts[at];
        if (inst.each && inst.results.size() == 1) changed |= Factor(inst, sums[b][at]);
      }
    }
    for (size_t b = 0; changed && b < f_.blocks.size(); ++b) InsertSums(f_.blocks[b], sums[b]);
    return changed;
  }

 private:
  struct Found {
    Value factor;
    std::set<Value> indices;  // that it is made of
    std::set<Value> alone;    // of these, reduced ones that nothing else is made of
  };

  static void InsertSums(ir::Block& block, std::map<size_t, Inst>& sums) {
    std::vector<Inst> all;
    for (size_t at = 0; at < block.insts.size(); ++at) {
      const auto sum = sums.find(at);
      if (sum != sums.end() && sum->second.each) all.push_back(std::move(sum->second));
      all.push_back(std::move(block.insts[at]));
    }
    block.insts = std::move(all);
  }

  bool Factor(Inst& inst, Inst& sum) {
    const Each& each = *inst.each;
    const EachResult& r = each.results[0];
    if (r.monoid != ir::Monoid::kSum || r.into.valid() || r.guard.valid() || !each.where.empty() ||
        each.indices.size() < r.out.size() + 1 || !f_.TypeOf(r.value).IsFloat() ||
        !HasElementByIndices(each, r))
      return false;
    const std::optional<Found> found = FindFactor(each);
    if (!found) return false;
    sum = SumOf(inst, *found);
    Replace(*inst.each, *found, sum.results[0]);
    return true;
  }

  // Values whose product it is. False: too many.
  static bool TakeFactors(const Each& each, Value v, ir::Values& factors) {
    ir::Values open = {v};
    for (size_t looked_at = 0; !open.empty(); ++looked_at) {
      if (looked_at == 2 * kMostFactors) return false;
      const Value product = open.back();
      open.pop_back();
      const Inst* def = FindDef(each, product);
      if (def && def->op == Op::Mul && !def->guard.valid())
        open.insert(open.end(), def->args.begin(), def->args.end());
      else
        factors.push_back(product);
    }
    return true;
  }

  static std::optional<Found> FindFactor(const Each& each) {
    const EachResult& r = each.results[0];
    ir::Values factors;
    if (!TakeFactors(each, r.value, factors) || factors.size() < 2) return std::nullopt;
    std::vector<Found> all;
    std::map<Value, int> named;  // by index: by how many
    for (Value v : factors) {
      Found& found = all.emplace_back(Found{v, {}, {}});
      const std::set<Value> made_of = MadeOf(each, {v});
      for (const ir::IndexVar& i : each.indices) {
        if (!made_of.contains(i.var)) continue;
        found.indices.insert(i.var);
        ++named[i.var];
      }
    }
    for (Found& found : all) {
      if (found.indices.size() == each.indices.size()) continue;
      for (Value v : found.indices) {
        if (named.at(v) == 1 && CountNaming(r, v) == 0) found.alone.insert(v);
      }
      if (!found.alone.empty()) return found;
    }
    return std::nullopt;
  }
  Inst SumOf(const Inst& inst, const Found& found) {
    CopiedStatement copy = CopyStatement(inst, f_);
    Each& each = *copy.inst.each;
    const auto fresh = [&](Value v) { return copy.fresh.at(v.id); };
    EachResult& r = each.results[0];
    r.out.clear();
    r.shape.clear();
    r.value = fresh(found.factor);
    std::set<Value> kept;
    for (Value v : found.indices) kept.insert(fresh(v));
    ir::Values gone;  // extents
    for (const ir::IndexVar& i : each.indices) {
      if (!kept.contains(i.var)) gone.push_back(i.extent);
    }
    EraseIndices(each, [&](Value v) { return !kept.contains(v); });
    for (Value v : found.alone) kept.erase(fresh(v));
    for (const ir::IndexVar& i : each.indices) {
      if (!kept.contains(i.var)) continue;
      r.out.push_back(Affine::Of(i.var));
      r.shape.push_back(i.extent);
    }
    PruneBody(each);
    // Where there was no point nothing trapped.
    for (size_t k = 0; MayTrap(each, inst) && k < gone.size(); ++k)
      each.where.push_back({Affine::Of(gone[k]) - Affine::Const(1), false});
    const DType elem = f_.TypeOf(r.value).elem;
    copy.inst.results = {f_.NewValue(r.out.empty()
                                         ? ir::Type::Scalar(elem)
                                         : ir::Type::Array(elem, static_cast<int>(r.out.size())))};
    return std::move(copy.inst);
  }

  // Reads by indices that are as long as their axes do not.
  bool MayTrap(const Each& each, const Inst& before) const {
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      if (inst.op != Op::Index) return ir::MayTrap(inst, f_);
      for (size_t axis = 0; axis < inst.subs.size(); ++axis) {
        const auto place = PlaceOfIndex(each, inst.subs[axis].AsValue());
        if (!place || !values_.HasExtent(inst.args[0], axis, each.indices[*place].extent, before))
          return true;
      }
      return false;
    });
  }

  void Replace(Each& each, const Found& found, Value sum) {
    Value element = sum;
    Inst read;
    for (const ir::IndexVar& i : each.indices) {
      if (found.indices.contains(i.var) && !found.alone.contains(i.var))
        read.subs.push_back(Affine::Of(i.var));
    }
    if (!read.subs.empty()) {
      read.op = Op::Index;
      read.args = {sum};
      read.results = {f_.NewLike(f_, found.factor)};
      element = read.results[0];
      each.body.insert(each.body.begin(), std::move(read));
    }
    for (Inst& inst : each.body) {
      for (Value& arg : inst.args) {
        if (inst.op == Op::Mul && arg == found.factor) arg = element;
      }
    }
    for (const ir::IndexVar& i : each.indices) {
      if (found.alone.contains(i.var))
        each.where.push_back({Affine::Of(i.extent) - Affine::Const(1), false});
    }
    EraseIndices(each, [&](Value v) { return found.alone.contains(v); });
    PruneBody(each);
  }

  template <typename Test>
  static void EraseIndices(Each& each, Test&& goes) {
    each.indices.erase(std::remove_if(each.indices.begin(), each.indices.end(),
                                      [&](const ir::IndexVar& i) { return goes(i.var); }),
                       each.indices.end());
  }

  ir::Function& f_;
  const BlockValues values_;
};

}  // namespace

bool FactorSums(ir::Function& f) { return SumFactorer(f).Run(); }

}  // namespace pullback::tensor
