#include "core/ir/ir.h"

#include <algorithm>
#include <iterator>

#include "core/base/status.h"
#include "core/base/work.h"

namespace pullback::ir {
namespace {

constexpr OpInfo kOps[] = {
#define OP(name, mnemonic, arity, rule, flags) {mnemonic, arity, TypeRule::rule, flags},
#include "core/ir/ops.def"
#undef OP
};
static_assert(std::size(kOps) == kOpCount);

constexpr const char* kMonoids[kMonoidCount] = {"gen",       "sum",      "prod",     "max",
                                                "min",       "argmax",   "argmin",   "scan_sum",
                                                "scan_prod", "scan_max", "scan_min", "scan_linear"};
constexpr const char* kTrapKinds[] = {
    "?", "index", "divide_by_zero", "negative_size", "size_mismatch", "depth", "memory", "stopped"};

}  // namespace

const OpInfo& Info(Op op) { return kOps[static_cast<size_t>(op)]; }

std::optional<Op> FindOp(std::string_view mnemonic) {
  for (int i = 0; i < kOpCount; ++i) {
    if (kOps[i].mnemonic == mnemonic) return static_cast<Op>(i);
  }
  return std::nullopt;
}

std::string ToString(Type t) {
  switch (t.kind) {
    case Type::Kind::kNone: return "none";
    case Type::Kind::kTape: return "tape";
    case Type::Kind::kList: return "list<" + std::to_string(t.record) + ">";
    case Type::Kind::kBox: return "box<" + std::to_string(t.record) + ">";
    case Type::Kind::kScalar: return DTypeName(t.elem);
    case Type::Kind::kArray: break;
  }
  std::string out = "[";
  for (int i = 0; i < t.rank; ++i) out += i == 0 ? "*" : ",*";
  return out + "]" + DTypeName(t.elem);
}

std::string ToString(Type t, const Module& m) {
  if (!t.HasRecord() || t.record >= m.records.size()) return ToString(t);
  return (t.IsList() ? "list<" : "box<") + m.records[t.record].name + ">";
}

bool CarriesTangent(const Module& m, Type t) {
  if (t.IsFloat() || t.IsTape()) return true;
  if (!t.HasRecord()) return false;
  std::vector<bool> seen(m.records.size());
  std::vector<uint32_t> work = {t.record};
  seen[t.record] = true;
  while (!work.empty()) {
    const uint32_t record = work.back();
    work.pop_back();
    for (Type field : m.records[record].fields) {
      if (field.IsFloat()) return true;
      if (!field.HasRecord() || seen[field.record]) continue;
      seen[field.record] = true;
      work.push_back(field.record);
    }
  }
  return false;
}

std::vector<Type> TangentTypes(const Module& m, const std::vector<Type>& types) {
  std::vector<Type> out;
  std::copy_if(types.begin(), types.end(), std::back_inserter(out),
               [&](Type t) { return CarriesTangent(m, t); });
  return out;
}

const char* MonoidName(Monoid m) { return kMonoids[static_cast<size_t>(m)]; }

std::optional<Monoid> FindMonoid(std::string_view name) {
  for (int m = 0; m < kMonoidCount; ++m) {
    if (name == kMonoids[m]) return static_cast<Monoid>(m);
  }
  return std::nullopt;
}

const char* TrapKindName(TrapKind k) {
  const auto i = static_cast<size_t>(k);
  return i < std::size(kTrapKinds) ? kTrapKinds[i] : kTrapKinds[0];
}

std::optional<TrapKind> FindTrapKind(std::string_view name) {
  for (size_t i = 1; i < std::size(kTrapKinds); ++i) {
    if (kTrapKinds[i] == name) return static_cast<TrapKind>(i);
  }
  return std::nullopt;
}

Inst::Inst(const Inst& o)
    : op(o.op),
      checkpoint(o.checkpoint),
      callee(o.callee),
      args(o.args),
      results(o.results),
      bits(o.bits),
      wrt(o.wrt),
      subs(o.subs),
      constraints(o.constraints),
      each(o.each ? std::make_unique<Each>(*o.each) : nullptr),
      guard(o.guard),
      loc(o.loc) {}

Inst& Inst::operator=(const Inst& o) {
  if (this != &o) *this = Inst(o);
  return *this;
}

bool MayTrap(const Inst& inst, const Function& f) {
  if (inst.op == Op::Div || inst.op == Op::Rem) {
    return f.TypeOf(inst.results[0]).elem == DType::kI64;
  }
  return (Info(inst.op).flags & kTraps) || HasCallee(inst.op) || inst.op == Op::Check;
}

bool IsApartFor(const EachResult& r, size_t index) { return !IsScan(r.monoid) || index < r.outer; }

bool IsPrefixForm(const Each& each, const EachResult& r) {
  if (r.out.size() > each.indices.size()) return false;
  for (size_t k = 0; k < r.out.size(); ++k) {
    if (r.out[k].AsValue() != each.indices[k].var) return false;
  }
  return true;
}

size_t CountInRuns(const Each& each, const EachResult& r) {
  if (r.monoid != Monoid::kSum || IsPrefixForm(each, r)) return 0;
  const auto names = [&](Value v) {
    return std::any_of(r.out.begin(), r.out.end(),
                       [&](const Affine& a) { return a.Coeff(v) != 0; });
  };
  const bool by_data = std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
    return std::any_of(inst.results.begin(), inst.results.end(), names);
  });
  size_t count = 0;
  while (!by_data && count < each.indices.size() &&
         !names(each.indices[each.indices.size() - 1 - count].var))
    ++count;
  return count;
}

std::optional<size_t> ScannedIndex(const Each& each, const EachResult& r) {
  const bool one = IsScan(r.monoid) && each.indices.size() == size_t{r.outer} + r.inner + 1;
  return one ? std::optional<size_t>(r.outer) : std::nullopt;
}

std::optional<size_t> OnlyIndexReduced(const Each& each, const EachResult& r) {
  if (r.out.size() + 1 != each.indices.size()) return std::nullopt;
  std::optional<size_t> left;
  for (size_t k = 0; k < each.indices.size(); ++k) {
    const auto named = std::count_if(r.out.begin(), r.out.end(), [&](const Affine& a) {
      return a.AsValue() == each.indices[k].var;
    });
    if (named == 1) continue;
    if (named > 1 || left) return std::nullopt;
    left = k;
  }
  return left;
}

bool IsArgForm(const Each& each, const EachResult& r) {
  return IsPrefixForm(each, r) || OnlyIndexReduced(each, r);
}

Value Function::NewValue(Type t, std::string name) {
  SpendValue();
  values.push_back(t);
  names.push_back(std::move(name));
  return Value{static_cast<uint32_t>(values.size() - 1)};
}

Value Function::NewLike(const Function& from, Value v) {
  return NewValue(from.TypeOf(v), from.names[v.id]);
}

std::string FunctionNames::New(const std::vector<std::unique_ptr<Function>>& functions,
                               const std::string& name) {
  if (functions.size() < known_) *this = FunctionNames();  // some are gone
  for (; known_ < functions.size(); ++known_) next_suffix_.try_emplace(functions[known_]->name, 1);
  const auto [at, fresh] = next_suffix_.try_emplace(name, 1);
  if (fresh) return name;
  int& next = at->second;  // stays where it is when others come
  std::string unique;
  do {
    unique = name + "." + std::to_string(next++);
  } while (!next_suffix_.try_emplace(unique, 1).second);
  return unique;
}

uint32_t Module::AddFunction(const std::string& name) {
  std::string unique = names_.New(functions, name);
  functions.push_back(std::make_unique<Function>());
  functions.back()->name = std::move(unique);
  return static_cast<uint32_t>(functions.size() - 1);
}

uint32_t Module::AddRecord(Record record) {
  const auto taken = [&](const std::string& n) {
    return std::any_of(records.begin(), records.end(),
                       [&](const Record& r) { return r.name == n; });
  };
  const std::string name = record.name;
  for (int i = 1; taken(record.name); ++i) record.name = name + "." + std::to_string(i);
  records.push_back(std::move(record));
  return static_cast<uint32_t>(records.size() - 1);
}

Module Module::Clone() const {
  Module copy;
  copy.records = records;
  copy.entry = entry;
  for (const auto& f : functions) copy.functions.push_back(std::make_unique<Function>(*f));
  return copy;
}

}  // namespace pullback::ir
