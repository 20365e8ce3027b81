// What the derivatives of prod, max, min and scans need beside the statement itself: the products of the
// terms before and after each point (no division, so zeros need no case of their own), the point that
// attains an extremum, the cotangent of a scan's state.
#pragma once

#include "core/ad/body.h"

namespace pullback::ad {

// --- statements of their own, made before the derivative's

// prod: for every point of the space the product of the terms before it, and of those after it.
struct Products {
  ir::Value before, after;  // arrays over the whole space
};
Products MakeProducts(ir::Builder& b, const Surroundings& around, const ir::Each& each,
                      const ir::EachResult& r);
// max, min: which point attains it, as argmax and argmin give it.
ir::Value MakeArg(ir::Builder& b, const Surroundings& around, const ir::Each& each,
                  const ir::EachResult& r);
// What the partial of a result by a term needs: of prod its products, of max and min its point, of the
// others nothing.
struct TermPartial {
  Products products;
  ir::Value arg;                  // of an extremum
  std::vector<ir::Value> places;  // of its indices, if it is one number
};
TermPartial MakeTermPartial(ir::Builder& b, const Surroundings& around, const ir::Each& each,
                            const ir::EachResult& r);
// Scans: for every point of the space the cotangent of the state after it, given that of the stored states.
// `primal`: these.
ir::Value MakeStateBars(ir::Builder& b, const Surroundings& around, const ir::Each& each,
                        const ir::EachResult& r, ir::Value primal, ir::Value bar);

// --- inside the derivative's body

// The element of an array over the whole space.
ir::Value AtPoint(ir::Builder& b, BodyCopy& body, const ir::Each& each, ir::Value array);
// The element out[] of a result, or the scalar that it is.
ir::Value AtOut(ir::Builder& b, BodyCopy& body, const ir::EachResult& r, ir::Value result);
// scan_max, scan_min: whether the point's term replaces the state, which is stored in `primal`: it is beyond
// it, or the first NaN.
ir::Value Replaces(ir::Builder& b, BodyCopy& body, const ir::EachResult& r, ir::Value primal);
// What a term has of the derivative `v` of a product or an extremum (a tangent or a cotangent: both are
// multiplied by the partial).
ir::Value ShareOfTerm(ir::Builder& b, BodyCopy& body, const Surroundings& around,
                      const ir::Each& each, const ir::EachResult& r, const TermPartial& partial,
                      ir::Value v);

}  // namespace pullback::ad
