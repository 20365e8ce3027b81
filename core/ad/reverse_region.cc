#include "core/ad/reverse_region.h"

#include <map>
#include <utility>

#include "core/ir/builder.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Value;

class RegionWriter {
 public:
  RegionWriter(ir::Module& module, uint32_t target, uint32_t region, const Adders& adders,
               const std::vector<bool>& params, const std::vector<bool>& results,
               const BothOf& both_of)
      : region_(module.Get(region)),
        b_(module, module.Get(target)),
        adders_(adders),
        sums_(adders.SumsOf(region)),
        params_(params),
        results_(results),
        both_of_(both_of) {}

  Status Run() {
    Declare();
    for (uint32_t block = 0; block < region_.blocks.size(); ++block)
      PB_RETURN_IF_ERROR(WriteBlock(block));
    return {};
  }

 private:
  // Every block takes along the cotangents so far, and the tape.
  void Declare() {
    const ir::Values given = b_.function().params();
    const size_t n = region_.params().size();
    to_.resize(region_.values.size());
    for (size_t k = 0; k < n; ++k) to_[region_.params()[k].id] = given[k];
    size_t next = n;
    for (bool active : results_) {
      if (active) seeds_.push_back(given[next++]);
    }
    ir::Values bars(given.begin() + static_cast<long>(next), given.end());
    size_t bar = 0;
    for (size_t k = sums_; k < n; ++k) {
      if (params_[k]) bar_of_[region_.params()[k]] = bar++;
    }
    bars_ = {bars};
    for (uint32_t block = 1; block < region_.blocks.size(); ++block) {
      b_.NewBlock();
      for (Value v : region_.blocks[block].params)
        to_[v.id] = b_.AddParam(block, region_.TypeOf(v), region_.names[v.id]);
      bars_.emplace_back();
      for (Value v : bars) bars_[block].push_back(b_.AddParam(block, b_.TypeOf(v), "bar"));
    }
  }

  Status WriteBlock(uint32_t block) {
    b_.SetBlock(block);
    const auto map = [this](Value& v) { v = to_[v.id]; };
    for (const Inst& inst : region_.blocks[block].insts) {
      if (inst.op == Op::Call) {
        PB_RETURN_IF_ERROR(WriteCall(inst, bars_[block]));
        continue;
      }
      Inst copy = inst;
      ir::ForEachOperand(copy, map);
      for (Value& v : copy.results) v = to_[v.id] = b_.function().NewLike(region_, v);
      b_.Append(std::move(copy));
    }
    Terminator term = region_.blocks[block].term;
    ir::ForEachTermOperand(term, map);
    if (term.kind == Terminator::Kind::kReturn) {
      for (size_t k = 0, next = 0; k < results_.size(); ++k) {
        if (results_[k]) term.results.push_back(seeds_[next++]);
      }
      term.results.insert(term.results.end(), bars_[block].begin(), bars_[block].end());
    }
    for (ir::Edge& e : term.edges)
      e.args.insert(e.args.end(), bars_[block].begin(), bars_[block].end());
    b_.function().blocks[block].term = std::move(term);
    return {};
  }

  Status WriteCall(const Inst& call, ir::Values& bars) {
    std::vector<bool> active;
    for (size_t k = 0; k < call.args.size(); ++k)
      active.push_back(k < sums_ ? results_[k] : bar_of_.contains(call.args[k]));
    adders_.DropInert(call.callee, active);
    PB_ASSIGN_OR_RETURN(const uint32_t both, both_of_(call.callee, sums_, active, results_));
    ir::Values args;
    for (Value v : call.args) args.push_back(to_[v.id]);
    args.insert(args.end(), seeds_.begin(), seeds_.end());
    for (size_t k = sums_; k < call.args.size(); ++k) {
      if (active[k]) args.push_back(bars[bar_of_.at(call.args[k])]);
    }
    args.push_back(bars.back());
    const std::vector<Value> made = b_.Call(both, args);
    for (size_t k = 0; k < call.results.size(); ++k) to_[call.results[k].id] = made[k];
    size_t next = call.results.size() + seeds_.size();  // a sum's is what the result's was
    for (size_t k = sums_; k < call.args.size(); ++k) {
      if (active[k]) bars[bar_of_.at(call.args[k])] = made[next++];
    }
    bars.back() = made.back();
    return {};
  }

  const ir::Function& region_;
  ir::Builder b_;
  const Adders& adders_;
  const size_t sums_;
  const std::vector<bool>&params_, &results_;
  const BothOf& both_of_;
  std::vector<Value> to_;           // by value of the region
  std::map<Value, size_t> bar_of_;  // of its active parameters the number of the cotangent
  ir::Values seeds_;
  std::vector<ir::Values> bars_;  // by block, as far as it is written
};

}  // namespace

Status WriteRegion(ir::Module& module, uint32_t target, uint32_t region, const Adders& adders,
                   const std::vector<bool>& params, const std::vector<bool>& results,
                   const BothOf& both_of) {
  return RegionWriter(module, target, region, adders, params, results, both_of).Run();
}

}  // namespace pullback::ad
