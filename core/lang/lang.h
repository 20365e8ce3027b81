// The front end, from text to IR. Every function may return INVALID_ARGUMENT with one diagnostic per
// mistake (several are reported at once), reasons SYNTAX_ERROR, TYPE_ERROR, or one per limit:
// SOURCE_TOO_LARGE, NESTING_TOO_DEEP, TYPE_TOO_LARGE, CONSTANT_TOO_LARGE, PROGRAM_TOO_LARGE,
// TOO_MANY_INSTANCES; and
// UNIMPLEMENTED, reason UNIMPLEMENTED, for a construct of docs/language.md that is not there yet.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/lang/ast.h"

namespace pullback::lang {

struct Limits {
  size_t max_source_bytes = 1 << 20;
  int max_nesting = 100;  // brackets, blocks, types
  int max_chain = 2000;   // operators at one level without brackets (depth of the tree they make)
  int max_rank = 8;
  int max_tuple = 64;  // elements of a tuple, counted through nesting
  // Types that a type is made of, counted through tuples, lists, boxes and what functions capture.
  size_t max_type_nodes = 4096;
  int max_params = 256;
  int max_array_literal = 65536;
  size_t max_ir_insts = 1000000;
  // Instances of templates and lambdas: in all, and each asked for while the one before is made.
  int max_instances = 4000;
  int max_instance_depth = 64;
};

// lexer + parser. Several syntax errors are reported by resynchronising at statements.
StatusOr<Program> Parse(const std::string& text, const Limits& limits = {});

// Appends the prelude's functions that the program uses (transitively), resolves names, infers and
// checks types, numbers the nodes. In place.
Status Check(Program& program, const Limits& limits = {});

// The program, formatted. Parse(Format(p)) is the same program; comments are kept; formatting again
// changes nothing. (Needs no Check.)
std::string Format(const Program& program);

// Text of the program in canonical form: locals renamed by order of definition, comments, layout and
// redundant brackets gone, functions in the order reached from `entry` (unreached ones gone), the
// entry first; function and parameter names replaced too. Needs Check. Equal canonical texts mean
// programs equal in everything but names and positions. Also gives what maps back: ordinals in the
// canonical numbering -> place in this text.
struct Place {
  Span span;             // line 0 inside the prelude
  std::string function;  // the function's name in this text
};
struct Canonical {
  std::string text;
  std::vector<Place> places;  // by canonical ordinal (the ordinals that lowering writes as loc)
};
// Indices of the functions reached from `entry`, entry first, then in order of first call (pre-order).
std::vector<uint32_t> ReachedFunctions(const Program& program, uint32_t entry);
// Canonical ordinal of the first node of every function (by index in Program::functions; 0 where it is
// not reached): canonical ordinal = base[f] + node.ordinal - functions[f]->first_ordinal. From 1.
std::vector<uint32_t> CanonicalBases(const Program& program, uint32_t entry);
StatusOr<Canonical> Canonicalise(const Program& program, const std::string& entry);

// The AST as an indented tree with types (after Check): `explain --stage ast`.
std::string DumpAst(const Program& program, const std::string& entry);

// --- signature, for the API
struct Parameter {
  std::string name;
  ApiType type;
};
struct Signature {
  std::string entry;
  std::vector<Parameter> params;
  ApiType result;
  ApiStructs structs;  // that lists in these types name
};
// NOT_FOUND, reason ENTRY_NOT_FOUND, naming the functions there are. UNIMPLEMENTED where it takes or gives
// boxes or functions.
StatusOr<Signature> GetSignature(const Program& program, const std::string& entry);

// Solves and checks the entry's sizes against the arguments' shapes (given flattened: tuples become
// their leaves in order). An equation that fails is INVALID_ARGUMENT, reason SIZE_MISMATCH, and its
// message names it: "argument 'a' axis 1: expected n = 3 (from argument 'x' axis 0), got 4";
// a wrong dtype or rank is TYPE_MISMATCH. Sizes like n + 1 are solved when linear in one unknown.
Status CheckArguments(const Program& program, const std::string& entry,
                      const std::vector<const Tensor*>& leaves);

// Typed AST -> SSA. The module's entry is `entry`; tuples are flattened into several parameters and
// results; Inst::loc is a canonical ordinal (Canonical::places). Sizes: a parameter [n]f64 binds n to
// dim; repeated uses and expressions become `check` instructions in callees; results are checked
// against the declared result sizes.
StatusOr<ir::Module> Lower(const Program& program, const std::string& entry,
                           const Limits& limits = {});

}  // namespace pullback::lang
