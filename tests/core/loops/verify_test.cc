// Loops that a fault of the lowering might give are refused, each rule with its case.
#include "core/loops/verify.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

#include "core/loops/lower.h"
#include "tests/core/loops/testing.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;
using ir::Type;

constexpr char kText[] = R"(
entry @f
fn @f(%x: [*]f64, %c: bool) -> ([*]f64, f64) {
b0:
  %n = dim %x, 0
  %y = each(i < %n) { %u = index %x[%i]; %p = ge %u, 0.0; %v = sqrt %u if %p } gen [%i] of (%n): %v
  %s = each(i < %n) { %w = index %y[%i] } sum []: %w
  br %c, b1, b2
b1:
  %t = call @g(%s)
  jump b3(%t)
b2:
  jump b3(%s)
b3(%r: f64):
  ret %y, %r
}
fn @g(%a: f64) -> f64 {
b0:
  %b = add %a, %a
  ret %b
}
)";

Module Loops() {
  StatusOr<Module> loops = LowerToLoops(ParseIr(kText));
  REQUIRE(loops.ok());
  return *std::move(loops);
}

// The first node of a kind in the entry's first block, in loops too.
Node& Find(std::vector<Node>& nodes, Kind kind) {
  const std::function<Node*(std::vector<Node>&)> find = [&](std::vector<Node>& in) -> Node* {
    for (Node& n : in) {
      if (n.kind == kind) return &n;
      if (Node* inner = find(n.body)) return inner;
    }
    return nullptr;
  };
  Node* const found = find(nodes);
  REQUIRE(found);
  return *found;
}

struct Broken {
  const char* name;
  std::function<void(Module&, Function&)> how;
  const char* message;
};

void Refused(const Broken& c) {
  INFO(c.name);
  Module module = Loops();
  REQUIRE(Verify(module).ok());
  c.how(module, *module.functions[0]);
  const Status status = Verify(module);
  CHECK(status.code() == Code::kInternal);
  CHECK(status.reason() == "LOOPS_INVALID");
  CHECK(status.message().find(c.message) != std::string::npos);
}

std::vector<Node>& Entry(Function& f) { return f.blocks[0].nodes; }

TEST_CASE("verify: what is used is defined before, on every path") {
  const char* const undefined = "not defined";
  const Broken cases[] = {
      {"never written",
       [](Module&, Function& f) { Find(Entry(f), Kind::kLoad).args[1] = f.NewReg(Type::I64()); },
       undefined},
      {"written later",
       [](Module&, Function& f) {
         std::vector<Node>& nodes = Entry(f);
         std::rotate(nodes.begin(), nodes.begin() + 1, nodes.end());
       },
       undefined},
      {"written on one path only",
       [](Module&, Function& f) { f.blocks[3].term.results[1] = f.blocks[1].nodes[0].results[0]; },
       undefined},
      {"the index of a loop, behind it",
       [](Module&, Function& f) {
         Node node;
         node.op = ir::Op::Neg;
         node.args = {Find(Entry(f), Kind::kFor).results[0]};
         node.results = {f.NewReg(Type::I64())};
         Entry(f).push_back(node);
       },
       undefined},
      {"written in a loop, and read behind it",
       [](Module&, Function& f) {
         Node node;
         node.op = ir::Op::Neg;
         node.args = {Find(Entry(f), Kind::kLoad).results[0]};
         node.results = {f.NewReg(Type::F64())};
         Entry(f).push_back(node);
       },
       undefined},
      {"written in a branch, and yielded by the other",
       [](Module&, Function& f) {
         Node& n = Find(Entry(f), Kind::kIf);
         n.other_yields = n.body_yields;
       },
       undefined},
      {"an array that is made later",
       [](Module&, Function& f) {
         std::vector<Node>& nodes = Entry(f);
         for (size_t k = 0; k < nodes.size(); ++k) {
           if (nodes[k].kind != Kind::kAlloc) continue;
           std::rotate(nodes.begin() + static_cast<std::ptrdiff_t>(k),
                       nodes.begin() + static_cast<std::ptrdiff_t>(k) + 1, nodes.end());
           return;
         }
       },
       undefined},
      {"written twice",
       [](Module&, Function& f) {
         Find(Entry(f), Kind::kLoad).results = {Find(Entry(f), Kind::kFor).results[0]};
       },
       "written twice"},
      {"not a register",
       [](Module&, Function& f) { Find(Entry(f), Kind::kLoad).args[1] = Reg{1u << 30}; },
       "not there"},
  };
  for (const Broken& c : cases) Refused(c);
}

TEST_CASE("verify: operands have the number and types of their nodes") {
  const char* const shape = "wrong number or type";
  const auto drops = [](Kind kind) {
    return [kind](Module&, Function& f) { Find(Entry(f), kind).args.pop_back(); };
  };
  const auto takes = [](Kind kind, size_t at) {
    return
        [kind, at](Module&, Function& f) { Find(Entry(f), kind).args[at] = f.blocks[0].params[1]; };
  };
  std::vector<Broken> cases = {
      {"a dim of no axis", [](Module&, Function& f) { Find(Entry(f), Kind::kDim).bits = 1; },
       shape},
      {"a dim of a scalar", takes(Kind::kDim, 0), shape},
      {"an offset that is a condition", takes(Kind::kLoad, 1), shape},
      {"a store of another type", takes(Kind::kStore, 2), shape},
      {"an alloc without an extent", drops(Kind::kAlloc), shape},
      {"a loop without an end", drops(Kind::kFor), shape},
      {"a branch without a value",
       [](Module&, Function& f) { Find(Entry(f), Kind::kIf).other_yields.clear(); }, shape},
      {"lanes that are none", takes(Kind::kLaneAdd, 0), shape},
      {"a total that is a condition",
       [](Module&, Function& f) {
         f.regs[Find(Entry(f), Kind::kLanesTotal).results[0].id].type = Type::Bool();
       },
       shape},
      {"a release of a scalar", takes(Kind::kRelease, 0), shape},
      {"an op without an operand",
       [](Module&, Function& f) { Find(Entry(f), Kind::kIf).body[0].args.clear(); }, shape},
      {"a check of nothing",
       [](Module&, Function& f) {
         Node node;
         node.kind = Kind::kCheck;
         Entry(f).push_back(node);
       },
       shape},
      {"a call without an argument",
       [](Module&, Function& f) { Find(f.blocks[1].nodes, Kind::kCall).args.clear(); }, shape},
      {"a call of no function",
       [](Module&, Function& f) { Find(f.blocks[1].nodes, Kind::kCall).callee = 7; },
       "function that is not there"},
      {"a jump to no block", [](Module&, Function& f) { f.blocks[1].term.edges[0].block = 99; },
       "not there"},
      {"an edge without its value",
       [](Module&, Function& f) { f.blocks[1].term.edges[0].args.clear(); },
       "wrong number of values"},
      {"an edge with another type",
       [](Module&, Function& f) { f.blocks[2].term.edges[0].args[0] = f.blocks[0].params[1]; },
       "value of the wrong type"},
      {"a return of too little", [](Module&, Function& f) { f.blocks[3].term.results.pop_back(); },
       "wrong number of values"},
      {"a return of another type",
       [](Module&, Function& f) { f.blocks[3].term.results[1] = f.blocks[0].params[1]; },
       "return of the wrong type"},
      {"a branch on a number",
       [](Module&, Function& f) { f.blocks[0].term.cond = Find(Entry(f), Kind::kDim).results[0]; },
       "no condition"},
      {"no end", [](Module&, Function& f) { f.blocks[3].term.kind = ir::Terminator::Kind::kNone; },
       "without an end"},
      {"a jump without its edge", [](Module&, Function& f) { f.blocks[2].term.edges.clear(); },
       "without its edge"},
      {"a branch without an edge", [](Module&, Function& f) { f.blocks[0].term.edges.pop_back(); },
       "without its edges"},
  };
  for (const Broken& c : cases) Refused(c);
}

TEST_CASE("verify: arrays are not used after their last owner") {
  const auto again = [](Kind kind) {
    return [kind](Module&, Function& f) { Entry(f).push_back(Find(Entry(f), kind)); };
  };
  Refused({"released twice", again(Kind::kRelease), "last owner"});
  Refused({"read after its release",
           [](Module&, Function& f) {
             Node node;
             node.kind = Kind::kDim;
             node.args = {Find(Entry(f), Kind::kRelease).args[0]};
             node.results = {f.NewReg(Type::I64())};
             Entry(f).push_back(node);
           },
           "last owner"});
  Refused({"returned twice",
           [](Module&, Function& f) {
             f.results[1] = f.results[0];
             f.blocks[3].term.results[1] = f.blocks[3].term.results[0];
           },
           "last owner"});
  // One more reference is enough.
  Module module = Loops();
  Function& f = *module.functions[0];
  Node retain;
  retain.kind = Kind::kRetain;
  retain.args = {Find(Entry(f), Kind::kRelease).args[0]};
  Entry(f).insert(Entry(f).begin(), retain);
  Entry(f).push_back(Find(Entry(f), Kind::kRelease));
  CHECK(Verify(module).ok());
}

TEST_CASE("verify: a check stands in front of what relies on it") {
  const std::string text = R"(
fn @f(%x: [*]f64, %m: i64) -> f64 {
b0:
  %s = each(i < %m) { %u = index %x[%i] } sum []: %u
  ret %s
}
)";
  StatusOr<Module> loops = LowerToLoops(ParseIr(text));
  REQUIRE(loops.ok());
  std::vector<Node>& nodes = Entry(*loops->functions[0]);
  const auto is = [](Kind kind) { return [kind](const Node& n) { return n.kind == kind; }; };
  const auto check = std::find_if(nodes.begin(), nodes.end(), is(Kind::kIf));
  const auto loop = std::find_if(nodes.begin(), nodes.end(), is(Kind::kFor));
  REQUIRE(check < loop);
  std::rotate(check, check + 1, loop + 1);
  const Status status = Verify(*loops);
  CHECK(status.reason() == "LOOPS_INVALID");
  CHECK(status.message().find("a check comes behind what relies on it") != std::string::npos);
}

}  // namespace
}  // namespace pullback::loops
