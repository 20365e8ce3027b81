#include "core/ir/affine_text.h"

#include <algorithm>

namespace pullback::ir {
namespace {

uint64_t Magnitude(int64_t v) {
  return v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
}

}  // namespace

// What is added first, so that the text does not begin with a minus where it need not.
std::string AffineText(const Affine& a, const Spelling& spelling) {
  Affine::Terms terms = a.terms;
  std::sort(terms.begin(), terms.end(), [&](const Affine::Term& x, const Affine::Term& y) {
    const bool minus_x = x.coeff < 0;
    const bool minus_y = y.coeff < 0;
    if (minus_x != minus_y) return minus_y;
    return spelling.rank(x.value) < spelling.rank(y.value);
  });
  std::string out;
  const auto append = [&](bool minus, const std::string& text) {
    out += out.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ");
    out += text;
  };
  const auto append_constant = [&] {
    append(a.constant < 0, std::to_string(Magnitude(a.constant)));
  };
  const bool constant_first = a.constant > 0 && (terms.empty() || terms[0].coeff < 0);
  if (constant_first) append_constant();
  for (const Affine::Term& t : terms) {
    const uint64_t k = Magnitude(t.coeff);
    append(t.coeff < 0, (k == 1 ? "" : std::to_string(k) + "*") + spelling.text(t.value));
  }
  if (a.constant != 0 && !constant_first) append_constant();
  return out.empty() ? "0" : out;
}

// Both sides are printed with positive terms: `%k - %i - 1 >= 0` as `%i < %k`.
std::string ConstraintText(const Constraint& c, const Spelling& spelling) {
  Affine positive, negative;
  for (const Affine::Term& t : c.e.terms) {
    (t.coeff > 0 ? positive : negative).terms.push_back(t);
  }
  negative = negative * -1;
  (c.e.constant > 0 ? positive : negative) = c.e.constant > 0
                                                 ? positive + Affine::Const(c.e.constant)
                                                 : negative - Affine::Const(c.e.constant);
  if (c.equality) return AffineText(positive, spelling) + " == " + AffineText(negative, spelling);
  const bool strict = c.e.constant == -1 && !negative.terms.empty();
  if (strict) negative = negative - Affine::Const(1);
  return AffineText(negative, spelling) + (strict ? " < " : " <= ") +
         AffineText(positive, spelling);
}

}  // namespace pullback::ir
