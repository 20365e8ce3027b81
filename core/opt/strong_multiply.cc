#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

// Every result sums over at least one index.
bool IsReduction(const Each& each) {
  return std::all_of(each.results.begin(), each.results.end(), [&](const ir::EachResult& r) {
    return r.monoid == ir::Monoid::kSum && r.out.size() < each.indices.size();
  });
}

bool IsOfNoFloat(const Inst& inst, const ir::Function& f) {
  return inst.results.size() == 1 && !f.TypeOf(inst.results[0]).IsFloat();
}

// Nothing but reads, at places that integers say, and their products.
bool IsContraction(const Each& each, const ir::Function& f) {
  return IsReduction(each) && std::all_of(each.body.begin(), each.body.end(), [&](const Inst& i) {
           return IsOfNoFloat(i, f) || i.op == Op::Index || i.op == Op::Mul || i.op == Op::SMul ||
                  i.op == Op::Neg || i.op == Op::Const || i.op == Op::Holds || i.op == Op::AffineOf;
         });
}

class Lowering {
 public:
  explicit Lowering(ir::Function& f) : f_(f), finite_(f.values.size()) {}

  void Run() {
    for (ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        NoteFinite(inst);
        if (!inst.each) continue;
        for (const Inst& body : inst.each->body) NoteFinite(body);
      }
    }
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        if (inst.each) Lower(inst.each->body, IsContraction(*inst.each, f_));
      }
      Lower(b.insts, false);
    }
  }

 private:
  // 0 times a finite factor is 0 by itself.
  void NoteFinite(const Inst& inst) {
    if (inst.op != Op::Const) return;
    const ir::Type t = f_.TypeOf(inst.results[0]);
    const bool is_double = t == ir::Type::F64() && std::isfinite(std::bit_cast<double>(inst.bits));
    const bool is_float = t == ir::Type::Scalar(DType::kF32) &&
                          std::isfinite(std::bit_cast<float>(static_cast<uint32_t>(inst.bits)));
    if (is_double || is_float) finite_[inst.results[0].id] = 1;
  }

  bool IsFinite(Value v) const { return v.id < finite_.size() && finite_[v.id] != 0; }

  void Lower(std::vector<Inst>& list, bool plain) {
    if (std::none_of(list.begin(), list.end(), [](const Inst& i) { return i.op == Op::SMul; }))
      return;
    std::vector<Inst> out;
    out.reserve(list.size());
    for (Inst& inst : list) {
      if (inst.op == Op::SMul) {
        if (plain || IsFinite(inst.args[1])) {
          inst.op = Op::Mul;
        } else {
          Guard(inst, out);
        }
      }
      out.push_back(std::move(inst));
    }
    list = std::move(out);
  }

  // Appends what the select needs, and makes `inst` the select.
  void Guard(Inst& inst, std::vector<Inst>& out) {
    const ir::Type type = f_.TypeOf(inst.results[0]);
    const Value zero = Append(out, inst, Op::Const, type, {});
    const Value is_zero = Append(out, inst, Op::Eq, ir::Type::Bool(), {inst.args[0], zero});
    const Value product = Append(out, inst, Op::Mul, type, inst.args);
    inst.op = Op::Select;
    inst.args = {is_zero, zero, product};
  }

  Value Append(std::vector<Inst>& out, const Inst& like, Op op, ir::Type type, ir::Values args) {
    Inst made;
    made.op = op;
    made.args = std::move(args);
    made.guard = like.guard;
    made.results = {f_.NewValue(type)};
    out.push_back(std::move(made));
    return out.back().results[0];
  }

  ir::Function& f_;
  std::vector<char> finite_;  // constants, by value
};

}  // namespace

Status LowerStrongMultiplies(ir::Module& module) {
  for (auto& f : module.functions) Lowering(*f).Run();
  return {};
}

}  // namespace pullback::opt
