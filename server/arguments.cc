#include "server/arguments.h"

#include <algorithm>

#include "proto/values.h"
#include "server/errors.h"

namespace pullback::server {
namespace {

using NamedValues = google::protobuf::RepeatedPtrField<v1::NamedValue>;

// Where values of a list belong: by name, or by position.
struct Slots {
  const char* list;  // "arguments", "seeds"
  size_t count;
  const std::string& (*name)(const jit::TextView& view, size_t slot);
  const jit::TextView& view;

  const std::string& Name(size_t slot) const { return name(view, slot); }
  std::string Path(int i) const { return std::string(list) + "[" + std::to_string(i) + "]"; }
  std::string Names() const {
    std::string text;
    for (size_t slot = 0; slot < count; ++slot) {
      text += (text.empty() ? "'" : ", '") + Name(slot) + "'";
    }
    return text.empty() ? "none" : text;
  }
};

const std::string& ParameterName(const jit::TextView& view, size_t slot) {
  return view.signature.params[slot].name;
}
const std::string& WrtName(const jit::TextView& view, size_t slot) { return view.wrt[slot]; }
const std::string& NoName(const jit::TextView&, size_t) {
  static const std::string none;
  return none;
}

Slots ArgumentSlots(const jit::TextView& view) {
  return {"arguments", view.signature.params.size(), ParameterName, view};
}

bool AreNamed(const NamedValues& items) { return !items.empty() && !items[0].name().empty(); }

// Named, they stand for the parameters of wrt; how many there are otherwise is the engine's to check, which
// knows the transform.
Slots SeedSlots(const jit::TextView& view, const NamedValues& items) {
  if (AreNamed(items)) return {"seeds", view.wrt.size(), WrtName, view};
  return {"seeds", static_cast<size_t>(items.size()), NoName, view};
}

StatusOr<size_t> FindSlot(const Slots& slots, const v1::NamedValue& item, int i) {
  if (item.name().empty()) {
    return FieldFault(slots.Path(i) + ".name", "either all have names or none has",
                      "MISSING_ARGUMENT");
  }
  for (size_t slot = 0; slot < slots.count; ++slot) {
    if (slots.Name(slot) == item.name()) return slot;
  }
  return FieldFault(slots.Path(i) + ".name",
                    "there is no '" + item.name() + "'; there are " + slots.Names(),
                    "UNKNOWN_ARGUMENT");
}

Status CheckUnnamed(const Slots& slots, const NamedValues& items) {
  for (int i = 1; i < items.size(); ++i) {
    if (items[i].name().empty()) continue;
    return FieldFault(slots.Path(i) + ".name", "either all have names or none has",
                      "UNKNOWN_ARGUMENT");
  }
  const auto got = static_cast<size_t>(items.size());
  if (got == slots.count) return {};
  return FieldFault(slots.list,
                    "expected " + std::to_string(slots.count) + " (" + slots.Names() + "), got " +
                        std::to_string(got),
                    got < slots.count ? "MISSING_ARGUMENT" : "UNKNOWN_ARGUMENT");
}

// Puts every value into its slot: put(slot, value) gives a fault, where there is one.
template <typename Put>
Status PlaceUnnamed(const Slots& slots, const NamedValues& items, const Put& put) {
  PB_RETURN_IF_ERROR(CheckUnnamed(slots, items));
  for (int i = 0; i < items.size(); ++i) {
    const auto fault = put(static_cast<size_t>(i), items[i].value());
    if (fault) return FieldFault(slots.Path(i) + ".value", *fault);
  }
  return {};
}

template <typename Put>
Status PlaceNamed(const Slots& slots, const NamedValues& items, const Put& put) {
  absl::InlinedVector<bool, 16> given(slots.count);
  for (int i = 0; i < items.size(); ++i) {
    PB_ASSIGN_OR_RETURN(const size_t slot, FindSlot(slots, items[i], i));
    if (given[slot]) {
      return FieldFault(slots.Path(i) + ".name", "'" + items[i].name() + "' is given twice",
                        "DUPLICATE_ARGUMENT");
    }
    given[slot] = true;
    const auto fault = put(slot, items[i].value());
    if (fault) return FieldFault(slots.Path(i) + ".value", *fault);
  }
  const auto missing = std::find(given.begin(), given.end(), false);
  if (missing == given.end()) return {};
  const auto slot = static_cast<size_t>(missing - given.begin());
  return FieldFault(slots.list, "'" + slots.Name(slot) + "' is missing", "MISSING_ARGUMENT");
}

template <typename Put>
Status Place(const Slots& slots, const NamedValues& items, const Put& put) {
  return AreNamed(items) ? PlaceNamed(slots, items, put) : PlaceUnnamed(slots, items, put);
}

Status ToValues(const Slots& slots, const NamedValues& items, std::vector<ApiValue>* values) {
  values->resize(slots.count);
  return Place(slots, items, [&](size_t slot, const v1::Value& value) {
    return wire::DecodeValue(value, &(*values)[slot]);
  });
}

Status ViewValues(const Slots& slots, const NamedValues& items,
                  absl::InlinedVector<TensorView, 8>* tensors) {
  tensors->resize(slots.count);
  return Place(slots, items, [&](size_t slot, const v1::Value& value) {
    return wire::ViewTensor(value, &(*tensors)[slot]);
  });
}

}  // namespace

StatusOr<jit::Inputs> ToInputs(const v1::EvaluateRequest& request, const jit::TextView& view) {
  jit::Inputs inputs;
  PB_RETURN_IF_ERROR(ToValues(ArgumentSlots(view), request.arguments(), &inputs.args));
  if (request.seeds().empty()) return inputs;
  PB_RETURN_IF_ERROR(ToValues(SeedSlots(view, request.seeds()), request.seeds(), &inputs.seeds));
  return inputs;
}

bool BringsTensors(const v1::EvaluateRequest& request) {
  const auto is_tensor = [](const v1::NamedValue& item) { return item.value().has_tensor(); };
  return std::all_of(request.arguments().begin(), request.arguments().end(), is_tensor) &&
         std::all_of(request.seeds().begin(), request.seeds().end(), is_tensor);
}

Status RequestTensors::Read(const v1::EvaluateRequest& request, const jit::TextView& view) {
  PB_RETURN_IF_ERROR(ViewValues(ArgumentSlots(view), request.arguments(), &args_));
  if (request.seeds().empty()) return {};
  return ViewValues(SeedSlots(view, request.seeds()), request.seeds(), &seeds_);
}

}  // namespace pullback::server
