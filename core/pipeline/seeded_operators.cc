#include "core/pipeline/seeded_operators.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ad/operators.h"
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
  Seeder(PassRunner& passes, ir::Module& m) : passes_(passes), m_(m) {}

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
    if (made) {
      Graft(g, std::move(*made));
    } else {
      passes_.counts() = before;
    }
    return {};
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

  // A module of its own, with all seeds at once in its entry. What cannot be derived is for the loop to say.
  StatusOr<std::optional<ir::Module>> Seeded(const ir::JacobianLoop& loop) {
    std::optional<ir::Module> m = m_.Clone();
    m->entry = loop.function;
    ReadExtentParams(m_, loop.function, m->Get(loop.function));
    opt::DropUnreachedFunctions(*m);
    PB_RETURN_IF_ERROR(InlineAndSimplify(passes_, *m));
    if (!DeriveOperators(passes_, *m, true).ok() || !ad::CheckDerivable(*m, m->entry).ok())
      return std::optional<ir::Module>();
    const size_t count = m->Get(m->entry).results.size();
    ad::JacobianRows rows{std::vector<bool>(count, true), {}};
    for (ir::Type t : m->Get(m->entry).results) rows.differentiated.push_back(t.IsFloat());
    PB_ASSIGN_OR_RETURN(const auto made, ad::SeedJacobian(*m, m->entry, loop.wrt, rows));
    if (!made) return std::optional<ir::Module>();
    m->entry = made->function;
    PB_RETURN_IF_ERROR(InlineAndSimplify(passes_, *m));
    PB_RETURN_IF_ERROR(NormaliseAndFuse(passes_, *m, kSeededRounds));
    if (!IsCompact(*m, made->seeded) || m->records.size() != m_.records.size()) m.reset();
    return m;
  }

  // Its entry in place of g.
  void Graft(uint32_t g, ir::Module from) {
    opt::DropUnreachedFunctions(from);
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
  std::set<uint32_t> seen_;
};

}  // namespace

Status SeedOperators(PassRunner& passes, ir::Module& m) { return Seeder(passes, m).Run(); }

}  // namespace pullback::pipeline
