#include "core/ir/names.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/ir/literal.h"

namespace pullback::ir {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A hint made into an identifier; empty stays empty (the value gets a number).
std::string Identifier(std::string hint) {
  for (char& c : hint) {
    if (!IsNameChar(c)) c = '_';
  }
  if (!hint.empty() && IsDigit(hint[0])) hint.insert(0, "_");
  return hint;
}

// "x.12" -> "x": copies of copies do not pile up suffixes.
std::string WithoutSuffix(const std::string& name) {
  size_t end = name.size();
  while (end > 0 && IsDigit(name[end - 1])) --end;
  return end > 1 && end < name.size() && name[end - 1] == '.' ? name.substr(0, end - 1) : name;
}

// Hands out names that are unique here and in the scope around.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}

  std::string Take(const std::string& name) {
    if (taken_.contains(name) || (outer_ && outer_->taken_.contains(name))) {
      const std::string base = WithoutSuffix(name);
      return Take(base + "." + std::to_string(++suffix_[base]));
    }
    taken_.insert(name);
    return name;
  }

 private:
  const Scope* outer_;
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int> suffix_;
};

// Values in the order of their definitions in the text; local ones belong to a statement.
struct Definition {
  Value value;
  const Each* statement = nullptr;
  bool is_index = false;
};

void ListDefinitions(const Inst& inst, const Each* statement, std::vector<Definition>& out) {
  for (Value v : inst.results) out.push_back({v, statement});
  if (!inst.each) return;
  for (const IndexVar& i : inst.each->indices) out.push_back({i.var, inst.each.get(), true});
  for (const Inst& b : inst.each->body) ListDefinitions(b, inst.each.get(), out);
}

std::vector<Definition> ListDefinitions(const Function& f) {
  std::vector<Definition> out;
  for (const Block& b : f.blocks) {
    for (Value v : b.params) out.push_back({v});
    for (const Inst& i : b.insts) ListDefinitions(i, nullptr, out);
  }
  std::erase_if(out, [&](const Definition& d) { return d.value.id >= f.values.size(); });
  return out;
}

// Calls fn on every affine form in `inst`.
template <typename Fn>
void ForEachAffine(const Inst& inst, Fn&& fn) {
  for (const Affine& a : inst.subs) fn(a);
  for (const Constraint& c : inst.constraints) fn(c.e);
  if (!inst.each) return;
  for (const Constraint& c : inst.each->where) fn(c.e);
  for (const Inst& b : inst.each->body) ForEachAffine(b, fn);
  for (const EachResult& r : inst.each->results) {
    for (const Affine& a : r.out) fn(a);
  }
}

template <typename Fn>
void ForEachInst(const std::vector<Inst>& list, Fn&& fn) {
  for (const Inst& i : list) {
    fn(i);
    if (i.each) ForEachInst(i.each->body, fn);
  }
}

}  // namespace

bool IsNameChar(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         c == '$';
}

std::string FunctionName(const std::string& name) {
  if (!name.empty() && std::all_of(name.begin(), name.end(), IsNameChar)) return "@" + name;
  std::string out = "@\"";
  for (char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

void Names::FindInlineConstants(const Function& f) {
  std::vector<bool> used(f.values.size()), in_affine(f.values.size());
  const auto mark = [](std::vector<bool>& set, Value v) {
    if (v.id < set.size()) set[v.id] = true;
  };
  for (const Block& b : f.blocks) {
    for (const Inst& i : b.insts) {
      ForEachOperand(i, [&](const Value& v) { mark(used, v); });
      ForEachAffine(i, [&](const Affine& a) {
        for (const Affine::Term& t : a.terms) mark(in_affine, t.value);
      });
    }
    ForEachTermOperand(b.term, [&](const Value& v) { mark(used, v); });
    ForEachInst(b.insts, [&](const Inst& i) {
      if (i.op != Op::Const || i.guard.valid() || i.results.size() != 1) return;
      const Value v = i.results[0];
      inline_[v.id] = true;
      text_[v.id] = LiteralText({f.TypeOf(v).elem, i.bits});
    });
  }
  for (size_t v = 0; v < inline_.size(); ++v) {
    inline_[v] = inline_[v] && used[v] && !in_affine[v];
  }
}

Names::Names(const Function& f)
    : inline_(f.values.size()), rank_(f.values.size(), UINT32_MAX), text_(f.values.size()) {
  FindInlineConstants(f);
  const std::vector<Definition> definitions = ListDefinitions(f);
  uint32_t rank = 0;
  uint32_t number = 0;
  Scope global;
  const auto hint_of = [&](const Definition& d) {
    const std::string hint = Identifier(f.names[d.value.id]);
    return hint.empty() && d.is_index ? std::string("i") : hint;
  };
  for (const Definition& d : definitions) {
    rank_[d.value.id] = rank++;
    if (inline_[d.value.id]) continue;
    const std::string hint = hint_of(d);
    if (hint.empty()) {
      text_[d.value.id] = "%" + std::to_string(number++);
    } else if (!d.statement) {
      text_[d.value.id] = "%" + global.Take(hint);
    }
  }
  // Local names may be used again in the next statement, but hide no name of the function.
  const Each* statement = nullptr;
  Scope local(&global);
  for (const Definition& d : definitions) {
    const std::string hint = hint_of(d);
    if (!d.statement || hint.empty() || inline_[d.value.id]) continue;
    if (d.statement != statement) {
      statement = d.statement;
      local = Scope(&global);
    }
    text_[d.value.id] = "%" + local.Take(hint);
  }
}

const std::string& Names::Text(Value v) const {
  static const std::string kUndefined = "%undefined";
  if (v.id >= text_.size() || text_[v.id].empty()) return kUndefined;
  return text_[v.id];
}

}  // namespace pullback::ir
