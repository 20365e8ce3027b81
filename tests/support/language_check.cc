#include "tests/support/language_check.h"

#include <cmath>
#include <random>

#include "core/eval/interpreter.h"
#include "core/ir/verifier.h"
#include "core/lang/lang.h"
#include "core/pipeline/pipeline.h"

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

bool IsFloat(const Tensor& t) { return t.dtype == DType::kF64; }

Tensors Floats(const Tensors& all) {
  Tensors out;
  for (const Tensor& t : all) {
    if (IsFloat(t)) out.push_back(t);
  }
  return out;
}

double Dot(const Tensors& a, const Tensors& b, double* size) {
  double sum = 0;
  if (a.size() != b.size()) throw Failure{"number of derivatives"};
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].shape != b[k].shape) throw Failure{"shape of a derivative"};
    for (int64_t i = 0; i < a[k].ElementCount(); ++i) {
      const double term = a[k].At<double>(i) * b[k].At<double>(i);
      sum += term;
      *size += std::abs(term);
    }
  }
  return sum;
}

double Largest(const Tensors& all) {
  double largest = 0;
  for (const Tensor& t : all) {
    for (int64_t i = 0; IsFloat(t) && i < t.ElementCount(); ++i) {
      const double x = std::abs(t.At<double>(i));
      if (!(x <= largest)) largest = x;
      if (std::isnan(x)) return x;
    }
  }
  return largest;
}

Tensors Random(const Tensors& like, std::mt19937& rng) {
  std::uniform_real_distribution<double> d(-1, 1);
  Tensors out;
  for (const Tensor& t : Floats(like)) {
    std::vector<double> v(static_cast<size_t>(t.ElementCount()));
    for (double& x : v) x = d(rng);
    out.push_back(Tensor::Of<double>(DType::kF64, t.shape, v));
  }
  return out;
}

Tensors Moved(const Tensors& at, const Tensors& direction, double h) {
  Tensors out = at;
  size_t k = 0;
  for (Tensor& t : out) {
    if (!IsFloat(t)) continue;
    const Tensor& d = direction[k++];
    for (int64_t i = 0; i < t.ElementCount(); ++i) {
      const double x = t.At<double>(i) + h * d.At<double>(i);
      std::memcpy(t.data.data() + i * 8, &x, 8);
    }
  }
  return out;
}

Tensors With(Tensors args, const Tensors& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

class Checker {
 public:
  Checker(const LanguageProgram& program, uint32_t seed)
      : program_(program), args_(program.args), rng_(seed) {}

  LanguageOutcome Check(uint32_t seed) {
    try {
      Lower();
      Modes(true);
      if (seed % 4 == 0) {
        Modes(false);
        outcome_.checked.emplace_back("unoptimised");
      }
      if (seed % 4 == 1 && program_.scalar && program_.levels < 2) SecondOrder();
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

  void Lower() {
    lang::Program parsed = Ok(lang::Parse(program_.text), "parse");
    const Status checked = lang::Check(parsed);
    if (!checked.ok()) throw Failure{"check: " + checked.ToString()};
    ssa_ = Ok(lang::Lower(parsed, program_.entry), "lower");
    const Status valid = ir::Verify(ssa_);
    if (!valid.ok()) throw Failure{"verify: " + valid.ToString()};
  }

  ir::Module Derived(Transform transform, bool optimise) const {
    pipeline::Options options;
    options.optimise = optimise;
    const std::vector<bool> wrt(args_.size(), true);
    return std::move(
        Ok(pipeline::Derive(ssa_, transform, wrt, options), pipeline::TransformName(transform))
            .final);
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
      if (a[k].shape != b[k].shape) throw Failure{what + ": shape"};
      for (int64_t i = 0; IsFloat(a[k]) && i < a[k].ElementCount(); ++i) {
        const double x = a[k].At<double>(i), y = b[k].At<double>(i);
        Close(x, y, tolerance * (1 + std::abs(x)), what);
      }
    }
  }

  void Modes(bool optimise) {
    const ir::Module plain = Derived(Transform::kValue, optimise);
    const Tensors y = Run(plain, args_, "value");
    if (optimise) {
      values_ = y;
    } else {
      Close(y, values_, 1e-9, "unoptimised value");
    }
    if (!(Largest(y) <= kLargest)) return Skip("large or not finite");
    const std::string where = optimise ? "" : " (unoptimised)";
    const Tensors dx = Random(args_, rng_), ybar = Random(y, rng_);
    const Tensors pushed = Run(Derived(Transform::kJvp, optimise), With(args_, dx), "jvp");
    const Tensors pulled = Run(Derived(Transform::kVjp, optimise), With(args_, ybar), "vjp");
    const auto split = [&](const Tensors& all) {
      if (all.size() < y.size()) throw Failure{"number of results"};
      return std::pair(Tensors(all.begin(), all.begin() + static_cast<long>(y.size())),
                       Tensors(all.begin() + static_cast<long>(y.size()), all.end()));
    };
    const auto [y1, dy] = split(pushed);
    const auto [y2, xbar] = split(pulled);
    Close(y1, y, 1e-9, "value of jvp" + where);
    Close(y2, y, 1e-9, "value of vjp" + where);
    const double largest = std::max(Largest(dy), Largest(xbar));
    if (!(largest <= kLargest)) return Skip("large or not finite");
    double size = 0;
    const double forward = Dot(ybar, dy, &size), reverse = Dot(xbar, dx, &size);
    Close(forward, reverse, 1e-8 * (1 + size), "<ybar, J dx> = <J^T ybar, dx>" + where);
    outcome_.checked.emplace_back("jvp");
    outcome_.checked.emplace_back("vjp");
    if (program_.residual) Close(y[1].At<double>(0), 0, 1e-7 * (1 + largest), "two modes" + where);
    if (optimise) Differences(plain, dx, dy);
  }

  void Skip(const std::string& why) { outcome_.skipped = why; }

  // Central differences at two widths and the two one-sided ones: where they do not agree among
  // themselves there is a kink or too much curvature, and they say nothing.
  void Differences(const ir::Module& plain, const Tensors& dx, const Tensors& dy) {
    if (program_.constructs.contains("stop_gradient")) return Skip("stop_gradient");
    constexpr double h = 1e-6;
    std::vector<Tensors> at;
    for (const double step : {-2 * h, -h, 0.0, h, 2 * h}) {
      at.push_back(Floats(Run(plain, Moved(args_, dx, step), "value nearby")));
      if (at.back().size() != dy.size()) throw Failure{"number of tangents"};
      if (!(Largest(at.back()) <= kLargest)) return Skip("large or not finite");
    }
    for (size_t k = 0; k < dy.size(); ++k) {
      for (const Tensors& y : at) {
        if (y[k].shape != dy[k].shape) throw Failure{"shape of a tangent"};
      }
      for (int64_t i = 0; i < dy[k].ElementCount(); ++i) {
        const auto y = [&](size_t j) { return at[j][k].At<double>(i); };
        const double narrow = (y(3) - y(1)) / (2 * h), wide = (y(4) - y(0)) / (4 * h);
        const double above = (y(3) - y(2)) / h, below = (y(2) - y(1)) / h;
        const double d = dy[k].At<double>(i);
        const double tolerance = 2e-5 * (1 + std::abs(d) + std::abs(y(2)));
        if (!(std::abs(narrow - wide) <= 0.5 * tolerance) ||
            !(std::abs(above - below) <= 50 * tolerance)) {
          return Skip("near a kink");
        }
        Close(d, narrow, tolerance, "jvp against differences");
      }
    }
    outcome_.checked.emplace_back("differences");
  }

  // The Hessian is symmetric.
  void SecondOrder() {
    const ir::Module hvp = Derived(Transform::kHvp, true);
    const Tensors u = Random(args_, rng_), v = Random(args_, rng_);
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
    if (!program_.constructs.contains("stop_gradient"))
      Close(left, right, 1e-8 * (1 + size), "the Hessian is symmetric");
    outcome_.checked.emplace_back("hvp");
  }

  const LanguageProgram& program_;
  const Tensors args_;
  std::mt19937 rng_;
  ir::Module ssa_;
  Tensors values_;
  LanguageOutcome outcome_;
};

}  // namespace

LanguageOutcome CheckLanguageProgram(const LanguageProgram& program, uint32_t seed) {
  return Checker(program, seed).Check(seed);
}

}  // namespace pullback::testing
