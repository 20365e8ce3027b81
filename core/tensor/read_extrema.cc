// What the gradient of an extremum of clipped elements asks at its place, whether the element is positive, the extremum
// tells:
//
//   m = each(i, j): max [i]: select(x[i, j] <= 0, 0, x[i, j])         p = each(i, j): argmax [i]: the same
//   g = each(i): if 0 <= p[i] < n: select(x[i, p[i]] <= 0, …)         … select(m[i] <= 0, …)
//
// So x is not kept for it, nor does it have to be made by rows of i. NaN goes before all in both; of zeros the extremum may
// have the other sign, which nothing asks for. Where there is no element, p[i] is -1, and nothing is read.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/normalise.h"
#include "core/tensor/sign_tests.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/statement_texts.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

class BlockExtrema {
 public:
  BlockExtrema(const SignTests& signs, StatementTexts& texts, std::vector<Inst>& insts)
      : signs_(signs), texts_(texts), insts_(insts) {}

  bool Run() {
    bool changed = false;
    for (size_t at = 0; at < insts_.size(); ++at) {
      if (!insts_[at].each) continue;
      if (!places_.empty()) changed |= Change(*insts_[at].each);
      for (size_t k = 0; k < insts_[at].results.size(); ++k) Note(at, k);
    }
    return changed;
  }

 private:
  // Of what an extremum and its place are taken: elements of an array at these subscripts.
  struct Searched {
    size_t at;  // of the statement that finds the place
    size_t result;
    const Inst* read;
    Value extremum;
  };

  void Note(size_t at, size_t k) {
    const Each& each = *insts_[at].each;
    const EachResult& r = each.results[k];
    const bool arg = ir::IsArg(r.monoid);
    if ((!arg && r.monoid != Monoid::kMax && r.monoid != Monoid::kMin) || r.guard.valid() ||
        r.out.empty())
      return;
    const std::string key = KeyOf(each, r);
    const Value v = insts_[at].results[k];
    if (!arg) {
      extrema_.emplace(key, v);
    } else if (const auto it = extrema_.find(key); it != extrema_.end()) {
      const Inst* value = FindDef(each, r.value);
      const Inst* read = value ? signs_.ClippedBy(each, *value) : nullptr;
      if (read && read->op == Op::Index && ir::IsPrefixForm(each, r))
        places_.emplace(v, Searched{at, k, read, it->second});
    }
  }
  // As if it were the extremum.
  std::string KeyOf(const Each& each, const EachResult& r) {
    texts_.Enter(each);
    Each only;
    only.indices = each.indices;
    only.where = each.where;
    only.results = {r};
    Monoid& m = only.results[0].monoid;
    if (m == Monoid::kArgMax) m = Monoid::kMax;
    if (m == Monoid::kArgMin) m = Monoid::kMin;
    return texts_.Key(only);
  }

  bool Change(Each& each) {
    bool changed = false;
    for (Inst& read : each.body) {
      if (read.op != Op::Index) continue;
      const auto [searched, place] = PlaceIn(each, read);
      if (!searched || !signs_.AsksForSign(each, read.results[0])) continue;
      read.args = {searched->extremum};
      read.subs = place->subs;
      changed = true;
    }
    if (changed) PruneBody(each);
    return changed;
  }
  // The extremum at whose place the element is read, and the read of that place.
  std::pair<const Searched*, const Inst*> PlaceIn(const Each& each, const Inst& read) const {
    for (const Affine& sub : read.subs) {
      const Inst* place = FindDef(each, sub.AsValue());
      const auto it =
          place && place->op == Op::Index ? places_.find(place->args[0]) : places_.end();
      if (it == places_.end() || place->guard.valid()) continue;
      if (IsGuarded(each, read, place->results[0]) && IsAt(it->second, *place, read))
        return {&it->second, place};
    }
    return {nullptr, nullptr};
  }
  // Elsewhere the read is to trap where there is no element.
  static bool IsGuarded(const Each& each, const Inst& read, Value place) {
    const Inst* guard = FindDef(each, read.guard);
    return guard && guard->op == Op::Holds &&
           std::any_of(guard->constraints.begin(), guard->constraints.end(),
                       [&](const ir::Constraint& c) {
                         return !c.equality && c.e == Affine::Of(place);  // 0 <= place
                       });
  }
  bool IsAt(const Searched& s, const Inst& place, const Inst& read) const {
    const Each& search = *insts_[s.at].each;
    const EachResult& r = search.results[s.result];
    const std::optional<size_t> searched = ir::OnlyIndexReduced(search, r);
    if (!searched || read.args != s.read->args) return false;
    auto subs = s.read->subs;  // at the place
    for (Affine& sub : subs) {
      sub = sub.Substitute(search.indices[*searched].var, Affine::Of(place.results[0]));
      for (size_t k = 0; k < r.out.size(); ++k)
        sub = sub.Substitute(r.out[k].AsValue(), place.subs[k]);
    }
    return subs == read.subs;
  }

  const SignTests& signs_;
  StatementTexts& texts_;
  std::vector<Inst>& insts_;
  std::map<std::string, Value> extrema_;  // by what they are of
  std::map<Value, Searched> places_;      // by their array
};

}  // namespace

bool ReadExtrema(ir::Function& f) {
  const SignTests signs(f);
  StatementTexts texts(f);
  bool changed = false;
  for (ir::Block& b : f.blocks) changed |= BlockExtrema(signs, texts, b.insts).Run();
  return changed;
}

}  // namespace pullback::tensor
