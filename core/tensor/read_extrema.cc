// What the gradient of an extremum of clipped elements asks at its place, whether the element is positive, the extremum
// tells:
//
//   m = each(i, j): max [i]: select(x[i, j] <= 0, 0, x[i, j])         p = each(i, j): argmax [i]: the same
//   g = each(i): if 0 <= p[i] < n: select(x[i, p[i]] <= 0, …)         … select(m[i] <= 0, …)
//
// Likewise with something added that is the same for all that is searched, a layer's x[i, j] + b[j] for the greatest of each j.
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

class ExtremaReader {
 public:
  explicit ExtremaReader(ir::Function& f) : f_(f), signs_(f), own_(f), texts_(f), dominators_(f) {}

  // What comes behind in the text is not found.
  bool Run() {
    bool changed = false;
    for (block_ = 0; block_ < f_.blocks.size(); ++block_) {
      for (Inst& inst : f_.blocks[block_].insts) {
        if (!inst.each) continue;
        if (!places_.empty()) changed |= Change(*inst.each);
        for (size_t k = 0; k < inst.results.size(); ++k) NoteLarge(inst, k);
        for (size_t k = 0; k < inst.results.size(); ++k) Note(inst, k);
      }
    }
    return changed;
  }

 private:
  // Of what an extremum and its place are taken: elements of an array at these subscripts.
  struct Searched {
    const Inst* search;  // the statement that finds the place
    size_t result;
    const Inst* read;
    Value extremum;
    bool clipped;  // the sign is all that it tells of the element; else
    std::vector<const Inst*>
        chain;                    // what is done to the element is searched, one behind the other
    const Inst* added = nullptr;  // clipped: a read, of what is added to the element
  };

  void Note(const Inst& inst, size_t k) {
    const Each& each = *inst.each;
    const EachResult& r = each.results[k];
    const bool arg = ir::IsArg(r.monoid);
    if ((!arg && r.monoid != Monoid::kMax && r.monoid != Monoid::kMin) || r.guard.valid() ||
        r.out.empty())
      return;
    const std::string key = KeyOf(each, r);
    const Value v = inst.results[k];
    if (!arg) {
      extrema_[key].emplace_back(v, block_);
    } else if (const Value extremum = FindExtremum(key); extremum.valid()) {
      if (!ir::OnlyIndexReduced(each, r)) return;
      const Inst* value = FindDef(each, r.value);
      const Inst* read = value ? signs_.ClippedBy(each, *value) : nullptr;
      NoteClipped(inst, k, read, extremum);
      NoteChain(inst, k, extremum);
      NoteStored(inst, k, extremum);
    }
  }

  // One that is there in the block; kNoValue: none.
  Value FindExtremum(const std::string& key) const {
    const auto known = extrema_.find(key);
    if (known == extrema_.end()) return ir::kNoValue;
    for (const auto& [extremum, made] : known->second) {
      if (made == block_ || dominators_.Dominates(made, block_)) return extremum;
    }
    return ir::kNoValue;
  }

  // `value`: what is clipped.
  void NoteClipped(const Inst& inst, size_t k, const Inst* value, Value extremum) {
    const Each& each = *inst.each;
    const auto note = [&](const Inst* read, const Inst* added) {
      if (read && read->op == Op::Index)
        places_.emplace(inst.results[k], Searched{&inst, k, read, extremum, true, {}, added});
    };
    if (!value || value->op != Op::Add) return note(value, nullptr);
    const Inst *a = FindDef(each, value->args[0]), *b = FindDef(each, value->args[1]);
    const auto is_same = [&](const Inst* added) {
      const std::optional<size_t> searched = ir::OnlyIndexReduced(each, each.results[k]);
      return added && added->op == Op::Index && !added->guard.valid() && searched &&
             std::all_of(added->subs.begin(), added->subs.end(), [&](const Affine& sub) {
               return sub.Coeff(each.indices[*searched].var) == 0;
             });
    };
    if (is_same(b)) note(a, b);
    if (is_same(a)) note(b, a);
  }

  void NoteLarge(const Inst& inst, size_t k) {
    const EachResult& r = inst.each->results[k];
    if (!own_.IsNoLarger(r.shape)) large_.insert(inst.results[k]);
  }

  // What is searched is an element of a large array, or made of one.
  void NoteChain(const Inst& search, size_t k, Value extremum) {
    const Each& each = *search.each;
    Searched found{&search, k, nullptr, extremum, false, {}};
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
    places_.emplace(search.results[k], std::move(found));
  }

  // What is searched is also stored, in a large array.
  void NoteStored(const Inst& inst, size_t k, Value extremum) {
    const Each& each = *inst.each;
    for (size_t s = 0; s < each.results.size(); ++s) {
      const EachResult& r = each.results[s];
      const bool stored = r.monoid == Monoid::kGen && r.value == each.results[k].value &&
                          !r.guard.valid() && r.out.size() == each.indices.size() &&
                          large_.contains(inst.results[s]);
      if (!stored) continue;
      Inst& read = stored_.emplace_back();
      read.op = Op::Index;
      read.args = {inst.results[s]};
      read.subs = ir::AffineSpan(r.out);
      places_.emplace(inst.results[k], Searched{&inst, k, &read, extremum, false, {}});
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
        Inst* const last = searched->added     ? SumOf(each, k, *searched, place)
                           : searched->clipped ? &each.body[k]
                                               : EndOf(each, k, searched->chain);
        const bool asks =
            last && (!searched->clipped || signs_.AsksForSign(each, last->results[0]));
        if (!asks) continue;
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
  // The sum of what instruction k reads and what was added where it was searched, as it is at `place`; nullptr: there is none.
  Inst* SumOf(Each& each, size_t k, const Searched& s, const Inst& place) const {
    const Inst& read = each.body[k];
    const auto is_it = [&](const Inst& sum) {
      if (sum.op != Op::Add || sum.guard != read.guard) return false;
      const bool first = sum.args[0] == read.results[0];
      if (!first && sum.args[1] != read.results[0]) return false;
      const Inst* other = FindDef(each, sum.args[first ? 1 : 0]);
      return other && other->op == Op::Index && other->args == s.added->args &&
             other->subs == AtPlace(s, s.added->subs, place);
    };
    const auto sum = std::find_if(each.body.begin(), each.body.end(), is_it);
    const auto uses = std::count_if(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      return std::find(inst.args.begin(), inst.args.end(), read.results[0]) != inst.args.end();
    });
    return sum == each.body.end() || uses != 1 ? nullptr : &*sum;
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
    const Each& search = *s.search->each;
    if (!ir::OnlyIndexReduced(search, search.results[s.result]) || read.args != s.read->args)
      return false;
    return AtPlace(s, s.read->subs, place) == read.subs;
  }
  // Subscripts of the search, where it has found something.
  template <typename Subs>
  Subs AtPlace(const Searched& s, Subs subs, const Inst& place) const {
    const Each& search = *s.search->each;
    const EachResult& r = search.results[s.result];
    const size_t searched = *ir::OnlyIndexReduced(search, r);
    for (Affine& sub : subs) {
      sub = sub.Substitute(search.indices[searched].var, Affine::Of(place.results[0]));
      for (size_t k = 0; k < r.out.size(); ++k)
        sub = sub.Substitute(r.out[k].AsValue(), place.subs[k]);
    }
    return subs;
  }

  ir::Function& f_;
  const SignTests signs_;
  const ir::OwnArrays own_;
  StatementTexts texts_;
  const ir::Dominators dominators_;
  uint32_t block_ = 0;  // that is visited
  // By what they are of, with the block that each is in.
  std::map<std::string, std::vector<std::pair<Value, uint32_t>>> extrema_;
  std::multimap<Value, Searched> places_;  // by their array: what reads it has all of that
  std::set<Value> large_;                  // arrays
  std::deque<Inst> stored_;                // how what is searched would be read
};

}  // namespace

bool ReadExtrema(ir::Function& f) { return ExtremaReader(f).Run(); }

}  // namespace pullback::tensor
