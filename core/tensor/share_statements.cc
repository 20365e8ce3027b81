// Reductions and scans that are written twice are made once: the residual of a square, `(a - sum j { … }) * (a - sum j
// { … })`. What an element is that somebody updates, gives out or passes on is not shared: an update would lose its unique
// owner. (Arrays of single points are not either: they become part of what reads them.)
//
//   %a = each(j < %n) { … } sum []: e       %a = each(j < %n) { … } sum []: e
//   %b = each(j < %n) { … } sum []: e       … %a, %a …
//   … %a, %b …
//
// So are values of functions of the math table that two statements keep for each of their points: the second reads the first's.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/statement_texts.h"

namespace pullback::tensor {
namespace {

using ir::Inst;
using ir::Value;

class Sharing {
 public:
  explicit Sharing(ir::Function& f) : f_(f) {}

  bool Run() {
    if (!AnyAlike() && !AnyKeptTwice()) return false;
    elsewhere_ = ArraysNeededWhole(f_);
    StatementTexts texts(f_);
    std::unordered_map<uint32_t, Value> same;
    for (ir::Block& b : f_.blocks) {
      std::unordered_map<std::string, ir::Values> first;
      std::unordered_map<std::string, Value> kept;
      std::erase_if(b.insts, [&](Inst& inst) {
        if (!inst.each || inst.results.empty()) return false;
        if (!same.empty()) ReplaceValues(inst, same);
        ShareKept(inst, texts, kept, same);
        if (!alike_.contains(ShapeOf(*inst.each)) || !MayShare(inst)) return false;
        texts.Enter(*inst.each);
        const auto [it, fresh] = first.emplace(texts.Key(*inst.each), inst.results);
        if (fresh) return false;
        for (size_t k = 0; k < inst.results.size(); ++k) same[inst.results[k].id] = it->second[k];
        return true;
      });
    }
    if (same.empty()) return false;
    ReplaceValues(f_, same);
    return true;
  }

 private:
  // What equal statements have in common at a glance.
  using Shape = std::tuple<size_t, size_t, size_t, ir::Monoid>;
  static Shape ShapeOf(const ir::Each& each) {
    return {each.indices.size(), each.body.size(), each.results.size(), each.results[0].monoid};
  }

  bool AnyAlike() {
    for (const ir::Block& b : f_.blocks) {
      std::set<Shape> seen;
      for (const Inst& inst : b.insts) {
        if (!inst.each || inst.results.empty()) continue;
        const Shape shape = ShapeOf(*inst.each);
        if (!seen.insert(shape).second) alike_.insert(shape);
      }
    }
    return !alike_.empty();
  }

  // The instruction whose value, of a function of the math table, result k is at each point; nullptr: it is not.
  static Inst* KeptCall(ir::Each& each, size_t k) {
    const ir::EachResult& r = each.results[k];
    const bool stores = r.monoid == ir::Monoid::kGen && !r.into.valid() && !r.guard.valid() &&
                        r.out.size() == each.indices.size() && ir::IsPrefixForm(each, r);
    if (!stores) return nullptr;
    for (Inst& inst : each.body) {
      if (inst.results.empty() || inst.results[0] != r.value) continue;
      return (ir::Info(inst.op).flags & ir::kLibm) != 0 && !inst.guard.valid() ? &inst : nullptr;
    }
    return nullptr;
  }

  bool AnyKeptTwice() const {
    for (const ir::Block& b : f_.blocks) {
      size_t calls = 0;
      for (const Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k)
          calls += KeptCall(*inst.each, k) != nullptr;
      }
      if (calls > 1) return true;
    }
    return false;
  }

  void ShareKept(Inst& inst, StatementTexts& texts, std::unordered_map<std::string, Value>& kept,
                 std::unordered_map<uint32_t, Value>& same) const {
    ir::Each& each = *inst.each;
    for (size_t k = 0; k < inst.results.size();) {
      Inst* const call = KeptCall(each, k);
      if (!call || elsewhere_.contains(inst.results[k]) || inst.results.size() == 1) {
        ++k;
        continue;
      }
      texts.Enter(each);
      ir::Each only;
      only.indices = each.indices;
      only.where = each.where;
      only.results = {each.results[k]};
      const auto [it, fresh] = kept.emplace(texts.Key(only), inst.results[k]);
      if (fresh) {
        ++k;
        continue;
      }
      same[inst.results[k].id] = it->second;
      const bool of_another =
          std::find(inst.results.begin(), inst.results.end(), it->second) == inst.results.end();
      if (of_another) {
        call->op = ir::Op::Index;
        call->args = {it->second};
        call->subs = ir::AffineSpan(each.results[k].out);
      }
      inst.results.erase(inst.results.begin() + static_cast<std::ptrdiff_t>(k));
      each.results.erase(each.results.begin() + static_cast<std::ptrdiff_t>(k));
      PruneBody(each);
    }
  }

  bool MayShare(const Inst& inst) const {
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const ir::EachResult& r = inst.each->results[k];
      if (r.monoid == ir::Monoid::kGen || r.into.valid() || elsewhere_.contains(inst.results[k]))
        return false;
    }
    return true;
  }

  ir::Function& f_;
  std::set<Shape> alike_;      // of two statements of a block or more
  std::set<Value> elsewhere_;  // arrays that are not only read by statements
};

}  // namespace

bool ShareStatements(ir::Function& f) { return Sharing(f).Run(); }

}  // namespace pullback::tensor
