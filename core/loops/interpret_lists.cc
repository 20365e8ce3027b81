// Lists in the test interpreter.
#include "core/loops/interpreter.h"

namespace pullback::loops {

using ir::Op;
using Slot = Object::Slot;

bool Interpreter::TakeFields(Frame& frame, const Node& n, size_t from, std::vector<Slot>& fields) {
  for (size_t i = from; i < n.args.size(); ++i) {
    Register r;
    if (!Take(frame, n.args[i], r)) return false;
    fields.push_back({frame.f.TypeOf(n.args[i]), r.bits, r.object});
  }
  return true;
}

bool Interpreter::DefineField(Frame& frame, Reg r, const Slot& slot) {
  if (slot.type != frame.f.TypeOf(r)) return Broken(frame, "a field of another type");
  Register value;
  value.bits = slot.bits;
  value.object = slot.object;
  return Define(frame, r, value);
}

Slot Interpreter::ZeroOf(ir::Type t) {
  if (t.IsScalar()) return {t, 0, nullptr};
  Object* const o = NewObject(t);
  o->dims.assign(t.rank, 0);
  return {t, 0, o};
}

Object* Interpreter::UniqueList(Object* list) {
  if (list->refs == 1) return list;
  Object* const copy = NewObject(list->type);
  *copy = *list;
  copy->refs = 1;
  for (const Slot& s : copy->slots) {
    if (s.object) ++s.object->refs;
  }
  --list->refs;
  ++outcome_.copies;
  return copy;
}

bool Interpreter::Fit(Frame& frame, const Node& n) {
  Register array;
  if (!Take(frame, n.args[0], array)) return false;
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (size_t i = 1; i < n.args.size(); ++i) {
    Register extent;
    if (!Read(frame, n.args[i], extent)) return false;
    dims.push_back(static_cast<int64_t>(extent.bits));
    count *= dims.back();
  }
  if (array.object->elements.empty() && array.object->dims != dims) {
    Object* const zeros = NewObject(array.object->type);
    zeros->dims = dims;
    zeros->elements.assign(static_cast<size_t>(count), 0);
    zeros->stored.assign(static_cast<size_t>(count), true);
    Release(array.object);
    array.object = zeros;
  }
  return Define(frame, n.results[0], array);
}

// set, take, push, pop
bool Interpreter::ChangeList(Frame& frame, const Node& n) {
  Register r, index;
  if (!Take(frame, n.args[0], r)) return false;
  const bool indexed = n.op == Op::ListSet || n.op == Op::ListTake;
  if (indexed && !Read(frame, n.args[1], index)) return false;
  std::vector<Slot> fields;
  if (!TakeFields(frame, n, indexed ? 2 : 1, fields)) return false;
  r.object = UniqueList(r.object);
  Object& list = *r.object;
  const size_t width =
      n.op == Op::ListSet || n.op == Op::ListPush ? fields.size() : n.results.size() - 1;
  const auto count = static_cast<size_t>(list.count);
  if (n.op == Op::ListPop && count == 0) return Broken(frame, "a pop of an empty list");
  if (indexed && index.bits >= count) return Broken(frame, "an index of a list out of range");
  const size_t at = width * (indexed ? index.bits : n.op == Op::ListPop ? count - 1 : count);
  if (n.op == Op::ListPush) list.slots.resize(at + width);
  for (size_t k = 0; k < width; ++k) {
    Slot& slot = list.slots[at + k];
    if (n.op == Op::ListSet && slot.object) Release(slot.object);
    if (n.op == Op::ListSet || n.op == Op::ListPush) {
      slot = fields[k];
    } else {
      if (!DefineField(frame, n.results[1 + k], slot)) return false;
      slot = n.op == Op::ListTake ? ZeroOf(slot.type) : Slot{};
    }
  }
  if (n.op == Op::ListPush) ++list.count;
  if (n.op == Op::ListPop) {
    --list.count;
    list.slots.resize(at);
  }
  return Define(frame, n.results[0], r);
}

bool Interpreter::List(Frame& frame, const Node& n) {
  Register r, index;
  switch (n.op) {
    case Op::Fit: return Fit(frame, n);
    case Op::ListNew:
      r.object = NewObject(frame.f.TypeOf(n.results[0]));
      return Define(frame, n.results[0], r);
    case Op::ListLen:
      return Read(frame, n.args[0], r) &&
             DefineBits(frame, n.results[0], static_cast<uint64_t>(r.object->count));
    case Op::ListOf: {
      std::vector<Slot> fields;
      if (!Read(frame, n.args[0], index) || !TakeFields(frame, n, 1, fields)) return false;
      r.object = NewObject(frame.f.TypeOf(n.results[0]));
      r.object->count = static_cast<int64_t>(index.bits);
      for (int64_t i = 0; i < r.object->count; ++i) {
        for (const Slot& s : fields) {
          r.object->slots.push_back(s);
          if (s.object) ++s.object->refs;
        }
      }
      for (const Slot& s : fields) {
        if (s.object) Release(s.object);
      }
      return Define(frame, n.results[0], r);
    }
    case Op::ListGet: {
      if (!Read(frame, n.args[0], r) || !Read(frame, n.args[1], index)) return false;
      if (index.bits >= static_cast<uint64_t>(r.object->count)) {
        return Broken(frame, "an index of a list out of range");
      }
      for (size_t k = 0; k < n.results.size(); ++k) {
        const Slot& s = r.object->slots[index.bits * n.results.size() + k];
        if (s.object) ++s.object->refs;
        if (!DefineField(frame, n.results[k], s)) return false;
      }
      return true;
    }
    default: return ChangeList(frame, n);
  }
}

}  // namespace pullback::loops
