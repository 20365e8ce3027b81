#include "core/opt/stream_readers.h"

#include <algorithm>

#include "core/ir/statements.h"
#include "core/opt/row_statement.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

constexpr int kMostSearches = 8;

// The index of the statement that the subscript is, and what is the same for all its points.
std::optional<std::pair<Value, Affine>> RowOf(const ir::Each& each, const Affine& sub) {
  const auto is_own = [&](const Affine::Term& t) {
    return std::any_of(each.indices.begin(), each.indices.end(),
                       [&](const ir::IndexVar& i) { return i.var == t.value; }) ||
           ir::FindDef(each, t.value) != nullptr;
  };
  const auto own = std::find_if(sub.terms.begin(), sub.terms.end(), is_own);
  if (own == sub.terms.end() || own->coeff != 1 || ir::FindDef(each, own->value) != nullptr ||
      std::any_of(own + 1, sub.terms.end(), is_own))
    return std::nullopt;
  return std::pair(own->value, sub - Affine::Of(own->value));
}

// Adds up, or takes the first greatest or least.
bool IsFolded(const ir::EachResult& r, ir::Type type) {
  const bool extremum = r.monoid == ir::Monoid::kMax || r.monoid == ir::Monoid::kMin;
  return r.monoid == ir::Monoid::kSum || (extremum && type.IsFloat());
}

bool NamesBeside(ir::AffineSpan subs, size_t axis, Value v) {
  for (size_t k = 0; k < subs.size(); ++k) {
    if (k != axis && subs[k].Coeff(v) != 0) return true;
  }
  return false;
}

}  // namespace

StreamReadersFinder::StreamReadersFinder(const ir::Function& f, const ir::Dominators& dominators,
                                         const StreamFinder& streams)
    : f_(f),
      dominators_(dominators),
      streams_(streams),
      statement_rows_(f),
      users_(f),
      order_(f.blocks.size()) {
  for (const BlockLoop& l : FindLoops(f, dominators)) exits_[l.header] = l.Exit(f).block;
  const std::vector<uint32_t>& order = dominators.order();
  for (size_t k = 0; k < order.size(); ++k) order_[order[k]] = k;
}

void StreamReadersFinder::AddUsers(Value v, Search& search) const {
  for (uint32_t b : users_.Of(v)) {
    if (dominators_.IsReachable(b) && !search.loop().Holds(b)) search.blocks.insert(order_[b]);
  }
}

const Stream* StreamReadersFinder::Search::StreamOf(Value v) const {
  const auto it = std::find_if(s.begin(), s.end(), [&](const Stream& x) { return x.array == v; });
  return it == s.end() ? nullptr : &*it;
}

Value StreamReadersFinder::Search::ReadBy(const Inst& inst) const {
  Value read;
  ir::ForEachOperand(inst, [&](Value v) {
    if (!read.valid() && StreamOf(v) != nullptr) read = v;
  });
  return read;
}

StreamReaders StreamReadersFinder::Find(Streams& streams) const {
  while (!streams.empty()) {
    Search search{streams, BlocksRun(streams[0].l.loop), {}, {}, {}, {}, {}};
    if (Find(search)) return std::move(search.found);
    std::erase_if(streams, [&](const Stream& s) { return s.array == search.needed; });
    const int64_t first = streams.empty() ? 0 : streams[0].ahead;
    for (Stream& s : streams) s.ahead -= first;
  }
  return {};
}

bool StreamReadersFinder::Find(Search& search) const {
  for (int tries = 0; tries < kMostSearches; ++tries) {
    search.found = {};
    for (const Stream& s : search.s) search.found.kept.push_back(s.kept);
    search.made.clear();
    if (!VisitAll(search)) return false;
    const size_t banned = search.banned.size();
    if (FindStored(search)) return true;
    if (search.banned.size() == banned) return false;
  }
  search.needed = search.s[0].array;
  return false;
}

// What makes comes before what reads it: blocks are added behind the one that is looked at, or it is among them.
bool StreamReadersFinder::VisitAll(Search& search) const {
  search.blocks.clear();
  for (const Stream& s : search.s) AddUsers(s.array, search);
  for (auto at = search.blocks.begin(); at != search.blocks.end(); ++at) {
    const uint32_t b = dominators_.order()[*at];
    const std::vector<Inst>& insts = f_.blocks[b].insts;
    for (size_t k = 0; k < insts.size(); ++k) {
      if (Visit(insts[k], b, k, search)) continue;
      search.needed = search.ReadBy(insts[k]);
      return false;
    }
    ir::ForEachTermOperand(f_.blocks[b].term, [&](Value v) {
      if (search.StreamOf(v) != nullptr) search.needed = v;
    });
    if (search.needed.valid()) return false;
  }
  return true;
}

// Through loops that are left by their test alone.
std::set<uint32_t> StreamReadersFinder::BlocksRun(const BlockLoop& loop) const {
  std::set<uint32_t> run;
  for (uint32_t b = loop.Exit(f_).block; run.insert(b).second;) {
    const auto exit = exits_.find(b);
    const ir::Terminator& term = f_.blocks[b].term;
    if (exit != exits_.end()) {
      b = exit->second;
    } else if (term.kind == ir::Terminator::Kind::kJump) {
      b = term.edges[0].block;
    }
  }
  return run;
}

// False: it needs an array in another way.
bool StreamReadersFinder::Visit(const Inst& inst, uint32_t block, size_t place,
                                Search& search) const {
  if (inst.op == Op::Dim) return true;
  if (inst.each && search.run.contains(block) && !search.banned.contains(inst.results[0].id)) {
    if (const auto reader = ReaderOf(inst, block, place, search)) {
      for (size_t k = 0; k < inst.results.size(); ++k) {
        if (!reader->axes[k]) continue;
        search.made[inst.results[k].id] = {search.found.readers.size(), *reader->axes[k]};
        AddUsers(inst.results[k], search);
      }
      search.found.readers.push_back(*reader);
      return true;
    }
  }
  return !search.ReadBy(inst).valid() || FindLast(inst, block, place, search);
}

bool StreamReadersFinder::FindLast(const Inst& inst, uint32_t block, size_t place,
                                   Search& search) const {
  if (!streams_.IsBehind(block, search.loop())) return false;
  const auto add = [&](const Inst& read, std::optional<size_t> in_body) {
    if (!search.ReadBy(read).valid()) return true;
    const auto last = LastOf(read, {block, place, in_body}, search.s);
    if (!last) return false;
    search.found.last.push_back(*last);
    int64_t& kept = search.found.kept[last->stream];
    if (last->of != LastRead::Of::kPicked) kept = std::max(kept, last->before_end);
    return true;
  };
  if (!inst.each) return add(inst, std::nullopt);
  for (const ir::EachResult& r : inst.each->results) {
    if (search.StreamOf(r.into) != nullptr) return false;
  }
  for (size_t k = 0; k < inst.each->body.size(); ++k) {
    if (!add(inst.each->body[k], k)) return false;
  }
  return true;
}

std::optional<LastRead> StreamReadersFinder::LastOf(const Inst& read, const ReadPlace& at,
                                                    const Streams& streams) const {
  if (read.op != Op::Index) return std::nullopt;
  const auto of = std::find_if(streams.begin(), streams.end(),
                               [&](const Stream& s) { return s.array == read.args[0]; });
  if (of == streams.end()) return std::nullopt;
  const Stream& s = *of;
  const BlockLoop& loop = s.l.loop;
  const Affine row = streams_.FormOf(read.subs[s.axis]);
  if (!std::all_of(row.terms.begin(), row.terms.end(), [&](const Affine::Term& t) {
        return streams_.defs().BlockOf(t.value) != ir::kNoBlock &&
               streams_.front().MayBe(t.value, loop);
      }))
    return std::nullopt;
  LastRead last{
      at, static_cast<size_t>(of - streams.begin()), LastRead::Of::kStart, 0, row, {}, 0, false};
  const Affine in_front = (s.FirstRow() - row) * s.step;
  if (in_front.IsConst() && in_front.constant > 0) return last;
  std::vector<Affine> facts = streams_.FactsBehind(loop, at.block, at.place);
  last.is_asked = !streams_.IsWithin(row, s.rows(), facts);
  const Inst& inst = f_.blocks[at.block].insts[at.place];
  last.reader = inst.results[0];
  last.loc = read.loc;
  if (last.is_asked && at.in_body && (read.guard.valid() || !inst.each->where.empty()))
    return std::nullopt;
  facts.push_back(row);
  facts.push_back(streams_.FormOf(Affine::Of(s.rows())) - row - Affine::Const(1));
  last.of = LastRead::Of::kPicked;
  const Affine before_end = (s.EndRow() - row) * s.step;
  if (before_end.IsConst() && 1 <= before_end.constant && before_end.constant <= kMostRowsKept) {
    last.before_end = before_end.constant;
    last.of = streams_.IsAtLeast0(s.l.bound - s.l.first, facts) ? LastRead::Of::kLast
                                                                : LastRead::Of::kEither;
  }
  return last;
}

std::optional<StreamReader> StreamReadersFinder::ReaderOf(const Inst& inst, uint32_t block,
                                                          size_t place, Search& search) const {
  StreamReader reader{block, place, {}, {}, {}, {}, {}, {}, {}, {}, false};
  if (!FindRow(inst, search, reader) || !NeedsOnlyRows(inst, search) ||
      !HasForm(inst, search.loop(), reader))
    return std::nullopt;
  FindEnds(search.s[0], reader);
  for (const TakenRow& taken : reader.taken) {
    if (taken.before > kMostRowsKept || (taken.before > 0 && reader.behind.any))
      return std::nullopt;
  }
  for (const TakenRow& taken : reader.taken) {
    int64_t& kept = search.found.kept[taken.stream];
    kept = std::max(kept, taken.before);
  }
  return reader;
}

// The index by which it takes rows of the arrays, and of what other readers make of these.
bool StreamReadersFinder::FindRow(const Inst& inst, const Search& search,
                                  StreamReader& reader) const {
  std::set<Value> rows;
  std::vector<Affine> away;  // by row that is taken: how far it is from the point's
  std::optional<Affine> shift;
  for (size_t k = 0; k < inst.each->body.size(); ++k) {
    const Inst& read = inst.each->body[k];
    const bool of_stream = search.ReadBy(read).valid();
    const bool of_made = std::any_of(read.args.begin(), read.args.end(),
                                     [&](Value v) { return search.made.contains(v.id); });
    if (!of_stream && !of_made) continue;
    if (read.op != Op::Index) return false;
    const size_t axis =
        of_stream ? search.StreamOf(read.args[0])->axis : search.made.at(read.args[0].id).axis;
    const auto row = RowOf(*inst.each, read.subs[axis]);
    if (!row || NamesBeside(read.subs, axis, row->first)) return false;
    rows.insert(row->first);
    if (of_stream) {
      const Stream& s = *search.StreamOf(read.args[0]);
      if (!statement_rows_.IsThere(*inst.each, read, axis, s.rows())) return false;
      reader.taken.push_back({k, static_cast<size_t>(&s - search.s.data()), 0});
      away.push_back(streams_.FormOf(row->second) - Affine::Const(s.ahead));
      continue;
    }
    const StreamReader& maker = search.found.readers[search.made.at(read.args[0].id).reader];
    const Affine of_maker = maker.shift + row->second;
    const bool fits = row->second.IsConst() && IsMade(*inst.each, row->first, row->second, maker);
    if (!fits || (shift && *shift != of_maker)) return false;
    shift = of_maker;
  }
  if (rows.size() != 1) return false;
  reader.row = *rows.begin();
  const auto at = std::find_if(inst.each->indices.begin(), inst.each->indices.end(),
                               [&](const ir::IndexVar& i) { return i.var == reader.row; });
  reader.rows = at->extent;
  const int64_t step = search.s[0].step;
  const bool is_told = shift.has_value();
  for (const Affine& a : away) {  // that of the latest turn
    const Affine later = (a - shift.value_or(a)) * step;
    if (!later.IsConst() || (is_told && later.constant > 0)) return false;
    if (!shift || later.constant > 0) shift = a;
  }
  reader.shift = *shift;
  for (size_t k = 0; k < away.size(); ++k)
    reader.taken[k].before = ((reader.shift - away[k]) * step).constant;
  return true;
}

// Whether the maker has all rows from `more` behind that index's.
bool StreamReadersFinder::IsMade(const ir::Each& each, Value row, const Affine& more,
                                 const StreamReader& maker) const {
  const auto at = std::find_if(each.indices.begin(), each.indices.end(),
                               [&](const ir::IndexVar& i) { return i.var == row; });
  const auto form = [&](Value v) { return streams_.FormOf(Affine::Of(v)); };
  return streams_.IsAtLeast0(more, {}) &&
         streams_.IsAtLeast0(form(maker.rows) - form(at->extent) - more, {});
}

bool StreamReadersFinder::NeedsOnlyRows(const Inst& inst, const Search& search) const {
  bool needs = true;
  ir::ForEachOperand(inst, [&](Value v) {
    needs &= search.StreamOf(v) != nullptr || search.made.contains(v.id) ||
             streams_.front().MayBe(v, search.loop());
  });
  return needs;
}

bool StreamReadersFinder::HasForm(const Inst& inst, const BlockLoop& loop,
                                  StreamReader& reader) const {
  const ir::Each& each = *inst.each;
  const auto at = std::find_if(each.indices.begin(), each.indices.end(),
                               [&](const ir::IndexVar& i) { return i.var == reader.row; });
  for (const ir::EachResult& r : each.results) {
    if (r.into.valid()) return false;
    const std::optional<size_t> axis = RowAxis(r, reader.row);
    if (NamesBeside(r.out, axis.value_or(r.out.size()), reader.row)) return false;
    reader.axes.push_back(axis);
    if (axis ? !streams_.extents().AreEqual(r.shape[*axis], reader.rows) ||
                   !ir::IsApartFor(r, static_cast<size_t>(at - each.indices.begin()))
             : !IsFolded(r, f_.TypeOf(r.value)))
      return false;
  }
  return streams_.front().MayBe(reader.rows, loop) &&
         std::all_of(reader.shift.terms.begin(), reader.shift.terms.end(),
                     [&](const Affine::Term& t) { return streams_.front().MayBe(t.value, loop); });
}

void StreamReadersFinder::FindEnds(const Stream& s, StreamReader& reader) const {
  const Affine rows = streams_.FormOf(Affine::Of(reader.rows)), one = Affine::Const(1);
  const auto surely = [&](const Affine& form) { return streams_.IsAtLeast0(form, {}); };
  // Of its points, from the least one whose row turns make to behind the greatest.
  const bool up = s.step > 0;
  const Affine begin = (up ? s.FirstRow() : s.EndRow() + one) - reader.shift;
  const Affine end = (up ? s.EndRow() : s.FirstRow() + one) - reader.shift;
  const bool runs = surely(s.l.bound - s.l.first);
  const auto apart = [&](const Affine& first, const Affine& count, bool is_known) {
    PointsApart points{!surely(count * -1), first, 0, false};
    if (is_known && count.IsConst() && count.constant <= kMostRowsKept)
      points.count = std::max<int64_t>(count.constant, 0);
    return points;
  };
  PointsApart below = apart(Affine(), begin, up || runs),
              above = apart(end, rows - end, !up || runs);
  below.ends_at_turns = true;
  reader.before = up ? below : above;
  reader.behind = up ? above : below;
  reader.has_less = !surely(begin) || !surely(rows - end);
}

bool StreamReadersFinder::FindStored(Search& search) const {
  std::set<std::pair<uint32_t, size_t>> readers;
  for (const StreamReader& r : search.found.readers) readers.emplace(r.block, r.place);
  const auto need = [&](Value v) {
    const auto it = search.made.find(v.id);
    if (it == search.made.end()) return true;
    StreamReader& reader = search.found.readers[it->second.reader];
    const Inst& inst = InstOf(reader);
    const size_t k = static_cast<size_t>(std::find(inst.results.begin(), inst.results.end(), v) -
                                         inst.results.begin());
    reader.stored.insert(k);
    if (MayStore(reader, k)) return true;
    search.needed = search.ReadBy(inst);
    if (!search.needed.valid()) search.banned.insert(inst.results[0].id);
    return false;
  };
  bool may = true;
  for (size_t at : search.blocks) {
    const uint32_t b = dominators_.order()[at];
    const std::vector<Inst>& insts = f_.blocks[b].insts;
    for (size_t k = 0; k < insts.size(); ++k) {
      if (insts[k].op == Op::Dim || readers.contains({b, k})) continue;
      ir::ForEachOperand(insts[k], [&](Value v) { may &= need(v); });
    }
    ir::ForEachTermOperand(f_.blocks[b].term, [&](Value v) { may &= need(v); });
  }
  return may;
}

bool StreamReadersFinder::MayStore(const StreamReader& reader, size_t result) const {
  const ir::EachResult& r = InstOf(reader).each->results[result];
  return (r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum) &&
         f_.TypeOf(InstOf(reader).results[result]).IsFloat() && streams_.own().IsNoLarger(r.shape);
}

}  // namespace pullback::opt
