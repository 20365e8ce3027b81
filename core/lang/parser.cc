// Parse(): the text's functions and their types.
#include <algorithm>

#include "core/lang/parser.h"

namespace pullback::lang {
namespace {

std::string Most(int n) { return "at most " + std::to_string(n); }

int CountLeaves(const TypeExpr& t) {
  if (t.kind != TypeExpr::Kind::kTuple) return 1;
  int n = 0;
  for (const TypeExpr& e : t.elements) n += CountLeaves(e);
  return n;
}

// Whether a value of the type is or has a function whose code the checker must know; in lists and
// boxes it is known when the program runs.
bool HasFunction(const TypeExpr& t) {
  if (t.kind == TypeExpr::Kind::kList || t.kind == TypeExpr::Kind::kBox) return false;
  return t.kind == TypeExpr::Kind::kFunction ||
         std::any_of(t.elements.begin(), t.elements.end(), HasFunction);
}

bool IsTemplate(const Function& f) {
  return !f.type_params.empty() || (f.has_result && HasFunction(f.result)) ||
         std::any_of(f.params.begin(), f.params.end(),
                     [](const Param& p) { return HasFunction(p.type); });
}

}  // namespace

StatusOr<Program> Parse(const std::string& text, const Limits& limits) {
  // Positions are 32 bits wide, whatever the limit says.
  if (text.size() > limits.max_source_bytes || text.size() >= UINT32_MAX) {
    return Status(Code::kInvalidArgument, "SOURCE_TOO_LARGE",
                  "the program has " + std::to_string(text.size()) + " bytes; at most " +
                      std::to_string(limits.max_source_bytes) + " are allowed");
  }
  return Parser(text, limits).Run();
}

StatusOr<Program> Parser::Run() {
  Program program;
  while (Peek().kind != Tok::kEnd && !stopped_) {
    if (At(Tok::kStruct)) {
      program.structs.push_back(ParseStruct());
    } else {
      program.functions.push_back(ParseFunction());
    }
    if (panic_) SkipToItem();
  }
  if (program.functions.empty() && diagnostics_.empty())
    ErrorHere("a program has at least one function");
  if (!diagnostics_.empty()) return ErrorStatus();
  program.text = text_;
  program.user_functions = program.functions.size();
  program.comments = std::move(comments_);
  return program;
}

void Parser::SkipToItem() {
  if (stopped_) return;
  panic_ = false;
  while (!AtItem() && !At(Tok::kEnd)) Take();
}

std::unique_ptr<Struct> Parser::ParseStruct() {
  auto s = std::make_unique<Struct>();
  Take();
  s->span = Peek().span;
  s->name = TakeName("a name after 'struct'");
  const Token& open = Peek();
  Open(Tok::kLBrace, " before the fields");
  if (At(Tok::kRBrace)) ErrorHere("a struct has at least one field");
  while (!panic_ && !At(Tok::kRBrace)) {
    Field f;
    f.span = Peek().span;
    f.name = TakeName("a field's name");
    if (f.name == "T") Error(f.span, "a field cannot be named 'T': x.T is the transpose");
    if (Expect(Tok::kColon, " and a type after the field's name")) f.type = ParseType();
    s->fields.push_back(std::move(f));
    if (s->fields.size() > static_cast<size_t>(limits_.max_tuple)) {
      Limit("TYPE_TOO_LARGE", Peek().span,
            "too many fields in a struct: " + Most(limits_.max_tuple) + " are allowed");
    }
    if (!Accept(Tok::kComma)) break;
  }
  Close(Tok::kLBrace);
  s->body = SpanFrom(open);
  return s;
}

std::unique_ptr<Function> Parser::ParseFunction() {
  auto f = std::make_unique<Function>();
  if (At(Tok::kLater)) Unimplemented(Peek().span, Found());
  if (!Accept(Tok::kFn)) {
    ErrorHere("expected 'fn' or 'struct': a program is a list of functions and structs, found " +
              Found() + AdviceForItem());
    Take();  // SkipToItem must get on
    return f;
  }
  f->span = Peek().span;
  f->name = TakeName("a function name after 'fn'");
  if (At(Tok::kLess)) ParseTypeParams(*f);
  ParseParams(*f);
  if (Accept(Tok::kArrow)) {
    f->has_result = true;
    f->result = ParseType();
  } else if (At(Tok::kColon)) {
    ErrorHere("a result type is written after '->'");
  }
  if (At(Tok::kWith)) ParseRules(*f);
  f->is_template = IsTemplate(*f);
  if (!panic_) f->body = ParseBlock(BlockKind::kStatements);
  return f;
}

// with vjp g, jvp h
void Parser::ParseRules(Function& f) {
  Take();
  do {
    const bool vjp = Text(Peek()) == "vjp";
    if (!At(Tok::kName) || (!vjp && Text(Peek()) != "jvp")) {
      ErrorHere("expected 'vjp' or 'jvp' and the name of a function after 'with', found " +
                Found());
      return;
    }
    Take();
    DerivativeRule& rule = vjp ? f.vjp_rule : f.jvp_rule;
    rule.span = Peek().span;
    if (!rule.name.empty()) ErrorHere("'" + f.name + "' has two rules of this mode");
    rule.name = TakeName("the name of the rule's function");
  } while (!panic_ && Accept(Tok::kComma));
}

void Parser::ParseParams(Function& f) {
  Open(Tok::kLParen, " before the parameters");
  while (!panic_ && !At(Tok::kRParen)) {
    if (f.params.size() >= static_cast<size_t>(limits_.max_params)) {
      Limit("TYPE_TOO_LARGE", Peek().span,
            "too many parameters: " + Most(limits_.max_params) + " are allowed");
    }
    Param p;
    p.span = Peek().span;
    p.name = TakeName("a parameter name");
    if (Expect(Tok::kColon, " and a type after the parameter's name")) p.type = ParseType();
    f.params.push_back(std::move(p));
    if (!Accept(Tok::kComma)) break;
  }
  Close(Tok::kLParen);
}

DType Parser::TakeScalarType() {
  switch (Take().kind) {
    case Tok::kF32: return DType::kF32;
    case Tok::kI64: return DType::kI64;
    case Tok::kBool: return DType::kBool;
    default: return DType::kF64;
  }
}

TypeExpr Parser::ParseType() {
  TypeExpr t;
  const Token& first = Peek();
  if (AtScalarType()) {
    t.elem = TakeScalarType();
  } else if (At(Tok::kLBracket)) {
    ParseArrayType(t);
  } else if (At(Tok::kLParen)) {
    ParseTupleType(t);
  } else if (At(Tok::kList) || At(Tok::kBox)) {
    ParseElementType(t);
  } else if (At(Tok::kName)) {
    t.kind = TypeExpr::Kind::kStruct;
    t.name = Text(Take());
    if (t.name == "rel" && At(Tok::kLBracket)) ParseRelationType(t);
  } else if (At(Tok::kLater)) {
    Unimplemented(first.span, Found());
  } else if (At(Tok::kFn)) {
    ParseFunctionType(t);
  } else {
    ErrorHere("expected a type such as f64, [n]f64 or (f64, i64), found " + Found());
  }
  t.span = SpanFrom(first);
  return t;
}

void Parser::ParseArrayType(TypeExpr& t) {
  t.kind = TypeExpr::Kind::kArray;
  Open(Tok::kLBracket, "");
  const bool element = AtScalarType() && Peek(1).kind != Tok::kLParen;
  if (At(Tok::kRBracket) || element) ErrorHere("an array type names its sizes: [n]f64");
  while (!panic_ && !At(Tok::kRBracket)) {
    if (t.dims.size() >= static_cast<size_t>(limits_.max_rank)) {
      Limit("TYPE_TOO_LARGE", Peek().span,
            "too many axes: " + Most(limits_.max_rank) + " are allowed");
    }
    t.dims.push_back(ParseLevel(kSumLevel));
    if (!Accept(Tok::kComma)) break;
  }
  Close(Tok::kLBracket);
  if (At(Tok::kLBracket)) ErrorHere("write all axes in one pair of brackets: [n, m]f64");
  if (At(Tok::kName)) {
    t.name = Text(Take());
    return;
  }
  if (At(Tok::kLParen)) return ParseStructArray(t);
  if (!AtScalarType()) {
    ErrorHere("expected an element type: f64, f32, i64, bool, a struct or a tuple, found " +
              Found());
    return;
  }
  t.elem = TakeScalarType();
}

// [n](T, U); of one type in brackets, an array of that.
void Parser::ParseStructArray(TypeExpr& t) {
  Nest nest(*this);
  if (!nest.ok()) return;
  TypeExpr element = ParseType();
  if (element.kind == TypeExpr::Kind::kScalar) {
    t.elem = element.elem;
  } else if (element.kind == TypeExpr::Kind::kStruct) {
    t.name = element.name;
  } else if (element.kind != TypeExpr::Kind::kTuple) {
    Error(element.span, "the element of an array is a scalar, a struct or a tuple");
  } else {
    t.kind = TypeExpr::Kind::kStructArray;
    t.elements.push_back(std::move(element));
  }
}

// list T, box T.
void Parser::ParseElementType(TypeExpr& t) {
  Nest nest(*this);
  if (!nest.ok()) return;
  t.kind = Take().kind == Tok::kList ? TypeExpr::Kind::kList : TypeExpr::Kind::kBox;
  t.elements.push_back(ParseType());
}

// One type in brackets is that type.
void Parser::ParseTupleType(TypeExpr& t) {
  t.kind = TypeExpr::Kind::kTuple;
  Open(Tok::kLParen, "");
  if (At(Tok::kRParen))
    ErrorHere("a tuple has at least two elements; a function without result has no '->'");
  int leaves = 0;
  while (!panic_ && !At(Tok::kRParen)) {
    const Token& at = Peek();
    t.elements.push_back(ParseType());
    leaves += CountLeaves(t.elements.back());
    if (leaves > limits_.max_tuple) {
      Limit("TYPE_TOO_LARGE", at.span,
            "too many elements in a tuple: " + Most(limits_.max_tuple) +
                " are allowed, counted through nesting");
    }
    if (!Accept(Tok::kComma)) break;
  }
  Close(Tok::kLParen);
  if (t.elements.size() == 1) t = TypeExpr(std::move(t.elements[0]));
}

}  // namespace pullback::lang
