#include "tests/support/random_list_program.h"

#include <random>
#include <tuple>
#include <vector>

namespace pullback::testing {
namespace {

// Elements hold a number, an array of two, an integer and a list of two numbers.
class Writer {
 public:
  explicit Writer(uint32_t seed) : rng_(seed) {}

  std::string Program() {
    scalars_ = {"%x"};
    arrays_ = {"%a"};
    Line("%none = list_new : list<In>");
    Line("%in = list_of 2, %x : list<In>");
    inner_ = {"%in"};
    Line("%l = list_of 3, %x, %a, 1, %in : list<R>");
    lists_ = {"%l"};
    for (int k = 0; k < 6; ++k) Step();
    const std::string list = Pick(lists_), number = Pick(scalars_);
    Line("jump b1(" + list + ", " + number + ", 0)");
    out_ += "b1(%loop: list<R>, %s: f64, %i: i64): br lt(%i, 3), b2, b3\nb2:\n";
    const auto outside = std::make_tuple(scalars_, arrays_, lists_, inner_);
    scalars_.emplace_back("%s");
    lists_ = {"%loop"};
    for (int k = 0; k < 8; ++k) Step();
    if (Below(2) == 0) Branch();
    const std::string next = Pick(lists_), sum = Pick(scalars_);
    Line("jump b1(" + next + ", sin(" + sum + "), add(%i, 1))");
    out_ += "b3:\n";
    std::tie(scalars_, arrays_, lists_, inner_) = outside;
    scalars_.emplace_back("%s");
    lists_.emplace_back("%loop");
    for (int k = 0; k < 4; ++k) Step();
    Line("%r0, %r1, %r2, %r3 = list_get " + Pick(lists_) + ", 1");
    Line("ret add(" + Pick(scalars_) + ", mul(%s, %r0)), %r1");
    return "record In { x: f64 }\nrecord R { x: f64, a: [*]f64, k: i64, in: list<In> }\n"
           "fn @f(%x: f64, %a: [*]f64) -> (f64, [*]f64) {\nb0:\n" +
           out_ + "}\n";
  }

 private:
  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng_); }
  const std::string& Pick(const std::vector<std::string>& from) {
    // The newest more often than others.
    const int n = static_cast<int>(from.size());
    return from[static_cast<size_t>(Below(2) == 0 ? n - 1 : Below(n))];
  }
  std::string New() { return "%v" + std::to_string(next_++); }
  std::string Index(int n) { return std::to_string(Below(n)); }
  void Line(const std::string& text) { out_ += "  " + text + "\n"; }

  struct Fields {
    std::string x, a, k, in;
    std::string Text() const { return x + ", " + a + ", " + k + ", " + in; }
  };
  Fields NewFields() { return {New(), New(), New(), New()}; }
  Fields SomeFields() { return {Pick(scalars_), Pick(arrays_), Index(5), Pick(inner_)}; }
  void Add(const Fields& f) {
    scalars_.push_back(f.x);
    arrays_.push_back(f.a);
    inner_.push_back(f.in);
  }

  void Step() {
    switch (Below(11)) {
      case 0: return Scalar();
      case 1: return Array();
      case 2: return Inner();
      case 3: {
        const Fields f = NewFields();
        Line(f.Text() + " = list_get " + Pick(lists_) + ", " + Index(3));
        return Add(f);
      }
      case 4: {
        const std::string l = New();
        Line(l + " = list_set " + Pick(lists_) + ", " + Index(3) + ", " + SomeFields().Text());
        return lists_.push_back(l);
      }
      case 5: return TakeAndPut();
      case 6: return PopAndPush(true);
      case 7: return PopAndPush(false);
      case 8: {
        const std::string l = New();
        Line(l + " = list_of 3, " + SomeFields().Text() + " : list<R>");
        return lists_.push_back(l);
      }
      case 9: {  // an element's element
        const Fields f = NewFields();
        const std::string v = New();
        Line(f.Text() + " = list_get " + Pick(lists_) + ", " + Index(3));
        Line(v + (Below(2) == 0 ? " = index " + f.a + "[" + Index(2) + "]"
                                : " = list_get " + f.in + ", " + Index(2)));
        return scalars_.push_back(v);
      }
      default: return Scalar();
    }
  }

  void Scalar() {
    const std::string v = New();
    const std::string x = Pick(scalars_), y = Pick(scalars_);
    switch (Below(4)) {
      case 0: Line(v + " = sin " + x); break;
      case 1: Line(v + " = mul " + x + ", sin(" + y + ")"); break;
      case 2: Line(v + " = sub " + x + ", mul(0.5, " + y + ")"); break;
      default: Line(v + " = index " + Pick(arrays_) + "[" + Index(2) + "]"); break;
    }
    scalars_.push_back(v);
  }

  void Array() {
    const std::string v = New();
    switch (Below(3)) {
      case 0:
        Line(v + " = update " + Pick(arrays_) + "[" + Index(2) + "], " + Pick(scalars_));
        break;
      case 1: Line(v + " = add_arrays " + Pick(arrays_) + ", " + Pick(arrays_)); break;
      default:
        Line(v + " = each(" + v.substr(1) + "i < 2) { " + v + "e = index " + Pick(arrays_) + "[" +
             v + "i]\n    " + v + "f = sin " + v + "e } gen [" + v + "i] of (2): " + v + "f");
        break;
    }
    arrays_.push_back(v);
  }

  // Of a list of two numbers another.
  void Inner() {
    const std::string v = New(), t = New(), y = New();
    switch (Below(4)) {
      case 0: Line(v + " = list_of 2, " + Pick(scalars_) + " : list<In>"); break;
      case 1:
        Line(v + " = list_set " + Pick(inner_) + ", " + Index(2) + ", " + Pick(scalars_));
        break;
      case 2:
        Line(t + ", " + y + " = list_pop " + Pick(inner_));
        Line(v + " = list_push " + t + ", mul(" + y + ", " + Pick(scalars_) + ")");
        scalars_.push_back(y);
        break;
      default:
        Line(t + " = list_push %none, " + Pick(scalars_));
        Line(v + " = list_push " + t + ", " + Pick(scalars_));
        break;
    }
    inner_.push_back(v);
  }

  void TakeAndPut() {
    const std::string t = New(), l = New(), at = Index(3);
    Fields f = NewFields();
    Line(t + ", " + f.Text() + " = list_take " + Pick(lists_) + ", " + at);
    Add(f);
    if (Below(3) > 0) f.x = Pick(scalars_);
    if (Below(3) > 0) f.a = Pick(arrays_);
    if (Below(3) > 0) f.in = Pick(inner_);
    Line(l + " = list_set " + t + ", " + at + ", " + f.Text());
    lists_.push_back(l);
  }

  void PopAndPush(bool pop_first) {
    const std::string t = New(), l = New();
    const Fields f = NewFields();
    if (pop_first) {
      Line(t + ", " + f.Text() + " = list_pop " + Pick(lists_));
      Add(f);
      Line(l + " = list_push " + t + ", " + SomeFields().Text());
    } else {
      Line(t + " = list_push " + Pick(lists_) + ", " + SomeFields().Text());
      Line(l + ", " + f.Text() + " = list_pop " + t);
      Add(f);
    }
    lists_.push_back(l);
  }

  // Both arms give a list and a number.
  void Branch() {
    Line("%h = rem %i, 2");
    Line("br eq(%h, 0), b4, b5");
    out_ += "b4:\n";
    const auto before = std::make_tuple(scalars_, arrays_, lists_, inner_);
    for (int k = 0; k < 3; ++k) Step();
    Line("jump b6(" + Pick(lists_) + ", " + Pick(scalars_) + ")");
    std::tie(scalars_, arrays_, lists_, inner_) = before;
    out_ += "b5:\n";
    for (int k = 0; k < 2; ++k) Step();
    Line("jump b6(" + Pick(lists_) + ", " + Pick(scalars_) + ")");
    std::tie(scalars_, arrays_, lists_, inner_) = before;
    out_ += "b6(%joined: list<R>, %either: f64):\n";
    lists_.emplace_back("%joined");
    scalars_.emplace_back("%either");
  }

  std::mt19937 rng_;
  int next_ = 0;
  std::string out_;
  std::vector<std::string> scalars_, arrays_, lists_, inner_;
};

}  // namespace

std::string RandomListProgram(uint32_t seed) { return Writer(seed).Program(); }

}  // namespace pullback::testing
