#include "core/loops/contract.h"

#include <algorithm>

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

class ContractionPlanner {
 public:
  ContractionPlanner(const AccessContext& c, const Inst& inst, const ResultPlan& plan)
      : c_(c), l_(c.l), e_(c.l.e), inst_(inst), plan_(plan) {}

  std::optional<Node> Plan() {
    if (!IsPlainSum() || !IsPlainBox() || !FindOperands()) return std::nullopt;
    operands_.insert(operands_.begin(), OfResult());
    const auto& indices = c_.space.indices;
    if (!std::all_of(indices.begin(), indices.end(), [&](const auto& i) { return Joins(i.var); })) {
      return std::nullopt;
    }
    return MakeNode();
  }

 private:
  struct Operand {
    Reg array;
    std::vector<Affine> subs;  // of the statement's indices and what is outside
    std::vector<Reg> extents;
  };

  bool IsPlainSum() const {
    if (c_.each.results.size() != 1) return false;
    const ir::EachResult& r = c_.each.results[0];
    return r.monoid == ir::Monoid::kSum && !r.guard.valid() && !r.out.empty() &&
           l_.f.TypeOf(r.value).IsFloat() && !IsCheckedInside(plan_.access) &&
           l_.destinations.count(inst_.results[0]) == 0 && IsOutside(r.out);
  }

  bool IsPlainBox() const {
    const auto& indices = c_.space.indices;
    return c_.space.tests.empty() && indices.size() <= kMostContractIndices &&
           std::all_of(indices.begin(), indices.end(),
                       [](const SpaceIndex& i) { return i.IsWholeLoop(); });
  }

  bool IsOutside(ir::AffineSpan subs) const {
    return std::all_of(subs.begin(), subs.end(), [&](const Affine& sub) {
      return std::all_of(sub.terms.begin(), sub.terms.end(),
                         [&](const Affine::Term& t) { return c_.body_values.count(t.value) == 0; });
    });
  }

  // The body is the product of two reads, and nothing else.
  bool FindOperands() {
    const Inst* product = l_.sizes.Definition(c_.each.results[0].value);
    if (c_.each.body.size() != 3 || product != &c_.each.body[2] || product->op != Op::Mul ||
        product->guard.valid()) {
      return false;
    }
    return std::all_of(product->args.begin(), product->args.end(),
                       [&](Value factor) { return AddRead(factor); });
  }

  bool AddRead(Value factor) {
    if (c_.body_values.count(factor) == 0) return false;
    const Inst& read = *l_.sizes.Definition(factor);
    if (read.op != Op::Index || read.guard.valid()) return false;
    Operand operand{read.args[0], {read.subs.begin(), read.subs.end()}, l_.Extents(read.args[0])};
    if (!IsOutside(operand.subs) || IsCheckedInside(AccessOf(operand))) return false;
    operands_.push_back(std::move(operand));
    return true;
  }

  // At each point, rather than before the loops.
  static bool IsCheckedInside(const Access& access) {
    return std::find(access.axes.begin(), access.axes.end(), AxisCheck::kHere) != access.axes.end();
  }

  Access AccessOf(const Operand& operand) const {
    std::vector<Affine> extents;
    for (size_t axis = 0; axis < operand.subs.size(); ++axis) {
      extents.push_back(l_.sizes.Extent(operand.array, static_cast<int>(axis)));
    }
    return PlanAccess(c_, operand.subs, extents, {}, true);
  }

  Operand OfResult() const {
    const ir::EachResult& r = c_.each.results[0];
    return {inst_.results[0], {r.out.begin(), r.out.end()}, l_.Of(r.shape)};
  }

  static bool StepsIn(const Operand& operand, Value index) {
    return std::any_of(operand.subs.begin(), operand.subs.end(),
                       [&](const Affine& sub) { return sub.Coeff(index) != 0; });
  }

  // Of rows, of columns, summed over, or of a batch.
  bool Joins(Value index) const {
    const bool in_result = StepsIn(operands_[0], index);
    const bool in_a = StepsIn(operands_[1], index), in_b = StepsIn(operands_[2], index);
    return in_result ? in_a || in_b : in_a && in_b;
  }

  Reg OffsetOf(const Operand& operand) const {
    std::vector<Affine> at_start;
    for (Affine sub : operand.subs) {
      for (const SpaceIndex& i : c_.space.indices) sub = sub.Substitute(i.var, Affine{});
      at_start.push_back(l_.Of(sub));
    }
    return e_.Offset(at_start, operand.extents);
  }

  Reg StepOf(const Operand& operand, Value index) const {
    Reg step = e_.I64(0), elements = e_.I64(1);
    for (size_t axis = operand.subs.size(); axis-- > 0;) {
      step = e_.Add(step, e_.Mul(e_.I64(operand.subs[axis].Coeff(index)), elements));
      elements = e_.Mul(elements, operand.extents[axis]);
    }
    return step;
  }

  Node MakeNode() const {
    Node node;
    node.kind = Node::Kind::kContract;
    node.bits = c_.each.results[0].into.valid() || !plan_.complete ? 1 : 0;
    node.loc = inst_.loc;
    for (const Operand& operand : operands_) node.args.push_back(operand.array);
    for (const Operand& operand : operands_) node.args.push_back(OffsetOf(operand));
    for (const SpaceIndex& i : c_.space.indices) {
      node.args.push_back(l_.Of(i.extent));
      for (const Operand& operand : operands_) node.args.push_back(StepOf(operand, i.var));
    }
    return node;
  }

  const AccessContext& c_;
  Lowering& l_;
  Emitter& e_;
  const Inst& inst_;
  const ResultPlan& plan_;
  std::vector<Operand> operands_;  // the result first
};

}  // namespace

std::optional<Node> PlanContraction(const AccessContext& c, const Inst& inst,
                                    const ResultPlan& plan) {
  return ContractionPlanner(c, inst, plan).Plan();
}

}  // namespace pullback::loops
