// Lists and boxes. A list's elements lie one after the other, each a slot for every field.
#include "core/eval/machine_lists.h"

#include <iterator>

namespace pullback::eval {

using ir::Inst;
using ir::TrapKind;

bool Machine::CheckIndex(int64_t i, int64_t n, uint32_t loc) {
  if (i >= 0 && i < n) return true;
  TrapAt(loc, TrapKind::kIndex, i, n);
  return false;
}

namespace {

int64_t BytesOf(size_t width, int64_t elements) {
  int64_t bytes = static_cast<int64_t>(std::max<size_t>(width, 1) * sizeof(Slot));
  return __builtin_mul_overflow(bytes, elements, &bytes) ? INT64_MAX : bytes;
}

ListRef TakeList(std::vector<Slot>& args) { return std::move(std::get<ListRef>(args[0])); }

int64_t IntOf(const Slot& s) { return static_cast<int64_t>(std::get<uint64_t>(s)); }

}  // namespace

bool Machine::MakeUnique(ListRef& l, int64_t more, uint32_t loc) {
  const bool shared = l.use_count() != 1;
  if (!Charge(BytesOf(l->width, (shared ? l->size : 0) + more), loc)) return false;
  if (!shared) return true;
  auto copy = std::make_shared<List>(l->width, meter_);
  copy->size = l->size;
  copy->slots = l->slots;
  copy->Count();
  l = std::move(copy);
  return true;
}

// What take leaves behind.
Slot Machine::ZeroOf(ir::Type t) {
  if (t.IsList()) return NewList(t);
  if (!t.IsArray()) return uint64_t{0};
  return NewArray(Tensor{t.elem, std::vector<int64_t>(t.rank), {}});
}

void ListHandlers::New(Machine& m, Frame& f, const Inst& inst) {
  f.slots[inst.results[0].id] = m.NewList(f.function.TypeOf(inst.results[0]));
}

void ListHandlers::Of(Machine& m, Frame& f, const Inst& inst) {
  std::vector<Slot> args = Machine::Fetch(f, inst);
  const int64_t n = IntOf(args[0]);
  if (n < 0) return m.TrapAt(inst.loc, TrapKind::kNegativeSize, n);
  ListRef list = m.NewList(f.function.TypeOf(inst.results[0]));
  if (!m.Charge(BytesOf(list->width, n), inst.loc)) return;
  list->size = n;
  for (int64_t i = 0; i < n; ++i) {
    list->slots.insert(list->slots.end(), args.begin() + 1, args.end());
  }
  list->Count();
  f.slots[inst.results[0].id] = std::move(list);
}

void ListHandlers::Len(Machine&, Frame& f, const Inst& inst) {
  const int64_t n = std::get<ListRef>(f.slots[inst.args[0].id])->size;
  f.slots[inst.results[0].id] = static_cast<uint64_t>(n);
}

void ListHandlers::Get(Machine& m, Frame& f, const Inst& inst) {
  const ListRef list = std::get<ListRef>(f.slots[inst.args[0].id]);
  const int64_t i = Machine::Int(f, inst.args[1]);
  if (!m.CheckIndex(i, list->size, inst.loc)) return;
  const auto at = static_cast<size_t>(i) * list->width;
  for (size_t k = 0; k < list->width; ++k) f.slots[inst.results[k].id] = list->slots[at + k];
}

void ListHandlers::Set(Machine& m, Frame& f, const Inst& inst) {
  std::vector<Slot> args = Machine::Fetch(f, inst);
  ListRef list = TakeList(args);
  const int64_t i = IntOf(args[1]);
  if (!m.CheckIndex(i, list->size, inst.loc) || !m.MakeUnique(list, 0, inst.loc)) return;
  const auto at = static_cast<size_t>(i) * list->width;
  for (size_t k = 0; k < list->width; ++k) list->slots[at + k] = std::move(args[2 + k]);
  f.slots[inst.results[0].id] = std::move(list);
}

void ListHandlers::Take(Machine& m, Frame& f, const Inst& inst) {
  std::vector<Slot> args = Machine::Fetch(f, inst);
  ListRef list = TakeList(args);
  const int64_t i = IntOf(args[1]);
  if (!m.CheckIndex(i, list->size, inst.loc) || !m.MakeUnique(list, 0, inst.loc)) return;
  const auto at = static_cast<size_t>(i) * list->width;
  for (size_t k = 0; k < list->width; ++k) {
    const ir::Value v = inst.results[1 + k];
    f.slots[v.id] = std::move(list->slots[at + k]);
    list->slots[at + k] = m.ZeroOf(f.function.TypeOf(v));
  }
  f.slots[inst.results[0].id] = std::move(list);
}

void ListHandlers::Push(Machine& m, Frame& f, const Inst& inst) {
  std::vector<Slot> args = Machine::Fetch(f, inst);
  ListRef list = TakeList(args);
  if (!m.MakeUnique(list, 1, inst.loc)) return;
  list->slots.insert(list->slots.end(), std::make_move_iterator(args.begin() + 1),
                     std::make_move_iterator(args.end()));
  ++list->size;
  list->Count();
  f.slots[inst.results[0].id] = std::move(list);
}

void ListHandlers::Pop(Machine& m, Frame& f, const Inst& inst) {
  std::vector<Slot> args = Machine::Fetch(f, inst);
  ListRef list = TakeList(args);
  if (!m.CheckIndex(list->size - 1, list->size, inst.loc)) return;
  if (!m.MakeUnique(list, 0, inst.loc)) return;
  const auto at = static_cast<size_t>(--list->size) * list->width;
  for (size_t k = 0; k < list->width; ++k) {
    f.slots[inst.results[1 + k].id] = std::move(list->slots[at + k]);
  }
  list->slots.resize(at);
  list->Count();
  f.slots[inst.results[0].id] = std::move(list);
}

void ListHandlers::BoxNew(Machine& m, Frame& f, const Inst& inst) {
  if (!m.Charge(BytesOf(inst.args.size(), 1), inst.loc)) return;
  m.meter_.live_bytes += BytesOf(inst.args.size(), 1);
  m.boxes_.push_back(Machine::Copy(f, inst.args));
  f.slots[inst.results[0].id] = uint64_t{m.boxes_.size() - 1};
}

void ListHandlers::BoxGet(Machine& m, Frame& f, const Inst& inst) {
  const auto boxes = static_cast<int64_t>(m.boxes_.size());
  const int64_t box = Machine::Int(f, inst.args[0]);
  if (!m.CheckIndex(box, boxes, inst.loc)) return;
  const std::vector<Slot>& held = m.boxes_[static_cast<size_t>(box)];
  for (size_t k = 0; k < inst.results.size(); ++k) f.slots[inst.results[k].id] = held[k];
}

void ListHandlers::BoxSet(Machine& m, Frame& f, const Inst& inst) {
  std::vector<Slot> args = Machine::Fetch(f, inst);
  const int64_t box = IntOf(args[0]);
  if (!m.CheckIndex(box, static_cast<int64_t>(m.boxes_.size()), inst.loc)) return;
  args.erase(args.begin());
  m.boxes_[static_cast<size_t>(box)] = std::move(args);
}

}  // namespace pullback::eval
