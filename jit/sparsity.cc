#include "jit/sparsity.h"

#include <algorithm>
#include <map>

#include "core/analysis/outer_values.h"
#include "core/analysis/support.h"
#include "core/ir/printer.h"
#include "jit/pattern_text.h"

namespace pullback::jit {
namespace {

using pipeline::Transform;

struct Block {
  size_t result;
  std::string parameter;
};

// In the order of the results that hold them.
std::vector<Block> Blocks(const ir::Function& program, Transform transform,
                          const std::vector<bool>& wrt) {
  std::vector<std::string> columns;
  for (size_t k = 0; k < program.params().size(); ++k) {
    const ir::Value v = program.params()[k];
    if (wrt[k] && program.TypeOf(v).IsFloat()) columns.push_back(program.names[v.id]);
  }
  size_t rows = columns.size();
  if (transform == Transform::kJacobian) rows = program.results.size();
  std::vector<Block> blocks;
  for (size_t r = 0; r < rows; ++r) {
    if (transform == Transform::kJacobian && !program.results[r].IsFloat()) continue;
    for (const std::string& column : columns) blocks.push_back({r, column});
  }
  return blocks;
}

class Patterns {
 public:
  explicit Patterns(const ir::Function& f) : f_(f), outer_(f) {
    for (const ir::Block& b : f.blocks) {
      for (const ir::Inst& inst : b.insts) {
        for (size_t k = 0; k < inst.results.size(); ++k) definitions_[inst.results[k]] = {&inst, k};
      }
    }
  }

  // `"dense": …`, and the pattern where it is not. Nothing where v is not one statement's, or data say the places.
  std::optional<std::string> Of(ir::Value v) const {
    const auto it = definitions_.find(v);
    if (it == definitions_.end()) return std::nullopt;
    return OfDefinition(*it->second.inst, it->second.result);
  }

 private:
  static std::string Dense() { return "\"dense\": true"; }

  std::optional<std::string> OfDefinition(const ir::Inst& inst, size_t k) const {
    if (inst.op == ir::Op::Zeros) return Sparse("[]", "false", "");
    if (!inst.each) return std::nullopt;
    const ir::Each& each = *inst.each;
    const ir::EachResult& r = each.results[k];
    if (r.into.valid() || StoresWhereDataSay(each, r)) return std::nullopt;
    const std::vector<analysis::Conjunction> support =
        analysis::SupportOf(each, r, outer_.BoxOf(each));
    const bool everywhere = support.size() == 1 && support[0].empty();
    if (everywhere && IsPrefixForm(each, r) && ReachesAll(each, r)) return Dense();
    std::vector<ir::Constraint> box;
    for (const ir::IndexVar& i : each.indices)
      box.push_back(
          {ir::Affine::Of(i.extent) - ir::Affine::Of(i.var) - ir::Affine::Const(1), false});
    std::string where;
    for (const analysis::Conjunction& c : support)
      where += (where.empty() ? "" : ", ") + Quoted(c.empty() ? "true" : PrintConstraints(f_, c));
    return Sparse(PrintSubscripts(f_, r.out), PrintConstraints(f_, box), where);
  }

  static bool StoresWhereDataSay(const ir::Each& each, const ir::EachResult& r) {
    bool data = false;
    for (const ir::Affine& a : r.out) {
      ir::ForEachOperand(a, [&](ir::Value v) {
        data |= std::any_of(each.body.begin(), each.body.end(), [&](const ir::Inst& inst) {
          return std::find(inst.results.begin(), inst.results.end(), v) != inst.results.end();
        });
      });
    }
    return data;
  }

  // Every element is a point of the box.
  static bool ReachesAll(const ir::Each& each, const ir::EachResult& r) {
    for (size_t k = 0; k < r.out.size(); ++k) {
      if (each.indices[k].extent != r.shape[k]) return false;
    }
    return true;
  }

  static std::string Sparse(const std::string& elements, const std::string& points,
                            const std::string& where) {
    return "\"dense\": false, " + PieceText(elements, points, where);
  }

  struct Definition {
    const ir::Inst* inst;
    size_t result;
  };

  const ir::Function& f_;
  const analysis::OuterValues outer_;
  std::map<ir::Value, Definition> definitions_;
};

}  // namespace

StatusOr<std::string> DescribeSparsity(const pipeline::Staged& staged, Transform transform,
                                       const std::vector<bool>& wrt,
                                       const std::vector<BlockCount>& counts) {
  if (transform != Transform::kJacobian && transform != Transform::kHessian) {
    return Status(Code::kInvalidArgument, "NO_SPARSITY",
                  "sparsity is that of a jacobian or a hessian, not of " +
                      std::string(pipeline::TransformName(transform)));
  }
  const ir::Function& program = staged.ssa.Get(staged.ssa.entry);
  const ir::Function& final = staged.final.Get(staged.final.entry);
  const std::vector<Block> blocks = Blocks(program, transform, wrt);
  const Patterns patterns(final);
  std::string out = "{\n  \"blocks\": [";
  const ir::Values* results = nullptr;
  for (const ir::Block& b : final.blocks) {
    if (b.term.kind == ir::Terminator::Kind::kReturn && final.blocks.size() == 1)
      results = &b.term.results;
  }
  const size_t first = final.results.size() - blocks.size();
  PB_ASSIGN_OR_RETURN(const std::vector<bool> found,
                      pipeline::FoundPatterns(staged.ssa, transform, wrt));
  PB_CHECK(found.size() == blocks.size());
  PB_ASSIGN_OR_RETURN(const ad::SymbolicPatterns told,
                      pipeline::FindSymbolicPatterns(staged.ssa, transform, wrt));
  PB_CHECK(told.blocks.size() == blocks.size());
  const auto otherwise = [&](size_t k) -> std::string {
    if (told.blocks[k]) return PatternText(told, *told.blocks[k]);
    return found[k] ? "\"dense\": null, \"pattern\": \"found when it runs\"" : "\"dense\": true";
  };
  for (size_t k = 0; k < blocks.size(); ++k) {
    std::optional<std::string> pattern;
    if (results != nullptr) pattern = patterns.Of((*results)[first + k]);
    if (!pattern) pattern = otherwise(k);
    out += (k == 0 ? "\n" : ",\n");
    out += "    {\"result\": " + std::to_string(blocks[k].result) +
           ", \"parameter\": " + Quoted(blocks[k].parameter) + ", " + *pattern;
    if (k < counts.size()) {
      out += ", \"seeds\": " + std::to_string(counts[k].seeds) +
             ", \"count\": " + std::to_string(counts[k].elements);
    }
    out += "}";
  }
  return out + "\n  ]\n}\n";
}

std::vector<BlockCount> CountBlocks(const std::vector<Tensor>& results, size_t first) {
  std::vector<BlockCount> counts;
  for (size_t at = first; at + 1 < results.size();) {
    const int64_t seeds = results[at].At<int64_t>(0);
    at +=
        2 + static_cast<size_t>(results[at + 1].ElementCount());  // the shape has one for each axis
    counts.push_back({seeds, results[at++].ElementCount()});
  }
  return counts;
}

}  // namespace pullback::jit
