#include "core/lang/layout.h"

#include <cstdint>
#include <utility>

namespace pullback::lang {
namespace {

constexpr int kIndentStep = 2;

struct Command {
  const Layout* layout;
  int indent;
  bool flat;
};

class Renderer {
 public:
  explicit Renderer(int width) : width_(width) {}

  std::string Run(const Layout& root) {
    stack_.push_back({&root, 0, false});
    while (!stack_.empty()) {
      Command c = stack_.back();
      stack_.pop_back();
      Print(c);
    }
    return std::move(out_);
  }

 private:
  void Print(const Command& c) {
    switch (c.layout->kind) {
      case Layout::Kind::kText:
      case Layout::Kind::kComment: return Put(c.layout->text, c.indent);
      case Layout::Kind::kLine: return c.flat ? Put(c.layout->text, c.indent) : NewLine();
      case Layout::Kind::kHardLine: return NewLine();
      case Layout::Kind::kConcat: return Push(c, c.indent, c.flat);
      case Layout::Kind::kIndent: return Push(c, c.indent + kIndentStep, c.flat);
      case Layout::Kind::kGroup:
        return Push(c, c.indent, c.flat || (!c.layout->hard && Fits(*c.layout, c.indent)));
    }
  }

  void Push(const Command& c, int indent, bool flat) {
    const std::vector<Layout>& parts = c.layout->parts;
    for (size_t i = parts.size(); i-- > 0;) stack_.push_back({&parts[i], indent, flat});
  }

  void Put(const std::string& s, int indent) {
    if (s.empty()) return;
    if (line_empty_) {
      out_.append(static_cast<size_t>(indent), ' ');
      column_ = indent;
      line_empty_ = false;
    }
    out_ += s;
    column_ += static_cast<int>(s.size());
  }

  void NewLine() {
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    out_ += '\n';
    column_ = 0;
    line_empty_ = true;
  }

  // Whether `group` printed flat, and what follows it up to the next possible end of line, stays
  // within the width.
  bool Fits(const Layout& group, int indent) const {
    int room = width_ - (line_empty_ ? indent : column_);
    std::vector<Command> todo = {{&group, indent, true}};
    size_t rest = stack_.size();
    while (room >= 0) {
      if (todo.empty()) {
        if (rest == 0) return true;
        todo.push_back(stack_[--rest]);
      }
      Command c = todo.back();
      todo.pop_back();
      switch (c.layout->kind) {
        case Layout::Kind::kComment: break;
        case Layout::Kind::kHardLine: return true;
        case Layout::Kind::kLine:
          if (!c.flat) return true;
          [[fallthrough]];
        case Layout::Kind::kText: room -= static_cast<int>(c.layout->text.size()); break;
        default:
          for (size_t i = c.layout->parts.size(); i-- > 0;) {
            todo.push_back({&c.layout->parts[i], c.indent, c.flat});
          }
      }
    }
    return false;
  }

  const int width_;
  int column_ = 0;
  bool line_empty_ = true;
  std::vector<Command> stack_;
  std::string out_;
};

Layout Make(Layout::Kind kind, std::string text, std::vector<Layout> parts) {
  Layout l{kind, kind == Layout::Kind::kHardLine, std::move(text), std::move(parts)};
  for (const Layout& p : l.parts) l.hard = l.hard || p.hard;
  return l;
}

}  // namespace

Layout Text(std::string s) { return Make(Layout::Kind::kText, std::move(s), {}); }
Layout CommentText(std::string s) { return Make(Layout::Kind::kComment, std::move(s), {}); }
Layout Line(std::string flat) { return Make(Layout::Kind::kLine, std::move(flat), {}); }
Layout HardLine() { return Make(Layout::Kind::kHardLine, "", {}); }
Layout BlankLine() { return Concat(Parts(HardLine(), HardLine())); }

Layout Concat(std::vector<Layout> parts) {
  return Make(Layout::Kind::kConcat, "", std::move(parts));
}
Layout Indent(std::vector<Layout> parts) {
  return Make(Layout::Kind::kIndent, "", std::move(parts));
}
Layout Group(std::vector<Layout> parts) { return Make(Layout::Kind::kGroup, "", std::move(parts)); }

std::string Render(const Layout& layout, int width) { return Renderer(width).Run(layout); }

}  // namespace pullback::lang
