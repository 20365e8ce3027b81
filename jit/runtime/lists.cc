// Lists of a run: charged before they are taken, listed in the context, freed with it. A list of one
// owner is changed in place; any other is copied first.
#include <algorithm>
#include <cstring>

#include "jit/runtime/memory.h"
#include "jit/runtime/support.h"

namespace pullback::jit {
namespace {

constexpr int64_t kFirstRecords = 4;
constexpr int64_t kWordsBetweenPolls = int64_t{1} << 16;
constexpr int64_t kRecordsBetweenPolls = 1024;

int64_t HeaderSize() { return BlockSize(sizeof(List)); }

// Of the block that holds so many records; saturates.
int64_t SlotsSize(int64_t records, int64_t width) {
  int64_t bytes = 0;
  const bool huge = __builtin_mul_overflow(records, 8 * width, &bytes);
  return bytes == 0 && !huge ? 0 : BlockSize(huge ? INT64_MAX : bytes);
}

void GiveMemory(RunContext* c, List* l) {
  Unlink(c->lists, l);
  if (const int64_t size = BlockOf(l); size > 0) GiveCharged(c, l->slots, size);
  GiveCharged(c, l, HeaderSize());
}

// An empty list with room for `capacity` records.
List* Make(RunContext* c, uint32_t loc, int64_t layout, int64_t capacity) {
  auto* l = static_cast<List*>(TakeCharged(c, loc, HeaderSize()).data);
  *l = {1, 0, 0, layout, nullptr, nullptr, nullptr};
  Link(c->lists, l);
  const int64_t size = SlotsSize(capacity, RecordLayout(layout).width);
  if (size > 0) l->slots = static_cast<uint64_t*>(TakeCharged(c, loc, size).data);
  l->capacity = capacity;
  return l;
}

void PollNow(RunContext* c) {
  if (c->stop.load(std::memory_order_relaxed) != 0) pb_stopped(c);
}

template <typename Fn>
void Polled(RunContext* c, int64_t words, Fn&& fn) {
  for (int64_t at = 0; at < words; at += kWordsBetweenPolls) {
    PollNow(c);
    fn(at, std::min(kWordsBetweenPolls, words - at));
  }
}

// Adds `n` to the counts of what a record refers to.
void Retain(const RecordLayout& layout, const uint64_t* record, int64_t n) {
  for (int64_t k = 0; k < layout.arrays; ++k) reinterpret_cast<Array*>(record[k])->refs += n;
  for (int64_t k = layout.arrays; k < layout.arrays + layout.lists; ++k) {
    reinterpret_cast<List*>(record[k])->refs += n;
  }
}

// Gives up a reference of a record to a list; a list that was the last goes onto the chain of those
// to be freed, which are linked through `refs`: however deep lists nest, the native stack is not. They
// stay among the context's until they are freed, so that the run may be stopped in between.
void Doom(List* l, List** doomed) {
  l->refs = static_cast<int64_t>(reinterpret_cast<intptr_t>(*doomed));
  *doomed = l;
}

void ReleaseRecord(RunContext* c, const RecordLayout& layout, const uint64_t* record,
                   List** doomed) {
  for (int64_t k = 0; k < layout.arrays; ++k) {
    auto* a = reinterpret_cast<Array*>(record[k]);
    if (--a->refs == 0) pb_free(c, a);
  }
  for (int64_t k = layout.arrays; k < layout.arrays + layout.lists; ++k) {
    auto* l = reinterpret_cast<List*>(record[k]);
    if (--l->refs == 0) Doom(l, doomed);
  }
}

void Bury(RunContext* c, List* doomed) {
  for (int64_t work = 0; doomed != nullptr;) {
    List* const l = doomed;
    doomed = reinterpret_cast<List*>(static_cast<intptr_t>(l->refs));
    const RecordLayout layout(l->layout);
    if (layout.arrays + layout.lists > 0) {
      for (int64_t i = 0; i < l->size; ++i) {
        if (++work % kRecordsBetweenPolls == 0) PollNow(c);
        ReleaseRecord(c, layout, l->slots + i * layout.width, &doomed);
      }
    }
    GiveMemory(c, l);
    if (++work % kRecordsBetweenPolls == 0) PollNow(c);
  }
}

// A copy with room for `capacity` records; gives up the reference to `l`.
List* Copy(RunContext* c, uint32_t loc, List* l, int64_t layout, int64_t capacity) {
  List* const copy = Make(c, loc, layout, capacity);
  const RecordLayout r(layout);
  Polled(c, l->size * r.width, [&](int64_t at, int64_t n) {
    std::memcpy(copy->slots + at, l->slots + at, static_cast<size_t>(n) * 8);
  });
  copy->size = l->size;
  for (int64_t i = 0; r.arrays + r.lists > 0 && i < copy->size; ++i) {
    if ((i + 1) % kRecordsBetweenPolls == 0) PollNow(c);
    Retain(r, copy->slots + i * r.width, 1);
  }
  --l->refs;
  return copy;
}

List* Unique(RunContext* c, uint32_t loc, List* l) {
  return l->refs == 1 ? l : Copy(c, loc, l, l->layout, l->size);
}

void Grow(RunContext* c, List* l) {
  const int64_t width = RecordLayout(l->layout).width;
  const int64_t capacity = std::max(kFirstRecords, 2 * l->capacity);
  if (const int64_t size = SlotsSize(capacity, width); size > 0) {
    l->slots =
        static_cast<uint64_t*>(GrowCharged(c, l->slots, l->size * width * 8, BlockOf(l), size));
  }
  l->capacity = capacity;
}

uint64_t* At(List* l, int64_t i) { return l->slots + i * RecordLayout(l->layout).width; }

void CopyRecord(const List* l, const uint64_t* from, uint64_t* to) {
  std::copy_n(from, RecordLayout(l->layout).width, to);
}

}  // namespace

int64_t BlockOf(const List* l) { return SlotsSize(l->capacity, RecordLayout(l->layout).width); }

List* MakeList(RunContext* c, int64_t layout, int64_t records) {
  List* const l = Make(c, 0, layout, records);
  l->size = records;
  return l;
}

List* pb_list_new(RunContext* c) {
  ++c->empty_list.refs;
  return &c->empty_list;
}

List* pb_list_of(RunContext* c, uint32_t loc, int64_t n, int64_t layout, const uint64_t* record) {
  List* const l = Make(c, loc, layout, n);
  const RecordLayout r(layout);
  for (int64_t i = 0; i < n; ++i) {
    if (i % kRecordsBetweenPolls == 0) PollNow(c);
    std::copy_n(record, r.width, l->slots + i * r.width);
  }
  l->size = n;
  Retain(r, record, n);
  List* doomed = nullptr;
  ReleaseRecord(c, r, record, &doomed);
  Bury(c, doomed);
  return l;
}

void pb_list_get(RunContext*, List* l, int64_t i, uint64_t* record) {
  CopyRecord(l, At(l, i), record);
  Retain(RecordLayout(l->layout), record, 1);
}

List* pb_list_set(RunContext* c, uint32_t loc, List* l, int64_t i, const uint64_t* record) {
  l = Unique(c, loc, l);
  List* doomed = nullptr;
  ReleaseRecord(c, RecordLayout(l->layout), At(l, i), &doomed);
  CopyRecord(l, record, At(l, i));
  Bury(c, doomed);
  return l;
}

List* pb_list_take(RunContext* c, uint32_t loc, List* l, int64_t i, uint64_t* record) {
  l = Unique(c, loc, l);
  const RecordLayout r(l->layout);
  uint64_t* const at = At(l, i);
  CopyRecord(l, at, record);
  for (int64_t k = 0; k < r.width; ++k) {
    at[k] = k < r.arrays             ? reinterpret_cast<uint64_t>(&c->empty_array)
            : k < r.arrays + r.lists ? reinterpret_cast<uint64_t>(&c->empty_list)
                                     : 0;
  }
  Retain(r, at, 1);
  return l;
}

List* pb_list_push(RunContext* c, uint32_t loc, List* l, int64_t layout, const uint64_t* record) {
  if (l->refs != 1) l = Copy(c, loc, l, layout, std::max(kFirstRecords, 2 * l->size));
  if (l->size == l->capacity) Grow(c, l);
  CopyRecord(l, record, At(l, l->size));
  ++l->size;
  return l;
}

List* pb_list_pop(RunContext* c, uint32_t loc, List* l, uint64_t* record) {
  l = Unique(c, loc, l);
  --l->size;
  CopyRecord(l, At(l, l->size), record);
  return l;
}

void pb_list_free(RunContext* c, List* l) {
  List* doomed = nullptr;
  Doom(l, &doomed);
  Bury(c, doomed);
}

Array* pb_fit(RunContext* c, uint32_t loc, Array* a, int64_t elem_size, int64_t rank,
              const int64_t* dims) {
  if (a->bytes > 0) return a;
  for (int64_t k = 0; k < rank; ++k) {
    if (dims[k] < 0) pb_trap(c, kTrapNegativeSize, loc, dims[k], 0);
  }
  if (--a->refs == 0) pb_free(c, a);
  return pb_alloc(c, loc, elem_size, rank, dims, 1);
}

}  // namespace pullback::jit
