#include "core/opt/turn_rows.h"

#include <algorithm>
#include <utility>

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostCases = 16;
constexpr size_t kMostArms = 4;
constexpr size_t kMostOfCase = 64;  // of a case
constexpr int kMostDepth = 4;       // cases of cases
constexpr int64_t kMostTimes = 4;   // a loop's end, beside as often as a turn has rows

Affine Minus(const Affine& a) { return a * -1; }

const ir::IndexVar* IndexIn(const ir::Each& each, Value v) {
  const auto at = std::find_if(each.indices.begin(), each.indices.end(),
                               [&](const ir::IndexVar& i) { return i.var == v; });
  return at == each.indices.end() ? nullptr : &*at;
}

}  // namespace

TurnRows::TurnRows(const ir::Function& f, const std::vector<BlockLoop>& loops,
                   const ir::Dominators& dominators, const DefinitionBlocks& defs)
    : f_(f), dominators_(dominators), defs_(defs), edges_(ir::EdgesTo(ir::Successors(f.blocks))) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    const auto from = edges_[b];
    const bool is_header = std::any_of(from.begin(), from.end(),
                                       [&](uint32_t e) { return dominators.Dominates(b, e / 2); });
    if (is_header || from.size() < 2 || from.size() > kMostArms) continue;
    for (size_t k = 0; k < f.blocks[b].params.size(); ++k)
      joins_[f.blocks[b].params[k].id] = {b, k};
  }
  for (const BlockLoop& loop : loops) {
    const std::optional<Counter> counter = FindCounterByOnes(f, loop, defs);
    if (!counter) continue;
    counters_[f.blocks[loop.header].params[counter->param].id] = {
        FormOf(loop.Arguments(f)[counter->param], defs),
        TimesBound(counter->bound, 1, defs).value_or(FormOf(counter->bound, defs))};
  }
}

// Of which a value is one, case by case; none: it is no such value.
std::vector<Affine> TurnRows::SumsOf(Value v) const {
  if (const auto join = joins_.find(v.id); join != joins_.end()) {
    std::vector<Affine> sums;
    for (uint32_t e : edges_[join->second.block])
      sums.push_back(FormOf(f_.blocks[e / 2].term.edges[e % 2].args[join->second.param], defs_));
    return sums;
  }
  const Inst* inst = defs_.Inst(v);
  if (inst == nullptr) return {};
  const auto form = [&](size_t k) { return FormOf(inst->args[k], defs_); };
  switch (inst->op) {
    case Op::Max:
    case Op::Min: return {form(0), form(1)};
    case Op::Abs: return {form(0), Minus(form(0))};
    case Op::Select: return {form(1), form(2)};
    default: return {};
  }
}

ir::Values TurnRows::TermsOf(const Affine& row) const {
  ir::Values terms;
  std::vector<std::pair<Affine, int>> forms = {{FormOf(row, defs_), kMostDepth}};
  while (!forms.empty()) {
    const auto [form, depth] = std::move(forms.back());
    forms.pop_back();
    for (const Affine::Term& t : form.terms) {
      if (std::find(terms.begin(), terms.end(), t.value) != terms.end()) continue;
      terms.push_back(t.value);
      if (depth == 0) continue;
      for (Affine& sum : SumsOf(t.value)) forms.emplace_back(std::move(sum), depth - 1);
      if (const auto counter = counters_.find(t.value.id); counter != counters_.end())
        forms.emplace_back(counter->second.start, depth - 1);
    }
  }
  return terms;
}

// Between small multiples of extents: sums of few wrap nowhere.
bool TurnRows::IsBounded(Value v, int depth) const {
  if (IsOfDims(Affine::Of(v), defs_) || TimesBound(v, 1, defs_)) return true;
  if (depth == 0) return false;
  if (const auto counter = counters_.find(v.id); counter != counters_.end())
    return IsBounded(counter->second.start, depth - 1) &&
           IsBounded(counter->second.bound, depth - 1);
  const std::vector<Affine> sums = SumsOf(v);
  return !sums.empty() && std::all_of(sums.begin(), sums.end(),
                                      [&](const Affine& sum) { return IsBounded(sum, depth - 1); });
}
bool TurnRows::IsBounded(const Affine& sum, int depth) const {
  return std::all_of(sum.terms.begin(), sum.terms.end(),
                     [&](const Affine::Term& t) { return IsBounded(t.value, depth); });
}

bool TurnRows::IsBounded(const Affine& sum) const { return IsBounded(sum, kMostDepth); }
bool TurnRows::IsExact(const Affine& sum) const { return sum.AsValue().valid() || IsBounded(sum); }

TurnRows::Case TurnRows::With(const Case& c, Value term, const Affine& sum) const {
  Case with = c;
  with.form = c.form.Substitute(term, sum);
  for (TurnFacts* facts : {&with.facts, &with.known}) {
    for (Affine& fact : facts->at_least_0) fact = fact.Substitute(term, sum);
    for (Affine& fact : facts->not_0) fact = fact.Substitute(term, sum);
  }
  return with;
}

// By which of its sums the term is; nothing: it is no term with cases.
std::optional<TurnRows::Cases> TurnRows::Split(const Case& c, Value term,
                                               const Turns& turns) const {
  const std::vector<Affine> sums = SumsOf(term);
  if (sums.empty()) return std::nullopt;
  const auto is_tame = [&](Value v) { return IsBounded(v, kMostDepth); };
  Cases cases;
  for (const Affine& sum : sums) cases.push_back(With(c, term, sum));
  if (const auto join = joins_.find(term.id); join != joins_.end()) {
    size_t k = 0;
    for (uint32_t e : edges_[join->second.block]) {
      const ir::Block& from = f_.blocks[e / 2];
      TurnFacts& facts = cases[k++].facts;
      const TurnFacts there =
          FactsAt(f_, turns.loop, e / 2, from.insts.size(), is_tame, dominators_, defs_);
      facts.at_least_0.insert(facts.at_least_0.end(), there.at_least_0.begin(),
                              there.at_least_0.end());
      facts.not_0.insert(facts.not_0.end(), there.not_0.begin(), there.not_0.end());
      if (from.term.kind == ir::Terminator::Kind::kBranch)
        Learn(f_, from.term.cond, e % 2 == 0, is_tame, defs_, facts);
    }
    return cases;
  }
  const Inst& inst = *defs_.Inst(term);
  if (inst.op == Op::Select) {
    Learn(f_, inst.args[0], true, is_tame, defs_, cases[0].facts);
    Learn(f_, inst.args[0], false, is_tame, defs_, cases[1].facts);
    return cases;
  }
  const Affine more = inst.op == Op::Min ? sums[1] - sums[0] : sums[0] - sums[1];
  cases[0].facts.at_least_0.push_back(more);
  cases[1].facts.at_least_0.push_back(Minus(more));
  return cases;
}

std::optional<TurnRows::Cases> TurnRows::CasesOf(Case all, const Turns& turns) const {
  Cases open = {std::move(all)}, cases;
  while (!open.empty()) {
    const Case c = std::move(open.back());
    open.pop_back();
    std::vector<Affine> forms = c.facts.at_least_0;
    forms.insert(forms.end(), c.facts.not_0.begin(), c.facts.not_0.end());
    forms.push_back(c.form);
    std::optional<Cases> split;
    for (size_t k = 0; k < forms.size() && !split; ++k) {
      for (const Affine::Term& t : forms[k].terms) {
        if (split = Split(c, t.value, turns); split) break;
      }
    }
    if (!split) {
      cases.push_back(c);
      continue;
    }
    if (open.size() + cases.size() + split->size() > kMostCases) return std::nullopt;
    for (Case& one : *split) open.push_back(std::move(one));
  }
  return cases;
}

// What is no less than a maximum is no less than what it is of, and so on.
void TurnRows::WeakenExtrema(std::vector<Affine>& facts) const {
  for (size_t k = 0; k < facts.size() && facts.size() < kMostOfCase; ++k) {
    const Affine fact = facts[k];
    for (const Affine::Term& t : fact.terms) {
      const Inst* def = defs_.Inst(t.value);
      if (!def || def->op != (t.coeff < 0 ? Op::Max : Op::Min)) continue;
      for (const Affine& sum : SumsOf(t.value)) facts.push_back(fact.Substitute(t.value, sum));
      break;
    }
  }
}

// Where the counters start that the facts and the form speak of, and those that their starts do.
void TurnRows::LearnCounters(std::vector<Affine>& facts, const Affine& form) const {
  ir::Values seen;
  const auto learn = [&](const Affine& said) {
    for (const Affine::Term& t : said.terms) {
      const auto counter = counters_.find(t.value.id);
      if (counter == counters_.end() || std::find(seen.begin(), seen.end(), t.value) != seen.end())
        continue;
      seen.push_back(t.value);
      if (!IsExact(counter->second.start)) continue;
      facts.push_back(Affine::Of(t.value) - counter->second.start);
    }
  };
  learn(form);
  for (size_t k = 0; k < facts.size() && facts.size() < kMostOfCase; ++k) learn(Affine(facts[k]));
}

std::vector<const Inst*> TurnRows::IdleChecks(const Turns& turns) const {
  std::vector<const Inst*> idle;
  for (uint32_t b : turns.loop.blocks) {
    const std::vector<Inst>& insts = f_.blocks[b].insts;
    for (size_t k = 0; k < insts.size(); ++k) {
      if (insts[k].op == Op::Check &&
          static_cast<ir::TrapKind>(insts[k].bits) == ir::TrapKind::kIndex &&
          SpanOf(Affine::Of(insts[k].args[1]), insts[k].args[2], b, k, {}, turns, 1))
        idle.push_back(&insts[k]);
    }
  }
  return idle;
}

// Nothing: not near. `first` beyond `last`: the case is never.
std::optional<RowSpan> TurnRows::SpanIn(Case c, const Affine& rows, const Turns& turns,
                                        int64_t step) const {
  std::vector<Affine> facts = std::move(c.facts.at_least_0);
  facts.insert(facts.end(), c.known.at_least_0.begin(), c.known.at_least_0.end());
  LearnCounters(facts, c.form);
  WeakenExtrema(facts);
  for (TurnFacts* of : {&c.facts, &c.known}) {
    for (const Affine& other : of->not_0) {
      if (LeastOf(other, facts) >= 0) facts.push_back(other - Affine::Const(1));
      if (LeastOf(Minus(other), facts) >= 0) facts.push_back(Minus(other) - Affine::Const(1));
    }
  }
  const Affine away = c.form - Affine::Of(turns.counter) * step;
  const std::optional<int64_t> first = LeastOf(away, facts), before = LeastOf(Minus(away), facts);
  if (!first || !before) return std::nullopt;
  const RowSpan span{*first, -*before};
  if (span.first > span.last) return span;
  const bool is_there =
      LeastOf(c.form, facts) >= 0 && LeastOf(rows - c.form - Affine::Const(1), facts) >= 0;
  return is_there ? std::optional(span) : std::nullopt;
}

// Whether it is a sum of the loop's counter, of the statement's indices, if it is in one, and of what is bounded.
bool TurnRows::IsBoundedIn(const ir::Each* each, const Affine& sum, const Turns& turns) const {
  return std::all_of(sum.terms.begin(), sum.terms.end(), [&](const Affine::Term& t) {
    if (t.value == turns.counter) return IsBounded(turns.start) || sum == Affine::Of(turns.counter);
    const ir::IndexVar* index = each ? IndexIn(*each, t.value) : nullptr;
    return IsBounded(index ? FormOf(index->extent, defs_) : Affine::Of(t.value), kMostDepth);
  });
}

// Of integers of blocks and the statement's indices: where these are, and what its space and a conjunction that guards say.
void TurnRows::LearnStatement(const ir::Each& each, Value guard, const Turns& turns,
                              std::vector<Affine>& facts) const {
  for (const ir::IndexVar& i : each.indices) {
    const Affine extent = FormOf(i.extent, defs_);
    if (!IsBounded(extent, kMostDepth)) continue;
    facts.push_back(Affine::Of(i.var));
    facts.push_back(extent - Affine::Of(i.var) - Affine::Const(1));
  }
  const auto learn = [&](const auto& constraints) {
    for (const ir::Constraint& c : constraints) {
      const Affine form = FormOf(c.e, defs_);
      if (!IsBoundedIn(&each, form, turns)) continue;
      facts.push_back(form);
      if (c.equality) facts.push_back(Minus(form));
    }
  };
  learn(each.where);
  for (const Inst& inst : each.body) {
    if (inst.op == Op::Holds && inst.results[0] == guard) learn(inst.constraints);
  }
}

std::optional<RowSpan> TurnRows::SpanOf(const Affine& row, Value rows, uint32_t block, size_t place,
                                        std::optional<size_t> in_body, const Turns& turns,
                                        int64_t step) const {
  const auto is_tame = [&](Value v) { return IsBounded(v, kMostDepth); };
  Case all{
      FormOf(row, defs_), {}, FactsAt(f_, turns.loop, block, place, is_tame, dominators_, defs_)};
  const ir::Each* each = in_body ? f_.blocks[block].insts[place].each.get() : nullptr;
  if (!IsBoundedIn(each, all.form, turns)) return std::nullopt;
  std::vector<Affine>& known = all.known.at_least_0;
  if (IsExact(turns.start)) known.push_back(Affine::Of(turns.counter) - turns.start);
  for (const Affine::Term& t : turns.start.terms) {
    if (IsNotNegative(Affine::Of(t.value), defs_)) known.push_back(Affine::Of(t.value));
  }
  for (int64_t times = 1; times <= step; ++times) {
    if (times > kMostTimes && times < step) continue;
    // Of a quotient only where there are turns from 0 on: (n - 3) / 2 is 0 for n = 2.
    if (!IsOfDims(FormOf(turns.bound, defs_), defs_) && !IsNotNegative(turns.start, defs_))
      continue;
    if (const auto most = TimesBound(turns.bound, times, defs_))
      known.push_back(*most - Affine::Of(turns.counter) * times - Affine::Const(times));
  }
  if (each) LearnStatement(*each, each->body[*in_body].guard, turns, known);
  const std::optional<Cases> cases = CasesOf(std::move(all), turns);
  if (!cases) return std::nullopt;
  std::optional<RowSpan> span;
  for (const Case& c : *cases) {
    const std::optional<RowSpan> of = SpanIn(c, FormOf(rows, defs_), turns, step);
    if (!of) return std::nullopt;
    if (of->first > of->last) continue;
    span = span ? RowSpan{std::min(span->first, of->first), std::max(span->last, of->last)} : *of;
  }
  return span;
}

}  // namespace pullback::opt
