// What a loop's turn hands on to the next one and is a row that it read, `prev = z[i]`, is read where it lies instead, by the turns
// behind the first: the loop carries one array less, and its turns may take both rows of a block (turn_blocks.cc).
//
//   b1(i, p): br lt(i, n), b2, b3              b1(i): br lt(i, n), b2, b3
//   b2: s = each(k < h) { … p[k] … }           b2: s = each(k < h) { l = holds (start < i); a = z[i - 1, k] if l;
//       q = each(k < h) { z[i, k] } gen [k]             o = not l; b = init[k] if o; … select(l, a, b) … }
//       jump b1(i + 1, q)                          jump b1(i + 1)
//
// Of loops that count by ones, what statements of the turns alone read. The row was there when the turn before read it.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/ir/builder.h"
#include "core/ir/dominance.h"
#include "core/opt/block_loops.h"
#include "core/opt/simplify.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

class RowReader {
 public:
  explicit RowReader(ir::Function& f)
      : f_(f), dominators_(f), defs_(f), loops_(FindLoops(f, dominators_)) {}

  bool Run() {
    std::vector<Carried> found;
    for (const BlockLoop& loop : loops_) FindIn(loop, found);
    for (const Carried& c : found) Rewrite(c);
    return !found.empty();
  }

 private:
  struct Carried {
    const BlockLoop* loop;
    Value param, first;  // what it is in the first turn
    Value turn, start;
    Value array;
    Affine row;  // that a turn hands on
  };

  void FindIn(const BlockLoop& loop, std::vector<Carried>& found) const {
    const std::optional<Counter> counter = FindCounterByOnes(f_, loop, defs_);
    if (!counter || loop.latches.size() != 1) return;
    const ir::Block& header = f_.blocks[loop.header];
    const ir::Values& first = loop.Arguments(f_);
    for (size_t k = 0; k < header.params.size(); ++k) {
      const Value param = header.params[k];
      if (f_.TypeOf(param).rank == 0) continue;
      Carried c{&loop, param, first[k], header.params[counter->param], first[counter->param],
                {},    {}};
      const ir::Edges& edges = f_.blocks[loop.latches[0]].term.edges;
      const auto jumps_back = [&](const ir::Edge& e) { return e.block == loop.header; };
      const auto back = std::find_if(edges.begin(), edges.end(), jumps_back);
      if (std::count_if(edges.begin(), edges.end(), jumps_back) != 1 ||
          !IsRow(back->args[k], loop, c))
        continue;
      if (IsReadByStatements(c)) found.push_back(c);
    }
  }

  // A copy of the row that the turn says, of an array from outside.
  bool IsRow(Value v, const BlockLoop& loop, Carried& c) const {
    const Inst* copy = defs_.IsInside(v, loop) ? defs_.Inst(v) : nullptr;
    if (!copy || !copy->each || copy->each->results.size() != 1) return false;
    const ir::Each& each = *copy->each;
    const ir::EachResult& r = each.results[0];
    const bool copies = each.body.size() == 1 && each.where.empty() && !r.guard.valid() &&
                        !r.into.valid() && r.monoid == ir::Monoid::kGen && IsPrefixForm(each, r) &&
                        r.out.size() == each.indices.size();
    if (!copies) return false;
    const Inst& read = each.body[0];
    if (read.op != Op::Index || read.guard.valid() || read.results[0] != r.value ||
        read.subs.size() != r.out.size() + 1 || !defs_.IsFixed(read.args[0], loop))
      return false;
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      if (read.subs[axis + 1] != r.out[axis]) return false;
    }
    c.row = read.subs[0];
    const int64_t step = c.row.Coeff(c.turn);
    const Affine rest = c.row - Affine::Of(c.turn) * step;
    if ((step != 1 && step != -1) ||
        std::any_of(rest.terms.begin(), rest.terms.end(), [&](const Affine::Term& t) {
          return t.value == c.turn || !defs_.IsFixed(t.value, loop);
        }))
      return false;
    c.array = read.args[0];
    return true;
  }

  bool IsReadByStatements(const Carried& c) const {
    bool only = true, read = false;
    const auto is_param = [&](Value v) { return v == c.param; };
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (const Inst& inst : f_.blocks[b].insts) {
        if (!inst.each) {
          ir::ForEachOperand(inst, [&](Value v) { only = only && !is_param(v); });
          continue;
        }
        for (const ir::EachResult& r : inst.each->results) only = only && !is_param(r.into);
        for (const Inst& part : inst.each->body) {
          if (std::none_of(part.args.begin(), part.args.end(), is_param)) continue;
          only = only && part.op == Op::Index && !part.guard.valid() && c.loop->Holds(b) &&
                 b != c.loop->header;
          read = true;
        }
      }
      ir::ForEachTermOperand(f_.blocks[b].term, [&](Value v) { only = only && !is_param(v); });
    }
    return only && read;
  }

  void Rewrite(const Carried& c) {
    for (uint32_t b : c.loop->blocks) {
      for (Inst& inst : f_.blocks[b].insts) {
        if (inst.each) ReadWhereItLies(*inst.each, c);
      }
    }
  }
  void ReadWhereItLies(ir::Each& each, const Carried& c) {
    std::vector<Inst> body;
    for (Inst& inst : each.body) {
      if (inst.op == Op::Index && inst.args[0] == c.param) {
        Choose(inst, c, body);
      } else {
        body.push_back(std::move(inst));
      }
    }
    each.body = std::move(body);
  }
  void Choose(const Inst& read, const Carried& c, std::vector<Inst>& body) {
    const auto add = [&](Op op, Type type) -> Inst& {
      Inst inst;
      inst.op = op;
      inst.loc = read.loc;
      inst.results = {f_.NewValue(type)};
      body.push_back(std::move(inst));
      return body.back();
    };
    Inst& later = add(Op::Holds, Type::Bool());
    later.constraints = {{Affine::Of(c.turn) - Affine::Of(c.start) - Affine::Const(1), false}};
    const Value is_later = later.results[0];
    Inst& none = add(Op::Not, Type::Bool());
    none.args = {is_later};
    const Value is_first = none.results[0];
    const Type type = f_.TypeOf(read.results[0]);
    Inst& row = add(Op::Index, type);
    row.args = {c.array};
    row.subs = {c.row - Affine::Const(c.row.Coeff(c.turn))};
    for (const Affine& sub : read.subs) row.subs.push_back(sub);
    row.guard = is_later;
    const Value before = row.results[0];
    Inst& init = add(Op::Index, type);
    init.args = {c.first};
    init.subs = read.subs;
    init.guard = is_first;
    const Value at_first = init.results[0];
    Inst& choice = add(Op::Select, type);
    choice.args = {is_later, before, at_first};
    choice.results = read.results;
  }

  ir::Function& f_;
  const ir::Dominators dominators_;
  const DefinitionBlocks defs_;
  const std::vector<BlockLoop> loops_;
};

}  // namespace

bool ReadCarriedRows(ir::Function& f) { return f.blocks.size() > 1 && RowReader(f).Run(); }

}  // namespace pullback::opt
