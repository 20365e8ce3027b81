// Derivative rules that a function brings along: which function each is, and whether it fits.
#include <algorithm>

#include "core/lang/check.h"

namespace pullback::lang {

void ProgramChecker::CheckRules(uint32_t index) {
  Function& f = *program_.functions[index];
  if (f.vjp_rule.name.empty() && f.jvp_rule.name.empty()) return;
  const std::vector<Type> params = headers_[index].param_types;
  if (std::none_of(params.begin(), params.end(), CarriesFloat) || !CarriesFloat(f.result_type)) {
    report_.Error(f.span, "'" + f.name + "' has nothing to differentiate, and a rule for it");
    return;
  }
  std::vector<Type> seeds = params, tangents = params;
  seeds.push_back(f.result_type);
  for (const Type& t : params) {
    if (CarriesFloat(t)) tangents.push_back(t);
  }
  CheckRule(index, f.vjp_rule, seeds, GradientType(params));
  CheckRule(index, f.jvp_rule, tangents, Type::Tuple({f.result_type, f.result_type}));
}

void ProgramChecker::CheckRule(uint32_t of, DerivativeRule& rule, const std::vector<Type>& takes,
                               const Type& gives) {
  if (rule.name.empty()) return;
  const Function& f = *program_.functions[of];
  uint32_t found = FindUser(rule.name, f);
  if (found == kNone) found = FindPrelude(rule.name);
  if (found == kNone) {
    report_.Error(rule.span,
                  "unknown function '" + rule.name + "'" + DidYouMean(rule.name, FunctionNames()));
    return;
  }
  std::string text;
  for (const Type& t : takes) text += (text.empty() ? "" : ", ") + Describe(t);
  const std::string wanted = "the rule '" + rule.name + "' of '" + f.name + "' must be fn(" + text +
                             ") -> " + Describe(gives);
  if (function(found).params.size() != takes.size()) {
    report_.Error(rule.span, wanted + ", but takes " +
                                 std::to_string(function(found).params.size()) + " arguments");
    return;
  }
  const Type self = Type::Function(Type::Closure::kNamed, found, {});
  const uint32_t instance = Instantiate(self, takes, rule.span, of);
  if (instance == kNone) return;
  const std::vector<Type>& params = headers_[instance].param_types;
  for (size_t i = 0; i < takes.size(); ++i) {
    if (params[i] == takes[i]) continue;
    report_.Error(rule.span, wanted + ", but its argument '" + function(instance).params[i].name +
                                 "' is " + Describe(params[i]));
    return;
  }
  const Function& made = function(instance);
  if (!made.has_result || !(made.result_type == gives)) {
    report_.Error(rule.span, wanted + ", but gives " +
                                 (made.has_result ? Describe(made.result_type) : "nothing"));
    return;
  }
  rule.function = instance;
}

}  // namespace pullback::lang
