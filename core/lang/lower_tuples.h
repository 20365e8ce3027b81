// How a statement comes to run over the tuples of a relation (lower_relation.h).
#pragma once

#include "core/lang/lower_keys.h"
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
  bool open = false;                          // the one that is joined or fixed may be kOpenKey
};
bool Tells(const Arguments& a, Value index);

// --- lower_keys.cc
// An argument that is a key (lower_keys.h): an index that the innermost frame of its sources reads from now on, or a
// value of the block where it has none. Where it may trap, it does so where the program evaluates it: where the
// predicates `before` it hold. nullopt: it is none, or that cannot be told without what the relation tells.
struct Key {
  Affine form;
  std::vector<Value> sources;
  bool open = false;
};
std::optional<Key> BindKey(Context& c, const Expr& e, const std::vector<const Expr*>& before);
// The same of one that may trap where what the relation tells decides that, or where a frame runs over tuples: it
// does not trap here, but is kOpenKey where it would. Of `before`, what does not speak of what `a` tells narrows that.
std::optional<Key> BindOpenKey(Context& c, const Expr& e, const std::vector<const Expr*>& before,
                               const Arguments& a);
// Makes the chain an index of the innermost frame that it is made from.
std::optional<Key> BindKeyChain(Context& c, KeyChain chain);
// --- lower_filter.cc
// Makes the innermost frame run over the points of an index at which the condition holds or would trap. It is left to be
// asked there. False: it speaks of more than one index.
bool FilterIndex(Context& c, const Statement& s, const Expr& p);
// --- lower_joins.cc
// The indices of statements that a bound index is made from, outermost first; none: it cannot be followed from
// them.
std::vector<ir::IndexVar> SourcesOf(const Context& c, Value bound);
// The bound index for every point of the box of its sources, in row-major order, as an array.
Value KeysOf(Context& c, Value bound, const std::vector<ir::IndexVar>& sources);
// How many points the box of the sources has.
Value PointCount(Context& c, const std::vector<ir::IndexVar>& sources);
// The values of the sources at the point with this number; appended where code goes.
std::vector<Value> PointOf(Context& c, Value place, const std::vector<ir::IndexVar>& sources);
bool Contains(const std::vector<ir::IndexVar>& list, Value v);
// The innermost frame's own index gives its place to a new one, over so many places; kNoValue: that is added.
Value ReplaceIndex(Context& c, Value index, const Affine& extent);
// What the `where`s of the frames say of such indices. Where they are bound, it cannot stay there, which knows no
// values of bodies.
std::vector<Constraint> ConstraintsOn(const Context& c, const std::function<bool(Value)>& is_one);
void DropConstraints(Context& c, const std::vector<Constraint>& constraints);
// An index around the statement becomes one of its result's, by which only a sum may be scattered.
bool MayJoin(const Context& c, const Statement& s, const std::vector<ir::IndexVar>& sources);
// The innermost frame runs over pairs of a point of the sources and a place that goes with the key there (JoinTuples).
// There, the sources are read from the pairs.
struct Joined {
  Value place;  // among the pairs
  Value right;  // by place
};
Joined JoinSources(Context& c, const Statement& s, Value key,
                   const std::vector<ir::IndexVar>& sources, Value starts, Value all);
// A frame has something that stands for this index of a frame around it.
bool IsAdopted(const Context& c, Value index);

// For an index that the statement will not run over: its range may still not end before it begins.
void RequireRange(Context& c, const Statement& s, const ir::IndexVar& index);

// --- lower_tuples.cc
// Makes the innermost frame run over the tuples. False: it is left as it was, since what it holds
// already does not allow it. What is left to be asked of an open relation is `opened`.
bool BindTuples(Context& c, const Statement& s, Tuples tuples, Arguments a,
                std::optional<Opened>& opened);

}  // namespace pullback::lang
