#include "tests/core/pipeline/symbolic_check.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <set>

namespace pullback::pipeline {
namespace {

using Element = std::vector<int64_t>;
using Elements = std::set<Element>;

// What is read out of range is of no point.
struct OutOfRange {};
// Arrays that the program computes.
struct NotKnown {};

class Evaluator {
 public:
  Evaluator(const ad::SymbolicPatterns& all, const std::vector<Tensor>& args)
      : all_(all), args_(args) {}

  // False: not known.
  bool AddPiece(const ad::PatternPiece& piece, Elements& out) {
    try {
      At(piece, 0, out);
      return true;
    } catch (NotKnown) {
      return false;
    }
  }

 private:
  void At(const ad::PatternPiece& piece, size_t k, Elements& out) {
    if (k < piece.points.size()) {
      const int64_t extent = Value(piece.points[k].extent);
      for (int64_t i = 0; i < extent; ++i) {
        points_[piece.points[k].var] = i;
        At(piece, k + 1, out);
      }
      return;
    }
    try {
      for (const ir::Constraint& c : piece.where) {
        const int64_t e = Value(c.e);
        if (c.equality ? e != 0 : e < 0) return;
      }
      Element element;
      for (const ir::Affine& e : piece.element) element.push_back(Value(e));
      out.insert(std::move(element));
    } catch (OutOfRange) {
    }
  }

  int64_t Value(const ir::Affine& e) {
    int64_t sum = e.constant;
    for (const ir::Affine::Term& t : e.terms) sum += t.coeff * Value(t.value);
    return sum;
  }

  const Tensor* Argument(ir::Value v) const {
    const ir::Values& params = all_.function.params();
    const auto it = std::find(params.begin(), params.end(), v);
    return it == params.end() ? nullptr : &args_[static_cast<size_t>(it - params.begin())];
  }

  int64_t Value(ir::Value v) {
    if (const auto it = points_.find(v); it != points_.end()) return it->second;
    if (const auto it = all_.atoms.find(v); it != all_.atoms.end()) return Value(it->second);
    const Tensor* scalar = Argument(v);
    if (scalar == nullptr) throw NotKnown();
    return scalar->At<int64_t>(0);
  }

  int64_t Value(const ad::PatternAtom& atom) {
    if (atom.op == ir::Op::Dim || atom.op == ir::Op::Index) {
      const Tensor* array = Argument(atom.array);
      if (array == nullptr) throw NotKnown();
      return atom.op == ir::Op::Dim ? array->shape[atom.bits] : Read(*array, atom.operands);
    }
    const int64_t a = Value(atom.operands[0]);
    const int64_t b = atom.operands.size() > 1 ? Value(atom.operands[1]) : 0;
    if (b == 0 && (atom.op == ir::Op::Div || atom.op == ir::Op::Rem)) throw OutOfRange();
    switch (atom.op) {
      case ir::Op::Mul: return a * b;
      case ir::Op::Div: return a / b;
      case ir::Op::Rem: return a % b;
      case ir::Op::Min: return std::min(a, b);
      case ir::Op::Max: return std::max(a, b);
      case ir::Op::Abs: return std::abs(a);
      default: throw NotKnown();
    }
  }

  int64_t Read(const Tensor& array, const std::vector<ir::Affine>& subscripts) {
    int64_t flat = 0;
    for (size_t axis = 0; axis < subscripts.size(); ++axis) {
      const int64_t at = Value(subscripts[axis]);
      if (at < 0 || at >= array.shape[axis]) throw OutOfRange();
      flat = flat * array.shape[axis] + at;
    }
    return array.At<int64_t>(flat);
  }

  const ad::SymbolicPatterns& all_;
  const std::vector<Tensor>& args_;
  std::map<ir::Value, int64_t> points_;
};

Elements Found(const CooBlock& block) {
  Elements all;
  for (int64_t e = 0; e < static_cast<int64_t>(block.values.size()); ++e) {
    Element element;
    for (const Tensor& axis : block.coordinates) element.push_back(axis.At<int64_t>(e));
    all.insert(std::move(element));
  }
  return all;
}

int64_t Count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

}  // namespace

ToldPatterns CheckTold(const ir::Module& ssa, Transform transform, const std::vector<bool>& wrt,
                       const std::vector<Tensor>& args, const std::vector<CooBlock>& found) {
  const StatusOr<ad::SymbolicPatterns> all = FindSymbolicPatterns(ssa, transform, wrt);
  REQUIRE(all.ok());
  REQUIRE(all->blocks.size() == found.size());
  ToldPatterns count;
  for (size_t k = 0; k < found.size(); ++k) {
    if (!all->blocks[k]) continue;
    INFO("block " << k);
    const Elements want = Found(found[k]);
    if (all->blocks[k]->everywhere) {
      count += {1, static_cast<int64_t>(want.size()) == Count(found[k].shape)};
      continue;
    }
    Elements told;
    const auto add = [&](const ad::PatternPiece& piece) {
      return Evaluator(*all, args).AddPiece(piece, told);
    };
    const auto& pieces = all->blocks[k]->pieces;
    if (!std::all_of(pieces.begin(), pieces.end(), add)) continue;
    for (const Element& element : told) {
      for (size_t axis = 0; axis < element.size(); ++axis) {
        CHECK(element[axis] >= 0);
        CHECK(element[axis] < found[k].shape[axis]);
      }
    }
    CHECK(std::includes(told.begin(), told.end(), want.begin(), want.end()));
    count += {1, told == want};
  }
  return count;
}

}  // namespace pullback::pipeline
