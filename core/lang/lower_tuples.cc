#include "core/lang/lower_tuples.h"

#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_walk.h"

namespace pullback::lang {
namespace {

class Binding {
 public:
  Binding(Context& c, const Statement& s, Tuples tuples, Arguments a, std::optional<Opened>& opened)
      : c_(c), s_(s), t_(std::move(tuples)), a_(std::move(a)), opened_(opened) {}
  bool Run();

 private:
  Value ExtentOf(Value index) const;
  bool InRange(size_t axis) const;
  bool IsAlone(Value around) const;
  std::optional<size_t> JoinAxis() const;
  std::vector<Constraint> TakeConstraints();
  Affine Position();
  Affine Slice(size_t axis);
  Affine Join(size_t axis);
  Value Read(Value array, const Affine& at);
  void FindBox();
  Affine OpenPlace(const Joined& joined);
  void Open(Value told, Value number);
  void Restrict(std::optional<size_t> by, const Affine& tuple);
  Affine Ordered(size_t axis, const Affine& place);
  void Define(size_t axis, const Affine& tuple);

  Context& c_;
  const Statement& s_;
  Tuples t_;
  Arguments a_;
  std::optional<Opened>& opened_;
  std::vector<ir::IndexVar> sources_;  // of a join
  // Where the key is open: the box of what the relation tells; whether it is not; and the point of the box.
  std::vector<ir::IndexVar> box_;
  Value told_;
  std::vector<Value> point_;
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

// What restricts the indices that are bound, and the sources of a join.
std::vector<Constraint> Binding::TakeConstraints() {
  std::vector<Constraint> taken =
      ConstraintsOn(c_, [&](Value v) { return Tells(a_, v) || Contains(sources_, v); });
  for (size_t axis = 0; axis < a_.free.size(); ++axis) {
    if (!a_.free[axis] || InRange(axis)) continue;
    const Affine index = Affine::Of(a_.free[axis]->index);
    const Affine extent = c_.AffineFor(ExtentOf(a_.free[axis]->index));
    taken.push_back({index, false});
    taken.push_back({extent - index - Affine::Const(1), false});
  }
  return taken;
}

Value Binding::Read(Value array, const Affine& at) {
  c_.b.RedirectTo(&c_.frame().reads);
  const Value v = c_.b.Index(array, {at});
  c_.frame().reads.back().guard = told_;
  c_.b.RedirectTo(&c_.frame().body);
  c_.small.insert(v.id);
  c_.sizes.insert(v.id);
  return v;
}

// The number of the tuple at a place of the order by an axis.
Affine Binding::Ordered(size_t axis, const Affine& place) {
  return axis == 0 ? place : Affine::Of(Read(t_.Order(axis), place));
}

void Binding::FindBox() {
  for (const auto& free : a_.free) {
    if (free) box_.push_back({free->index, ExtentOf(free->index)});
  }
}

// What follows is read where `told`; elsewhere the point of the box has this number.
void Binding::Open(Value told, Value number) {
  c_.b.RedirectTo(&c_.frame().reads);
  point_ = PointOf(c_, number, box_);
  c_.b.RedirectTo(&c_.frame().body);
  told_ = told;
}

Affine Binding::Slice(size_t axis) {
  Affine first, count;
  Value told;
  {
    AtBlock block(c_);
    const auto [begin, end] = TuplesWith(c_, t_.Start(axis), a_.forms[axis]);
    Value size = c_.b.Make(Op::Sub, {end, begin});
    if (a_.open) {
      told = c_.b.Make(Op::Ne, {c_.ToValue(a_.forms[axis]), c_.b.I64(kOpenKey)});
      size = c_.b.Make(Op::Select, {told, size, PointCount(c_, box_)});
    }
    c_.sizes.insert(size.id);
    first = Affine::Of(begin);
    count = Affine::Of(size);
  }
  const Value p = ReplaceIndex(c_, {}, count);
  if (a_.open) {
    c_.b.RedirectTo(&c_.frame().reads);
    told = c_.b.Make(Op::And, {told, told});  // a guard is a value of its body
    Open(told, p);
  }
  return Ordered(axis, first + Affine::Of(p));
}

std::optional<size_t> Binding::JoinAxis() const {
  if (a_.fixed) return std::nullopt;
  return a_.joined ? a_.joined : a_.around;
}

// Of a join in which keys may be open.
Affine Binding::OpenPlace(const Joined& joined) {
  c_.b.RedirectTo(&c_.frame().reads);
  const Value place = c_.b.Index(joined.right, {Affine::Of(joined.place)});
  const Value told = c_.b.Make(Op::Ge, {place, c_.b.I64(0)});
  Open(told, c_.b.Make(Op::Sub, {c_.b.I64(-1), place}));
  return Affine::Of(place);
}

// The statement runs over pairs of a point of what it, or those around it, ran over and a tuple that goes with
// it.
Affine Binding::Join(size_t axis) {
  Value all;
  if (a_.open) {
    AtBlock block(c_);
    all = PointCount(c_, box_);
  }
  const Joined joined =
      JoinSources(c_, s_, a_.forms[axis].AsValue(), sources_, t_.Start(axis), all);
  if (a_.open) return Ordered(axis, OpenPlace(joined));
  return Ordered(axis, Affine::Of(Read(joined.right, Affine::Of(joined.place))));
}

// The number of the tuple; the frame gets the index that it is told by.
Affine Binding::Position() {
  if (a_.fixed) return Slice(*a_.fixed);
  if (const auto axis = JoinAxis()) return Join(*axis);
  return Affine::Of(ReplaceIndex(c_, {}, c_.DimsOf(t_.Coordinate(0))[0]));
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

void Binding::Define(size_t axis, const Affine& tuple) {
  Frame& frame = c_.frame();
  const Solution& s = *a_.free[axis];
  const Value extent = ExtentOf(s.index);
  Value v = Read(t_.Coordinate(axis), tuple);
  if (s.sign != 1 || s.rest != Affine::Const(0)) {
    c_.b.RedirectTo(&frame.reads);
    v = c_.b.AffineOf((Affine::Of(v) - s.rest) * s.sign);
    c_.b.RedirectTo(&frame.body);
  }
  if (told_.valid()) {
    const auto at = std::find_if(box_.begin(), box_.end(),
                                 [&](const ir::IndexVar& i) { return i.var == s.index; });
    c_.b.RedirectTo(&frame.reads);
    v = c_.b.Make(Op::Select, {told_, v, point_[static_cast<size_t>(at - box_.begin())]});
    c_.b.RedirectTo(&frame.body);
    c_.small.insert(v.id);
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
    if (!told_.valid() && InRange(axis)) c_.in_range.insert(v.id);
  }
  frame.bound.push_back({v, extent});
}

// The tuple's other indices are the arguments.
void Binding::Restrict(std::optional<size_t> by, const Affine& tuple) {
  if (a_.open) opened_ = Opened{told_, std::vector<Value>(a_.free.size())};
  for (size_t axis = 0; axis < a_.free.size(); ++axis) {
    if (a_.free[axis] || (!a_.open && axis == by)) continue;
    const Value there = Read(t_.Coordinate(axis), tuple);
    if (a_.open) {
      opened_->coordinates[axis] = there;
    } else {
      AddGuard(c_, c_.b.Make(Op::Eq, {there, c_.ToValue(a_.forms[axis])}));
    }
  }
}

bool Binding::Run() {
  if (a_.around && SourcesOf(c_, a_.forms[*a_.around].AsValue()).empty()) return false;
  if (a_.around && !a_.keyed && IsAlone(a_.forms[*a_.around].AsValue())) {
    a_.free[*a_.around] = Solution{a_.forms[*a_.around].AsValue(), 1, Affine::Const(0), false};
    a_.around.reset();
  }
  const std::optional<size_t> join = JoinAxis();
  if (join) sources_ = SourcesOf(c_, a_.forms[*join].AsValue());
  if (join && !MayJoin(c_, s_, sources_)) return false;
  const std::vector<Constraint> constraints = TakeConstraints();
  // What stands in the body already would have to be guarded, too.
  if (!constraints.empty() && !c_.frame().body.empty()) return false;
  if (a_.open) FindBox();
  const Affine tuple = Position();
  DropConstraints(c_, constraints);
  for (size_t axis = 0; axis < a_.free.size(); ++axis) {
    if (a_.free[axis]) Define(axis, tuple);
  }
  if (!constraints.empty()) AddGuard(c_, c_.b.Holds(constraints));
  std::vector<Constraint>& told = c_.frame().told;
  told.insert(told.end(), constraints.begin(), constraints.end());
  Restrict(a_.fixed ? a_.fixed : join, tuple);
  return true;
}

}  // namespace

bool Tells(const Arguments& a, Value index) {
  return std::any_of(a.free.begin(), a.free.end(),
                     [&](const auto& f) { return f && f->index == index; });
}

bool BindTuples(Context& c, const Statement& s, Tuples tuples, Arguments a,
                std::optional<Opened>& opened) {
  return Binding(c, s, std::move(tuples), std::move(a), opened).Run();
}

}  // namespace pullback::lang
