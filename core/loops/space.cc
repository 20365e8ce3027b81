#include "core/loops/space.h"

#include <algorithm>

namespace pullback::loops {

using ir::Affine;
using ir::Constraint;
using ir::Value;

const SpaceIndex* Space::Find(Value var) const {
  for (const SpaceIndex& i : indices) {
    if (i.var == var) return &i;
  }
  return nullptr;
}

bool Space::IsBox() const {
  return tests.empty() && std::all_of(indices.begin(), indices.end(), [](const SpaceIndex& i) {
           return i.pinned || i.IsWholeLoop();
         });
}

Affine Space::Resolve(Affine e) const {
  for (const SpaceIndex& i : indices) {
    if (i.pinned && i.divisor == 1) e = e.Substitute(i.var, i.value);
  }
  return e;
}

int Space::LevelOf(const Affine& e) const {
  int level = 0;
  for (const Affine::Term& t : e.terms) {
    if (const SpaceIndex* i = Find(t.value)) level = std::max(level, i->level);
  }
  return level;
}

namespace {

class Planner {
 public:
  Planner(const ir::Each& each, Bounds& bounds) : bounds_(bounds) {
    for (const ir::IndexVar& i : each.indices) {
      SpaceIndex index;
      index.var = i.var;
      index.extent = i.extent;
      space_.indices.push_back(std::move(index));
      bounds_.DeclareIndex(i.var, i.extent);
    }
    for (const Constraint& c : each.where) (c.equality ? equalities_ : inequalities_).push_back(c);
  }

  Space Plan() {
    for (const bool unit_only : {true, false}) {
      for (size_t k = 0; k < equalities_.size(); ++k) Pin(k, unit_only);
    }
    SetLevels();
    AddIndices();
    for (const Constraint& c : equalities_) {
      if (!(c.e == Affine{})) AddTest(c);
    }
    for (const Constraint& c : inequalities_) Restrict(c.e, space_.depth);
    return std::move(space_);
  }

 private:
  // The last index of e that is not an affine form of others.
  SpaceIndex* Innermost(const Affine& e) {
    for (size_t k = space_.indices.size(); k-- > 0;) {
      if (e.Coeff(space_.indices[k].var) != 0) return &space_.indices[k];
    }
    return nullptr;
  }

  void Pin(size_t k, bool unit_only);
  void SubstituteEverywhere(Value var, const Affine& e);
  void SetLevels();
  void AddIndices();
  void AddTest(const Constraint& c, int64_t divisor = 0);
  void Restrict(const Affine& e, int latest);
  SpaceIndex* LoopAt(int level);
  bool Narrow(const Affine& e, int level);

  Bounds& bounds_;
  Space space_;
  std::vector<Constraint> equalities_, inequalities_;
};

// c * var + rest == 0 gives var = value / |c|.
void Planner::Pin(size_t k, bool unit_only) {
  const Affine e = equalities_[k].e;
  SpaceIndex* i = Innermost(e);
  if (!i || i->pinned) return;  // a test
  const int64_t c = e.Coeff(i->var);
  const bool unit = c == 1 || c == -1;
  if (!unit && (unit_only || c == INT64_MIN || !bounds_.IsTame(e))) return;
  const Affine rest = e.Substitute(i->var, Affine{});
  i->pinned = true;
  i->divisor = c > 0 ? c : -c;
  i->value = c > 0 ? rest * -1 : rest;
  equalities_[k].e = Affine{};
  if (unit) SubstituteEverywhere(i->var, i->value);
}

void Planner::SubstituteEverywhere(Value var, const Affine& e) {
  for (auto* list : {&equalities_, &inequalities_}) {
    for (Constraint& c : *list) c.e = c.e.Substitute(var, e);
  }
  for (SpaceIndex& i : space_.indices) i.value = i.value.Substitute(var, e);
}

void Planner::SetLevels() {
  for (SpaceIndex& i : space_.indices) {
    if (!i.pinned) i.level = ++space_.depth;
  }
  for (SpaceIndex& i : space_.indices) {
    if (i.pinned) i.level = space_.LevelOf(i.value);
  }
}

// An index that is no loop keeps its range as constraints, which its being in range must not prove.
void Planner::AddIndices() {
  for (const SpaceIndex& i : space_.indices) {
    if (!i.pinned) bounds_.AddIndex(i.var, i.extent, i.level);
    if (i.pinned) bounds_.ForgetIndex(i.var);
    if (i.pinned && i.divisor == 1) bounds_.Substitute(i.var, i.value);
  }
  for (const SpaceIndex& i : space_.indices) {
    if (!i.pinned) continue;
    if (i.divisor != 1) AddTest({i.value, true}, i.divisor);
    const Affine last = Affine::Of(i.extent) - Affine::Const(1);
    // A quotient's range holds where the quotient is made, which may be outside of a loop that has no turns.
    const int latest = i.divisor == 1 ? space_.depth : i.level;
    Restrict(i.value, latest);
    Restrict(last * i.divisor - i.value, latest);
    if (i.divisor != 1) bounds_.AddIndex(i.var, i.extent, i.level);
  }
}

void Planner::AddTest(const Constraint& c, int64_t divisor) {
  const int level = space_.LevelOf(c.e);
  space_.tests.push_back({c, divisor, level});
  if (divisor != 0) return;
  bounds_.AddFact({c.e, level, false});
  if (c.equality) bounds_.AddFact({c.e * -1, level, false});
}

SpaceIndex* Planner::LoopAt(int level) {
  for (SpaceIndex& i : space_.indices) {
    if (!i.pinned && i.level == level) return &i;
  }
  return nullptr;
}

// e >= 0: nothing to do when that is known with `latest` loops open, else a bound of the innermost loop, else a test.
void Planner::Restrict(const Affine& e, int latest) {
  if (bounds_.Prove(e) <= latest) return;
  const int level = space_.LevelOf(e);
  if (Narrow(e, level)) {
    bounds_.AddFact({e, level, false});
  } else {
    AddTest({e, false});
  }
}

bool Planner::Narrow(const Affine& e, int level) {
  SpaceIndex* loop = LoopAt(level);
  if (!loop) return false;
  const int64_t c = e.Coeff(loop->var);
  const Affine rest = e.Substitute(loop->var, Affine{});
  const bool tame = bounds_.IsTame(e), unit = c == 1 || c == -1;
  if (c == 0 || space_.LevelOf(rest) == level || !(tame || unit)) return false;
  if (!tame) {
    loop->wrapping.push_back({rest, c});
  } else if (c > 0) {
    loop->lower.push_back({rest * -1, c});
  } else {
    loop->upper.push_back({rest, -c});
  }
  return true;
}

}  // namespace

Space PlanSpace(const ir::Each& each, Bounds& bounds) { return Planner(each, bounds).Plan(); }

}  // namespace pullback::loops
