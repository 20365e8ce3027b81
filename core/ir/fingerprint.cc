#include "core/ir/fingerprint.h"

#include <functional>

namespace pullback::ir {
namespace {

class Hasher {
 public:
  uint64_t hash() const { return hash_; }

  void Add(uint64_t word) {  // the halves of a product of 128 bits
    const auto product = static_cast<unsigned __int128>(hash_ ^ word) * 0x9e3779b97f4a7c15;
    hash_ = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  void Add(uint32_t low, uint32_t high) { Add(low | uint64_t{high} << 32); }
  void Add(ValueSpan values) {
    Add(values.size());
    AddItems(values);
  }
  void AddItems(ValueSpan values) {  // of a list whose size is known
    size_t k = 0;
    for (; k + 1 < values.size(); k += 2) Add(values[k].id, values[k + 1].id);
    if (k < values.size()) Add(uint64_t{values[k].id});
  }
  void Add(Type t) {
    Add(static_cast<uint32_t>(t.kind) | static_cast<uint32_t>(t.elem) << 8 |
            static_cast<uint32_t>(t.rank) << 16,
        t.record);
  }
  void Add(const Affine& a) {
    Add(static_cast<uint64_t>(a.constant));
    Add(a.terms.size());
    for (const Affine::Term& t : a.terms) {
      Add(uint64_t{t.value.id});
      Add(static_cast<uint64_t>(t.coeff));
    }
  }
  void Add(AffineSpan affines) {
    Add(affines.size());
    for (const Affine& a : affines) Add(a);
  }
  void Add(ConstraintSpan constraints) {
    Add(constraints.size());
    for (const Constraint& c : constraints) {
      Add(uint64_t{c.equality});
      Add(c.e);
    }
  }

  void Add(const Inst& inst) {
    const bool rare =
        inst.each || !inst.subs.empty() || !inst.constraints.empty() || !inst.wrt.empty();
    Add(static_cast<uint32_t>(inst.op) | static_cast<uint32_t>(inst.checkpoint) << 8 |
            static_cast<uint32_t>(rare) << 9,
        inst.callee);
    Add(static_cast<uint32_t>(inst.args.size()), static_cast<uint32_t>(inst.results.size()));
    AddItems(inst.args);
    AddItems(inst.results);
    Add(inst.bits);
    Add(inst.guard.id, inst.loc);
    if (!rare) return;
    Add(inst.wrt.size());
    for (bool w : inst.wrt) Add(uint64_t{w});
    Add(AffineSpan(inst.subs));
    Add(ConstraintSpan(inst.constraints));
    Add(uint64_t{inst.each != nullptr});
    if (inst.each) Add(*inst.each);
  }

  void Add(const Each& each) {
    Add(each.indices.size());
    for (const IndexVar& i : each.indices) Add(i.var.id, i.extent.id);
    Add(ConstraintSpan(each.where));
    Add(each.body.size());
    for (const Inst& inst : each.body) Add(inst);
    Add(each.results.size());
    for (const EachResult& r : each.results) {
      Add(static_cast<uint32_t>(r.monoid), r.outer);
      Add(uint64_t{r.inner});
      Add(AffineSpan(r.out));
      Add(ValueSpan(r.shape));
      Add(r.value.id, r.guard.id);
      Add(r.second.id, r.into.id);
      Add(uint64_t{r.loc});
    }
  }

  void Add(const Block& block) {
    Add(ValueSpan(block.params));
    Add(block.insts.size());
    for (const Inst& inst : block.insts) Add(inst);
    const Terminator& t = block.term;
    Add(static_cast<uint64_t>(t.kind));
    Add(t.cond.id, t.snapshots.id);
    Add(t.edges.size());
    for (const Edge& e : t.edges) {
      Add(uint64_t{e.block});
      Add(ValueSpan(e.args));
    }
    Add(ValueSpan(t.results));
  }

  void Add(const Function& f) {
    Add(f.vjp_rule, f.jvp_rule);
    Add(f.results.size());
    for (Type t : f.results) Add(t);
    Add(f.values.size());
    for (Type t : f.values) Add(t);
    Add(f.blocks.size());
    for (const Block& b : f.blocks) Add(b);
  }

  void Add(const Record& record) {
    const std::hash<std::string> hash;
    Add(hash(record.name));
    Add(record.field_names.size());
    for (const std::string& name : record.field_names) Add(hash(name));
    Add(record.fields.size());
    for (Type t : record.fields) Add(t);
  }

 private:
  uint64_t hash_ = 0x243f6a8885a308d3;  // not 0, which zeros would not change
};

}  // namespace

uint64_t Fingerprint(const Function& f) {
  Hasher hasher;
  hasher.Add(f);
  return hasher.hash();
}

uint64_t Fingerprint(const Module& m) {
  Hasher hasher;
  hasher.Add(uint64_t{m.entry});
  hasher.Add(m.records.size());
  for (const Record& r : m.records) hasher.Add(r);
  hasher.Add(m.functions.size());
  for (const auto& f : m.functions) hasher.Add(*f);
  return hasher.hash();
}

}  // namespace pullback::ir
