// Programs as messages (pullback/v1/program_tables.proto): from and to the tree that the parser makes.
//
// A program in tables means what its canonical text means. That text is what goes on to the engine, so
// that both forms of a program are one kernel, and places in errors are places of that text.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/lang/lang.h"
#include "pullback/v1/program.pb.h"

namespace pullback::program {

// The program as it was parsed, unchecked. Comments and redundant brackets are left out.
v1::ProgramTables ToTables(const lang::Program& program);

// The tree of tables, to be formatted or made tables again; it has no places and is not to be checked.
// Errors as below.
StatusOr<lang::Program> ToTree(const v1::ProgramTables& tables, const lang::Limits& limits = {});

// The canonical text. INVALID_ARGUMENT: INVALID_PROGRAM with the path of the field that is wrong, as in
// "program.tables.expressions[17].binary.left", or the reason of a limit of lang.h. Whether the text has
// an error of its own, such as an `if` without the value that it needs, is for the parser to say.
StatusOr<std::string> ToText(const v1::ProgramTables& tables, const lang::Limits& limits = {});

// The text of either form: as it came, or canonical. INVALID_ARGUMENT, INVALID_REQUEST: neither is set.
StatusOr<std::string> TextOf(const v1::Program& program, const lang::Limits& limits = {});

// A program in every form. Of tables, `text` is the canonical text.
struct Forms {
  std::string text;  // in the standard layout, with its comments
  v1::ProgramTables tables;
  std::string canonical_text;
  std::string hash;  // hex SHA-256 of canonical_text
};
// Errors as above, and those of Parse: of tables, in their canonical text.
StatusOr<Forms> Format(const v1::Program& program, const lang::Limits& limits = {});

// An error of a program that came as tables, with messages that say that their places are those of the
// canonical text.
Status InCanonicalText(const Status& status);

}  // namespace pullback::program
