#include "core/ad/batched_values.h"

#include "core/ad/batch_lists.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// The values of one function, given what calls give.
class Spreader {
 public:
  using SignatureOf =
      std::function<const BatchedValues::Signature&(uint32_t, const std::vector<bool>&)>;

  Spreader(const ir::Module& module, const ir::Function& f, const std::vector<bool>& params,
           SignatureOf signature_of)
      : module_(module), f_(f), signature_of_(std::move(signature_of)), batched_(f.values.size()) {
    for (size_t k = 0; k < params.size(); ++k) batched_[f.params()[k].id] = params[k];
  }

  std::vector<bool> Run() {
    do {
      changed_ = false;
      for (const ir::Block& b : f_.blocks) {
        for (const Inst& inst : b.insts) Visit(inst);
        for (const ir::Edge& e : b.term.edges) Visit(e);
      }
      for (size_t r = 0; r < f_.results.size(); ++r) {
        if (f_.results[r].IsTape()) JoinReturned(r);
      }
    } while (changed_);
    return std::move(batched_);
  }

 private:
  void Set(Value v, bool batched = true) {
    if (!batched || batched_[v.id]) return;
    batched_[v.id] = true;
    changed_ = true;
  }
  bool Any(const Inst& inst) const {
    bool any = false;
    ir::ForEachOperand(inst, [&](Value v) { any |= batched_[v.id]; });
    return any;
  }

  void Visit(const Inst& inst) {
    if (inst.each) return VisitEach(inst);
    switch (inst.op) {
      case Op::Dim:
      case Op::ListLen: return;
      case Op::Call: return VisitCall(inst);
      case Op::Push:
        Set(inst.results[0], batched_[inst.args[0].id] || batched_[inst.args[1].id]);
        return Set(inst.args[0], batched_[inst.results[0].id]);
      case Op::Pop:
        for (Value v : inst.results) Set(v, batched_[inst.args[0].id]);
        return Set(inst.args[0], batched_[inst.results[0].id]);
      default: break;
    }
    const bool any = Any(inst), lists = IsOnLists(inst.op);
    for (Value v : inst.results)  // other fields of a list are those of all seeds
      Set(v, any && (!lists || ir::CarriesTangent(module_, f_.TypeOf(v))));
  }

  void VisitEach(const Inst& inst) {
    for (const Inst& body : inst.each->body) {
      const bool any = Any(body);
      for (Value v : body.results) Set(v, any);
    }
    for (size_t k = 0; k < inst.results.size(); ++k)
      Set(inst.results[k], IsBatched(inst.each->results[k]));
  }

  bool IsBatched(const ir::EachResult& r) const {
    bool any = false;
    const auto look = [&](Value v) { any |= v.valid() && batched_[v.id]; };
    for (const ir::Affine& a : r.out) ir::ForEachOperand(a, look);
    for (Value v : {r.value, r.guard, r.second, r.into}) look(v);
    return any;
  }

  void VisitCall(const Inst& inst) {
    std::vector<bool> args;
    for (Value v : inst.args) args.push_back(batched_[v.id]);
    const BatchedValues::Signature& callee = signature_of_(inst.callee, args);
    for (size_t k = 0; k < inst.args.size(); ++k) Set(inst.args[k], callee.params[k]);
    for (size_t k = 0; k < inst.results.size(); ++k) Set(inst.results[k], callee.results[k]);
  }

  void Visit(const ir::Edge& e) {
    for (size_t k = 0; k < e.args.size(); ++k) {
      const Value param = f_.blocks[e.block].params[k];
      Set(param, batched_[e.args[k].id]);
      if (f_.TypeOf(param).IsTape()) Set(e.args[k], batched_[param.id]);
    }
  }

  // All returns give one kind of tape.
  void JoinReturned(size_t r) {
    bool any = false;
    const auto for_each = [&](const auto& fn) {
      for (const ir::Block& b : f_.blocks) {
        if (b.term.kind == ir::Terminator::Kind::kReturn) fn(b.term.results[r]);
      }
    };
    for_each([&](Value v) { any |= batched_[v.id]; });
    for_each([&](Value v) { Set(v, any); });
  }

  const ir::Module& module_;
  const ir::Function& f_;
  const SignatureOf signature_of_;
  std::vector<bool> batched_;
  bool changed_ = false;
};

}  // namespace

// What is known so far, which grows.
const BatchedValues::Signature& BatchedValues::Known(uint32_t f, const std::vector<bool>& params) {
  const auto [it, fresh] = signatures_.try_emplace({f, params});
  if (fresh) {
    it->second = {params, std::vector<bool>(module_.Get(f).results.size())};
    grown_ = true;
  }
  return it->second;
}

std::vector<bool> BatchedValues::Spread(const Key& key) {
  return Spreader(module_, module_.Get(key.first), key.second,
                  [this](uint32_t g, const std::vector<bool>& args) -> const Signature& {
                    return Known(g, args);
                  })
      .Run();
}

BatchedValues::Signature BatchedValues::Of(uint32_t f, const std::vector<bool>& params) {
  Known(f, params);
  while (grown_) {
    grown_ = false;
    for (auto& [key, signature] :
         signatures_) {  // those that are added meanwhile may be visited or not
      const ir::Function& g = module_.Get(key.first);
      const std::vector<bool> batched = Spread(key);
      Signature now = signature;
      for (size_t k = 0; k < now.params.size(); ++k) now.params[k] = batched[g.params()[k].id];
      for (const ir::Block& b : g.blocks) {
        for (size_t k = 0; k < b.term.results.size(); ++k)
          now.results[k] = now.results[k] || batched[b.term.results[k].id];
      }
      grown_ |= now != signature;
      signature = std::move(now);
    }
  }
  return Known(f, params);
}

std::vector<bool> BatchedValues::In(uint32_t f, const std::vector<bool>& params) {
  Of(f, params);
  return Spread({f, params});
}

}  // namespace pullback::ad
