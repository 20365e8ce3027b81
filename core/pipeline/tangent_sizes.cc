#include "core/pipeline/tangent_sizes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

namespace pullback::pipeline {
namespace {

using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr uint32_t kEntryName = 1;  // ordinal of the entry's name

class Checks {
 public:
  explicit Checks(ir::Function& f) : f_(f) {}

  // `name`: of an axis of a.
  template <typename Name>
  void AddSame(Value a, Value b, const Name& name) {
    for (int axis = 0; axis < f_.TypeOf(a).rank; ++axis) {
      const auto bits = static_cast<uint64_t>(axis);
      const Value x = Add(Op::Dim, {a}, bits, Type::I64());
      f_.names[x.id] = name(bits);
      const Value y = Add(Op::Dim, {b}, bits, Type::I64());
      const Value same = Add(Op::Eq, {x, y}, 0, Type::Bool());
      Add(Op::Check, {same, x, y}, static_cast<uint64_t>(ir::TrapKind::kSizeMismatch),
          std::nullopt);
    }
  }
  void Insert() {
    std::vector<Inst>& insts = f_.blocks[0].insts;
    insts.insert(insts.begin(), std::make_move_iterator(insts_.begin()),
                 std::make_move_iterator(insts_.end()));
  }

 private:
  Value Add(Op op, std::vector<Value> args, uint64_t bits, std::optional<Type> result) {
    Inst& inst = insts_.emplace_back();
    inst.op = op;
    inst.bits = bits;
    inst.loc = kEntryName;
    inst.args.assign(args.begin(), args.end());
    if (!result) return ir::kNoValue;
    inst.results = {f_.NewValue(*result)};
    return inst.results[0];
  }

  ir::Function& f_;
  std::vector<Inst> insts_;
};

}  // namespace

void CheckTangentSizes(ir::Module& m, uint32_t primal, const std::vector<bool>& wrt) {
  ir::Function& f = m.Get(m.entry);
  const ir::Function& of = m.Get(primal);
  Checks checks(f);
  size_t tangent = of.params().size();
  for (size_t k = 0; k < of.params().size(); ++k) {
    const Value param = f.params()[k];
    if (!wrt[k] || !ir::CarriesTangent(m, f.TypeOf(param))) continue;
    const Value dot = f.params()[tangent++];
    if (!f.TypeOf(param).IsArray() || f.TypeOf(dot) != f.TypeOf(param)) continue;
    checks.AddSame(param, dot, [&](uint64_t axis) {
      const std::vector<Inst>& insts = of.blocks[0].insts;
      const auto dim = std::find_if(insts.begin(), insts.end(), [&](const Inst& inst) {
        return inst.op == Op::Dim && inst.args[0] == of.params()[k] && inst.bits == axis;
      });
      return dim == insts.end() ? std::string() : of.names[dim->results[0].id];
    });
  }
  checks.Insert();
}

}  // namespace pullback::pipeline
