#include "core/loops/emitter.h"

#include <algorithm>
#include <iterator>

#include "core/base/status.h"
#include "core/base/work.h"
#include "core/ir/comparisons.h"

namespace pullback::loops {

using ir::Affine;
using ir::Op;
using ir::Type;

// --- scopes

void Emitter::BeginBlock() {
  PB_CHECK(scopes_.empty());
  scopes_.emplace_back();
}

std::vector<Node> Emitter::EndBlock() {
  PB_CHECK(scopes_.size() == 1);
  if (in_entry_) entry_ = std::move(scopes_[0].known);
  in_entry_ = false;
  return Close();
}

void Emitter::Open() { scopes_.emplace_back(); }

std::vector<Node> Emitter::Close() {
  std::vector<Node> nodes = std::move(scopes_.back().nodes);
  scopes_.pop_back();
  return nodes;
}

void Emitter::Define(Reg r, size_t scope) {
  if (r.id >= scope_of_.size()) scope_of_.resize(r.id + 1, 0);
  scope_of_[r.id] = scope;
}

// --- nodes

Node& Emitter::Append(Node node) {
  Spend(1);
  for (Reg r : node.results) Define(r, scope());
  scopes_.back().nodes.push_back(std::move(node));
  return scopes_.back().nodes.back();
}

Reg Emitter::Scalar(Op op, std::vector<Reg> args, Type result, Reg into) {
  Node node;
  node.op = op;
  node.args = std::move(args);
  node.results = {into.valid() ? into : f_.NewReg(result)};
  return Append(std::move(node)).results[0];
}

Reg Emitter::Load(Reg array, Reg offset, Reg into, About about) {
  Node node;
  node.kind = Node::Kind::kLoad;
  node.args = {array, offset};
  node.results = {into.valid() ? into : f_.NewReg(TypeOf(array).Element())};
  node.rows = std::move(about.rows);
  node.proofs = std::move(about.proofs);
  return Append(std::move(node)).results[0];
}

void Emitter::Store(Reg array, Reg offset, Reg value, std::vector<Reg> apart, About about) {
  Node node;
  node.kind = Node::Kind::kStore;
  node.args = {array, offset, value};
  node.apart = std::move(apart);
  node.rows = std::move(about.rows);
  node.proofs = std::move(about.proofs);
  Append(std::move(node));
}

void Emitter::Effect(Node::Kind kind, std::vector<Reg> args) {
  Node node;
  node.kind = kind;
  node.args = std::move(args);
  Append(std::move(node));
}

void Emitter::Check(Reg condition, ir::TrapKind kind, uint32_t loc, std::vector<Reg> details,
                    std::vector<Proof> proofs) {
  if (AsI64(condition).value_or(0) != 0) return;
  if (proofs.empty()) proofs.push_back({kFacts, {}});
  for (Scope& scope : scopes_) {
    const auto known = scope.checked.find(condition);
    if (known == scope.checked.end()) continue;
    std::vector<Proof>& all = scope.nodes[known->second].proofs;
    std::move(proofs.begin(), proofs.end(), std::back_inserter(all));
    return;
  }
  scopes_.back().checked[condition] = scopes_.back().nodes.size();
  Node node;
  node.kind = Node::Kind::kCheck;
  node.bits = static_cast<uint64_t>(kind);
  node.loc = loc;
  node.args = {condition};
  node.args.insert(node.args.end(), details.begin(), details.end());
  node.proofs = std::move(proofs);
  Append(std::move(node));
}

Reg Emitter::OpenFor(Reg lo, Reg hi, Reg index) {
  Open();
  scopes_.back().pending = {lo, hi, index};
  Define(index, scope());
  return index;
}

void Emitter::CloseFor() {
  const std::vector<Reg> pending = scopes_.back().pending;
  Node node;
  node.kind = Node::Kind::kFor;
  node.loc = loc_;
  node.body = Close();
  node.args = {pending[0], pending[1]};
  node.results = {pending[2]};
  // The index is known in the loop only, so the scope outside must not learn of it.
  scopes_.back().nodes.push_back(std::move(node));
}

void Emitter::CloseInto(Node node) {
  node.body = Close();
  Append(std::move(node));
}

void Emitter::OpenIf(Reg condition) {
  Open();
  scopes_.back().pending = {condition};
}

void Emitter::CloseIf(std::vector<Reg> results, std::vector<Reg> yields) {
  Node node;
  node.kind = Node::Kind::kIf;
  node.args = scopes_.back().pending;
  node.body = Close();
  for (Reg r : results) node.other_yields.push_back(Zero(TypeOf(r)));
  node.results = std::move(results);
  node.body_yields = std::move(yields);
  Append(std::move(node));
}

// --- constants

Reg Emitter::Const(Type t, uint64_t bits) { return Shared(Op::Const, t, bits, {}); }

std::optional<int64_t> Emitter::AsI64(Reg r) const {
  const auto it = constants_.find(r.id);
  if (it == constants_.end()) return std::nullopt;
  return static_cast<int64_t>(it->second);
}

Reg Emitter::Find(const Key& key, size_t scope) const {
  const auto& known = scopes_[scope].known;
  if (const auto it = known.find(key); it != known.end()) return it->second;
  const auto it = scope == 0 ? entry_.find(key) : entry_.end();
  return it == entry_.end() ? ir::kNoValue : it->second;
}

Reg Emitter::Remember(const Key& key, Node node, Type t, size_t scope) {
  const Reg r = f_.NewReg(t);
  Define(r, scope);
  node.results = {r};
  scopes_[scope].nodes.push_back(std::move(node));
  scopes_[scope].known.emplace(key, r);
  return r;
}

Reg Emitter::Shared(Op op, Type t, uint64_t bits, std::vector<Reg> args) {
  size_t scope = 0;
  for (Reg a : args) scope = std::max(scope, ScopeOf(a));
  const Key key{op, t.elem, bits, args};
  if (const Reg known = Find(key, scope); known.valid()) return known;
  Node node;
  node.op = op;
  node.bits = bits;
  node.args = std::move(args);
  const Reg r = Remember(key, std::move(node), t, scope);
  if (op == Op::Const) SetConstant(r, bits);
  return r;
}

// --- integer arithmetic

Reg Emitter::Arithmetic(Op op, Reg a, Reg b) { return Shared(op, Type::I64(), 0, {a, b}); }

namespace {

uint64_t Bits(int64_t v) { return static_cast<uint64_t>(v); }
int64_t Wrap(uint64_t v) { return static_cast<int64_t>(v); }

}  // namespace

Reg Emitter::Add(Reg a, Reg b) {
  const auto x = AsI64(a), y = AsI64(b);
  if (x && y) return I64(Wrap(Bits(*x) + Bits(*y)));
  if (x == 0) return b;
  if (y == 0) return a;
  return Arithmetic(Op::Add, a, b);
}

Reg Emitter::Sub(Reg a, Reg b) {
  const auto x = AsI64(a), y = AsI64(b);
  if (x && y) return I64(Wrap(Bits(*x) - Bits(*y)));
  if (y == 0) return a;
  if (x == 0) return Shared(Op::Neg, Type::I64(), 0, {b});
  return Arithmetic(Op::Sub, a, b);
}

Reg Emitter::Mul(Reg a, Reg b) {
  const auto x = AsI64(a), y = AsI64(b);
  if (x && y) return I64(Wrap(Bits(*x) * Bits(*y)));
  if (x == 0 || y == 1) return a;
  if (y == 0 || x == 1) return b;
  return Arithmetic(Op::Mul, a, b);
}

Reg Emitter::Min(Reg a, Reg b) {
  const auto x = AsI64(a), y = AsI64(b);
  if (a == b) return a;
  return x && y ? I64(std::min(*x, *y)) : Arithmetic(Op::Min, a, b);
}

Reg Emitter::Max(Reg a, Reg b) {
  const auto x = AsI64(a), y = AsI64(b);
  if (a == b) return a;
  return x && y ? I64(std::max(*x, *y)) : Arithmetic(Op::Max, a, b);
}

Reg Emitter::Div(Reg a, int64_t positive) {
  PB_CHECK(positive > 0);
  if (positive == 1) return a;
  if (const auto x = AsI64(a)) return I64(*x / positive);
  return Arithmetic(Op::Div, a, I64(positive));
}

Reg Emitter::Rem(Reg a, int64_t positive) {
  PB_CHECK(positive > 0);
  if (positive == 1) return I64(0);
  if (const auto x = AsI64(a)) return I64(*x % positive);
  return Arithmetic(Op::Rem, a, I64(positive));
}

Reg Emitter::Compare(Op op, Reg a, Reg b) {
  const auto x = AsI64(a), y = AsI64(b);
  if (x && y) return Const(Type::Bool(), *ir::Compare(op, *x, *y) ? 1 : 0);
  return Shared(op, Type::Bool(), 0, {a, b});
}

Reg Emitter::Select(Reg condition, Reg a, Reg b) {
  if (const auto k = AsI64(condition)) return *k != 0 ? a : b;
  return Shared(Op::Select, Type::I64(), 0, {condition, a, b});
}

Reg Emitter::And(Reg a, Reg b) {
  if (!a.valid() || a == b) return b;
  if (!b.valid()) return a;
  const auto x = AsI64(a), y = AsI64(b);
  if (x) return *x != 0 ? b : a;
  if (y) return *y != 0 ? a : b;
  return Shared(Op::And, Type::Bool(), 0, {a, b});
}

Reg Emitter::AddTerm(Reg sum, const Affine::Term& term) {
  const bool subtract = sum.valid() && term.coeff < 0 && term.coeff != INT64_MIN;
  const Reg product = Mul(I64(subtract ? -term.coeff : term.coeff), term.value);
  if (!sum.valid()) return product;
  return subtract ? Sub(sum, product) : Add(sum, product);
}

void Emitter::AddConstant(Reg& sum, int64_t& constant) {
  if (constant == 0) return;
  if (!sum.valid()) {
    sum = I64(constant);
  } else if (constant < 0 && constant != INT64_MIN) {
    sum = Sub(sum, I64(-constant));
  } else {
    sum = Add(sum, I64(constant));
  }
  constant = 0;
}

// Terms are added from the outermost scope inwards, so that each partial sum is made as far out as
// it can be; the constant joins the first of them.
Reg Emitter::Linear(const Affine& a, Reg base) {
  int64_t constant = a.constant;
  Affine::Terms all = a.terms, terms;
  if (base.valid()) all.push_back({base, 1});
  for (const Affine::Term& t : all) {
    if (const auto k = AsI64(t.value)) {
      constant = Wrap(Bits(constant) + Bits(t.coeff) * Bits(*k));
    } else {
      terms.push_back(t);
    }
  }
  const auto rank = [&](const Affine::Term& t) {
    return std::tuple(ScopeOf(t.value), t.coeff < 0, t.value != base, t.value);
  };
  std::sort(terms.begin(), terms.end(),
            [&](const auto& x, const auto& y) { return rank(x) < rank(y); });
  Reg sum = ir::kNoValue;
  if (!terms.empty() && terms[0].coeff < 0) AddConstant(sum, constant);
  if (!terms.empty() && terms[0].coeff < 0 && !sum.valid()) {
    // Start from a positive term rather than negate.
    const auto positive =
        std::find_if(terms.begin(), terms.end(), [](const auto& t) { return t.coeff > 0; });
    if (positive != terms.end()) std::rotate(terms.begin(), positive, positive + 1);
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    if (i > 0 && ScopeOf(terms[i].value) != ScopeOf(terms[i - 1].value)) AddConstant(sum, constant);
    sum = AddTerm(sum, terms[i]);
  }
  AddConstant(sum, constant);
  return sum.valid() ? sum : I64(0);
}

// `k - i - 1 >= 0` is `k > i` only where nothing wraps: the difference itself is compared with 0.
Reg Emitter::Holds(const ir::Constraint& c) {
  return Compare(c.equality ? Op::Eq : Op::Ge, Linear(c.e), I64(0));
}

// --- extents

Reg Emitter::Dim(Reg array, int axis, Reg root) {
  const Key key{Op::Dim, DType::kI64, static_cast<uint64_t>(axis), {root}};
  if (const Reg known = Find(key, 0); known.valid()) return known;
  Node node;
  node.kind = Node::Kind::kDim;
  node.bits = static_cast<uint64_t>(axis);
  node.args = {array};
  return Remember(key, std::move(node), Type::I64(), 0);
}

Reg Emitter::Offset(ir::AffineSpan subs, const std::vector<Reg>& extents) {
  Reg offset = Linear(subs[0]);
  for (size_t axis = 1; axis < subs.size(); ++axis) {
    offset = Linear(subs[axis], Mul(offset, extents[axis]));
  }
  return offset;
}

}  // namespace pullback::loops
