#include "core/lang/habits.h"

namespace pullback::lang {
namespace {

struct Habit {
  std::string_view word, advice;
};

constexpr Habit kWords[] = {
    {"True", "here it is 'true'"},
    {"False", "here it is 'false'"},
    {"None", "every name has a value here"},
    {"null", "every name has a value here"},
    {"float", "here it is 'f64'"},
    {"double", "here it is 'f64'"},
    {"real", "here it is 'f64'"},
    {"float64", "here it is 'f64'"},
    {"float32", "here it is 'f32'"},
    {"int", "here it is 'i64'"},
    {"integer", "here it is 'i64'"},
    {"int32", "here it is 'i64'"},
    {"int64", "here it is 'i64'"},
    {"long", "here it is 'i64'"},
    {"i32", "here it is 'i64'"},
    {"boolean", "here it is 'bool'"},
    {"string", "there is no text here"},
    {"str", "there is no text here"},
    {"ln", "here it is 'log'"},
    {"length", "here it is 'len'"},
    {"size", "here it is 'len', of an axis 'dim'"},
    {"shape", "here it is 'dim', of an axis"},
    {"append", "here it is 'push'"},
    {"where", "here it is select(c, a, b), of each element select.(c, a, b)"},
    {"matmul", "here it is a @ b"},
    {"arange", "here it is gen i < n { f64(i) }"},
    {"linspace", "here it is gen i < n { a + f64(i) * step }"},
    {"rel", "its sizes stand behind: rel[n, m]"},
    {"assert", "a program asserts nothing; a wrong subscript or size ends the run"},
    {"range", "a range is 'i < n' or 'i in a..b'"},
    {"enumerate", "a range is 'i < n' or 'i in a..b'"},
    {"print", "a program gives nothing but its result"},
    {"printf", "a program gives nothing but its result"},
    {"math", "functions stand alone: exp(x)"},
    {"np", "functions stand alone: exp(x)"},
    {"numpy", "functions stand alone: exp(x)"},
    {"jnp", "functions stand alone: exp(x)"},
    {"torch", "functions stand alone: exp(x)"},
};

constexpr Habit kSyntax[] = {
    {"def", "here it is 'fn'"},
    {"func", "here it is 'fn'"},
    {"function", "here it is 'fn'"},
    {"class", "here it is 'struct'"},
    {"import", "what there is needs no import"},
    {"const", "here it is 'let'"},
    {"mut", "what changes is a 'var'"},
    {"elif", "here it is 'else if'"},
    {"elseif", "here it is 'else if'"},
    {"float", "a name is defined by let y = x, or var y = x"},
    {"double", "a name is defined by let y = x, or var y = x"},
    {"int", "a name is defined by let y = x, or var y = x"},
    {"auto", "a name is defined by let y = x, or var y = x"},
    {"assert", "a program asserts nothing; a wrong subscript or size ends the run"},
    {"scan", "what is added up is said: scan sum i < n { e }"},
    {"exscan", "what is added up is said: exscan sum i < n { e }"},
    {"lambda", "here it is |x| e"},
    {"as", "a conversion is f64(x) or i64(x)"},
    {"if", "as a value it is if c { a } else { b }"},
    {"for", "in an expression it is gen i < n { e } or sum i < n { e }"},
};

constexpr Habit kFields[] = {
    {"shape", "here it is dim(x, 0)"},
    {"length", "here it is len(x)"},
    {"size", "here it is len(x)"},
    {"append", "here it is push(x, e)"},
};

constexpr Habit kCharacters[] = {
    {"^", "a power is x ** y"},
    {"&", "of bools it is 'and'"},
    {"?", "a choice is if c { a } else { b }"},
    {"\"", "there is no text here"},
    {"'", "there is no text here"},
};

template <size_t n>
std::string Advice(const Habit (&habits)[n], std::string_view word) {
  for (const Habit& h : habits) {
    if (h.word == word) return "; " + std::string(h.advice);
  }
  return "";
}

}  // namespace

std::string HabitOfWord(std::string_view word) { return Advice(kWords, word); }
std::string HabitOfSyntax(std::string_view word) { return Advice(kSyntax, word); }
std::string HabitOfField(std::string_view word) { return Advice(kFields, word); }
std::string HabitOfCharacter(char c) { return Advice(kCharacters, std::string_view(&c, 1)); }

}  // namespace pullback::lang
