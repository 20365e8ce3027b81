// What a syntax error says beside what was expected and found, where the mistake is a common one.
#include "core/lang/habits.h"
#include "core/lang/parser.h"

namespace pullback::lang {

// The token under the cursor follows the one before without a blank.
bool Parser::Touches() const { return at_ > 0 && Last().span.end == Peek().span.begin; }

std::string Parser::AdviceForItem() const {
  const Tok found = Peek().kind;
  const bool constant = found == Tok::kLet || found == Tok::kVar;
  return constant ? "; names are defined inside of functions" : HabitOfSyntax(Text(Peek()));
}

std::string Parser::AdviceBehind() const {
  const bool fields = Peek().kind == Tok::kLBrace && Last().kind == Tok::kName;
  return fields ? "; a struct is made by S(a, b)" : AdviceHere();
}

std::string Parser::AdviceForBlock() const {
  if (at_ > 0 && Last().kind == Tok::kElse) return "; with a condition it is 'else if'";
  if (Peek().kind == Tok::kAssign) return "; '==' compares";
  if (Peek().kind == Tok::kDotDot) return "; a range goes by ones: of every other it is 2 * i";
  return "; a block stands between { and }";
}

std::string Parser::AdviceHere() const {
  const Tok found = Peek().kind;
  const bool twice = Touches() && Last().kind == found;
  if (found == Tok::kSlash &&
      (twice || Peek(1).kind == Tok::kSlash || Peek(1).kind == Tok::kStar)) {
    return "; a comment begins with '#', and '/' divides integers too";
  }
  if (twice && found == Tok::kPlus) return "; write i += 1";
  if (found == Tok::kColon && Peek(1).kind == Tok::kAssign)
    return "; a name is defined by let y = x, or var y = x";
  if (found == Tok::kDot && (Peek(1).kind == Tok::kInt || Peek(1).kind == Tok::kFloat))
    return "; a number begins with a digit: 0.5";
  if (found == Tok::kLBracket && IsScalarType(Last().kind)) return "; sizes stand in front: [n]f64";
  const std::string before = at_ > 0 ? HabitOfSyntax(Text(Last())) : "";
  return before.empty() || Last().kind != Tok::kName ? HabitOfSyntax(Text(Peek())) : before;
}

}  // namespace pullback::lang
