#include "core/lang/lower_stmt.h"

#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_list.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_place.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_spell.h"
#include "core/lang/lower_walk.h"

namespace pullback::lang {
namespace {

// --- variables

// Those that have a value here, variables of an outer scope; not those that stand in boxes.
Variables Bound(const Context& c, Variables variables) {
  std::erase_if(variables, [&](uint32_t v) {
    return c.at->locals[v].empty() || c.at->function->locals[v].shared;
  });
  return variables;
}

std::vector<Leaves> Snapshot(const Context& c, const Variables& variables) {
  std::vector<Leaves> values;
  for (uint32_t v : variables) values.push_back(c.at->locals[v]);
  return values;
}

void Restore(Context& c, const Variables& variables, const std::vector<Leaves>& values) {
  for (size_t i = 0; i < variables.size(); ++i) c.at->locals[variables[i]] = values[i];
}

Exit ExitHere(Context& c, const Variables& variables) {
  c.module.Charge(variables.size());
  return {c.b.block(), Snapshot(c, variables)};
}

std::string LeafName(const std::string& name, size_t leaf, size_t leaves) {
  return leaves == 1 ? name : name + "." + std::to_string(leaf);
}

std::string NameOf(const Context& c, uint32_t local) { return c.at->function->locals[local].name; }

// --- joins

struct JoinLeaf {
  std::vector<Value> incoming;  // by exit
  Value result;
  bool is_param = false;
};

bool SameExtents(Context& c, const std::vector<Value>& arrays) {
  for (Value v : arrays) {
    if (c.DimsOf(v) != c.DimsOf(arrays[0])) return false;
  }
  return true;
}

JoinLeaf MakeJoinLeaf(Context& c, uint32_t block, std::vector<Value> incoming,
                      const std::string& name) {
  JoinLeaf leaf{std::move(incoming), {}, false};
  leaf.result = leaf.incoming[0];
  for (Value v : leaf.incoming) leaf.is_param = leaf.is_param || !(v == leaf.result);
  if (!leaf.is_param) return leaf;
  leaf.result = c.b.AddParam(block, c.b.TypeOf(leaf.incoming[0]), name);
  return leaf;
}

// What is known of a parameter, once the builder stands in its block.
void DescribeParam(Context& c, const JoinLeaf& leaf) {
  if (!leaf.is_param || !c.b.TypeOf(leaf.result).IsArray()) return;
  if (SameExtents(c, leaf.incoming)) {
    c.SetDims(leaf.result, c.DimsOf(leaf.incoming[0]));
  } else {
    c.ReadDims(leaf.result);
  }
}

std::vector<Leaves> Join(Context& c, const std::vector<Exit>& exits,
                         const std::vector<std::string>& names) {
  const uint32_t join = c.b.NewBlock();
  std::vector<Leaves> results;
  std::vector<JoinLeaf> all;
  for (size_t v = 0; v < exits[0].values.size(); ++v) {
    const size_t leaves = exits[0].values[v].size();
    results.emplace_back();
    for (size_t l = 0; l < leaves; ++l) {
      std::vector<Value> incoming;
      for (const Exit& e : exits) incoming.push_back(e.values[v][l].value);
      all.push_back(MakeJoinLeaf(c, join, std::move(incoming), LeafName(names[v], l, leaves)));
      results.back().push_back({all.back().result, nullptr});
    }
  }
  for (size_t e = 0; e < exits.size(); ++e) {
    std::vector<Value> args;
    for (const JoinLeaf& leaf : all) {
      if (leaf.is_param) args.push_back(leaf.incoming[e]);
    }
    c.b.SetBlock(exits[e].block);
    c.b.Jump(join, args);
  }
  c.b.SetBlock(join);
  for (const JoinLeaf& leaf : all) DescribeParam(c, leaf);
  return results;
}

// --- loops

// Jumps to a new loop header whose parameters are the variables, and goes on there.
uint32_t EnterHeader(Context& c, const Block& body, const Variables& variables,
                     std::vector<Value> args, uint32_t header) {
  std::vector<std::pair<Value, Value>> arrays;  // parameter, what comes in first
  for (uint32_t v : variables) {
    Leaves& leaves = c.at->locals[v];
    for (size_t l = 0; l < leaves.size(); ++l) {
      const Value in = leaves[l].value;
      const Value p =
          c.b.AddParam(header, c.b.TypeOf(in), LeafName(NameOf(c, v), l, leaves.size()));
      args.push_back(in);
      if (!c.b.TypeOf(in).IsArray()) {
        leaves[l].value = p;
        continue;
      }
      if (OnlyElementsAssigned(body, v)) c.SetDims(p, c.DimsOf(in));
      leaves[l].value = p;
      arrays.emplace_back(p, in);
    }
  }
  c.b.Jump(header, args);
  c.b.SetBlock(header);
  for (const auto& [p, in] : arrays) {
    if (c.dims.find(p.id) == c.dims.end()) c.ReadDims(p);
  }
  return header;
}

std::vector<Value> FlatValues(const Context& c, const Variables& variables) {
  std::vector<Value> out;
  for (uint32_t v : variables) {
    for (const Leaf& leaf : c.at->locals[v]) out.push_back(leaf.value);
  }
  return out;
}

// The loop's body; afterwards the builder stands in its one latch. False: there is no way back.
bool LowerLoopBody(Context& c, const Block& body, Loop& loop) {
  c.loops.push_back(&loop);
  const bool live = LowerStatements(c, body);
  c.loops.pop_back();
  if (live) loop.continues.push_back(ExitHere(c, loop.variables));
  return JoinExits(c, loop.continues, loop.variables);
}

bool LeaveLoop(Context& c, Loop& loop) { return JoinExits(c, loop.breaks, loop.variables); }

Value LowerSnapshots(Context& c, const Stmt& s) {
  return s.snapshots ? c.ToValue(*LowerInt(c, *s.snapshots)) : ir::kNoValue;
}

// A header that goes on says how many of the loop's states are kept.
void MarkHeader(Context& c, uint32_t header, Value snapshots) {
  ir::Terminator& term = c.b.function().blocks[header].term;
  if (!term.edges.empty()) term.snapshots = snapshots;
}

bool LowerWhile(Context& c, const Stmt& s) {
  const Value snapshots = LowerSnapshots(c, s);
  const Variables assigned = AssignedIn(s.body);
  const GatherAhead ahead(c, s.body, assigned);
  const Variables variables = Bound(c, assigned);
  const uint32_t header = EnterHeader(c, s.body, variables, {}, c.b.NewBlock());
  Loop loop{variables, {}, {}};
  const bool forever = s.value->kind == Expr::Kind::kBool && s.value->int_value != 0;
  const std::vector<Leaves> at_header = Snapshot(c, variables);
  if (!forever) {
    const uint32_t body = c.b.NewBlock();
    const uint32_t exit = c.b.NewBlock();
    LowerBranch(c, *s.value, body, exit);
    loop.breaks.push_back({exit, at_header});
    c.b.SetBlock(body);
  }
  if (LowerLoopBody(c, s.body, loop)) c.b.Jump(header, FlatValues(c, variables));
  MarkHeader(c, header, snapshots);
  return LeaveLoop(c, loop);
}

bool LowerFor(Context& c, const Stmt& s) {
  const Affine lo = s.binder.lo ? *LowerInt(c, *s.binder.lo) : Affine::Const(0);
  const Affine hi_form = *LowerInt(c, *s.binder.hi);
  const Value first = c.ToValue(lo);
  const Value hi = c.ToValue(hi_form);
  const Value snapshots = LowerSnapshots(c, s);
  const Variables assigned = AssignedIn(s.body);
  Variables changing = assigned;
  changing.push_back(s.binder.local);
  const GatherAhead ahead(c, s.body, changing);
  const Variables variables = Bound(c, assigned);
  const uint32_t header = c.b.NewBlock();
  const Value i = c.b.AddParam(header, ir::Type::I64(), s.binder.name);
  EnterHeader(c, s.body, variables, {first}, header);
  if (IsSmall(c, lo) && IsSmall(c, hi_form)) c.small.insert(i.id);
  if (IsNonNegative(c, lo)) c.sizes.insert(i.id);
  c.counters[i.id] = {lo, hi_form - Affine::Const(1)};
  c.at->locals[s.binder.local] = {{i, nullptr}};
  Loop loop{variables, {}, {}};
  const uint32_t body = c.b.NewBlock();
  const uint32_t exit = c.b.NewBlock();
  c.b.Branch(c.b.Make(Op::Lt, {i, hi}), {body, {}}, {exit, {}});
  loop.breaks.push_back({exit, Snapshot(c, variables)});
  c.b.SetBlock(body);
  if (LowerLoopBody(c, s.body, loop)) {
    std::vector<Value> args = {c.Integer(Op::Add, i, c.I64(1))};
    for (Value v : FlatValues(c, variables)) args.push_back(v);
    c.b.Jump(header, args);
  }
  MarkHeader(c, header, snapshots);
  return LeaveLoop(c, loop);
}

bool LeaveTo(Context& c, bool is_break) {
  Loop& loop = *c.loops.back();
  (is_break ? loop.breaks : loop.continues).push_back(ExitHere(c, loop.variables));
  return false;
}

// --- if

bool LowerIf(Context& c, const std::vector<CondArm>& arms) {
  const Variables variables = Bound(c, AssignedIn(arms));
  const std::vector<Leaves> before = Snapshot(c, variables);
  std::vector<Exit> exits;
  for (const CondArm& arm : arms) {
    uint32_t next = 0;
    if (arm.cond) {
      const uint32_t taken = c.b.NewBlock();
      next = c.b.NewBlock();
      LowerBranch(c, *arm.cond, taken, next);
      c.b.SetBlock(taken);
    }
    if (LowerStatements(c, arm.body)) exits.push_back(ExitHere(c, variables));
    Restore(c, variables, before);
    if (arm.cond) c.b.SetBlock(next);
  }
  if (arms.back().cond) exits.push_back(ExitHere(c, variables));
  return JoinExits(c, exits, variables);
}

// --- lets and assignments

// Splits the leaves of a tuple among the targets; one target takes all of them.
std::vector<Leaves> Distribute(const Stmt& s, const Leaves& leaves) {
  if (s.targets.size() == 1) return {leaves};
  std::vector<Leaves> out;
  size_t next = 0;
  for (const Type& t : s.value->type.elements) {
    out.emplace_back();
    for (size_t n = FlatCount(t); n > 0; --n) out.back().push_back(leaves[next++]);
  }
  return out;
}

// False: a declared size that cannot be checked here.
bool CheckAnnotation(Context& c, const Stmt& s, const Leaves& leaves) {
  if (!s.annotation) return true;
  std::vector<const TypeExpr*> types;
  Flatten(*s.annotation, types);
  c.SetLoc(s.ordinal);
  for (size_t i = 0; i < types.size(); ++i) {
    if (!CheckDeclared(c, *types[i], leaves[i])) return false;
  }
  return true;
}

}  // namespace

bool LowerLet(Context& c, const Stmt& s) {
  const uint32_t first_new = c.ValueCount();
  std::optional<Leaves> leaves;
  if (c.InBody()) {
    leaves = Lower(c, *s.value);
  } else {
    leaves = LowerStored(c, *s.value);
    NoteMatrix(c, s);
  }
  if (!leaves || !CheckAnnotation(c, s, *leaves)) return false;
  const std::vector<Leaves> parts = Distribute(s, *leaves);
  for (size_t i = 0; i < s.targets.size(); ++i) {
    const Local& local = c.at->function->locals[s.targets[i].local];
    Leaves value = parts[i];
    if (c.InBody()) {
      c.at->texts[s.targets[i].local] = s.value.get();
      c.SetLoc(s.value->ordinal);
      if (!StoreIfDear(c, *c.at->function, s.targets[i].local, value)) return false;
    }
    if (local.shared) {
      if (c.InBody()) return false;
      const uint32_t record = c.module.RecordOf(local.type.elements[0]);
      value = {{c.b.BoxNew(record, ValuesOf(c, value)), nullptr}};
    }
    c.Name(value, s.targets[i].name, first_new);
    c.at->locals[s.targets[i].local] = std::move(value);
  }
  return true;
}

namespace {

const Type& TypeOf(const Context& c, const Target& t) {
  const Local& local = c.at->function->locals[t.local];
  return local.shared ? local.type.elements[0] : local.type;
}

// Changes what is in a box. Meanwhile the box holds nothing large, so that what is taken out of it
// has one owner.
void AssignShared(Context& c, const Target& t, const Change& change) {
  const Value box = c.at->locals[t.local][0].value;
  Leaves leaves = change.value;
  if (!t.path.empty()) {
    leaves = LeavesOf(c, c.b.BoxGet(box));
    std::vector<Value> nothing;
    for (const Leaf& leaf : leaves) nothing.push_back(Nothing(c, leaf.value));
    c.b.BoxSet(box, nothing);
    PB_CHECK(ChangePlace(c, TypeOf(c, t), t.path, leaves, change));
  }
  c.b.BoxSet(box, ValuesOf(c, leaves));
}

// Puts what the change has at the target.
void Assign(Context& c, const Target& t, Change change) {
  const uint32_t first_new = c.ValueCount();
  change.loc = c.at->base + t.ordinal - c.at->function->first_ordinal;
  if (c.at->function->locals[t.local].shared) return AssignShared(c, t, change);
  Leaves& leaves = c.at->locals[t.local];
  PB_CHECK(ChangePlace(c, TypeOf(c, t), t.path, leaves, change));
  c.Name(leaves, t.name, first_new);
}

// x[i] += e and x[i] -= e without reading x[i] (x - e is x + -e, bit for bit), a row of it as well.
bool LowerElementSum(Context& c, const Stmt& s) {
  const bool sum = s.augmented_op == BinaryOp::kAdd || s.augmented_op == BinaryOp::kSub;
  const Target& t = s.targets[0];
  if (!s.augmented || !sum || !EndsInArray(TypeOf(c, t), t.path)) return false;
  if (s.value->kind != Expr::Kind::kBinary || s.value->binary != s.augmented_op) return false;
  Change change = LowerPath(c, t.path);
  change.value = LowerStored(c, *s.value->operands[1]);
  change.adds = true;
  change.negates = s.augmented_op == BinaryOp::kSub;
  Assign(c, t, std::move(change));
  return true;
}

void LowerAssign(Context& c, const Stmt& s) {
  if (LowerElementSum(c, s)) return;
  const uint32_t first_new = c.ValueCount();
  std::vector<Change> changes;
  for (const Target& t : s.targets) changes.push_back(LowerPath(c, t.path));
  const std::vector<Leaves> parts = Distribute(s, LowerStored(c, *s.value));
  for (size_t i = 0; i < s.targets.size(); ++i) {
    changes[i].value = parts[i];
    Assign(c, s.targets[i], std::move(changes[i]));
    c.Name(c.at->locals[s.targets[i].local], s.targets[i].name, first_new);
  }
}

bool LowerReturn(Context& c, const Stmt& s) {
  std::vector<Value> results;
  if (s.value) {
    const Leaves leaves = LowerStored(c, *s.value);
    std::vector<const TypeExpr*> types;
    Flatten(c.at->function->result, types);
    c.SetLoc(s.ordinal);
    for (size_t i = 0; i < leaves.size(); ++i) {
      CheckDeclared(c, *types[i], leaves[i]);
      results.push_back(leaves[i].value);
    }
  }
  c.b.Return(results);
  return false;
}

bool LowerStatement(Context& c, const Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::kLet:
    case Stmt::Kind::kVar: PB_CHECK(LowerLet(c, s)); return true;
    case Stmt::Kind::kAssign: LowerAssign(c, s); return true;
    case Stmt::Kind::kIf: return LowerIf(c, s.arms);
    case Stmt::Kind::kWhile: return LowerWhile(c, s);
    case Stmt::Kind::kFor: return LowerFor(c, s);
    case Stmt::Kind::kBreak: return LeaveTo(c, true);
    case Stmt::Kind::kContinue: return LeaveTo(c, false);
    case Stmt::Kind::kReturn: return LowerReturn(c, s);
    case Stmt::Kind::kCall: PB_CHECK(Lower(c, *s.value).has_value()); return true;
  }
  return true;
}

}  // namespace

bool LowerStatements(Context& c, const Block& block) {
  PB_CHECK(!c.InBody());
  for (const StmtPtr& s : block.stmts) {
    if (c.module.IsTooLarge() || !LowerStatement(c, *s)) return false;
  }
  return true;
}

bool LowerLets(Context& c, const Block& block) { return LowerLets(c, block, block.stmts.size()); }

bool LowerLets(Context& c, const Block& block, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Stmt& s = *block.stmts[i];
    const bool let = s.kind == Stmt::Kind::kLet || s.kind == Stmt::Kind::kVar;
    if (!let || !LowerLet(c, s)) return false;
  }
  return true;
}

bool JoinExits(Context& c, const std::vector<Exit>& exits, const Variables& variables) {
  if (exits.empty()) return false;
  if (exits.size() == 1) {
    c.b.SetBlock(exits[0].block);
    Restore(c, variables, exits[0].values);
    return true;
  }
  std::vector<std::string> names;
  for (uint32_t v : variables) names.push_back(NameOf(c, v));
  Restore(c, variables, Join(c, exits, names));
  return true;
}

Leaves JoinValues(Context& c, const std::vector<Exit>& exits) {
  PB_CHECK(!exits.empty());
  if (exits.size() == 1) {
    c.b.SetBlock(exits[0].block);
    return exits[0].values[0];
  }
  return Join(c, exits, {""})[0];
}

void StartDeadBlock(Context& c) { c.b.SetBlock(c.b.NewBlock()); }

}  // namespace pullback::lang
