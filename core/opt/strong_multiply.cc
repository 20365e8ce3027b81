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

bool IsInteger(const Inst& inst, const ir::Function& f) {
  return inst.results.size() == 1 && f.TypeOf(inst.results[0]) == ir::Type::I64();
}

// Nothing but reads, at places that integers say, and their products.
bool IsContraction(const Each& each, const ir::Function& f) {
  return IsReduction(each) && std::all_of(each.body.begin(), each.body.end(), [&](const Inst& i) {
           return IsInteger(i, f) || i.op == Op::Index || i.op == Op::Mul || i.op == Op::SMul ||
                  i.op == Op::Neg || i.op == Op::Const || i.op == Op::Holds || i.op == Op::AffineOf;
         });
}

// Whether data say where the terms go: some elements may have none.
bool IsScattered(const Each& each, const ir::EachResult& r) {
  const auto says = [&](Value v) {
    return std::any_of(r.out.begin(), r.out.end(),
                       [&](const ir::Affine& sub) { return sub.Coeff(v) != 0; });
  };
  return r.monoid == ir::Monoid::kSum &&
         std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
           return std::any_of(inst.results.begin(), inst.results.end(), says);
         });
}

class Lowering {
 public:
  explicit Lowering(ir::Function& f)
      : f_(f), finite_(f.values.size()), scattered_(f.values.size()) {}

  void Run() {
    for (ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        NoteFinite(inst);
        NoteScattered(inst);
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

  void NoteScattered(const Inst& inst) {
    for (size_t k = 0; inst.each && k < inst.results.size(); ++k)
      scattered_[inst.results[k].id] = IsScattered(*inst.each, inst.each->results[k]);
    if (inst.op == Op::AddArrays)
      scattered_[inst.results[0].id] = scattered_[inst.args[0].id] && scattered_[inst.args[1].id];
  }

  bool IsFinite(Value v) const { return v.id < finite_.size() && finite_[v.id] != 0; }

  // What a contraction multiplies is a plain product, but where it is what nobody added anything to: the rows of points
  // that no pair has, of which nothing was asked, whatever they hold.
  void Lower(std::vector<Inst>& list, bool plain) {
    if (std::none_of(list.begin(), list.end(), [](const Inst& i) { return i.op == Op::SMul; }))
      return;
    std::vector<Inst> out;
    out.reserve(list.size());
    for (Inst& inst : list) {
      if (inst.op == Op::SMul) {
        if ((plain && !IsOfScattered(inst.args[0], out)) || IsFinite(inst.args[1])) {
          inst.op = Op::Mul;
        } else {
          Guard(inst, out);
        }
      }
      out.push_back(std::move(inst));
    }
    list = std::move(out);
  }

  // `v`: of `before`, which is what the body begins with.
  bool IsOfScattered(Value v, const std::vector<Inst>& before) const {
    return std::any_of(before.begin(), before.end(), [&](const Inst& read) {
      return read.op == Op::Index && read.results[0] == v && scattered_[read.args[0].id];
    });
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
  std::vector<char> finite_;     // constants, by value
  std::vector<char> scattered_;  // arrays, by value
};

}  // namespace

Status LowerStrongMultiplies(ir::Module& module) {
  for (auto& f : module.functions) Lowering(*f).Run();
  return {};
}

}  // namespace pullback::opt
