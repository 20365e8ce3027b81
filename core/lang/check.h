// Inside of Check: what is shared by the checkers of the function bodies.
//
// Headers of all user functions are checked first, so that bodies may call in any order; a prelude
// function is parsed and appended when a call first resolves to it, and its body is checked last.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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
  // Of a function that a template takes: the types of its parameters as declared, where they are
  // known. Empty: they come from each call.
  std::vector<Type> arguments;
};

// What a call needs to know of a function. Sizes speak of the function's own locals.
struct Header {
  std::vector<Type> param_types;  // kError where the parameter's type is wrong
  std::vector<Shape> param_shapes;
  Shape result_shape;
  std::vector<LocalFacts> facts;  // of the parameters and size variables, by local
};

// A lambda as a value's code: what every instance of it is made from.
struct LambdaCode {
  const Lambda* lambda = nullptr;
  Span span;
  std::vector<Param> captures;  // the first parameters of its instances
  bool from_prelude = false;
};

// How an instance came to be, for messages and bounds.
struct InstanceInfo {
  uint32_t from = UINT32_MAX;  // the function that asked for it first
  Span at;                     // where
  int depth = 0;               // of instances that ask for instances
  uint32_t code = UINT32_MAX;  // the template that it is of
  std::string what;            // "'map' with f = …"
  enum class State : uint8_t { kNew, kChecking, kChecked } state = State::kNew;
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

  // --- function values (check_instance.cc)
  // The function that a call of a function value calls: its parameters are what the value captures,
  // then the arguments. kNone: reported. `loose` marks arguments that are literals, whose type gives
  // way. `result` is what a lambda must give, where that is known.
  uint32_t Instantiate(const Type& function, const std::vector<Type>& args, const Span& at,
                       uint32_t from, const std::vector<bool>& loose = {},
                       const Type& result = Type());
  uint32_t AddLambda(LambdaCode code);
  // --- functions whose code is known at run time (check_dynamic.cc)
  // The number of the function among those that values of the dynamic type may be; -1: it does not
  // fit, which is reported.
  int AddVariant(const Type& dynamic, const Type& function, const Span& at, uint32_t from);
  // What calls a function of the dynamic type: its parameters are the value, then the arguments.
  uint32_t DispatcherOf(const Type& dynamic, const Span& at, uint32_t from);
  // The dynamic type that the function has without arguments to tell; kError where there is none.
  Type SignatureOf(const Type& function, const Span& at, uint32_t from);
  // How many instances of the template `f`, or one that it is an instance of, asked for each other.
  int NestedInstances(uint32_t code, uint32_t from) const;
  // Parameters that a call must give; -1: any number.
  int Arity(const Type& function) const;
  // The type of `op` applied to a function (and what else it captures). check_derive.cc
  Type Derived(DeriveOp op, std::vector<Type> captures);
  Type ResultOf(uint32_t index) const { return program_.functions[index]->result_type; }
  void SetResult(uint32_t index, const Type& type, const Shape& shape);
  std::string Describe(const Type& type) const;  // with the names of functions
  // Bounds how deep checks nest: a body is checked while another one is.
  bool Enter(const Span& at);
  void Leave() { --nested_; }

  // Counts the work that sizes and tuples make, which the size of the text does not bound. Once it
  // is too much, checking is over.
  void Charge(size_t sizes, const Span& at);
  bool exhausted() const { return work_ > max_work_; }

 private:
  void DeclareUserFunctions();
  size_t DynamicIndex(const Type& dynamic);
  void WriteDispatchers();
  void CheckFunction(uint32_t index);
  ReportContext ContextOf(uint32_t index) const;
  uint32_t Add(std::unique_ptr<Function> f, InstanceInfo info);
  bool MayAdd(const InstanceInfo& info);
  bool AllKnown(const std::vector<Type>& types, const Span& at);  // no element of an empty list
  uint32_t TemplateInstance(uint32_t index, const std::vector<Type>& args, InstanceInfo info,
                            const std::vector<bool>& loose);
  uint32_t LambdaInstance(const Type& function, const std::vector<Type>& args, InstanceInfo info,
                          const Type& result);
  uint32_t BuiltinInstance(const Type& function, const std::vector<Type>& args, InstanceInfo info);
  uint32_t DerivedInstance(const Type& function, const std::vector<Type>& args, InstanceInfo info,
                           const std::vector<bool>& loose);
  std::unique_ptr<Function> DerivedCode(DeriveOp op, const Type& function,
                                        const std::vector<Type>& types, size_t arity,
                                        const Span& at);
  int DerivedArity(const Type& function) const;
  // What it takes, where that follows from the function itself; else one kError.
  std::vector<Type> DerivedParams(const Type& function, const Span& at, uint32_t from);
  std::string DescribeDerived(const Type& function) const;
  void CheckRules(uint32_t index);
  void CheckRule(uint32_t of, DerivativeRule& rule, const std::vector<Type>& takes,
                 const Type& gives);
  uint32_t FindInstance(const Type& function, const std::vector<Type>& args) const;
  void Keep(uint32_t index, const Type& function, const std::vector<Type>& args);

  Program& program_;
  const Limits& limits_;
  const size_t max_work_;
  size_t work_ = 0;
  Reporter report_;
  StructTable structs_;
  std::deque<Header> headers_;  // by function; references stay valid
  std::unordered_map<std::string, uint32_t> user_;
  std::unordered_map<std::string, uint32_t> prelude_;
  std::vector<InstanceInfo> info_;  // by function
  std::deque<LambdaCode> lambdas_;
  std::vector<DeriveOp> derived_;  // by code
  std::map<std::string, uint32_t> derived_codes_;
  std::map<std::string, uint32_t> instances_;  // by code and types
  size_t instance_nodes_ = 0;
  size_t instance_count_ = 0;
  int nested_ = 0;
};

// Different types have different texts.
std::string KeyOf(const Type& type);

// --- check_derive.cc
// The type of a gradient by a value of this type; of several values, those that carry floats: one
// stands alone, more are a tuple.
Type GradientType(const Type& type);
Type GradientType(const std::vector<Type>& types);

// --- check_template.cc
using TypeBindings = std::map<std::string, Type>;
bool SpeaksOfFunctions(const TypeExpr& t);
// fn(…) -> … as a type of values; kError where its parts are not known.
Type DynamicOf(const TypeExpr& t, const TypeBindings& bindings);
// The type as far as it is known; kError where it is not, or speaks of functions.
Type TypeOf(const TypeExpr& t, const TypeBindings& bindings);
// Binds type parameters in `pattern` that are not bound yet to what they must be for `type` to fit.
void BindTypes(const TypeExpr& pattern, const Type& type, const std::vector<std::string>& params,
               TypeBindings& bindings);
// Writes the bound types over the type parameters.
void SubstituteTypes(TypeExpr& t, const TypeBindings& bindings);
void SubstituteTypes(Block& block, const TypeBindings& bindings);
TypeExpr GivenType(const Type& type, const Span& span);
// A copy as written, before it is checked.
TypeExpr CloneType(const TypeExpr& t);

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
// The text of a function that the checker asks for by a name that no program can write; "": `name` is none.
// check_broadcast.cc
std::string BroadcastSource(const std::string& name);
const std::vector<std::string_view>& PreludeNames();

// --- check_struct.cc
// The type of a struct's name, of `fn(T) -> U` as a value's, and of `list T` and `box T`, whose elements' sizes are their own:
// names that stand for any size, which `taken` may not know.
using NameTaken = std::function<bool(const std::string&)>;
Type ResolveData(TypeExpr& t, const StructTable& structs, const NameTaken& taken, Reporter& report,
                 const Limits& limits);

// Whether control can reach the end of the block.
bool FallsThrough(const Block& block);

// Leaves of a type: 1 for what is neither a tuple nor a struct.
int LeafCount(const Type& type);
// Axes of all leaves, leaves, and types inside lists and boxes: what a value's type and sizes cost.
size_t SizeCount(const Type& type);
// False: a type that no walk should go through, made of too many types or of types too deep inside each
// other. It is reported, and nothing may be made of it.
bool CheckTypeSize(const Type& type, const Span& span, Reporter& report, const Limits& limits);
// False: a type over the limits of size, rank, leaves or nesting, which is reported.
bool CheckTypeLimits(const Type& type, const Span& span, Reporter& report, const Limits& limits);

}  // namespace pullback::lang
