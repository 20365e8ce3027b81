// Laying out text in lines of bounded width: Wadler, "A prettier printer", with Oppen's greedy
// choice. A group is printed on one line if it fits up to the next place where a line may end.
#pragma once

#include <string>
#include <vector>

namespace pullback::lang {

struct Layout {
  enum class Kind : uint8_t {
    kText,
    kComment,   // text that does not count as width
    kLine,      // `text` if its group is flat, else a new line
    kHardLine,  // a new line; its groups are never flat
    kConcat,
    kIndent,  // lines inside are indented by one step more
    kGroup,
  };
  Kind kind = Kind::kConcat;
  bool hard = false;  // holds a kHardLine
  std::string text;
  std::vector<Layout> parts;
};

Layout Text(std::string s);
Layout CommentText(std::string s);
Layout Line(std::string flat);
Layout HardLine();
Layout BlankLine();  // ends the line and leaves one empty
Layout Concat(std::vector<Layout> parts);
Layout Indent(std::vector<Layout> parts);
Layout Group(std::vector<Layout> parts);

// No line carries trailing blanks; there is no final line end.
std::string Render(const Layout& layout, int width);

// {a, b, c} for vectors of things that only move.
template <typename... T>
std::vector<Layout> Parts(T&&... parts) {
  std::vector<Layout> v;
  v.reserve(sizeof...(parts));
  (v.push_back(std::forward<T>(parts)), ...);
  return v;
}

}  // namespace pullback::lang
