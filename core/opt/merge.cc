// Two statements over one space that alone read an array which a third one makes become one statement: the array
// then has one reader, into which FuseReads puts what makes it, and nothing is stored or computed twice. (The value of a
// loss and its gradient: dF~'s NNMF.)
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/ir/op_weight.h"
#include "core/opt/pointwise.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMaxMerged = 100;
constexpr size_t kMostApart = 200;  // instructions that are looked at between the two

class Merger {
 public:
  Merger(ir::Function& f, const RewriteOptions& options)
      : f_(f), options_(options), uses_(f.values.size()) {
    const auto count = [&](Value v) { ++uses_[v.id]; };
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) ir::ForEachOperand(inst, count);
      ir::ForEachTermOperand(b.term, count);
    }
  }

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) changed |= RunOn(b.insts);
    return changed;
  }
  bool RunOnProducers() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) changed |= MergeProducers(b.insts);
    return changed;
  }

 private:
  bool RunOn(std::vector<Inst>& insts) {
    std::map<Value, std::vector<size_t>> readers;  // by array that a producer makes
    for (size_t k = 0; k < insts.size(); ++k) {
      ir::ForEachOperand(insts[k], [&](Value v) {
        const auto it = readers.find(v);
        if (it != readers.end() && (it->second.empty() || it->second.back() != k))
          it->second.push_back(k);
      });
      if (IsProducer(insts[k])) readers[insts[k].results[0]];
    }
    place_.resize(insts.size());
    std::iota(place_.begin(), place_.end(), size_t{0});
    bool changed = false;
    for (const auto& [array, at] : readers) {
      if (at.size() != 2) continue;
      const size_t a = PlaceOf(at[0]), b = PlaceOf(at[1]);
      changed |= a != b && Merge(insts, std::min(a, b), std::max(a, b), array);
    }
    if (changed) DropMerged(insts);
    return changed;
  }
  // Statements with the earlier ones, calling functions (those of the math table too), whose elements they read.
  bool MergeProducers(std::vector<Inst>& insts) {
    std::map<Value, size_t>
        makers;  // the statement that stores an array in the order of its points
    place_.resize(insts.size());
    std::iota(place_.begin(), place_.end(), size_t{0});
    bool changed = false;
    for (size_t k = 0; k < insts.size(); ++k) {
      if (!insts[k].each) continue;
      std::set<size_t> producers;
      ir::ForEachOperand(insts[k], [&](Value v) {
        if (const auto it = makers.find(v); it != makers.end()) producers.insert(it->second);
      });
      for (size_t p : producers) {
        const size_t at = PlaceOf(k), from = PlaceOf(p);
        changed |= from < at && MergeWithProducer(insts, from, at);
      }
      const Inst& here = insts[PlaceOf(k)];
      const bool calls = std::any_of(here.each->body.begin(), here.each->body.end(), ir::IsDear);
      for (size_t r = 0; calls && r < here.results.size(); ++r) {
        if (IsStoredInPlace(*here.each, here.each->results[r])) makers[here.results[r]] = k;
      }
    }
    if (changed) DropMerged(insts);
    return changed;
  }

  static bool IsStoredInPlace(const Each& each, const ir::EachResult& r) {
    if (r.monoid != ir::Monoid::kGen || r.into.valid() || r.out.size() != each.indices.size())
      return false;
    for (size_t k = 0; k < r.out.size(); ++k) {
      if (r.out[k].AsValue() != each.indices[k].var) return false;
      if (r.shape[k] != each.indices[k].extent) return false;
    }
    return !r.guard.valid() ||
           std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
             return inst.guard == r.guard && std::find(inst.results.begin(), inst.results.end(),
                                                       r.value) != inst.results.end();
           });
  }

  // insts[second] reads results of insts[first].
  bool MergeWithProducer(std::vector<Inst>& insts, size_t first, size_t second) {
    Inst &a = insts[first], &b = insts[second];
    if (second - first > kMostApart || !SameSpace(*a.each, *b.each)) return false;
    if (a.each->body.size() + b.each->body.size() > kMaxMerged) return false;
    if (HasScan(*a.each) || HasScan(*b.each)) return false;
    if (CallsMath(*a.each) && PlacesByData(*b.each)) return false;
    std::map<Value, Value> elements;  // by array
    for (size_t r = 0; r < a.results.size(); ++r) {
      if (Reads(b, a.results[r]) == 0) continue;
      if (!IsStoredInPlace(*a.each, a.each->results[r]) || !ReadsInPlace(*b.each, a.results[r]))
        return false;
      elements[a.results[r]] = a.each->results[r].value;
    }
    for (const ir::EachResult& r : b.each->results) {
      if (r.into.valid() && elements.contains(r.into)) return false;
    }
    const bool at_first = !DependsOnAny(b, insts, first + 1, second);
    if (!at_first && IsReadIn(a, insts, first + 1, second)) return false;
    if (!options_.Take(RuleId::kMergeIntoProducer)) return false;
    if (at_first) {
      Join(a, std::move(b));
      place_[second] = first;
    } else {
      Inst moved = std::move(a);
      Join(moved, std::move(b));
      insts[second] = std::move(moved);
      place_[first] = second;
    }
    ReadElements(insts[PlaceOf(first)], elements);
    return true;
  }

  // Reads of arrays at the statement's own point become the values that it stores there.
  static void ReadElements(Inst& statement, const std::map<Value, Value>& elements) {
    std::map<Value, Value> values;
    std::erase_if(statement.each->body, [&](const Inst& inst) {
      if (inst.op != Op::Index || !elements.contains(inst.args[0])) return false;
      values[inst.results[0]] = elements.at(inst.args[0]);
      return true;
    });
    ir::ForEachOperand(statement, [&](Value& v) {
      if (const auto it = values.find(v); it != values.end()) v = it->second;
    });
    for (Inst& inst : statement.each->body) ir::CanonicaliseAffines(inst);
    for (ir::EachResult& r : statement.each->results) {
      for (ir::Affine& out : r.out) ir::Canonicalise(out);
    }
  }

  void DropMerged(std::vector<Inst>& insts) {
    size_t kept = 0;
    for (size_t k = 0; k < insts.size(); ++k) {
      if (place_[k] == k && kept++ != k) insts[kept - 1] = std::move(insts[k]);
    }
    insts.resize(kept);
  }
  // Where the text of the k-th instruction is by now.
  size_t PlaceOf(size_t k) const {
    while (place_[k] != k) k = place_[k];
    return k;
  }

  // Of an array that has an element for each point, and others too perhaps.
  static bool IsProducer(const Inst& inst) {
    if (!inst.each || inst.results.size() != 1 || !inst.each->where.empty()) return false;
    const ir::EachResult& r = inst.each->results[0];
    return IsPointwise(*inst.each, r) && inst.each->body.size() <= kMaxMerged &&
           std::none_of(r.out.begin(), r.out.end(),
                        [&](const ir::Affine& a) { return IsOutside(*inst.each, a); });
  }

  static int Reads(const Inst& inst, Value array) {
    int reads = 0;
    ir::ForEachOperand(inst, [&](Value v) { reads += v == array; });
    return reads;
  }
  // All its reads are of the element at the statement's own point.
  static bool ReadsInPlace(const Each& each, Value array) {
    return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      if (std::find(inst.args.begin(), inst.args.end(), array) == inst.args.end()) return true;
      if (inst.op != Op::Index || inst.guard.valid() || inst.subs.size() != each.indices.size())
        return false;
      for (size_t k = 0; k < inst.subs.size(); ++k) {
        if (inst.subs[k].AsValue() != each.indices[k].var) return false;
      }
      return true;
    });
  }
  static bool SameSpace(const Each& a, const Each& b) {
    return a.where.empty() && b.where.empty() &&
           std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end(),
                      [](const auto& x, const auto& y) { return x.extent == y.extent; });
  }

  bool Merge(std::vector<Inst>& insts, size_t first, size_t second, Value array) {
    Inst &a = insts[first], &b = insts[second];
    if (second - first > kMostApart) return false;
    if (!a.each || !b.each || !SameSpace(*a.each, *b.each)) return false;
    if (a.each->body.size() + b.each->body.size() > kMaxMerged) return false;
    if (!ReadsInPlace(*a.each, array) || !ReadsInPlace(*b.each, array)) return false;
    if (Reads(a, array) + Reads(b, array) != uses_[array.id]) return false;  // another block's
    if (HasScan(*a.each) || HasScan(*b.each)) return false;
    // b moves to a, or a to b, with nothing in between that it needs or that needs it.
    const bool at_first = !DependsOnAny(b, insts, first, second);
    if (!at_first && IsReadIn(a, insts, first + 1, second + 1)) return false;
    if (!options_.Take(RuleId::kMergeReaders)) return false;
    if (at_first) {
      Join(a, std::move(b));
      place_[second] = first;
    } else {
      Inst moved = std::move(a);
      Join(moved, std::move(b));
      insts[second] = std::move(moved);
      place_[first] = second;
    }
    return true;
  }
  static bool HasScan(const Each& each) {
    return std::any_of(each.results.begin(), each.results.end(),
                       [](const ir::EachResult& r) { return ir::IsScan(r.monoid); });
  }
  // Whether `inst` reads what insts[begin, end) define.
  static bool DependsOnAny(const Inst& inst, const std::vector<Inst>& insts, size_t begin,
                           size_t end) {
    std::set<Value> made;
    for (size_t k = begin; k < end; ++k)
      made.insert(insts[k].results.begin(), insts[k].results.end());
    bool any = false;
    ir::ForEachOperand(inst, [&](Value v) { any |= made.contains(v); });
    return any;
  }
  static bool IsReadIn(const Inst& inst, const std::vector<Inst>& insts, size_t begin, size_t end) {
    return std::any_of(insts.begin() + static_cast<long>(begin),
                       insts.begin() + static_cast<long>(end), [&](const Inst& other) {
                         return std::any_of(inst.results.begin(), inst.results.end(),
                                            [&](Value v) { return Reads(other, v) != 0; });
                       });
  }

  // b's body and results behind a's, over a's indices.
  static void Join(Inst& a, Inst b) {
    std::map<Value, Value> index;
    for (size_t k = 0; k < a.each->indices.size(); ++k)
      index[b.each->indices[k].var] = a.each->indices[k].var;
    b.each->indices.clear();
    ir::ForEachOperand(b, [&](Value& v) {
      if (const auto it = index.find(v); it != index.end()) v = it->second;
    });
    for (Inst& body : b.each->body) {
      ir::CanonicaliseAffines(body);
      a.each->body.push_back(std::move(body));
    }
    for (ir::EachResult& r : b.each->results) {
      for (ir::Affine& out : r.out) ir::Canonicalise(out);
      r.loc = ir::LocOfOut(b, r);
      a.each->results.push_back(std::move(r));
    }
    a.results.insert(a.results.end(), b.results.begin(), b.results.end());
  }

  ir::Function& f_;
  const RewriteOptions& options_;
  std::vector<int> uses_;
  std::vector<size_t>
      place_;  // of each instruction, in the block that is looked at; another one's if it was joined
};

}  // namespace

bool MergeIntoProducers(ir::Function& f, const RewriteOptions& options) {
  if (!Merger(f, options).RunOnProducers()) return false;
  EliminateCommonSubexpressions(f, options);
  EliminateDeadCode(f, options);
  return true;
}

bool MergeReaders(ir::Function& f, const RewriteOptions& options) {
  if (!Merger(f, options).Run()) return false;
  EliminateCommonSubexpressions(f, options);  // its two reads become one,
  EliminateDeadCode(f, options);              // which FuseReads counts
  return true;
}

}  // namespace pullback::opt
