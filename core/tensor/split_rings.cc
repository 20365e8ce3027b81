// Sums that take rows of a ring, `z[(i + 1) % n]`, are those over the rows that have one behind them and over the last one, so that
// loops that make a row in the turn that takes it may do so here, too (fixed_rows.cc).
//
//   %s = each(i < n, l < h) { %j = rem (i + 1), n … index %z[%j, l] … index %z[i, l] … } sum []
//
//   %a = each(i < n, l < h) where (i + 2 <= n) { … index %z[i + 1, l] … index %z[i, l] … } sum []
//   %b = each(l < h) where (1 <= n) { … index %z[0, l] … index %z[n - 1, l] … } sum []
//   %s = add %a, %b
//
// The same of (i + n - 1) % n, of `if i == n - 1 { 0 } else { i + 1 }`, `if i > 0 { i - 1 } else { n - 1 }`, whatever is read at
// the first or the last place, and of both sides at once, which have the rows between, the first, the last, and the only one.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/analysis/body_forms.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kElsewhere = SIZE_MAX;
constexpr int kMostRings = 16;  // of a block: each walks over its function

constexpr size_t kMostTogether = 32;

// A body's value that is one form of an index in all its turns but the last, or the first, and another one there.
struct Turning {
  size_t inst;
  bool at_last;
  Affine inner, outer;
};

// The turns of an index but the first or the last one, or one of them, where there are as many rows.
struct Part {
  bool first, last;  // are left out
  std::optional<Affine> turn;
  bool is_only = false;  // turn
};

bool Names(const Affine& a, Value v) { return a.Coeff(v) != 0; }

// Of an array that is split along an axis, what each part has; all but one have a single row.
struct Elements {
  std::vector<Value> parts;
  size_t axis = 0, whole = 0;  // which part has the axis
};

// Statements that are split together along an index each, since one reads at its index what another one has by its own.
struct Group {
  std::map<size_t, size_t> places;           // of the index, by where the statement is
  bool has_first = false, has_last = false;  // turnings
};

class RingSplitter {
 public:
  RingSplitter(ir::Function& f, ir::Block& b, const ir::OwnArrays& own) : f_(f), b_(b), own_(own) {}

  bool Run() {
    for (size_t k = 0; k < b_.insts.size(); ++k) {
      if (MakesLargeRows(b_.insts[k], own_)) large_.insert(b_.insts[k].results[0]);
    }
    if (large_.empty()) return false;
    int rings = 0;
    for (size_t k = 0; k < b_.insts.size() && rings < kMostRings; ++k) {
      const std::optional<size_t> place = RingOf(b_.insts[k]);
      if (!place) continue;
      FindUsers();
      apart_.clear();
      Group group;
      if (!Join(k, *place, group)) {  // alone
        group = {};
        group.places[k] = *place;
        NoteSides(k, *place, group);
      }
      k += Split(group, k);
      ++rings;
    }
    return rings > 0;
  }

 private:
  // The index along which it takes neighbours of rows that take work.
  std::optional<size_t> RingOf(const Inst& inst) const {
    if (!IsSmallSum(inst) || !ReadsRowsByData(*inst.each)) return std::nullopt;
    for (size_t place = 0; place < inst.each->indices.size(); ++place) {
      if (AnyPlacesRows(*inst.each, TurningsOf(*inst.each, inst.each->indices[place])))
        return place;
    }
    return std::nullopt;
  }
  bool ReadsRowsByData(const Each& each) const {
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& read) {
      return read.op == Op::Index && large_.contains(read.args[0]) &&
             read.subs[0].AsValue().valid() && FindDef(each, read.subs[0].AsValue());
    });
  }
  bool IsSmallSum(const Inst& inst) const {
    if (!inst.each || inst.results.size() != 1) return false;
    const EachResult& r = inst.each->results[0];
    return r.monoid == ir::Monoid::kSum && !r.into.valid() && own_.IsNoLarger(r.shape);
  }

  // With all that reads its elements. False: something reads them otherwise.
  bool Join(size_t k, size_t place, Group& group) {
    const Inst& inst = b_.insts[k];
    if (apart_.contains(k) || !IsSmallSum(inst)) return false;
    const auto [at, is_new] = group.places.emplace(k, place);
    if (!is_new) return at->second == place;
    if (group.places.size() > kMostTogether || !JoinReaders(k, place, group)) {
      apart_.insert(k);  // for all that would be split with it
      return false;
    }
    NoteSides(k, place, group);
    JoinMakers(k, place, group);
    return true;
  }
  bool JoinReaders(size_t k, size_t place, Group& group) {
    const Inst& inst = b_.insts[k];
    const EachResult& r = inst.each->results[0];
    const ir::IndexVar& i = inst.each->indices[place];
    const size_t count = CountNaming(r, i.var);
    if (count == 0) return true;
    const std::optional<size_t> axis = AxisOf(r, i);
    if (count > 1 || !axis) return false;
    const auto users = users_.find(inst.results[0].id);
    return users == users_.end() ||
           std::all_of(users->second.begin(), users->second.end(), [&](size_t user) {
             const std::optional<size_t> reader = IndexReading(user, inst.results[0], *axis, i);
             return reader && Join(user, *reader, group);
           });
  }
  // What gives the elements that it reads at its index, if it may be split, too.
  void JoinMakers(size_t k, size_t place, Group& group) {
    const Each& each = *b_.insts[k].each;
    const ir::IndexVar& i = each.indices[place];
    for (const Inst& read : each.body) {
      const auto maker = read.op == Op::Index ? makers_.find(read.args[0].id) : makers_.end();
      if (maker == makers_.end() || !IsSmallSum(b_.insts[maker->second])) continue;
      const Each& made = *b_.insts[maker->second].each;
      for (size_t axis = 0; axis < read.subs.size(); ++axis) {
        const std::optional<size_t> own = PlaceOfIndex(made, made.results[0].out[axis].AsValue());
        if (read.subs[axis].AsValue() != i.var || !own || made.indices[*own].extent != i.extent)
          continue;
        Group more = group;
        if (Join(maker->second, *own, more)) group = std::move(more);
      }
    }
  }
  static std::optional<size_t> AxisOf(const EachResult& r, const ir::IndexVar& i) {
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      if (r.out[axis].AsValue() == i.var && r.shape[axis] == i.extent) return axis;
    }
    return std::nullopt;
  }
  // The one index of a statement that is where it reads the array along this axis.
  std::optional<size_t> IndexReading(size_t at, Value array, size_t axis,
                                     const ir::IndexVar& i) const {
    if (at == kElsewhere || !b_.insts[at].each) return std::nullopt;
    const Inst& user = b_.insts[at];
    std::optional<size_t> found;
    int reads = 0, uses = 0;
    ir::ForEachOperand(user, [&](Value v) { uses += v == array ? 1 : 0; });
    for (const Inst& read : user.each->body) {
      if (read.op != Op::Index || read.args[0] != array) continue;
      ++reads;
      const std::optional<size_t> index = PlaceOfIndex(*user.each, read.subs[axis].AsValue());
      if (!index || user.each->indices[*index].extent != i.extent || (found && found != index))
        return std::nullopt;
      found = index;
    }
    return reads == uses ? found : std::nullopt;
  }
  void FindUsers() {
    users_.clear();
    makers_.clear();
    for (size_t k = 0; k < b_.insts.size(); ++k) {
      if (b_.insts[k].each && b_.insts[k].results.size() == 1)
        makers_[b_.insts[k].results[0].id] = k;
    }
    const auto note = [&](Value v, size_t at) {
      std::vector<size_t>& users = users_[v.id];
      if (users.empty() || users.back() != at) users.push_back(at);
    };
    for (const ir::Block& b : f_.blocks) {
      for (size_t k = 0; k < b.insts.size(); ++k)
        ir::ForEachOperand(b.insts[k], [&](Value v) { note(v, &b == &b_ ? k : kElsewhere); });
      ir::ForEachTermOperand(b.term, [&](Value v) { note(v, kElsewhere); });
    }
  }
  void NoteSides(size_t k, size_t place, Group& group) const {
    const Each& each = *b_.insts[k].each;
    for (const Turning& t : TurningsOf(each, each.indices[place]))
      (t.at_last ? group.has_last : group.has_first) = true;
  }

  // How many instructions there are more, of statement k.
  size_t Split(const Group& group, size_t k) {
    elements_.clear();
    std::vector<Inst> out;
    size_t more = 0;
    for (size_t at = 0; at < b_.insts.size(); ++at) {
      const auto member = group.places.find(at);
      if (member == group.places.end()) {
        out.push_back(std::move(b_.insts[at]));
        continue;
      }
      const size_t from = out.size();
      SplitOne(b_.insts[at], member->second, group, out);
      if (at == k) more = out.size() - from - 1;
    }
    b_.insts = std::move(out);
    return more;
  }

  void SplitOne(const Inst& inst, size_t place, const Group& group, std::vector<Inst>& out) {
    const ir::IndexVar& i = inst.each->indices[place];
    const std::vector<Turning> turnings = TurningsOf(*inst.each, i);
    const bool is_element =
        CountNaming(inst.each->results[0], i.var) > 0 && group.places.size() > 1;
    const std::vector<Part> parts = PartsOf(i, group);
    Elements elements;
    Value sum;
    for (size_t p = 0; p < parts.size(); ++p) {
      Inst part = PartOf(inst, place, turnings, parts[p]);
      ReadParts(part, p);
      if (is_element && parts[p].turn)
        DropAxis(inst, i, part);
      else if (is_element)
        elements.whole = p;
      out.push_back(std::move(part));
      const Value made = out.back().results[0];
      elements.parts.push_back(made);
      if (!is_element) sum = sum.valid() ? Add(sum, made, inst.loc, out) : made;
    }
    if (is_element) {
      elements.axis = *AxisOf(inst.each->results[0], i);
      elements_[inst.results[0].id] = std::move(elements);
    } else {
      out.back().results[0] = inst.results[0];
    }
  }
  // The statement's result has one element along the index.
  void DropAxis(const Inst& whole, const ir::IndexVar& i, Inst& part) {
    EachResult& r = part.each->results[0];
    const size_t axis = *AxisOf(whole.each->results[0], i);
    Erase(r.out, axis);
    Erase(r.shape, axis);
    const ir::Type t = f_.TypeOf(whole.results[0]);
    part.results = {f_.NewValue(r.shape.empty() ? t.Element() : ir::Type::Array(t.elem, t.rank - 1),
                                f_.names[whole.results[0].id])};
  }
  // Of what is split, part p.
  void ReadParts(Inst& inst, size_t p) {
    std::unordered_map<uint32_t, Value> numbers;
    for (Inst& read : inst.each->body) {
      const auto of = read.op == Op::Index ? elements_.find(read.args[0].id) : elements_.end();
      if (of == elements_.end()) continue;
      const Elements& elements = of->second;
      read.args = {elements.parts[p]};
      if (elements.whole == p) continue;
      ir::Affines subs(read.subs.begin(), read.subs.end());
      Erase(subs, elements.axis);
      read.subs = ir::AffineSpan(subs);
      if (subs.empty()) numbers[read.results[0].id] = elements.parts[p];
    }
    ReadNumbers(inst, numbers);
  }

  // Whether the row of one of these is of an array that takes work. The first axis alone: sets of a batch are often so small that
  // rows made once more would be as many as there are.
  bool AnyPlacesRows(const Each& each, const std::vector<Turning>& turnings) const {
    const auto is_turning = [&](const Affine& sub) {
      return std::any_of(turnings.begin(), turnings.end(), [&](const Turning& t) {
        return Names(sub, each.body[t.inst].results[0]);
      });
    };
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& read) {
      return read.op == Op::Index && large_.contains(read.args[0]) && is_turning(read.subs[0]);
    });
  }

  std::vector<Turning> TurningsOf(const Each& each, const ir::IndexVar& i) const {
    std::vector<Turning> turnings;
    analysis::BodyForms forms(each, f_);
    for (size_t k = 0; k < each.body.size(); ++k) {
      const Inst& inst = each.body[k];
      if (inst.results.size() == 1 && f_.TypeOf(inst.results[0]) == ir::Type::I64()) {
        std::optional<Turning> t = inst.op == Op::Rem      ? Remainder(inst, i, forms)
                                   : inst.op == Op::Select ? Choice(each, inst, i, forms)
                                                           : std::nullopt;
        if (t) {
          t->inst = k;
          turnings.push_back(*t);
        }
      }
      forms.Note(inst);
    }
    return turnings;
  }

  static std::optional<Turning> Remainder(const Inst& inst, const ir::IndexVar& i,
                                          const analysis::BodyForms& forms) {
    const Affine one = Affine::Const(1), at = Affine::Of(i.var), rows = Affine::Of(i.extent);
    if (inst.args[1] != i.extent) return std::nullopt;
    const std::optional<Affine> of = forms.FormOf(inst.args[0], inst.guard);
    if (of == at + one) return Turning{0, true, at + one, Affine::Const(0)};
    if (of == at + rows - one) return Turning{0, false, at - one, rows - one};
    return std::nullopt;
  }

  std::optional<Turning> Choice(const Each& each, const Inst& inst, const ir::IndexVar& i,
                                const analysis::BodyForms& forms) const {
    const Inst* test = FindDef(each, inst.args[0]);
    if (!test || test->op != Op::Holds || test->constraints.size() != 1) return std::nullopt;
    const Affine one = Affine::Const(1), at = Affine::Of(i.var), rows = Affine::Of(i.extent);
    const ir::Constraint& c = test->constraints[0];
    const auto is = [&](const Affine& e) { return c.e == e || (c.equality && c.e == e * -1); };
    const bool at_last = is(c.equality ? at + one - rows : rows - at - one - one);
    if (!at_last && !is(c.equality ? at : at - one)) return std::nullopt;
    std::optional<Affine> forms_of[2];  // where the test holds, and where it does not
    for (size_t k = 0; k < 2; ++k) {
      const Inst* def = FindDef(each, inst.args[k + 1]);
      const Value guard = def ? def->guard : ir::kNoValue;
      if (guard != inst.guard && !Follows(each, guard, inst.args[0], k == 0)) return std::nullopt;
      forms_of[k] = forms.FormOf(inst.args[k + 1], guard);
      if (!forms_of[k]) return std::nullopt;
    }
    const size_t outer = c.equality ? 0 : 1;
    return Turning{0, at_last, *forms_of[1 - outer], *forms_of[outer]};
  }
  // Whether the guard is there where the test holds, or where it does not.
  static bool Follows(const Each& each, Value guard, Value test, bool holds) {
    if (!guard.valid()) return true;
    const Inst* def = holds ? nullptr : FindDef(each, guard);
    return holds ? guard == test : def && def->op == Op::Not && def->args[0] == test;
  }

  static std::vector<Part> PartsOf(const ir::IndexVar& i, const Group& group) {
    const Affine first = Affine::Const(0), last = Affine::Of(i.extent) - Affine::Const(1);
    const bool both = group.has_first && group.has_last;
    std::vector<Part> parts;
    if (both) parts.push_back({false, false, first, true});
    if (group.has_first) parts.push_back({false, both, first});
    parts.push_back({group.has_first, group.has_last, {}});
    if (group.has_last) parts.push_back({both, false, last});
    return parts;
  }

  // Not with the name of the whole.
  Inst PartOf(Inst whole, size_t place, const std::vector<Turning>& turnings, const Part& part) {
    for (const Turning& t : turnings) {
      const bool outer =
          part.turn &&
          (part.is_only || *part.turn == (t.at_last ? LastOf(whole, place) : Affine::Const(0)));
      Inst& turning = whole.each->body[t.inst];
      turning.op = Op::AffineOf;
      turning.args = {};
      turning.subs = {outer ? t.outer : t.inner};
      if (HasPoints(*whole.each, turning.guard)) turning.guard = ir::kNoValue;
    }
    Inst made = CopyStatement(whole, f_).inst;
    made.results = {f_.NewLike(f_, whole.results[0])};
    Each& each = *made.each;
    const ir::IndexVar i = each.indices[place];
    const Affine one = Affine::Const(1), at = part.turn.value_or(Affine::Of(i.var)),
                 last = Affine::Of(i.extent) - one;
    if (part.turn) {
      SubstituteIndex(each, f_, i.var, *part.turn);
      each.indices.erase(each.indices.begin() + static_cast<std::ptrdiff_t>(place));
      if (!part.first && !part.last) each.where.push_back({last, part.is_only});
    }
    if (part.first) each.where.push_back({at - one, false});
    if (part.last) each.where.push_back({last - at - one, false});
    return made;
  }
  // Whether the guard says no more than that an index has a range.
  static bool HasPoints(const Each& each, Value guard) {
    const Inst* test = FindDef(each, guard);
    return test && test->op == Op::Holds &&
           std::all_of(test->constraints.begin(), test->constraints.end(),
                       [&](const ir::Constraint& c) {
                         return !c.equality &&
                                std::any_of(each.indices.begin(), each.indices.end(),
                                            [&](const ir::IndexVar& i) {
                                              return c.e == Affine::Of(i.extent) - Affine::Const(1);
                                            });
                       });
  }
  static Affine LastOf(const Inst& inst, size_t place) {
    return Affine::Of(inst.each->indices[place].extent) - Affine::Const(1);
  }

  Value Add(Value a, Value b, uint32_t loc, std::vector<Inst>& out) {
    Inst& inst = out.emplace_back();
    inst.op = f_.TypeOf(a).IsArray() ? Op::AddArrays : Op::Add;
    inst.args = {a, b};
    inst.results = {f_.NewLike(f_, a)};
    inst.loc = loc;
    return inst.results[0];
  }

  ir::Function& f_;
  ir::Block& b_;
  const ir::OwnArrays& own_;
  std::set<Value> large_;                                    // that its statements make by rows
  std::unordered_map<uint32_t, std::vector<size_t>> users_;  // by value: of b_, or elsewhere
  std::unordered_map<uint32_t, size_t> makers_;              // statements of b_
  std::set<size_t> apart_;                                   // statements that no group takes
  std::unordered_map<uint32_t, Elements> elements_;          // of arrays that are split, by value
};

}  // namespace

bool SplitRings(ir::Function& f) {
  const ir::OwnArrays own(f);
  bool changed = false;
  for (ir::Block& b : f.blocks) changed |= RingSplitter(f, b, own).Run();
  return changed;
}

}  // namespace pullback::tensor
