#include "core/ad/tape_proof.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace pullback::ad {
namespace {

using ir::Block;
using ir::Edge;
using ir::Function;
using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Type;
using ir::Value;

// What happens to a tape.
struct Step {
  Op op;            // Push, Pop, Call
  Type type;        // of the value
  Value value;      // that is pushed or popped
  uint32_t callee;  // that takes the tape last, and gives it back last
};

std::map<Value, int64_t> IntegersOf(const Function& f) {
  std::map<Value, int64_t> constants;
  for (const Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::Const && f.TypeOf(inst.results[0]) == Type::I64())
        constants[inst.results[0]] = static_cast<int64_t>(inst.bits);
    }
  }
  return constants;
}

class TapeProof {
 public:
  explicit TapeProof(const TapeHalves& halves)
      : halves_(halves),
        forward_(*halves.forward),
        reverse_(*halves.reverse),
        tags_(IntegersOf(forward_)),
        constants_(IntegersOf(reverse_)),
        preds_(ir::Predecessors(forward_)) {
    for (uint32_t b = 0; b < halves.blocks.size(); ++b) {
      if (halves.blocks[b].reverse_block != ir::kNoBlock)
        reversed_by_[halves.blocks[b].reverse_block] = b;
    }
  }

  Status Run() {
    std::vector<std::vector<Step>> pushed(halves_.blocks.size());
    for (uint32_t b = 0; b < halves_.blocks.size(); ++b) {
      Value tape = halves_.blocks[b].tape;
      if (!Follow(forward_, b, tape, pushed[b]))
        return Wrong(b, "uses its tape for something else");
      if (!HandsOn(b, tape)) return Wrong(b, "hands on another tape");
    }
    PB_RETURN_IF_ERROR(Begin());
    for (uint32_t b = 0; b < halves_.blocks.size(); ++b) {
      if (halves_.blocks[b].reverse_block != ir::kNoBlock) {
        PB_RETURN_IF_ERROR(Reverse(b, pushed[b]));
      } else if (!pushed[b].empty()) {
        return Wrong(b, "is passed by, but pushes");
      }
    }
    return {};
  }

 private:
  // A place on the way back from a block.
  struct Place {
    uint32_t block;
    Value tape;
    size_t left;                // of the block's steps, those that are not undone
    Value tag;                  // as popped
    std::optional<int64_t> is;  // what the tag is; else
    std::set<int64_t> is_not;   // what it is not
  };

  // The ways into a block.
  struct WaysIn {
    std::set<uint32_t> before;  // blocks
    bool has_tag = false;
    std::map<int64_t, uint32_t> by_tag;
  };

  Status Wrong(uint32_t b, const std::string& what) const {
    return {Code::kInternal, "TAPE", "@" + forward_.name + ", b" + std::to_string(b) + ": " + what};
  }

  // What happens to the tape in the block, and the tape at its end. False: something else.
  bool Follow(const Function& f, uint32_t block, Value& tape, std::vector<Step>& steps) const {
    for (const Inst& inst : f.blocks[block].insts) {
      bool takes = false;
      ir::ForEachOperand(inst, [&](Value v) { takes |= v == tape; });
      if (!takes) continue;
      if (inst.op == Op::Push && inst.args[0] == tape) {
        steps.push_back({Op::Push, f.TypeOf(inst.args[1]), inst.args[1], 0});
        tape = inst.results[0];
      } else if (inst.op == Op::Pop) {
        steps.push_back({Op::Pop, f.TypeOf(inst.results[1]), inst.results[1], 0});
        tape = inst.results[0];
      } else if (inst.op == Op::Call && inst.args.back() == tape && !inst.results.empty() &&
                 f.TypeOf(inst.results.back()).IsTape()) {
        if (!halves_.balanced.contains(inst.callee))
          steps.push_back({Op::Call, Type{}, {}, inst.callee});
        tape = inst.results.back();
      } else {
        return false;
      }
    }
    return true;
  }

  // Whether the forward block's tape is what those that follow take.
  bool HandsOn(uint32_t b, Value tape) const {
    const Terminator& term = forward_.blocks[b].term;
    if (term.kind == Terminator::Kind::kReturn) return term.results.back() == tape;
    return std::all_of(term.edges.begin(), term.edges.end(), [&](const Edge& e) {
      if (e.block >=
          halves_.blocks.size())  // both halves in one function: on to this block's reverse
        return e.block == halves_.blocks[b].reverse_block && e.args[0] == tape;
      const ir::Values& params = forward_.blocks[e.block].params;
      const auto at = std::find(params.begin(), params.end(), halves_.blocks[e.block].tape);
      return at != params.end() && e.args[static_cast<size_t>(at - params.begin())] == tape;
    });
  }

  // A reverse half begins with its parameter, in front of the reverse of what returns.
  Status Begin() const {
    if (halves_.forward == halves_.reverse) return {};
    const ir::Edges& edges = reverse_.blocks[0].term.edges;
    const auto b = edges.size() == 1 ? reversed_by_.find(edges[0].block) : reversed_by_.end();
    const bool begins = b != reversed_by_.end() &&
                        forward_.blocks[b->second].term.kind == Terminator::Kind::kReturn &&
                        edges[0].args[0] == reverse_.params().back();
    return begins ? Status() : Wrong(0, "the reverse half begins somewhere else");
  }

  bool Undoes(const Step& back, const Step& step) const {
    if (step.op == Op::Call)
      return back.op == Op::Call && halves_.calls.contains({step.callee, back.callee});
    return step.op == Op::Push && back.op == Op::Pop && step.type == back.type;
  }

  // All ways from where b is reversed to where those that lead to it are.
  Status Reverse(uint32_t b, const std::vector<Step>& steps) {
    const uint32_t start = halves_.blocks[b].reverse_block;
    std::vector<Place> open = {
        {start, reverse_.blocks[start].params[0], steps.size(), {}, std::nullopt, {}}};
    WaysIn ways;
    if (!FindWaysIn(b, ways)) return Wrong(b, "its tags do not say where control came from");
    std::set<uint32_t> reached;
    for (size_t places = 0; !open.empty(); ++places) {
      Place at = std::move(open.back());
      open.pop_back();
      if (places > reverse_.blocks.size()) return Wrong(b, "its reverse does not end");
      std::vector<Step> back;
      if (!Follow(reverse_, at.block, at.tape, back))
        return Wrong(b, "its reverse uses its tape for something else");
      for (const Step& step : back) {
        if (at.left == 0) return Wrong(b, "its reverse pops more than it pushed");
        const Step& forth = steps[--at.left];
        if (!Undoes(step, forth)) {
          return Wrong(b, "its reverse meets " + Text(forth) + " by " + Text(step));
        }
        if (forth.op == Op::Push && forth.value == halves_.blocks[b].tag) at.tag = step.value;
      }
      PB_RETURN_IF_ERROR(Leave(b, ways, at, open, reached));
    }
    for (uint32_t p : ways.before) {
      const bool passed_by = p == b && steps.empty();  // a loop whose turns are
      if (!reached.contains(p) && !passed_by)
        return Wrong(b, "its reverse has no way to b" + std::to_string(p));
    }
    return {};
  }

  Status Leave(uint32_t b, const WaysIn& ways, Place& at, std::vector<Place>& open,
               std::set<uint32_t>& reached) {
    const Terminator& term = reverse_.blocks[at.block].term;
    if (term.kind == Terminator::Kind::kReturn) {
      const bool silent = halves_.forward == halves_.reverse && !halves_.is_balanced;
      const bool gives = silent || term.results.back() == at.tape;
      return b == 0 && at.left == 0 && gives ? Status() : Wrong(b, "its reverse returns");
    }
    const std::optional<int64_t> asked = AsksTagFor(at, term);
    for (size_t k = 0; k < term.edges.size(); ++k) {
      const Edge& e = term.edges[k];
      const bool last = k + 1 == term.edges.size();
      // NOLINTNEXTLINE(bugprone-use-after-move): moved in the last turn
      Place next = asked && k == 0 ? Place{at.block, at.tape, at.left, at.tag, asked, {}}
                   : last ? std::move(at)  // NOLINT(bugprone-use-after-move): in the last turn
                          : at;
      if (asked && k == 1) next.is_not.insert(*asked);
      const auto to = reversed_by_.find(e.block);
      if (to == reversed_by_.end()) {
        next.block = e.block;
        open.push_back(std::move(next));
        continue;
      }
      if (next.left != 0) return Wrong(b, "its reverse pops less than it pushed");
      if (e.args[0] != next.tape) return Wrong(b, "its reverse hands on another tape");
      if (!CameFrom(ways, to->second, next))
        return Wrong(b, "its reverse goes to b" + std::to_string(to->second));
      reached.insert(to->second);
    }
    return {};
  }

  // The constant k of a branch by eq(%tag, k), whose first edge says that the tag is k and the second that it is not.
  std::optional<int64_t> AsksTagFor(const Place& at, const Terminator& term) const {
    if (term.kind != Terminator::Kind::kBranch || !at.tag.valid()) return std::nullopt;
    for (const Inst& inst : reverse_.blocks[at.block].insts) {
      if (inst.op != Op::Eq || inst.results[0] != term.cond || inst.args[0] != at.tag) continue;
      const auto k = constants_.find(inst.args[1]);
      if (k != constants_.end()) return k->second;
    }
    return std::nullopt;
  }

  // Whether control that is at `at` has come to the block from p.
  static bool CameFrom(const WaysIn& ways, uint32_t p, const Place& at) {
    if (!ways.before.contains(p)) return false;
    if (!ways.has_tag) return true;
    if (at.is) {
      const auto way = ways.by_tag.find(*at.is);
      return way != ways.by_tag.end() && way->second == p;
    }
    bool any = false, only = true;
    for (const auto& [tag, q] : ways.by_tag) {
      if (at.is_not.contains(tag)) continue;
      any = true;
      only &= q == p;
    }
    return any && only;
  }

  // False: a tag that is no constant, or that stands for two ways in.
  bool FindWaysIn(uint32_t b, WaysIn& ways) const {
    ways.before = LeadingTo(b);
    const Value tag = halves_.blocks[b].tag;
    ways.has_tag = tag.valid();
    if (!ways.has_tag) return true;
    const ir::Values& params = forward_.blocks[b].params;
    const auto place = std::find(params.begin(), params.end(), tag) - params.begin();
    std::set<uint32_t> seen;
    for (uint32_t p : preds_[b]) {
      if (!seen.insert(p).second) continue;
      for (const Edge& e : forward_.blocks[p].term.edges) {
        if (e.block != b) continue;
        const auto k = tags_.find(e.args[static_cast<size_t>(place)]);
        if (k == tags_.end() || !ways.by_tag.emplace(k->second, p).second) return false;
      }
    }
    return true;
  }

  // The blocks that are reversed from which control comes to b, by none other that is.
  std::set<uint32_t> LeadingTo(uint32_t b) const {
    std::set<uint32_t> before;
    std::set<uint32_t> seen;
    std::vector<uint32_t> open = {b};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (uint32_t p : preds_[at]) {
        if (p >= halves_.blocks.size()) continue;
        if (halves_.blocks[p].reverse_block != ir::kNoBlock) {
          before.insert(p);
        } else if (seen.insert(p).second) {
          open.push_back(p);
        }
      }
    }
    return before;
  }

  static std::string Text(const Step& s) {
    if (s.op == Op::Call) return "a call";
    return std::string(s.op == Op::Push ? "a push" : "a pop") + " of " + ir::ToString(s.type);
  }

  const TapeHalves& halves_;
  const Function& forward_;
  const Function& reverse_;
  const std::map<Value, int64_t> tags_, constants_;  // of the halves
  const FlatLists preds_;                            // of the forward half
  std::map<uint32_t, uint32_t> reversed_by_;         // reverse block -> block
};

}  // namespace

Status CheckTape(const TapeHalves& halves) { return TapeProof(halves).Run(); }

}  // namespace pullback::ad
