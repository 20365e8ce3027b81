// Indices of statements that are bound: what they are read by, and their values as an array, for joins.
#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_tuples.h"

namespace pullback::lang {
namespace {

using ValueSet = std::unordered_set<uint32_t>;

ValueSet NeededBy(const Context& c, Value bound) {
  ValueSet needed = {bound.id};
  for (size_t f = c.frames.size(); f-- > 0;) {
    const std::vector<ir::Inst>& reads = c.frames[f]->reads;
    for (size_t i = reads.size(); i-- > 0;) {
      if (needed.count(reads[i].results[0].id) == 0) continue;
      ir::ForEachOperand(reads[i], [&](Value operand) { needed.insert(operand.id); });
    }
  }
  return needed;
}

// How many points the box of the sources has. Products that do not fit are more than any array has.
Value PointCount(Context& c, const std::vector<ir::IndexVar>& sources) {
  if (sources.size() == 1) return sources[0].extent;
  constexpr int64_t kMany = int64_t{1} << 60;
  const auto extent = [&](const ir::IndexVar& i) {
    const bool known = IsNonNegative(c, c.AffineFor(i.extent));
    return known ? i.extent : c.b.Make(Op::Max, {i.extent, c.b.I64(0)});
  };
  Value count = extent(sources[0]);
  for (size_t k = 1; k < sources.size(); ++k) {
    const Value times = extent(sources[k]);
    const Value most = c.b.Make(Op::Div, {c.b.I64(kMany), c.b.Make(Op::Max, {times, c.b.I64(1)})});
    const Value fits = c.b.Make(Op::Le, {count, most});
    const Value product = c.b.Make(Op::Mul, {count, times});
    count = c.b.Make(Op::Select, {fits, product, c.b.I64(kMany)});
  }
  c.sizes.insert(count.id);
  return count;
}

}  // namespace

bool Contains(const std::vector<ir::IndexVar>& list, Value v) {
  return std::any_of(list.begin(), list.end(), [&](const ir::IndexVar& i) { return i.var == v; });
}

bool IsAdopted(const Context& c, Value index) {
  return std::any_of(c.frames.begin(), c.frames.end(), [&](const auto& frame) {
    return std::any_of(frame->adopted.begin(), frame->adopted.end(),
                       [&](const auto& pair) { return pair.first == index; });
  });
}

void RequireRange(Context& c, const Statement& s, const ir::IndexVar& index) {
  const Affine extent = c.AffineFor(index.extent);
  const uint32_t loc = c.b.loc();
  c.b.SetLoc(s.loc);
  {
    AtBlock block(c);
    Require(c, {extent, false}, ir::TrapKind::kNegativeSize, extent, Affine::Const(0));
  }
  c.b.SetLoc(loc);
}

std::vector<ir::IndexVar> SourcesOf(const Context& c, Value bound) {
  const ValueSet needed = NeededBy(c, bound);
  std::vector<ir::IndexVar> sources;
  for (const auto& frame : c.frames) {
    for (const ir::IndexVar& i : frame->indices) {
      if (needed.count(i.var.id) == 0) continue;
      if (IsAdopted(c, i.var)) return {};
      sources.push_back(i);
    }
  }
  return sources;
}

std::vector<Value> PointOf(Context& c, Value place, const std::vector<ir::IndexVar>& sources) {
  std::vector<Value> point(sources.size());
  for (size_t k = sources.size(); k-- > 1;) {
    const Value extent = sources[k].extent;
    const Value before = c.b.Make(Op::Div, {place, extent});
    point[k] = c.b.Make(Op::Sub, {place, c.b.Make(Op::Mul, {before, extent})});
    place = before;
  }
  point[0] = place;
  return point;
}

Value KeysOf(Context& c, Value bound, const std::vector<ir::IndexVar>& sources) {
  const ValueSet needed = NeededBy(c, bound);
  std::vector<ir::Inst> reads;
  for (const auto& frame : c.frames) {
    for (const ir::Inst& read : frame->reads) {
      if (needed.count(read.results[0].id) != 0) reads.push_back(read);
    }
  }
  AtBlock block(c);
  const Value count = PointCount(c, sources);
  const Value p = c.b.BeginEach({count})[0];
  const std::vector<Value> point = PointOf(c, p, sources);
  std::unordered_map<uint32_t, Value> renaming;
  for (size_t k = 0; k < sources.size(); ++k) renaming[sources[k].var.id] = point[k];
  for (ir::Inst& read : reads) {
    ir::ForEachOperand(read, [&](Value& operand) {
      const auto it = renaming.find(operand.id);
      if (it != renaming.end()) operand = it->second;
    });
    ir::CanonicaliseAffines(read);
    const Value result = read.results[0];
    read.results = {c.function.NewValue(c.b.TypeOf(result))};
    renaming[result.id] = read.results[0];
    c.b.Append(std::move(read));
  }
  ir::EachResult r;
  r.out = {Affine::Of(p)};
  r.shape = {count};
  r.value = renaming.at(bound.id);
  const Value keys = c.b.EndEach({r})[0];
  c.SetDims(keys, {c.AffineFor(count)});
  return keys;
}

}  // namespace pullback::lang
