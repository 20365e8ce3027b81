#include "core/ir/parser.h"

#include "core/ir/function_parser.h"
#include "core/ir/op_types.h"

namespace pullback::ir {
namespace {

using internal::CalleeName;
using internal::Cursor;
using internal::FunctionParser;

class ModuleParser {
 public:
  explicit ModuleParser(const std::string& text) : c_(Lex(text)) {}

  bool Parse() {
    if (!DeclareRecords()) return false;
    while (c_.Accept("record")) {
      if (!ParseRecord()) return false;
    }
    if (c_.Accept("entry") && !ParseEntry()) return false;
    while (!c_.Is(Token::Kind::kEnd)) {
      if (!ParseFunction()) return false;
    }
    return ResolveEntry() && ResolveCallees();
  }

  const std::optional<Diagnostic>& error() const { return c_.error(); }
  Module TakeModule() { return std::move(m_); }

 private:
  // Records may name each other in any order, so their names are known before anything is parsed.
  bool DeclareRecords() {
    const std::vector<Token>& tokens = c_.tokens();
    for (size_t i = 0; i + 2 < tokens.size() && tokens[i].text == "record"; ++i) {
      const Token& name = tokens[i + 1];
      const auto index = static_cast<uint32_t>(m_.records.size());
      if (!records_.try_emplace(name.text, index).second) {
        return c_.FailAt(name.span, "record `" + name.text + "` is defined twice");
      }
      m_.records.emplace_back().name = name.text;
      while (i + 1 < tokens.size() && tokens[i].text != "}") ++i;
    }
    return true;
  }

  // `Node { value: [*]f64, children: list<Node> }`
  bool ParseRecord() {
    if (!c_.Is(Token::Kind::kWord) || !records_.contains(c_.Peek().text)) {
      return c_.Fail("expected the name of a record");
    }
    Record& record = m_.records[records_.at(c_.Take().text)];
    if (!c_.Expect("{")) return false;
    if (c_.Accept("}")) return true;
    do {
      if (!c_.Is(Token::Kind::kWord)) return c_.Fail("expected a field such as `x: f64`");
      record.field_names.push_back(c_.Take().text);
      if (!c_.Expect(":") || !internal::ParseType(c_, records_, record.fields.emplace_back())) {
        return false;
      }
    } while (c_.Accept(","));
    return c_.Expect("}");
  }

  bool ParseEntry() {
    if (!c_.Is(Token::Kind::kFunction)) return c_.Fail("expected a function name such as `@f`");
    entry_ = CalleeName{c_.Peek().text, c_.Peek().span};
    c_.Take();
    return true;
  }

  bool ParseFunction() {
    auto f = std::make_unique<Function>();
    const Span name = c_.Peek(1).span;
    if (!FunctionParser(c_, records_, *f, callees_).Parse()) return false;
    const auto index = static_cast<uint32_t>(m_.functions.size());
    if (!functions_.try_emplace(f->name, index).second) {
      return c_.FailAt(name, "`@" + f->name + "` is defined twice");
    }
    m_.functions.push_back(std::move(f));
    return true;
  }

  bool Find(const CalleeName& name, uint32_t& index) {
    const auto it = functions_.find(name.name);
    if (it == functions_.end()) {
      return c_.FailAt(name.span, "there is no function `@" + name.name + "`");
    }
    index = it->second;
    return true;
  }

  bool ResolveEntry() { return !entry_ || Find(*entry_, m_.entry); }

  bool ResolveCallees() {
    bool ok = true;
    for (auto& f : m_.functions) {
      ForEachCallee(*f, [&](uint32_t& callee) { ok = ok && Find(callees_[callee], callee); });
    }
    if (!ok) return false;
    for (auto& f : m_.functions) {
      for (Block& b : f->blocks) CompleteWrt(b.insts);
    }
    return true;
  }

  // wrt has an entry for every parameter of the callee, now that it is known.
  void CompleteWrt(std::vector<Inst>& list) {
    for (Inst& i : list) {
      if (i.each) CompleteWrt(i.each->body);
      if (i.op != Op::Jvp && i.op != Op::Vjp) continue;
      const size_t params = m_.Get(i.callee).params().size();
      if (i.wrt.size() < params) i.wrt.resize(params);
    }
  }

  Cursor c_;
  Module m_;
  std::optional<CalleeName> entry_;
  std::vector<CalleeName> callees_;
  internal::RecordNames records_;
  absl::flat_hash_map<std::string, uint32_t> functions_;
};

// Fills in what is known about the results of `list`; true when that was news.
bool DeduceTypes(const std::vector<Inst>& list, Function& f, const Module& m) {
  bool news = false;
  for (const Inst& i : list) {
    if (i.each) news |= DeduceTypes(i.each->body, f, m);
    const std::vector<Type> types = ResultTypes(i, f, m);
    for (size_t r = 0; r < std::min(types.size(), i.results.size()); ++r) {
      Type& t = f.values[i.results[r].id];
      if (t != Type{} || types[r] == Type{}) continue;
      t = types[r];
      news = true;
    }
  }
  return news;
}

// A use may stand above its definition in the text, so one pass need not be enough; what stays
// without a type is for the verifier to find.
void DeduceTypes(Function& f, const Module& m) {
  bool news = true;
  while (news) {
    news = false;
    for (const Block& b : f.blocks) news |= DeduceTypes(b.insts, f, m);
  }
}

}  // namespace

StatusOr<Module> ParseModule(const std::string& text) {
  ModuleParser parser(text);
  if (!parser.Parse()) {
    Diagnostic d = *parser.error();
    d.excerpt = MakeExcerpt(text, d.span);
    std::string message = d.message;
    return Status(Code::kInvalidArgument, "IR_SYNTAX", std::move(message), {std::move(d)});
  }
  Module m = parser.TakeModule();
  for (auto& f : m.functions) DeduceTypes(*f, m);
  return m;
}

}  // namespace pullback::ir
