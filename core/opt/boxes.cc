// Boxes become indices into a store, a list of what they hold, that is threaded through the code: then a
// program with shared mutable cells is one of plain values, and every mode and nesting of derivatives is
// right by construction. A function through whose type boxes of a record may come or go takes the store of
// that record and gives it back; any other starts with an empty one of its own.
#include <map>

#include "core/ir/builder.h"
#include "core/opt/box_plan.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Function;
using ir::Inst;
using ir::Module;
using ir::Op;
using ir::Type;
using ir::Value;

Type WithoutBox(Type t) { return t.IsBox() ? Type::I64() : t; }

// A function as it was.
struct Original {
  size_t params;
  std::vector<Type> results;     // boxes are indices already
  std::vector<bool> carried;     // by result: it carried a tangent
  std::vector<uint32_t> record;  // by value: of a box
};

std::vector<Original> Describe(const Module& m) {
  std::vector<Original> all;
  for (const auto& f : m.functions) {
    Original o{f->params().size(), {}, {}, {}};
    for (Type t : f->results) {
      o.results.push_back(WithoutBox(t));
      o.carried.push_back(ir::CarriesTangent(m, t));
    }
    for (const Type t : f->values) o.record.push_back(t.record);
    all.push_back(std::move(o));
  }
  return all;
}

void MakeIndices(Module& m) {
  for (ir::Record& r : m.records) {
    for (Type& t : r.fields) t = WithoutBox(t);
  }
  for (const auto& f : m.functions) {
    for (Type& t : f->results) t = WithoutBox(t);
    for (Type& t : f->values) t = WithoutBox(t);
  }
}

class Threader {
 public:
  Threader(Module& m, uint32_t id, const BoxPlan& plan, const std::vector<Original>& originals)
      : m_(m),
        f_(m.Get(id)),
        b_(m, f_),
        used_(plan.used[id]),
        own_(originals[id]),
        plan_(plan),
        originals_(originals),
        threaded_(plan.threaded[id]) {}

  void Run() {
    for (uint32_t block = 0; block < f_.blocks.size(); ++block) VisitBlock(block);
    for (uint32_t record : threaded_) f_.results.push_back(Type::List(record));
  }

 private:
  void VisitBlock(uint32_t block) {
    std::vector<Inst> before = std::move(f_.blocks[block].insts);
    out_.clear();
    b_.RedirectTo(&out_);
    for (uint32_t record : used_) {
      const bool given = block != 0 || threaded_.count(record) > 0;
      stores_[record] =
          given ? b_.AddParam(block, Type::List(record), "store") : b_.ListNew(record, "store");
    }
    for (size_t k = 0; k < before.size(); ++k) {
      b_.SetLoc(before[k].loc);
      Visit(before, k);
    }
    b_.RedirectTo(nullptr);
    f_.blocks[block].insts = std::move(out_);
    ir::Terminator& term = f_.blocks[block].term;
    for (ir::Edge& e : term.edges) AppendStores(used_, e.args);
    if (term.kind == ir::Terminator::Kind::kReturn) AppendStores(threaded_, term.results);
  }

  template <typename List>
  void AppendStores(const Records& records, List& values) const {
    for (uint32_t record : records) values.push_back(stores_.at(record));
  }
  // New values of the stores, as results.
  template <typename List>
  void RenewStores(const Records& records, List& results) {
    for (uint32_t record : records) {
      stores_[record] = f_.NewValue(Type::List(record), "store");
      results.push_back(stores_[record]);
    }
  }
  uint32_t RecordOf(const Inst& inst) const { return own_.record[BoxOf(inst).id]; }

  void Visit(std::vector<Inst>& before, size_t k) {
    Inst& inst = before[k];
    if (inst.op == Op::Jvp || inst.op == Op::Vjp) return VisitOperator(std::move(inst));
    if (inst.op == Op::Call) {
      const Records& records = plan_.threaded[inst.callee];
      AppendStores(records, inst.args);
      RenewStores(records, inst.results);
    }
    if (!IsBoxOp(inst.op)) {
      out_.push_back(std::move(inst));
      return;
    }
    Value& store = stores_[RecordOf(inst)];
    if (inst.op == Op::BoxNew) {
      Inst len;
      len.op = Op::ListLen;
      len.args = {store};
      len.results = inst.results;
      b_.Append(std::move(len));
      store = b_.ListPush(store, inst.args);
    } else if (inst.op == Op::BoxSet) {
      store = b_.ListSet(store, inst.args[0], ir::ValueSpan(inst.args).subspan(1));
    } else {
      Inst get = std::move(inst);
      const bool take = IsSetNext(before, k, get);
      get.args = {store, get.args[0]};
      get.op = take ? Op::ListTake : Op::ListGet;
      if (take) {
        store = f_.NewValue(f_.TypeOf(store), "store");
        get.results.insert(get.results.begin(), store);
      }
      out_.push_back(std::move(get));
    }
  }

  // Whether what a box holds is replaced before anyone else looks: then it is moved out, so that an array
  // in the box is changed in place.
  bool IsSetNext(const std::vector<Inst>& before, size_t k, const Inst& get) const {
    const uint32_t record = own_.record[get.args[0].id];
    for (size_t next = k + 1; next < before.size(); ++next) {
      const Inst& inst = before[next];
      if (ir::HasCallee(inst.op) && plan_.threaded[inst.callee].count(record)) return false;
      if (IsBoxOp(inst.op) && RecordOf(inst) == record)
        return inst.op == Op::BoxSet && inst.args[0] == get.args[0];
    }
    return false;
  }

  // The store is no parameter that is differentiated by, and the tangents that it has inside end there; so
  // do cotangents, which start from zero.
  void VisitOperator(Inst inst) {
    const Original& callee = originals_[inst.callee];
    const Records& records = plan_.threaded[inst.callee];
    const bool forward = inst.op == Op::Jvp;
    const size_t n = callee.params, r = callee.results.size();
    std::vector<Value> args(inst.args.begin(), inst.args.begin() + static_cast<long>(n));
    std::vector<Value> results(inst.results.begin(), inst.results.begin() + static_cast<long>(r));
    AppendStores(records, args);
    RenewStores(records, results);
    inst.wrt.resize(n + records.size(), false);
    // Of each result: its seed (reverse) or tangent (forward), where it still carries one.
    size_t next = forward ? r : n;
    std::vector<Value> kept;
    for (size_t k = 0; k < r; ++k) {
      if (!callee.carried[k]) continue;
      const Value v = (forward ? inst.results : inst.args)[next++];
      if (ir::CarriesTangent(m_, callee.results[k])) {
        kept.push_back(v);
      } else if (forward) {
        DefineZero(v);
      }
    }
    for (uint32_t record : records) {
      const Type t = Type::List(record);
      if (ir::CarriesTangent(m_, t)) kept.push_back(forward ? f_.NewValue(t) : b_.ListNew(record));
    }
    if (forward) {
      args.insert(args.end(), inst.args.begin() + static_cast<long>(n), inst.args.end());
      results.insert(results.end(), kept.begin(), kept.end());
    } else {
      args.insert(args.end(), kept.begin(), kept.end());
      results.insert(results.end(), inst.results.begin() + static_cast<long>(r),
                     inst.results.end());
    }
    inst.args = args;
    inst.results = results;
    out_.push_back(std::move(inst));
  }

  // The tangent of what carries none any more: of a box, or of a list of boxes.
  void DefineZero(Value v) {
    Inst zero;
    zero.op = f_.TypeOf(v).IsList() ? Op::ListNew : Op::Const;
    zero.results = {v};
    out_.push_back(std::move(zero));
  }

  Module& m_;
  Function& f_;
  ir::Builder b_;
  const Records& used_;
  const Original& own_;
  const BoxPlan& plan_;
  const std::vector<Original>& originals_;
  const Records& threaded_;
  std::map<uint32_t, Value> stores_;  // by record: the store as it is now
  std::vector<Inst> out_;
};

}  // namespace

Status ThreadBoxes(Module& module) {
  if (!HasBoxes(module)) return {};
  const BoxPlan plan(module);
  PB_RETURN_IF_ERROR(CheckBoxes(module, plan));
  const std::vector<Original> originals = Describe(module);
  MakeIndices(module);
  for (uint32_t f = 0; f < module.functions.size(); ++f) Threader(module, f, plan, originals).Run();
  return {};
}

}  // namespace pullback::opt
