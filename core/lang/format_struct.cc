// Structs: on one line where they were on one, else a field a line, with the comments between.
#include "core/lang/formatter.h"

namespace pullback::lang {
namespace {

constexpr int kWidth = 100;

}  // namespace

std::string Formatter::FormatStruct(const Struct& s) {
  bool open = Source(s.body.begin, s.body.end).find('\n') != std::string_view::npos;
  std::string text = FormatStruct(s, open);  // without line ends there are no comments
  return open || text.find('\n') == std::string::npos ? text : FormatStruct(s, true);
}

std::string Formatter::FormatStruct(const Struct& s, bool open) {
  std::vector<Item> items;
  uint32_t from = s.body.begin + 1;
  const Comment* behind = comments_.TakeTrailing(from);
  for (const Field& f : s.fields) {
    AddComments(items, comments_.TakeIn(from, f.span.begin));
    bool blank = BlankBefore(f.span.begin);
    bool comma = open || &f != &s.fields.back();
    std::vector<Layout> parts = Parts(Text(f.name + ": "), TypeOf(f.type), Text(comma ? "," : ""));
    if (const Comment* c = comments_.TakeTrailing(f.type.span.end)) {
      parts.push_back(CommentText("  " + c->text));
    }
    items.push_back({Concat(std::move(parts)), blank});
    from = f.type.span.end;
  }
  AddComments(items, comments_.TakeIn(from, s.body.end));
  std::vector<Layout> head = Parts(Text("struct " + s.name + " {"));
  if (behind) head.push_back(CommentText("  " + behind->text));
  std::vector<Layout> lines;
  for (Item& item : items) {
    lines.push_back(!open                                 ? Line(" ")
                    : item.blank_before && !lines.empty() ? BlankLine()
                                                          : HardLine());
    lines.push_back(std::move(item.layout));
  }
  head.push_back(Indent(std::move(lines)));
  head.push_back(open ? HardLine() : Line(" "));
  head.push_back(Text("}"));
  return Render(Group(std::move(head)), kWidth);
}

}  // namespace pullback::lang
