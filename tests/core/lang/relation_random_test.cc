// Random conditions with relations: statements over tuples give what loops over all pairs give. They trap only where
// those do. (They may not look at all conditions that the loops look at: [x[k[j]] > 0.5 and r(i, j)].)
#include <catch2/catch.hpp>

#include <random>

#include "core/base/relation.h"
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

using Random = std::mt19937;

std::string Pick(Random& random, const std::vector<std::string>& from) {
  return from[random() % from.size()];
}

const std::vector<std::string>& Pairs() {
  static const std::vector<std::string> atoms = {"r(i, j)",
                                                 "r(i, j)",
                                                 "r(j, i)",
                                                 "s(i, j)",
                                                 "s(k[i], j)",
                                                 "r(k[k[i]], j)",
                                                 "r(i, k[j])",
                                                 "s(k[j], i)",
                                                 "r(i + c, j)",
                                                 "r(i / c, j)",
                                                 "s(2 * i - 1, j)",
                                                 "r(i % 3, j + 1)",
                                                 "r(p[i], j)",
                                                 "s(p[k[i]], j)",
                                                 "i == j",
                                                 "j < c",
                                                 "i < 3",
                                                 "j == k[i]",
                                                 "x[j] > 0.5",
                                                 "x[i] > x[j]",
                                                 "not r(j, i)",
                                                 "k[i] < 4",
                                                 "r(k[c], j)",
                                                 "s(i, c)",
                                                 "not s(i, j)",
                                                 "r(c, c)",
                                                 "r(i64(2.5 * x[i]), j)",
                                                 "s(half(i), j)",
                                                 "r(i, half(j + c))",
                                                 "s(over(i, c), j)",
                                                 "r(if i < c { k[i] } else { p[i] }, j)",
                                                 "over(k[i], c) < 2",
                                                 "(i < c or k[k[i]] > 1)"};
  return atoms;
}

const std::vector<std::string>& Triples() {
  static const std::vector<std::string> atoms = {"r(i, j)",
                                                 "r(i, l)",
                                                 "s(l, j)",
                                                 "r(i + l, j)",
                                                 "s(i - l, j)",
                                                 "r(k[i], j)",
                                                 "s(k[l], j)",
                                                 "r(k[k[l]], j)",
                                                 "s(i, k[l])",
                                                 "r(p[l], i)",
                                                 "s(2 * l + i % 2, j)",
                                                 "r(l, c)",
                                                 "i == l",
                                                 "l < j",
                                                 "l <= i",
                                                 "x[l] > 0.5",
                                                 "s(k[j] - l, i)",
                                                 "r(i, i)",
                                                 "s(max(i, l), j)",
                                                 "r(half(i + l), j)",
                                                 "s(over(l, c), j)",
                                                 "r(if l < i { k[l] } else { i }, j)"};
  return atoms;
}

std::string Condition(Random& random, const std::vector<std::string>& atoms, int depth) {
  if (depth == 0 || random() % 3 == 0) return Pick(random, atoms);
  const std::string op = random() % 2 == 0 ? " and " : " or ";
  return "(" + Condition(random, atoms, depth - 1) + op + Condition(random, atoms, depth - 1) + ")";
}

std::string Outcome(const std::string& body, const std::vector<Tensor>& args) {
  const std::string header =
      "fn half(i: i64) -> i64 { return i / 2 }\n"
      "fn over(i: i64, c: i64) -> i64 { if i == 3 { return 1 } return i / c }\n"
      "fn f(r: rel[n, n], s: rel[n, n], k: [n]i64, p: [m]i64, x: [n]f64, c: i64) -> f64 {\n";
  const eval::Result r = RunText(header + body + "\n}", args, "f");
  if (r.trap) return "trap";
  return std::to_string(Doubles(r.values[0])[0]);
}

ApiValue Relation(Random& random, int64_t n, size_t tuples) {
  std::vector<std::vector<int64_t>> coordinates(2);
  for (size_t t = 0; t < tuples; ++t) {
    for (std::vector<int64_t>& axis : coordinates) {
      axis.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(n)));
    }
  }
  return RelationFromCoo({n, n}, coordinates);
}

std::vector<Tensor> Arguments(Random& random) {
  constexpr int64_t kSize = 5;
  std::vector<Tensor> args;
  for (int relation = 0; relation < 2; ++relation) {
    for (Tensor& t : RelationArrays(Relation(random, kSize, random() % 12))) {
      args.push_back(std::move(t));
    }
  }
  const auto ints = [&](int64_t size, int64_t low, uint64_t range) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < size; ++i)
      values.push_back(low + static_cast<int64_t>(random() % range));
    return Tensor::Of(DType::kI64, {size}, values);
  };
  args.push_back(ints(kSize, 0, random() % 4 == 0 ? 6 : 5));  // the 5 is out of range of itself
  args.push_back(ints(random() % 3 == 0 ? 3 : 5, -1, 7));
  std::vector<double> x;
  for (int64_t i = 0; i < kSize; ++i) x.push_back(0.25 * static_cast<double>(random() % 8));
  args.push_back(Tensor::Of(DType::kF64, {kSize}, x));
  args.push_back(I64(static_cast<int64_t>(random() % 4)));
  return args;
}

void CheckPrograms(const std::vector<std::pair<std::string, std::string>>& programs,
                   Random& random) {
  for (int run = 0; run < 4; ++run) {
    const std::vector<Tensor> args = Arguments(random);
    for (const auto& [statement, loop] : programs) {
      INFO(statement);
      const std::string got = Outcome(statement, args), want = Outcome(loop, args);
      CHECK((got == want || want == "trap"));
    }
  }
}

}  // namespace

TEST_CASE("relations: random conditions give what loops give") {
  Random random(7);
  for (int round = 0; round < 150; ++round) {
    const std::string condition = Condition(random, Pairs(), 2);
    const auto loops = [&](const std::string& start, const std::string& step,
                           const std::string& end) {
      return "var t = 0.0\nfor i < n {\n" + start + "\nfor j < n { let v = if " + condition +
             " { x[j] * x[i] } else { 0.0 }\n" + step + " }\n" + end + "\n}\nreturn t";
    };
    const std::string bracket = "[" + condition + "] * ", row = bracket + "x[j] * x[i]";
    CheckPrograms(
        {
            {"return sum i < n, j < n { " + row + " }", loops("", "t += v", "")},
            {"return sum i < n { x[i] * sum j < n { " + row + " } }",
             loops("", "t += x[i] * v", "")},
            {"return sum(gen i < n { [i > 1] * sum j < n { " + row + " } })",
             loops("if i < 2 { continue }", "t += v", "")},
            {"return sum i < n { max j < n { " + row + " } }",
             loops("var a = -1.0", "a = max(a, v)", "t += a")},
            {"return sum i < n { f64(argmax j < n { " + row + " }) }",
             loops("var a = -1.0\nvar b = 0", "if v > a { a = v\nb = j }", "t += f64(b)")},
            {"return sum i < n { prod j < n { " + row + " } }",
             loops("var a = 1.0", "a = a * v", "t += a")},
            {"return sum i < n { [exists j < n: " + condition + "] * x[i] }",
             loops("var a = 0.0", "if " + condition + " { a = 1.0 }", "t += a * x[i]")},
        },
        random);
  }
}

TEST_CASE("relations: random conditions on three indices give what loops give") {
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    const std::string condition = Condition(random, Triples(), 2);
    const auto loops = [&](const std::string& step, const std::string& end) {
      return "var t = 0.0\nfor i < n {\nvar a = 0.0\nfor l < 3 {\nvar b = 0.0\nfor j < n { let v = "
             "if " +
             condition + " { x[j] * x[i] } else { 0.0 }\n" + step + " }\nt += x[l] * b }\n" + end +
             "\n}\nreturn t";
    };
    const std::string row = "[" + condition + "] * x[j] * x[i]";
    CheckPrograms(
        {
            {"return sum i < n, l < 3, j < n { " + row + " }", loops("t += v", "")},
            {"return sum(gen i < n { sum j < n, l < 3 { " + row + " } })", loops("t += v", "")},
            {"return sum i < n { x[i] * sum l < 3, j < n { " + row + " } }",
             loops("a += v", "t += x[i] * a")},
            {"return sum(gen i < n, l < 3 { x[l] * sum j < n { " + row + " } })",
             loops("b += v", "")},
        },
        random);
  }
}

}  // namespace pullback::lang
