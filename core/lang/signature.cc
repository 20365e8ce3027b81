#include "core/lang/signature.h"

#include <set>

#include "core/base/relation.h"
#include "core/lang/entry.h"
#include "core/lang/lang.h"
#include "core/lang/relation.h"
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

// What stays inside a run: boxes and functions, also within structs and lists.
bool CanLeave(const TypeExpr& t, std::set<const Struct*>& seen) {
  if (t.kind == TypeExpr::Kind::kBox || t.kind == TypeExpr::Kind::kFunction) return false;
  if (t.kind == TypeExpr::Kind::kList) return CanLeave(t.elements[0], seen);
  if (t.kind == TypeExpr::Kind::kStruct && !seen.insert(t.structure).second) return true;
  bool can = true;
  ForEachPart(t, [&](const TypeExpr& part) { can = can && CanLeave(part, seen); });
  return can;
}

class TypeMaker {
 public:
  ApiType Make(const TypeExpr& type, bool in_list = false) {
    if (type.kind == TypeExpr::Kind::kRelation) return MakeRelation(type);
    ApiType api;
    api.is_tuple = IsComposite(type);
    api.dtype = type.elem;
    for (const ExprPtr& dim : type.dims) api.dims.push_back(SizeText(*dim));
    if (type.kind == TypeExpr::Kind::kList) {
      api.is_list = true;
      api.elements.push_back(Make(type.elements[0], true));
    }
    if (type.kind == TypeExpr::Kind::kStructArray) {
      api.array_dims = std::move(api.dims);
      api.dims.clear();
      if (const Struct* const s = StructOf(type)) {
        api.struct_name = s->name;
        for (const Field& f : s->fields) api.field_names.push_back(f.name);
      }
    }
    if (type.kind == TypeExpr::Kind::kStruct) {
      api.struct_name = type.structure->name;
      if (in_list) {
        api.declared = Declare(type);
        return api;
      }
      for (const Field& f : type.structure->fields) api.field_names.push_back(f.name);
    }
    ForEachPart(type, [&](const TypeExpr& part) { api.elements.push_back(Make(part, in_list)); });
    return api;
  }

  // Structs that lists name, with their fields. They may name others, or themselves.
  ApiStructs Structs() {
    ApiStructs structs;
    for (size_t i = 0; i < declared_.size(); ++i) structs.push_back(Make(*declared_[i]));
    return structs;
  }

 private:
  static ApiType MakeRelation(const TypeExpr& type) {
    std::vector<std::string> sizes;
    for (size_t i = 0; i < ArityOf(type); ++i) sizes.push_back(SizeText(*type.dims[i]));
    return RelationApiType(std::move(sizes));
  }

  int32_t Declare(const TypeExpr& type) {
    size_t i = 0;
    while (i < declared_.size() && declared_[i]->structure != type.structure) ++i;
    if (i == declared_.size()) declared_.push_back(&type);
    return static_cast<int32_t>(i);
  }

  std::vector<const TypeExpr*> declared_;
};

}  // namespace

std::string SizeText(const Expr& size) { return SizeText(size, 0); }

ApiType ToApiType(const TypeExpr& type) { return TypeMaker().Make(type); }

StatusOr<Signature> GetSignature(const Program& program, const std::string& entry) {
  PB_ASSIGN_OR_RETURN(uint32_t index, FindEntry(program, entry));
  const Function& f = *program.functions[index];
  std::set<const Struct*> seen;
  bool can_leave = !f.has_result || CanLeave(f.result, seen);
  for (const Param& p : f.params) can_leave = can_leave && CanLeave(p.type, seen);
  if (!can_leave) {
    return Status(Code::kUnimplemented, "UNIMPLEMENTED",
                  "'" + entry +
                      "' takes or gives boxes or functions: as an entry that is not "
                      "implemented yet");
  }
  Signature signature;
  signature.entry = entry;
  TypeMaker types;
  for (const Param& p : f.params) signature.params.push_back({p.name, types.Make(p.type)});
  if (f.has_result)
    signature.result = types.Make(f.result);
  else
    signature.result.is_tuple = true;  // no result: a tuple of nothing
  signature.structs = types.Structs();
  return signature;
}

}  // namespace pullback::lang
