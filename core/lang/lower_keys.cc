// Arguments of relations that are read from data or computed from indices: r(k[i], j), r(2 * i, j), r(i + l, j).
// Such a key becomes an index that the statement reads, as if another relation had told it.
#include "core/lang/lower_keys.h"

#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_tuples.h"

namespace pullback::lang {
namespace {

using ir::Inst;

// What holds at every point of the frames' boxes that is reached: of the indices that are not restricted, that
// there are any. nullopt: a frame runs over tuples.
std::optional<std::vector<Constraint>> Reached(const Context& c) {
  std::vector<Constraint> reached;
  for (const auto& frame : c.frames) {
    const bool box = std::all_of(frame->bound.begin(), frame->bound.end(),
                                 [&](const auto& i) { return frame->keys.count(i.var.id) != 0; });
    if (!box) return std::nullopt;
    reached.insert(reached.end(), frame->where.begin(), frame->where.end());
    for (const ir::IndexVar& i : frame->indices) {
      const Affine some = c.AffineFor(i.extent) - Affine::Const(1);
      if (!IsNonNegative(c, some)) reached.push_back({some, false});
    }
  }
  return reached;
}

// The key, made by an instruction that has the guard under which the program evaluates it.
MaybeValue LowerMarked(Context& c, const Expr& e) {
  PB_TRY(const Value v, LowerScalar(c, e));
  return c.b.Make(Op::Add, {v, c.b.I64(0)});
}

// The key and what it is made from, under the predicates and the guard in force.
std::optional<KeyChain> ChainUnder(Context& c, const Expr& e,
                                   const std::vector<const Expr*>& before) {
  Guard outer = c.guard;
  bool good = true;
  for (const Expr* p : before) good = good && AddGuard(c, *p);
  MaybeValue v;
  if (good && c.guard.any) {
    GuardValue(c);
    GuardedRegion region(c, outer);
    v = LowerMarked(c, e);
  } else if (good) {
    v = LowerMarked(c, e);
  }
  c.guard = outer;
  if (!v) return std::nullopt;
  ApplyGuards(c);
  return ChainOf(c, *v, /*guarded=*/true);
}

// The key where it may trap: only where the program evaluates it, as far as the indices that it is made from
// tell that.
std::optional<KeyChain> TrappingChain(Context& c, const Expr& e,
                                      const std::vector<const Expr*>& before) {
  const auto reached = Reached(c);
  const bool plain =
      std::all_of(before.begin(), before.end(), [&](const Expr* p) { return LooksLikeKey(c, *p); });
  if (!reached || !plain) return std::nullopt;
  PB_TRY(KeyChain chain, ChainUnder(c, e, before));
  TrapOnlyWhere(c, chain, *reached);
  return chain;
}

std::optional<KeyChain> LowerKeyChain(Context& c, const Expr& e,
                                      const std::vector<const Expr*>& before) {
  if (!LooksLikeKey(c, e)) return std::nullopt;
  std::vector<Inst>& body = c.frame().body;
  const size_t size = body.size();
  PB_TRY(const Value v, LowerScalar(c, e));
  std::optional<KeyChain> chain = ChainOf(c, v, /*guarded=*/false);
  if (chain && MayTrap(c, *chain)) {
    body.resize(size);
    chain = TrappingChain(c, e, before);
  } else if (chain && IsBeyond(c, *chain)) {
    KeepInside(c, *chain);
  }
  body.resize(size);
  return chain && !chain->insts.empty() ? chain : std::nullopt;
}

// The innermost frame that has an index, or what stands for one, from which the chain is made; and one of those.
// None: it is made of values of blocks. False: of something else, too.
bool FindFrame(Context& c, const KeyChain& chain, Frame*& frame, ir::IndexVar& source) {
  std::unordered_set<uint32_t> inside, outside;
  for (const Inst& inst : chain.insts) {
    for (Value v : inst.results) inside.insert(v.id);
    ir::ForEachOperand(inst, [&](Value v) {
      if (inside.count(v.id) == 0 && c.OwnerOf(v) != 0) outside.insert(v.id);
    });
  }
  frame = nullptr;
  for (const auto& f : c.frames) {
    for (const auto* list : {&f->indices, &f->bound}) {
      for (const ir::IndexVar& i : *list) {
        if (outside.erase(i.var.id) == 0) continue;
        frame = f.get();
        source = i;
      }
    }
  }
  return outside.empty();
}

Key BlockKey(Context& c, KeyChain chain) {
  const bool guarded = std::any_of(chain.insts.begin(), chain.insts.end(),
                                   [](const Inst& i) { return i.guard.valid(); });
  if (guarded) return Key{Affine::Of(AtOnePoint(c, chain.insts, {chain.value})[0]), {}};
  AtBlock block(c);
  for (Inst& inst : chain.insts) c.b.Append(std::move(inst));
  return Key{Affine::Of(chain.value), {}};
}

// It speaks of an index that the relation tells.
bool IsTold(Context& c, const Expr& e, const Arguments& a) {
  std::vector<Inst>& body = c.frame().body;
  const size_t size = body.size();
  const MaybeValue v = LowerScalar(c, e);
  const auto chain = v ? ChainOf(c, *v, /*guarded=*/true) : std::nullopt;
  bool told = !chain || Tells(a, *v);
  if (chain) {
    for (const Inst& inst : chain->insts) {
      ir::ForEachOperand(inst, [&](Value operand) { told = told || Tells(a, operand); });
    }
  }
  body.resize(size);
  return told;
}

// The key of BindOpenKey. nullopt: it cannot trap, or one cannot ask whether it does.
std::optional<KeyChain> OpenChain(Context& c, const Expr& e, const std::vector<const Expr*>& before,
                                  const Arguments& a) {
  if (!IsCheckable(c, e)) return std::nullopt;
  std::vector<const Expr*> known;
  for (const Expr* p : before) {
    if (IsCheckable(c, *p) && !IsTold(c, *p, a)) known.push_back(p);
  }
  PB_TRY(KeyChain chain, ChainUnder(c, e, known));
  if (!MayTrap(c, chain) || !KeepOpen(c, chain)) return std::nullopt;
  return chain;
}

}  // namespace

std::optional<Key> BindKeyChain(Context& c, KeyChain chain) {
  Frame* frame = nullptr;
  ir::IndexVar source;
  if (!FindFrame(c, chain, frame, source)) return std::nullopt;
  Rename(c, chain);
  if (!frame) return BlockKey(c, std::move(chain));
  std::move(chain.insts.begin(), chain.insts.end(), std::back_inserter(frame->reads));
  frame->bound.push_back({chain.value, source.extent});
  frame->keys.insert(chain.value.id);
  Key key{Affine::Of(chain.value), {}};
  for (const ir::IndexVar& i : SourcesOf(c, chain.value)) key.sources.push_back(i.var);
  return key.sources.empty() ? std::nullopt : std::optional<Key>(std::move(key));
}

std::optional<Key> BindKey(Context& c, const Expr& e, const std::vector<const Expr*>& before) {
  PB_TRY(KeyChain chain, LowerKeyChain(c, e, before));
  return BindKeyChain(c, std::move(chain));
}

std::optional<Key> BindOpenKey(Context& c, const Expr& e, const std::vector<const Expr*>& before,
                               const Arguments& a) {
  std::vector<Inst>& body = c.frame().body;
  const size_t size = body.size();
  std::optional<KeyChain> chain = OpenChain(c, e, before, a);
  body.resize(size);
  if (!chain) return std::nullopt;
  PB_TRY(Key key, BindKeyChain(c, *std::move(chain)));
  key.open = true;
  return key;
}

}  // namespace pullback::lang
