#include "core/lang/check.h"
#include "core/lang/relation.h"

#include <algorithm>

#include "core/lang/builtins.h"

namespace pullback::lang {

namespace {

std::string FunctionText(const Type& t) {
  if (t.closure == Type::Closure::kUndecided) return "one of several functions";
  if (t.closure != Type::Closure::kDynamic) return "a function";
  std::string text;
  for (size_t i = 0; i + 1 < t.elements.size(); ++i) {
    text += (i == 0 ? "" : ", ") + ToString(t.elements[i]);
  }
  return "fn(" + text + ") -> " + ToString(t.elements.back());
}

}  // namespace

std::string ToString(const Type& t) {
  std::string text;
  switch (t.kind) {
    case Type::Kind::kError: return "unknown";
    case Type::Kind::kUnit: return "no value";
    case Type::Kind::kScalar: return DTypeName(t.elem);
    case Type::Kind::kFunction: return FunctionText(t);
    case Type::Kind::kArray:
      for (int i = 0; i < t.rank; ++i) text += i == 0 ? "*" : ", *";
      return "[" + text + "]" + DTypeName(t.elem);
    case Type::Kind::kStructArray:
      for (int i = 0; i < t.rank; ++i) text += i == 0 ? "*" : ", *";
      return "[" + text + "]" + ToString(t.elements[0]);
    case Type::Kind::kTuple: break;
    case Type::Kind::kRelation:
      for (size_t i = 0; i < ArityOf(t); ++i) text += i == 0 ? "*" : ", *";
      return "rel[" + text + "]";
    case Type::Kind::kStruct: return t.structure->name;
    case Type::Kind::kList:
      if (t.elements[0].kind == Type::Kind::kUnit) return "an empty list";
      return "list " + ToString(t.elements[0]);
    case Type::Kind::kBox: return "box " + ToString(t.elements[0]);
  }
  for (const Type& e : t.elements) text += (text.empty() ? "" : ", ") + ToString(e);
  return "(" + text + ")";
}

int LeafCount(const Type& type) {
  int count = 0;
  ForEachPart(type, [&](const Type& part) { count += LeafCount(part); });
  return IsComposite(type) ? count : 1;
}

size_t SizeCount(const Type& type) {
  size_t count = static_cast<size_t>(type.rank);
  if (!IsComposite(type)) return count + type.elements.nodes();
  ForEachPart(type, [&](const Type& part) { count += 1 + SizeCount(part); });
  return count;
}

bool CheckTypeSize(const Type& type, const Span& span, Reporter& report, const Limits& limits) {
  if (type.Nodes() > limits.max_type_nodes) {
    report.Limit(span, "TYPE_TOO_LARGE",
                 "the type here is made of more than " + std::to_string(limits.max_type_nodes) +
                     " types, counted through tuples, lists, boxes and what functions capture");
    return false;
  }
  if (type.Depth() > limits.max_nesting) {
    report.Limit(span, "NESTING_TOO_DEEP",
                 "types inside each other are nested too deeply: at most " +
                     std::to_string(limits.max_nesting) + " are allowed");
    return false;
  }
  return true;
}

bool CheckTypeLimits(const Type& type, const Span& span, Reporter& report, const Limits& limits) {
  if (!CheckTypeSize(type, span, report, limits)) return false;
  if (type.rank > limits.max_rank) {
    report.Limit(span, "TYPE_TOO_LARGE",
                 "an array of rank " + std::to_string(type.rank) + " is over the limit of " +
                     std::to_string(limits.max_rank));
  }
  if (!type.elements.empty() && !IsComposite(type)) {
    return CheckTypeLimits(type.elements[0], span, report, limits);
  }
  if (!IsComposite(type)) return type.rank <= limits.max_rank;
  if (type.kind == Type::Kind::kStructArray) {
    for (size_t i = 0; i < PartCount(type); ++i) {
      if (!CheckTypeLimits(PartOf(type, i), span, report, limits)) return false;
    }
  }
  int leaves = LeafCount(type);
  if (leaves <= limits.max_tuple) return true;
  report.Limit(span, "TYPE_TOO_LARGE",
               "a tuple of " + std::to_string(leaves) + " elements is over the limit of " +
                   std::to_string(limits.max_tuple));
  return false;
}

uint32_t ProgramChecker::FindUser(const std::string& name, const Function& from) const {
  auto it = user_.find(name);
  return from.from_prelude || it == user_.end() ? kNone : it->second;
}

uint32_t ProgramChecker::FindPrelude(const std::string& name) {
  auto it = prelude_.find(name);
  if (it != prelude_.end()) return it->second;
  std::unique_ptr<Function> function = ParsePreludeFunction(name);
  if (!function) return kNone;
  uint32_t index = static_cast<uint32_t>(program_.functions.size());
  const bool is_template = function->is_template;
  headers_.push_back(is_template ? Header()
                                 : CheckHeader(*function, structs(*function), report_, limits_));
  program_.functions.push_back(std::move(function));
  info_.emplace_back();
  return prelude_[name] = index;
}

const StructTable& ProgramChecker::structs(const Function& from) const {
  static const StructTable* const none = new StructTable();
  return from.from_prelude ? *none : structs_;
}

std::vector<std::string_view> ProgramChecker::FunctionNames() const {
  std::vector<std::string_view> names = PreludeNames();
  for (std::string_view name : structs_.Names()) names.push_back(name);
  for (const auto& [name, index] : user_) names.push_back(name);
#define PB_NAME(e, n, k) names.emplace_back(n);
  PB_SCALAR_BUILTINS(PB_NAME)
  PB_OTHER_BUILTINS(PB_NAME)
#undef PB_NAME
  return names;
}

void ProgramChecker::Charge(size_t sizes, const Span& at) {
  if (exhausted()) return;
  work_ += sizes;
  if (!exhausted()) return;
  report_.Limit(at, "PROGRAM_TOO_LARGE",
                "the program is too large: up to here its values have more than " +
                    std::to_string(max_work_) + " axes and parts");
}

void ProgramChecker::DeclareUserFunctions() {
  for (uint32_t i = 0; i < program_.functions.size(); ++i) {
    Function& f = *program_.functions[i];
    if (!user_.emplace(f.name, i).second) {
      report_.Error(f.span, "there is already a function named '" + f.name + "'");
    }
    if (structs_.Find(f.name)) {
      report_.Error(f.span, "there is already a struct named '" + f.name + "'");
    }
    headers_.push_back(f.is_template ? Header() : CheckHeader(f, structs_, report_, limits_));
    info_.emplace_back();
  }
  program_.user_functions = program_.functions.size();
}

Status ProgramChecker::Run() {
  structs_.Declare(program_.structs, report_, limits_);
  if (!report_.ok()) return report_.ToStatus();  // a wrong struct may hold itself without end
  DeclareUserFunctions();
  // The prelude's functions join the list while bodies are checked.
  for (uint32_t i = 0; i < program_.functions.size() && !report_.full() && !exhausted(); ++i)
    CheckFunction(i);
  if (!report_.ok()) return report_.ToStatus();
  WriteDispatchers();
  NumberNodes(program_);
  return {};
}

Status Check(Program& program, const Limits& limits) {
  return ProgramChecker(program, limits).Run();
}

}  // namespace pullback::lang
