// Format(): functions, blocks, statements, and where comments and empty lines go.
#include <algorithm>

#include "core/lang/each.h"
#include "core/lang/formatter.h"
#include "core/lang/lang.h"
#include "core/lang/spelling.h"

namespace pullback::lang {
namespace {

constexpr int kWidth = 100;
// A block on one line stays there with up to this many statements.
constexpr size_t kMostOnOneLine = 3;

bool IsOneLine(const std::string& s) { return s.find('\n') == std::string::npos; }

// Values that break inside themselves stay on the line of the '='.
bool Hugs(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kUnary:
    case Expr::Kind::kBinary: return e.parenthesised;
    default: return true;
  }
}

}  // namespace

std::string Format(const Program& program) { return Formatter(program).Run(); }

// --- the file

std::vector<Formatter::ItemText> Formatter::FileItems() const {
  std::vector<ItemText> items;
  for (size_t i = 0; i < p_.user_functions; ++i) {
    const Function& f = *p_.functions[i];
    items.push_back({KeywordBegin(f.span, "fn"), f.body.span.begin, f.body.span.end, &f, nullptr});
  }
  for (const auto& s : p_.structs) {
    items.push_back(
        {KeywordBegin(s->span, "struct"), s->body.begin, s->body.end, nullptr, s.get()});
  }
  std::sort(items.begin(), items.end(),
            [](const ItemText& a, const ItemText& b) { return a.body_begin < b.body_begin; });
  return items;
}

std::string Formatter::Run() {
  uint32_t from = 0;
  std::string previous = "\n";  // the item before, if nothing stands between
  for (const ItemText& item : FileItems()) {
    std::string text =
        item.function ? FormatFunction(*item.function) : FormatStruct(*item.structure);
    bool first = true;
    for (const Comment* c : comments_.TakeIn(from, item.body_begin)) {
      bool tie = first && previous != "\n" && !IsOneLine(previous);
      AddText(c->text, tie || BlankBefore(c->offset));
      first = false;
    }
    bool apart = first && !(IsOneLine(previous) && IsOneLine(text));
    AddText(text, apart || BlankBefore(item.begin));
    from = item.body_end;
    if (const Comment* c = comments_.TakeTrailing(from)) {
      out_.insert(out_.size() - 1, "  " + c->text);
    }
    previous = text;
  }
  for (const Comment* c : comments_.TakeIn(from, UINT32_MAX))
    AddText(c->text, BlankBefore(c->offset));
  return std::move(out_);
}

void Formatter::AddText(const std::string& text, bool blank_before) {
  if (blank_before && !out_.empty()) out_ += '\n';
  out_ += text;
  out_ += '\n';
}

std::string Formatter::FormatFunction(const Function& f) {
  std::vector<Layout> params;
  for (const Param& p : f.params) {
    params.push_back(Line(params.empty() ? "" : " "));
    params.push_back(Concat(Parts(Text(p.name + ": "), TypeOf(p.type),
                                  Text(params.size() + 1 < 2 * f.params.size() ? "," : ""))));
  }
  std::string name = "fn " + f.name;
  for (const std::string& t : f.type_params) name += (&t == &f.type_params[0] ? "<" : ", ") + t;
  if (!f.type_params.empty()) name += ">";
  std::vector<Layout> header = Parts(Text(name + "("), Indent(std::move(params)));
  if (!f.params.empty()) header.push_back(Line(""));
  header.push_back(Text(f.has_result ? ") -> " : ")"));
  if (f.has_result) header.push_back(TypeOf(f.result));
  std::string rules;
  for (const auto& [mode, rule] :
       {std::pair("vjp ", &f.vjp_rule), std::pair("jvp ", &f.jvp_rule)}) {
    if (!rule->name.empty()) rules += (rules.empty() ? " with " : ", ") + (mode + rule->name);
  }
  if (!rules.empty()) header.push_back(Text(rules));
  Layout head = Group(std::move(header));
  return Render(Concat(Parts(std::move(head), Text(" "), Group(Parts(Body(f.body))))), kWidth);
}

// Where `keyword` stands; the name's place if a comment is between.
uint32_t Formatter::KeywordBegin(const Span& name, std::string_view keyword) const {
  std::string_view before = Source(0, name.begin);
  size_t last = before.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos || last + 1 < keyword.size()) return name.begin;
  size_t begin = last + 1 - keyword.size();
  return before.substr(begin, keyword.size()) == keyword ? static_cast<uint32_t>(begin)
                                                         : name.begin;
}

std::string_view Formatter::Source(uint32_t begin, uint32_t end) const {
  if (begin > end || end > p_.text.size()) return "";
  return std::string_view(p_.text).substr(begin, end - begin);
}

bool Formatter::BlankBefore(uint32_t offset) const {
  std::string_view before = Source(0, offset);
  size_t last = before.find_last_not_of(" \t\r\n");
  std::string_view gap = last == std::string_view::npos ? before : before.substr(last + 1);
  return std::count(gap.begin(), gap.end(), '\n') > 1;
}

// --- blocks

bool Formatter::IsCompound(const Stmt& s) {
  return s.kind == Stmt::Kind::kIf || s.kind == Stmt::Kind::kWhile || s.kind == Stmt::Kind::kFor;
}

// Whether the block must have its own lines: it had them, or holds too much for one.
bool Formatter::StaysOpen(const Block& b) const {
  if (Source(b.span.begin, b.span.end).find('\n') != std::string_view::npos) return true;
  size_t count = static_cast<size_t>(std::count_if(
      b.stmts.begin(), b.stmts.end(), [](const StmtPtr& s) { return !IsImplied(*s); }));
  if (b.result) ++count;
  bool compound =
      std::any_of(b.stmts.begin(), b.stmts.end(), [](const StmtPtr& s) { return IsCompound(*s); });
  return count > kMostOnOneLine || (compound && count > 1);
}

Layout Formatter::Body(const Block& b) {
  bool empty = !b.result && std::all_of(b.stmts.begin(), b.stmts.end(),
                                        [](const StmtPtr& s) { return IsImplied(*s); });
  if (empty && !comments_.AnyIn(b.span.begin, b.span.end)) return Text("{}");
  bool open = StaysOpen(b);
  std::vector<Layout> head = Parts(Text("{"));
  uint32_t from = b.span.begin + 1;
  if (const Comment* c = comments_.TakeTrailing(from)) head.push_back(CommentText("  " + c->text));
  std::vector<Layout> lines;
  for (Item& item : Items(b, from)) {
    Layout separator = lines.empty() ? Line(" ") : Line("; ");
    if (open) separator = item.blank_before && !lines.empty() ? BlankLine() : HardLine();
    lines.push_back(std::move(separator));
    lines.push_back(std::move(item.layout));
  }
  head.push_back(Indent(std::move(lines)));
  head.push_back(open ? HardLine() : Line(" "));
  head.push_back(Text("}"));
  return Concat(std::move(head));
}

std::vector<Formatter::Item> Formatter::Items(const Block& b, uint32_t from) {
  std::vector<Item> items;
  for (const StmtPtr& s : b.stmts) {
    if (IsImplied(*s)) {
      each_ = s.get();
    } else {
      AddItem(items, Statement(*s), s->span, from);
    }
  }
  if (b.result) AddItem(items, Expression(*b.result), b.result->span, from);
  AddComments(items, comments_.TakeIn(from, b.span.end));
  return items;
}

// A statement with the comments before it, those inside it that no block took (they move in front),
// and the one behind it.
void Formatter::AddItem(std::vector<Item>& items, Layout layout, const Span& span, uint32_t& from) {
  AddComments(items, comments_.TakeIn(from, span.begin));
  bool blank = BlankBefore(span.begin);
  for (const Comment* c : comments_.TakeIn(span.begin, span.end)) {
    items.push_back({CommentText(c->text), blank, true});
    blank = false;
  }
  if (const Comment* c = comments_.TakeTrailing(span.end)) {
    layout = Concat(Parts(std::move(layout), CommentText("  " + c->text)));
  }
  items.push_back({std::move(layout), blank, false});
  from = span.end;
}

void Formatter::AddComments(std::vector<Item>& items, const std::vector<const Comment*>& comments) {
  for (const Comment* c : comments) {
    items.push_back({CommentText(c->text), BlankBefore(c->offset), true});
  }
}

// --- statements

Layout Formatter::Statement(const Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::kLet:
    case Stmt::Kind::kVar:
    case Stmt::Kind::kAssign: return Assignment(s);
    case Stmt::Kind::kIf: return Arms(s.arms);
    case Stmt::Kind::kWhile:
      return Concat(
          Parts(Text("while "), Condition(*s.value), Snapshots(s), Group(Parts(Body(s.body)))));
    case Stmt::Kind::kFor: return For(s);
    case Stmt::Kind::kBreak: return Text("break");
    case Stmt::Kind::kContinue: return Text("continue");
    case Stmt::Kind::kCall: return Group(Parts(Expression(*s.value)));
    case Stmt::Kind::kReturn: break;
  }
  if (!s.value) return Text("return");
  return Concat(Parts(Text("return "), Group(Parts(Expression(*s.value)))));
}

Layout Formatter::For(const Stmt& s) {
  Layout head = IsEachLoop(s) ? Concat(Parts(Text(s.body.stmts[0]->targets[0].name + " in "),
                                             Expression(*each_->value, kSumBinding)))
                              : BinderOf(s.binder);
  return Concat(
      Parts(Text("for "), std::move(head), Text(" "), Snapshots(s), Group(Parts(Body(s.body)))));
}

Layout Formatter::Snapshots(const Stmt& s) {
  if (!s.snapshots) return Text("");
  return Concat(Parts(Text("checkpoint("), Expression(*s.snapshots), Text(") ")));
}

Layout Formatter::Assignment(const Stmt& s) {
  std::vector<Layout> parts;
  if (s.kind != Stmt::Kind::kAssign)
    parts.push_back(Text(s.kind == Stmt::Kind::kLet ? "let " : "var "));
  parts.push_back(TargetList(s));
  if (s.annotation) {
    parts.push_back(Text(": "));
    parts.push_back(TypeOf(*s.annotation));
  }
  std::string op = s.augmented ? std::string(Spelling(s.augmented_op)) : "";
  parts.push_back(Text(" " + op + "="));
  const Expr& value = s.augmented ? *s.value->operands[1] : *s.value;
  if (Hugs(value)) {
    parts.push_back(Text(" "));
    parts.push_back(Values(s));
  } else {
    parts.push_back(Group(Parts(Indent(Parts(Line(" "), Values(s))))));
  }
  return Concat(std::move(parts));
}

// Several targets of an assignment take several values; `let` and `var` take a tuple.
Layout Formatter::Values(const Stmt& s) {
  if (s.augmented) return Expression(*s.value->operands[1]);
  bool parallel = s.kind == Stmt::Kind::kAssign && s.targets.size() > 1;
  if (!parallel || s.value->kind != Expr::Kind::kTuple) return Expression(*s.value);
  return Indent(Parts(List(s.value->operands, true)));
}

Layout Formatter::TargetList(const Stmt& s) {
  bool tuple = s.kind != Stmt::Kind::kAssign && s.targets.size() > 1;
  std::vector<Layout> parts = Parts(Text(tuple ? "(" : ""));
  for (const Target& t : s.targets) {
    if (&t != &s.targets[0]) parts.push_back(Text(", "));
    parts.push_back(Text(t.name));
    parts.push_back(Path(t.path, 0));
  }
  parts.push_back(Text(tuple ? ")" : ""));
  return Concat(std::move(parts));
}

// Brackets around a whole condition go.
Layout Formatter::Condition(const Expr& e) {
  return Concat(Parts(Group(Parts(Indent(Parts(Bare(e))))), Text(" ")));
}

Layout Formatter::Arms(const std::vector<CondArm>& arms) {
  std::vector<Layout> parts;
  for (const CondArm& arm : arms) {
    parts.push_back(Text(parts.empty() ? "if " : arm.cond ? " else if " : " else "));
    if (arm.cond) parts.push_back(Condition(*arm.cond));
    parts.push_back(Body(arm.body));
  }
  return Group(std::move(parts));
}

}  // namespace pullback::lang
