// f.(x, y) of a function value or a template: a call of a function that is written for these numbers of
// axes, as if it stood in the prelude.
#include <algorithm>
#include <sstream>

#include "core/lang/check_body.h"

namespace pullback::lang {
namespace {

constexpr std::string_view kBroadcast = "broadcast ";

// How the arguments' axes follow the result's, aligned at the end: 'n' as they are, '1' an axis of size 1
// that expands, nothing where there is none; a scalar is "-".
std::vector<std::string> Follow(const std::vector<Shape>& shapes) {
  size_t rank = 0;
  for (const Shape& s : shapes) rank = std::max(rank, s.dims.size());
  std::vector<std::string> follow;
  for (const Shape& s : shapes) {
    std::string axes;
    for (const Size& dim : s.dims) axes += dim == Size::Const(1) ? '1' : 'n';
    follow.push_back(axes.empty() ? "-" : axes);
  }
  for (size_t axis = 1; axis <= rank; ++axis) {  // from the end
    const auto at = [&](std::string& f) -> char* {
      return f != "-" && axis <= f.size() ? &f[f.size() - axis] : nullptr;
    };
    const bool expands = std::any_of(follow.begin(), follow.end(),
                                     [&](std::string& f) { return at(f) && *at(f) == 'n'; });
    for (std::string& f : follow) {
      if (!expands && at(f)) *at(f) = 'n';
    }
  }
  return follow;
}

std::string Joined(const std::string& item, size_t count, size_t from = 0) {
  std::string all;
  for (size_t i = from; i < count; ++i) {
    if (i > from) all += ", ";
    for (char c : item) all += c == '#' ? std::to_string(i) : std::string(1, c);
  }
  return all;
}

class Writer {
 public:
  Writer(size_t results, std::vector<std::string> follow)
      : results_(results), follow_(std::move(follow)) {
    for (const std::string& f : follow_) {
      if (f != "-") rank_ = std::max(rank_, f.size());
    }
  }

  std::string Text() const {
    std::string calls;
    for (size_t r = 0; r < results_; ++r) {
      calls += (r == 0 ? "gen " : ", gen ") + Joined("i# < n#", rank_) + " { f(" + Elements() +
               ")" + (results_ == 1 ? "" : "." + std::to_string(r)) + " }";
    }
    const std::string array = "[" + Joined("n#", rank_) + "]R#";
    return "fn broadcast<" + Joined("A#", follow_.size()) + ", " + Joined("R#", results_) +
           ">(f: fn(" + Joined("A#", follow_.size()) + ") -> (" + Joined("R#", results_) + ")" +
           Params() + ") -> (" + Joined(array, results_) + ") { return (" + calls + ") }";
  }

 private:
  std::string Params() const {
    std::string all;
    for (size_t a = 0; a < follow_.size(); ++a) {
      const std::string n = std::to_string(a);
      all += ", x" + n + ": " + Subscripts(a, "n", "1") + "A" + n;
    }
    return all;
  }
  std::string Elements() const {
    std::string all;
    for (size_t a = 0; a < follow_.size(); ++a) {
      all += (a == 0 ? "x" : ", x") + std::to_string(a) + Subscripts(a, "i", "0");
    }
    return all;
  }
  // [n0, 1]; nothing of a scalar.
  std::string Subscripts(size_t a, const std::string& whole, const std::string& one) const {
    const std::string& f = follow_[a];
    if (f == "-") return "";
    std::string all = "[";
    for (size_t i = 0; i < f.size(); ++i) {
      if (i > 0) all += ", ";
      all += f[i] == '1' ? one : whole + std::to_string(rank_ - f.size() + i);
    }
    return all + "]";
  }

  size_t results_;
  std::vector<std::string> follow_;
  size_t rank_ = 0;
};

}  // namespace

std::string BroadcastSource(const std::string& name) {
  if (!name.starts_with(kBroadcast)) return "";
  std::istringstream words(name.substr(kBroadcast.size()));
  size_t results = 0;
  words >> results;
  std::vector<std::string> follow;
  for (std::string word; words >> word;) follow.push_back(word);
  return Writer(results, std::move(follow)).Text();
}

// Whether f.(…) calls a value: f is an expression, a variable that holds a function, or a template.
bool BodyChecker::NamesValue(const Expr& e) const {
  if (e.name.empty()) return true;
  const uint32_t local = scope_.Find(e.name);
  if (local != kNone) {
    const Type& type = f_.locals[local].type;
    return type.kind == Type::Kind::kFunction ||
           (f_.locals[local].shared && type.elements[0].kind == Type::Kind::kFunction);
  }
  const uint32_t user = program_.FindUser(e.name, f_);
  const uint32_t callee = user != kNone ? user : program_.FindPrelude(e.name);
  return callee != kNone && program_.function(callee).is_template;
}

// How many scalars the function gives for scalars of the operands' types; -1: none, which is reported.
int BodyChecker::ScalarResults(Expr& e, const Type& function) {
  Expr call;
  call.kind = Expr::Kind::kCall;
  call.span = e.span;
  for (const ExprPtr& operand : e.operands) {
    auto stands_for = std::make_unique<Expr>();
    stands_for->kind = Expr::Kind::kName;
    stands_for->span = operand->span;
    stands_for->type = call.operands.empty() ? operand->type : Type::Scalar(operand->type.elem);
    call.operands.push_back(std::move(stands_for));
  }
  std::vector<Shape> shapes(call.operands.size());
  shapes[0] = UnknownShape(function);
  CallValue(call, function, shapes);
  const Type& type = call.type;
  if (type.kind == Type::Kind::kError) return -1;
  const bool tuple = type.kind == Type::Kind::kTuple;
  const bool scalars =
      tuple && std::all_of(type.elements.begin(), type.elements.end(),
                           [](const Type& t) { return t.kind == Type::Kind::kScalar; });
  if (scalars) return static_cast<int>(type.elements.size());
  if (type.kind == Type::Kind::kScalar) return 1;
  Fail(
      e,
      "a function that is called for every element must give a scalar or a tuple of scalars, got " +
          ToString(type));
  return -1;
}

// operands[0] is the function.
Shape BodyChecker::BroadcastValue(Expr& e, std::vector<Shape> shapes) {
  const Type function = e.operands[0]->type;
  e.type = Type();
  if (function.kind != Type::Kind::kFunction) {
    return Fail(e, "only functions are called, got " + Text(function, shapes[0]));
  }
  bool arrays = false;
  for (size_t i = 1; i < shapes.size(); ++i) {
    const Type& type = e.operands[i]->type;
    arrays |= type.kind == Type::Kind::kArray;
    if (type.kind == Type::Kind::kScalar || type.kind == Type::Kind::kArray) continue;
    return Fail(*e.operands[i], "'.(…)' takes scalars and arrays, got " + Text(type, shapes[i]));
  }
  e.kind = Expr::Kind::kCall;
  if (!arrays) return CallValue(e, function, shapes);
  const int results = ScalarResults(e, function);
  if (results < 0) return {};
  e.name = std::string(kBroadcast) + std::to_string(results);
  for (const std::string& f : Follow({shapes.begin() + 1, shapes.end()})) e.name += " " + f;
  e.callee = program_.FindPrelude(e.name);
  return CallTemplate(e, shapes);
}

}  // namespace pullback::lang
