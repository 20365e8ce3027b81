// Which integers are extents, whatever the inputs are.
#include "core/ir/known_extents.h"

#include <catch2/catch.hpp>

#include "core/base/tensor.h"

namespace pullback::ir {
namespace {

constexpr Value kDim{0}, kNumber{1}, kZero{2}, kTwo{3}, kNegative{4}, kTooLong{5};

KnownExtents Some() {
  KnownExtents known;
  known.LearnDim(kDim);
  known.Learn(Op::Const, 0, {}, kZero);
  known.Learn(Op::Const, 2, {}, kTwo);
  known.Learn(Op::Const, static_cast<uint64_t>(-1), {}, kNegative);
  known.Learn(Op::Const, uint64_t{kMaxExtent} + 1, {}, kTooLong);
  return known;
}

TEST_CASE("known extents: where loops start") {
  KnownExtents known = Some();
  const Value turn{20}, inner{21}, next{22}, most{23}, far{24}, other{25}, down{26};
  known.LearnTurn(kZero, turn);
  known.LearnTurn(kNumber, other);
  CHECK(known.IsStart(kTwo));
  CHECK(known.IsStart(turn));
  CHECK_FALSE(known.IsStart(kNumber));
  CHECK_FALSE(known.IsStart(other));
  known.Learn(Op::Add, 0, {turn, kTwo}, next);
  CHECK(known.IsStart(next));
  known.LearnTurn(next, inner);
  CHECK(known.IsStart(inner));
  known.Learn(Op::Max, 0, {kNumber, kZero}, most);
  CHECK(known.IsStart(most));
  known.Learn(Op::Add, 0, {most, kTwo}, far);  // it may wrap
  CHECK_FALSE(known.IsStart(far));
  known.Learn(Op::Add, 0, {turn, kNegative}, down);
  CHECK_FALSE(known.IsStart(down));
}

TEST_CASE("known extents: those of arrays, what is surely less, and constants") {
  KnownExtents known = Some();
  uint32_t next = 10;
  const auto is_of_arrays = [&](Op op, const Values& args) {
    const Value made{next++};
    known.Learn(op, 0, args, made);
    return known.of_arrays.contains(made);
  };
  CHECK(known.of_arrays.contains(kDim));
  CHECK(known.of_arrays.contains(kZero));
  CHECK_FALSE(known.of_arrays.contains(kNumber));
  CHECK(known.constants.at(kTwo) == 2);
  CHECK_FALSE(known.constants.contains(kNegative));
  CHECK_FALSE(known.constants.contains(kTooLong));
  CHECK(known.IsZero(kZero));
  CHECK_FALSE(known.IsZero(kTwo));
  CHECK(is_of_arrays(Op::Min, {kNumber, kDim}));
  CHECK_FALSE(is_of_arrays(Op::Max, {kNumber, kDim}));
  CHECK(is_of_arrays(Op::Max, {kZero, kDim}));
  CHECK(is_of_arrays(Op::Sub, {kDim, kTwo}));
  CHECK_FALSE(is_of_arrays(Op::Sub, {kDim, kNegative}));
  CHECK_FALSE(is_of_arrays(Op::Sub, {kTwo, kDim}));
  CHECK(is_of_arrays(Op::Div, {kDim, kTwo}));
  CHECK_FALSE(is_of_arrays(Op::Add, {kDim, kTwo}));
  const auto is_made = [&](Op op, const Values& args) {
    const Value made{next++};
    known.Learn(op, 0, args, made);
    return known.made_of_arrays.contains(made);
  };
  CHECK(is_made(Op::Mul, {kDim, kTwo}));
  CHECK_FALSE(is_made(Op::Add, {kDim, kNumber}));
  CHECK_FALSE(is_made(Op::Call, {kDim}));
  const Value sum{next++}, other{next++};
  known.LearnAffine(Affine::Of(kDim) * 2 - Affine::Const(1), sum);
  known.LearnAffine(Affine::Of(kDim) + Affine::Of(kNumber), other);
  CHECK(known.made_of_arrays.contains(sum));
  CHECK_FALSE(known.made_of_arrays.contains(other));
}

TEST_CASE("known extents: what is within a number that is one") {
  KnownExtents known = Some();
  const Value less{10}, least{11}, least_of_less{12}, more{13};
  known.Learn(Op::Sub, 0, Values{kNumber, kTwo}, less);
  known.Learn(Op::Min, 0, Values{kNumber, kDim}, least);
  known.Learn(Op::Min, 0, Values{kTooLong, less}, least_of_less);
  known.Learn(Op::Sub, 0, Values{kNumber, kNegative}, more);
  for (Value v : {kNumber, less, least, least_of_less}) CHECK(known.IsWithin(v, kNumber));
  for (Value v : {more, kDim, kZero}) CHECK_FALSE(known.IsWithin(v, kNumber));
  // Less than the least of two may be more than either was, where it wraps.
  const Value less_of_least{14};
  known.Learn(Op::Sub, 0, Values{least, kTwo}, less_of_least);
  CHECK_FALSE(known.IsWithin(less_of_least, kNumber));
  // One more than what is less, as a loop ends that a condition narrows.
  const Value one{15}, last{16}, least_last{17}, end{18}, either{19}, other{20}, over{21};
  known.Learn(Op::Const, 1, Values{}, one);
  known.Learn(Op::Sub, 0, Values{kNumber, one}, last);
  known.Learn(Op::Min, 0, Values{last, kDim}, least_last);
  known.Learn(Op::Add, 0, Values{least_last, one}, end);
  known.Learn(Op::Select, 0, Values{kZero, kNumber, end}, either);
  known.Learn(Op::Select, 0, Values{kZero, kDim, end}, other);
  known.Learn(Op::Add, 0, Values{least, one}, over);
  for (Value v : {last, least_last, end, either}) CHECK(known.IsWithin(v, kNumber));
  for (Value v : {other, over}) CHECK_FALSE(known.IsWithin(v, kNumber));
}

}  // namespace
}  // namespace pullback::ir
