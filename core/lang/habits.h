// What people write who come from other languages, and what is written here: the ends of messages.
#pragma once

#include <string>
#include <string_view>

namespace pullback::lang {

// "; here it is 'f64'" of a word such as `double`, a name, type or function that is not known; or nothing.
std::string HabitOfWord(std::string_view word);
// Of a word that stands where the grammar has none, such as `elif`.
std::string HabitOfSyntax(std::string_view word);
// Of x.word, where x has no fields.
std::string HabitOfField(std::string_view word);
// Of a character that begins nothing.
std::string HabitOfCharacter(char c);

}  // namespace pullback::lang
