// Derivatives of tensor statements and of scalar functions called in their bodies.
//
// The transpose of a statement (Bernstein et al., rules 6.25-6.29, n-ary): the same space, the same
// `where`; the body is the reverse sweep of the statement's body; every read x[a(i)] of an active
// array becomes a result of its own, `[a(i)]: sum w`. Nothing is evaluated where the statement's
// guards are false. core/tensor brings these scatter forms into gather form where that pays.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "core/analysis/activity.h"
#include "core/base/status.h"
#include "core/ir/builder.h"

namespace pullback::ad {

// What a transform gives to the code that differentiates one statement.
struct Surroundings {
  const ir::Function& from;  // the function that is differentiated
  const analysis::Activity& activity;
  std::function<ir::Value(ir::Value)> primal;       // an outer value, where code is built
  std::function<ir::Value(ir::Value, int)> extent;  // of an outer array's axis
  // The function giving a scalar function's results and its partials by the marked parameters:
  // (params) -> results, then for every result that is a float, one partial per marked parameter.
  std::function<StatusOr<uint32_t>(uint32_t callee, const std::vector<bool>& active)> partials_of;
  // An array over the whole space that holds what a body instruction of the statement gave as `result`, where
  // it is better kept than computed again; kNoValue otherwise. Null: nothing is.
  std::function<ir::Value(const ir::Inst& body, ir::Value result)> kept = nullptr;
  // The same of the partial with this number among those that partials_of gives for a call in the body.
  std::function<StatusOr<ir::Value>(const ir::Inst& call, size_t partial)> kept_partial = nullptr;
};

// Cotangents of the outer values that an active `each` reads, given those of its results (kNoValue:
// zero). A product gives each term the product of the others, by scans from both sides; an extremum
// gives everything to the first point that attains it; a scan is transposed by a scan that runs
// backwards. UNIMPLEMENTED for scan_max and scan_min.
StatusOr<std::map<ir::Value, std::vector<ir::Value>>> TransposeStatement(
    ir::Builder& b, const Surroundings& around, const ir::Inst& each,
    const std::vector<ir::Value>& result_bars);

// The statement with `width` tangents: gives the results of `each` and, for every result and
// direction, its tangent or kNoValue. `tangent(v, k)` is the k-th tangent of an outer value.
struct TangentStatement {
  std::vector<ir::Value> primal;
  std::vector<std::vector<ir::Value>> dots;  // [result][direction]
};
StatusOr<TangentStatement> PushStatement(ir::Builder& b, const Surroundings& around,
                                         const ir::Inst& each, int width,
                                         const std::function<ir::Value(ir::Value, int)>& tangent);

}  // namespace pullback::ad
