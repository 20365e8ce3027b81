#include "tests/support/language_check.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/eval/interpreter.h"
#include "core/ir/verifier.h"
#include "core/lang/lang.h"
#include "core/pipeline/pipeline.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;
using Tensors = std::vector<Tensor>;

// A run that takes longer hangs: every loop of these programs is short.
constexpr int64_t kMaxSteps = 20'000'000;
// Beyond it rounding is larger than what is compared.
constexpr double kLargest = 1e6;

struct Failure {
  std::string text;
};

double Dot(const Tensors& a, const Tensors& b, double* size) {
  double sum = 0;
  if (a.size() != b.size()) throw Failure{"number of derivatives"};
  for (size_t k = 0; k < a.size(); ++k) {
    if (!SameShape(a[k], b[k])) throw Failure{"shape of a derivative"};
    const std::vector<double> x = FloatsOf(a[k]), y = FloatsOf(b[k]);
    for (size_t i = 0; i < x.size(); ++i) {
      sum += x[i] * y[i];
      *size += std::abs(x[i] * y[i]);
    }
  }
  return sum;
}

double Largest(const Tensors& all) {
  double largest = 0;
  for (const Tensor& t : all) {
    for (const double x : FloatsOf(t)) {
      if (std::isnan(x)) return x;
      largest = std::max(largest, std::abs(x));
    }
  }
  return largest;
}

Tensors With(Tensors args, const Tensors& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// f32 is compared less closely, and its differences need wider steps.
struct Tolerances {
  double value = 1e-9, product = 1e-8, residual = 1e-7, difference = 2e-5, step = 1e-6, kink = 50;
};
constexpr Tolerances kNarrow = {1e-3, 2e-3, 2e-3, 2e-2, 1e-2, 1};

// The text with loops that keep every state.
std::string WithoutSnapshots(const std::string& text) {
  const std::string mark = " checkpoint(";
  std::string plain = text;
  for (size_t at = 0; (at = plain.find(mark, at)) != std::string::npos;) {
    size_t end = at + mark.size();
    for (int open = 1; open > 0 && end < plain.size(); ++end)
      open += plain[end] == '(' ? 1 : plain[end] == ')' ? -1 : 0;
    // Not the operator, which is followed by arguments.
    if (plain.compare(end, 2, " {") == 0) {
      plain.erase(at, end - at);
    } else {
      at = end;
    }
  }
  return plain;
}

class Checker {
 public:
  Checker(const LanguageProgram& program, uint32_t seed, const EngineCheck& engines)
      : program_(program),
        args_(program.args),
        engines_(engines),
        rng_(seed),
        tolerance_(program.narrow ? kNarrow : Tolerances()) {}

  LanguageOutcome Check(uint32_t seed) {
    try {
      Lower();
      Modes(true);
      if (seed % 4 == 0) {
        Modes(false);
        outcome_.checked.emplace_back("unoptimised");
      }
      if (seed % 4 == 1 && program_.scalar && program_.levels < 2 && !HasLists(args_))
        SecondOrder(seed % 8 == 1);
      if (seed % 4 == 2 && !dy_.empty()) Requests();
    } catch (const Failure& f) {
      outcome_.failure = f.text;
    }
    return std::move(outcome_);
  }

 private:
  template <typename T>
  static T Ok(StatusOr<T> value, const char* what) {
    if (!value.ok()) throw Failure{std::string(what) + ": " + value.status().ToString()};
    return std::move(value).value();
  }

  // Matrices of derivatives, and products with a Hessian, are of arrays.
  static bool HasLists(const Tensors& all) {
    return std::any_of(all.begin(), all.end(), [](const Tensor& t) { return t.list; });
  }

  ir::Module Lowered(const std::string& text) const {
    lang::Program parsed = Ok(lang::Parse(text), "parse");
    const Status checked = lang::Check(parsed);
    if (!checked.ok()) throw Failure{"check: " + checked.ToString()};
    ir::Module module = Ok(lang::Lower(parsed, program_.entry), "lower");
    const Status valid = ir::Verify(module);
    if (!valid.ok()) throw Failure{"verify: " + valid.ToString()};
    return module;
  }

  void Lower() {
    ssa_ = Lowered(program_.text);
    const ir::Function& entry = ssa_.Get(ssa_.entry);
    for (size_t k = 0; k < args_.size(); ++k) {
      if (ir::CarriesTangent(ssa_, entry.TypeOf(entry.params()[k]))) active_.push_back(k);
    }
    for (size_t k = 0; k < entry.results.size(); ++k) {
      if (ir::CarriesTangent(ssa_, entry.results[k])) derived_.push_back(k);
    }
  }

  // A direction for what carries derivatives, in order.
  Tensors Direction(const Tensors& of, const std::vector<size_t>& which) {
    Tensors out;
    for (size_t k : which) out.push_back(RandomLike(of.at(k), rng_));
    return out;
  }
  Tensors ArgsNear(const Tensors& direction, double h) const {
    Tensors out = args_;
    for (size_t i = 0; i < active_.size(); ++i)
      out[active_[i]] = Moved(out[active_[i]], direction[i], h);
    return out;
  }

  ir::Module Derived(Transform transform, bool optimise) const {
    return Derived(ssa_, transform, optimise);
  }
  ir::Module Derived(const ir::Module& ssa, Transform transform, bool optimise) const {
    pipeline::Options options;
    options.optimise = optimise;
    const std::vector<bool> wrt(args_.size(), true);
    return std::move(
        Ok(pipeline::Derive(ssa, transform, wrt, options), pipeline::TransformName(transform))
            .final);
  }

  void Engines(const ir::Module& module, const Tensors& args, const std::string& what) {
    if (!engines_) return;
    const std::string failure = engines_(module, args);
    if (!failure.empty()) throw Failure{what + ", engines: " + failure};
    outcome_.checked.emplace_back("engines");
  }

  static Tensors Run(const ir::Module& module, const Tensors& args, const char* what) {
    eval::Limits limits;
    limits.max_steps = kMaxSteps;
    const eval::Result r = Ok(eval::Run(module, args, limits), what);
    if (r.trap) throw Failure{std::string(what) + ": trap"};
    return r.values;
  }

  static void Close(double a, double b, double tolerance, const std::string& what) {
    if (std::abs(a - b) <= tolerance) return;
    throw Failure{what + ": " + std::to_string(a) + " against " + std::to_string(b) +
                  ", difference " + std::to_string((a - b) / tolerance) + " times the tolerance"};
  }
  static void Close(const Tensors& a, const Tensors& b, double tolerance, const std::string& what) {
    if (a.size() != b.size()) throw Failure{what + ": number of results"};
    for (size_t k = 0; k < a.size(); ++k) {
      if (!SameShape(a[k], b[k])) throw Failure{what + ": shape"};
      const std::vector<double> x = FloatsOf(a[k]), y = FloatsOf(b[k]);
      for (size_t i = 0; i < x.size(); ++i)
        Close(x[i], y[i], tolerance * (1 + std::abs(x[i])), what);
    }
  }

  void Modes(bool optimise) {
    const std::string where = optimise ? "" : " (unoptimised)";
    const ir::Module plain = Derived(Transform::kValue, optimise);
    const Tensors y = Run(plain, args_, "value");
    Engines(plain, args_, "value" + where);
    if (optimise) {
      values_ = y;
    } else {
      Close(y, values_, tolerance_.value, "unoptimised value");
    }
    if (!(Largest(y) <= kLargest)) {
      if (program_.residual && std::abs(y[0].At<double>(0)) <= kLargest &&
          std::isnan(y[1].At<double>(0)))
        throw Failure{"two modes: not a number" + where};
      return Skip("large or not finite");
    }
    const Tensors dx = Direction(args_, active_), ybar = Direction(y, derived_);
    const ir::Module jvp = Derived(Transform::kJvp, optimise);
    const ir::Module vjp = Derived(Transform::kVjp, optimise);
    const Tensors pushed = Run(jvp, With(args_, dx), "jvp");
    const Tensors pulled = Run(vjp, With(args_, ybar), "vjp");
    Engines(jvp, With(args_, dx), "jvp" + where);
    Engines(vjp, With(args_, ybar), "vjp" + where);
    const auto split = [&](const Tensors& all) {
      if (all.size() < y.size()) throw Failure{"number of results"};
      return std::pair(Tensors(all.begin(), all.begin() + static_cast<long>(y.size())),
                       Tensors(all.begin() + static_cast<long>(y.size()), all.end()));
    };
    const auto [y1, dy] = split(pushed);
    const auto [y2, xbar] = split(pulled);
    Close(y1, y, tolerance_.value, "value of jvp" + where);
    Close(y2, y, tolerance_.value, "value of vjp" + where);
    const double largest = std::max(Largest(dy), Largest(xbar));
    if (!(largest <= kLargest)) return Skip("large or not finite");
    double size = 0;
    const double forward = Dot(ybar, dy, &size), reverse = Dot(xbar, dx, &size);
    Close(forward, reverse, tolerance_.product * (1 + size),
          "<ybar, J dx> = <J^T ybar, dx>" + where);
    outcome_.checked.emplace_back("jvp");
    outcome_.checked.emplace_back("vjp");
    PlainLoops(optimise, With(args_, ybar), pulled);
    if (optimise) Recomputed(With(args_, ybar), pulled, tolerance_.product * (1 + largest));
    if (program_.residual) {
      Close(y[1].At<double>(0), 0, tolerance_.residual * (1 + largest), "two modes" + where);
      if (!Stops())
        Close(dy[1].At<double>(0), 0, tolerance_.residual * (1 + largest), "tangent of 0" + where);
    }
    if (!optimise) return;
    dx_ = dx;
    dy_ = dy;
    Differences(plain, dx, dy);
  }

  // What is pulled back through loops with snapshots is what is pulled back through plain ones, bit for bit.
  // Derivatives of derivatives are of other code, and differ by rounding.
  void PlainLoops(bool optimise, const Tensors& args, const Tensors& pulled) {
    if (!program_.constructs.contains("loop with snapshots") || program_.levels > 0) return;
    const ir::Module plain = Lowered(WithoutSnapshots(program_.text));
    const Tensors expected = Run(Derived(plain, Transform::kVjp, optimise), args, "plain loops");
    if (expected.size() != pulled.size()) throw Failure{"plain loops: number of results"};
    for (size_t k = 0; k < pulled.size(); ++k) {
      if (!SameBits(pulled[k], expected[k]))
        throw Failure{"plain loops give other bits" +
                      std::string(optimise ? "" : " (unoptimised)") + ": result " +
                      std::to_string(k)};
    }
    outcome_.checked.emplace_back("plain loops");
  }

  // What is chosen by the sizes of a run is large: the other choice.
  void Recomputed(const Tensors& args, const Tensors& pulled, double tolerance) {
    pipeline::Options options;
    options.mixed = ad::Mixed::kRecomputed;
    const std::vector<bool> wrt(args_.size(), true);
    const auto staged = Ok(pipeline::Derive(ssa_, Transform::kVjp, wrt, options), "recomputed");
    const Tensors again = Run(staged.final, args, "recomputed");
    if (again.size() != pulled.size()) throw Failure{"recomputed: number of results"};
    for (size_t k = 0; k < pulled.size(); ++k) {
      if (!SameShape(again[k], pulled[k])) throw Failure{"recomputed: shape"};
      const std::vector<double> x = FloatsOf(again[k]), y = FloatsOf(pulled[k]);
      for (size_t i = 0; i < x.size(); ++i) Close(x[i], y[i], tolerance, "recomputed");
    }
    outcome_.checked.emplace_back("recomputed");
  }

  void Skip(const std::string& why) { outcome_.skipped = why; }
  bool Stops() const { return program_.constructs.contains("stop_gradient"); }

  // Central differences at two widths and the two one-sided ones: where they do not agree among
  // themselves there is a kink or too much curvature, and they say nothing.
  void Differences(const ir::Module& plain, const Tensors& dx, const Tensors& dy) {
    if (Stops()) return Skip("stop_gradient");
    const double h = tolerance_.step;
    std::vector<Tensors> at;
    for (const double step : {-2 * h, -h, 0.0, h, 2 * h}) {
      const Tensors all = Run(plain, ArgsNear(dx, step), "value nearby");
      at.emplace_back();
      for (size_t k : derived_) at.back().push_back(all.at(k));
      if (at.back().size() != dy.size()) throw Failure{"number of tangents"};
      if (!(Largest(at.back()) <= kLargest)) return Skip("large or not finite");
    }
    for (size_t k = 0; k < dy.size(); ++k) {
      std::vector<std::vector<double>> y;
      for (const Tensors& all : at) {
        if (!SameShape(all[k], dy[k])) return Skip("another shape nearby");
        y.push_back(FloatsOf(all[k]));
      }
      const std::vector<double> tangent = FloatsOf(dy[k]);
      for (size_t i = 0; i < tangent.size(); ++i) {
        const double narrow = (y[3][i] - y[1][i]) / (2 * h), wide = (y[4][i] - y[0][i]) / (4 * h);
        const double above = (y[3][i] - y[2][i]) / h, below = (y[2][i] - y[1][i]) / h;
        const double d = tangent[i];
        const double tolerance = tolerance_.difference * (1 + std::abs(d) + std::abs(y[2][i]));
        if (!(std::abs(narrow - wide) <= 0.5 * tolerance) ||
            !(std::abs(above - below) <= tolerance_.kink * tolerance)) {
          return Skip("near a kink");
        }
        // A small kink at the very point: the derivative is that of one side.
        const double apart = std::abs(d - narrow);
        if (apart > tolerance && apart <= std::abs(above - below)) return Skip("at a kink");
        Close(d, narrow, tolerance, "jvp against differences");
      }
    }
    outcome_.checked.emplace_back("differences");
  }

  // The Hessian is symmetric.
  void SecondOrder(bool matrix) {
    const ir::Module hvp = Derived(Transform::kHvp, true);
    const Tensors u = Direction(args_, active_), v = Direction(args_, active_);
    const auto times = [&](const Tensors& direction) {
      Tensors all = Run(hvp, With(args_, direction), "hvp");
      all.erase(all.begin());
      return all;
    };
    const Tensors hu = times(u), hv = times(v);
    if (!(std::max(Largest(hu), Largest(hv)) <= kLargest)) return;
    double size = 0;
    const double left = Dot(hu, v, &size), right = Dot(hv, u, &size);
    // Behind a stop_gradient it need not be.
    if (!Stops()) Close(left, right, tolerance_.product * (1 + size), "the Hessian is symmetric");
    outcome_.checked.emplace_back("hvp");
    if (!Stops()) GradientDifferences(u, hu);
    if (matrix) Matrix(Transform::kHessian, u, hu);
  }

  // Products with the Hessian against differences of the gradient, where two widths agree.
  void GradientDifferences(const Tensors& direction, const Tensors& product) {
    const ir::Module gradient = Derived(Transform::kValueAndGrad, true);
    const auto difference = [&](double h) {
      std::vector<std::vector<double>> out;
      const Tensors above = Run(gradient, ArgsNear(direction, h), "gradient nearby");
      const Tensors below = Run(gradient, ArgsNear(direction, -h), "gradient nearby");
      for (size_t k = 1; k < above.size(); ++k) {
        std::vector<double> d = FloatsOf(above[k]);
        const std::vector<double> y = FloatsOf(below[k]);
        for (size_t i = 0; i < d.size(); ++i) d[i] = (d[i] - y[i]) / (2 * h);
        out.push_back(std::move(d));
      }
      return out;
    };
    const auto narrow = difference(tolerance_.step), wide = difference(2 * tolerance_.step);
    for (size_t k = 0; k < product.size(); ++k) {
      const std::vector<double> expected = FloatsOf(product[k]);
      for (size_t i = 0; i < expected.size(); ++i) {
        const double tolerance = 10 * tolerance_.difference * (1 + std::abs(expected[i]));
        if (!(std::abs(narrow.at(k).at(i) - wide.at(k).at(i)) <= 0.2 * tolerance)) continue;
        Close(expected[i], narrow[k][i], tolerance, "hvp against differences");
      }
    }
  }

  // A gradient, and a matrix of derivatives, times a direction is the tangent.
  void Requests() {
    if (program_.scalar) {
      Tensors all = Run(Derived(Transform::kValueAndGrad, true), args_, "value_and_grad");
      all.erase(all.begin());
      double size = 0;
      const double along = Dot(all, dx_, &size);
      Close(along, FloatsOf(dy_[0])[0], tolerance_.product * (1 + size), "value_and_grad");
    }
    if (!HasLists(args_) && !HasLists(values_)) Matrix(Transform::kJacobian, dx_, dy_);
  }

  void Matrix(Transform transform, const Tensors& direction, const Tensors& product) {
    const std::string what = pipeline::TransformName(transform);
    const ir::Module matrix = Derived(transform, true);
    const Tensors all = Run(matrix, args_, what.c_str());
    Engines(matrix, args_, what);
    size_t next = all.size() - direction.size() * product.size();
    for (const Tensor& row : product) {
      const std::vector<double> expected = FloatsOf(row);
      std::vector<double> sums(expected.size()), sizes(expected.size());
      for (const Tensor& column : direction) {
        const std::vector<double> block = FloatsOf(all.at(next++)), by = FloatsOf(column);
        if (block.size() != expected.size() * by.size()) throw Failure{what + ": size of a block"};
        for (size_t k = 0; k < block.size(); ++k) {
          sums[k / by.size()] += block[k] * by[k % by.size()];
          sizes[k / by.size()] += std::abs(block[k] * by[k % by.size()]);
        }
      }
      for (size_t k = 0; k < sums.size(); ++k)
        Close(sums[k], expected[k], tolerance_.product * (1 + sizes[k]), what);
    }
    outcome_.checked.emplace_back("matrix");
  }

  const LanguageProgram& program_;
  const Tensors args_;
  const EngineCheck& engines_;
  std::mt19937 rng_;
  const Tolerances tolerance_;
  ir::Module ssa_;
  std::vector<size_t> active_, derived_;  // parameters and results that carry derivatives
  Tensors values_, dx_, dy_;
  LanguageOutcome outcome_;
};

}  // namespace

LanguageOutcome CheckLanguageProgram(const LanguageProgram& program, uint32_t seed,
                                     const EngineCheck& engines) {
  return Checker(program, seed, engines).Check(seed);
}

}  // namespace pullback::testing
