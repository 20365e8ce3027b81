#include "tests/support/random_relations.h"

#include "core/base/relation.h"

namespace pullback::testing {
namespace {

using Random = std::mt19937;

const std::vector<std::string>& Pairs() {
  static const std::vector<std::string> atoms = {
      "r(i, j)",
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
      "(i < c or k[k[i]] > 1)",
      "s(k[p[i]], j)",
      "r(i, p[j])",
      "r(i, k[p[j]])",
      "x[i] > 0.75",
      "p[j] > 1",
      "k[p[i]] < 3",
      "x[k[j]] > 0.5",
      "c > 1",
      "r(if j < c { let a = k[j]; a } else { i }, i)",
      "r(if i < c { let a = k[i]; a } else { p[i] }, j)"};
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
                                                 "r(if l < i { k[l] } else { i }, j)",
                                                 "r(i, k[min(l, j)])",
                                                 "s(l, k[p[j]])",
                                                 "r(k[p[l]], j)",
                                                 "x[j] > 0.5",
                                                 "p[i] > 1"};
  return atoms;
}

std::string Condition(Random& random, const std::vector<std::string>& atoms, int depth) {
  if (depth == 0 || random() % 3 == 0) return atoms[random() % atoms.size()];
  const std::string op = random() % 2 == 0 ? " and " : " or ";
  return "(" + Condition(random, atoms, depth - 1) + op + Condition(random, atoms, depth - 1) + ")";
}

std::string Condition(Random& random, const std::vector<std::string>& atoms) {
  return Condition(random, atoms, random() % 4 == 0 ? 3 : 2);
}

// What is divided by stays exact.
std::string Divided(Random& random) { return random() % 3 == 0 ? " / f64(1 + (i + j) % 2)" : ""; }

std::string Text(const std::string& body) {
  return "fn half(i: i64) -> i64 { return i / 2 }\n"
         "fn over(i: i64, c: i64) -> i64 { if i == 3 { return 1 } return i / c }\n"
         "fn f(r: rel[n, n], s: rel[n, n], k: [n]i64, p: [m]i64, x: [n]f64, c: i64) -> f64 {\n" +
         body + "\n}";
}

ApiValue Relation(Random& random, int64_t n) {
  std::vector<std::vector<int64_t>> coordinates(2);
  for (size_t t = n == 0 ? 0 : random() % 12; t-- > 0;) {
    for (std::vector<int64_t>& axis : coordinates) {
      axis.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(n)));
    }
  }
  return RelationFromCoo({n, n}, coordinates);
}

}  // namespace

std::vector<RandomRelationProgram> RandomPairPrograms(Random& random) {
  const std::string condition = Condition(random, Pairs()), divided = Divided(random);
  const auto loops = [&](const std::string& start, const std::string& step,
                         const std::string& end) {
    return Text("var t = 0.0\nfor i < n {\n" + start + "\nfor j < n { let v = if " + condition +
                " { x[j] * x[i]" + divided + " } else { 0.0 }\n" + step + " }\n" + end +
                "\n}\nreturn t");
  };
  const auto text = [](const std::string& value) { return Text("return " + value); };
  const std::string row = "[" + condition + "] * x[j] * x[i]" + divided;
  const std::string branch =
      "if " + condition + " { let d = x[j]; d * x[i]" + divided + " } else { let z = 0.0; z }";
  // Names in front of the brackets, of which one may trap where nothing stands.
  static constexpr const char* kFirst[] = {"x[j] * x[i]", "x[k[i]] * x[j]", "f64(p[j]) + x[i]",
                                           "x[i] - sum l < 2 { x[k[j]] * f64(l) }"};
  static constexpr const char* kSecond[] = {"u > 0.5", "r(j, i64(u))", "i < 3", "x[p[i]] < 1.0"};
  const std::string names = std::string("let u = ") + kFirst[random() % 4] + "\n";
  const std::string second = kSecond[random() % 4];
  const std::string both =
      random() % 2 == 0 ? condition + " and " + second : second + " and " + condition;
  const std::string named = names + "[" + both + "] * u * x[j]" + divided;
  const auto named_loops = [&](const std::string& step, const std::string& end) {
    return Text("var t = 0.0\nfor i < n {\nvar a = 0.0\nfor j < n { " + names + "let v = if " +
                both + " { u * x[j]" + divided + " } else { 0.0 }\n" + step + " }\n" + end +
                "\n}\nreturn t");
  };
  const std::string other = Condition(random, Pairs());
  const std::string also = " + (if " + other + " { x[i] } else { 0.0 })";
  // Matrices with names, by brackets and by loops.
  const auto matrix = [&](const std::string& value) {
    return Text("let q = gen i < n, j < n { " + row + " }\nreturn " + value);
  };
  const auto matrix_loops = [&](const std::string& start, const std::string& step,
                                const std::string& end) {
    return Text("var q = gen i < n, j < n { 0.0 }\nfor i < n { for j < n { if " + condition +
                " { q[i, j] = x[j] * x[i]" + divided + " } } }\nvar t = 0.0\nfor i < n {\n" +
                start + "\nfor j < n { " + step + " }\n" + end + "\n}\nreturn t");
  };
  return {
      {matrix("sum i < n { max j < n { q[i, j] } }"),
       matrix_loops("var a = -1.0", "a = max(a, q[i, j])", "t += a")},
      {matrix("sum i < n { min j < n { q[j, i] - q[i, j] * x[j] } }"),
       matrix_loops("var a = 100.0", "a = min(a, q[j, i] - q[i, j] * x[j])", "t += a")},
      {matrix("sum i < n { prod j < n { 1.0 - q[i, j] } }"),
       matrix_loops("var a = 1.0", "a *= 1.0 - q[i, j]", "t += a"), true},
      {matrix("sum i < n { f64(argmin j < n { q[j, i] }) }"),
       matrix_loops("var a = 100.0\nvar b = 0", "if q[j, i] < a { a = q[j, i]\nb = j }",
                    "t += f64(b)"),
       true},
      {matrix("sum i < n, j < n { q[i, j] * q[j, i] - [" + other + "] * x[i] * q[j, i] }"),
       matrix_loops(
           "", "t += q[i, j] * q[j, i] - (if " + other + " { x[i] * q[j, i] } else { 0.0 })", ""),
       true},
      {matrix("sum(q * q.T) + sum i < n { max(q[i]) }"),
       matrix_loops("var a = -1.0", "t += q[i, j] * q[j, i]\na = max(a, q[i, j])", "t += a")},
      {text("sum i < n, j < n { " + row + " + [" + other + "] * x[i] }"),
       loops("", "t += v" + also, ""), true},
      {text("sum(gen i < n { sum j < n { ([" + condition + "] - [" + other + "]) * 2.0 } })"),
       loops("",
             "t += (if " + condition + " { 2.0 } else { 0.0 }) - (if " + other +
                 " { 2.0 } else { 0.0 })",
             ""),
       true},
      {text("sum(gen i < n, j < n { x[i] + " + row + " })"), loops("", "t += x[i] + v", ""), true},
      {text("sum i < n, j < n { " + row + " }"), loops("", "t += v", ""), true},
      {text("sum i < n { x[i] * sum j < n { " + row + " } }"), loops("", "t += x[i] * v", ""),
       true},
      {text("sum(gen i < n { [i > 1] * sum j < n { " + row + " } })"),
       loops("if i < 2 { continue }", "t += v", ""), true},
      {text("sum(gen i < n, j < n { " + row + " })"), loops("", "t += v", ""), true},
      {text("sum i < n { max j < n { " + row + " } }"),
       loops("var a = -1.0", "a = max(a, v)", "t += a")},
      {text("sum(gen i < n { max j < n { " + branch + " } })"),
       loops("var a = -1.0", "a = max(a, v)", "t += a")},
      {text("sum i < n { f64(argmax j < n { " + row + " }) }"),
       loops("var a = -1.0\nvar b = 0", "if v > a { a = v\nb = j }", "t += f64(b)"), true},
      {text("sum i < n { prod j < n { " + row + " } }"),
       loops("var a = 1.0", "a = a * v", "t += a"), true},
      {text("sum i < n, j < n { " + named + " }"), named_loops("t += v", ""), true},
      {text("sum i < n { x[i] * sum j < n { " + named + " + [" + other + "] * u } }"),
       named_loops("a += v + (if " + other + " { u } else { 0.0 })", "t += x[i] * a"), true},
      {text("sum(sum i < n { gen j < n { " + names + "if " + both + " { u * x[j]" + divided +
            " } else { 0.0 } } })"),
       named_loops("t += v", ""), true},
      {text("sum(sum i < n, j < n { [" + condition + "] * (x[j] * x) - [" + other + "] * x })"),
       loops("",
             "t += (if " + condition + " { x[j] * sum(x) } else { 0.0 }) - (if " + other +
                 " { sum(x) } else { 0.0 })",
             ""),
       true},
      {text("sum(sum i < n, j < n { " + names + "let w = u * x\n[" + condition + "] * w - [" +
            other + "] * (u * w) })"),
       named_loops("t += (if " + condition + " { sum(u * x) } else { 0.0 }) - (if " + other +
                       " { sum(u * u * x) } else { 0.0 })",
                   ""),
       true},
      {text("sum(sum i < n, j < n { " + names + "let w = u * x\n[" + both + "] * w })"),
       named_loops("t += (if " + both + " { sum(u * x) } else { 0.0 })", ""), true},
      {text("sum i < n { [exists j < n: " + condition + "] * x[i] }"),
       loops("var a = 0.0", "if " + condition + " { a = 1.0 }", "t += a * x[i]"), true},
  };
}

std::vector<RandomRelationProgram> RandomTriplePrograms(Random& random) {
  const std::string condition = Condition(random, Triples()), divided = Divided(random);
  const auto loops = [&](const std::string& step, const std::string& end) {
    return Text(
        "var t = 0.0\nfor i < n {\nvar a = 0.0\nfor l < 3 {\nvar b = 0.0\nfor j < n { let v = "
        "if " +
        condition + " { x[j] * x[i]" + divided + " } else { 0.0 }\n" + step + " }\n" + end +
        "\n}\nreturn t");
  };
  const auto text = [](const std::string& value) { return Text("return " + value); };
  const std::string row = "[" + condition + "] * x[j] * x[i]" + divided;
  return {
      {text("sum i < n, l < 3, j < n { " + row + " }"), loops("t += v", "}"), true},
      {text("sum(gen i < n { sum j < n, l < 3 { " + row + " } })"), loops("t += v", "}"), true},
      {text("sum i < n { x[i] * sum l < 3, j < n { " + row + " } }"),
       loops("a += v", "}\nt += x[i] * a"), true},
      {text("sum(gen i < n, l < 3 { x[l] * sum j < n { " + row + " } })"),
       loops("b += v", "t += x[l] * b }"), true},
      {text("sum(gen l < 3, i < n { max j < n { " + row + " } })"),
       loops("b = max(b, v)", "t += b }")},
      {text("sum l < 3 { sum(gen i < n { max j < n { " + row + " } }) }"),
       loops("b = max(b, v)", "t += b }")},
  };
}

std::vector<Tensor> RandomRelationArguments(Random& random) {
  constexpr int64_t kSizes[] = {5, 5, 5, 5, 5, 5, 1, 0};
  const int64_t n = kSizes[random() % 8];
  std::vector<Tensor> args;
  for (int relation = 0; relation < 2; ++relation) {
    for (Tensor& t : RelationArrays(Relation(random, n))) args.push_back(std::move(t));
  }
  const auto ints = [&](int64_t size, int64_t low, uint64_t range) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < size; ++i)
      values.push_back(low + static_cast<int64_t>(random() % range));
    return Tensor::Of(DType::kI64, {size}, values);
  };
  args.push_back(ints(n, 0, random() % 4 == 0 ? 6 : 5));  // the 5 is out of range of itself
  args.push_back(random() % 2 == 0 ? ints(5, 0, 5) : ints(random() % 3 == 0 ? 3 : 5, -1, 7));
  std::vector<double> x;
  for (int64_t i = 0; i < n; ++i) x.push_back(0.25 * static_cast<double>(random() % 8));
  args.push_back(Tensor::Of(DType::kF64, {n}, x));
  args.push_back(Tensor::I64(static_cast<int64_t>(random() % 4)));
  return args;
}

}  // namespace pullback::testing
