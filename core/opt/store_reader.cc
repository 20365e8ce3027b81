#include "core/opt/store_reader.h"

#include <set>

#include "core/ir/statements.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

bool MayJoin(Op op) { return op == Op::Add || op == Op::Sub || op == Op::Max || op == Op::Min; }

}  // namespace

StoreReader::StoreReader(ir::Function& f, TurnValues& values)
    : f_(f), values_(values), defs_(values.defs) {
  const auto count = [&](Value v) { ++uses_[v.id]; };
  std::vector<Value> left;
  for (uint32_t b : values.outermost.blocks) {
    for (const Inst& inst : f.blocks[b].insts) ir::ForEachOperand(inst, count);
    ir::ForEachTermOperand(f.blocks[b].term, [&](Value v) {
      count(v);
      left.push_back(v);
    });
  }
  while (!left.empty()) {
    const Inst* inst = defs_.Inst(left.back());
    left.pop_back();
    if (inst == nullptr || !MayJoin(inst->op) || !kept_.insert(inst->results[0].id).second)
      continue;
    left.insert(left.end(), inst->args.begin(), inst->args.end());
  }
}

size_t StoreReader::UsesOf(Value v) const {
  const auto it = uses_.find(v.id);
  return it == uses_.end() ? 0 : it->second;
}

std::vector<Affine> StoreReader::FormsOf(ir::AffineSpan subs) const {
  std::vector<Affine> forms;
  for (const Affine& a : subs) forms.push_back(values_.FormOf(a));
  return forms;
}

// What a store's subscripts are sums of; where i == j holds, and turns are told apart so, j for i.
std::vector<Affine> StoreReader::PlacesOf(const Filling& filling, const TurnStore& store) const {
  Access access{store.inst, store.place.around, FormsOf(store.inst->subs)};
  for (const TurnCondition* c = store.place.condition; c != nullptr; c = c->around) {
    const std::optional<Affine> zero = ZeroWhere(*c);
    if (!zero) continue;
    for (size_t axis = access.at.size(); axis-- > 0;) {
      for (const Affine& e : {access.at[axis] + *zero, access.at[axis] - *zero}) {
        if (e.terms.size() != 1 || e.terms[0].coeff != 1) continue;
        Access other = access;
        other.at[axis] = e;
        if (LoopsNamed(filling, other, values_).size() >
            LoopsNamed(filling, access, values_).size())
          access = other;
      }
    }
  }
  return access.at;
}
// The difference of two integers that are equal where the condition is as it says.
std::optional<Affine> StoreReader::ZeroWhere(const TurnCondition& condition) const {
  const Inst* inst = defs_.Inst(Root(condition.cond));
  if (inst == nullptr) return std::nullopt;
  if (inst->op == Op::Holds && condition.holds && inst->constraints.size() == 1 &&
      inst->constraints[0].equality)
    return values_.FormOf(inst->constraints[0].e);
  if (inst->op != (condition.holds ? Op::Eq : Op::Ne) ||
      f_.TypeOf(inst->args[0]) != ir::Type::I64())
    return std::nullopt;
  return values_.FormOf(inst->args[0]) - values_.FormOf(inst->args[1]);
}

namespace {

// What a sum, a difference, or an extremum has beside the operand that is meant.
template <typename IsMeant>
std::optional<StoredValue> JoinedTo(const Inst& inst, IsMeant&& is_meant) {
  if (inst.args.size() != 2 || is_meant(inst.args[0]) == is_meant(inst.args[1]))
    return std::nullopt;
  const bool first = is_meant(inst.args[0]);
  const Value other = inst.args[first ? 1 : 0];
  if (inst.op == Op::Add) return StoredValue{other, Join::kAdd};
  if (!first) return std::nullopt;  // of equal ones the first counts
  switch (inst.op) {
    case Op::Sub: return StoredValue{other, Join::kAdd, true};
    case Op::Max: return StoredValue{other, Join::kMax};
    case Op::Min: return StoredValue{other, Join::kMin};
    default: return std::nullopt;
  }
}
}  // namespace

// What the instruction stores in the array as it is now, or adds to it, or to the number.
std::optional<StoredValue> StoreReader::StoredBy(Filling& filling, const Inst& inst,
                                                 const NestPath& around) {
  const auto is_now = [&](Value v) { return Root(v) == filling.current; };
  if (inst.op == Op::AddAt && is_now(inst.args[0])) return StoredValue{inst.args[1], Join::kAdd};
  if (inst.op == Op::Update && is_now(inst.args[0])) {
    const std::optional<StoredValue> added = AddedToElement(filling, inst, around);
    return added ? *added : StoredValue{inst.args[1]};
  }
  const bool of_number = f_.TypeOf(filling.param).IsScalar() && inst.results.size() == 1 &&
                         kept_.contains(inst.results[0].id);
  return of_number ? JoinedTo(inst, is_now) : std::nullopt;
}
// z[i] = z[i] + e, where nobody else needs what it reads; or the same for a row, r = each(j): z[i, j] + e, z[i, j] = r[j].
std::optional<StoredValue> StoreReader::AddedToElement(Filling& filling, const Inst& store,
                                                       const NestPath& around) {
  const Inst* sum = defs_.Inst(store.args[1]);
  if (sum == nullptr || UsesOf(sum->results[0]) != 1) return std::nullopt;
  if (sum->op != Op::Index) return AddedToRead(filling, store, *sum, nullptr, nullptr, around);
  const auto cheap = values_.cheap.find(sum->args[0].id);
  if (cheap == values_.cheap.end() || UsesOf(sum->args[0]) != 1) return std::nullopt;
  const CheapArray& array = cheap->second;
  const Inst* of_row = ir::FindDef(*array.each, array.value);
  if (of_row == nullptr || UsesOf(array.value) != 1) return std::nullopt;
  std::optional<StoredValue> added = AddedToRead(filling, store, *of_row, array.each, sum, around);
  if (!added) return std::nullopt;
  const Value part = f_.NewLike(f_, added->value);
  values_.parts[part.id] = {{array.each, added->value, array.shape}, sum};
  added->value = part;
  return added;
}
// `row`: the statement that the sum is of, and what reads that.
std::optional<StoredValue> StoreReader::AddedToRead(Filling& filling, const Inst& store,
                                                    const Inst& sum, const ir::Each* row,
                                                    const Inst* element, const NestPath& around) {
  const Access* own = nullptr;
  const auto is_own = [&](Value v) {
    const Inst* read = row != nullptr ? ir::FindDef(*row, v) : defs_.Inst(v);
    if (read == nullptr || read->op != Op::Index || UsesOf(v) != 1) return false;
    std::vector<Affine> subs = FormsOf(read->subs);
    for (size_t k = 0; row != nullptr && k < row->indices.size(); ++k) {
      for (Affine& a : subs)
        a = a.Substitute(row->indices[k].var, values_.FormOf(element->subs[k]));
    }
    if (subs != FormsOf(store.subs)) return false;
    for (const Access& access : filling.reads) {
      if (access.inst == read && IsAsRead(filling, access, store, around)) own = &access;
    }
    return own != nullptr;
  };
  const std::optional<StoredValue> added = JoinedTo(sum, is_own);
  if (added) filling.reads.erase(filling.reads.begin() + (own - filling.reads.data()));
  return added;
}
// Whether nothing was stored in the array since, and other turns of the loops in between store at other places.
bool StoreReader::IsAsRead(const Filling& filling, const Access& read, const Inst& store,
                           const NestPath& around) const {
  const Access stored{&store, around, FormsOf(store.subs)};
  const std::set<const CountedNest*> named = LoopsNamed(filling, stored, values_);
  for (size_t k = 0; k < around.size(); ++k) {
    const bool around_both = k < read.around.size();
    if (around_both ? read.around[k] != around[k] : !named.contains(around[k])) return false;
  }
  Value now = filling.current;
  for (size_t k = read.around.size(); k < around.size(); ++k) {
    const auto before = handed_.find(now);
    if (before == handed_.end()) return false;
    now = before->second;
  }
  return Root(read.inst->args[0]) == now;
}
std::optional<StoredValue> StoreReader::ExtremumOf(const Filling& filling, Value cond,
                                                   const TurnBranch::Choice& choice) const {
  const Inst* test = defs_.Inst(Root(cond));
  if (test == nullptr || test->args.size() != 2 || !f_.TypeOf(choice.param).IsScalar() ||
      Root(choice.from[1]) != filling.current)
    return std::nullopt;
  const Value beyond = Root(choice.from[0]);
  const bool ahead = Root(test->args[0]) == beyond && Root(test->args[1]) == filling.current;
  const bool behind = Root(test->args[1]) == beyond && Root(test->args[0]) == filling.current;
  if ((!ahead && !behind) || (test->op != Op::Gt && test->op != Op::Lt)) return std::nullopt;
  const Join join = (test->op == Op::Gt) == ahead ? Join::kMax : Join::kMin;
  return StoredValue{choice.from[0], join, false, true};
}

}  // namespace pullback::opt
