// A function whose code is known at run time is a list of one record: the number of the function, and
// what it captures. The captures of different functions share fields of one type; those that are not
// of the function at hand hold zeros.
#include <algorithm>

#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_list.h"

namespace pullback::lang {
namespace {

const DynamicType& Find(const Program& program, const Type& dynamic) {
  for (const DynamicType& d : program.dynamics) {
    if (d.type == dynamic) return d;
  }
  static const DynamicType none;
  return none;
}

// Fields for the leaves: those that are there and not taken, else new ones.
std::vector<size_t> PlaceLeaves(const std::vector<ir::Type>& leaves,
                                std::vector<ir::Type>& fields) {
  std::vector<bool> taken(fields.size());
  std::vector<size_t> places;
  for (const ir::Type& leaf : leaves) {
    size_t place = 1;
    while (place < fields.size() && (taken[place] || !(fields[place] == leaf))) ++place;
    if (place == fields.size()) {
      fields.push_back(leaf);
      taken.push_back(false);
    }
    taken[place] = true;
    places.push_back(place);
  }
  return places;
}

// A value for a field that is not used.
Value Unused(Context& c, const ir::Type& type) {
  if (type.IsScalar()) return c.b.Zero(type);
  if (type.IsList()) return c.b.ListNew(type.record);
  if (type.IsArray()) return c.b.Zeros(type.elem, std::vector<Value>(type.rank, c.I64(0)));
  std::vector<Value> fields;
  const std::vector<ir::Type> types = c.module.module.FieldsOf(type);
  for (const ir::Type& field : types) fields.push_back(Unused(c, field));
  return c.b.BoxNew(type.record, fields);
}

}  // namespace

uint32_t ModuleContext::RecordOfFunction(const Type& dynamic) {
  for (const auto& [type, record] : function_records) {
    if (type == dynamic) return record;
  }
  ir::Record made;
  made.name = "function";
  const uint32_t record = module.AddRecord(std::move(made));
  function_records.emplace_back(dynamic, record);
  std::vector<ir::Type> fields = {ir::Type::I64()};
  std::vector<std::vector<size_t>> places;
  for (const Type& variant : Find(program, dynamic).variants) {
    places.push_back(PlaceLeaves(Flatten(variant), fields));
  }
  std::vector<std::string> names = {"code"};
  for (size_t i = 1; i < fields.size(); ++i) names.push_back("c" + std::to_string(i - 1));
  module.records[record].field_names = std::move(names);
  module.records[record].fields = std::move(fields);
  variant_fields[record] = std::move(places);
  return record;
}

std::optional<Leaves> LowerDynamic(Context& c, const Expr& e) {
  if (c.InBody()) return UnknownBeforehand(c, e.type);
  const bool makes = e.kind == Expr::Kind::kDynamic;
  const uint32_t record = c.module.RecordOfFunction(makes ? e.type : e.operands[0]->type);
  const std::vector<Value> operand = ValuesOf(c, LowerStored(c, *e.operands[0]));
  if (!makes) {
    const std::vector<Value> fields = c.b.ListGet(operand[0], c.I64(0));
    if (e.kind == Expr::Kind::kTag) return Leaves{{fields[0], nullptr}};
    std::vector<Value> captures;
    for (size_t place : c.module.variant_fields[record][static_cast<size_t>(e.int_value)]) {
      captures.push_back(fields[place]);
    }
    return LeavesOf(c, captures);
  }
  const std::vector<ir::Type> types = c.module.module.records[record].fields;
  const std::vector<size_t> places =
      c.module.variant_fields[record][static_cast<size_t>(e.int_value)];
  std::vector<Value> fields(types.size());
  fields[0] = c.I64(e.int_value);
  for (size_t i = 0; i < places.size(); ++i) fields[places[i]] = operand[i];
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].valid()) fields[i] = Unused(c, types[i]);
  }
  return Leaves{{c.b.ListPush(c.b.ListNew(record), fields), nullptr}};
}

}  // namespace pullback::lang
