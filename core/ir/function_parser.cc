#include "core/ir/function_parser.h"

namespace pullback::ir::internal {

namespace {

// `<Node>` of a list or box
bool ParseRecordName(Cursor& c, const RecordNames& records, uint32_t& record) {
  if (!c.Expect("<")) return false;
  if (!c.Is(Token::Kind::kWord)) return c.Fail("expected the name of a record");
  const auto it = records.find(c.Peek().text);
  if (it == records.end()) return c.Fail("there is no record `" + c.Peek().text + "`");
  record = it->second;
  c.Take();
  return c.Expect(">");
}

}  // namespace

bool ParseType(Cursor& c, const RecordNames& records, Type& t) {
  if (c.Accept("tape")) {
    t = Type::Tape();
    return true;
  }
  for (const bool list : {true, false}) {
    if (!c.Accept(list ? "list" : "box")) continue;
    t = list ? Type::List(0) : Type::Box(0);
    return ParseRecordName(c, records, t.record);
  }
  int rank = 0;
  if (c.Accept("[")) {
    do {
      if (!c.Expect("*")) return false;
      if (++rank > 255) return c.Fail("a rank is at most 255");
    } while (c.Accept(","));
    if (!c.Expect("]")) return false;
  }
  for (DType d : {DType::kF64, DType::kF32, DType::kI64, DType::kBool}) {
    if (!c.Accept(DTypeName(d))) continue;
    t = rank > 0 ? Type::Array(d, rank) : Type::Scalar(d);
    return true;
  }
  return c.Fail("expected a type: f64, f32, i64, bool, [*]f64, tape, list<R> or box<R>");
}

bool FunctionParser::ParseType(Type& t) { return internal::ParseType(c_, records_, t); }

// `(%x: f64, %n: i64)`
bool FunctionParser::ParseParams(std::vector<Value>& params) {
  if (!c_.Expect("(")) return false;
  if (c_.Accept(")")) return true;
  do {
    if (!c_.Is(Token::Kind::kValue)) return c_.Fail("expected a parameter such as `%x: f64`");
    const Token name = c_.Take();
    Type t;
    Value v;
    if (!c_.Expect(":") || !ParseType(t) || !Define(name, t, v)) return false;
    params.push_back(v);
  } while (c_.Accept(","));
  return c_.Expect(")");
}

bool FunctionParser::ParseHeader() {
  if (!c_.Expect("fn")) return false;
  if (!c_.Is(Token::Kind::kFunction)) return c_.Fail("expected a function name such as `@f`");
  f_.name = c_.Take().text;
  std::vector<Value> params;
  if (!ParseParams(params)) return false;
  f_.blocks.emplace_back().params = params;
  if (!c_.Expect("->")) return false;
  const bool many = c_.Accept("(");
  if (many && c_.Accept(")")) return ParseRules();
  do {
    if (!ParseType(f_.results.emplace_back())) return false;
  } while (many && c_.Accept(","));
  return (!many || c_.Expect(")")) && ParseRules();
}

// `vjp @g jvp @h`
bool FunctionParser::ParseRules() {
  if (c_.Accept("vjp") && !ParseCallee(f_.vjp_rule)) return false;
  return !c_.Accept("jvp") || ParseCallee(f_.jvp_rule);
}

uint32_t FunctionParser::LabelId(const Token& label) {
  const auto [it, fresh] = label_ids_.try_emplace(label.text, labels_.size());
  if (fresh) labels_.push_back({label.text, label.span});
  return it->second;
}

bool FunctionParser::ParseBlock() {
  if (!c_.Is(Token::Kind::kWord)) return c_.Fail("expected a block such as `b1(%x: f64):`");
  const Token name = c_.Take();
  const bool is_entry = labels_.empty();
  Label& label = labels_[LabelId(name)];
  if (label.block != UINT32_MAX) return c_.FailAt(name.span, "this block is defined twice");
  if (is_entry) {
    label.block = 0;  // made with the header, which has its parameters
  } else {
    label.block = static_cast<uint32_t>(f_.blocks.size());
    f_.blocks.emplace_back();
  }
  const uint32_t block = label.block;
  if (c_.Is("(")) {
    if (is_entry) return c_.Fail("the parameters of the first block are the function's");
    std::vector<Value> params;
    if (!ParseParams(params)) return false;
    f_.blocks[block].params = params;
  }
  if (!c_.Expect(":")) return false;
  return ParseBlockBody(f_.blocks[block]);
}

bool FunctionParser::ParseBlockBody(Block& block) {
  out_ = &block.insts;
  while (true) {
    while (c_.Accept(";")) {
    }
    if (c_.Is("}") || c_.Is("jump") || c_.Is("br") || c_.Is("ret")) break;
    // The next block, though this one has no terminator: for the verifier to find.
    const bool op = c_.Is(Token::Kind::kValue) || FindOp(c_.Peek().text);
    if (!op && c_.Is(Token::Kind::kWord) && StartsBlock()) break;
    if (!ParseInst()) return false;
  }
  return ParseTerminator(block.term);
}

// `word:` or `word(%x:` or `word():`
bool FunctionParser::StartsBlock() const {
  const auto is = [&](size_t ahead, const char* text) { return c_.Peek(ahead).text == text; };
  return is(1, ":") || (is(1, "(") && (is(3, ":") || is(2, ")")));
}

bool FunctionParser::ParseEdge(Edge& e) {
  if (!c_.Is(Token::Kind::kWord)) return c_.Fail("expected a block such as `b1(%x)`");
  e.block = LabelId(c_.Take());
  if (!c_.Accept("(") || c_.Accept(")")) return true;
  return ParseOperands(e.args) && c_.Expect(")");
}

bool FunctionParser::ParseSnapshots(Terminator& t) {
  return !c_.Accept("checkpoint") || ParseOperand(t.snapshots);
}

bool FunctionParser::ParseTerminator(Terminator& t) {
  bool ok = true;
  if (c_.Accept("jump")) {
    t.kind = Terminator::Kind::kJump;
    ok = ParseEdge(t.edges.emplace_back()) && ParseSnapshots(t);
  } else if (c_.Accept("br")) {
    t.kind = Terminator::Kind::kBranch;
    t.edges.resize(2);
    ok = ParseOperand(t.cond) && c_.Expect(",") && ParseEdge(t.edges[0]) && c_.Expect(",") &&
         ParseEdge(t.edges[1]) && ParseSnapshots(t);
  } else if (c_.Accept("ret")) {
    t.kind = Terminator::Kind::kReturn;
    ok = !StartsOperand() || ParseOperands(t.results);
  }
  while (c_.Accept(";")) {
  }
  return ok;
}

bool FunctionParser::ResolveLabels() {
  for (const Label& l : labels_) {
    if (l.block == UINT32_MAX) {
      return c_.FailAt(l.first_use, "there is no block `" + l.name + "`");
    }
  }
  for (Block& b : f_.blocks) {
    for (Edge& e : b.term.edges) e.block = labels_[e.block].block;
  }
  return true;
}

bool FunctionParser::CheckAllDefined() {
  const std::pair<const std::string, Span>* first = nullptr;
  for (const auto& use : open_) {
    if (!first || use.second.begin < first->second.begin) first = &use;
  }
  return !first || c_.FailAt(first->second, "`%" + first->first + "` is not defined");
}

bool FunctionParser::Parse() {
  if (!ParseHeader() || !c_.Expect("{")) return false;
  while (!c_.Is("}")) {
    if (!ParseBlock()) return false;
  }
  c_.Take();
  return ResolveLabels() && CheckAllDefined();
}

}  // namespace pullback::ir::internal
