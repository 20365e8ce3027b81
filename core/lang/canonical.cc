// Which functions a program's entry reaches, their canonical numbering, and the canonical text.
#include "core/lang/canonical_text.h"
#include "core/lang/entry.h"
#include "core/lang/lang.h"
#include "core/lang/walk.h"

namespace pullback::lang {

// Breadth first: a function's callees are numbered in the order of their first calls, before
// theirs.
std::vector<uint32_t> ReachedFunctions(const Program& program, uint32_t entry) {
  std::vector<uint32_t> reached = {entry};
  std::vector<bool> seen(program.functions.size(), false);
  seen[entry] = true;
  auto reach = [&](uint32_t f) {
    if (f >= seen.size() || seen[f]) return;
    seen[f] = true;
    reached.push_back(f);
  };
  for (size_t i = 0; i < reached.size(); ++i) {
    const Function& f = *program.functions[reached[i]];
    ForEachExpr(f.body, [&](const Expr& e) { reach(e.callee); });
    reach(f.vjp_rule.function);
    reach(f.jvp_rule.function);
  }
  return reached;
}

std::vector<uint32_t> CanonicalBases(const Program& program, uint32_t entry) {
  std::vector<uint32_t> bases(program.functions.size(), 0);
  uint32_t next = 1;
  for (uint32_t f : ReachedFunctions(program, entry)) {
    bases[f] = next;
    next += program.functions[f]->node_count;
  }
  return bases;
}

StatusOr<Canonical> Canonicalise(const Program& program, const std::string& entry) {
  PB_ASSIGN_OR_RETURN(uint32_t entry_index, FindEntry(program, entry));
  std::vector<uint32_t> reached = ReachedFunctions(program, entry_index);
  std::vector<uint32_t> number(program.functions.size(), UINT32_MAX);
  for (size_t i = 0; i < reached.size(); ++i) number[reached[i]] = static_cast<uint32_t>(i);
  Canonical c;
  c.places.emplace_back();  // ordinals count from 1
  StructNumbers structs;
  for (uint32_t index : reached) {
    const Function& f = *program.functions[index];
    c.text += CanonicalText(f, number[index], number, structs);
    for (uint32_t i = 0; i < f.node_count; ++i) {
      c.places.push_back({program.spans[f.first_ordinal + i], f.name});
    }
  }
  // A struct's text may name others, which follow.
  for (size_t i = 0; i < structs.order().size(); ++i) {
    c.text += CanonicalText(*structs.order()[i], structs);
  }
  return c;
}

}  // namespace pullback::lang
