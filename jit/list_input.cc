#include "jit/list_input.h"

#include <cstring>

namespace pullback::jit {
namespace {

using Kind = ListColumn::Kind;

// Where the next elements of one record are.
struct Cursor {
  int64_t row = 0;
  std::vector<size_t> byte;  // by column: of arrays
};

// What is to be made, and how far the columns are read. It is made before the run is guarded: the
// functions below may be left by a jump, so that nothing in them has a destructor.
struct Job {
  const std::vector<ListInput>* lists;
  std::vector<std::vector<Cursor>> cursors;  // by list, record
  std::vector<uint64_t>* slots;
};

class Maker {
 public:
  Maker(RunContext* c, const ListInput& input, std::vector<Cursor>& cursors)
      : c_(c), data_(*input.data), type_(*input.type), cursors_(cursors) {}

  uint64_t Make() { return reinterpret_cast<uint64_t>(MakeElements(0, 0, data_.length)); }

 private:
  // The next `count` elements, of the plan's record that is `record` of the data.
  List* MakeElements(uint32_t plan, uint32_t record, int64_t count) {
    if (count == 0) return pb_list_new(c_);
    Cursor& cursor = cursors_[record];
    const int64_t first = cursor.row;
    cursor.row += count;
    List* const list = MakeList(c_, type_.records[plan].layout, count);
    const ListRecord& columns = data_.records[record];
    for (size_t k = 0; k < columns.size(); ++k) {
      if (columns[k].kind != Kind::kList) Fill(plan, k, columns[k], first, list, cursor.byte[k]);
    }
    for (int64_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < columns.size(); ++k) {
        if (columns[k].kind != Kind::kList) continue;
        const uint32_t inner = type_.plan.records[plan].leaves[k].record;
        const int64_t length = columns[k].extents[static_cast<size_t>(first + i)];
        *Slot(plan, k, list, i) =
            reinterpret_cast<uint64_t>(MakeElements(inner, columns[k].record, length));
      }
    }
    return list;
  }

  uint64_t* Slot(uint32_t plan, size_t leaf, List* list, int64_t i) {
    const ListType::Record& r = type_.records[plan];
    return list->slots + i * static_cast<int64_t>(r.places.size()) + r.places[leaf];
  }

  // One leaf of all elements, unless it is a list.
  void Fill(uint32_t plan, size_t leaf, const ListColumn& column, int64_t first, List* list,
            size_t& byte) {
    const ApiType& type = *type_.plan.records[plan].leaves[leaf].type;
    const size_t size = DTypeSize(column.dtype);
    for (int64_t i = 0; i < list->size; ++i) {
      if (c_->stop.load(std::memory_order_relaxed) != 0) pb_stopped(c_);
      const auto row = static_cast<size_t>(first + i);
      uint64_t word = 0;
      if (column.kind == Kind::kNone) {
        word = Zero(type);
      } else if (column.rank == 0) {
        std::memcpy(&word, column.data.data() + row * size, size);
      } else {
        const auto rank = static_cast<size_t>(column.rank);
        word = MakeArray(column, column.extents.data() + row * rank, byte);
      }
      *Slot(plan, leaf, list, i) = word;
    }
  }

  uint64_t Zero(const ApiType& type) {
    if (type.is_list) return reinterpret_cast<uint64_t>(pb_list_new(c_));
    if (type.dims.empty()) return 0;
    ++c_->empty_array.refs;
    return reinterpret_cast<uint64_t>(&c_->empty_array);
  }

  uint64_t MakeArray(const ListColumn& column, const int64_t* extents, size_t& byte) {
    Array* const a =
        pb_alloc(c_, 0, static_cast<int64_t>(DTypeSize(column.dtype)), column.rank, extents, 0);
    const auto bytes = static_cast<size_t>(a->bytes);
    if (bytes > 0) std::memcpy(a->data, column.data.data() + byte, bytes);
    byte += bytes;
    return reinterpret_cast<uint64_t>(a);
  }

  RunContext* const c_;
  const ListData& data_;
  const ListType& type_;
  std::vector<Cursor>& cursors_;
};

void MakeAll(RunContext* c, void* argument) {
  Job& job = *static_cast<Job*>(argument);
  for (size_t i = 0; i < job.lists->size(); ++i) {
    const ListInput& input = (*job.lists)[i];
    (*job.slots)[input.slot] = Maker(c, input, job.cursors[i]).Make();
  }
}

}  // namespace

bool MakeInputLists(RunContext* c, const std::vector<ListInput>& lists,
                    std::vector<uint64_t>& slots) {
  if (lists.empty()) return true;
  Job job{&lists, {}, &slots};
  for (const ListInput& input : lists) {
    std::vector<Cursor>& cursors = job.cursors.emplace_back();
    for (const ListRecord& record : input.data->records) {
      cursors.push_back({0, std::vector<size_t>(record.size(), 0)});
    }
  }
  return RunGuarded(MakeAll, c, &job);
}

}  // namespace pullback::jit
