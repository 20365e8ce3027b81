// Of two matrices that one statement makes, and of which one is the other's negative, one is enough: the cotangents of both
// sides of a difference. Sums over products with the other are the negatives of sums over products with it.
//
//   %a, %b = each(i, j) { … %n = neg %t } gen [i, j]: %n, gen [i, j]: %t
//   %c = each(i, l, j) { %p = index %a[i, j] … %v = mul %p, %q } sum [i, l] of (%n, %k): %v
//
//   %b = each(i, j) { … } gen [i, j]: %t
//   %s = each(i, l, j) { %p = index %b[i, j] … %v = mul %p, %q } sum [i, l] of (%n, %k): %v
//   %c = each(i, l) { %u = index %s[i, l]  %w = neg %u } gen [i, l] of (%n, %k): %w
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/tuple_arrays.h"

namespace pullback::tensor {
namespace {

using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

// Whether `negative` gives, at each point, the negative of what `other` gives.
bool IsNegativeOf(const Each& each, const EachResult& negative, const EachResult& other) {
  const bool adds = negative.monoid == ir::Monoid::kSum || negative.monoid == ir::Monoid::kGen;
  if (!adds || negative.monoid != other.monoid || negative.into.valid() || other.into.valid() ||
      negative.out != other.out || negative.shape != other.shape || negative.guard != other.guard)
    return false;
  const Inst* def = FindDef(each, negative.value);
  if (!def || def->op != Op::Neg || def->args[0] != other.value) return false;
  const Inst* of = FindDef(each, other.value);
  return !def->guard.valid() || (of && of->guard == def->guard);
}

class Negatives {
 public:
  explicit Negatives(ir::Function& f) : f_(f) {}

  bool Run() {
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        if (inst.each && inst.results.size() > 1) Visit(inst);
      }
    }
    if (gone_.empty()) return false;
    for (ir::Block& b : f_.blocks) Rewrite(b);
    return true;
  }

 private:
  void Visit(const Inst& inst) {
    if (changed_.contains(inst.each.get())) return;
    const auto& results = inst.each->results;
    for (size_t a = 0; a < results.size(); ++a) {
      for (size_t b = 0; b < results.size(); ++b) {
        if (a == b || !IsNegativeOf(*inst.each, results[a], results[b])) continue;
        if (Replace(inst, a, b) || Replace(inst, b, a)) return;
      }
    }
  }

  // Whether all that read result `gone` can read result `kept`; notes it.
  bool Replace(const Inst& inst, size_t gone, size_t kept) {
    const Value array = inst.results[gone];
    if (f_.TypeOf(array).rank < 2) return false;
    if (!reads_) reads_.emplace(f_);
    if (!reads_->OnlyByStatements(array)) return false;
    std::set<const Each*> readers;
    size_t in_place = 0;
    for (const ArrayReads::Read& read : reads_->Of(array)) {
      if (!readers.insert(read.statement).second) continue;
      if (changed_.contains(read.statement)) return false;
      if (AddsUp(*read.statement, array)) continue;
      if (++in_place > 1 || read.statement->indices.size() > f_.TypeOf(array).rank) return false;
    }
    gone_[array] = inst.results[kept];
    changed_.insert(inst.each.get());
    for (const Each* reader : readers) {
      changed_.insert(reader);
      read_by_[reader] = array;
    }
    return true;
  }

  // Whether each result is a sum of products with the array's elements that has less elements than these are, or has
  // nothing to do with them.
  bool AddsUp(const Each& each, Value array) const {
    const Inst* read = OnlyReadOf(each, array);
    return read && std::all_of(each.results.begin(), each.results.end(), [&](const EachResult& r) {
             return IsApartFrom(each, r, read->results[0]) ||
                    IsSumOf(each, r, read->results[0], f_.TypeOf(array).rank);
           });
  }
  static bool IsApartFrom(const Each& each, const EachResult& r, Value read) {
    return IsApart(each, r.value, read) && (!r.second.valid() || IsApart(each, r.second, read)) &&
           IsPlacedApartFrom(each, r, read);
  }
  static bool IsSumOf(const Each& each, const EachResult& r, Value read, size_t rank) {
    return r.monoid == ir::Monoid::kSum && !r.into.valid() && r.out.size() <= rank &&
           r.out.size() < each.indices.size() && IsLinearIn(each, r.value, read) &&
           IsPlacedApartFrom(each, r, read);
  }
  // Whether points have terms, and where they go, whatever the element is.
  static bool IsPlacedApartFrom(const Each& each, const EachResult& r, Value read) {
    const auto apart = [&](const ir::Affine& a) {
      return std::all_of(a.terms.begin(), a.terms.end(),
                         [&](const ir::Affine::Term& t) { return IsApart(each, t.value, read); });
    };
    return (!r.guard.valid() || IsApart(each, r.guard, read)) &&
           std::all_of(r.out.begin(), r.out.end(), apart);
  }

  void Rewrite(ir::Block& b) {
    std::vector<Inst> all;
    for (Inst& inst : b.insts) {
      std::vector<Inst> after;
      if (inst.each && changed_.contains(inst.each.get())) {
        const auto read = read_by_.find(inst.each.get());
        if (read != read_by_.end()) ReadOther(inst, read->second, after);
        Drop(inst);
      }
      all.push_back(std::move(inst));
      std::move(after.begin(), after.end(), std::back_inserter(all));
    }
    b.insts = std::move(all);
  }

  void Drop(Inst& inst) {
    for (size_t k = inst.results.size(); k-- > 0;) {
      if (!gone_.contains(inst.results[k])) continue;
      inst.results.erase(inst.results.begin() + static_cast<std::ptrdiff_t>(k));
      inst.each->results.erase(inst.each->results.begin() + static_cast<std::ptrdiff_t>(k));
    }
    PruneBody(*inst.each);
  }

  void ReadOther(Inst& reader, Value array, std::vector<Inst>& after) {
    Each& each = *reader.each;
    const Value kept = gone_.at(array);
    if (!AddsUp(each, array)) {
      NegateReads(each, array, kept);
      return;
    }
    const Value read = OnlyReadOf(each, array)->results[0];
    for (size_t k = 0; k < each.results.size(); ++k) {
      if (IsApartFrom(each, each.results[k], read)) continue;
      const Value negative = reader.results[k];
      reader.results[k] = f_.NewLike(f_, negative);
      after.push_back(Negate(reader.results[k], negative, each.results[k], reader.loc));
    }
    ReplaceValues(reader, {{array.id, kept}});
  }

  void NegateReads(Each& each, Value array, Value kept) {
    std::vector<Inst> body;
    for (Inst& inst : each.body) {
      const bool reads = inst.op == Op::Index && inst.args[0] == array;
      if (!reads) {
        body.push_back(std::move(inst));
        continue;
      }
      Inst negate;
      negate.op = Op::Neg;
      negate.guard = inst.guard;
      negate.results = inst.results;
      inst.args[0] = kept;
      inst.results = {f_.NewLike(f_, inst.results[0])};
      negate.args = inst.results;
      body.push_back(std::move(inst));
      body.push_back(std::move(negate));
    }
    each.body = std::move(body);
  }

  // `negative` = -`sums`, which has the shape of r.
  Inst Negate(Value sums, Value negative, const EachResult& r, uint32_t loc) {
    Inst negate;
    negate.op = Op::Neg;
    negate.args = {sums};
    negate.results = {negative};
    if (r.shape.empty()) return negate;
    Inst statement, read;
    statement.op = Op::Each;
    statement.loc = loc;
    statement.results = {negative};
    statement.each = std::make_unique<Each>();
    EachResult gen;
    gen.shape = r.shape;
    ir::Affines subs;
    for (const Value extent : r.shape) {
      const Value index = f_.NewValue(ir::Type::I64());
      statement.each->indices.push_back({index, extent});
      gen.out.push_back(ir::Affine::Of(index));
    }
    subs = gen.out;
    const ir::Type element = f_.TypeOf(sums).Element();
    read.op = Op::Index;
    read.args = {sums};
    read.subs = ir::AffineSpan(subs);
    read.results = {f_.NewValue(element)};
    negate.args = read.results;
    negate.results = {f_.NewValue(element)};
    gen.value = negate.results[0];
    statement.each->body.push_back(std::move(read));
    statement.each->body.push_back(std::move(negate));
    statement.each->results.push_back(std::move(gen));
    return statement;
  }

  ir::Function& f_;
  std::optional<ArrayReads> reads_;       // of the function before it changes
  std::map<Value, Value> gone_;           // arrays, with the one that is read instead
  std::map<const Each*, Value> read_by_;  // which of them a statement reads
  std::set<const Each*> changed_;         // statements that make or read them
};

}  // namespace

bool ShareNegatives(ir::Function& f) { return Negatives(f).Run(); }

}  // namespace pullback::tensor
