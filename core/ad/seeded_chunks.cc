#include "core/ad/seeded_chunks.h"

#include <utility>

#include "core/ad/batch_insts.h"
#include "core/ad/sparse_pattern.h"

namespace pullback::ad {

using ir::Affine;
using ir::Op;
using ir::Value;

Value SeedChunks::Number(std::vector<SeededLeaf>& leaves) {
  Value next = b_.I64(0);
  for (SeededLeaf& leaf : leaves) {
    for (int axis = 0; axis < b_.TypeOf(leaf.value).rank; ++axis)
      leaf.dims.push_back(b_.Dim(leaf.value, axis));
    leaf.begin = next;
    leaf.count = ElementCount(b_, leaf.dims);
    next = b_.Make(Op::Add, {next, leaf.count});
  }
  return next;
}

Value SeedChunks::Seeds(const SeededLeaf& p, Value first, Value count) {
  const Value k = b_.BeginEach({count}, {"k"})[0];
  const Affine element = Affine::Of(k) + Affine::Of(first) - Affine::Of(p.begin);
  std::vector<Affine> at;
  if (p.dims.size() == 1) {
    at = {element};
  } else if (!p.dims.empty()) {
    at = SubscriptsOf(Unflatten(b_, b_.AffineOf(element), p.dims));
  }
  if (p.dims.empty()) {
    b_.Where({element, true});
  } else {
    b_.Where({element, false});
    b_.Where({Affine::Of(p.count) - element - Affine::Const(1), false});
  }
  ir::EachResult r;
  r.out = at;
  r.out.push_back(Affine::Of(k));
  r.shape = p.dims;
  r.shape.push_back(count);
  r.value = b_.One(b_.TypeOf(p.value).Element());
  return b_.EndEach({std::move(r)})[0];
}

Value SeedChunks::ForEach(Value array, const std::vector<Value>& dims, const std::vector<Value>& at,
                          const Store& store) {
  if (at.size() == dims.size()) return store(array, at);
  return Loop(b_.I64(0), dims[at.size()], b_.I64(1), {array},
              [&](Value i, const std::vector<Value>& into) {
                std::vector<Value> inner = at;
                inner.push_back(i);
                return std::vector<Value>{ForEach(into[0], dims, inner, store)};
              })[0];
}

std::vector<Value> SeedChunks::Loop(Value begin, Value end, Value step,
                                    const std::vector<Value>& state, const Turn& turn) {
  const uint32_t header = b_.NewBlock(), body = b_.NewBlock(), done = b_.NewBlock();
  const Value i = b_.AddParam(header, ir::Type::I64());
  std::vector<Value> into, entering = {begin};
  for (Value v : state) into.push_back(b_.AddParam(header, b_.TypeOf(v)));
  entering.insert(entering.end(), state.begin(), state.end());
  b_.Jump(header, entering);
  b_.SetBlock(header);
  b_.Branch(b_.Make(Op::Lt, {i, end}), {body, {}}, {done, {}});
  b_.SetBlock(body);
  std::vector<Value> next = turn(i, into);
  next.insert(next.begin(), b_.Make(Op::Add, {i, step}));
  b_.Jump(header, next);
  b_.SetBlock(done);
  return into;
}

}  // namespace pullback::ad
