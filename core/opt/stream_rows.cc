// An array that the turns of a loop fill, a row each, and of which they take no rows but their own and those of few turns before, is not
// held where all that is behind the loop takes its rows one by one, or the last ones: turns hand the rows on, and each runs what reads
// its row.
//
//   b0: jump b1(0, z0)                                    b0: r0 = z0[-1]; s0 = sum of f(z0[i]) for i that no turn makes
//   b1(i, z): br lt(i, n), b2, b3                             jump b1(0, r0, s0)
//   b2: … z' = update z[i, j], … z[i - 1, j] …            b1(i, r, s): br lt(i, n), b4, b3
//       jump b1(i + 1, z')                                b4: c = z0[i]; jump b2
//   b3: s = each(i < n, j < h): sum []: f(z[i, j])        b2: … c' = update c[j], … r[j] …
//                                                             s' = s + each(j < h): sum []: f(c'[j])
//                                                             jump b1(i + 1, c', s')
//                                                         b3: s
//
// What statements behind the loop make for each row, others may take row by row; what is needed otherwise is stored by the turns, where it
// is no larger than the function's own arrays. Sums are added up turn by turn.
// Only of arrays that may be larger than the function's own, and where every run that leaves the loop gets to what reads them: where that
// ends the run, it may do so in a turn. Comes before derivatives are taken: turns take back what they made of their row.
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/op_weight.h"
#include "core/ir/statements.h"
#include "core/opt/loop_traps.h"
#include "core/opt/reader_runs.h"
#include "core/opt/row_statement.h"
#include "core/opt/short_index.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostStreams = 64;  // of a function: each walks over it

ir::Values Without(ir::Values shape, size_t axis) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return shape;
}

// One array that is not held.
class RowsOfStream {
 public:
  RowsOfStream(ir::Builder& b, const StreamFinder& finder, const Stream& s, int64_t kept)
      : b_(b),
        f_(b.function()),
        finder_(finder),
        s_(s),
        row_type_(ir::Type::Array(f_.TypeOf(s.array).elem, f_.TypeOf(s.array).rank - 1)),
        rest_(Without(s.shape, s.axis)) {
    for (int64_t k = 0; k <= kept; ++k)
      rows_.push_back(f_.NewValue(row_type_, f_.names[s.array.id]));
  }

  const Stream& stream() const { return s_; }
  // Of the turn, where it begins, and of those before, which turns hand on.
  const std::vector<Value>& rows() const { return rows_; }
  // What turns hand on: rows of turns before, and those that are picked.
  std::vector<Value> HandedOn() const {
    std::vector<Value> all(rows_.begin() + 1, rows_.end());
    for (const Picked& p : picked_) all.push_back(p.value);
    return all;
  }

  // In the block: nothing is the array but its rows.
  void ReadRowsIn(uint32_t block) {
    ir::Block& b = f_.blocks[block];
    for (Inst& inst : b.insts) {
      ReadRow(inst);
      if (!inst.each) continue;
      for (Inst& body : inst.each->body) ReadRow(body);
    }
    for (ir::Edge& e : b.term.edges) {
      if (e.block != s_.l.loop.header)
        std::replace(e.args.begin(), e.args.end(), s_.array, rows_[0]);
    }
  }
  void ReadLast(const LastRead& last) {
    Inst& at = f_.blocks[last.at.block].insts[last.at.place];
    Inst& read = last.at.in_body ? at.each->body[*last.at.in_body] : at;
    switch (last.of) {
      case LastRead::Of::kStart: read.args[0] = s_.start; return;
      case LastRead::Of::kLast: read.args[0] = rows_[static_cast<size_t>(last.before_end)]; break;
      case LastRead::Of::kEither: read.args[0] = ChosenFor(last); break;
      case LastRead::Of::kPicked: read.args[0] = PickedFor(last); break;
    }
    DropRow(read, s_.axis);
  }

  // At the end of the builder's block:
  // It would end the run if it could not be there.
  void CheckShape() {
    for (Value n : s_.shape) {
      if (IsExtent(n, finder_.defs())) continue;
      const Inst* maker = finder_.defs().Inst(s_.start);
      b_.SetLoc(maker == nullptr ? 0 : maker->loc);
      b_.Check(b_.Make(Op::Ge, {n, b_.I64(0)}), ir::TrapKind::kNegativeSize, n);
      b_.SetLoc(0);
    }
    if (const Inst* maker = finder_.defs().Inst(s_.start); maker != nullptr && MakesOneRow(*maker))
      CheckTheRow(*maker);
  }
  // What the first turn gets.
  std::vector<Value> StartRows(BroughtValues& brought) {
    std::vector<Value> starts;
    for (size_t k = 1; k < rows_.size(); ++k) {
      const auto before = static_cast<int64_t>(k) * s_.step;
      starts.push_back(RowOfStart(s_.FirstRow() - Affine::Const(before), true));
    }
    for (Picked& p : picked_) {
      p.row = brought.Bring(p.row);
      starts.push_back(RowOfStart(p.row, true));
    }
    return starts;
  }
  Value RowOfStart(const Affine& row) { return RowOfStart(row, true); }
  void BeginTurn() {
    RowOfStart(s_.row, !s_.is_always_there);
    f_.blocks[b_.block()].insts.back().results[0] = rows_[0];
    for (uint32_t id : s_.versions) f_.values[id] = row_type_;
  }
  // What the next turn gets, where the turn has made `row`; behind the builder's block.
  std::vector<Value> EndTurn(Value row) {
    std::vector<Value> next = {row};
    next.insert(next.end(), rows_.begin() + 1, rows_.end());
    next.pop_back();
    for (const Picked& p : picked_) {
      const Value is = b_.Make(Op::Eq, {b_.AffineOf(s_.row), b_.AffineOf(p.row)});
      const uint32_t join = b_.NewBlock();
      next.push_back(b_.AddParam(join, row_type_));
      b_.Branch(is, {join, {row}}, {join, {p.value}});
      b_.SetBlock(join);
    }
    return next;
  }
  bool HasChosen() const { return !chosen_.empty(); }
  void ChooseLast(Value runs) {
    for (const Chosen& c : chosen_) {
      const Value old = RowOfStart(c.row, true);
      MakeRow([&](const std::vector<Affine>& own) {
        const Value made = b_.Index(rows_[static_cast<size_t>(c.before_end)], own);
        return b_.Make(Op::Select, {runs, made, b_.Index(old, own)});
      });
      f_.blocks[b_.block()].insts.back().results[0] = c.value;
    }
  }

 private:
  // Where the loop makes no turn, the row is what it was before.
  struct Chosen {
    int64_t before_end;
    Affine row;
    Value value;
  };

  // A row that some turn makes, if any does.
  struct Picked {
    Affine row;
    Value value;
  };

  // A store to a row that is not there does, if it stores anything.
  void CheckTheRow(const Inst& maker) {
    const ir::EachResult& r = maker.each->results[0];
    const Value row = b_.AffineOf(r.out[s_.axis]), rows = s_.rows(), zero = b_.I64(0);
    Value may = b_.Make(Op::And, {b_.Make(Op::Ge, {row, zero}), b_.Make(Op::Lt, {row, rows})});
    for (const ir::IndexVar& i : maker.each->indices)
      may = b_.Make(Op::Or, {may, b_.Make(Op::Le, {i.extent, zero})});
    b_.SetLoc(ir::LocOfOut(maker, r));
    b_.Check(may, ir::TrapKind::kIndex, row, rows);
    b_.SetLoc(0);
  }
  Value PickedFor(const LastRead& last) {
    for (const Picked& p : picked_) {
      if (p.row == last.row) return p.value;
    }
    picked_.push_back({last.row, f_.NewValue(row_type_)});
    return picked_.back().value;
  }
  void ReadRow(Inst& inst) {
    if (inst.args.empty() || !s_.IsVersion(inst.args[0])) return;
    if (inst.op == Op::Dim) {
      inst.args[0] = s_.start;
      return;
    }
    const int64_t before = s_.before.at(&inst);
    if (before > 0 || inst.args[0] == s_.array) inst.args[0] = rows_[static_cast<size_t>(before)];
    DropRow(inst, s_.axis);
  }
  Value ChosenFor(const LastRead& last) {
    for (const Chosen& c : chosen_) {
      if (c.before_end == last.before_end) return c.value;
    }
    chosen_.push_back({last.before_end, last.row, f_.NewValue(row_type_)});
    return chosen_.back().value;
  }

  // Of what was there before the loop. `maybe`: that row may not be.
  Value RowOfStart(const Affine& row, bool maybe) {
    const Inst* maker = finder_.defs().Inst(s_.start);
    if (maker != nullptr && maker->op == Op::Zeros) return b_.Zeros(row_type_.elem, rest_);
    const std::optional<Value> index = maker == nullptr ? std::nullopt : RowIndex(*maker, s_.axis);
    const Affine left = Affine::Of(s_.rows()) - row - Affine::Const(1);
    if (index) {
      Copier names(f_);
      Inst made = StatementAtRow(f_, *maker, *index, row, names);
      if (maybe) made.each->where.insert(made.each->where.end(), {{row, false}, {left, false}});
      return b_.Append(std::move(made)).results[0];
    }
    if (maker != nullptr && MakesOneRow(*maker)) return TheRow(*maker, row);
    return MakeRow([&](const std::vector<Affine>& own) {
      std::vector<Affine> at = own;
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(s_.axis), row);
      if (maybe) b_.SetGuard(b_.Holds({{row, false}, {left, false}}));
      const Value element = Element(s_.start, at);
      b_.SetGuard(ir::kNoValue);
      return element;
    });
  }
  // A statement that stores to one row, the same for all points, and nothing else.
  bool MakesOneRow(const Inst& maker) const {
    if (!maker.each || maker.results.size() != 1) return false;
    ir::EachResult r = maker.each->results[0];
    if (r.monoid != ir::Monoid::kGen || r.guard.valid() || r.into.valid() || r.out.size() < 2 ||
        !maker.each->where.empty())
      return false;
    const ir::Each& each = *maker.each;
    const auto is_own = [&](const Affine::Term& t) {
      return ir::FindDef(each, t.value) != nullptr ||
             std::any_of(each.indices.begin(), each.indices.end(),
                         [&](const ir::IndexVar& i) { return i.var == t.value; });
    };
    const Affine row = r.out[s_.axis];
    r.out.erase(r.out.begin() + static_cast<std::ptrdiff_t>(s_.axis));
    return std::none_of(row.terms.begin(), row.terms.end(), is_own) &&
           r.out.size() == each.indices.size() && ir::IsPrefixForm(each, r);
  }
  Value TheRow(const Inst& maker, const Affine& row) {
    Copier names(f_);
    Inst made = names.Copy(maker);
    ir::EachResult& r = made.each->results[0];
    const auto axis = static_cast<std::ptrdiff_t>(s_.axis);
    made.each->where.push_back({row - r.out[s_.axis], true});
    r.out.erase(r.out.begin() + axis);
    r.shape.erase(r.shape.begin() + axis);
    made.results[0] = f_.NewValue(row_type_);
    return b_.Append(std::move(made)).results[0];
  }
  // Of a statement that makes elements of others at little cost: the index of its rows.
  static std::optional<Value> RowIndex(const Inst& maker, size_t axis) {
    if (!maker.each || maker.results.size() != 1) return std::nullopt;
    const ir::Each& each = *maker.each;
    const ir::EachResult& r = each.results[0];
    const bool makes_elements = r.monoid == ir::Monoid::kGen && !r.into.valid() &&
                                r.out.size() == each.indices.size() && IsPrefixForm(each, r) &&
                                std::none_of(each.body.begin(), each.body.end(), ir::IsDear);
    return makes_elements ? std::optional(each.indices[axis].var) : std::nullopt;
  }
  // Of what some stores have made of an array.
  Value Element(Value array, const std::vector<Affine>& at) {
    const Inst* store = finder_.defs().Inst(array);
    if (store != nullptr && store->op == Op::Zeros) return b_.Zero(row_type_.Element());
    if (store == nullptr || store->op != Op::Update) return b_.Index(array, at);
    std::vector<ir::Constraint> same;
    for (size_t k = 0; k < at.size(); ++k) same.push_back({at[k] - store->subs[k], true});
    const Value before = Element(store->args[0], at);
    return b_.Make(Op::Select, {b_.Holds(same), store->args[1], before});
  }
  template <typename Element>
  Value MakeRow(Element&& element) {
    std::vector<Affine> own;
    for (Value i : b_.BeginEach(rest_)) own.push_back(Affine::Of(i));
    ir::EachResult r;
    r.value = element(own);
    r.out = own;
    r.shape = rest_;
    return b_.EndEach({r})[0];
  }

  ir::Builder& b_;
  ir::Function& f_;
  const StreamFinder& finder_;
  const Stream& s_;
  const ir::Type row_type_;
  const ir::Values rest_;
  std::vector<Value> rows_;
  std::vector<Chosen> chosen_;
  std::vector<Picked> picked_;
};

// The change of one loop.
class Streaming {
 public:
  Streaming(ir::Module& m, ir::Function& f, const StreamFinder& finder, const Streams& streams)
      : f_(f), b_(m, f), finder_(finder), streams_(streams), loop_(streams[0].l.loop) {}

  void Run(const StreamReaders& found) {
    for (size_t k = 0; k < streams_.size(); ++k)
      arrays_.emplace_back(b_, finder_, streams_[k], found.kept[k]);
    // First what changes no place of an instruction.
    for (RowsOfStream& a : arrays_) {
      for (uint32_t b : loop_.blocks) a.ReadRowsIn(b);
    }
    for (const LastRead& last : found.last) arrays_[last.stream].ReadLast(last);
    ReaderRuns readers(b_, finder_, streams_, found.readers);
    AddPreheader(f_, loop_);
    BroughtValues brought(f_, finder_.front(), streams_[0].l.loop, loop_.entry);
    b_.SetBlock(loop_.entry);
    for (RowsOfStream& a : arrays_) a.CheckShape();
    readers.Start(loop_.entry, brought, [&](size_t stream, const Affine& row) {
      return arrays_[stream].RowOfStart(row);
    });
    b_.SetBlock(loop_.entry);
    std::vector<Value> starts;
    for (RowsOfStream& a : arrays_) {
      const std::vector<Value> rows = a.StartRows(brought);
      starts.insert(starts.end(), rows.begin(), rows.end());
    }
    BeginTurns();
    EndTurns(readers);
    LeaveLoop();
    HandOn(starts, readers.Tables());
    readers.Finish();
    for (const LastRead& last : found.last) {
      if (last.is_asked) CheckRow(last);
    }
  }

 private:
  // In front of a read that would have ended the run.
  void CheckRow(const LastRead& last) {
    std::vector<Inst>& insts = f_.blocks[last.at.block].insts;
    const auto read = std::find_if(insts.begin(), insts.end(), [&](const Inst& inst) {
      return !inst.results.empty() && inst.results[0] == last.reader;
    });
    std::vector<Inst> check;
    ir::Appender out(f_, check, last.loc);
    const Value row = out.Number(last.row), rows = streams_[last.stream].rows();
    const ir::Type type = ir::Type::Bool();
    Value may_read = out.Make(
        Op::And, type,
        {out.Make(Op::Ge, type, {row, out.Number(Affine())}), out.Make(Op::Lt, type, {row, rows})});
    for (size_t k = 0; read->each && k < read->each->indices.size(); ++k) {
      const Value none =
          out.Make(Op::Le, type, {read->each->indices[k].extent, out.Number(Affine())});
      may_read = out.Make(Op::Or, type, {may_read, none});
    }
    out.Check(may_read, ir::TrapKind::kIndex, {row, rows});
    insts.insert(read, std::make_move_iterator(check.begin()),
                 std::make_move_iterator(check.end()));
  }

  void BeginTurns() {
    const uint32_t begin = b_.NewBlock();
    const ir::Edge stay = loop_.Stay(f_);
    b_.SetBlock(begin);
    for (RowsOfStream& a : arrays_) a.BeginTurn();
    b_.Jump(stay.block, stay.args);
    f_.blocks[loop_.header].term.edges[1 - loop_.exit_edge] = {begin, {}};
  }

  ir::Edge& BackEdge() {
    ir::Edges& edges = f_.blocks[loop_.latches[0]].term.edges;
    return *std::find_if(edges.begin(), edges.end(),
                         [&](const ir::Edge& e) { return e.block == loop_.header; });
  }
  void EndTurns(ReaderRuns& readers) {
    ir::Values args = BackEdge().args;
    const uint32_t end = b_.NewBlock();
    BackEdge() = {end, {}};
    ReaderRuns::Rows rows;
    for (const RowsOfStream& a : arrays_) {
      rows.push_back(a.rows());
      if (const Value made = args[a.stream().param]; made != a.stream().array)
        rows.back()[0] = made;
    }
    readers.Run(end, rows);
    std::vector<Value> next;
    for (size_t k = 0; k < arrays_.size(); ++k) {
      const std::vector<Value> of_array = arrays_[k].EndTurn(rows[k][0]);
      next.insert(next.end(), of_array.begin(), of_array.end());
    }
    Replace(args, next, readers.Tables(), [](const auto& t) { return t.next; });
    b_.Jump(loop_.header, args);
  }
  // What the arrays were, by rows and what readers hand on.
  template <typename Of>
  void Replace(ir::Values& values, const std::vector<Value>& rows,
               const std::vector<ReaderRuns::Table>& tables, Of&& of) {
    for (auto s = streams_.rbegin(); s != streams_.rend(); ++s)  // by number of parameter
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(s->param));
    values.insert(values.end(), rows.begin(), rows.end());
    for (const ReaderRuns::Table& t : tables) values.push_back(of(t));
  }
  void HandOn(const std::vector<Value>& starts, const std::vector<ReaderRuns::Table>& tables) {
    std::vector<Value> before;
    for (const RowsOfStream& a : arrays_) {
      const std::vector<Value> rows = a.HandedOn();
      before.insert(before.end(), rows.begin(), rows.end());
    }
    Replace(f_.blocks[loop_.header].params, before, tables, [](const auto& t) { return t.param; });
    Replace(f_.blocks[loop_.entry].term.edges[loop_.entry_edge].args, starts, tables,
            [](const auto& t) { return t.start; });
  }

  void LeaveLoop() {
    if (std::none_of(arrays_.begin(), arrays_.end(),
                     [](const RowsOfStream& a) { return a.HasChosen(); }))
      return;
    const uint32_t block = b_.NewBlock();
    ir::Edge& exit = f_.blocks[loop_.header].term.edges[loop_.exit_edge];
    const ir::Edge to = std::exchange(exit, {block, {}});
    b_.SetBlock(block);
    const RowLoop& l = streams_[0].l;
    const Value runs = b_.Make(Op::Ge, {b_.AffineOf(l.bound), b_.AffineOf(l.first)});
    for (RowsOfStream& a : arrays_) a.ChooseLast(runs);
    b_.Jump(to.block, to.args);
  }

  ir::Function& f_;
  ir::Builder b_;
  const StreamFinder& finder_;
  const Streams& streams_;
  BlockLoop loop_;
  std::vector<RowsOfStream> arrays_;
};

// Windows of rows, `sum k < 3 { z[i + k] }`, are reads of rows next to each other.
bool UnrollWindows(ir::Function& f, const StreamFinder& finder, const UsingBlocks& users,
                   const Stream& s) {
  bool changed = false;
  for (uint32_t b : std::set<uint32_t>(users.Of(s.array).begin(), users.Of(s.array).end())) {
    if (!finder.IsBehind(b, s.l.loop)) continue;
    for (Inst& inst : f.blocks[b].insts) {
      for (size_t k = 0; inst.each && k < inst.each->body.size(); ++k) {
        const Inst& read = inst.each->body[k];
        if (read.op != Op::Index || read.args[0] != s.array || read.subs[s.axis].terms.size() < 2)
          continue;
        for (const ir::IndexVar& i : inst.each->indices) {
          const Affine n = finder.FormOf(Affine::Of(i.extent));
          const bool is_short = n.IsConst() && n.constant <= kMostRowsKept + 1;
          if (read.subs[s.axis].Coeff(i.var) == 0 || !is_short) continue;
          if (UnrollIndex(f, inst, i.var, n.constant)) {
            changed = true;
            k = inst.each->body.size();
          }
          break;
        }
      }
    }
  }
  return changed;
}

bool StreamOne(ir::Module& m, ir::Function& f, bool& changed) {
  const ir::Dominators dominators(f);
  const StreamFinder finder(f);
  const StreamReadersFinder readers(f, dominators, finder);
  const UsingBlocks users(f);
  for (const RowLoop& l : finder.Loops()) {
    Streams streams = finder.Find(l);
    for (const Stream& s : streams) changed |= UnrollWindows(f, finder, users, s);
    const StreamReaders found = readers.Find(streams);
    if (streams.empty()) continue;
    Streaming(m, f, finder, streams).Run(found);
    return changed = true;
  }
  return false;
}

}  // namespace

bool StreamRows(ir::Module& m, ir::Function& f) {
  bool changed = false;
  for (int k = 0; k < kMostStreams && f.blocks.size() > 1 && StreamOne(m, f, changed); ++k) {
  }
  return changed;
}

}  // namespace pullback::opt
