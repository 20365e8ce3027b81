// Instructions that end at once, and the arrays that they make and change.
#include "core/eval/machine.h"
#include "core/eval/machine_lists.h"
#include "core/eval/scalar_ops.h"

namespace pullback::eval {

using ir::Inst;
using ir::Op;
using ir::TrapKind;
using ir::TypeRule;
using ir::Value;

// --- arrays

bool Machine::Charge(int64_t bytes, uint32_t loc) {
  if (bytes <= limits_.max_bytes - meter_.live_bytes) return true;
  TrapAt(loc, TrapKind::kMemory, bytes, limits_.max_bytes);
  return false;
}

bool Machine::CheckExtents(const std::vector<int64_t>& extents, uint32_t loc) {
  for (int64_t n : extents) {
    if (n >= 0) continue;
    TrapAt(loc, TrapKind::kNegativeSize, n);
    return false;
  }
  return true;
}

namespace {

// Bytes of an array, INT64_MAX when they do not fit.
int64_t BytesOf(DType t, const std::vector<int64_t>& shape) {
  auto bytes = static_cast<int64_t>(DTypeSize(t));
  for (int64_t n : shape) {
    if (n > kMaxExtent) return INT64_MAX;
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (int64_t n : shape) {
    if (__builtin_mul_overflow(bytes, n, &bytes)) return INT64_MAX;
  }
  return bytes;
}

}  // namespace

ArrayRef Machine::MakeArray(DType t, std::vector<int64_t> shape, uint64_t fill, uint32_t loc) {
  if (!CheckExtents(shape, loc)) return nullptr;
  const int64_t bytes = BytesOf(t, shape);
  if (!Charge(bytes, loc)) return nullptr;
  cost_.array_bytes += bytes;
  Tensor tensor{t, std::move(shape), std::vector<uint8_t>(static_cast<size_t>(bytes))};
  auto array = std::make_shared<Array>(std::move(tensor), meter_);
  for (int64_t i = 0; fill != 0 && i < array->Count(); ++i) array->Store(i, fill);
  return array;
}

bool Machine::MakeUnique(ArrayRef& a, uint32_t loc) {
  if (a.use_count() == 1) return true;
  if (!Charge(a->Bytes(), loc)) return false;
  cost_.array_bytes += a->Bytes();
  a = std::make_shared<Array>(a->tensor, meter_);
  return true;
}

int64_t Machine::OffsetOf(const Frame& f, const std::vector<int64_t>& shape, ir::AffineSpan subs,
                          uint32_t loc) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t index = Eval(f, subs[axis]);
    if (index < 0 || index >= shape[axis]) {
      TrapAt(loc, TrapKind::kIndex, index, shape[axis]);
      return -1;
    }
    offset = offset * shape[axis] + index;
  }
  return offset;
}

// --- one handler for each op

struct Handlers {
  static void Set(Frame& f, const Inst& inst, Slot value) {
    f.slots[inst.results[0].id] = std::move(value);
  }

  static void Scalar(Machine& m, Frame& f, const Inst& inst) {
    uint64_t args[3] = {};
    for (size_t i = 0; i < inst.args.size(); ++i) args[i] = Machine::Bits(f, inst.args[i]);
    // The first operand of select is the condition.
    const DType type = f.function.TypeOf(inst.args[inst.op == Op::Select ? 1 : 0]).elem;
    if (DividesByZero(inst.op, type, args)) return m.TrapAt(inst.loc, TrapKind::kDivideByZero);
    const TypeRule rule = ir::Info(inst.op).rule;
    const bool arithmetic = rule == TypeRule::Float || rule == TypeRule::Num;
    if (arithmetic && type != DType::kI64) ++m.cost_.ops;
    Set(f, inst, EvalScalar(inst.op, type, args));
  }

  static void Cast(Machine&, Frame& f, const Inst& inst) {
    const DType from = f.function.TypeOf(inst.args[0]).elem;
    const DType to = f.function.TypeOf(inst.results[0]).elem;
    Set(f, inst, EvalCast(from, to, Machine::Bits(f, inst.args[0])));
  }

  static void Const(Machine&, Frame& f, const Inst& inst) { Set(f, inst, inst.bits); }

  static void AffineOf(Machine&, Frame& f, const Inst& inst) {
    Set(f, inst, static_cast<uint64_t>(Machine::Eval(f, inst.subs[0])));
  }

  static void Holds(Machine&, Frame& f, const Inst& inst) {
    Set(f, inst, uint64_t{Machine::Holds(f, inst.constraints)});
  }

  static void Dim(Machine&, Frame& f, const Inst& inst) {
    const Tensor& t = Machine::ArrayAt(f, inst.args[0]).tensor;
    Set(f, inst, static_cast<uint64_t>(t.shape[inst.bits]));
  }

  static void Zeros(Machine& m, Frame& f, const Inst& inst) {
    std::vector<int64_t> shape;
    for (Value v : inst.args) shape.push_back(Machine::Int(f, v));
    const DType type = f.function.TypeOf(inst.results[0]).elem;
    Set(f, inst, m.MakeArray(type, std::move(shape), 0, inst.loc));
  }

  static void Fit(Machine& m, Frame& f, const Inst& inst) {
    std::vector<Slot> args = Machine::Fetch(f, inst);
    std::vector<int64_t> shape;
    for (size_t i = 1; i < args.size(); ++i) {
      shape.push_back(static_cast<int64_t>(std::get<uint64_t>(args[i])));
    }
    const Array& a = *std::get<ArrayRef>(args[0]);
    if (a.Count() > 0 || a.tensor.shape == shape) return Set(f, inst, std::move(args[0]));
    Set(f, inst, m.MakeArray(a.tensor.dtype, std::move(shape), 0, inst.loc));
  }

  static void Index(Machine& m, Frame& f, const Inst& inst) {
    const Array& a = Machine::ArrayAt(f, inst.args[0]);
    const int64_t offset = m.OffsetOf(f, a.tensor.shape, inst.subs, inst.loc);
    if (offset >= 0) Set(f, inst, a.Load(offset));
  }

  static void Update(Machine& m, Frame& f, const Inst& inst) {
    std::vector<Slot> args = Machine::Fetch(f, inst);
    ArrayRef a = std::move(std::get<ArrayRef>(args[0]));
    const int64_t offset = m.OffsetOf(f, a->tensor.shape, inst.subs, inst.loc);
    if (offset < 0 || !m.MakeUnique(a, inst.loc)) return;
    const uint64_t value = std::get<uint64_t>(args[1]);
    a->Store(offset, inst.op == Op::AddAt ? m.Sum(*a, a->Load(offset), value) : value);
    Set(f, inst, std::move(a));
  }

  static void AddArrays(Machine& m, Frame& f, const Inst& inst) {
    std::vector<Slot> args = Machine::Fetch(f, inst);
    ArrayRef a = std::move(std::get<ArrayRef>(args[0]));
    const ArrayRef b = std::move(std::get<ArrayRef>(args[1]));
    for (size_t axis = 0; axis < a->tensor.shape.size(); ++axis) {
      const int64_t x = a->tensor.shape[axis];
      const int64_t y = b->tensor.shape[axis];
      if (x != y) return m.TrapAt(inst.loc, TrapKind::kSizeMismatch, x, y);
    }
    if (!m.MakeUnique(a, inst.loc)) return;
    for (int64_t i = 0; i < a->Count(); ++i) a->Store(i, m.Sum(*a, a->Load(i), b->Load(i)));
    Set(f, inst, std::move(a));
  }

  static void Check(Machine& m, Frame& f, const Inst& inst) {
    if (Machine::Bits(f, inst.args[0]) != 0) return;
    const auto detail = [&](size_t i) {
      return i < inst.args.size() ? Machine::Int(f, inst.args[i]) : 0;
    };
    m.TrapAt(inst.loc, static_cast<TrapKind>(inst.bits), detail(1), detail(2));
  }

  static void TapeNew(Machine& m, Frame& f, const Inst& inst) {
    Set(f, inst, std::make_shared<Tape>(m.meter_));
  }

  static void Push(Machine& m, Frame& f, const Inst& inst) {
    std::vector<Slot> args = Machine::Fetch(f, inst);
    if (!m.Charge(sizeof(Tape::Item), inst.loc)) return;
    TapeRef tape = std::move(std::get<TapeRef>(args[0]));
    if (tape.use_count() != 1) return m.Fail("IR_INVALID", "push on a tape that is used again");
    tape->Push({std::move(args[1]), f.function.TypeOf(inst.args[1])});
    Set(f, inst, std::move(tape));
  }

  static void Pop(Machine& m, Frame& f, const Inst& inst) {
    std::vector<Slot> args = Machine::Fetch(f, inst);
    TapeRef tape = std::move(std::get<TapeRef>(args[0]));
    if (tape.use_count() != 1) return m.Fail("IR_INVALID", "pop of a tape that is used again");
    if (tape->items.empty()) return m.Fail("TAPE_EMPTY", "pop of an empty tape");
    Tape::Item item = tape->Pop();
    const ir::Type wanted = f.function.TypeOf(inst.results[1]);
    if (item.type != wanted) {
      return m.Fail("TAPE_TYPE",
                    "pop of " + ToString(wanted) + " where the tape holds " + ToString(item.type));
    }
    f.slots[inst.results[0].id] = std::move(tape);
    f.slots[inst.results[1].id] = std::move(item.value);
  }

  static void Same(Machine&, Frame& f, const Inst& inst) { Set(f, inst, f.slots[inst.args[0].id]); }

  // Statements and calls do not end at once: Machine::Step takes them. jvp and vjp are gone before
  // anything runs.
  static void Elsewhere(Machine& m, Frame&, const Inst&) {
    m.Fail("IR_INVALID", "an instruction in a place where it may not stand");
  }
};

uint64_t Machine::Sum(const Array& like, uint64_t x, uint64_t y) {
  const uint64_t args[] = {x, y};
  if (like.tensor.dtype != DType::kI64) ++cost_.ops;
  return EvalScalar(Op::Add, like.tensor.dtype, args);
}

namespace {

struct OwnRow {
  Op op;
  Handler handler;
};

constexpr OwnRow kOwnRows[] = {
    {Op::Const, Handlers::Const},
    {Op::AffineOf, Handlers::AffineOf},
    {Op::Holds, Handlers::Holds},
    {Op::Dim, Handlers::Dim},
    {Op::Zeros, Handlers::Zeros},
    {Op::Index, Handlers::Index},
    {Op::Update, Handlers::Update},
    {Op::AddAt, Handlers::Update},
    {Op::AddArrays, Handlers::AddArrays},
    {Op::Fit, Handlers::Fit},
    {Op::ListNew, ListHandlers::New},
    {Op::ListOf, ListHandlers::Of},
    {Op::ListLen, ListHandlers::Len},
    {Op::ListGet, ListHandlers::Get},
    {Op::ListSet, ListHandlers::Set},
    {Op::ListTake, ListHandlers::Take},
    {Op::ListPush, ListHandlers::Push},
    {Op::ListPop, ListHandlers::Pop},
    {Op::BoxNew, ListHandlers::BoxNew},
    {Op::BoxGet, ListHandlers::BoxGet},
    {Op::BoxSet, ListHandlers::BoxSet},
    {Op::Each, Handlers::Elsewhere},
    {Op::Call, Handlers::Elsewhere},
    {Op::Check, Handlers::Check},
    {Op::TapeNew, Handlers::TapeNew},
    {Op::Push, Handlers::Push},
    {Op::Pop, Handlers::Pop},
    {Op::Jvp, Handlers::Elsewhere},
    {Op::Vjp, Handlers::Elsewhere},
    {Op::StopGradient, Handlers::Same},
};

constexpr TypeRule kRules[] = {
#define OP(name, mnemonic, arity, rule, flags) TypeRule::rule,
#include "core/ir/ops.def"
#undef OP
};

struct HandlerTable {
  Handler rows[ir::kOpCount];
};

constexpr HandlerTable MakeTable() {
  HandlerTable t{};
  for (int i = 0; i < ir::kOpCount; ++i) {
    if (kRules[i] == TypeRule::Cast) t.rows[i] = Handlers::Cast;
    if (kRules[i] != TypeRule::Cast && kRules[i] != TypeRule::Own) t.rows[i] = Handlers::Scalar;
  }
  for (const OwnRow& row : kOwnRows) t.rows[static_cast<int>(row.op)] = row.handler;
  return t;
}
constexpr HandlerTable kTable = MakeTable();

constexpr bool EveryOpHasARow() {
  return std::all_of(std::begin(kTable.rows), std::end(kTable.rows),
                     [](Handler h) { return h != nullptr; });
}
static_assert(EveryOpHasARow(), "an op of ops.def with the rule Own has no row in kOwnRows");

}  // namespace

Handler HandlerOf(Op op) { return kTable.rows[static_cast<int>(op)]; }

}  // namespace pullback::eval
