#include "core/loops/row_order.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pullback::loops {
namespace {

constexpr size_t kMostApart = 700;   // nodes from the first loop to the last
constexpr size_t kMostLoops = 64;    // that become one, or run strip by strip
constexpr size_t kMostNodes = 1000;  // in a loop

// What nodes do, all together: whether another one depends on any of them, or (not forwards) is needed by one.
class Together {
 public:
  explicit Together(bool forwards) : forwards_(forwards) {}

  void Add(const Effects& e) {
    const std::vector<Reg>& names = forwards_ ? e.defines : e.uses;
    names_.insert(names.begin(), names.end());
    for (const auto& [r, access] : e.memory) (access.writes ? written_ : read_).insert(r);
    seen_.checks |= e.checks;
    seen_.ordered |= e.ordered;
  }
  bool Meets(const Effects& e) const {
    const std::vector<Reg>& names = forwards_ ? e.uses : e.defines;
    return StayInOrder(seen_, e) ||
           std::any_of(names.begin(), names.end(), [&](Reg r) { return names_.contains(r); }) ||
           std::any_of(e.memory.begin(), e.memory.end(), [&](const auto& access) {
             return written_.contains(access.first) ||
                    (access.second.writes && read_.contains(access.first));
           });
  }

 private:
  const bool forwards_;
  Effects seen_;
  std::set<Reg> names_, read_, written_;
};

}  // namespace

RowItem& RowOrder::Add(Node node) {
  const size_t k = items_.size();
  order_.push_back(k);
  return items_.emplace_back(TakeItem(f_, std::move(node), k));
}

size_t RowOrder::Joined(size_t k) const {
  while (items_[k].joined != k) k = items_[k].joined;
  return k;
}

bool RowOrder::Fuse(Members members, Into into, Reg extent) {
  size_t first = order_.size(), last = 0;
  for (size_t k : members) {
    first = std::min(first, items_[k].place);
    last = std::max(last, items_[k].place);
  }
  if (last - first > kMostApart) return false;
  std::vector<bool> after;
  if (!Close(members, first, last, after) || !MayFuse(members, into)) return false;
  const std::optional<Reg> start = StartOf(members);
  if (!start) return false;
  Range range{*start, EndOf(members, extent)};
  Paces paces;
  Writer front(f_);
  if (into == Into::kStrips) {
    const auto is_extent = [&](Reg end) { return IsExtent(members, end, extent); };
    const std::optional<Paces> found = PacesOf(members);
    if (!found) return false;
    const bool by_turns = std::all_of(found->begin(), found->end(),
                                      [](const auto& of) { return of.second.rate == 1; });
    if (!by_turns && !StartsAtZero(members)) return false;
    if (!by_turns) range.hi = ir::kNoValue;
    const bool ends = range.hi.valid() ? is_extent(range.hi)
                                       : std::all_of(members.begin(), members.end(), [&](size_t k) {
                                           return is_extent(items_[k].node.args[1]);
                                         });
    if (!ends) return false;
    paces = *found;
    if (!range.hi.valid()) range.hi = MakeEnd(members, paces, front);
  }
  if (!range.hi.valid()) return false;
  std::vector<size_t> order;
  const auto take = [&](bool which) {
    for (size_t p = first; p <= last; ++p) {
      if (!members.contains(order_[p]) && after[p - first] == which) order.push_back(order_[p]);
    }
  };
  take(false);
  const size_t loop = Join(members, first, last, into, range, paces);
  std::move(front.nodes.begin(), front.nodes.end(), std::back_inserter(items_[loop].before));
  // What has joined is a loop without a body by now; what came in front of it, an end of turns, is in front of this one's.
  for (size_t k : members) {
    if (k != loop) order.push_back(k);
  }
  order.push_back(loop);
  take(true);
  for (size_t p = first; p <= last; ++p) {
    order_[p] = order[p - first];
    items_[order_[p]].place = p;
  }
  return true;
}

std::vector<Node> RowOrder::PutBack() {
  std::vector<Node> nodes;
  for (size_t k : order_) loops::PutBack(std::move(items_[k]), nodes);
  return nodes;
}

bool RowOrder::IsNoLess(Reg lo, Reg than) const {
  if (lo == than || (extents_.IsZero(than) && extents_.IsStart(lo))) return true;
  const auto a = extents_.constants.find(lo), b = extents_.constants.find(than);
  return a != extents_.constants.end() && b != extents_.constants.end() && a->second >= b->second;
}

bool RowOrder::StartsAtZero(const Members& members) const {
  return std::all_of(members.begin(), members.end(),
                     [&](size_t k) { return extents_.IsZero(items_[k].node.args[0]); });
}

std::optional<Reg> RowOrder::StartOf(const Members& members) const {
  Reg lo = items_[*members.begin()].node.args[0];
  for (size_t k : members) {
    const Reg own = items_[k].node.args[0];
    if (IsNoLess(lo, own))
      lo = own;
    else if (!IsNoLess(own, lo))
      return std::nullopt;
  }
  return lo;
}

// That none of the members goes beyond: kNoValue where that is not known.
Reg RowOrder::EndOf(const Members& members, Reg extent) const {
  std::vector<Reg> ends{extent};
  for (size_t k : members) ends.push_back(items_[k].node.args[1]);
  if (std::all_of(ends.begin() + 1, ends.end(), [&](Reg end) { return end == ends[1]; }))
    return ends[1];
  const auto last = std::find_if(ends.begin(), ends.end(), [&](Reg end) {
    return std::all_of(ends.begin() + 1, ends.end(),
                       [&](Reg own) { return extents_.IsWithin(own, end); });
  });
  return last == ends.end() ? ir::kNoValue : *last;
}

// The greatest of the members' ends, each so many times as its turns take, which is made.
Reg RowOrder::MakeEnd(const Members& members, const Paces& paces, Writer& front) {
  std::set<std::pair<Reg, int64_t>> ends;
  for (size_t k : members) ends.emplace(items_[k].node.args[1], paces.at(k).rate);
  Reg end;
  for (const auto& [own, rate] : ends) {
    const Reg turns = rate == 1 ? own : front.Scalar(ir::Op::Mul, {own, front.I64(rate)});
    end = end.valid() ? front.Scalar(ir::Op::Max, {end, turns}) : turns;
  }
  made_ends_.insert(end);
  return end;
}

// Whether turns that are delayed end where no integer wraps.
bool RowOrder::IsExtent(const Members& members, Reg end, Reg extent) const {
  if (extents_.IsWithin(end, extent) || extents_.of_arrays.contains(end)) return true;
  if (extents_.IsSum(end) || made_ends_.contains(end)) return true;
  return std::any_of(members.begin(), members.end(),
                     [&](size_t k) { return items_[k].ends.contains(end); });
}

// Loops in between that some member needs, and that need another, become members. `after`: by place, what needs one.
bool RowOrder::Close(Members& members, size_t first, size_t last, std::vector<bool>& after) const {
  for (bool grown = true; grown;) {
    grown = false;
    after = Reached(members, first, last, true);
    const std::vector<bool> needed = Reached(members, first, last, false);
    for (size_t p = first; p <= last; ++p) {
      if (!after[p - first] || !needed[p - first]) continue;
      if (!items_[order_[p]].IsLoop()) return false;
      grown |= members.insert(order_[p]).second;
    }
  }
  return true;
}

// By place: no member, but needs one, or (not forwards) is needed by one, through others or not.
std::vector<bool> RowOrder::Reached(const Members& members, size_t first, size_t last,
                                    bool forwards) const {
  const size_t count = last - first + 1;
  std::vector<bool> reached(count);
  Together all(forwards);
  for (size_t step = 0; step < count; ++step) {
    const size_t at = forwards ? step : count - 1 - step;
    const bool member = members.contains(order_[first + at]);
    const Effects& effects = items_[order_[first + at]].effects;
    reached[at] = !member && all.Meets(effects);
    if (member || reached[at]) all.Add(effects);
  }
  return reached;
}

bool RowOrder::MayFuse(const Members& members, Into into) const {
  if (members.size() > kMostLoops) return false;
  size_t size = 0;
  for (size_t k : members) {
    if (into == Into::kLoopOfPlain && items_[k].IsBetterAlone(f_)) return false;
    size += items_[k].size;
  }
  if (into == Into::kStrips) return true;
  if (size > kMostNodes) return false;
  for (size_t a : members) {
    for (size_t b : members) {
      if (a == b) break;
      if (DependenceOf(items_[a].effects, items_[b].effects) == Dependence::kWhole) return false;
    }
  }
  return true;
}

std::vector<size_t> RowOrder::InOrder(const Members& members) const {
  std::vector<size_t> in_order(members.begin(), members.end());
  std::sort(in_order.begin(), in_order.end(),
            [&](size_t a, size_t b) { return items_[a].place < items_[b].place; });
  return in_order;
}

std::optional<RowOrder::Paces> RowOrder::PacesOf(const Members& members) const {
  const std::vector<size_t> in_order = InOrder(members);
  std::vector<const Effects*> effects;
  for (size_t k : in_order) effects.push_back(&items_[k].effects);
  const std::optional<std::vector<int64_t>> rates = RatesOf(effects);
  if (!rates) return std::nullopt;
  std::vector<Effects> at_rates;
  for (size_t k = 0; k < effects.size(); ++k)
    at_rates.push_back(Paced(*effects[k], {(*rates)[k], {}}));
  std::vector<Reach> delays;
  for (size_t later = 0; later < at_rates.size(); ++later) {
    Reach delay;
    for (size_t earlier = 0; earlier < later; ++earlier) {
      const auto more = DelayOf(at_rates[later], at_rates[earlier]);
      if (!more) return std::nullopt;
      delay = AtMost(delay, delays[earlier] + *more);
    }
    if (!IsShortDelay(delay)) return std::nullopt;
    delays.push_back(delay);
  }
  Paces paces;
  for (size_t k = 0; k < in_order.size(); ++k) paces[in_order[k]] = {(*rates)[k], delays[k]};
  return paces;
}

// Into the first of them, in order.
size_t RowOrder::Join(const Members& members, size_t first, size_t last, Into into, Range range,
                      const Paces& paces) {
  size_t loop = items_.size();
  for (size_t p = first; p <= last; ++p) {
    const size_t k = order_[p];
    if (!members.contains(k)) continue;
    if (into == Into::kStrips) {
      StartStrips(items_[k]);
      SetPace(items_[k], paces.at(k));
    } else {
      Widen(f_, items_[k], range.lo, range.hi);
    }
    if (loop == items_.size())
      loop = k;
    else
      (into == Into::kStrips ? JoinStrips : JoinLoops)(items_[k], items_[loop], Side::kBehind);
  }
  items_[loop].node.args = {range.lo, range.hi};
  return loop;
}

}  // namespace pullback::loops
