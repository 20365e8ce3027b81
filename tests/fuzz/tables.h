// What holds of any tables, and of the tables of any text: whoever reads them, fuzzers and tests.
#pragma once

#include <algorithm>
#include <string>

#include "core/ir/printer.h"
#include "core/lang/lang.h"
#include "proto/program/tables.h"

namespace pullback::fuzz {

// What is broken, with the text where it shows; empty: nothing.
inline std::string CheckEntries(const std::string& text, const std::string& other,
                                const lang::Limits& limits) {
  StatusOr<lang::Program> a = lang::Parse(text, limits), b = lang::Parse(other, limits);
  if (!a.ok() || !b.ok()) return "neither form parses";
  const Status checked = lang::Check(*a, limits), again = lang::Check(*b, limits);
  if (checked.reason() != again.reason()) return "one form checks: " + checked.ToString() + other;
  for (size_t f = 0; checked.ok() && f < a->user_functions; ++f) {
    const std::string& entry = a->functions[f]->name;
    const auto left = lang::Canonicalise(*a, entry), right = lang::Canonicalise(*b, entry);
    if (left.ok() != right.ok()) return "one form has a canonical form";
    if (left.ok() && left->text != right->text) return "two kernels:\n" + left->text + right->text;
    const auto module = lang::Lower(*a, entry, limits), twin = lang::Lower(*b, entry, limits);
    if (module.ok() != twin.ok()) return "one form lowers";
    if (module.ok() && ir::Print(*module) != ir::Print(*twin)) return "two modules of " + entry;
  }
  return "";
}

// The canonical text of a program parses to the tables it came from, and is laid out.
inline std::string CheckCanonical(const lang::Program& program, const std::string& canonical,
                                  const lang::Limits& limits) {
  lang::Limits roomy = limits;
  roomy.max_source_bytes = SIZE_MAX;
  if (lang::Format(program) != canonical) return "formatting changes it:\n" + canonical;
  const auto again = program::ToText(program::ToTables(program), roomy);
  if (!again.ok()) return "its tables are refused: " + again.status().ToString() + canonical;
  return *again == canonical ? "" : "another canonical text:\n" + canonical + *again;
}

inline std::string CheckText(const std::string& text, const lang::Limits& limits = {}) {
  const auto program = lang::Parse(text, limits);
  if (!program.ok()) return "";
  lang::Limits roomy = limits;
  roomy.max_source_bytes = SIZE_MAX;
  const v1::ProgramTables tables = program::ToTables(*program);
  const auto canonical = program::ToText(tables, roomy);
  if (!canonical.ok()) return "its tables are refused: " + canonical.status().ToString();
  const auto again = lang::Parse(*canonical, roomy);
  if (!again.ok()) return "its canonical text fails: " + again.status().ToString() + *canonical;
  if (program::ToTables(*again).SerializeAsString() != tables.SerializeAsString()) {
    return "other tables:\n" + *canonical;
  }
  const std::string fault = CheckCanonical(*again, *canonical, limits);
  return fault.empty() ? CheckEntries(text, *canonical, roomy) : fault;
}

// Tables are refused with the field that is wrong, or have a text; it may have errors of its own.
inline std::string CheckTables(const v1::ProgramTables& tables, const lang::Limits& limits = {}) {
  const auto text = program::ToText(tables, limits);
  if (!text.ok()) {
    const bool told = text.status().code() == Code::kInvalidArgument &&
                      text.status().diagnostics().size() == 1 &&
                      text.status().diagnostics()[0].excerpt.starts_with("program.tables");
    return told ? "" : "refused without a field: " + text.status().ToString();
  }
  lang::Limits roomy = limits;
  roomy.max_source_bytes = SIZE_MAX;
  const auto program = lang::Parse(*text, roomy);
  if (!program.ok()) {
    return program.status().code() == Code::kInternal ? program.status().ToString() : "";
  }
  const v1::ProgramTables meant = program::ToTables(*program::ToTree(tables, limits));
  const v1::ProgramTables said = program::ToTables(*program);
  if (meant.SerializeAsString() != said.SerializeAsString()) {
    return "the text says something else:\n" + *text + meant.DebugString() + said.DebugString();
  }
  return CheckCanonical(*program, *text, limits);
}

}  // namespace pullback::fuzz
