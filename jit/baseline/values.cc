#include "jit/baseline/values.h"

#include <algorithm>

#include "core/base/status.h"

namespace pullback::jit {
namespace {

const x86::Gp kInts[] = {x86::rsi, x86::rdi, x86::r8, x86::r9, x86::r10, x86::r11};
constexpr uint32_t kFirstFloat = 2;  // xmm0 and xmm1 are scratch

x86::Xmm FloatAt(size_t place) { return x86::xmm(static_cast<uint32_t>(place) + kFirstFloat); }

x86::Mem LowHalf(x86::Mem word) {
  word.setSize(4);
  return word;
}

// The next place in turn that the node does not use.
template <size_t kSize>
size_t NextPlace(const std::array<uint32_t, kSize>& known, uint32_t& locked, size_t& next) {
  for (size_t tries = 0; tries < known.size(); ++tries) {
    const size_t place = next++ % known.size();
    if ((locked >> place & 1) != 0) continue;
    locked |= uint32_t{1} << place;
    return place;
  }
  PB_CHECK(!"a node with so many operands");
  return 0;
}

}  // namespace

int Frame::Take(int words) {
  std::vector<int>& free = free_[words == 1 ? 0 : 1];
  if (!free.empty()) {
    const int offset = free.back();
    free.pop_back();
    return offset;
  }
  top_ += words;
  return -(kKept + 8 * top_);
}

void Frame::Give(int offset, int words) { free_[words == 1 ? 0 : 1].push_back(offset); }

Values::Values(x86::Assembler& a, const loops::Function& f, const Lifetimes& lifetimes)
    : a_(a), f_(f), lifetimes_(lifetimes), slots_(f.regs.size()) {
  Forget();
}

void Values::Forget() {
  known_.ints.fill(kNobody);
  known_.floats.fill(kNobody);
}

size_t Values::PlaceOfInt() { return NextPlace(known_.ints, locked_.ints, next_int_); }
size_t Values::PlaceOfFloat() { return NextPlace(known_.floats, locked_.floats, next_float_); }

x86::Mem Values::Slot(Reg r) {
  int& slot = slots_[r.id];
  if (slot == 0) slot = frame_.Take(Words(r));
  return x86::qword_ptr(x86::rbp, slot);
}

void Values::End(Reg r) {
  std::replace(known_.ints.begin(), known_.ints.end(), r.id, kNobody);
  std::replace(known_.floats.begin(), known_.floats.end(), r.id, kNobody);
  if (slots_[r.id] != 0) frame_.Give(slots_[r.id], Words(r));
  slots_[r.id] = 0;
}

void Values::LoadConstant(const x86::Gp& to, uint64_t bits) {
  if (bits == 0) {
    a_.xor_(to.r32(), to.r32());
  } else {
    a_.mov(to, bits);
  }
}

void Values::IntTo(const x86::Gp& to, Reg r) {
  if (const auto bits = Constant(r)) return LoadConstant(to, *bits);
  const auto found = std::find(known_.ints.begin(), known_.ints.end(), r.id);
  if (found == known_.ints.end()) {
    a_.mov(to, Slot(r));
  } else if (const x86::Gp& here = kInts[found - known_.ints.begin()]; here != to) {
    a_.mov(to, here);
  }
}

x86::Gp Values::Int(Reg r) {
  const auto found = std::find(known_.ints.begin(), known_.ints.end(), r.id);
  if (found != known_.ints.end()) {
    const auto place = static_cast<size_t>(found - known_.ints.begin());
    locked_.ints |= uint32_t{1} << place;
    return kInts[place];
  }
  const size_t place = PlaceOfInt();
  known_.ints[place] = kNobody;
  IntTo(kInts[place], r);
  known_.ints[place] = r.id;
  return kInts[place];
}

void Values::LoadFloat(const x86::Xmm& to, Reg r) {
  if (const auto bits = Constant(r)) {
    if (*bits == 0) {
      a_.xorps(to, to);
      return;
    }
    LoadConstant(x86::rax, *bits);
    a_.movq(to, x86::rax);
  } else if (IsF32(r)) {
    a_.movss(to, LowHalf(Slot(r)));
  } else {
    a_.movsd(to, Slot(r));
  }
}

void Values::FloatTo(const x86::Xmm& to, Reg r) {
  const auto found = std::find(known_.floats.begin(), known_.floats.end(), r.id);
  if (found == known_.floats.end()) return LoadFloat(to, r);
  a_.movaps(to, FloatAt(static_cast<size_t>(found - known_.floats.begin())));
}

x86::Xmm Values::Float(Reg r) {
  const auto found = std::find(known_.floats.begin(), known_.floats.end(), r.id);
  if (found != known_.floats.end()) {
    const auto place = static_cast<size_t>(found - known_.floats.begin());
    locked_.floats |= uint32_t{1} << place;
    return FloatAt(place);
  }
  const size_t place = PlaceOfFloat();
  LoadFloat(FloatAt(place), r);
  known_.floats[place] = r.id;
  return FloatAt(place);
}

void Values::Copy(const x86::Mem& to, Reg r) {
  const auto found = std::find(known_.ints.begin(), known_.ints.end(), r.id);
  if (found != known_.ints.end()) {
    a_.mov(to, kInts[found - known_.ints.begin()]);
    return;
  }
  IntTo(x86::rax, r);
  a_.mov(to, x86::rax);
}

void Values::CopyClean(const x86::Mem& to, Reg r) {
  if (!f_.TypeOf(r).IsScalar() || !IsF32(r) || Constant(r)) return Copy(to, r);
  a_.mov(x86::eax, LowHalf(Slot(r)));
  a_.mov(to, x86::rax);
}

void Values::Test(Reg r) {
  const auto found = std::find(known_.ints.begin(), known_.ints.end(), r.id);
  if (found != known_.ints.end()) {
    const x86::Gp& here = kInts[found - known_.ints.begin()];
    a_.test(here, here);
  } else if (Constant(r)) {
    IntTo(x86::rax, r);
    a_.test(x86::rax, x86::rax);
  } else {
    a_.cmp(Slot(r), 0);
  }
}

x86::Gp Values::NewInt(Reg r) {
  const size_t place = PlaceOfInt();
  known_.ints[place] = r.id;
  return kInts[place];
}

x86::Xmm Values::NewFloat(Reg r) {
  const size_t place = PlaceOfFloat();
  known_.floats[place] = r.id;
  return FloatAt(place);
}

x86::Gp Values::SomeInt() {
  const size_t place = PlaceOfInt();
  known_.ints[place] = kNobody;
  return kInts[place];
}

x86::Xmm Values::SomeFloat() {
  const size_t place = PlaceOfFloat();
  known_.floats[place] = kNobody;
  return FloatAt(place);
}

void Values::Keep(Reg r) {
  const auto in_int = std::find(known_.ints.begin(), known_.ints.end(), r.id);
  if (in_int != known_.ints.end()) {
    a_.mov(Slot(r), kInts[in_int - known_.ints.begin()]);
    return;
  }
  const auto in_float = std::find(known_.floats.begin(), known_.floats.end(), r.id);
  PB_CHECK(in_float != known_.floats.end());
  a_.movq(Slot(r), FloatAt(static_cast<size_t>(in_float - known_.floats.begin())));
}

void Values::Set(Reg r, const x86::Gp& from) { a_.mov(Slot(r), from); }

}  // namespace pullback::jit
