#include "core/ir/known_extents.h"

#include <algorithm>

#include "core/base/tensor.h"

namespace pullback::ir {
namespace {

bool IsOfArrays(Op op, ValueSpan args, const KnownExtents& all) {
  const auto known = [&](size_t k) { return all.of_arrays.contains(args[k]); };
  switch (op) {
    case Op::Min: return known(0) || known(1);
    case Op::Max: return known(0) && known(1);
    case Op::Select: return known(1) && known(2);
    case Op::Sub:
    case Op::Div: return known(0) && all.constants.contains(args[1]);
    default: return false;
  }
}

bool IsArithmetic(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Rem:
    case Op::Neg:
    case Op::Min:
    case Op::Max: return true;
    default: return false;
  }
}

constexpr size_t kMostBounds = 6;

std::vector<Value> Either(std::vector<Value> a, const std::vector<Value>& b) {
  a.insert(a.end(), b.begin(), b.end());
  if (a.size() > kMostBounds) a.resize(kMostBounds);
  return a;
}

std::vector<Value> Both(std::vector<Value> a, const std::vector<Value>& b) {
  std::erase_if(a, [&](Value v) { return std::find(b.begin(), b.end(), v) == b.end(); });
  return a;
}

}  // namespace

void KnownExtents::LearnDim(Value result) {
  of_arrays.insert(result);
  made_of_arrays.insert(result);
  dims_.insert(result);
  summands_[result] = 1;
}

void KnownExtents::Learn(Op op, uint64_t bits, ValueSpan args, Value result) {
  if (op == Op::Const) {
    const auto value = static_cast<int64_t>(bits);
    if (value >= 0 && value <= kMaxExtent) constants.emplace(result, value);
    if (value >= -kMaxExtent && value <= kMaxExtent) summands_[result] = 1;
    if (value == 0) of_arrays.insert(result);
    made_of_arrays.insert(result);
    return;
  }
  const auto is_made = [&](Value v) { return made_of_arrays.contains(v); };
  if (IsArithmetic(op) && std::all_of(args.begin(), args.end(), is_made))
    made_of_arrays.insert(result);
  if (IsOfArrays(op, args, *this)) of_arrays.insert(result);
  if (op == Op::Add && turns_.contains(args[0]) && constants.contains(args[1])) {
    turns_.insert(result);
    starts_.insert(result);
  }
  if (op == Op::Max && (IsStart(args[0]) || IsStart(args[1]))) starts_.insert(result);
  if ((op == Op::Add || op == Op::Sub) && constants.contains(args[1]))
    LearnNear(args[0], op == Op::Add ? constants.at(args[1]) : -constants.at(args[1]), result);
  LearnBounds(op, args, result);
  LearnSum(op, args, result);
}

void KnownExtents::LearnSum(Op op, ValueSpan args, Value result) {
  constexpr int kMost = 16;
  if (op == Op::Mul || op == Op::Div) {
    const bool first = op == Op::Mul && constants.contains(args[0]);
    const auto by = constants.find(args[first ? 0 : 1]);
    const auto known = summands_.find(args[first ? 1 : 0]);
    if (by == constants.end() || by->second < 1 || known == summands_.end()) return;
    const int64_t times = op == Op::Mul ? std::min<int64_t>(by->second, kMost + 1) : 1;
    if (known->second * times <= kMost) summands_[result] = static_cast<int>(known->second * times);
    return;
  }
  int count = 0;
  for (Value v : args) {
    const auto known = summands_.find(v);
    if (known == summands_.end()) return;
    count = op == Op::Min || op == Op::Max ? std::max(count, known->second) : count + known->second;
  }
  const bool sums = op == Op::Add || op == Op::Sub || op == Op::Min || op == Op::Max;
  if (sums && count <= kMost) summands_[result] = count;
}

std::vector<Value> KnownExtents::AtMost(Value v) const {
  const auto known = at_most_.find(v);
  std::vector<Value> all = known == at_most_.end() ? std::vector<Value>{} : known->second;
  all.push_back(v);
  return all;
}

std::vector<Value> KnownExtents::Below(Value v) const {
  const auto known = below_.find(v);
  return known == below_.end() ? std::vector<Value>{} : known->second;
}

// By one step each: what is less than a negative number may have wrapped, and is then more than others.
void KnownExtents::LearnBounds(Op op, ValueSpan args, Value result) {
  std::vector<Value> at_most, below;
  if (op == Op::Sub && constants.contains(args[1])) {
    at_most = {args[0]};
    if (constants.at(args[1]) >= 1) below = {args[0]};
  } else if (op == Op::Add && constants.contains(args[1]) && constants.at(args[1]) == 1) {
    at_most = Below(args[0]);
  } else if (op == Op::Div && (dims_.contains(args[0]) || quotients_.contains(args[0])) &&
             constants.contains(args[1]) && constants.at(args[1]) >= 1) {
    at_most = AtMost(args[0]);
    quotients_.insert(result);
  } else if (op == Op::Div && constants.contains(args[1])) {
    at_most = AtMostAround(args[0], constants.at(args[1]));
  } else if (op == Op::Min) {
    at_most = Either(AtMost(args[0]), AtMost(args[1]));
    below = Either(Below(args[0]), Below(args[1]));
  } else if (op == Op::Max && IsZero(args[1])) {
    at_most = AtMost(args[0]);
    std::erase_if(at_most, [&](Value v) { return v == args[0] || !dims_.contains(v); });
  } else if (op == Op::Select) {
    at_most = Both(AtMost(args[1]), AtMost(args[2]));
    below = Both(Below(args[1]), Below(args[2]));
  }
  if (!at_most.empty()) at_most_[result] = std::move(at_most);
  if (!below.empty()) below_[result] = std::move(below);
}

void KnownExtents::LearnNear(Value v, int64_t more, Value result) {
  if (dims_.contains(v) && -kShortExtent <= more && more <= kShortExtent)
    near_.insert_or_assign(result, Near{v, more});
}

std::vector<Value> KnownExtents::AtMostAround(Value v, int64_t by) const {
  const auto near = near_.find(v);
  return by >= 2 && near != near_.end() && near->second.more < by ? AtMost(near->second.dim)
                                                                  : std::vector<Value>{};
}

void KnownExtents::LearnAffine(const Affine& a, Value result) {
  if (a.terms.size() == 1 && a.terms[0].coeff == 1) LearnNear(a.terms[0].value, a.constant, result);
  const bool made = std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
    return made_of_arrays.contains(t.value);
  });
  if (made) made_of_arrays.insert(result);
  const bool less =
      a.terms.size() == 1 && a.terms[0].coeff == 1 && -kMaxExtent <= a.constant && a.constant < 0;
  if (less) at_most_[result] = below_[result] = {a.terms[0].value};
}

void KnownExtents::LearnTurn(Value first, Value turn) {
  if (!IsStart(first)) return;
  turns_.insert(turn);
  starts_.insert(turn);
}

bool KnownExtents::IsZero(Value v) const {
  const auto it = constants.find(v);
  return it != constants.end() && it->second == 0;
}

bool KnownExtents::IsWithin(Value v, Value extent) const {
  const std::vector<Value> all = AtMost(v);
  return std::find(all.begin(), all.end(), extent) != all.end();
}

bool KnownExtents::IsShort(Value v) const {
  const auto it = constants.find(v);
  return it != constants.end() && it->second <= kShortExtent;
}

KnownExtents FindKnownExtents(const Function& f) {
  KnownExtents all;
  for (const Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::Dim) all.LearnDim(inst.results[0]);
      if (inst.op == Op::AffineOf) all.LearnAffine(inst.subs[0], inst.results[0]);
      if (inst.results.size() == 1 && f.TypeOf(inst.results[0]) == Type::I64())
        all.Learn(inst.op, inst.bits, inst.args, inst.results[0]);
    }
  }
  return all;
}

}  // namespace pullback::ir
