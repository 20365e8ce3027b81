#include "core/lang/signature.h"

#include "core/lang/entry.h"
#include "core/lang/lang.h"
#include "core/lang/spelling.h"

namespace pullback::lang {
namespace {

// `binding`: how tightly what stands around the size binds.
std::string SizeText(const Expr& e, int binding) {
  std::string text;
  int own = kPrimaryBinding;
  if (e.kind == Expr::Kind::kInt) {
    text = std::to_string(e.int_value);
  } else if (e.kind == Expr::Kind::kName) {
    text = e.name;
  } else if (e.kind == Expr::Kind::kUnary) {
    own = kUnaryBinding;
    text = "-" + SizeText(*e.operands[0], own);
  } else {
    PB_CHECK(e.kind == Expr::Kind::kBinary);
    own = Binding(e.binary);
    text = SizeText(*e.operands[0], own) + " " + std::string(Spelling(e.binary)) + " " +
           SizeText(*e.operands[1], own + 1);
  }
  return own < binding ? "(" + text + ")" : text;
}

// Lists and boxes cannot be handed in or out yet.
bool IsTensors(const TypeExpr& t) {
  bool tensors = t.kind != TypeExpr::Kind::kList && t.kind != TypeExpr::Kind::kBox &&
                 t.kind != TypeExpr::Kind::kFunction;
  ForEachPart(t, [&](const TypeExpr& part) { tensors = tensors && IsTensors(part); });
  return tensors;
}

}  // namespace

std::string SizeText(const Expr& size) { return SizeText(size, 0); }

ApiType ToApiType(const TypeExpr& type) {
  ApiType api;
  api.is_tuple = IsComposite(type);
  api.dtype = type.elem;
  for (const ExprPtr& dim : type.dims) api.dims.push_back(SizeText(*dim));
  ForEachPart(type, [&](const TypeExpr& part) { api.elements.push_back(ToApiType(part)); });
  if (type.kind == TypeExpr::Kind::kStruct) {
    api.struct_name = type.structure->name;
    for (const Field& f : type.structure->fields) api.field_names.push_back(f.name);
  }
  return api;
}

StatusOr<Signature> GetSignature(const Program& program, const std::string& entry) {
  PB_ASSIGN_OR_RETURN(uint32_t index, FindEntry(program, entry));
  const Function& f = *program.functions[index];
  bool tensors = !f.has_result || IsTensors(f.result);
  for (const Param& p : f.params) tensors = tensors && IsTensors(p.type);
  if (!tensors) {
    return Status(Code::kUnimplemented, "UNIMPLEMENTED",
                  "'" + entry +
                      "' takes or gives lists or boxes: as an entry that is not "
                      "implemented yet");
  }
  Signature signature{entry, {}, {}};
  for (const Param& p : f.params) signature.params.push_back({p.name, ToApiType(p.type)});
  if (f.has_result)
    signature.result = ToApiType(f.result);
  else
    signature.result.is_tuple = true;  // no result: a tuple of nothing
  return signature;
}

}  // namespace pullback::lang
