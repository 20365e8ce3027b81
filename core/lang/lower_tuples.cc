#include "core/lang/lower_tuples.h"

#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_walk.h"

namespace pullback::lang {
namespace {

class Binding {
 public:
  Binding(Context& c, const Statement& s, Tuples tuples, Arguments a)
      : c_(c), s_(s), t_(std::move(tuples)), a_(std::move(a)) {}
  bool Run();

 private:
  Value ExtentOf(Value index) const;
  bool InRange(size_t axis) const;
  bool IsAlone(Value around) const;
  std::optional<size_t> JoinAxis() const;
  bool MayJoin() const;
  bool IsOwn(const ir::IndexVar& source) const;
  std::vector<Constraint> TakeConstraints();
  Affine Position();
  Affine Slice(size_t axis);
  Affine Join(size_t axis);
  void DefineSources(Value place, const std::vector<bool>& own);
  Value ReplaceIndex(Value index, const Affine& extent);
  Value Read(Value array, const Affine& at);
  Affine Ordered(size_t axis, const Affine& place);
  void Define(const Solution& s, Value coordinate, const Affine& tuple);

  Context& c_;
  const Statement& s_;
  Tuples t_;
  Arguments a_;
  std::vector<ir::IndexVar> sources_;  // of a join
};

Value Binding::ExtentOf(Value index) const {
  for (const auto& frame : c_.frames) {
    for (const auto* list : {&frame->indices, &frame->bound}) {
      for (const ir::IndexVar& i : *list) {
        if (i.var == index) return i.extent;
      }
    }
  }
  PB_CHECK(false);
  return {};
}

// Every index of a tuple is one of the statement.
bool Binding::InRange(size_t axis) const {
  const Solution& s = *a_.free[axis];
  return s.sign == 1 && s.rest == Affine::Const(0) &&
         c_.AffineFor(ExtentOf(s.index)) == c_.DimsOf(t_.Domain())[axis];
}

// What restricts the indices that are bound, and the sources of a join; it cannot stay in `where`, which knows
// no values of bodies.
std::vector<Constraint> Binding::TakeConstraints() {
  std::vector<Constraint> taken;
  const auto told = [&](const Constraint& k) {
    return std::any_of(k.e.terms.begin(), k.e.terms.end(), [&](const Affine::Term& t) {
      return Tells(a_, t.value) || Contains(sources_, t.value);
    });
  };
  for (const auto& frame : c_.frames) {
    for (const Constraint& k : frame->where) {
      if (told(k)) taken.push_back(k);
    }
  }
  for (size_t axis = 0; axis < a_.free.size(); ++axis) {
    if (!a_.free[axis] || InRange(axis)) continue;
    const Affine index = Affine::Of(a_.free[axis]->index);
    const Affine extent = c_.AffineFor(ExtentOf(a_.free[axis]->index));
    taken.push_back({index, false});
    taken.push_back({extent - index - Affine::Const(1), false});
  }
  return taken;
}

// The frame's own index gives its place to a new one.
Value Binding::ReplaceIndex(Value index, const Affine& extent) {
  Value bound;
  {
    AtBlock block(c_);
    bound = c_.ToValue(extent);
  }
  const Value p = c_.function.NewValue(ir::Type::I64(), "p");
  std::vector<ir::IndexVar>& indices = c_.frame().indices;
  const auto at = std::find_if(indices.begin(), indices.end(),
                               [&](const ir::IndexVar& i) { return i.var == index; });
  if (at == indices.end()) {
    indices.push_back({p, bound});
  } else {
    *at = {p, bound};
  }
  return p;
}

Value Binding::Read(Value array, const Affine& at) {
  c_.b.RedirectTo(&c_.frame().reads);
  const Value v = c_.b.Index(array, {at});
  c_.b.RedirectTo(&c_.frame().body);
  c_.small.insert(v.id);
  c_.sizes.insert(v.id);
  return v;
}

// The number of the tuple at a place of the order by an axis.
Affine Binding::Ordered(size_t axis, const Affine& place) {
  return axis == 0 ? place : Affine::Of(Read(t_.Order(axis), place));
}

Affine Binding::Slice(size_t axis) {
  Affine first, count;
  {
    AtBlock block(c_);
    const auto [begin, end] = TuplesWith(c_, t_.Start(axis), a_.forms[axis]);
    const Value size = c_.b.Make(Op::Sub, {end, begin});
    c_.sizes.insert(size.id);
    first = Affine::Of(begin);
    count = Affine::Of(size);
  }
  return Ordered(axis, first + Affine::Of(ReplaceIndex({}, count)));
}

bool Binding::IsOwn(const ir::IndexVar& source) const {
  return Contains(c_.frame().indices, source.var);
}

std::optional<size_t> Binding::JoinAxis() const {
  if (a_.fixed) return std::nullopt;
  return a_.joined ? a_.joined : a_.around;
}

// An index around the statement becomes one of its result's, by which only a sum may be scattered.
bool Binding::MayJoin() const {
  const bool own = std::all_of(sources_.begin(), sources_.end(),
                               [&](const ir::IndexVar& i) { return IsOwn(i); });
  return !sources_.empty() && (own || s_.reduce == ir::Monoid::kSum);
}

// The sources are what they are at the point of this number: in front of all that is read by them.
void Binding::DefineSources(Value place, const std::vector<bool>& own) {
  Frame& frame = c_.frame();
  c_.b.RedirectTo(&frame.reads);
  const std::vector<Value> point = PointOf(c_, place, sources_);
  for (size_t k = 0; k < sources_.size(); ++k) {
    ir::IndexVar source = sources_[k];
    if (own[k]) {
      const bool last = frame.reads.back().results[0] == point[k];
      if (!last) c_.b.Make(Op::Add, {point[k], c_.b.I64(0)});
      frame.reads.back().results = {source.var};
    } else {
      frame.adopted.emplace_back(source.var, point[k]);
      source.var = point[k];
    }
    c_.small.insert(source.var.id);
    c_.sizes.insert(source.var.id);
    frame.bound.push_back(source);
  }
  c_.b.RedirectTo(&frame.body);
}

// The statement runs over pairs of a point of what it, or those around it, ran over and a tuple that goes with
// it. There, the old indices are read from the pairs, or what they are here.
Affine Binding::Join(size_t axis) {
  Frame& frame = c_.frame();
  std::vector<bool> own;
  Value first;
  for (const ir::IndexVar& source : sources_) {
    own.push_back(IsOwn(source));
    if (!own.back()) continue;
    RequireRange(c_, s_, source);
    if (!first.valid()) first = source.var;
  }
  const Value keys = KeysOf(c_, a_.forms[axis].AsValue(), sources_);
  Value left, right;
  {
    AtBlock block(c_);
    std::tie(left, right) = JoinTuples(c_, keys, t_.Start(axis));
  }
  const Affine p = Affine::Of(ReplaceIndex(first, c_.DimsOf(left)[0]));
  std::erase_if(frame.indices, [&](const ir::IndexVar& i) { return Contains(sources_, i.var); });
  const auto before = static_cast<std::ptrdiff_t>(frame.reads.size());
  DefineSources(Read(left, p), own);
  if (first.valid()) {
    std::rotate(frame.reads.begin(), frame.reads.begin() + before, frame.reads.end());
  }
  return Ordered(axis, Affine::Of(Read(right, p)));
}

// The number of the tuple; the frame gets the index that it is told by.
Affine Binding::Position() {
  if (a_.fixed) return Slice(*a_.fixed);
  if (const auto axis = JoinAxis()) return Join(*axis);
  return Affine::Of(ReplaceIndex({}, c_.DimsOf(t_.Coordinate(0))[0]));
}

// Of what the statements around it have, the sum needs nothing but this index: then it is one for each
// value of that, rather than one for each tuple there.
bool Binding::IsAlone(Value around) const {
  const auto is = [&](Value v) {
    return v == around || c_.OwnerOf(v) == 0 || Contains(c_.frame().indices, v);
  };
  const auto all = [&](const Affine& form) {
    return std::all_of(form.terms.begin(), form.terms.end(),
                       [&](const Affine::Term& t) { return is(t.value); });
  };
  if (c_.guard.any || !c_.frame().body.empty() || !s_.body) return false;
  if (!std::all_of(a_.forms.begin(), a_.forms.end(), all)) return false;
  const std::vector<uint32_t> locals = FreeLocals(*s_.body);
  return std::all_of(locals.begin(), locals.end(), [&](uint32_t local) {
    const Leaves& leaves = c_.at->locals[local];
    return std::all_of(leaves.begin(), leaves.end(), [&](const Leaf& leaf) {
      return leaf.value.valid() && all(c_.AffineFor(leaf.value));
    });
  });
}

void Binding::Define(const Solution& s, Value coordinate, const Affine& tuple) {
  Frame& frame = c_.frame();
  const Value extent = ExtentOf(s.index);
  Value v = Read(coordinate, tuple);
  if (s.sign != 1 || s.rest != Affine::Const(0)) {
    c_.b.RedirectTo(&frame.reads);
    v = c_.b.AffineOf((Affine::Of(v) - s.rest) * s.sign);
    c_.b.RedirectTo(&frame.body);
  }
  if (s.own) {
    RequireRange(c_, s_, {s.index, extent});
    frame.reads.back().results = {s.index};
    std::erase_if(frame.indices, [&](const ir::IndexVar& i) { return i.var == s.index; });
    c_.small.insert(s.index.id);
    if (s.rest == Affine::Const(0)) c_.sizes.insert(s.index.id);
    v = s.index;
  } else {
    frame.adopted.emplace_back(s.index, v);
  }
  frame.bound.push_back({v, extent});
}

bool Binding::Run() {
  if (a_.around && SourcesOf(c_, a_.forms[*a_.around].AsValue()).empty()) return false;
  if (a_.around && !a_.keyed && IsAlone(a_.forms[*a_.around].AsValue())) {
    a_.free[*a_.around] = Solution{a_.forms[*a_.around].AsValue(), 1, Affine::Const(0), false};
    a_.around.reset();
  }
  const std::optional<size_t> join = JoinAxis();
  if (join) sources_ = SourcesOf(c_, a_.forms[*join].AsValue());
  if (join && !MayJoin()) return false;
  const std::vector<Constraint> constraints = TakeConstraints();
  // What stands in the body already would have to be guarded, too.
  if (!constraints.empty() && !c_.frame().body.empty()) return false;
  const Affine tuple = Position();
  std::erase_if(c_.frame().where, [&](const Constraint& k) {
    return std::find(constraints.begin(), constraints.end(), k) != constraints.end();
  });
  for (size_t axis = 0; axis < a_.free.size(); ++axis) {
    if (a_.free[axis]) Define(*a_.free[axis], t_.Coordinate(axis), tuple);
  }
  if (!constraints.empty()) AddGuard(c_, c_.b.Holds(constraints));
  for (size_t axis = 0; axis < a_.free.size(); ++axis) {
    if (a_.free[axis] || axis == (a_.fixed ? a_.fixed : join)) continue;
    const Value there = Read(t_.Coordinate(axis), tuple);
    AddGuard(c_, c_.b.Make(Op::Eq, {there, c_.ToValue(a_.forms[axis])}));
  }
  return true;
}

}  // namespace

bool Tells(const Arguments& a, Value index) {
  return std::any_of(a.free.begin(), a.free.end(),
                     [&](const auto& f) { return f && f->index == index; });
}

bool BindTuples(Context& c, const Statement& s, Tuples tuples, Arguments a) {
  return Binding(c, s, std::move(tuples), std::move(a)).Run();
}

}  // namespace pullback::lang
