#include "core/ir/fingerprint.h"

#include <catch2/catch.hpp>
#include <functional>

#include "core/ir/parser.h"

namespace pullback::ir {
namespace {

Module Parsed() {
  auto m = ParseModule(R"(record Node { x: f64 }
entry @f

fn @g(%x: f64) -> (f64) {
b0:
  ret %x
}

fn @f(%x: f64, %a: [*]f64, %c: bool) -> (f64) {
b0:
  %n = dim %a, 0 !3
  %ok = holds (0 <= %n)
  check %ok, index, %n, %n !4
  %s = each(i < %n) where (%i <= %n) {
    %v = index %a[%i]
    %h = holds (%i < %n)
    %w = mul %v, %v if %h
  } sum []: %w
  %d, %t = jvp @g wrt(0) (%x, %s)
  br %c, b1(%s), b1(%x)
b1(%r: f64):
  %y = call @g(%r)
  ret %y
}
)");
  INFO(m.status().ToString());
  REQUIRE(m.ok());
  return std::move(*m);
}

using Change = std::function<void(Module&)>;
Function& F(Module& m) { return m.Get(m.entry); }
Inst& First(Module& m, Op op) {
  for (Block& b : F(m).blocks) {
    for (Inst& inst : b.insts) {
      if (inst.op == op) return inst;
    }
  }
  throw std::logic_error("no such instruction");
}
Each& Statement(Module& m) { return *First(m, Op::Each).each; }

TEST_CASE("fingerprint: of a copy it is the same, whatever its values are called") {
  const Module m = Parsed();
  Module copy = m.Clone();
  CHECK(Fingerprint(copy) == Fingerprint(m));
  F(copy).names[0] = "other";
  CHECK(Fingerprint(copy) == Fingerprint(m));
}

TEST_CASE("fingerprint: whatever a pass changes changes it") {
  const std::vector<Change> changes = {
      [](Module& m) { m.entry = 0; },
      [](Module& m) { std::swap(m.functions[0], m.functions[1]); },
      [](Module& m) { m.records[0].name += "s"; },
      [](Module& m) { m.records[0].field_names[0] += "s"; },
      [](Module& m) { m.records[0].fields[0] = Type::I64(); },
      [](Module& m) { F(m).vjp_rule = 0; },
      [](Module& m) { F(m).jvp_rule = 0; },
      [](Module& m) { F(m).results[0] = Type::I64(); },
      [](Module& m) { F(m).values[1].rank = 2; },
      [](Module& m) { F(m).NewValue(Type::F64()); },
      [](Module& m) { std::swap(F(m).blocks[0].params[0], F(m).blocks[0].params[1]); },
      [](Module& m) { F(m).blocks[0].insts.pop_back(); },
      [](Module& m) { F(m).blocks[0].term.kind = Terminator::Kind::kJump; },
      [](Module& m) { F(m).blocks[0].term.cond = Value{0}; },
      [](Module& m) { F(m).blocks[0].term.snapshots = Value{0}; },
      [](Module& m) { F(m).blocks[0].term.edges[1].block = 0; },
      [](Module& m) { F(m).blocks[0].term.edges[1].args[0] = Value{1}; },
      [](Module& m) { F(m).blocks[0].term.edges[1].args.clear(); },
      [](Module& m) { F(m).blocks[1].term.results[0] = Value{0}; },
      [](Module& m) { First(m, Op::Call).op = Op::Sin; },
      [](Module& m) { First(m, Op::Call).checkpoint = true; },
      [](Module& m) { First(m, Op::Call).callee = 1; },
      [](Module& m) { First(m, Op::Call).args[0] = Value{0}; },
      [](Module& m) { First(m, Op::Call).results[0] = Value{0}; },
      [](Module& m) { First(m, Op::Dim).bits = 1; },
      [](Module& m) { First(m, Op::Dim).loc = 4; },
      [](Module& m) { First(m, Op::Jvp).wrt[0] = false; },
      [](Module& m) { First(m, Op::Holds).constraints[0].equality = true; },
      [](Module& m) { First(m, Op::Holds).constraints[0].e.constant = 5; },
      [](Module& m) { First(m, Op::Holds).constraints[0].e.terms[0].coeff = 2; },
      [](Module& m) { First(m, Op::Holds).constraints[0].e.terms[0].value = Value{1}; },
      [](Module& m) { First(m, Op::Each).each.reset(); },
      [](Module& m) { Statement(m).indices[0].var = Value{0}; },
      [](Module& m) { Statement(m).indices[0].extent = Value{0}; },
      [](Module& m) { Statement(m).where[0].e.constant = 1; },
      [](Module& m) { Statement(m).body[0].subs[0].constant = 1; },
      [](Module& m) { Statement(m).body.back().guard = kNoValue; },
      [](Module& m) { Statement(m).results[0].monoid = Monoid::kMax; },
      [](Module& m) { Statement(m).results[0].out.push_back(Affine::Const(0)); },
      [](Module& m) { Statement(m).results[0].shape.push_back(Value{0}); },
      [](Module& m) { Statement(m).results[0].value = Value{0}; },
      [](Module& m) { Statement(m).results[0].guard = Value{0}; },
      [](Module& m) { Statement(m).results[0].second = Value{0}; },
      [](Module& m) { Statement(m).results[0].outer = 1; },
      [](Module& m) { Statement(m).results[0].into = Value{0}; },
      [](Module& m) { Statement(m).results[0].loc = 9; },
  };
  const Module m = Parsed();
  for (size_t k = 0; k < changes.size(); ++k) {
    Module copy = m.Clone();
    changes[k](copy);
    INFO("change " << k);
    CHECK(Fingerprint(copy) != Fingerprint(m));
  }
}

}  // namespace
}  // namespace pullback::ir
