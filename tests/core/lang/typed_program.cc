#include "tests/core/lang/typed_program.h"

#include <random>
#include <vector>

namespace pullback::lang {
namespace {

// What every program may call: a scalar function with control flow, one with a loop, a
// straight-line one of arrays, one with a loop over an array, and one that gives an array.
constexpr const char* kHelpers = R"(
fn bend(x: f64) -> f64 { if x > 1.0 { return 2.0 - x }  return x + 1.0 }
fn steps(x: f64, k: i64) -> f64 {
  var s = x
  for i < k % 3 { s = s + 1.0; if s > 4.0 { break } }
  return s
}
fn inner(u: [q]f64, v: [q]f64) -> f64 { let w = 2.0; return sum t < q { u[t] * v[t] } - w }
fn last(u: [q]f64) -> f64 { var s = 0.0; for t < q { s = u[t] - s } return s }
fn shift(u: [q]f64, d: f64) -> [q]f64 { return gen t < q { u[t] + d } }
fn running(u: [q]f64) -> [q]f64 { var v = u; for t in 1..q { v[t] = v[t - 1] + u[t] } return v }
)";

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Run() {
    std::string body;
    for (int i = Below(3); i > 0; --i) body += "  " + Statement() + "\n";
    const int kind = Below(3), depth = 3 + Below(3);
    const std::string result = kind == 0 ? "f64" : kind == 1 ? "[n]f64" : "[n, m]f64";
    const std::string value = kind == 0   ? Float(depth)
                              : kind == 1 ? Vector("n", depth)
                                          : Matrix(depth);
    return std::string(kHelpers) +
           "fn f(x: [n]f64, y: [m]f64, a: [n, m]f64, k: [n]i64, c: f64, p: i64) -> " + result +
           " {\n" + body + "  return " + value + "\n}\n";
  }

 private:
  struct Index {
    std::string name;
    std::string size;  // it is below this
  };

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }
  std::string Pick(const std::vector<std::string>& v) {
    return v[static_cast<size_t>(Below(static_cast<int>(v.size())))];
  }
  std::string Fresh(const char* stem) { return stem + std::to_string(names_++); }
  std::string Size() { return Pick({"n", "m"}); }

  // --- statements and blocks
  std::string Statement() {
    const size_t indices = indices_.size();
    std::string out;
    const std::string name = Fresh("v");
    switch (Below(4)) {
      case 0: out = "let " + name + " = " + Float(3); break;
      case 1: {
        const std::string size = Size();
        out = "let " + name + " = " + Vector(size, 3);
        vectors_.push_back({name, size});
        return out;
      }
      case 2: {
        const std::string i = Fresh("i");
        out = "var " + name + " = " + Float(2) + "; for " + i + " < n { ";
        indices_.push_back({i, "n"});
        if (OneIn(2)) out += "if " + Bool(2) + " { " + Pick({"continue", "break"}) + " }  ";
        out += name + " += " + Float(2) + " }";
        break;
      }
      default: {
        out = "var " + name + " = " + Float(2) + "; if " + Bool(2) + " { " + name + " = " +
              Float(2) + " }";
        break;
      }
    }
    indices_.resize(indices);
    floats_.push_back(name);
    return out;
  }

  // `{ lets value }` in scopes of their own.
  template <typename Value>
  std::string Block(int depth, Value value) {
    const size_t floats = floats_.size(), vectors = vectors_.size();
    std::string out = "{ ";
    while (OneIn(3)) {
      const std::string name = Fresh("v");
      if (OneIn(8)) {
        const std::string j = Fresh("j");
        out += "var " + name + " = 0.0; for " + j + " < 2 { " + name + " += " + Float(depth - 2) +
               " }; ";
        floats_.push_back(name);
      } else if (OneIn(4)) {
        const std::string size = Size();
        out += "let " + name + " = " + Vector(size, depth - 1) + "; ";
        vectors_.push_back({name, size});
      } else {
        out += "let " + name + " = " + Float(depth - 1) + "; ";
        floats_.push_back(name);
      }
    }
    out += value() + " }";
    floats_.resize(floats);
    vectors_.resize(vectors);
    return out;
  }

  // --- expressions
  std::string Reduction(int depth) {
    const size_t indices = indices_.size();
    std::string out = Pick({"sum", "sum", "sum", "prod", "max"});
    int count = 1 + Below(2);
    for (int i = 0; i < count; ++i) {
      const std::string name = Fresh("i"), size = Size();
      out += (i == 0 ? " " : ", ") + name;
      out += OneIn(4) && !indices_.empty() ? " < " + indices_.back().name + " + " + Pick({"0", "1"})
             : OneIn(5)                    ? " in 0.." + size
                                           : " < " + size;
      indices_.push_back({name, size});
    }
    out += " " + Block(depth, [&] { return Float(depth); });
    indices_.resize(indices);
    return "(" + out + ")";
  }

  // One index over `size`, then what `body` makes in its scope.
  template <typename Body>
  std::string Indexed(const std::string& word, const std::string& size, Body body) {
    const size_t indices = indices_.size();
    const std::string i = Fresh("i");
    indices_.push_back({i, size});
    const std::string out = "(" + word + " " + i + " < " + size + body() + ")";
    indices_.resize(indices);
    return out;
  }

  std::string Argument(int depth) {
    const auto value = [&] { return " " + Block(depth, [&] { return Float(depth); }); };
    if (OneIn(2)) return Indexed(Pick({"argmax", "argmin"}), Size(), value);
    const std::string rest = ", " + Fresh("i") + " in 1.." + Pick({"3", "n + 1"});
    return Indexed(Pick({"argmax", "argmin"}), Size(), [&] { return rest + value(); }) +
           Pick({".0", ".1"});
  }

  std::string Quantified(int depth) {
    if (OneIn(2)) return Indexed("exists", Size(), [&] { return ": " + Bool(depth); });
    return Indexed(Pick({"and", "or"}), Size(), [&] { return " { " + Bool(depth) + " }"; });
  }

  std::string Scan(const std::string& size, int depth) {
    return Indexed(Pick({"scan ", "exscan "}) + Pick({"sum", "sum", "prod", "max", "min"}), size,
                   [&] { return " " + Block(depth, [&] { return Float(depth); }); });
  }

  std::string Read(int depth) {
    const std::string size = Size();
    if (OneIn(3)) return "a[" + Subscript("n", depth) + ", " + Subscript("m", depth) + "]";
    return VectorName(size) + "[" + Subscript(size, depth) + "]";
  }

  // Mostly inside.
  std::string Subscript(const std::string& size, int depth) {
    std::vector<std::string> fitting;
    for (const Index& i : indices_) {
      if (i.size == size) fitting.push_back(i.name);
    }
    if (!fitting.empty() && !OneIn(8)) return Pick(fitting);
    if (size == "n" && OneIn(3)) return "k[" + Subscript("n", 0) + "]";
    return OneIn(6) ? Int(depth - 1) : "0";
  }

  std::string Float(int depth) {
    if (depth <= 0) {
      if (OneIn(3)) return Pick({"0.0", "1.0", "2.0", "c"});
      if (OneIn(2) && !floats_.empty()) return Pick(floats_);
      return Read(0);
    }
    switch (Below(14)) {
      case 0:
      case 1: return "(" + Float(depth - 1) + Pick({" + ", " - ", " * "}) + Float(depth - 1) + ")";
      case 2: return "-" + Float(depth - 1);
      case 3: return "([" + Bool(depth - 1) + "] * " + Float(depth - 1) + Divided(depth) + ")";
      case 4:
        return "(" + Float(depth - 1) + " * [" + Bool(depth - 1) + "] * " + Float(depth - 2) + ")";
      case 5: {
        const std::string condition = Bool(depth - 1);
        const std::string yes = Block(depth - 1, [&] { return Float(depth - 1); });
        return "(if " + condition + " " + yes + " else " +
               Block(depth - 1, [&] { return Float(depth - 1); }) + ")";
      }
      case 6:
      case 7: return Reduction(depth - 1);
      case 8: return "bend(" + Float(depth - 1) + ")";
      case 9: return "steps(" + Float(depth - 1) + ", " + Int(depth - 1) + ")";
      case 10: return "f64(" + Int(depth - 1) + ")";
      case 11: {
        const std::string size = Size();
        if (OneIn(3)) return Pick({"sum(", "max(", "last("}) + Vector(size, depth - 1) + ")";
        return "inner(" + Vector(size, depth - 1) + ", " + Vector(size, depth - 1) + ")";
      }
      case 12: {
        const std::string size = Size();
        return "(" + Vector(size, depth - 1) + " @ " + Vector(size, depth - 1) + ")";
      }
      default: return Read(depth - 1);
    }
  }

  // What may stand behind a product, so that sums of small numbers stay exact.
  std::string Divided(int depth) {
    if (!OneIn(3)) return "";
    if (OneIn(3)) return " / (" + Float(depth - 2) + " * [" + Bool(depth - 1) + "])";
    return Pick({" / 2.0", " / -0.5", " / 0.25 * c"});
  }

  std::string Int(int depth) {
    if (depth <= 0 || OneIn(3)) {
      if (!indices_.empty() && !OneIn(3))
        return indices_[static_cast<size_t>(Below(static_cast<int>(indices_.size())))].name;
      return Pick({"0", "1", "2", "n", "m", "p", "len(y)"});
    }
    if (OneIn(4)) return "k[" + Subscript("n", depth - 1) + "]";
    if (OneIn(4)) return Argument(depth - 2);
    if (OneIn(8)) {
      const std::string divisor = Int(depth - 2);
      return "([" + divisor + " != 0] * " + Int(depth - 2) + " / " + divisor + ")";
    }
    return "(" + Int(depth - 1) + Pick({" + ", " - ", " * "}) + Int(depth - 1) + ")";
  }

  std::string Bool(int depth) {
    if (depth > 0 && OneIn(3)) {
      return "(" + Bool(depth - 1) + Pick({" and ", " or "}) + Bool(depth - 1) + ")";
    }
    if (depth > 0 && OneIn(6)) return "not (" + Bool(depth - 1) + ")";
    if (depth > 1 && OneIn(5)) return Quantified(depth - 2);
    const std::string op = Pick({" < ", " <= ", " == ", " != ", " >= "});
    if (OneIn(2)) return Int(depth - 1) + op + Int(depth - 1);
    return Float(depth - 1) + op + Float(depth - 2);
  }

  std::string VectorName(const std::string& size) {
    std::vector<std::string> fitting = {size == "n" ? "x" : "y"};
    for (const Index& v : vectors_) {
      if (v.size == size) fitting.push_back(v.name);
    }
    return Pick(fitting);
  }

  std::string Generated(const std::vector<std::string>& sizes, int depth) {
    const size_t indices = indices_.size();
    std::string out = "gen";
    for (const std::string& size : sizes) {
      const std::string name = Fresh("i");
      out += (indices_.size() == indices ? " " : ", ") + name + " < " + size;
      indices_.push_back({name, size});
    }
    out += " " + Block(depth, [&] { return Float(depth); });
    indices_.resize(indices);
    return "(" + out + ")";
  }

  std::string Vector(const std::string& size, int depth) {
    if (depth <= 0) return VectorName(size);
    switch (Below(13)) {
      case 0:
      case 1:
      case 2: return Generated({size}, depth - 1);
      case 10: return Scan(size, depth - 1);
      case 11: return size == "n" ? "x[k]" : "a[" + Subscript("n", 0) + "]";
      case 3:
        return "(" + Vector(size, depth - 1) + Pick({" + ", " * "}) + Vector(size, depth - 1) + ")";
      case 4: return "(" + Float(depth - 1) + " - " + Vector(size, depth - 1) + ")";
      case 5:
        return size == "m" ? "a[" + Subscript("n", 0) + ", :]" : "a[:, " + Subscript("m", 0) + "]";
      case 6:
        return size == "n" ? "(" + Matrix(depth - 1) + " @ " + Vector("m", depth - 1) + ")"
                           : "(" + Vector("n", depth - 1) + " @ " + Matrix(depth - 1) + ")";
      case 7: return "bend.(" + Vector(size, depth - 1) + ")";
      case 8: return "shift(" + Vector(size, depth - 1) + ", " + Float(depth - 1) + ")";
      case 9: return "running(" + Vector(size, depth - 1) + ")";
      default: {
        const size_t indices = indices_.size();
        const std::string i = Fresh("i"), other = Size();
        indices_.push_back({i, other});
        const std::string out = "(" + Pick({"sum ", "sum ", "prod ", "max "}) + i + " < " + other +
                                " " + Block(depth - 1, [&] { return Vector(size, depth - 1); }) +
                                ")";
        indices_.resize(indices);
        return out;
      }
    }
  }

  std::string Matrix(int depth) {
    if (depth <= 0) return "a";
    switch (Below(7)) {
      case 0: return Generated({"n", "m"}, depth - 1);
      case 5:
        return Indexed(Pick({"scan ", "exscan "}) + Pick({"sum", "max"}), "n", [&] {
          return " " + Block(depth - 1, [&] { return Vector("m", depth - 1); });
        });
      case 1: {
        const std::string i = Fresh("i");
        const size_t indices = indices_.size();
        indices_.push_back({i, "n"});
        const std::string out =
            "(gen " + i + " < n " + Block(depth - 1, [&] { return Vector("m", depth - 1); }) + ")";
        indices_.resize(indices);
        return out;
      }
      case 2: return "(" + Matrix(depth - 1) + Pick({" + ", " * "}) + Vector("m", depth - 1) + ")";
      case 3: return "(column(" + Vector("n", depth - 1) + ") * " + Vector("m", depth - 1) + ")";
      case 4: return "([" + Bool(depth - 1) + "] * " + Matrix(depth - 1) + Divided(depth) + ")";
      default: return "bend.(a)";
    }
  }

  std::mt19937_64 random_;
  int names_ = 0;
  std::vector<Index> indices_;
  std::vector<Index> vectors_;
  std::vector<std::string> floats_;
};

}  // namespace

std::string TypedProgram(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace pullback::lang
