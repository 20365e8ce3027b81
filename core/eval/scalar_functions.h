// What each scalar op computes, one template for all types. Integers are computed unsigned, so they
// wrap. Internal to scalar_ops.cc, which has the table.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/base/math.h"
#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::eval::scalar {

template <typename T>
T From(uint64_t bits) {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(bits);
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if constexpr (std::is_same_v<T, int64_t>) return static_cast<int64_t>(bits);
  if constexpr (std::is_same_v<T, bool>) return bits != 0;
}

inline uint64_t To(double v) { return std::bit_cast<uint64_t>(v); }
inline uint64_t To(float v) { return std::bit_cast<uint32_t>(v); }
inline uint64_t To(int64_t v) { return static_cast<uint64_t>(v); }
inline uint64_t To(bool v) { return v ? 1 : 0; }

template <typename T>
inline constexpr bool kInt = std::is_same_v<T, int64_t>;

inline uint64_t U(int64_t v) { return static_cast<uint64_t>(v); }

struct Add {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (kInt<T>) return static_cast<T>(U(x) + U(y));
    return x + y;
  }
};
struct Sub {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (kInt<T>) return static_cast<T>(U(x) - U(y));
    return x - y;
  }
};
struct Mul {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (kInt<T>) return static_cast<T>(U(x) * U(y));
    return x * y;
  }
};
struct Neg {
  template <typename T>
  static T Of(T x) {
    if constexpr (kInt<T>) return static_cast<T>(0 - U(x));
    return -x;
  }
};
struct Div {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (kInt<T>) return y == -1 ? Neg::Of(x) : x / y;  // INT64_MIN / -1 wraps
    return x / y;
  }
};
struct Rem {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (kInt<T>) {
      return y == -1 ? 0 : x % y;
    } else {
      static const MathFunction* const kRem = FindMath("rem");
      return CallMath(*kRem, x, y);
    }
  }
};
struct SMul {
  template <typename T>
  static T Of(T w, T p) {
    return w == 0 ? T{0} : w * p;
  }
};
struct Abs {
  template <typename T>
  static T Of(T x) {
    if constexpr (kInt<T>) {
      return x < 0 ? Neg::Of(x) : x;
    } else {
      return std::fabs(x);
    }
  }
};
struct Sign {
  template <typename T>
  static T Of(T x) {
    return x != x ? x : static_cast<T>((x > 0) - (x < 0));
  }
};
struct Min {
  template <typename T>
  static T Of(T x, T y) {
    return x < y || x != x ? x : y;
  }
};
struct Max {
  template <typename T>
  static T Of(T x, T y) {
    return x > y || x != x ? x : y;
  }
};
struct Floor {
  template <typename T>
  static T Of(T x) {
    return std::floor(x);
  }
};
struct Ceil {
  template <typename T>
  static T Of(T x) {
    return std::ceil(x);
  }
};
struct Round {
  template <typename T>
  static T Of(T x) {
    return std::round(x);
  }
};
struct Trunc {
  template <typename T>
  static T Of(T x) {
    return std::trunc(x);
  }
};
struct Sqrt {
  template <typename T>
  static T Of(T x) {
    return std::sqrt(x);
  }
};
template <ir::Op op>
struct Math {
  static const MathFunction& Get() {
    static const MathFunction* const kFunction = FindMath(ir::Info(op).mnemonic);
    PB_CHECK(kFunction);
    return *kFunction;
  }
  template <typename T>
  static T Of(T x) {
    return CallMath(Get(), x);
  }
  template <typename T>
  static T Of(T x, T y) {
    return CallMath(Get(), x, y);
  }
};
struct Eq {
  template <typename T>
  static bool Of(T x, T y) {
    return x == y;
  }
};
struct Ne {
  template <typename T>
  static bool Of(T x, T y) {
    return x != y;
  }
};
struct Lt {
  template <typename T>
  static bool Of(T x, T y) {
    return x < y;
  }
};
struct Le {
  template <typename T>
  static bool Of(T x, T y) {
    return x <= y;
  }
};
struct Gt {
  template <typename T>
  static bool Of(T x, T y) {
    return x > y;
  }
};
struct Ge {
  template <typename T>
  static bool Of(T x, T y) {
    return x >= y;
  }
};
struct And {
  template <typename T>
  static T Of(T x, T y) {
    return x && y;
  }
};
struct Or {
  template <typename T>
  static T Of(T x, T y) {
    return x || y;
  }
};
struct Not {
  template <typename T>
  static T Of(T x) {
    return !x;
  }
};

}  // namespace pullback::eval::scalar
