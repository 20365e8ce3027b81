#include "tests/support/atl_generator.h"

#include <random>
#include <sstream>

namespace pullback::testing {
namespace {

using Names = std::vector<std::string>;

constexpr char kBlackBoxes[] = R"(
fn smooth(x: f64) -> f64 { return sin(x) * x }
fn pair(x: f64, y: f64) -> f64 { return x * cos(y) + 0.5 * y }
fn both(x: f64, y: f64) -> (f64, f64) { return (x * y + x, sin(x) - y) }
)";

class Writer {
 public:
  Writer(uint32_t seed, Coverage& coverage) : rng_(seed * 2654435761u + 5), coverage_(coverage) {}

  GeneratedProgram Write() {
    const int n = 2 + Pick(4);
    out_ << kBlackBoxes
         << "fn f(x: f64, a: [n]f64, b: [n]f64, m: [n, n]f64, t: (f64, [n]f64)) -> (f64, [n]f64) "
            "{\n";
    scalars_ = {"x", "t.0"};
    vectors_ = {"a", "b", "t.1"};
    matrices_ = {"m"};
    for (int k = 2 + Pick(4); k > 0; --k) Statement();
    out_ << "  return (" << Total() << ", " << vectors_.back() << ")\n}\n";
    GeneratedProgram p;
    p.text = out_.str();
    p.args = {Tensor::F64(Number()), Array({n}), Array({n}), Array({n, n}),
              Tensor::F64(Number()), Array({n})};
    return p;
  }

 private:
  int Pick(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  bool Chance(int percent) { return Pick(100) < percent; }
  const std::string& One(const Names& list) {
    return list[static_cast<size_t>(Pick(static_cast<int>(list.size())))];
  }
  std::string Fresh(const char* prefix) { return prefix + std::to_string(next_++); }
  std::string Counted(const char* what, std::string text) {
    ++coverage_[what];
    return text;
  }
  double Number() { return 0.05 + 0.013 * Pick(100); }
  Tensor Array(std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    std::vector<double> v;
    for (int64_t i = 0; i < count; ++i) v.push_back(Number() - 0.6);
    return Tensor::Of<double>(DType::kF64, std::move(shape), v);
  }

  // --- expressions of a body; `index_` are the indices around it, `lets_` the scalars bound in it

  std::string Element() {
    const std::string& i = One(index_);
    switch (Pick(5)) {
      case 0: return One(matrices_) + "[" + i + ", " + One(index_) + "]";
      case 1: return Counted("reversed", One(vectors_) + "[n - 1 - " + i + "]");
      case 2:
        return Counted("[p] guards an access",
                       "[2 * " + i + " + 1 < n] * " + One(vectors_) + "[2 * " + i + " + 1]");
      default: return One(vectors_) + "[" + i + "]";
    }
  }

  std::string Leaf() {
    if (!lets_.empty() && Chance(45)) return One(lets_);
    if (Chance(10)) return Counted("constant", "0." + std::to_string(1 + Pick(9)));
    if (Chance(15)) return One(scalars_);
    return Element();
  }

  std::string Affine() { return One(index_) + (Chance(30) ? " + " + One(index_) : ""); }

  std::string Predicate() {
    const std::string& i = One(index_);
    switch (Pick(8)) {
      case 0: return Counted("<", i + " < " + One(index_) + " + 1");
      case 1: return Counted("<=", "2 <= " + Affine());
      case 2: return Counted("=", i + " == " + One(index_));
      case 3: return Counted("k·a", "2 * " + i + " == " + Affine());
      case 4: return Counted("or", "(" + i + " == 0 or " + One(index_) + " < 2)");
      case 5: return Counted("not", "not (" + i + " == 1)");
      case 6: {
        const std::string e = Fresh("e");
        return Counted("exists", "(exists " + e + " < n: 2 * " + e + " == " + i + ")");
      }
      default: return Counted("and", i + " <= n - 2 and " + One(index_) + " >= 1");
    }
  }

  std::string Expression(int depth) {
    if (depth == 0) return Leaf();
    const auto next = [&] { return Expression(depth - 1); };
    switch (Pick(13)) {
      case 0:
      case 1: return Counted("+", "(" + next() + " + " + next() + ")");
      case 2:
      case 3: return Counted("*", "(" + next() + " * " + next() + ")");
      case 4: return Counted("-", "(" + next() + " - " + next() + ")");
      case 5: return Counted("f", "smooth(" + next() + ")");
      case 6: return Counted("f", "pair(" + next() + ", " + next() + ")");
      case 7: return Counted("[p]", "([" + Predicate() + "] * " + next() + ")");
      case 8:
        return "([" + Predicate() + "] * " + next() + " + [" + Predicate() + "] * " + next() + ")";
      case 9: return depth > 1 ? Nested("sum") : Leaf();
      case 10: return depth > 1 ? AccessOfGen() : Leaf();
      case 11: return Counted("neg", "(-" + next() + ")");
      default: return Leaf();
    }
  }

  // Runs `body` with one more index.
  template <typename Fn>
  std::string Under(const std::string& index, Fn&& body) {
    const Names index_before = index_, lets_before = lets_;
    index_.push_back(index);
    const std::string text = body();
    index_ = index_before;
    lets_ = lets_before;
    return text;
  }

  std::string Nested(const std::string& what) {
    if (index_.size() > 2) return Leaf();
    const std::string i = Fresh("i");
    return Counted("sum in a body",
                   "(" + what + " " + i + " < n { " + Under(i, [&] { return Body(1); }) + " })");
  }

  std::string AccessOfGen() {
    if (index_.size() > 2) return Leaf();
    const std::string i = Fresh("i");
    const std::string at = Chance(50) ? One(index_) : "n - 1 - " + One(index_);
    return Counted("(gen e)[a]", "(gen " + i + " < n { " + Under(i, [&] { return Expression(1); }) +
                                     " })[" + at + "]");
  }

  // Lets, then an expression.
  std::string Body(int depth) {
    const Names before = lets_;
    std::string text;
    for (int k = Pick(3); k > 0; --k) {
      const std::string name = Fresh("l");
      if (Chance(25)) {
        const std::string other = Fresh("l");
        text += "let (" + name + ", " + other + ") = both(" + Leaf() + ", " + Leaf() + "); ";
        ++coverage_["let of a pair"];
        lets_.push_back(other);
      } else {
        text += "let " + name + " = " + Expression(depth) + "; ";
        ++coverage_["let in a body"];
      }
      lets_.push_back(name);
    }
    text += Expression(depth);
    lets_ = before;
    return text;
  }

  // --- statements

  void Line(const std::string& text) { out_ << "  " << text << "\n"; }

  void Gen(int rank) {
    const std::string name = Fresh(rank == 1 ? "v" : "q");
    index_ = {"i", "j"};
    index_.resize(static_cast<size_t>(rank));
    std::string text = "gen i < n" + std::string(rank == 2 ? ", j < n" : "") + " { ";
    if (Chance(25) && rank == 1) {
      text += Counted("gen of sum", "sum j < n { " + Under("j", [&] { return Body(2); }) + " }");
    } else {
      text += Body(2);
    }
    index_.clear();
    Line("let " + name + " = " + text + " }");
    (rank == 1 ? vectors_ : matrices_).push_back(name);
  }

  void Statement() {
    switch (Pick(9)) {
      case 0: {
        index_ = {"i", "j"};
        const std::string name = Fresh("s");
        Line("let " + name + " = sum i < n, j < n { " + Body(2) + " }");
        index_.clear();
        ++coverage_["sum"];
        return scalars_.push_back(name);
      }
      case 1: {
        const std::string x = Fresh("v"), y = Fresh("v");
        Line("let (" + x + ", " + y + ") = both.(" + One(vectors_) + ", " + One(vectors_) + ")");
        ++coverage_["gen of a pair"];
        vectors_.push_back(x);
        return vectors_.push_back(y);
      }
      case 2: {
        const std::string name = Fresh("q");
        Line("let " + name + " = gen i < n, j < n { [i == j] * " + One(vectors_) + "[i] }");
        ++coverage_["diagonal"];
        return matrices_.push_back(name);
      }
      case 3: {
        const std::string name = Fresh("v");
        Line("let " + name + " = gen i < n { " + One(vectors_) + "[i] }");
        ++coverage_["copy"];
        return vectors_.push_back(name);
      }
      case 4:
      case 5: return Gen(2);
      default: return Gen(1);
    }
  }

  std::string Total() {
    std::string text = scalars_.back();
    text += " + (sum i < n { " + vectors_.back() + "[i] * " + One(vectors_) + "[i] })";
    text += " + (sum i < n, j < n { " + matrices_.back() + "[i, j] })";
    return text;
  }

  std::mt19937 rng_;
  Coverage& coverage_;
  std::ostringstream out_;
  int next_ = 0;
  Names scalars_, vectors_, matrices_, index_, lets_;
};

}  // namespace

GeneratedProgram GenerateAtlProgram(uint32_t seed, Coverage* coverage) {
  return Writer(seed, *coverage).Write();
}

}  // namespace pullback::testing
