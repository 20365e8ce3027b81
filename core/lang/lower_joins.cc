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

// The sources are what they are at the point of this number, in front of all that is read by them. (Appended to the
// frame's reads, where code goes.)
void DefineSources(Context& c, Value place, const std::vector<ir::IndexVar>& sources,
                   const std::vector<bool>& own) {
  Frame& frame = c.frame();
  const std::vector<Value> point = PointOf(c, place, sources);
  for (size_t k = 0; k < sources.size(); ++k) {
    ir::IndexVar source = sources[k];
    if (own[k]) {
      const bool last = frame.reads.back().results[0] == point[k];
      if (!last) c.b.Make(Op::Add, {point[k], c.b.I64(0)});
      frame.reads.back().results = {source.var};
    } else {
      frame.adopted.emplace_back(source.var, point[k]);
      source.var = point[k];
    }
    c.small.insert(source.var.id);
    c.sizes.insert(source.var.id);
    frame.bound.push_back(source);
  }
}

}  // namespace

// Products that do not fit are more than any array has.
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

Value ReplaceIndex(Context& c, Value index, const Affine& extent) {
  Value bound;
  {
    AtBlock block(c);
    bound = c.ToValue(extent);
  }
  const Value p = c.function.NewValue(ir::Type::I64(), "p");
  std::vector<ir::IndexVar>& indices = c.frame().indices;
  const auto at = std::find_if(indices.begin(), indices.end(),
                               [&](const ir::IndexVar& i) { return i.var == index; });
  if (at == indices.end()) {
    indices.push_back({p, bound});
  } else {
    *at = {p, bound};
  }
  return p;
}

std::vector<Constraint> ConstraintsOn(const Context& c, const std::function<bool(Value)>& is_one) {
  std::vector<Constraint> found;
  for (const auto& frame : c.frames) {
    for (const Constraint& k : frame->where) {
      const bool speaks = std::any_of(k.e.terms.begin(), k.e.terms.end(),
                                      [&](const Affine::Term& t) { return is_one(t.value); });
      if (speaks) found.push_back(k);
    }
  }
  return found;
}

void DropConstraints(Context& c, const std::vector<Constraint>& constraints) {
  std::erase_if(c.frame().where, [&](const Constraint& k) {
    return std::find(constraints.begin(), constraints.end(), k) != constraints.end();
  });
}

bool MayJoin(const Context& c, const Statement& s, const std::vector<ir::IndexVar>& sources) {
  const bool own = std::all_of(sources.begin(), sources.end(), [&](const ir::IndexVar& i) {
    return Contains(c.frames.back()->indices, i.var);
  });
  return !sources.empty() && (own || s.reduce == ir::Monoid::kSum);
}

Joined JoinSources(Context& c, const Statement& s, Value key,
                   const std::vector<ir::IndexVar>& sources, Value starts, Value all) {
  Frame& frame = c.frame();
  std::vector<bool> own;
  Value first;
  for (const ir::IndexVar& source : sources) {
    own.push_back(Contains(frame.indices, source.var));
    if (!own.back()) continue;
    RequireRange(c, s, source);
    if (!first.valid()) first = source.var;
  }
  const Value keys = KeysOf(c, key, sources);
  Value left, right;
  {
    AtBlock block(c);
    std::tie(left, right) = JoinTuples(c, keys, starts, all);
  }
  const Value p = ReplaceIndex(c, first, c.DimsOf(left)[0]);
  std::erase_if(frame.indices, [&](const ir::IndexVar& i) { return Contains(sources, i.var); });
  const auto before = static_cast<std::ptrdiff_t>(frame.reads.size());
  c.b.RedirectTo(&frame.reads);
  const Value point = c.b.Index(left, {Affine::Of(p)});
  c.small.insert(point.id);
  c.sizes.insert(point.id);
  DefineSources(c, point, sources, own);
  c.b.RedirectTo(&frame.body);
  if (first.valid()) {
    std::rotate(frame.reads.begin(), frame.reads.begin() + before, frame.reads.end());
  }
  return {p, right};
}

}  // namespace pullback::lang
