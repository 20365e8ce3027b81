// Integers of straight-line code as affine forms of points, sizes and what is read from arrays: what patterns that
// are told before anything runs are written in (symbolic_pattern.h). Integers are meant as whole numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/box.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// An integer that is no affine form of others: the extent of an axis, an element of an array, a quotient.
struct PatternAtom {
  ir::Op op = ir::Op::Const;
  uint64_t bits = 0;                 // Dim: the axis
  ir::Value array;                   // Dim, Index
  std::vector<ir::Affine> operands;  // Index: subscripts
  bool operator==(const PatternAtom&) const = default;
};
using PatternAtoms = std::map<ir::Value, PatternAtom>;

// 0 <= var < extent
struct PatternPoint {
  ir::Value var;
  ir::Affine extent;
};

// Holds for some of the points.
struct PatternCondition {
  std::vector<PatternPoint> points;
  std::vector<ir::Constraint> where;
};

class PatternIntegers {
 public:
  // `code`: instructions of f, in order; must outlive this. f gets new values.
  PatternIntegers(ir::Function& f, const std::vector<ir::Inst>& code);

  // Of a value outside of statements. Sizes that a check makes equal are one.
  std::optional<ir::Affine> Form(ir::Value v) const;
  std::optional<ir::Affine> Extent(ir::Value array, size_t axis);
  // An element of an array of integers: by what its statement stores there, else by the name of the array.
  std::optional<ir::Affine> Element(ir::Value array, std::vector<ir::Affine> at);
  ir::Affine Of(PatternAtom atom);

  PatternPoint NewPoint(ir::Value like, const ir::Affine& extent);
  // e with `by` in place of a point, in what atoms are of as well.
  ir::Affine Substitute(const ir::Affine& e, ir::Value point, const ir::Affine& by);
  bool Mentions(const ir::Affine& e, ir::Value point) const;
  // Within an atom of e.
  bool Reads(const ir::Affine& e, ir::Value point) const;

  // nullptr: a parameter, or nothing outside of statements.
  const ir::Inst* DefinitionOf(ir::Value v) const;
  size_t ResultNumber(ir::Value v) const { return definitions_.at(v).result; }
  const ir::Function& function() const { return f_; }
  const analysis::Box& box() const { return box_; }
  const PatternAtoms& atoms() const { return atoms_; }

 private:
  struct Definition {
    const ir::Inst* inst;
    size_t result;
  };
  void Learn(const ir::Inst& inst);
  std::optional<ir::Affine> FormOf(const ir::Inst& inst);
  void Equate(const ir::Affine& a, const ir::Affine& b);
  ir::Affine Canonical(ir::Affine e) const;
  bool IsSize(const ir::Affine& e) const;
  // The first value outside of statements that has its name.
  bool OwnsName(ir::Value v) const;
  bool IsNamed(ir::Value atom) const { return !f_.names[atom.id].empty(); }

  ir::Function& f_;
  analysis::Box box_;
  PatternAtoms atoms_;
  std::map<ir::Value, Definition> definitions_;
  std::map<ir::Value, ir::Affine> forms_;
  std::map<std::string, ir::Value> owners_;
  std::map<ir::Value, ir::Affine> equal_;  // extents, by what checks say of them
};

// What an integer operation makes of its operands; those of Index are its subscripts.
std::optional<ir::Affine> PatternForm(PatternIntegers& integers, const ir::Inst& inst,
                                      const std::vector<ir::Affine>& operands);

// The integers and bools of a statement's body at a point.
class PatternPlace {
 public:
  // `at`: the statement's indices.
  PatternPlace(PatternIntegers& integers, const ir::Each& each, std::map<ir::Value, ir::Affine> at);

  // What is guarded counts as itself where its guard is among those that hold; elsewhere nothing is known of it.
  void Assume(ir::Value guard);
  std::optional<ir::Affine> Form(ir::Value v);
  std::optional<ir::Affine> Form(const ir::Affine& e);
  // Where a bool is `wanted`, as a disjunction. What depends on floats or calls counts as true.
  std::vector<PatternCondition> Where(ir::Value v, bool wanted = true);
  std::vector<PatternCondition> Where(ir::ConstraintSpan constraints, bool wanted = true);

 private:
  const ir::Inst* DefinitionOf(ir::Value v) const;
  std::optional<ir::Affine> FormOf(const ir::Inst& inst);
  std::vector<PatternCondition> WhereUnguarded(const ir::Inst& inst, bool wanted);
  std::vector<PatternCondition> Compared(const ir::Inst& inst, bool wanted);
  std::optional<std::vector<PatternCondition>> Exists(const ir::Inst& inst, bool wanted);

  PatternIntegers& all_;
  std::map<ir::Value, ir::Affine> at_;
  std::map<ir::Value, const ir::Inst*> defs_;
  std::map<ir::Value, bool> assumed_;
};

// A disjunction of conditions; of too many what always holds.
using PatternConditions = std::vector<PatternCondition>;
PatternConditions AnyOf(PatternConditions a, const PatternConditions& b);
PatternConditions BothOf(const PatternConditions& a, const PatternConditions& b);

}  // namespace pullback::ad
