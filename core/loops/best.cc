#include "core/loops/best.h"

namespace pullback::loops {

using ir::Op;
using ir::Type;

Reg NewCells(Emitter& e, DType elem, int64_t count, uint32_t loc) {
  return NewCells(e, elem, std::vector<Reg>{e.I64(count)}, loc);
}

Reg NewCells(Emitter& e, DType elem, const std::vector<Reg>& extents, uint32_t loc) {
  Node node;
  node.kind = Node::Kind::kAlloc;
  node.bits = 1;
  node.loc = loc;
  node.args = extents;
  node.results = {e.function().NewReg(Type::Array(elem, static_cast<int>(extents.size())))};
  return e.Append(std::move(node)).results[0];
}

Best::Cells Best::New(int64_t count) {
  return {NewCells(e_, type_.elem, count, loc_), NewCells(e_, DType::kI64, count, loc_)};
}

void Best::Alloc() { all_ = New(1); }

void Best::Release() {
  for (const Cells& cells : {all_, segment_, segments_}) {
    if (!cells.value.valid()) continue;
    e_.Effect(Node::Kind::kRelease, {cells.value});
    e_.Effect(Node::Kind::kRelease, {cells.offset});
  }
}

void Best::Begin() {
  e_.Store(Now().value, e_.I64(0), e_.Zero(type_));
  e_.Store(Now().offset, e_.I64(0), e_.I64(-1));
}

// The first of all, a greater one, or the first NaN.
void Best::CompeteIn(const Cell& cell, Reg value, const std::function<Reg()>& offset) {
  const auto test = [&](Op op, Reg a, Reg b) { return e_.Scalar(op, {a, b}, Type::Bool()); };
  const auto load = [&](Reg array) { return e_.Load(array, cell.at, ir::kNoValue, cell.about); };
  const auto store = [&](Reg array, Reg v) { e_.Store(array, cell.at, v, cell.apart, cell.about); };
  const Reg best = load(cell.values);
  const Reg first = test(Op::Lt, load(cell.offsets), e_.I64(0));
  const Reg better = test(greatest_ ? Op::Gt : Op::Lt, value, best);
  const Reg nan = test(Op::And, test(Op::Ne, value, value), test(Op::Eq, best, best));
  e_.OpenIf(test(Op::Or, first, test(Op::Or, better, nan)));
  store(cell.offsets, offset());
  store(cell.values, value);
  e_.CloseIf();
}

Reg Best::Offset(Reg into) { return e_.Load(Now().offset, e_.I64(0), into); }

void Best::AllocSegments(int64_t count) {
  segment_ = New(1);
  segments_ = New(count);
}

void Best::EnterSegment() {
  in_segment_ = true;
  Begin();
}

void Best::LeaveSegment(Reg segment) {
  e_.Store(segments_.value, segment, e_.Load(segment_.value, e_.I64(0)), {segment});
  e_.Store(segments_.offset, segment, Offset(), {segment});
  in_segment_ = false;
}

void Best::JoinSegment(Reg segment) {
  const Reg offset = e_.Load(segments_.offset, segment);
  e_.OpenIf(e_.Scalar(Op::Ge, {offset, e_.I64(0)}, Type::Bool()));
  Compete(e_.Load(segments_.value, segment), [&] { return offset; });
  e_.CloseIf();
}

}  // namespace pullback::loops
