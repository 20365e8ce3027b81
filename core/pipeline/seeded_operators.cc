#include "core/pipeline/seeded_operators.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ad/operators.h"
#include "core/ad/seeded_blocks.h"
#include "core/ad/seeded_jacobian.h"
#include "core/ir/jacobian.h"
#include "core/opt/simplify.h"
#include "core/pipeline/extent_params.h"
#include "core/pipeline/steps.h"

namespace pullback::pipeline {
namespace {

using ir::Inst;

class Seeder {
 public:
  Seeder(PassRunner& passes, ir::Module& m, bool differentiated)
      : passes_(passes), m_(m), differentiated_(differentiated) {}

  Status Run() {
    const size_t count = m_.functions.size();
    for (uint32_t g = 0; g < count; ++g) PB_RETURN_IF_ERROR(Visit(g));
    return {};
  }

 private:
  // The Jacobians within what a Jacobian differentiates come first: it is not straight-line before.
  Status Visit(uint32_t g) {
    const std::optional<ir::JacobianLoop> loop = ir::FindJacobianLoop(m_, g);
    if (!loop || !seen_.insert(g).second) return {};
    for (uint32_t inner : Reached(loop->function)) PB_RETURN_IF_ERROR(Visit(inner));
    const opt::RuleCounts before = passes_.counts();
    PB_ASSIGN_OR_RETURN(std::optional<ir::Module> made, Seeded(*loop));
    if (!made && !IsDifferentiated(g)) {
      passes_.counts() = before;
      PB_ASSIGN_OR_RETURN(made, InChunks(*loop));
    }
    if (made) {
      Graft(g, std::move(*made));
    } else {
      passes_.counts() = before;
    }
    return {};
  }

  // Chunks of seeds would be kept on tapes.
  bool IsDifferentiated(uint32_t g) const {
    if (differentiated_) return true;
    for (const auto& f : m_.functions) {
      for (const ir::Block& b : f->blocks) {
        for (const Inst& inst : b.insts) {
          if (inst.op != ir::Op::Jvp && inst.op != ir::Op::Vjp) continue;
          const std::vector<uint32_t> reached = Reached(inst.callee);
          if (std::find(reached.begin(), reached.end(), g) != reached.end()) return true;
        }
      }
    }
    return false;
  }

  std::vector<uint32_t> Reached(uint32_t f) const {
    std::vector<uint32_t> reached = {f};
    std::set<uint32_t> seen = {f};
    for (size_t k = 0; k < reached.size(); ++k) {
      ir::ForEachCallee(m_.Get(reached[k]), [&](uint32_t callee) {
        if (seen.insert(callee).second) reached.push_back(callee);
      });
    }
    return reached;
  }

  // A module of its own, whose entry is what is differentiated, with its own derivatives taken. What cannot be
  // derived is for the loop to say.
  StatusOr<std::optional<ir::Module>> Differentiated(const ir::JacobianLoop& loop, bool loops) {
    std::optional<ir::Module> m = m_.Clone();
    m->entry = loop.function;
    ReadExtentParams(m_, loop.function, m->Get(loop.function));
    opt::DropUnreachedFunctions(*m);
    PB_RETURN_IF_ERROR(InlineAndSimplify(passes_, *m));
    if (loops) PB_RETURN_IF_ERROR(PrepareLoops(passes_, *m));
    if (!DeriveOperators(passes_, *m, true).ok() || !ad::CheckDerivable(*m, m->entry).ok())
      m.reset();
    return m;
  }

  static ad::JacobianRows AllRows(const ir::Function& f) {
    ad::JacobianRows rows{std::vector<bool>(f.results.size(), true), {}};
    for (ir::Type t : f.results) rows.differentiated.push_back(t.IsFloat());
    return rows;
  }

  // With all seeds at once.
  StatusOr<std::optional<ir::Module>> Seeded(const ir::JacobianLoop& loop) {
    PB_ASSIGN_OR_RETURN(std::optional<ir::Module> m, Differentiated(loop, false));
    if (!m) return m;
    PB_ASSIGN_OR_RETURN(const auto made,
                        ad::SeedJacobian(*m, m->entry, loop.wrt, AllRows(m->Get(m->entry))));
    if (!made) return std::optional<ir::Module>();
    m->entry = made->function;
    PB_RETURN_IF_ERROR(InlineAndSimplify(passes_, *m));
    PB_RETURN_IF_ERROR(NormaliseAndFuse(passes_, *m, kSeededRounds));
    if (!IsCompact(*m, made->seeded)) m.reset();
    return m;
  }

  // With many.
  StatusOr<std::optional<ir::Module>> InChunks(const ir::JacobianLoop& loop) {
    PB_ASSIGN_OR_RETURN(std::optional<ir::Module> m, Differentiated(loop, true));
    if (!m) return m;
    const auto made = ad::SeedInChunks(*m, m->entry, loop.wrt, AllRows(m->Get(m->entry)), false);
    if (!made.ok() || !*made) return std::optional<ir::Module>();
    m->entry = **made;
    if (!DeriveOperators(passes_, *m, true).ok()) m.reset();
    return m;
  }

  // Its entry in place of g.
  void Graft(uint32_t g, ir::Module from) {
    opt::DropUnreachedFunctions(from);
    m_.records = from.records;  // those of m_, and more
    std::vector<uint32_t> places;
    for (uint32_t k = 0; k < from.functions.size(); ++k)
      places.push_back(k == from.entry ? g : m_.AddFunction(from.Get(k).name));
    for (uint32_t k = 0; k < from.functions.size(); ++k) {
      ir::Function& f = from.Get(k);
      ir::ForEachCallee(f, [&](uint32_t& callee) { callee = places[callee]; });
      f.name = m_.Get(places[k]).name;
      m_.Get(places[k]) = std::move(f);
    }
  }

  PassRunner& passes_;
  ir::Module& m_;
  const bool differentiated_;
  std::set<uint32_t> seen_;
};

}  // namespace

Status SeedOperators(PassRunner& passes, ir::Module& m, bool differentiated) {
  return Seeder(passes, m, differentiated).Run();
}

}  // namespace pullback::pipeline
