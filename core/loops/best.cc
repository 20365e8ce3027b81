#include "core/loops/best.h"

namespace pullback::loops {

using ir::Op;
using ir::Type;

Reg NewCells(Emitter& e, DType elem, int64_t count, uint32_t loc) {
  Node node;
  node.kind = Node::Kind::kAlloc;
  node.bits = 1;
  node.loc = loc;
  node.args = {e.I64(count)};
  node.results = {e.function().NewReg(Type::Array(elem, 1))};
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
void Best::Compete(Reg value, const std::function<Reg()>& offset) {
  const auto test = [&](Op op, Reg a, Reg b) { return e_.Scalar(op, {a, b}, Type::Bool()); };
  const Reg best = e_.Load(Now().value, e_.I64(0));
  const Reg first = test(Op::Lt, Offset(), e_.I64(0));
  const Reg better = test(greatest_ ? Op::Gt : Op::Lt, value, best);
  const Reg nan = test(Op::And, test(Op::Ne, value, value), test(Op::Eq, best, best));
  e_.OpenIf(test(Op::Or, first, test(Op::Or, better, nan)));
  e_.Store(Now().offset, e_.I64(0), offset());
  e_.Store(Now().value, e_.I64(0), value);
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
