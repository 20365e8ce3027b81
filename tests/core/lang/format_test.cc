#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <random>

#include "core/lang/lang.h"
#include "core/lang/layout.h"
#include "tests/core/lang/random_program.h"
#include "tests/core/lang/shape.h"

namespace pullback::lang {
namespace {

Program MustParse(const std::string& text) {
  StatusOr<Program> p = Parse(text);
  INFO(text << "\n" << p.status().ToString());
  REQUIRE(p.ok());
  return std::move(*p);
}

// Formats, and checks what always holds: the same program, and nothing more to do.
std::string Formatted(const std::string& text) {
  Program p = MustParse(text);
  std::string once = Format(p);
  INFO(text << "\n---\n" << once);
  Program again = MustParse(once);
  CHECK(Shape(again) == Shape(p));
  CHECK(Format(again) == once);
  CHECK(again.comments.size() == p.comments.size());
  return once;
}

void CheckUnchanged(const std::string& text) { CHECK(Formatted(text) == text); }

std::string InFunction(const std::string& line) { return "fn f() {\n  " + line + "\n}\n"; }

TEST_CASE("format: spaces") {
  CHECK(Formatted("fn f(x:f64,a:[n,2*m]f64)->(f64,i64){return (x,1)}") ==
        "fn f(x: f64, a: [n, 2 * m]f64) -> (f64, i64) { return (x, 1) }\n");
  CHECK(Formatted(InFunction("let y=-x**2+a[i,1:n,::2]*f.(x,y).0-[p]@[1,2].T")) ==
        InFunction("let y = -x ** 2 + a[i, 1:n, ::2] * f.(x, y).0 - [p] @ [1, 2].T"));
  CHECK(Formatted(InFunction("x+=1;a,b=b,a;var(c,d)=t")) ==
        InFunction("x += 1\n  a, b = b, a\n  var (c, d) = t"));
}

TEST_CASE("format: words for operators, literals as written") {
  CHECK(Formatted(InFunction("let y = !a && b || 0x1F < 1_000 && 1.50 < 2f32")) ==
        InFunction("let y = not a and b or 0x1F < 1_000 and 1.50 < 2f32"));
}

TEST_CASE("format: brackets stay where they say something") {
  CheckUnchanged(InFunction("let y = (a + b) * c - (d - e)"));
  CheckUnchanged(InFunction("let y = (a * b) + (c ** d) ** e"));
  CheckUnchanged(InFunction("let y = (a < b) == (c < d)"));
  CheckUnchanged(InFunction("let y = (-a) ** 2 - (-(-b))"));
  CheckUnchanged(InFunction("let y = (if a { 1 } else { 2 }) + 3"));
  CheckUnchanged(InFunction("let y = (0 <= i < n) and not (a and b)"));
  CheckUnchanged(InFunction("let y = (1).0"));
  CHECK(Formatted(InFunction("let y = ((a)) + (f(x)) - (x[1])")) ==
        InFunction("let y = a + f(x) - x[1]"));
  CHECK(Formatted(InFunction("if (a < b) { }")) == InFunction("if a < b {}"));
  CHECK(Formatted(InFunction("let y = (0 <= i) < n")) == InFunction("let y = (0 <= i) < n"));
}

TEST_CASE("format: blocks keep the one line they have, if it is enough") {
  CheckUnchanged("fn f() { return 1 }\nfn g() { return 2 }\n");
  CheckUnchanged(InFunction("while k > 0 { k = k - 1; r = r * x }"));
  CheckUnchanged(InFunction("let y = if a { 1 } else if b { 2 } else { 3 }"));
  CHECK(Formatted("fn f() { if a { return 1 } return 2 }") ==
        "fn f() {\n  if a { return 1 }\n  return 2\n}\n");
  CHECK(Formatted("fn f() { x = 1; x = 2; x = 3; x = 4 }") ==
        "fn f() {\n  x = 1\n  x = 2\n  x = 3\n  x = 4\n}\n");
  CHECK(Formatted(InFunction("if a { x = 1 }\n  else {\n x = 2 }")) ==
        InFunction("if a {\n    x = 1\n  } else {\n    x = 2\n  }"));
}

TEST_CASE("format: empty lines") {
  CHECK(Formatted("\n\nfn f() {\n\n\n  x = 1\n\n\n\n  y = 2\n  z = 3\n\n}\nfn g() { }\n\n") ==
        "fn f() {\n  x = 1\n\n  y = 2\n  z = 3\n}\n\nfn g() {}\n");
}

TEST_CASE("format: comments stay beside what they speak of") {
  CheckUnchanged(
      "# A file.\n"
      "\n"
      "# A function.\n"
      "fn f(x: f64) -> f64 {  # head\n"
      "  # first\n"
      "  let y = x  # behind\n"
      "\n"
      "  # apart\n"
      "  for i < n {\n"
      "    # only this\n"
      "  }\n"
      "  return gen i < n {  # body\n"
      "    y  # value\n"
      "  }  # end\n"
      "  # last\n"
      "}  # done\n"
      "\n"
      "# The end.\n");
}

TEST_CASE("format: comments inside a statement move in front of it") {
  CHECK(Formatted(InFunction("let y = [1, # one\n 2, # two\n 3] # three")) ==
        InFunction("# one\n  # two\n  let y = [1, 2, 3]  # three"));
  CHECK(Formatted("fn f( # inputs\n  x: f64) { return x }") ==
        "# inputs\nfn f(x: f64) { return x }\n");
  CHECK(Formatted(InFunction("if a { x = 1 } # then\n  else { # no\n y = 1 }")) ==
        InFunction("# then\n  if a {\n    x = 1\n  } else {  # no\n    y = 1\n  }"));
}

TEST_CASE("format: long lines are broken where the language allows") {
  std::string name(31, 'x');
  CHECK(Formatted(InFunction("let y = " + name + " + " + name + " * " + name + " - " + name)) ==
        InFunction("let y =\n    " + name + " +\n    " + name + " * " + name + " -\n    " + name));
  CHECK(Formatted(InFunction("return f(" + name + ", " + name + ", " + name + ")")) ==
        InFunction("return f(\n    " + name + ",\n    " + name + ",\n    " + name + "\n  )"));
  CHECK(Formatted("fn f(" + name + ": f64, " + name + ": f64, " + name + ": f64) {}") ==
        "fn f(\n  " + name + ": f64,\n  " + name + ": f64,\n  " + name + ": f64\n) {}\n");
}

TEST_CASE("format: array literals are filled, rows stand apart") {
  std::string list;
  for (int i = 0; i < 40; ++i) list += (i ? ", " : "") + std::to_string(1000 + i);
  std::string text = Formatted(InFunction("let y = [" + list + "]"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 7);
  std::string row = "[" + list.substr(0, 58) + "]";
  CHECK(Formatted(InFunction("let y = [" + row + ", " + row + "]")) ==
        InFunction("let y = [\n    " + row + ",\n    " + row + "\n  ]"));
}

TEST_CASE("format: a long chain and a deep tree") {
  std::string sum = "x", power = "x";
  for (int i = 0; i < 1999; ++i) {
    sum += " + x";
    power += " ** x";
  }
  Formatted(InFunction("let y = " + sum));
  Formatted(InFunction("let y = " + power));
}

TEST_CASE("format: random programs") {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    INFO("seed " << seed);
    std::string text = Formatted(RandomProgram(seed));
    CHECK(text.find(" \n") == std::string::npos);
  }
}

// A random program with a few pieces cut, doubled or replaced: mostly wrong, sometimes surprising.
std::string Mutated(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text = RandomProgram(seed);
  const std::string pieces[] = {"(", ")",    "[",    "]",  "{", "}",   ",",     ";",   "\n",
                                "-", "**",   "not ", "..", ".", "if ", "else ", "fn ", "=",
                                "<", "\xC3", "1e",   "#",  ":", "T",   "0"};
  auto place = [&] { return random() % text.size(); };
  for (uint64_t i = 0; i < 1 + seed % 4 && !text.empty(); ++i) {
    const std::string& piece = pieces[random() % std::size(pieces)];
    if (random() % 3 == 0)
      text.erase(place(), 1 + random() % 5);
    else if (random() % 2 == 0)
      text.insert(place(), piece);
    else
      text.replace(place(), 1, piece);
  }
  return text;
}

TEST_CASE("format: mutated programs that still parse") {
  int good = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::string text = Mutated(seed);
    if (!Parse(text).ok()) continue;
    ++good;
    INFO("seed " << seed);
    Formatted(text);
  }
  CHECK(good > 100);
}

TEST_CASE("layout: groups break from the outside") {
  auto group = [](const std::string& a, const std::string& b) {
    return Group(Parts(Text(a), Indent(Parts(Line(" "), Text(b)))));
  };
  CHECK(Render(group("aaa", "bbb"), 7) == "aaa bbb");
  CHECK(Render(group("aaa", "bbb"), 6) == "aaa\n  bbb");
  CHECK(Render(Concat(Parts(group("aaa", "bbb"), Text(";"))), 7) == "aaa\n  bbb;");
  CHECK(Render(Group(Parts(group("a", "b"), Line(" "), group("c", "d"))), 4) == "a b\nc d");
  CHECK(Render(Group(Parts(Text("a"), HardLine(), Line(" "), Text("b"))), 80) == "a\n\nb");
  CHECK(Render(Group(Parts(Text("a"), CommentText("  # long"), Line(" "), Text("b"))), 4) ==
        "a  # long b");
}

}  // namespace
}  // namespace pullback::lang
