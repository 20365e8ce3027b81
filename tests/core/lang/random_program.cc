#include "tests/core/lang/random_program.h"

#include <random>
#include <vector>

namespace pullback::lang {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Run() {
    int n = 1 + Below(4);
    for (int i = 0; i < n; ++i) {
      Gap();
      Function(i);
    }
    Gap();
    return out_;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }
  std::string Pick(const std::vector<std::string>& v) {
    return v[static_cast<size_t>(Below(static_cast<int>(v.size())))];
  }

  void Put(const std::string& s) {
    out_ += s;
    Blank();
  }
  std::string Comment() {
    return "# " + Pick({"note", "x < y", "\xC3\xA9t\xC3\xA9", "}", "a  b"}) + Pick({"", " \t"}) +
           "\n";
  }
  // Between tokens: a line break where lines do not count.
  void Blank() {
    if (open_ > 0 && OneIn(12)) {
      out_ += OneIn(4) ? " " + Comment() : Pick({"\n", "\n\n  "});
    } else {
      out_ += Pick({" ", " ", " ", "  ", "\t"});
    }
  }
  // Behind an operator or a comma.
  void MayBreak() {
    if (OneIn(15)) out_ += OneIn(4) ? " " + Comment() : "\n  ";
  }
  void Gap() {
    for (int i = Below(3); i > 0; --i) out_ += OneIn(3) ? Comment() : "\n";
  }

  std::string Name() { return Pick({"a", "b", "xs", "sum", "max", "a_rather_long_name", "y2"}); }

  // --- items
  void Function(int i) {
    Put("fn");
    Put("f" + std::to_string(i));
    out_ += "(";
    ++open_;
    Blank();
    int n = Below(4);
    for (int p = 0; p < n; ++p) {
      Put(Name());
      Put(":");
      Type(2);
      if (p + 1 < n || OneIn(4)) Put(",");
    }
    --open_;
    Put(")");
    if (!OneIn(4)) {
      Put("->");
      Type(2);
    }
    Block(3, false);
    out_ += "\n";
  }

  void Type(int depth) {
    int kind = Below(depth > 0 ? 4 : 3);
    if (kind < 2) return Put(Pick({"f64", "f32", "i64", "bool"}));
    out_ += kind == 2 ? "[" : "(";
    ++open_;
    Blank();
    for (int i = 0, n = 1 + Below(3); i < n; ++i) {
      if (kind == 2) {
        Put(Pick({"n", "m", "3", "n + 1", "2 * n - m"}));
      } else {
        Type(depth - 1);
      }
      if (i + 1 < n) Put(",");
    }
    --open_;
    Put(kind == 2 ? "]" : ")");
    if (kind == 2) Put("f64");
  }

  // --- blocks and statements
  void Block(int depth, bool value) {
    int open = open_;
    open_ = 0;
    bool lines = !OneIn(3);
    Put("{");
    if (lines && OneIn(4)) out_ += Comment();
    for (int i = Below(4); i > 0; --i) {
      if (lines) Gap();
      Statement(depth - 1);
      End(lines);
    }
    if (lines) Gap();
    if (value) {
      Expression(depth - 1);
      End(lines && OneIn(2));
    }
    open_ = open;
    Put("}");
  }

  void End(bool lines) {
    if (!lines) return Put(";");
    out_ += Pick({";", "", ""});
    out_ += OneIn(4) ? " " + Comment() : "\n";
  }

  void Statement(int depth) {
    switch (Below(depth > 0 ? 11 : 6)) {
      case 0:
        Put("let");
        Put(Name());
        return Value(depth);
      case 1:
        Put("var");
        Put(Name());
        Put(":");
        Type(1);
        return Value(depth);
      case 2: Put(Pick({"let (a, b)", "let a, b", "var (a, b)"})); return Value(depth);
      case 3:
        Target(depth);
        Put(Pick({"+=", "-=", "*=", "/=", "="}));
        MayBreak();
        return Expression(depth);
      case 4:
        Put("a , b =");
        MayBreak();
        Expression(depth);
        Put(",");
        MayBreak();
        return Expression(depth);
      case 5: Put(Pick({"break", "continue", "return"})); return;
      case 6: Put("return"); return Expression(depth);
      case 7: return If(depth, false);
      case 8:
        Put("while");
        Expression(depth);
        return Block(depth, false);
      default:
        Put("for");
        if (OneIn(4)) {
          Put(Name());
          Put("in");
          Sum(depth);
        } else {
          Binder(depth);
        }
        return Block(depth, false);
    }
  }

  void Value(int depth) {
    Put("=");
    MayBreak();
    Expression(depth);
  }

  void Target(int depth) {
    out_ += Name();
    if (OneIn(2)) return Put("");
    out_ += "[";
    ++open_;
    Expression(depth - 1);
    --open_;
    Put("]");
  }

  void If(int depth, bool value) {
    Put("if");
    Expression(depth - 1);
    Block(depth, value);
    while (OneIn(3)) {
      Put("else if");
      Expression(depth - 1);
      Block(depth, value);
    }
    if (!value && OneIn(2)) return;
    Put("else");
    Block(depth, value);
  }

  void Binder(int depth) {
    Put(Name());
    if (OneIn(2)) return Put("<"), Sum(depth);
    Put("in");
    Sum(depth);
    Put("..");
    Sum(depth);
  }

  // --- expressions
  void Expression(int depth) {
    if (depth > 0 && OneIn(8)) {
      Sum(depth - 1);
      for (int i = 1 + Below(2); i > 0; --i) {
        Put(Pick({"<", "<=", "==", "!=", ">", ">="}));
        MayBreak();
        Sum(depth - 1);
      }
      return;
    }
    if (depth > 0 && OneIn(10)) Put(Pick({"not", "!", "not !"}));
    if (depth > 0 && OneIn(12)) {
      Put("exists");
      Binder(0);
      if (OneIn(3)) Put(","), Binder(0);
      Put(":");
      MayBreak();
      return Expression(depth - 1);
    }
    Sum(depth);
    for (int i = depth > 0 ? Below(3) / 2 : 0; i > 0; --i) {
      Put(Pick({"and", "or", "&&", "||"}));
      MayBreak();
      Sum(depth - 1);
    }
  }

  void Sum(int depth) {
    Operand(depth);
    for (int i = Below(depth > 0 ? OneIn(10) ? 25 : 3 : 2); i > 0; --i) {
      Put(Pick({"+", "-", "*", "/", "%", "@", "**", "**  -"}));
      MayBreak();
      Operand(depth - 1);
    }
  }

  void Operand(int depth) {
    if (OneIn(8)) Put("-");
    Primary(depth);
    if (!OneIn(5)) return;
    while (out_.back() == ' ' || out_.back() == '\t') out_.pop_back();
    if (out_.back() == '\n') return;
    if (OneIn(2)) return Put(".T");
    const bool number = out_.back() != ')' && out_.back() != ']';  // 1.( is no call
    if (!number && OneIn(4)) return Bracketed(".(", ")", 0, [&] { Expression(depth - 1); });
    Bracketed("[", "]", depth, [&] { Subscript(depth - 1); });
  }

  template <typename F>
  void Bracketed(const std::string& open, const std::string& close, int depth, F item) {
    out_ += open;
    ++open_;
    Blank();
    for (int i = 0, n = 1 + Below(depth > 0 ? 4 : 1); i < n; ++i) {
      if (i > 0) Put(",");
      item();
    }
    --open_;
    Put(close);
  }

  void Subscript(int depth) {
    if (OneIn(2)) return Expression(depth);
    if (OneIn(2)) Expression(depth);
    Put(":");
    if (OneIn(2)) Expression(depth);
    if (OneIn(3)) Put(":"), Put("2");
  }

  void Primary(int depth) {
    if (depth <= 0) {
      return Put(Pick({"a", "b", "xs", "y2", "1", "2.5", "1e-3", "0x1F", "3f32", "7i64", "true",
                       "9223372036854775807", "(-9223372036854775808)", "1_000.000_1"}));
    }
    auto item = [&] { Expression(depth - 1); };
    switch (Below(10)) {
      case 0: return Bracketed("f(", ")", depth, item);
      case 1: return Bracketed("f.(", ")", depth, item);
      case 2: return Bracketed("f64(", ")", 0, item);
      case 3: return Bracketed("(", ")", depth, item);
      case 4: return Bracketed("(", ")", 0, item);
      case 5: return Bracketed("[", Pick({"]", ",]"}), depth, item);
      case 6:
      case 7:
        if (OneIn(5)) {
          Put(Pick({"scan", "exscan"}));
          Put(Pick({"sum", "max"}));
        } else {
          Put(Pick({"gen", "sum", "prod", "max", "min", "argmax", "argmin", "and", "or"}));
        }
        Binder(0);
        if (OneIn(3)) Put(","), Binder(0);
        return Block(depth - 1, true);
      case 8: return If(depth - 1, true);
      default: return Put(Name());
    }
  }

  std::mt19937_64 random_;
  int open_ = 0;  // ( and [ around, in the innermost block
  std::string out_;
};

}  // namespace

std::string RandomProgram(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace pullback::lang
