// Writes one random program: language_program.cc what surrounds it, the other language_*.cc its parts.
#pragma once

#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/language_program.h"

namespace pullback::testing {

// Names in scope by type. Those in *_vars may be assigned.
struct LanguageScope {
  std::vector<std::string> scalars, scalar_vars;
  std::vector<std::string> vectors, vector_vars;     // [n]f64
  std::vector<std::string> matrices, matrix_vars;    // [n, n]f64
  std::vector<std::string> indices;                  // [n]i64, in 0..n
  std::vector<std::string> lists, list_vars;         // list f64, never empty
  std::vector<std::string> points, point_vars;       // struct Point
  std::vector<std::string> trees;                    // struct Tree
  std::vector<std::string> functions;                // fn(f64) -> f64 without effects
  std::vector<std::string> sharing;                  // the same, assigning captured variables
  std::vector<std::string> boxes;                    // box f64
  std::vector<std::string> pullbacks;                // fn(f64) -> f64 that vjp gave
  std::vector<std::string> narrows, narrow_vectors;  // f32, [m]f32; both or none
  std::vector<std::string> flags;                    // bool
};

class LanguageWriter {
 public:
  explicit LanguageWriter(uint32_t seed);
  LanguageProgram Write();

 private:
  int Pick(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  bool Chance(int percent) { return Pick(100) < percent; }
  const std::string& One(const std::vector<std::string>& list) {
    return list[static_cast<size_t>(Pick(static_cast<int>(list.size())))];
  }
  void Count(const std::string& what) { ++program_.constructs[what]; }
  double Number() { return 0.05 + 0.013 * Pick(100); }
  Tensor Array(int64_t count);
  std::string Literal();
  std::string Fresh(const char* prefix) {
    const std::string name = prefix + std::to_string(next_++);
    return name == "i64" || name == "f64" || name == "f32" ? name + "_" : name;
  }
  void Line(const std::string& text) { out_ << std::string(2 * indent_, ' ') << text << "\n"; }
  // Runs `body` one level in; names made inside are gone afterwards.
  template <typename Fn>
  void Inside(Fn&& body) {
    const LanguageScope scope = scope_;
    ++indent_;
    body();
    --indent_;
    scope_ = scope;
  }

  // --- language_program.cc
  LanguageProgram Finished();
  void Helper();
  void Recursion();
  void Entry();
  std::string Parameters();  // of the entry; gives them arguments
  std::string Result();      // of the entry
  std::string Everything();  // a sum over all that is in scope
  std::string WithDeclarations(const std::string& body) const;

  // --- language_expressions.cc
  std::string Scalar(int depth);
  std::string Leaf();
  std::string ScalarFunction(const std::string& operand);
  std::string Binary(int depth);
  std::string Choice(int depth);
  std::string HigherOrder(int depth);
  std::string Reduction(int depth);
  std::string Data();
  std::string Index(const std::string& list);
  std::string FunctionValue(int depth);  // of the type fn(f64) -> f64
  std::string Lambda(int depth);
  std::string Vector(int depth);
  std::string Point(int depth);

  // --- language_statements.cc
  void Statement(int depth);
  void Let(const std::string& value);
  void Assign();
  void If(int depth);
  void For(int depth);
  void While(int depth);
  void Tuple();
  void VectorStatement();
  void ListStatement();
  void ListOfRecords();
  void StructStatement();
  void TreeStatement();
  void LambdaStatement();
  void SharedStatement();
  void BoxStatement();
  void DynamicStatement();
  void FunctionsAsData();

  void FlagStatement();

  // --- language_structs.cc
  void StructArrayStatement();
  void StructArrayUpdate(const std::string& name);

  // --- language_arrays.cc
  void NewVector(const std::string& value, bool variable = false);
  std::string Matrix();
  void MatrixStatement();
  void SliceStatement();
  void GatherStatement();
  void ReductionStatement();
  void ScanStatement();

  // --- language_loops.cc
  void SnapshotLoop(int depth);
  std::string SnapshotHead(const std::string& state, const std::string& i);
  void SnapshotExit(const std::string& state, const std::string& i);
  void EarlyReturn();
  void MutualRecursion();
  void FoldStatement();
  void SharedByMany();
  std::string Condition();

  // --- language_straight.cc
  std::string StraightVector(const std::string& i);
  void Polynomial(const std::string& i);
  void StraightEntry();

  // --- language_small.cc
  void SmallEntry();
  void RuledEntry(const Tensor& x, const Tensor& y);
  void MatrixEntry(const Tensor& x);
  void RulesAgree();

  // --- language_corners.cc
  void CornerStatement();

  // --- language_boxes.cc
  std::pair<std::string, std::string> BoxSteps(const std::string& start);
  void BoxesAreVariables();

  // --- language_mutation.cc
  void UpdatedAndRead();
  void CounterStatement();
  void RowReduction();
  void WholesInCalls();

  // --- language_narrow.cc
  std::string Narrow(int depth);
  void NarrowStatement();

  // --- language_pairs.cc
  static constexpr size_t kPairs = 36;
  std::string Applied(const std::string& op, const std::string& f);
  std::string Repeated(const std::string& f, int order, bool forward);
  void OperatorPair(size_t which);
  void Stopped();

  // --- language_derivatives.cc
  bool MayDerive() const { return level_ < 2 && derivatives_ < 3; }
  std::string Derivative(int depth);
  std::string PureFunction(int depth);  // inside a derivative operator, used twice
  void PullbackStatement();
  void ArrayDerivatives();
  void DataDerivatives();
  void ModesAgree();  // two ways to one derivative: their difference is 0

  LanguageProgram program_;
  const uint32_t seed_;
  std::mt19937 rng_;
  std::ostringstream out_;
  LanguageScope scope_;
  std::vector<std::string> helpers_, recursions_, mutual_, early_, residuals_;
  std::set<std::string> early_kept_;  // those whose loops keep few states
  std::string index_;                 // in a comprehension
  bool kinks_ = false, pure_ = false, entry_ = false;
  int n_ = 2, next_ = 0, level_ = 0, derivatives_ = 0;
  size_t indent_ = 1;
};

}  // namespace pullback::testing
