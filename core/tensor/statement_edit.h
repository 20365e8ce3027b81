// Small edits on one tensor statement that the passes share.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/ir/ir.h"
#include "core/ir/statements.h"

namespace pullback::tensor {

using ir::ConditionsOf;
using ir::FindDef;
using ir::PlaceOfIndex;

// Whether `where`, or the guard where it holds, says that 0 <= e < extent; or e is 0, and an index has that range.
bool IsWithin(const ir::Each& each, ir::Value guard, const ir::Affine& e, ir::Value extent);
// Whether some array of several axes is walked across its rows as the last index runs.
bool WalksAcrossRows(const ir::Each& each, bool with_results);
// The same of another one of its indices.
bool WalksAcrossRows(const ir::Each& each, ir::Value index, bool with_results);
// What an axis of that extent calls `sub`, counted from its end.
ir::Affine Mirrored(const ir::Affine& sub, ir::Value extent);
// The index that the subscript is when that is counted from the end; kNoValue: it is none.
ir::Value MirroredIndex(const ir::Each& each, const ir::Affine& sub, ir::Value extent);
// Whether the index is of no element, and where the guard holds near to where the sum of it and of one of elements is what
// is of outside: n - 1 <= i + j <= n + 1.
bool RunsAgainst(const ir::Each& each, ir::Value index, ir::Value guard);
// In how many subscripts of the result v is.
size_t CountNaming(const ir::EachResult& r, ir::Value v);
// Whether the result's subscripts are indices, each of one axis and as long as that.
bool HasElementByIndices(const ir::Each& each, const ir::EachResult& r);

// `a` with v replaced by e.
void SubstituteIndex(ir::Each& each, ir::Function& f, ir::Value v, const ir::Affine& e);

// 0 <= e and e < extent as constraints, without those that hold for any point of the box: `e` being an
// index with that very extent.
void AddRange(ir::Each& each, const ir::Affine& e, ir::Value extent);

// e = 0 solved for v, which has coefficient 1 or -1 in it.
ir::Affine SolveFor(const ir::Affine& e, ir::Value v);

// A copy of the statement with fresh values for what its space and body define (not for its results), and
// without what no result needs.
struct CopiedStatement {
  ir::Inst inst;
  std::unordered_map<uint32_t, ir::Value> fresh;
};
CopiedStatement CopyStatement(const ir::Inst& inst, ir::Function& f);
// One that holds only the result marked.
CopiedStatement CopyWithResult(const ir::Inst& inst, size_t result, ir::Function& f);

// Each use of a value that the map has becomes a use of what stands for it.
void ReplaceValues(ir::Inst& inst, const std::unordered_map<uint32_t, ir::Value>& by);
void ReplaceValues(ir::Function& f, const std::unordered_map<uint32_t, ir::Value>& by);

// Reads of the statement's body, by what they give, are of a number outside: 0 where the read's guard is false.
void ReadNumbers(ir::Inst& inst, const std::unordered_map<uint32_t, ir::Value>& numbers);

// Appends the trap of an extent that is negative, for a statement that loses it.
void CheckSize(ir::Value size, uint32_t loc, ir::Function& f, std::vector<ir::Inst>& out);

// Whether the body gives one of the result's subscripts, as data do.
bool StoresByData(const ir::Each& each, const ir::EachResult& r);

// Drops body instructions that no result needs.
void PruneBody(ir::Each& each);

}  // namespace pullback::tensor
