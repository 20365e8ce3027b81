// Sizes as the checker knows them: polynomials over immutable i64 locals, or unknown. Two sizes are
// compared only to prove them unequal; whatever cannot be proven is left to the run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/lang/ast.h"

namespace pullback::lang {

// Arithmetic gives up (unknown) on overflow and past bounds on the number of terms and their degree.
// Copies share their terms.
class Size {
 public:
  using Monomial = std::vector<uint32_t>;     // indices into Function::locals, sorted; {} is 1
  using Terms = std::map<Monomial, int64_t>;  // no zero coefficients

  Size() = default;  // unknown
  static Size Const(int64_t c);
  static Size Of(uint32_t local);

  bool known() const { return terms_ != nullptr; }
  const Terms& terms() const;  // none where unknown
  std::optional<int64_t> AsConst() const;
  bool Mentions(uint32_t first_local) const;  // some local at or above `first_local`
  // The coefficient of `local` where this is coefficient * local + rest without `local`.
  std::optional<int64_t> LinearIn(uint32_t local) const;

  Size operator+(const Size& o) const;
  Size operator-(const Size& o) const;
  Size operator*(const Size& o) const;
  // Exact quotient by a nonzero constant, else unknown.
  Size DividedBy(int64_t c) const;
  Size Substitute(const std::function<Size(uint32_t)>& value) const;
  bool operator==(const Size& o) const;

 private:
  explicit Size(std::optional<Terms> terms);

  std::shared_ptr<const Terms> terms_;  // null: unknown
};

// Whether a and b differ for all values of their locals; size variables are at least 0.
bool ProvablyUnequal(const Size& a, const Size& b, const std::vector<Local>& locals);
// Whether NumPy's broadcasting of a and b fails for all values: unequal, and neither is 1.
bool ProvablyNotBroadcastable(const Size& a, const Size& b, const std::vector<Local>& locals);
std::string ToString(const Size& size, const std::vector<Local>& locals);  // "n - m + 1", "?"

// The sizes of a value: of an array one per axis, of a tuple or struct one Shape per part. Lists and
// boxes have none.
struct Shape {
  std::vector<Size> dims;
  std::vector<Shape> elements;
};
// What the type alone says: whole numbers in structs.
Shape UnknownShape(const Type& type);
// `shape` with every size that mentions a local at or above `first_local` unknown.
void ForgetLocals(Shape& shape, uint32_t first_local);
// What is known of a value that is a or b.
Shape Join(const Shape& a, const Shape& b);
// "[n, m + 1]f64", "(f64, [?]i64)": for messages.
std::string Describe(const Type& type, const Shape& shape, const std::vector<Local>& locals);

}  // namespace pullback::lang
