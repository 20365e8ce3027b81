// What the gradient of an extremum of clipped elements asks at its place, whether the element is positive, the extremum
// tells:
//
//   m = each(i, j): max [i]: select(x[i, j] <= 0, 0, x[i, j])         p = each(i, j): argmax [i]: the same
//   g = each(i): if 0 <= p[i] < n: select(x[i, p[i]] <= 0, …)         … select(m[i] <= 0, …)
//
// So x is not kept for it, nor does it have to be made by rows of i. NaN goes before all in both; of zeros the extremum may
// have the other sign, which nothing asks for. Where there is no element, p[i] is -1, and nothing is read.
//
// What the extremum is taken of is the extremum at its place, so that an array larger than the function's own is not kept for
// that: neither tanh(x[i, j]), where that is searched, nor x for tanh(x[i, p[i]]), nor x where it is searched itself.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/dominance.h"
#include "core/ir/own_arrays.h"
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

constexpr size_t kLongest = 8;  // chain of instructions

// Of a function: extrema by what they are of, and where they are.
class Extrema {
 public:
  explicit Extrema(const ir::Function& f) : dominators_(f) {}
  void Note(const std::string& key, Value extremum, uint32_t block) {
    all_[key].push_back({extremum, block});
  }
  // One that is there in the block; kNoValue: none.
  Value Find(const std::string& key, uint32_t block) const {
    const auto known = all_.find(key);
    if (known == all_.end()) return ir::kNoValue;
    for (const auto& [extremum, made] : known->second) {
      if (made == block || dominators_.Dominates(made, block)) return extremum;
    }
    return ir::kNoValue;
  }

 private:
  const ir::Dominators dominators_;
  std::map<std::string, std::vector<std::pair<Value, uint32_t>>> all_;
};

class BlockExtrema {
 public:
  // `block`: of the function; those that dominate it have been seen, or what they have is not found.
  BlockExtrema(const SignTests& signs, const ir::OwnArrays& own, StatementTexts& texts,
               ir::Function& f, uint32_t block, Extrema& extrema, std::set<Value>& large)
      : signs_(signs),
        own_(own),
        texts_(texts),
        insts_(f.blocks[block].insts),
        block_(block),
        extrema_(extrema),
        large_(large) {}

  bool Run() {
    bool changed = false;
    for (size_t at = 0; at < insts_.size(); ++at) {
      if (!insts_[at].each) continue;
      if (!places_.empty()) changed |= Change(*insts_[at].each);
      for (size_t k = 0; k < insts_[at].results.size(); ++k) NoteLarge(at, k);
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
    bool clipped;  // the sign is all that it tells of the element; else
    std::vector<const Inst*>
        chain;  // what is done to the element is searched, one behind the other
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
      extrema_.Note(key, v, block_);
    } else if (const Value extremum = extrema_.Find(key, block_); extremum.valid()) {
      if (!ir::IsPrefixForm(each, r)) return;
      const Inst* value = FindDef(each, r.value);
      const Inst* read = value ? signs_.ClippedBy(each, *value) : nullptr;
      if (read && read->op == Op::Index)
        places_.emplace(v, Searched{at, k, read, extremum, true, {}});
      NoteChain(at, k, extremum);
      NoteStored(at, k, extremum);
    }
  }

  void NoteLarge(size_t at, size_t k) {
    const EachResult& r = insts_[at].each->results[k];
    if (!own_.IsNoLarger(r.shape)) large_.insert(insts_[at].results[k]);
  }

  // What is searched is an element of a large array, or made of one.
  void NoteChain(size_t at, size_t k, Value extremum) {
    const Each& each = *insts_[at].each;
    Searched found{at, k, nullptr, extremum, false, {}};
    const Inst* inst = FindDef(each, each.results[k].value);
    for (; inst && inst->op != Op::Index && found.chain.size() < kLongest;
         inst = FindDef(each, inst->args[0])) {
      if (inst->args.size() != 1 || inst->guard.valid() || inst->op == Op::Cast) return;
      found.chain.push_back(inst);
    }
    if (!inst || inst->op != Op::Index || inst->guard.valid() || !large_.contains(inst->args[0]))
      return;
    std::reverse(found.chain.begin(), found.chain.end());
    found.read = inst;
    places_.emplace(insts_[at].results[k], std::move(found));
  }

  // What is searched is also stored, in a large array.
  void NoteStored(size_t at, size_t k, Value extremum) {
    const Each& each = *insts_[at].each;
    for (size_t s = 0; s < each.results.size(); ++s) {
      const EachResult& r = each.results[s];
      const bool stored = r.monoid == Monoid::kGen && r.value == each.results[k].value &&
                          !r.guard.valid() && r.out.size() == each.indices.size() &&
                          large_.contains(insts_[at].results[s]);
      if (!stored) continue;
      Inst& read = stored_.emplace_back();
      read.op = Op::Index;
      read.args = {insts_[at].results[s]};
      read.subs = ir::AffineSpan(r.out);
      places_.emplace(insts_[at].results[k], Searched{at, k, &read, extremum, false, {}});
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
    for (size_t k = 0; k < each.body.size(); ++k) {
      const Inst read = each.body[k];
      if (read.op != Op::Index) continue;
      for (const auto& [searched, place] : PlacesIn(each, read)) {
        Inst* const last = searched->clipped ? &each.body[k] : EndOf(each, k, searched->chain);
        const bool asks = !searched->clipped || signs_.AsksForSign(each, read.results[0]);
        if (!last || !asks) continue;
        last->op = Op::Index;
        last->args = {searched->extremum};
        last->subs = place.subs;
        changed = true;
        break;
      }
    }
    if (changed) PruneBody(each);
    return changed;
  }
  // The instruction that does the last of that to what instruction k reads; nullptr: not all of it is done.
  static Inst* EndOf(Each& each, size_t k, const std::vector<const Inst*>& chain) {
    for (const Inst* step : chain) {
      const auto next = std::find_if(each.body.begin(), each.body.end(), [&](const Inst& inst) {
        return inst.op == step->op && inst.bits == step->bits && inst.callee == step->callee &&
               inst.args == each.body[k].results && inst.guard == each.body[k].guard;
      });
      if (next == each.body.end()) return nullptr;
      k = static_cast<size_t>(next - each.body.begin());
    }
    return &each.body[k];
  }
  // The extrema at whose places the element is read, and the reads of these.
  std::vector<std::pair<const Searched*, Inst>> PlacesIn(const Each& each, const Inst& read) const {
    std::vector<std::pair<const Searched*, Inst>> found;
    for (const Affine& sub : read.subs) {
      const Inst* place = FindDef(each, sub.AsValue());
      if (!place || place->op != Op::Index || place->guard.valid()) continue;
      const auto [first, last] = places_.equal_range(place->args[0]);
      for (auto it = first; it != last; ++it) {
        if (IsGuarded(each, read, place->results[0]) && IsAt(it->second, *place, read))
          found.emplace_back(&it->second, *place);
      }
    }
    return found;
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
  const ir::OwnArrays& own_;
  StatementTexts& texts_;
  std::vector<Inst>& insts_;
  const uint32_t block_;
  Extrema& extrema_;
  std::multimap<Value, Searched> places_;  // by their array
  std::set<Value>& large_;                 // arrays
  std::deque<Inst> stored_;                // how what is searched would be read
};

}  // namespace

bool ReadExtrema(ir::Function& f) {
  const SignTests signs(f);
  const ir::OwnArrays own(f);
  StatementTexts texts(f);
  Extrema extrema(f);
  std::set<Value> large;
  bool changed = false;
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    changed |= BlockExtrema(signs, own, texts, f, b, extrema, large).Run();
  return changed;
}

}  // namespace pullback::tensor
