// Arithmetic of affine forms. Everything wraps: coefficients are i64 as the values are.
#include <algorithm>

#include "core/ir/ir.h"

namespace pullback::ir {
namespace {

int64_t WrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int64_t WrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

Value Affine::AsValue() const {
  const bool single = constant == 0 && terms.size() == 1 && terms[0].coeff == 1;
  return single ? terms[0].value : kNoValue;
}

int64_t Affine::Coeff(Value v) const {
  for (const Term& t : terms) {
    if (t.value == v) return t.coeff;
  }
  return 0;
}

Affine Affine::operator+(const Affine& o) const {
  Affine sum{WrapAdd(constant, o.constant), terms};
  sum.terms.insert(sum.terms.end(), o.terms.begin(), o.terms.end());
  Canonicalise(sum);
  return sum;
}

Affine Affine::operator-(const Affine& o) const { return *this + o * -1; }

Affine Affine::operator*(int64_t k) const {
  Affine product{WrapMul(constant, k), terms};
  for (Term& t : product.terms) t.coeff = WrapMul(t.coeff, k);
  Canonicalise(product);  // a coefficient may have become 0
  return product;
}

Affine Affine::Substitute(Value v, const Affine& e) const {
  const int64_t coeff = Coeff(v);
  if (coeff == 0) return *this;
  Affine rest{constant, {}};
  for (const Term& t : terms) {
    if (t.value != v) rest.terms.push_back(t);
  }
  return rest + e * coeff;
}

void Canonicalise(Affine& a) {
  std::sort(a.terms.begin(), a.terms.end(),
            [](const Affine::Term& x, const Affine::Term& y) { return x.value < y.value; });
  Affine::Terms merged;
  for (const Affine::Term& t : a.terms) {
    if (!merged.empty() && merged.back().value == t.value) {
      merged.back().coeff = WrapAdd(merged.back().coeff, t.coeff);
    } else {
      merged.push_back(t);
    }
  }
  merged.erase(std::remove_if(merged.begin(), merged.end(),
                              [](const Affine::Term& t) { return t.coeff == 0; }),
               merged.end());
  a.terms = std::move(merged);
}

void CanonicaliseAffines(Inst& inst) {
  for (Affine& a : inst.subs) Canonicalise(a);
  for (Constraint& c : inst.constraints) Canonicalise(c.e);
  if (!inst.each) return;
  for (Constraint& c : inst.each->where) Canonicalise(c.e);
  for (Inst& b : inst.each->body) CanonicaliseAffines(b);
  for (EachResult& r : inst.each->results) {
    for (Affine& a : r.out) Canonicalise(a);
  }
}

}  // namespace pullback::ir
