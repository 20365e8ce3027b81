#include "core/opt/streams.h"

#include <algorithm>

#include "core/ir/block_loops.h"
#include "core/ir/statements.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

std::optional<int64_t> Stream::TurnsBefore(const Affine& own, const Affine& other) const {
  const Affine away = (own - other) * step;
  const bool known = away.IsConst() && 0 <= away.constant && away.constant <= kMostRowsKept;
  return known ? std::optional(away.constant) : std::nullopt;
}

StreamFinder::StreamFinder(const ir::Function& f)
    : f_(f),
      dominators_(f),
      defs_(f),
      front_(dominators_, defs_, FrontValues::Made::kStatements),
      extents_(f),
      own_(f),
      around_(ir::LoopsAround(f, dominators_)) {}

std::vector<RowLoop> StreamFinder::Loops() const {
  std::vector<RowLoop> found;
  for (const BlockLoop& loop : FindLoops(f_, dominators_)) {
    const std::optional<Counter> counter = FindCounterByOnes(f_, loop, defs_);
    if (!counter || loop.latches.size() != 1 || f_.blocks[loop.header].term.snapshots.valid())
      continue;
    RowLoop l{loop, counter->param, f_.blocks[loop.header].params[counter->param],
              FormOf(Affine::Of(loop.Arguments(f_)[counter->param])),
              FormOf(Affine::Of(counter->bound))};
    if (IsTame(l.first) && IsTame(l.bound) && IsInFront(l.first, loop) && IsInFront(l.bound, loop))
      found.push_back(std::move(l));
  }
  return found;
}

// A sum of extents and numbers wraps nowhere.
bool StreamFinder::IsTame(const Affine& form) const {
  return form.AsValue().valid() || IsOfDims(form, defs_) || IsNotNegative(form, defs_);
}

Affine StreamFinder::FormOf(const Affine& a) const {
  const Affine form = opt::FormOf(a, defs_);
  Affine sum = Affine::Const(form.constant);
  for (const Affine::Term& t : form.terms)
    sum = sum + Affine::Of(extents_.First(t.value)) * t.coeff;
  return sum;
}

bool StreamFinder::IsInFront(const Affine& a, const BlockLoop& loop) const {
  return std::all_of(a.terms.begin(), a.terms.end(),
                     [&](const Affine::Term& t) { return front_.IsInFront(t.value, loop); });
}

bool StreamFinder::IsBehind(uint32_t block, const BlockLoop& loop) const {
  if (loop.Holds(block) || !dominators_.Dominates(loop.header, block)) return false;
  std::set<uint32_t> around = around_[loop.header];
  around.erase(loop.header);
  return around == around_[block];
}

bool StreamFinder::IsAtLeast0(const Affine& form, std::vector<Affine> facts) const {
  std::set<Value> terms;
  const auto add = [&](const Affine& a) {
    for (const Affine::Term& t : a.terms) terms.insert(t.value);
  };
  add(form);
  for (const Affine& fact : facts) add(fact);
  for (Value v : terms) {
    if (IsNotNegative(Affine::Of(v), defs_)) facts.push_back(Affine::Of(v));
  }
  return LeastOf(form, facts).value_or(-1) >= 0;
}

bool StreamFinder::IsWithin(const Affine& form, Value extent,
                            const std::vector<Affine>& facts) const {
  return IsAtLeast0(form, facts) &&
         IsAtLeast0(FormOf(Affine::Of(extent)) - form - Affine::Const(1), facts);
}

std::vector<Affine> StreamFinder::FactsBehind(const BlockLoop& loop, uint32_t block,
                                              size_t place) const {
  const auto is_size = [&](Value v) { return IsNotNegative(Affine::Of(v), defs_); };
  TurnFacts facts;
  for (uint32_t b = block; b != loop.header; b = dominators_.Idom(b)) {
    const std::vector<Inst>& insts = f_.blocks[b].insts;
    for (size_t k = 0; k < (b == block ? place : insts.size()); ++k) {
      if (insts[k].op == Op::Check) Learn(f_, insts[k].args[0], true, is_size, defs_, facts);
    }
    if (b == 0) break;
  }
  return std::move(facts.at_least_0);
}

ir::Values StreamFinder::ShapeOf(Value array, const BlockLoop& loop) const {
  ir::Values shape;
  const Inst* inst = defs_.Inst(array);
  for (; inst != nullptr && (inst->op == Op::Update || inst->op == Op::AddAt);
       inst = defs_.Inst(array))
    array = inst->args[0];
  for (size_t axis = 0; axis < f_.TypeOf(array).rank; ++axis) {
    const Value extent =
        inst != nullptr && inst->op == Op::Zeros ? inst->args[axis] : extents_.Of(array, axis);
    if (!extent.valid() || !front_.IsInFront(extent, loop)) return {};
    shape.push_back(extent);
  }
  return shape;
}

Streams StreamFinder::Find(const RowLoop& l) const {
  Streams found;
  for (size_t k = 0; k < f_.blocks[l.loop.header].params.size(); ++k) {
    std::optional<Stream> s = Find(l, k);
    if (!s) continue;
    if (!found.empty()) {
      const Affine ahead = s->row - found[0].row;
      if (s->step != found[0].step || !ahead.IsConst()) continue;
      s->ahead = ahead.constant;
    }
    found.push_back(*std::move(s));
  }
  return found;
}

std::optional<Stream> StreamFinder::Find(const RowLoop& l, size_t param) const {
  const Value array = f_.blocks[l.loop.header].params[param];
  if (!f_.TypeOf(array).IsArray() || f_.TypeOf(array).rank < 2) return std::nullopt;
  const Value start = l.loop.Arguments(f_)[param];
  Stream s{l, param, array, start, ShapeOf(start, l.loop), 0, {}, 0, 0, {}, {}, 0, true};
  if (s.shape.empty() || own_.IsNoLarger(s.shape) || !FindVersions(s) || !HoldsOnlyVersions(s) ||
      !FindRows(s))
    return std::nullopt;
  return s;
}

// What stores to it give, and what parameters of blocks in the loop get of these.
bool StreamFinder::FindVersions(Stream& s) const {
  const auto add = [&](Value v) { return s.versions.insert(v.id).second; };
  bool stored = false;
  for (bool more = true; more;) {
    more = false;
    for (uint32_t b : s.l.loop.blocks) {
      for (const Inst& inst : f_.blocks[b].insts) {
        if ((inst.op == Op::Update || inst.op == Op::AddAt) && s.IsVersion(inst.args[0]))
          stored |= more |= add(inst.results[0]);
      }
      for (const ir::Edge& e : f_.blocks[b].term.edges) {
        if (e.block == s.l.loop.header || !s.l.loop.Holds(e.block)) continue;
        for (size_t k = 0; k < e.args.size(); ++k) {
          if (s.IsVersion(e.args[k])) more |= add(f_.blocks[e.block].params[k]);
        }
      }
    }
  }
  return stored;
}

// Nothing else comes to where a version is, and versions go nowhere else.
bool StreamFinder::HoldsOnlyVersions(const Stream& s) const {
  const BlockLoop& loop = s.l.loop;
  for (uint32_t b : loop.blocks) {
    for (const ir::Edge& e : f_.blocks[b].term.edges) {
      for (size_t k = 0; k < e.args.size(); ++k) {
        const bool to_header = e.block == loop.header;
        const bool is_place =
            to_header ? k == s.param
                      : loop.Holds(e.block) && s.versions.contains(f_.blocks[e.block].params[k].id);
        if (is_place != s.IsVersion(e.args[k])) return false;
      }
    }
  }
  return true;
}

// A turn stores to one row, and reads that and few before.
bool StreamFinder::FindRows(Stream& s) const {
  const auto is_version = [&](Value v) { return s.IsVersion(v); };
  const auto for_each_access = [&](auto&& fn) {
    for (uint32_t b : s.l.loop.blocks) {
      const std::vector<Inst>& insts = f_.blocks[b].insts;
      for (size_t k = 0; k < insts.size(); ++k) {
        bool any = false;
        ir::ForEachOperand(insts[k], [&](Value v) { any |= is_version(v); });
        if (any && !fn(insts[k], b, k)) return false;
      }
    }
    return true;
  };
  const auto is_store = [](const Inst& inst) {
    return inst.op == Op::Update || inst.op == Op::AddAt;
  };
  const auto steps_by_one = [&](const Affine& row) {
    const int64_t step = row.Coeff(s.l.turn);
    return step == 1 || step == -1;
  };
  for_each_access([&](const Inst& inst, uint32_t, size_t) {
    for (s.axis = 0; is_store(inst) && s.axis < inst.subs.size(); ++s.axis) {
      s.row = FormOf(inst.subs[s.axis]);
      if (steps_by_one(s.row)) return false;
    }
    return true;
  });
  if (!steps_by_one(s.row)) return false;
  s.step = s.row.Coeff(s.l.turn);
  const Affine rest = s.row - Affine::Of(s.l.turn) * s.step;
  if (!IsInFront(rest, s.l.loop)) return false;
  return for_each_access([&](const Inst& inst, uint32_t b, size_t k) {
    if (inst.op == Op::Dim) return true;
    if (b == s.l.loop.header) return false;  // no turn has begun
    if (is_store(inst)) {
      return is_version(inst.args[0]) && !is_version(inst.args[1]) && HasRowAt(inst, b, k, s) &&
             s.before.at(&inst) == 0;
    }
    if (!inst.each) return inst.op == Op::Index && HasRowAt(inst, b, k, s);
    const auto& results = inst.each->results;
    return std::none_of(results.begin(), results.end(),
                        [&](const ir::EachResult& r) { return is_version(r.into); }) &&
           std::all_of(inst.each->body.begin(), inst.each->body.end(), [&](const Inst& body) {
             return std::none_of(body.args.begin(), body.args.end(), is_version) ||
                    (body.op == Op::Index && HasRowAt(body, b, k, s));
           });
  });
}

// That of the turn, or of few turns before, whatever is said at that place.
bool StreamFinder::HasRowAt(const Inst& access, uint32_t block, size_t place, Stream& s) const {
  const Affine row = FormOf(access.subs[s.axis]), turn = Affine::Of(s.l.turn);
  std::optional<int64_t> before = s.TurnsBefore(s.row, row);
  const std::vector<Affine> of_turn = {turn - s.l.first, s.l.bound - turn - Affine::Const(1)};
  const bool is_there = IsWithin(row, s.rows(), of_turn);
  if (before == 0 && !is_there) s.is_always_there = false;
  if (!before || !is_there) {
    const ir::Each* each = f_.blocks[block].insts[place].each.get();
    const std::vector<Affine> facts = FactsAt(block, place, each, access.guard, s.l);
    if (!IsWithin(row, s.rows(), facts)) return false;
    const Affine away = (s.row - row) * s.step;
    const bool is_own =
        IsAtLeast0(away, facts) && IsAtLeast0(away * -1, facts);  // z[0] where i is 0
    if (!before && is_own) before = 0;
  }
  if (!before) return false;
  s.before[&access] = *before;
  s.kept = std::max(s.kept, *before);
  return true;
}

// What a guard in a body says, so far as it speaks of the turn alone.
void StreamFinder::LearnGuard(const ir::Each& each, Value guard, bool holds, const RowLoop& l,
                              TurnFacts& facts) const {
  const Inst* test = guard.valid() ? ir::FindDef(each, guard) : nullptr;
  if (test == nullptr) {
    if (guard.valid()) Learn(f_, guard, holds, [&](Value v) { return v == l.turn; }, defs_, facts);
    return;
  }
  if (test->op == Op::Not) return LearnGuard(each, test->args[0], !holds, l, facts);
  if (test->op == (holds ? Op::And : Op::Or)) {
    for (Value part : test->args) LearnGuard(each, part, holds, l, facts);
    return;
  }
  if (test->op != Op::Holds || (!holds && test->constraints.size() != 1)) return;
  for (const ir::Constraint& c : test->constraints) {
    const Affine form = FormOf(c.e);
    const auto is_known = [&](const Affine::Term& t) {
      return std::abs(t.coeff) == 1 && (t.value == l.turn || IsOfDims(Affine::Of(t.value), defs_));
    };
    if (!std::all_of(form.terms.begin(), form.terms.end(), is_known)) continue;
    if (c.equality) {
      if (!holds) facts.not_0.push_back(form);
      if (holds) facts.at_least_0.insert(facts.at_least_0.end(), {form, form * -1});
    } else {
      facts.at_least_0.push_back(holds ? form : form * -1 - Affine::Const(1));
    }
  }
}

std::vector<Affine> StreamFinder::FactsAt(uint32_t block, size_t place, const ir::Each* each,
                                          Value guard, const RowLoop& l) const {
  const Affine turn = Affine::Of(l.turn);
  std::vector<Affine> facts = {turn - l.first, l.bound - turn - Affine::Const(1)};
  const auto is_turn = [&](Value v) { return v == l.turn; };
  TurnFacts known = opt::FactsAt(f_, l.loop, block, place, is_turn, dominators_, defs_);
  if (each != nullptr) LearnGuard(*each, guard, true, l, known);
  for (const Affine& fact : known.at_least_0) facts.push_back(FormOf(fact));
  for (const Affine& fact : known.not_0) {
    for (const int64_t sign : {1, -1}) {
      const Affine form = FormOf(fact) * sign;
      if (IsAtLeast0(form, facts)) facts.push_back(form - Affine::Const(1));
    }
  }
  return facts;
}

}  // namespace pullback::opt
