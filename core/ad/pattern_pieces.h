// Unions of pieces of a pattern: what is solved, dropped and counted twice in them (symbolic_pattern.h).
#pragma once

#include <optional>
#include <vector>

#include "core/ad/pattern_integers.h"

namespace pullback::ad {

// Elements: for all points in their extents where the constraints hold, the one with these subscripts.
struct PatternPiece {
  std::vector<PatternPoint> points;
  std::vector<ir::Affine> element;
  std::vector<ir::Constraint> where;
};

class PatternPieces {
 public:
  // `extents`: of the axes of the elements.
  PatternPieces(PatternIntegers& integers, std::vector<ir::Affine> extents)
      : all_(integers), extents_(std::move(extents)) {}

  // False where there would be too many, or of too much.
  bool Add(PatternPiece piece);
  const std::vector<PatternPiece>& pieces() const { return pieces_; }
  std::vector<PatternPiece>& pieces() { return pieces_; }
  // Every element is a point of the piece, without condition but that axes which are summed over are not empty.
  bool IsEverything(const PatternPiece& piece) const;
  // Pieces that differ in an equality and an inequality become one.
  void Join();

 private:
  enum class Left : uint8_t { kPiece, kNothing, kTooMuch };
  Left Reduce(PatternPiece& piece, std::vector<PatternPiece>& more);
  bool SolveOne(PatternPiece& piece);
  bool Eliminate(PatternPiece& piece, std::vector<PatternPiece>& more);
  std::optional<ir::Affine> Solved(const ir::Constraint& c, ir::Value point) const;
  void DropImplied(PatternPiece& piece) const;
  bool InElement(const PatternPiece& piece, ir::Value point) const;
  bool Covers(const PatternPiece& outer, const PatternPiece& inner);
  PatternPiece Apart(const PatternPiece& piece);
  bool SaysSomething(const ir::Constraint& c) const;
  bool IsWhole(const PatternPiece& piece, const PatternPoint& point) const;

  PatternIntegers& all_;
  const std::vector<ir::Affine> extents_;
  std::vector<PatternPiece> pieces_;
  std::vector<ir::Value> apart_;  // points of the outer one of two that are compared
};

// With `by` in place of a point.
void SubstitutePoint(PatternIntegers& integers, PatternPiece& piece, ir::Value point,
                     const ir::Affine& by);

}  // namespace pullback::ad
