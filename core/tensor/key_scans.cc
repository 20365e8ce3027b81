// Products in front of each factor, over an index set that data says, are kept for the factors alone: the gradient of
// prod i < n { if k[i] == j { x[i] } else { 1.0 } } reads its scans over all pairs [j, i] where j is k[i]. One walk
// over i with a product for each j makes these in O(n + m) for O(n * m), in the same order, and a factor of 1 that is
// not multiplied by changes nothing.
//
//   %s = each(j < %m, i < %n) { … select %k[i] == %j, %x[i], 1.0 } scan_prod 1 [%j, %i] of (%m, %n)
//   … index %s[%key, %i] if 0 <= %key < %m …                         // %key = index %k[%i]
//
//   %keys, %factors = each(i < %n) { … }                            // %k[i] + 1, or 0 where that is no j
//   %t = call @products_by_key(%keys, %factors, %m)
//   … index %t[%i] …
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/ir/builder.h"
#include "core/tensor/equalities.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Builder;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Type;
using ir::Value;

// (keys, factors, m): before each factor, the product of those in front of it that have its key. A key k > 0 is one of m,
// 0 is none.
uint32_t AddProductsByKey(ir::Module& m, DType type) {
  const uint32_t made = m.AddFunction("products_by_key");
  ir::Function& f = m.Get(made);
  const Type array = Type::Array(type, 1);
  f.results = {array};
  Builder b(m, f);
  const uint32_t entry = b.NewBlock(), head = b.NewBlock(), look = b.NewBlock(),
                 multiply = b.NewBlock(), next = b.NewBlock(), end = b.NewBlock();
  const Value keys = b.AddParam(entry, Type::Array(DType::kI64, 1), "keys");
  const Value factors = b.AddParam(entry, array, "factors");
  const Value count = b.AddParam(entry, Type::I64(), "m");
  const Value i = b.AddParam(head, Type::I64(), "i");
  const Value states = b.AddParam(head, array, "states"),
              before = b.AddParam(head, array, "before");
  const Value next_states = b.AddParam(next, array), next_before = b.AddParam(next, array);
  b.SetBlock(entry);
  const Value n = b.Dim(keys, 0);
  const Value j = b.BeginEach({count}, {"j"})[0];
  ir::EachResult ones;
  ones.out = {Affine::Of(j)};
  ones.shape = {count};
  ones.value = b.One(Type::Scalar(type));
  const Value none = b.EndEach({ones})[0];
  b.Jump(head, {b.I64(0), none, b.Zeros(type, {n})});
  b.SetBlock(head);
  b.Branch(b.Make(Op::Lt, {i, n}), {look, {}}, {end, {}});
  b.SetBlock(look);
  const Value key = b.Index(keys, {Affine::Of(i)}, "key");
  b.Branch(b.Make(Op::Gt, {key, b.I64(0)}), {multiply, {}}, {next, {states, before}});
  b.SetBlock(multiply);
  const Affine at = Affine::Of(key) - Affine::Const(1);
  const Value state = b.Index(states, {at}, "state");
  const Value product = b.Make(Op::Mul, {state, b.Index(factors, {Affine::Of(i)})});
  const Value kept = b.Update(before, {Affine::Of(i)}, state);
  b.Jump(next, {b.Update(states, {at}, product), kept});
  b.SetBlock(next);
  b.Jump(head, {b.AffineOf(Affine::Of(i) + Affine::Const(1)), next_states, next_before});
  b.SetBlock(end);
  b.Return({before});
  return made;
}

// One scan over pairs, and where its keys are.
struct KeyedScan {
  const ir::Each* each = nullptr;
  Value condition;         // of the body: the row is the key
  Value data;              // the array of keys,
  Affine sub;              // which is read here, of the last index
  bool backwards = false;  // out[] runs down
};

class KeyScans {
 public:
  KeyScans(ir::Module& m, ir::Function& f, std::map<DType, uint32_t>& made)
      : m_(m), f_(f), made_(made) {}

  bool Run() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        if (std::optional<KeyedScan> scan = Recognise(inst)) scans_[inst.results[0]] = *scan;
      }
    }
    if (scans_.empty()) return false;
    LookAtUses();
    bool changed = false;
    for (ir::Block& b : f_.blocks) changed |= Replace(b);
    if (changed) ReplaceReads();
    return changed;
  }

 private:
  std::optional<KeyedScan> Recognise(const Inst& inst) const {
    if (!inst.each || inst.each->results.size() != 1) return std::nullopt;
    const ir::Each& each = *inst.each;
    const ir::EachResult& r = each.results[0];
    const bool pairs = r.monoid == Monoid::kScanProd && r.outer == 1 && each.indices.size() == 2 &&
                       each.where.empty() && !r.guard.valid() && r.out.size() == 2;
    if (!pairs) return std::nullopt;
    const auto& [rows, along] = std::pair(each.indices[0], each.indices[1]);
    KeyedScan scan;
    scan.each = &each;
    const Affine last = Affine::Of(along.extent) - Affine::Const(1) - Affine::Of(along.var);
    scan.backwards = r.out[1] == last;
    const bool covers = r.out[0].AsValue() == rows.var && r.shape[0] == rows.extent &&
                        r.shape[1] == along.extent &&
                        (scan.backwards || r.out[1].AsValue() == along.var);
    if (!covers) return std::nullopt;
    const Value condition = TermOf(each, f_, AsProduct(r)).guard;
    if (!condition.valid()) return std::nullopt;
    const std::set<Value> conditions = ConditionsOf(each, condition);
    for (const Equality& e : EqualitiesOf(each, f_)) {
      const Inst* key = e.index == 0 ? FindDef(each, e.e.AsValue()) : nullptr;
      const bool is_read = key && key->op == Op::Index && key->subs.size() == 1 &&
                           !key->guard.valid() && !FindDef(each, e.condition)->guard.valid() &&
                           conditions.contains(e.condition) &&
                           OnlyNames(key->subs[0], along.var, each);
      if (!is_read) continue;
      scan.condition = e.condition;
      scan.data = key->args[0];
      scan.sub = key->subs[0];
      return scan;
    }
    return std::nullopt;
  }

  static ir::EachResult AsProduct(ir::EachResult r) {
    r.monoid = Monoid::kProd;
    return r;
  }

  // Of what the statement defines.
  static bool OnlyNames(const Affine& a, Value index, const ir::Each& each) {
    return std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
      return t.value == index || (!FindDef(each, t.value) && !PlaceOfIndex(each, t.value));
    });
  }

  // A scan that somebody reads elsewhere than at its keys stays.
  void LookAtUses() {
    const auto leaves = [&](Value v) { scans_.erase(v); };
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        if (!inst.each) {
          ir::ForEachOperand(inst, leaves);
          continue;
        }
        for (const Inst& read : inst.each->body) {
          const auto scan = read.op == Op::Index ? scans_.find(read.args[0]) : scans_.end();
          if (scan != scans_.end() && !IsAtKey(*inst.each, read, scan->second))
            leaves(read.args[0]);
        }
        for (const ir::EachResult& r : inst.each->results) {
          if (r.into.valid()) leaves(r.into);
        }
      }
      ir::ForEachTermOperand(b.term, leaves);
    }
  }

  bool IsAtKey(const ir::Each& each, const Inst& read, const KeyedScan& scan) const {
    const ir::IndexVar along = scan.each->indices[1];
    const std::optional<size_t> place = PlaceOfIndex(each, read.subs[1].AsValue());
    const Inst* key = FindDef(each, read.subs[0].AsValue());
    if (!place || each.indices[*place].extent != along.extent || !key || key->op != Op::Index)
      return false;
    // Where its guard is false it is 0, whatever the data say.
    if (key->guard.valid() && !ConditionsOf(each, read.guard).contains(key->guard)) return false;
    return key->args[0] == scan.data &&
           key->subs[0] == scan.sub.Substitute(along.var, Along(scan, read.subs[1])) &&
           IsWithin(each, read.guard, read.subs[0], scan.each->indices[0].extent);
  }

  // The point of the walk that makes the element `at` of a row.
  static Affine Along(const KeyedScan& scan, const Affine& at) {
    if (!scan.backwards) return at;
    return Affine::Of(scan.each->indices[1].extent) - Affine::Const(1) - at;
  }

  bool Replace(ir::Block& b) {
    std::vector<Inst> out;
    bool changed = false;
    for (Inst& inst : b.insts) {
      const Value v = inst.results.empty() ? ir::kNoValue : inst.results[0];
      const auto scan = scans_.find(v);
      if (scan != scans_.end() && Walk(inst, scan->second, out)) {
        changed = true;
        continue;
      }
      out.push_back(std::move(inst));
    }
    b.insts = std::move(out);
    return changed;
  }

  // Keys and factors in the order of the walk, and the walk. False, and nothing done: the key cannot be looked up.
  bool Walk(const Inst& scan, const KeyedScan& how, std::vector<Inst>& out) {
    std::vector<Inst> parts;
    parts.push_back(KeysAndFactors(scan, how));
    LookUpIndicesOf(parts, f_);
    Inst& made = parts.back();
    if (made.each->indices.size() != 1 || made.results.size() != 2) return false;
    const Type type = f_.TypeOf(scan.results[0]);
    Inst call;
    call.op = Op::Call;
    call.loc = scan.loc;
    call.args = {made.results[0], made.results[1], scan.each->indices[0].extent};
    call.results = {f_.NewValue(Type::Array(type.elem, 1))};
    const auto [function, fresh] = made_.try_emplace(type.elem);
    if (fresh) function->second = AddProductsByKey(m_, type.elem);
    call.callee = function->second;
    walked_[scan.results[0]] = {call.results[0], how.backwards, scan.each->indices[1].extent};
    std::move(parts.begin(), parts.end(), std::back_inserter(out));
    out.push_back(std::move(call));
    return true;
  }

  // Under "the row is the key", by which the row is looked up. A factor that other conditions make 1 is one, too.
  Inst KeysAndFactors(const Inst& scan, const KeyedScan& how) {
    CopiedStatement copy = CopyStatement(scan, f_);
    ir::Each& each = *copy.inst.each;
    const ir::IndexVar along = each.indices[1];
    Inst key;
    key.op = Op::AffineOf;
    key.subs = {Affine::Of(each.indices[0].var) + Affine::Const(1)};
    key.results = {f_.NewValue(Type::I64(), "key")};
    key.guard = copy.fresh.at(how.condition.id);
    ir::EachResult keys, factors;
    keys.out = factors.out = {Affine::Of(along.var)};
    keys.shape = factors.shape = {along.extent};
    keys.guard = factors.guard = key.guard;
    keys.value = key.results[0];
    factors.value = each.results[0].value;
    each.body.push_back(std::move(key));
    each.results = {keys, factors};
    copy.inst.results = {f_.NewValue(Type::Array(DType::kI64, 1), "keys"),
                         f_.NewValue(Type::Array(f_.TypeOf(factors.value).elem, 1), "factors")};
    return std::move(copy.inst);
  }

  void ReplaceReads() {
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        if (!inst.each) continue;
        for (Inst& read : inst.each->body) {
          const auto walked = read.op == Op::Index ? walked_.find(read.args[0]) : walked_.end();
          if (walked == walked_.end()) continue;
          const auto& [array, backwards, extent] = walked->second;
          Affine at = read.subs[1];
          if (backwards) at = Affine::Of(extent) - Affine::Const(1) - at;
          read.args = {array};
          read.subs = {at};
        }
      }
    }
  }

  struct Walked {
    Value array;
    bool backwards;
    Value extent;
  };

  ir::Module& m_;
  ir::Function& f_;
  std::map<DType, uint32_t>& made_;
  std::map<Value, KeyedScan> scans_;
  std::map<Value, Walked> walked_;
};

}  // namespace

bool ScanByKeys(ir::Module& module) {
  std::map<DType, uint32_t> made;
  bool changed = false;
  for (size_t k = 0, count = module.functions.size(); k < count; ++k)
    changed |= KeyScans(module, module.Get(static_cast<uint32_t>(k)), made).Run();
  return changed;
}

}  // namespace pullback::tensor
