#include "core/tensor/statement_texts.h"

#include <algorithm>

namespace pullback::tensor {

using ir::Inst;
using ir::Value;

namespace {

std::string Joined(std::vector<std::string> parts, bool sort) {
  if (sort) std::sort(parts.begin(), parts.end());
  std::string out;
  for (const std::string& p : parts) out += p + ",";
  return out;
}

}  // namespace

void StatementTexts::Enter(const ir::Each& each) {
  local_.clear();
  for (size_t i = 0; i < each.indices.size(); ++i)
    local_[each.indices[i].var.id] = "i" + std::to_string(i);
  for (const Inst& inst : each.body) {
    const std::string text = Shortened(TextOf(inst));
    for (size_t r = 0; r < inst.results.size(); ++r)
      local_[inst.results[r].id] = text + (r == 0 ? "" : "." + std::to_string(r));
  }
}

// An expression with much sharing would be as long as its tree.
std::string StatementTexts::Shortened(std::string text) {
  constexpr size_t kMaxLength = 400;
  if (text.size() <= kMaxLength) return text;
  return long_.emplace(std::move(text), "#" + std::to_string(long_.size())).first->second;
}

std::string StatementTexts::Text(Value v) const {
  if (!v.valid()) return "-";
  const auto it = local_.find(v.id);
  if (it != local_.end()) return it->second;
  const std::string id = std::to_string(v.id);
  return "v" + std::string(id.size() < 6 ? 6 - id.size() : 0, '0') + id;  // in order of id
}

std::string StatementTexts::Text(const ir::Affine& a) const {
  std::vector<std::string> parts;
  for (const ir::Affine::Term& t : a.terms)
    parts.push_back(std::to_string(t.coeff) + "*" + Text(t.value));
  return Joined(parts, true) + std::to_string(a.constant);
}

std::string StatementTexts::Text(const ir::Constraint& c) const {
  return Text(c.e) + (c.equality ? "=" : ">");
}

std::string StatementTexts::TextOf(const Inst& inst) const {
  std::vector<std::string> args, subs, constraints;
  for (Value v : inst.args) args.push_back(Text(v));
  for (const ir::Affine& a : inst.subs) subs.push_back(Text(a));
  for (const ir::Constraint& c : inst.constraints) constraints.push_back(Text(c));
  std::string wrt;
  for (const bool b : inst.wrt) wrt += b ? '1' : '0';
  return std::to_string(static_cast<int>(inst.op)) + "(" +
         Joined(args, (ir::Info(inst.op).flags & ir::kCommutes) != 0) + ")[" + Joined(subs, false) +
         "]{" + Joined(constraints, true) + "}" + std::to_string(inst.bits) + "@" +
         std::to_string(ir::HasCallee(inst.op) ? inst.callee : 0) + wrt +
         ir::ToString(f_.TypeOf(inst.results[0])) + "?" + Text(inst.guard);
}

std::string StatementTexts::Key(const ir::Each& each) {
  std::vector<std::string> extents, where;
  for (const ir::IndexVar& i : each.indices) extents.push_back(Text(i.extent));
  for (const ir::Constraint& c : each.where) where.push_back(Text(c));
  std::string key = Joined(extents, false) + "|" + Joined(where, true);
  for (const ir::EachResult& r : each.results) {
    std::vector<std::string> out, shape;
    for (const ir::Affine& a : r.out) out.push_back(Text(a));
    for (Value v : r.shape) shape.push_back(Text(v));
    key += "|" + std::to_string(static_cast<int>(r.monoid)) + "[" + Joined(out, false) + "](" +
           Joined(shape, false) + ")" + Text(r.value) + "?" + Text(r.guard) + ";" + Text(r.second) +
           "/" + std::to_string(r.outer) + "/" + std::to_string(r.inner);
  }
  return key;
}

}  // namespace pullback::tensor
