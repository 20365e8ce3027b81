#include "core/ir/own_arrays.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pullback::ir {
namespace {

// Short axes of an array that have more points together are no longer short.
constexpr int64_t kMostShortPoints = 64;

}  // namespace

OwnArrays::OwnArrays(const Function& f) : extents_(FindKnownExtents(f)) {
  LearnEqual(f);
  AddShapes(f);
}

bool OwnArrays::IsNoLarger(ValueSpan shape) const { return AxesBeyond(shape) == 0; }

size_t OwnArrays::AxesBeyond(ValueSpan shape) const {
  Shape extents;
  int64_t points = 1;  // of the short axes so far
  for (Value v : shape) {
    const bool is_short =
        extents_.IsShort(v) && points * extents_.constants.at(v) <= kMostShortPoints;
    if (is_short) points *= std::max(extents_.constants.at(v), int64_t{1});
    if (!is_short) extents.push_back(v);
  }
  size_t fewest = extents.size();
  for (Shape own : shapes_) fewest = std::min(fewest, Beyond(extents, 0, own));
  return fewest;
}

Value OwnArrays::Root(Value v) const {
  for (auto it = root_.find(v.id); it != root_.end(); it = root_.find(v.id)) v = it->second;
  return v;
}

void OwnArrays::Unite(Value a, Value b) {
  const Value x = Root(a), y = Root(b);
  if (x != y) root_[std::max(x, y).id] = std::min(x, y);
}

void OwnArrays::LearnEqual(const Function& f) {
  std::map<uint64_t, Value> constants;
  std::unordered_map<uint32_t, const Inst*> equal;  // by the value that says so
  for (const Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::Eq) equal[inst.results[0].id] = &inst;
      if (inst.op == Op::Const && f.TypeOf(inst.results[0]) == Type::I64()) {
        const auto [it, fresh] = constants.try_emplace(inst.bits, inst.results[0]);
        if (!fresh) Unite(it->second, inst.results[0]);
      }
      if (inst.op != Op::Check) continue;
      if (const auto it = equal.find(inst.args[0].id); it != equal.end())
        Unite(it->second->args[0], it->second->args[1]);
    }
  }
}

// Those that are told from instructions: an axis whose extent nothing asks for is none that a statement runs over.
void OwnArrays::AddShapes(const Function& f) {
  std::unordered_map<uint32_t, Shape> shapes;
  for (Value v : f.params()) {
    if (f.TypeOf(v).IsArray()) shapes[v.id].resize(f.TypeOf(v).rank);
  }
  const std::unordered_map<uint32_t, Shape> params = shapes;
  for (const Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::Dim && params.contains(inst.args[0].id))
        shapes[inst.args[0].id][inst.bits] = inst.results[0];
      if (inst.op == Op::AddArrays && shapes.contains(inst.args[0].id))
        shapes[inst.results[0].id] = shapes[inst.args[0].id];
      if (!inst.each) continue;
      for (size_t k = 0; k < inst.results.size(); ++k) {
        const Values& shape = inst.each->results[k].shape;
        if (!shape.empty()) shapes[inst.results[k].id] = {shape.begin(), shape.end()};
      }
    }
  }
  const auto add = [&](Value v) {
    const auto it = shapes.find(v.id);
    if (it == shapes.end()) return;
    Shape& shape = shapes_.emplace_back(it->second);
    std::erase_if(shape, [](Value extent) { return !extent.valid(); });
  };
  std::for_each(f.params().begin(), f.params().end(), add);
  for (const Block& b : f.blocks) std::for_each(b.term.results.begin(), b.term.results.end(), add);
}

// Of the extents from `at` on, how many are more than each of those left, or than one that is there for another.
size_t OwnArrays::Beyond(const Shape& shape, size_t at, Shape& left) const {
  if (at == shape.size()) return 0;
  size_t fewest = 1 + Beyond(shape, at + 1, left);
  for (Value& own : left) {
    if (fewest == 0) break;
    if (!own.valid() || !(AreEqual(shape[at], own) || extents_.IsWithin(shape[at], own))) continue;
    const Value taken = std::exchange(own, kNoValue);
    fewest = std::min(fewest, Beyond(shape, at + 1, left));
    own = taken;
  }
  return fewest;
}

}  // namespace pullback::ir
