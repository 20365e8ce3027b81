// What programs of the generator may name.
#include <utility>

#include "tests/support/language_writer.h"

namespace pullback::testing {
namespace {

// One that is not named is left out.
const std::vector<std::pair<std::string, std::string>>& Declarations() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"Part", "struct Part { c: f64, q: (f64, i64) }\n"},
      {"Point", "struct Point { a: f64, v: [3]f64, part: Part }\n"},
      {"Tree", "struct Tree { value: f64, kids: list Tree }\n"},
      {"Layer", "struct Layer { scale: f64, act: fn(f64) -> f64 }\n"},
      {"twice", "fn twice<T>(x: T) -> T { return x * x + x }\n"},
      {"applied", "fn applied<T>(f: fn(T) -> T, x: T) -> T { return f(x) }\n"},
      {"ruled_two",
       "fn ruled_two(x: f64, y: f64) -> f64 with jvp forth_two { return x * sin(y) }\n"},
      {"forth_two",
       "fn forth_two(x: f64, y: f64, v: f64, w: f64) -> (f64, f64) "
       "{ return (x * sin(y), v * sin(y) + x * cos(y) * w) }\n"},
      {"ruled_duo",
       "fn ruled_duo(x: f64, y: f64) -> f64 with vjp back_duo { return x * cos(y) }\n"},
      {"back_duo",
       "fn back_duo(x: f64, y: f64, s: f64) -> (f64, f64) "
       "{ return (cos(y) * s, 0.0 - x * sin(y) * s) }\n"},
      {"ruled_array",
       "fn ruled_array(v: [n]f64, s: f64) -> [n]f64 with vjp back_array "
       "{ return gen i < n { sin(v[i]) * s } }\n"},
      {"back_array",
       "fn back_array(v: [n]f64, s: f64, y: [n]f64) -> ([n]f64, f64) "
       "{ return (gen i < n { cos(v[i]) * s * y[i] }, sum i < n { sin(v[i]) * y[i] }) }\n"},
      {"interleaved",
       "fn interleaved(v: [n]f64, w: [n]f64, i: i64) -> f64 {\n"
       "  if i <= 0 { return sin(v[0] + 2.0 * w[1]) }\n"
       "  return tanh(v[i % n] * interleaved(w, v, i - 1)) - 0.5 * w[2 * i % n] * v[0]\n}\n"},
      {"ruled_back",
       "fn ruled_back(l: list f64, s: f64) -> list f64 with vjp back_list "
       "{ return map(|t: f64| sin(t) * s, l) }\n"},
      {"back_list",
       "fn back_list(l: list f64, s: f64, y: list f64) -> (list f64, f64) {\n"
       "  var d: list f64 = list()\n  var e = 0.0\n"
       "  for i < len(l) { d = push(d, cos(l[i]) * s * y[i])\n  e += sin(l[i]) * y[i] }\n"
       "  return (d, e)\n}\n"},
      {"ruled_forth",
       "fn ruled_forth(l: list f64, s: f64) -> list f64 with jvp forth_list "
       "{ return map(|t: f64| sin(t) * s, l) }\n"},
      {"forth_list",
       "fn forth_list(l: list f64, s: f64, v: list f64, w: f64) -> (list f64, list f64) {\n"
       "  var y: list f64 = list()\n  var d: list f64 = list()\n"
       "  for i < len(l) { y = push(y, sin(l[i]) * s)\n"
       "    d = push(d, cos(l[i]) * v[i] * s + sin(l[i]) * w) }\n  return (y, d)\n}\n"},
      {"ruled_length",
       "fn ruled_length(l: list f64, s: f64) -> f64 with vjp back_length "
       "{ return s * total_list(l) }\n"},
      {"back_length",
       "fn back_length(l: list f64, s: f64, y: f64) -> (list f64, f64) {\n"
       "  let g = grad(total_list)(l)\n"
       "  return (map(|t: f64| t * s * y, g), total_list(l) * y)\n}\n"},
      {"smooth", "fn smooth(x: f64) -> f64 { return sin(x) * x }\n"},
      {"two", "fn two(x: f64, y: f64) -> (f64, f64) { return (x * y, sin(x) - y) }\n"},
      {"energy",
       "fn energy(p: Point) -> f64 {\n"
       "  return p.a * sin(p.v[0] + p.part.c) + tanh(p.v[1] * p.v[2]) * p.part.q.0\n}\n"},
      {"grown",
       "fn grown(x: f64, k: i64) -> Tree {\n  var t = Tree(x, list())\n"
       "  for i < k { t.kids = push(t.kids, grown(sin(x + f64(i)), k - 1)) }\n  return t\n}\n"},
      {"total(",
       "fn total(t: Tree) -> f64 {\n  var s = sin(t.value)\n"
       "  for i < len(t.kids) { s += 0.3 * total(t.kids[i]) * t.value }\n  return s\n}\n"},
      {"total_list",
       "fn total_list(l: list f64) -> f64 {\n  var s = 0.0\n"
       "  for i < len(l) { s = sin(s + l[i] * 0.7) * 1.5 }\n  return s\n}\n"},
      {"apply_twice", "fn apply_twice(f: fn(f64) -> f64, x: f64) -> f64 { return f(f(x)) }\n"},
      {"composed",
       "fn composed(f: fn(f64) -> f64, g: fn(f64) -> f64) -> fn(f64) -> f64 "
       "{ return |x| f(g(x)) }\n"},
      {"each", "fn each<T, U>(f: fn(T) -> U, x: [n]T) -> [n]U { return gen i < n { f(x[i]) } }\n"},
      {"folded",
       "fn folded<T>(f: fn(T, i64) -> T, init: T, n: i64) -> T {\n  var s = init\n"
       "  for i < n { s = f(s, i) }\n  return s\n}\n"},
      {"pick",
       "fn pick(k: i64, a: f64) -> fn(f64) -> f64 {\n  if k == 0 { return sin }\n"
       "  if k == 1 { return |x| tanh(a * x) }\n  let g = pick(k - 1, a * 0.5)\n"
       "  return |x| g(x) + cos(a)\n}\n"},
      {"run",
       "fn run(net: list Layer, x: f64) -> f64 {\n  var y = x\n"
       "  for i < len(net) {\n    let act = net[i].act\n    y = act(net[i].scale * y)\n  }\n"
       "  return y\n}\n"},
      {"cell_add", "fn cell_add(b: box f64, x: f64) { set(b, tanh(get(b) * 0.5 + x)) }\n"},
      {"potential",
       "fn potential(v: [n]f64) -> f64 {\n  var s = 0.0\n"
       "  for i < n { s = sin(s + v[i] * v[n - 1 - i]) }\n  return s\n}\n"},
      {"field",
       "fn field(v: [n]f64) -> [n]f64 { return gen i < n { sin(v[i]) * v[n - 1 - i] } }\n"},
      {"ruled_vjp", "fn ruled_vjp(x: f64) -> f64 with vjp back_rule { return sin(x) * x }\n"},
      {"ruled_jvp", "fn ruled_jvp(x: f64) -> f64 with jvp forth_rule { return sin(x) * x }\n"},
      {"ruled_both",
       "fn ruled_both(x: f64) -> f64 with vjp back_rule, jvp forth_rule { return sin(x) * x }\n"},
      {"back_entry",
       "fn back_entry(x: f64, y: f64, s: f64) -> (f64, f64) "
       "{ return ((sin(x * y) + x * y * cos(x * y)) * s, x * x * cos(x * y) * s) }\n"},
      {"forth_entry",
       "fn forth_entry(x: f64, y: f64, v: f64, w: f64) -> (f64, f64) "
       "{ return (x * sin(x * y), (sin(x * y) + x * y * cos(x * y)) * v + x * x * cos(x * y) * w) "
       "}\n"},
      {"cell_twice",
       "fn cell_twice(b: box f64, x: f64) { cell_add(b, x)\n  cell_add(b, 0.5 * x) }\n"},
      {"back_rule", "fn back_rule(x: f64, y: f64) -> f64 { return (cos(x) * x + sin(x)) * y }\n"},
      {"forth_rule",
       "fn forth_rule(x: f64, v: f64) -> (f64, f64) "
       "{ return (sin(x) * x, (cos(x) * x + sin(x)) * v) }\n"},
  };
  return all;
}

}  // namespace

std::string LanguageWriter::WithDeclarations(const std::string& body) const {
  std::vector<bool> wanted(Declarations().size());
  std::string all = body;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto& [name, text] = Declarations()[i];
      if (wanted[i] || all.find(name) == std::string::npos) continue;
      all += text;
      wanted[i] = changed = true;
    }
  }
  std::string out;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) out += Declarations()[i].second;
  }
  return out + body;
}

}  // namespace pullback::testing
