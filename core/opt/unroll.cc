// Statements of a few points become straight-line code: sums over index variables whose extents are small
// constants. A read of four elements of an array is then four reads, also to its derivative, which adds to
// four elements instead of making an array.
#include <map>
#include <optional>

#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int64_t kPoints = 8;  // one for each lane of a sum
constexpr int64_t kMostInsts = 96;

class Unroller {
 public:
  Unroller(ir::Function& f, const RewriteOptions& options)
      : f_(f), options_(options), constants_(f.values.size()) {
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.op == Op::Const) constants_[inst.results[0].id] = static_cast<int64_t>(inst.bits);
      }
    }
  }

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      std::vector<Inst> old = std::move(b.insts);
      b.insts.clear();
      for (Inst& inst : old) {
        if (const auto points = PointsOf(inst); points && options_.Take(RuleId::kSumPeeled)) {
          Unroll(inst, *points, b.insts);
          changed = true;
        } else {
          b.insts.push_back(std::move(inst));
        }
      }
    }
    return changed;
  }

 private:
  // How many, where the statement is one to unroll.
  std::optional<int64_t> PointsOf(const Inst& inst) const {
    if (inst.op != Op::Each || !inst.each->where.empty()) return std::nullopt;
    int64_t points = 1;
    for (const ir::IndexVar& i : inst.each->indices) {
      const std::optional<int64_t> n =
          i.extent.id < constants_.size() ? constants_[i.extent.id] : std::nullopt;
      if (!n || *n < 1 || *n > kPoints) return std::nullopt;
      points *= *n;
      if (points > kPoints) return std::nullopt;
    }
    if (points * static_cast<int64_t>(inst.each->body.size()) > kMostInsts) return std::nullopt;
    for (const ir::EachResult& r : inst.each->results) {
      if (r.monoid != ir::Monoid::kSum || !r.out.empty() || r.guard.valid()) return std::nullopt;
    }
    for (const Inst& in : inst.each->body) {
      if (in.guard.valid()) return std::nullopt;
    }
    return points;
  }

  void Unroll(const Inst& inst, int64_t points, std::vector<Inst>& out) {
    const ir::Each& each = *inst.each;
    std::vector<std::vector<Value>> terms(each.results.size());
    for (int64_t point = 0; point < points; ++point) {
      index_.clear();
      copy_.clear();
      int64_t rest = point;
      for (size_t k = each.indices.size(); k-- > 0;) {
        const int64_t n = *constants_[each.indices[k].extent.id];
        index_[each.indices[k].var] = rest % n;
        rest /= n;
      }
      for (const Inst& in : each.body) CopyBody(in, out);
      for (size_t k = 0; k < each.results.size(); ++k)
        terms[k].push_back(Get(each.results[k].value, out));
    }
    for (size_t k = 0; k < terms.size(); ++k) Total(inst.results[k], terms[k], inst.loc, out);
  }

  void CopyBody(const Inst& in, std::vector<Inst>& out) {
    Inst copy = in;
    for (Value& v : copy.args) v = Get(v, out);
    for (ir::Affine& a : copy.subs) a = Get(a);
    for (ir::Constraint& c : copy.constraints) c.e = Get(c.e);
    for (Value& v : copy.results) v = copy_[v] = f_.NewLike(f_, v);
    out.push_back(std::move(copy));
  }

  Value Get(Value v, std::vector<Inst>& out) {
    if (const auto it = copy_.find(v); it != copy_.end()) return it->second;
    const auto index = index_.find(v);
    if (index == index_.end()) return v;
    Inst constant;
    constant.op = Op::Const;
    constant.bits = static_cast<uint64_t>(index->second);
    constant.results = {f_.NewLike(f_, v)};
    out.push_back(constant);
    return copy_[v] = constant.results[0];
  }

  ir::Affine Get(const ir::Affine& a) {
    ir::Affine made = ir::Affine::Const(a.constant);
    for (const ir::Affine::Term& t : a.terms) {
      const auto index = index_.find(t.value);
      const auto copy = copy_.find(t.value);
      const ir::Affine value = index != index_.end() ? ir::Affine::Const(index->second)
                               : copy != copy_.end() ? ir::Affine::Of(copy->second)
                                                     : ir::Affine::Of(t.value);
      made = made + value * t.coeff;
    }
    return made;
  }

  // ((l0+l4)+(l2+l6))+((l1+l5)+(l3+l7)), where lanes begin at 0: that shows in the sign of a zero alone, so
  // it is added once.
  void Total(Value result, const std::vector<Value>& terms, uint32_t loc, std::vector<Inst>& out) {
    const auto lane = [&](size_t k) { return k < terms.size() ? terms[k] : ir::kNoValue; };
    const auto add = [&](Value a, Value b) {
      if (!a.valid() || !b.valid()) return a.valid() ? a : b;
      return Emit(Op::Add, {a, b}, f_.NewValue(f_.TypeOf(a), ""), loc, out);
    };
    const Value sum = add(add(add(lane(0), lane(4)), add(lane(2), lane(6))),
                          add(add(lane(1), lane(5)), add(lane(3), lane(7))));
    Inst zero;
    zero.op = Op::Const;  // of any type its bits are 0
    zero.results = {f_.NewValue(f_.TypeOf(result), "")};
    out.push_back(zero);
    Emit(Op::Add, {sum, zero.results[0]}, result, loc, out);
  }

  static Value Emit(Op op, const std::vector<Value>& args, Value result, uint32_t loc,
                    std::vector<Inst>& out) {
    Inst inst;
    inst.op = op;
    inst.args = args;
    inst.loc = loc;
    inst.results = {result};
    out.push_back(std::move(inst));
    return result;
  }

  ir::Function& f_;
  const RewriteOptions& options_;
  std::vector<std::optional<int64_t>> constants_;  // by value
  std::map<Value, int64_t> index_;
  std::map<Value, Value> copy_;
};

}  // namespace

Status UnrollStatements(ir::Module& module, const RewriteOptions& options) {
  bool changed = false;
  for (auto& f : module.functions) changed |= Unroller(*f, options).Run();
  return changed ? Simplify(module, options) : Status();
}

}  // namespace pullback::opt
