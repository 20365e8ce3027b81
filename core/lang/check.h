// Inside of Check: what is shared by the checkers of the function bodies.
//
// Headers of all user functions are checked first, so that bodies may call in any order; a prelude
// function is parsed and appended when a call first resolves to it, and its body is checked last.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/lang/ast.h"
#include "core/lang/check_report.h"
#include "core/lang/check_size.h"
#include "core/lang/lang.h"

namespace pullback::lang {

inline constexpr uint32_t kNone = UINT32_MAX;

// What is known of a local besides its type.
struct LocalFacts {
  Shape shape;
  Size value;  // of an immutable i64
};

// What a call needs to know of a function. Sizes speak of the function's own locals.
struct Header {
  std::vector<Type> param_types;  // kError where the parameter's type is wrong
  std::vector<Shape> param_shapes;
  Shape result_shape;
  std::vector<LocalFacts> facts;  // of the parameters and size variables, by local
};

// The program's structs by name.
class StructTable {
 public:
  // Declares them: names, types of the fields, and no struct that holds itself but through a list.
  void Declare(std::vector<std::unique_ptr<Struct>>& structs, Reporter& report,
               const Limits& limits);
  const Struct* Find(const std::string& name) const;
  std::vector<std::string_view> Names() const;

 private:
  std::unordered_map<std::string, const Struct*> structs_;
};

class ProgramChecker {
 public:
  ProgramChecker(Program& program, const Limits& limits)
      : program_(program),
        limits_(limits),
        max_work_(4 * limits.max_ir_insts),
        report_(program.text) {}
  Status Run();

  Reporter& report() { return report_; }
  const Limits& limits() const { return limits_; }
  const std::string& text() const { return program_.text; }
  const Function& function(uint32_t index) const { return *program_.functions[index]; }
  Function& function(uint32_t index) { return *program_.functions[index]; }
  const Header& header(uint32_t index) const { return headers_[index]; }
  const StructTable& structs(const Function& from) const;  // prelude functions see none

  // The user's function of that name, or kNone. Prelude functions do not see the user's.
  uint32_t FindUser(const std::string& name, const Function& from) const;
  // The prelude's function of that name, appended to the program where it was not yet; or kNone.
  uint32_t FindPrelude(const std::string& name);
  bool IsFunction(const std::string& name, const Function& from);
  std::vector<std::string_view> FunctionNames() const;  // for suggestions

  // Counts the work that sizes and tuples make, which the size of the text does not bound. Once it
  // is too much, checking is over.
  void Charge(size_t sizes, const Span& at);
  bool exhausted() const { return work_ > max_work_; }

 private:
  void DeclareUserFunctions();

  Program& program_;
  const Limits& limits_;
  const size_t max_work_;
  size_t work_ = 0;
  Reporter report_;
  StructTable structs_;
  std::deque<Header> headers_;  // by function; references stay valid
  std::unordered_map<std::string, uint32_t> user_;
  std::unordered_map<std::string, uint32_t> prelude_;
};

// Parameters' and result's types, size variables and how they are found. Fills the function's
// `locals`, `size_locals`, `size_bindings`, `result_type`.
Header CheckHeader(Function& function, const StructTable& structs, Reporter& report,
                   const Limits& limits);
// Types and names of the body. May append functions to the program.
void CheckBody(ProgramChecker& program, uint32_t function);
// Numbers the nodes of the whole program and fills Program::spans.
void NumberNodes(Program& program);

// The prelude's function of that name, freshly parsed, or null.
std::unique_ptr<Function> ParsePreludeFunction(const std::string& name);
const std::vector<std::string_view>& PreludeNames();

// --- check_struct.cc
// The type of a struct's name, and of `list T` and `box T`, whose elements' sizes are their own:
// names that stand for any size, which `taken` may not know.
using NameTaken = std::function<bool(const std::string&)>;
Type ResolveData(TypeExpr& t, const StructTable& structs, const NameTaken& taken, Reporter& report);

// Whether control can reach the end of the block.
bool FallsThrough(const Block& block);

// Leaves of a type: 1 for what is neither a tuple nor a struct.
int LeafCount(const Type& type);
// Axes of all leaves, and leaves: what a value's type and sizes cost.
size_t SizeCount(const Type& type);
// Reports a type over the limits of rank and of leaves.
void CheckTypeLimits(const Type& type, const Span& span, Reporter& report, const Limits& limits);

}  // namespace pullback::lang
