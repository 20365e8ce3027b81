#include "core/lang/check_size.h"
#include "core/lang/relation.h"
#include "core/lang/struct_array.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace pullback::lang {
namespace {

constexpr size_t kMaxTerms = 32;
constexpr size_t kMaxDegree = 8;
constexpr size_t kMaxProducts = 64;

// Adds a term; nothing (unknown) on overflow and past the bounds.
void AddTerm(std::optional<Size::Terms>& terms, const Size::Monomial& m, int64_t coeff) {
  if (!terms) return;
  int64_t& sum = (*terms)[m];
  bool overflows = __builtin_add_overflow(sum, coeff, &sum);
  if (overflows || m.size() > kMaxDegree || terms->size() > kMaxTerms) {
    terms.reset();
  } else if (sum == 0) {
    terms->erase(m);
  }
}

bool NonNegative(const Size::Monomial& m, const std::vector<Local>& locals) {
  return std::all_of(m.begin(), m.end(),
                     [&](uint32_t l) { return locals[l].kind == Local::Kind::kSize; });
}

// Whether d has a constant term of one sign and no term that could outweigh it.
bool KeepsSign(const Size& d, const std::vector<Local>& locals) {
  auto constant = d.terms().find({});
  if (constant == d.terms().end()) return false;
  return std::all_of(d.terms().begin(), d.terms().end(), [&](const auto& term) {
    return (term.second > 0) == (constant->second > 0) && NonNegative(term.first, locals);
  });
}

// Whether the coefficients of d have a common divisor that its constant term has not.
bool NeverDivides(const Size& d) {
  int64_t constant = 0, divisor = 0;
  for (const auto& [monomial, coeff] : d.terms()) {
    if (coeff == INT64_MIN) return false;
    if (monomial.empty())
      constant = coeff;
    else
      divisor = std::gcd(divisor, coeff);
  }
  return divisor > 1 && constant % divisor != 0;
}

std::string MonomialText(const Size::Monomial& m, const std::vector<Local>& locals) {
  std::string text;
  for (uint32_t l : m) text += (text.empty() ? "" : " * ") + locals[l].name;
  return text;
}

// One term with the sign that joins it to what stands before it.
void AppendTerm(std::string& text, const std::string& monomial, int64_t coeff) {
  bool minus = coeff < 0;
  if (text.empty())
    text += minus ? "-" : "";
  else
    text += minus ? " - " : " + ";
  uint64_t magnitude = minus ? -static_cast<uint64_t>(coeff) : static_cast<uint64_t>(coeff);
  if (monomial.empty() || magnitude != 1) text += std::to_string(magnitude);
  if (!monomial.empty() && magnitude != 1) text += " * ";
  text += monomial;
}

}  // namespace

Size::Size(std::optional<Terms> terms) {
  if (terms) terms_ = std::make_shared<const Terms>(std::move(*terms));
}

const Size::Terms& Size::terms() const {
  static const Terms none;
  return terms_ ? *terms_ : none;
}

Size Size::Const(int64_t c) {
  Terms terms;
  if (c != 0) terms[{}] = c;
  return Size(std::move(terms));
}

Size Size::Of(uint32_t local) { return Size(Terms{{{local}, 1}}); }

std::optional<int64_t> Size::AsConst() const {
  if (!known()) return std::nullopt;
  if (terms().empty()) return 0;
  if (terms().size() == 1 && terms().begin()->first.empty()) return terms().begin()->second;
  return std::nullopt;
}

bool Size::Mentions(uint32_t first_local) const {
  return std::any_of(terms().begin(), terms().end(), [&](const auto& term) {
    return !term.first.empty() && term.first.back() >= first_local;
  });
}

std::optional<int64_t> Size::LinearIn(uint32_t local) const {
  std::optional<int64_t> coeff;
  for (const auto& [monomial, c] : terms()) {
    if (std::find(monomial.begin(), monomial.end(), local) == monomial.end()) continue;
    if (monomial.size() != 1) return std::nullopt;
    coeff = c;
  }
  return coeff;
}

Size Size::operator+(const Size& o) const {
  if (!known() || !o.known()) return {};
  std::optional<Terms> sum = terms();
  for (const auto& [monomial, coeff] : o.terms()) AddTerm(sum, monomial, coeff);
  return Size(std::move(sum));
}

Size Size::operator-(const Size& o) const { return *this + o * Const(-1); }

Size Size::operator*(const Size& o) const {
  if (!known() || !o.known() || terms().size() * o.terms().size() > kMaxProducts) return {};
  std::optional<Terms> product = Terms();
  for (const auto& [m1, c1] : terms()) {
    for (const auto& [m2, c2] : o.terms()) {
      Monomial m;
      std::merge(m1.begin(), m1.end(), m2.begin(), m2.end(), std::back_inserter(m));
      int64_t coeff;
      if (__builtin_mul_overflow(c1, c2, &coeff)) return {};
      AddTerm(product, m, coeff);
    }
  }
  return Size(std::move(product));
}

Size Size::DividedBy(int64_t c) const {
  if (!known()) return {};
  Terms quotient;
  for (const auto& [monomial, coeff] : terms()) {
    if (c == -1 ? coeff == INT64_MIN : coeff % c != 0) return {};
    quotient[monomial] = coeff / c;
  }
  return Size(std::move(quotient));
}

Size Size::Substitute(const std::function<Size(uint32_t)>& value) const {
  if (!known()) return {};
  Size sum = Const(0);
  for (const auto& [monomial, coeff] : terms()) {
    Size product = Const(coeff);
    for (uint32_t local : monomial) product = product * value(local);
    sum = sum + product;
  }
  return sum;
}

bool Size::operator==(const Size& o) const {
  return terms_ == o.terms_ || (known() && o.known() && terms() == o.terms());
}

bool ProvablyUnequal(const Size& a, const Size& b, const std::vector<Local>& locals) {
  Size d = a - b;
  return d.known() && (KeepsSign(d, locals) || NeverDivides(d));
}

bool ProvablyNotBroadcastable(const Size& a, const Size& b, const std::vector<Local>& locals) {
  Size one = Size::Const(1);
  return ProvablyUnequal(a, b, locals) && ProvablyUnequal(a, one, locals) &&
         ProvablyUnequal(b, one, locals);
}

std::string ToString(const Size& size, const std::vector<Local>& locals) {
  if (!size.known()) return "?";
  // Positive terms first, so that a text rarely starts with a minus; the constant last.
  std::string text;
  for (bool positive : {true, false}) {
    for (const auto& [monomial, coeff] : size.terms()) {
      if (monomial.empty() || (coeff > 0) != positive) continue;
      AppendTerm(text, MonomialText(monomial, locals), coeff);
    }
  }
  auto constant = size.terms().find({});
  if (constant != size.terms().end()) AppendTerm(text, "", constant->second);
  return text.empty() ? "0" : text;
}

namespace {

// What a struct's declaration says of the sizes of a field.
Shape FieldShape(const TypeExpr& t) {
  Shape shape;
  for (const ExprPtr& dim : t.dims) {
    shape.dims.push_back(dim->kind == Expr::Kind::kInt ? Size::Const(dim->int_value) : Size());
  }
  ForEachPart(t, [&](const TypeExpr& part) { shape.elements.push_back(FieldShape(part)); });
  return shape;
}

}  // namespace

Shape UnknownShape(const Type& type) {
  Shape shape;
  if (type.kind == Type::Kind::kStructArray) {
    const std::vector<Size> any(static_cast<size_t>(type.rank));
    return ArrayOver(UnknownShape(type.elements[0]), any);
  }
  shape.dims.resize(static_cast<size_t>(type.rank));
  if (type.kind == Type::Kind::kStruct) {
    for (const Field& f : type.structure->fields) shape.elements.push_back(FieldShape(f.type));
  } else {
    ForEachPart(type, [&](const Type& t) { shape.elements.push_back(UnknownShape(t)); });
  }
  return shape;
}

void ForgetLocals(Shape& shape, uint32_t first_local) {
  for (Size& dim : shape.dims) {
    if (dim.Mentions(first_local)) dim = Size();
  }
  for (Shape& element : shape.elements) ForgetLocals(element, first_local);
}

Shape Join(const Shape& a, const Shape& b) {
  Shape joined;
  for (size_t i = 0; i < a.dims.size() && i < b.dims.size(); ++i) {
    joined.dims.push_back(a.dims[i] == b.dims[i] ? a.dims[i] : Size());
  }
  for (size_t i = 0; i < a.elements.size() && i < b.elements.size(); ++i) {
    joined.elements.push_back(Join(a.elements[i], b.elements[i]));
  }
  return joined;
}

std::string Describe(const Type& type, const Shape& shape, const std::vector<Local>& locals) {
  std::string text;
  if (type.kind == Type::Kind::kArray) {
    for (const Size& dim : shape.dims) text += (text.empty() ? "" : ", ") + ToString(dim, locals);
    return "[" + text + "]" + DTypeName(type.elem);
  }
  if (type.kind == Type::Kind::kRelation && !shape.elements.empty()) {
    for (size_t i = 0; i < ArityOf(type); ++i) {
      text += (i == 0 ? "" : ", ") + ToString(shape.elements[0].dims[i], locals);
    }
    return "rel[" + text + "]";
  }
  if (type.kind == Type::Kind::kStructArray) {
    for (const Size& dim : shape.dims) text += (text.empty() ? "" : ", ") + ToString(dim, locals);
    return "[" + text + "]" + ToString(type.elements[0]);
  }
  if (type.kind != Type::Kind::kTuple) return ToString(type);  // a struct's name says its fields
  for (size_t i = 0; i < type.elements.size(); ++i) {
    text += (i == 0 ? "" : ", ") + Describe(type.elements[i], shape.elements[i], locals);
  }
  return "(" + text + ")";
}

}  // namespace pullback::lang
