#include "core/opt/stream_array.h"

#include <algorithm>
#include <utility>

#include "core/ir/op_weight.h"
#include "core/ir/statements.h"
#include "core/opt/loop_traps.h"
#include "core/opt/row_statement.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

ir::Values Without(ir::Values shape, size_t axis) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return shape;
}

}  // namespace

StreamArray::StreamArray(ir::Builder& b, const StreamFinder& finder, const Stream& s, int64_t kept)
    : b_(b),
      f_(b.function()),
      finder_(finder),
      s_(s),
      row_type_(ir::Type::Array(f_.TypeOf(s.array).elem, f_.TypeOf(s.array).rank - 1)),
      rest_(Without(s.shape, s.axis)) {
  for (int64_t k = 0; k <= kept; ++k) rows_.push_back(f_.NewValue(row_type_, f_.names[s.array.id]));
}

std::vector<Value> StreamArray::HandedOn() const {
  std::vector<Value> all(rows_.begin() + 1, rows_.end());
  for (const Picked& p : picked_) all.push_back(p.value);
  return all;
}

void StreamArray::ReadRowsIn(uint32_t block) {
  ir::Block& b = f_.blocks[block];
  for (Inst& inst : b.insts) {
    ReadRow(inst);
    if (!inst.each) continue;
    for (Inst& body : inst.each->body) ReadRow(body);
  }
  for (ir::Edge& e : b.term.edges) {
    if (e.block != s_.l.loop.header) std::replace(e.args.begin(), e.args.end(), s_.array, rows_[0]);
  }
}

void StreamArray::ReadLast(const LastRead& last) {
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

void StreamArray::CheckShape() {
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

std::vector<Value> StreamArray::StartRows(BroughtValues& brought) {
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

void StreamArray::BeginTurn() {
  RowOfStart(s_.row, !s_.is_always_there);
  f_.blocks[b_.block()].insts.back().results[0] = rows_[0];
  for (uint32_t id : s_.versions) f_.values[id] = row_type_;
}

std::vector<Value> StreamArray::EndTurn(Value row) {
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

void StreamArray::ChooseLast(Value runs) {
  for (const Chosen& c : chosen_) {
    const Value old = RowOfStart(c.row, true);
    MakeRow([&](const std::vector<Affine>& own) {
      const Value made = b_.Index(rows_[static_cast<size_t>(c.before_end)], own);
      return b_.Make(Op::Select, {runs, made, b_.Index(old, own)});
    });
    f_.blocks[b_.block()].insts.back().results[0] = c.value;
  }
}

void StreamArray::CheckTheRow(const Inst& maker) {
  const ir::EachResult& r = maker.each->results[0];
  const Value row = b_.AffineOf(r.out[s_.axis]), rows = s_.rows(), zero = b_.I64(0);
  Value may = b_.Make(Op::And, {b_.Make(Op::Ge, {row, zero}), b_.Make(Op::Lt, {row, rows})});
  for (const ir::IndexVar& i : maker.each->indices)
    may = b_.Make(Op::Or, {may, b_.Make(Op::Le, {i.extent, zero})});
  b_.SetLoc(ir::LocOfOut(maker, r));
  b_.Check(may, ir::TrapKind::kIndex, row, rows);
  b_.SetLoc(0);
}

Value StreamArray::PickedFor(const LastRead& last) {
  for (const Picked& p : picked_) {
    if (p.row == last.row) return p.value;
  }
  picked_.push_back({last.row, f_.NewValue(row_type_)});
  return picked_.back().value;
}

void StreamArray::ReadRow(Inst& inst) {
  if (inst.args.empty() || !s_.IsVersion(inst.args[0])) return;
  if (inst.op == Op::Dim) {
    inst.args[0] = s_.start;
    return;
  }
  const int64_t before = s_.before.at(&inst);
  if (before > 0 || inst.args[0] == s_.array) inst.args[0] = rows_[static_cast<size_t>(before)];
  DropRow(inst, s_.axis);
}

Value StreamArray::ChosenFor(const LastRead& last) {
  for (const Chosen& c : chosen_) {
    if (c.before_end == last.before_end) return c.value;
  }
  chosen_.push_back({last.before_end, last.row, f_.NewValue(row_type_)});
  return chosen_.back().value;
}

Value StreamArray::RowOfStart(const Affine& row, bool maybe) {
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

bool StreamArray::MakesOneRow(const Inst& maker) const {
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

Value StreamArray::TheRow(const Inst& maker, const Affine& row) {
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

std::optional<Value> StreamArray::RowIndex(const Inst& maker, size_t axis) {
  if (!maker.each || maker.results.size() != 1) return std::nullopt;
  const ir::Each& each = *maker.each;
  const ir::EachResult& r = each.results[0];
  const bool makes_elements = r.monoid == ir::Monoid::kGen && !r.into.valid() &&
                              r.out.size() == each.indices.size() && IsPrefixForm(each, r) &&
                              std::none_of(each.body.begin(), each.body.end(), ir::IsDear);
  return makes_elements ? std::optional(each.indices[axis].var) : std::nullopt;
}

Value StreamArray::Element(Value array, const std::vector<Affine>& at) {
  const Inst* store = finder_.defs().Inst(array);
  if (store != nullptr && store->op == Op::Zeros) return b_.Zero(row_type_.Element());
  if (store == nullptr || store->op != Op::Update) return b_.Index(array, at);
  std::vector<ir::Constraint> same;
  for (size_t k = 0; k < at.size(); ++k) same.push_back({at[k] - store->subs[k], true});
  const Value before = Element(store->args[0], at);
  return b_.Make(Op::Select, {b_.Holds(same), store->args[1], before});
}

Value StreamArray::MakeRow(ElementAt element) {
  std::vector<Affine> own;
  for (Value i : b_.BeginEach(rest_)) own.push_back(Affine::Of(i));
  ir::EachResult r;
  r.value = element(own);
  r.out = own;
  r.shape = rest_;
  return b_.EndEach({r})[0];
}

}  // namespace pullback::opt
