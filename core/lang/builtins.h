// Built-in functions that the checker and lowering know by name. Everything else that looks built-in
// is a prelude function, written in the language.
#pragma once

#include <string_view>

namespace pullback::lang {

// X(enum, "name", operands): scalar functions map to one IR op; they broadcast by name.(…).
// clang-format off
#define PB_SCALAR_BUILTINS(X)                                                                    \
  X(Abs, "abs", 1) X(Sign, "sign", 1) X(Floor, "floor", 1) X(Ceil, "ceil", 1)                    \
  X(Round, "round", 1) X(Trunc, "trunc", 1) X(Sqrt, "sqrt", 1) X(Cbrt, "cbrt", 1)                \
  X(Exp, "exp", 1) X(Exp2, "exp2", 1) X(Expm1, "expm1", 1) X(Log, "log", 1) X(Log2, "log2", 1)   \
  X(Log10, "log10", 1) X(Log1p, "log1p", 1) X(Sin, "sin", 1) X(Cos, "cos", 1) X(Tan, "tan", 1)   \
  X(Asin, "asin", 1) X(Acos, "acos", 1) X(Atan, "atan", 1) X(Sinh, "sinh", 1)                    \
  X(Cosh, "cosh", 1) X(Tanh, "tanh", 1) X(Asinh, "asinh", 1) X(Acosh, "acosh", 1)                \
  X(Atanh, "atanh", 1) X(Erf, "erf", 1) X(Pow, "pow", 2) X(Atan2, "atan2", 2)                    \
  X(Hypot, "hypot", 2) X(Rem, "fmod", 2) X(Min, "min", 2) X(Max, "max", 2)
// clang-format on
// min and max take two scalars; the reductions are comprehensions and prelude functions.
// Structural built-ins: select(c, a, b) both sides evaluated, scalars; len(x) = dim(x, 0);
// dim(x, k) k literal; zeros(n, …) f64 array; column(z): [n] -> [n, 1]; transpose(x) = x.T;
// list(a, …), repeat(e, n), push(xs, e), pop(xs) = (list, element), last(xs); box(e), get(b), and
// set(b, e), a statement; the derivative operators (check_derive.cc); related(r, i, …), which the
// checker makes of r(i, …) for a relation r
// clang-format off
#define PB_OTHER_BUILTINS(X) \
  X(Select, "select", 3) X(Len, "len", 1) X(Dim, "dim", 2) X(Zeros, "zeros", -1) \
  X(Column, "column", 1) X(Transpose, "transpose", 1)                                       \
  X(List, "list", -1) X(Repeat, "repeat", 2) X(Push, "push", 2) X(Pop, "pop", 1)            \
  X(Last, "last", 1) X(Box, "box", 1) X(Get, "get", 1) X(Set, "set", 2)                     \
  X(Grad, "grad", 1) X(ValueAndGrad, "value_and_grad", 1) X(Vjp, "vjp", 2) X(Jvp, "jvp", 3) \
  X(Jacobian, "jacobian", 1) X(Hessian, "hessian", 1) X(Checkpoint, "checkpoint", 1)        \
  X(StopGradient, "stop_gradient", 1) X(ScanLinear, "scan_linear", 2)                       \
  X(Related, "related", -1)
// clang-format on

enum class Builtin : int {
#define PB_ENUM(e, n, k) e,
  PB_SCALAR_BUILTINS(PB_ENUM) PB_OTHER_BUILTINS(PB_ENUM)
};

// -1 when there is none of that name.
int FindBuiltin(std::string_view name);
bool IsScalarBuiltin(int builtin);
bool IsListBuiltin(int builtin);  // of lists and boxes
int BuiltinArity(int builtin);    // -1: any
std::string_view BuiltinName(int builtin);

}  // namespace pullback::lang
