#include "core/lang/builtins.h"

#include <iterator>

#include "core/base/status.h"

namespace pullback::lang {
namespace {

struct BuiltinRow {
  std::string_view name;
  int arity;
};
#define PB_ROW(e, n, k) {n, k},
constexpr BuiltinRow kScalar[] = {PB_SCALAR_BUILTINS(PB_ROW)};
constexpr BuiltinRow kAll[] = {PB_SCALAR_BUILTINS(PB_ROW) PB_OTHER_BUILTINS(PB_ROW)};
#undef PB_ROW

const BuiltinRow& Row(int builtin) {
  PB_CHECK(builtin >= 0 && builtin < static_cast<int>(std::size(kAll)));
  return kAll[builtin];
}

}  // namespace

int FindBuiltin(std::string_view name) {
  for (size_t i = 0; i < std::size(kAll); ++i) {
    if (kAll[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool IsScalarBuiltin(int builtin) {
  return builtin >= 0 && builtin < static_cast<int>(std::size(kScalar));
}

bool IsListBuiltin(int builtin) {
  return builtin >= static_cast<int>(Builtin::List) && builtin <= static_cast<int>(Builtin::Set);
}

int BuiltinArity(int builtin) { return Row(builtin).arity; }

std::string_view BuiltinName(int builtin) { return Row(builtin).name; }

}  // namespace pullback::lang
