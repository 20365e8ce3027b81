#include "core/lang/lower_context.h"

#include <algorithm>

namespace pullback::lang {

// --- types

namespace {

// The record's name, and its fields': for readers of the IR only.
std::string RecordName(const Type& element) {
  if (element.kind == Type::Kind::kStruct) return element.structure->name;
  if (element.kind == Type::Kind::kScalar || element.kind == Type::Kind::kArray) {
    return std::string("of_") + DTypeName(element.elem);
  }
  return "element";
}

void FieldNames(const Type& t, const std::string& name, std::vector<std::string>& out) {
  if (!IsComposite(t)) out.push_back(name);
  for (size_t i = 0; i < PartCount(t); ++i) {
    const Struct* const s = StructOf(t);
    const std::string part = s ? s->fields[i].name : std::to_string(i);
    FieldNames(PartOf(t, i), (name.empty() ? (s ? "" : "e") : name + "_") + part, out);
  }
}

void FlattenInto(ModuleContext& m, const Type& t, std::vector<ir::Type>& out) {
  switch (t.kind) {
    case Type::Kind::kScalar: out.push_back(ir::Type::Scalar(t.elem)); return;
    case Type::Kind::kArray: out.push_back(ir::Type::Array(t.elem, t.rank)); return;
    case Type::Kind::kList: out.push_back(ir::Type::List(m.RecordOf(t.elements[0]))); return;
    case Type::Kind::kBox: out.push_back(ir::Type::Box(m.RecordOf(t.elements[0]))); return;
    case Type::Kind::kFunction:
      if (t.IsDynamic()) {
        out.push_back(ir::Type::List(m.RecordOfFunction(t)));
        return;
      }
      [[fallthrough]];
    default: ForEachPart(t, [&](const Type& part) { FlattenInto(m, part, out); });
  }
}

}  // namespace

std::vector<ir::Type> ModuleContext::Flatten(const Type& t) {
  std::vector<ir::Type> out;
  FlattenInto(*this, t, out);
  return out;
}

// The record stands before its fields are known: it may hold lists of itself.
uint32_t ModuleContext::RecordOf(const Type& element) {
  for (const auto& [type, record] : records) {
    if (type == element) return record;
  }
  ir::Record made;
  made.name = RecordName(element);
  FieldNames(element, "", made.field_names);
  for (std::string& name : made.field_names) name = name.empty() ? "value" : name;
  const uint32_t record = module.AddRecord(std::move(made));
  records.emplace_back(element, record);
  std::vector<ir::Type> fields = Flatten(element);
  module.records[record].fields = std::move(fields);
  return record;
}

size_t FlatCount(const Type& t) {
  size_t count = 0;
  ForEachPart(t, [&](const Type& part) { count += FlatCount(part); });
  return IsComposite(t) ? count : t.kind == Type::Kind::kUnit ? 0 : 1;
}

void Flatten(const TypeExpr& t, std::vector<const TypeExpr*>& out) {
  if (t.kind == TypeExpr::Kind::kGiven) {
    out.insert(out.end(), FlatCount(t.given), &t);
    return;
  }
  if (!IsComposite(t)) out.push_back(&t);
  if (t.kind == TypeExpr::Kind::kRelation) {  // its sizes are the first array's
    for (const TypeExpr& array : t.elements) out.push_back(&array);
  }
  ForEachPart(t, [&](const TypeExpr& part) { Flatten(part, out); });
}

// --- attempts

bool Context::Work(size_t amount) {
  constexpr size_t kMuch = 20000, kLittle = 200;
  work += amount;
  return !attempting || work <= (HasWastedMuch() ? kLittle : kMuch);
}

bool Context::IsGiven(const Expr& e) const {
  return replaced.count(&e) != 0 || at->ahead.count(&e) != 0;
}

std::optional<Leaves> Context::Given(const Expr& e) const {
  if (const auto it = replaced.find(&e); it != replaced.end()) return Leaves{{it->second, nullptr}};
  if (const auto it = at->ahead.find(&e); it != at->ahead.end()) return it->second;
  return std::nullopt;
}

// --- i64 values

Value Context::I64(int64_t v) {
  const Value value = b.I64(v);
  affine[value.id] = Affine::Const(v);
  return value;
}

Affine Context::AffineFor(Value v) const {
  auto it = affine.find(v.id);
  return it == affine.end() ? Affine::Of(v) : it->second;
}

Value Context::ToValue(const Affine& a) {
  if (a.IsConst()) return I64(a.constant);
  const Value v = b.AffineOf(a);
  if (!(a.AsValue() == v)) affine[v.id] = a;
  return v;
}

Value Context::Integer(Op op, Value x, Value y) {
  const Affine ax = AffineFor(x);
  const Affine ay = AffineFor(y);
  const Value v = b.Make(op, {x, y});
  if (op == Op::Add) affine[v.id] = ax + ay;
  if (op == Op::Sub) affine[v.id] = ax - ay;
  if (op == Op::Mul && ay.IsConst()) affine[v.id] = ax * ay.constant;
  if (op == Op::Mul && ax.IsConst()) affine[v.id] = ay * ax.constant;
  return v;
}

// --- arrays

void Context::ReadDims(Value array) {
  std::vector<Affine> extents;
  for (int axis = 0; axis < b.TypeOf(array).rank; ++axis) {
    const Value d = b.Dim(array, axis);
    small.insert(d.id);
    sizes.insert(d.id);
    extents.push_back(Affine::Of(d));
  }
  SetDims(array, std::move(extents));
}

const std::vector<Affine>& Context::DimsOf(Value array) const {
  auto it = dims.find(array.id);
  PB_CHECK(it != dims.end());
  return it->second;
}

// --- body mode

void Context::Attribute() {
  owner_.resize(function.values.size(), frames.empty() ? 0 : frames.back()->id);
}

void Context::OpenFrame() {
  Attribute();
  frames.push_back(std::make_unique<Frame>());
  frame().id = next_frame_++;
  b.RedirectTo(&frame().body);
}

void Context::CloseFrame() {
  Attribute();
  frames.pop_back();
  b.RedirectTo(frames.empty() ? nullptr : &frame().body);
}

uint32_t Context::OwnerOf(Value v) {
  Attribute();
  return owner_[v.id];
}

bool Context::IsOuter(const Affine& a) {
  return std::all_of(a.terms.begin(), a.terms.end(),
                     [&](const Affine::Term& t) { return OwnerOf(t.value) == 0; });
}

bool Context::MayBeNegative(const Affine& size) const {
  if (bracketed) return true;
  return nest && std::any_of(size.terms.begin(), size.terms.end(),
                             [&](const Affine::Term& t) { return t.value.id >= *nest; });
}

bool Context::IsIndex(Value v) const {
  for (const auto& f : frames) {
    for (const ir::IndexVar& i : f->indices) {
      if (i.var == v) return true;
    }
  }
  return false;
}

std::optional<size_t> Context::CountIndices() const {
  if (frames.empty()) return std::nullopt;
  size_t count = 0;
  for (const auto& f : frames) count += f->indices.size();
  return count;
}

const ir::IndexVar* Context::FindBound(Value v) const {
  for (const auto& f : frames) {
    for (const ir::IndexVar& i : f->bound) {
      if (i.var == v) return &i;
    }
  }
  return nullptr;
}

AtBlock::AtBlock(Context& c) : c_(c) {
  c.Attribute();
  frames_ = std::move(c.frames);
  guard_ = std::move(c.guard);
  c.frames.clear();
  c.guard = Guard();
  c.b.RedirectTo(nullptr);
}

AtBlock::~AtBlock() {
  c_.Attribute();
  c_.frames = std::move(frames_);
  c_.guard = std::move(guard_);
  c_.b.RedirectTo(c_.frames.empty() ? nullptr : &c_.frame().body);
}

Mark::Mark(Context& c)
    : c_(c),
      block_(c.b.block()),
      blocks_(c.function.blocks.size()),
      insts_(c.function.blocks[block_].insts.size()),
      guard_(c.guard),
      regions_(c.regions),
      at_(c.at),
      inlined_(c.inlined),
      work_(c.work) {
  for (const auto& f : c.frames) {
    frames_.push_back({f->indices, f->where, f->body.size(), f->undo.size(), f->reads.size(),
                       f->bound.size(), f->adopted.size(), f->told.size()});
  }
}

void Mark::Rollback() {
  while (c_.frames.size() > frames_.size()) c_.CloseFrame();
  for (size_t i = 0; i < frames_.size(); ++i) {
    Frame& f = *c_.frames[i];
    f.indices = frames_[i].indices;
    f.where = frames_[i].where;
    if (f.undo.size() > frames_[i].undo) f.body = f.undo[frames_[i].undo];
    f.undo.resize(frames_[i].undo);
    f.body.resize(frames_[i].body);
    f.reads.resize(frames_[i].reads);
    f.bound.resize(frames_[i].bound);
    f.adopted.resize(frames_[i].adopted);
    f.told.resize(frames_[i].told);
  }
  if (c_.b.block() != block_) LeaveBlocks();
  c_.function.blocks[block_].insts.resize(insts_);
  c_.guard = guard_;
  c_.regions = regions_;
  c_.at = at_;
  c_.inlined = inlined_;
  c_.module.wasted += c_.work - work_;
  c_.work = work_;
}

// Back to the block where it was made, which nothing ends.
void Mark::LeaveBlocks() {
  c_.b.SetBlock(block_);
  c_.function.blocks.resize(blocks_);
  c_.function.blocks[block_].term = ir::Terminator();
}

void Context::Name(const Leaves& leaves, const std::string& name, uint32_t first_new) {
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Value v = leaves[i].value;
    if (!v.valid() || v.id < first_new || !function.names[v.id].empty()) continue;
    function.names[v.id] = leaves.size() == 1 ? name : name + "." + std::to_string(i);
  }
}

}  // namespace pullback::lang
