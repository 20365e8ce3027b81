// Relations in brackets. A statement whose bracket relates its indices runs over the tuples of the
// relation, and reads the indices from them:
//
//   sum i < n, j < m { [r(i, j)] * w[i, j] }
//   each(p < tuples) { i = r0[p]; j = r1[p]; w[i, j] } sum []
//
// What else a bracket with `and` says is a guard there, and another relation is joined: it is followed
// from the indices that are known. An index that a bracket sets equal to what is read somewhere,
// [j == k[i]], is that value.
#pragma once

#include "core/base/relation.h"
#include "core/lang/lower_comprehension.h"

namespace pullback::lang {

// A relation in memory.
struct Tuples {
  Leaves leaves;
  RelationLayout layout;
  Value Domain() const { return leaves[layout.Domain()].value; }
  Value Coordinate(size_t axis) const { return leaves[layout.Coordinate(axis)].value; }
  Value Start(size_t axis) const { return leaves[layout.Start(axis)].value; }
  Value Order(size_t axis) const { return leaves[layout.Order(axis)].value; }
};

// r(i, j)
bool IsRelated(const Expr& e);

// What is left of a relation whose argument would trap at some points. There the statement runs over all that the
// relation could tell, elsewhere over tuples.
struct Opened {
  Value told;                      // whether this is a tuple
  std::vector<Value> coordinates;  // its indices, by axis; kNoValue: one that it tells
};
struct Condition {
  const Expr* e;
  std::optional<Opened> opened;
};

// --- lower_relation.cc (body mode)
// Whether the predicates, which the body of the innermost frame's statement stands under, tell indices
// of it.
bool BindsIndices(Context& c, const Statement& s, const std::vector<const Expr*>& predicates);
// Makes the innermost frame run over the tuples of the relations among the predicates, where that can
// be; what must hold besides joins the guard. Gives the predicates that are left, in order.
std::vector<Condition> BindRelations(Context& c, Statement& s,
                                     const std::vector<const Expr*>& predicates);
// Adds a condition to the guard in force; an opened one with its arguments as written, where they may trap.
bool AddGuard(Context& c, const Condition& condition);
// An equation of an index with what it does not determine: the index becomes that value.
bool PinIndex(Context& c, Statement& s, const Expr& equation);

// --- lower_either.cc
// The `or` in the body of a sum (or gen, or exists) that is lowered case by case; nullptr: there is none.
const Expr* FindEither(Context& c, const Expr& e);
// Whether a condition is one of a case that is being lowered.
bool IsOfCase(const Context& c, const Expr& condition);
// What `lower` gives for all cases of the comprehension together.
std::optional<Leaves> InCases(Context& c, const Expr& e,
                              const std::function<std::optional<Leaves>()>& lower);

// --- lower_member.cc
// r(i, j) as a bool: a search.
MaybeValue LowerRelated(Context& c, const Expr& e);
// The relation that a call of it names, where that takes no code.
std::optional<Tuples> TuplesOf(Context& c, const Expr& related);
// Block mode: where the tuples with index `key` begin and end in `starts`.
std::pair<Value, Value> TuplesWith(Context& c, Value starts, const Affine& key);
// Block mode: all pairs of a place in `keys` and a place in the order that `starts` tells, of a tuple
// with that key. With `all`, a place where the key is kOpenKey goes with -1, -2, …, -all instead.
std::pair<Value, Value> JoinTuples(Context& c, Value keys, Value starts, Value all = {});

}  // namespace pullback::lang
