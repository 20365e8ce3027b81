#include "core/lang/spelling.h"

namespace pullback::lang {
namespace {

struct OperatorRow {
  std::string_view text;
  int binding;
};
constexpr OperatorRow kOperators[] = {
    // in the order of BinaryOp
    {"+", 4},  {"-", 4}, {"*", 5},  {"/", 5}, {"%", 5},  {"**", 7},  {"@", 5},  {"==", 3},
    {"!=", 3}, {"<", 3}, {"<=", 3}, {">", 3}, {">=", 3}, {"and", 1}, {"or", 0},
};
constexpr std::string_view kComprehensions[] = {
    // in the order of Comprehension
    "gen", "sum", "prod", "max", "min", "argmax", "argmin", "and", "or", "exists",
};

}  // namespace

std::string_view Spelling(BinaryOp op) { return kOperators[static_cast<size_t>(op)].text; }
std::string_view Spelling(Comprehension c) { return kComprehensions[static_cast<size_t>(c)]; }
int Binding(BinaryOp op) { return kOperators[static_cast<size_t>(op)].binding; }

}  // namespace pullback::lang
