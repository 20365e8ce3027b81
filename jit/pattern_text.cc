#include "jit/pattern_text.h"

#include <set>
#include <vector>

#include "core/ir/affine_text.h"
#include "core/ir/names.h"

namespace pullback::jit {
namespace {

using ir::Affine;
using ir::Value;

template <typename List, typename Fn>
std::string Joined(const List& items, const char* separator, Fn&& text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : separator) + text(item);
  return out;
}

// A piece with its points named, and everything else as the program has it.
class PieceWriter {
 public:
  PieceWriter(const ad::SymbolicPatterns& all, const ad::PatternPiece& piece)
      : all_(all),
        piece_(piece),
        spelling_{[this](Value v) { return Text(v); }, [this](Value v) { return Rank(v); }} {
    for (Value v : all.function.params()) taken_.insert(all.function.names[v.id]);
    for (const ir::Inst& inst : all.function.blocks[0].insts) {
      for (Value v : inst.results) taken_.insert(all.function.names[v.id]);
    }
    for (const auto& [v, atom] : all.atoms) taken_.insert(all.function.names[v.id]);
    for (const Affine& e : piece.element) NamePoints(e);
    for (const ad::PatternPoint& p : piece.points) NamePoint(p.var);
  }
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  std::string Elements() const { return "[" + Sums(piece_.element) + "]"; }
  std::string Points() const {
    if (order_.empty()) return "true";
    return Joined(order_, " and ", [&](Value v) {
      return Text(v) + " < " + ir::AffineText(ExtentOf(v), spelling_);
    });
  }
  std::string Where() const {
    if (piece_.where.empty()) return "true";
    return Joined(piece_.where, " and ",
                  [&](const ir::Constraint& c) { return ir::ConstraintText(c, spelling_); });
  }

 private:
  std::string Sums(const std::vector<Affine>& all) const {
    return Joined(all, ", ", [&](const Affine& e) { return ir::AffineText(e, spelling_); });
  }

  const ad::PatternAtom* AtomOf(Value v) const {
    const auto it = all_.atoms.find(v);
    return it == all_.atoms.end() ? nullptr : &it->second;
  }
  bool IsPoint(Value v) const {
    for (const ad::PatternPoint& p : piece_.points) {
      if (p.var == v) return true;
    }
    return false;
  }
  Affine ExtentOf(Value v) const {
    for (const ad::PatternPoint& p : piece_.points) {
      if (p.var == v) return p.extent;
    }
    return {};
  }

  // In the order in which an element speaks of them.
  void NamePoints(const Affine& e) {
    for (const Affine::Term& t : e.terms) {
      if (IsPoint(t.value)) NamePoint(t.value);
      const ad::PatternAtom* atom = AtomOf(t.value);
      if (atom == nullptr) continue;
      for (const Affine& operand : atom->operands) NamePoints(operand);
    }
  }
  void NamePoint(Value v) {
    if (names_.count(v) != 0) return;
    std::string base = all_.function.names[v.id];
    for (char& c : base) c = ir::IsNameChar(c) ? c : '_';
    base = base.substr(0, base.find('.'));
    if (base.empty()) base = "i";
    std::string name = base;
    for (int suffix = 1; !taken_.insert(name).second; ++suffix)
      name = base + "." + std::to_string(suffix);
    names_[v] = name;
    order_.push_back(v);
  }

  std::string Text(Value v) const {
    if (const auto it = names_.find(v); it != names_.end()) return "%" + it->second;
    const std::string& name = all_.function.names[v.id];
    const ad::PatternAtom* atom = AtomOf(v);
    return name.empty() && atom != nullptr ? AtomText(*atom) : "%" + name;
  }
  std::string AtomText(const ad::PatternAtom& atom) const {
    if (atom.op == ir::Op::Index)
      return "%" + all_.function.names[atom.array.id] + "[" + Sums(atom.operands) + "]";
    const std::string of = atom.op == ir::Op::Dim ? "%" + all_.function.names[atom.array.id] +
                                                        ", " + std::to_string(atom.bits)
                                                  : Sums(atom.operands);
    return std::string(ir::Info(atom.op).mnemonic) + "(" + of + ")";
  }
  uint32_t Rank(Value v) const {
    for (size_t k = 0; k < order_.size(); ++k) {
      if (order_[k] == v) return UINT32_MAX - static_cast<uint32_t>(order_.size() - k);
    }
    return v.id;
  }

  const ad::SymbolicPatterns& all_;
  const ad::PatternPiece& piece_;
  const ir::Spelling spelling_;
  std::set<std::string> taken_;
  std::map<Value, std::string> names_;
  std::vector<Value> order_;
};

struct Written {
  std::string elements, points, where;
};

}  // namespace

std::string Quoted(const std::string& text) { return '"' + text + '"'; }

std::string PieceText(const std::string& elements, const std::string& points,
                      const std::string& where) {
  return "\"elements\": " + Quoted(elements) + ", \"points\": " + Quoted(points) +
         ", \"where\": [" + where + "]";
}

std::string PatternText(const ad::SymbolicPatterns& all, const ad::SymbolicPattern& pattern) {
  if (pattern.everywhere) return "\"dense\": true";
  std::vector<Written> pieces;
  for (const ad::PatternPiece& piece : pattern.pieces) {
    const PieceWriter text(all, piece);
    const Written now{text.Elements(), text.Points(), Quoted(text.Where())};
    bool known = false;
    for (Written& w : pieces) {
      if (w.elements != now.elements || w.points != now.points) continue;
      w.where += ", " + now.where;
      known = true;
    }
    if (!known) pieces.push_back(now);
  }
  const std::string sparse = "\"dense\": false, ";
  if (pieces.empty()) return sparse + PieceText("[]", "false", "");
  const auto text = [](const Written& w) { return PieceText(w.elements, w.points, w.where); };
  if (pieces.size() == 1) return sparse + text(pieces[0]);
  return sparse + "\"pieces\": [" +
         Joined(pieces, ", ", [&](const Written& w) { return "{" + text(w) + "}"; }) + "]";
}

}  // namespace pullback::jit
