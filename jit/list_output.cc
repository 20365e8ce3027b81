#include "jit/list_output.h"

#include "jit/canonical_nan.h"

namespace pullback::jit {
namespace {

using Kind = ListColumn::Kind;

class Copier {
 public:
  Copier(const ListType& type, CopyBudget& budget, ListData& out)
      : type_(type), budget_(budget), out_(out) {}

  void Copy(uint32_t record, const List* list) {
    if (depth_ >= kMaxListNesting) {
      budget_.Fail({Code::kResourceExhausted, "RECURSION_LIMIT",
                    "a result nests more than " + std::to_string(kMaxListNesting) + " lists"});
    }
    if (list->size == 0 || !budget_.Charge(list->size * RowBytes(record))) return;
    ++depth_;
    ListRecord& columns = out_.records[record];
    for (size_t k = 0; k < columns.size(); ++k) CopyLeaf(record, k, columns[k], list);
    for (int64_t i = 0; i < list->size && budget_.Live(); ++i) {
      for (size_t k = 0; k < columns.size(); ++k) {
        if (columns[k].kind == Kind::kList) Copy(columns[k].record, ListAt(record, k, list, i));
      }
    }
    --depth_;
  }

 private:
  uint64_t Word(uint32_t record, size_t leaf, const List* list, int64_t i) const {
    const ListType::Record& r = type_.records[record];
    return list->slots[i * static_cast<int64_t>(r.places.size()) + r.places[leaf]];
  }
  const List* ListAt(uint32_t record, size_t leaf, const List* list, int64_t i) const {
    return reinterpret_cast<const List*>(  // NOLINT(performance-no-int-to-ptr)
        Word(record, leaf, list, i));
  }

  // Without the data of arrays.
  int64_t RowBytes(uint32_t record) const {
    int64_t bytes = 0;
    for (const ListColumn& column : out_.records[record]) {
      const bool scalar = column.kind == Kind::kTensor && column.rank == 0;
      if (scalar) bytes += static_cast<int64_t>(DTypeSize(column.dtype));
      if (column.kind == Kind::kTensor) bytes += 8 * column.rank;
      if (column.kind == Kind::kList) bytes += 8;
    }
    return bytes;
  }

  void CopyLeaf(uint32_t record, size_t leaf, ListColumn& column, const List* list) {
    if (column.kind == Kind::kNone) return;
    const size_t begin = column.data.size();
    for (int64_t i = 0; i < list->size && budget_.Live(); ++i) {
      if (column.kind == Kind::kList) {
        column.extents.push_back(ListAt(record, leaf, list, i)->size);
      } else if (const uint64_t word = Word(record, leaf, list, i); column.rank > 0) {
        CopyArray(column,
                  reinterpret_cast<const Array*>(word));  // NOLINT(performance-no-int-to-ptr)
      } else {
        const auto* bytes = reinterpret_cast<const uint8_t*>(&word);  // little-endian
        column.data.insert(column.data.end(), bytes, bytes + DTypeSize(column.dtype));
      }
    }
    CanonicaliseNans(column.dtype, column.data.data() + begin, column.data.size() - begin);
  }

  void CopyArray(ListColumn& column, const Array* a) {
    if (!budget_.Charge(a->bytes)) return;
    column.extents.insert(column.extents.end(), a->dims, a->dims + column.rank);
    const auto* data = static_cast<const uint8_t*>(a->data);
    column.data.insert(column.data.end(), data, data + a->bytes);
  }

  const ListType& type_;
  CopyBudget& budget_;
  ListData& out_;
  int depth_ = 0;
};

}  // namespace

std::shared_ptr<const ListData> CopyList(const List* list, const ListType& type, bool floats,
                                         CopyBudget& budget) {
  auto out = std::make_shared<ListData>(EmptyList(type.plan, floats));
  out->length = list->size;
  Copier(type, budget, *out).Copy(0, list);
  return out;
}

}  // namespace pullback::jit
