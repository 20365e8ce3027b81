// How a statement comes to run over the tuples of a relation (lower_relation.h).
#pragma once

#include "core/lang/lower_relation.h"

namespace pullback::lang {

// form = sign * index + rest, where rest is made of values of blocks.
struct Solution {
  Value index;
  int64_t sign;
  Affine rest;
  bool own;  // of the innermost frame
};

// How the arguments of r(…) stand to the statement.
struct Arguments {
  std::vector<Affine> forms;
  std::vector<std::optional<Solution>> free;  // by axis: the index that the relation tells
  std::optional<size_t> fixed;                // an axis whose index is known outside
  std::optional<size_t> joined;               // one whose index the statement has already
  std::optional<size_t> around;               // or a statement around it has
  bool keyed = false;                         // that one is a key
};
bool Tells(const Arguments& a, Value index);

// --- lower_keys.cc
// An argument that is a key (lower_keys.h): an index that the innermost frame of its sources reads from now on, or a
// value of the block where it has none. Where it may trap, it does so where the program evaluates it: where the
// predicates `before` it hold. nullopt: it is none, or that cannot be told without what the relation tells.
struct Key {
  Affine form;
  std::vector<Value> sources;
};
std::optional<Key> BindKey(Context& c, const Expr& e, const std::vector<const Expr*>& before);
// --- lower_joins.cc
// The indices of statements that a bound index is made from, outermost first; none: it cannot be followed from
// them.
std::vector<ir::IndexVar> SourcesOf(const Context& c, Value bound);
// The bound index for every point of the box of its sources, in row-major order, as an array.
Value KeysOf(Context& c, Value bound, const std::vector<ir::IndexVar>& sources);
// The values of the sources at the point with this number; appended where code goes.
std::vector<Value> PointOf(Context& c, Value place, const std::vector<ir::IndexVar>& sources);
bool Contains(const std::vector<ir::IndexVar>& list, Value v);
// A frame has something that stands for this index of a frame around it.
bool IsAdopted(const Context& c, Value index);

// For an index that the statement will not run over: its range may still not end before it begins.
void RequireRange(Context& c, const Statement& s, const ir::IndexVar& index);

// --- lower_tuples.cc
// Makes the innermost frame run over the tuples. False: it is left as it was, since what it holds
// already does not allow it.
bool BindTuples(Context& c, const Statement& s, Tuples tuples, Arguments a);

}  // namespace pullback::lang
