// Builds the forward and the reverse half of one function, into one function or two.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "core/ad/cotangent_flow.h"
#include "core/ad/counters.h"
#include "core/ad/early_cotangents.h"
#include "core/ad/keep.h"
#include "core/ad/list_functions.h"
#include "core/ad/mixed.h"
#include "core/ad/prepare.h"
#include "core/ad/reverse_region.h"
#include "core/ad/reversible.h"
#include "core/ad/settled_reads.h"
#include "core/ad/statement.h"
#include "core/ad/undo.h"
#include "core/analysis/carried_extents.h"
#include "core/ir/builder.h"

namespace pullback::ad {

struct SplitFunctions {
  uint32_t forward;  // (params…, tape) -> (results…, tape)
  // (cotangent of every active result…, of every param in `sums`…, tape) -> (of every active param…, tape)
  uint32_t reverse;
};
// Cotangents of arrays and lists are handed to the reverse of a call, which adds to them and gives them
// back: what a call costs does not depend on their size. A short zero is handed where there is none yet,
// and may come back. Those of scalars are handed to the reverse of a checkpointed call where there is one
// already, so that shares are added in the order in which the text of the callee would add them.
inline bool IsAccumulated(ir::Type t) { return t.IsArray() || t.IsList(); }

// How the reverse of an active call is made.
struct CallAdjoint {
  // On the tape: the callee's halves. Or from the arguments alone (a rule, a checkpoint): the call stays
  // as it is, and `pullback` is (params…, cotangents of the results in `results`…, of the parameters in
  // `sums`…) -> cotangents of the parameters in `params`.
  SplitFunctions halves{};
  uint32_t pullback = ir::kNoFunction;
  std::vector<bool> params, results;
  std::vector<bool> sums;        // by parameter: its cotangent so far is handed in
  bool is_resolved = false;      // false: the reverse never comes by
  size_t first_full = SIZE_MAX;  // from this parameter on zeros that are handed in have their shape
  bool is_region = false;  // everything that is handed in has to have it, and a tape goes along

  bool OnTape() const { return pullback == ir::kNoFunction; }
};
using AdjointOf = std::function<StatusOr<CallAdjoint>(
    const ir::Inst& call, const std::vector<bool>& params, const std::vector<bool>& results,
    const std::vector<bool>& with_bar)>;  // by argument: whether it has a cotangent already
using PartialsOf = std::function<StatusOr<uint32_t>(uint32_t, const std::vector<bool>&)>;

// Calls that give value and cotangents in one go where the cotangent of the value is known by then.
struct EarlyOf {
  const Adders& adders;  // its regions
  BothOf both;
};
// As part of a region of core/ad/adders.h a function takes and gives a tape, last of all, and the cotangents so far that it takes
// have their shape.
enum class Combined : uint8_t { kAlone, kAsPart };

class ReverseFunction {
 public:
  ReverseFunction(ir::Module& module, const ir::Function& f, const std::vector<bool>& active_params,
                  const std::vector<bool>& active_results, ListFunctions& lists,
                  AdjointOf adjoint_of, PartialsOf partials_of, EarlyOf early_of, Mixed mixed);

  // One function: forward, then reverse. `target` exists with f's parameters (then one per active
  // float result when seed_params) as its entry block's parameters, and no code. Returns f's results
  // when give_results, then the cotangents of f's parameters marked in `wrt`. Behind the seeds it may take
  // the cotangents so far of the parameters in `sums`.
  Status BuildCombined(uint32_t target, const std::vector<bool>& wrt, bool seed_params,
                       bool give_results, const std::vector<bool>& sums = {},
                       Combined combined = Combined::kAlone);
  // Two functions with entry blocks and parameters as in SplitFunctions.
  Status BuildSplit(const SplitFunctions& targets, const std::vector<bool>& sums);

 private:
  struct Need {
    ir::Value source;  // of the forward half
    ir::Value copy;    // popped in the reverse half
    ir::Value work;    // of the primal, kNoValue: made by the transform
  };
  struct BlockState {
    std::vector<Need> needs;  // pushed at the block's end, popped at its reverse's start
    std::map<ir::Value, ir::Value> popped;  // source -> copy
    std::map<ir::Value, ir::Value> constants;
    std::map<std::pair<ir::Value, int>, ir::Value> bar_extents;
    std::vector<ir::Inst> constant_insts;  // constants and extents of cotangents
    std::vector<ir::Inst> extents;         // dim instructions to append to the forward block
    std::vector<ir::Inst> early_sizes;     // dim and list_len to put right behind what they read
    ir::Value trips, tag, tape;            // forward parameters
    ir::Value reverse_trips;
    // Of a header: what the reverse half takes along, where the header's reverse stands and in a turn of it.
    ReversibleIntegers integers;
    std::map<ir::Value, ir::Value> undone, before;
    ir::Value tape_in, tape_start;  // reverse: as parameter, after the pops
    uint32_t reverse_block = 0;
    std::vector<CallAdjoint> calls;  // of the active calls, in order
  };

  struct Candidate;
  // By value of work_: as it is where it is asked for, and of a loop's table as it is behind the loop.
  struct CandidateNumbers {
    std::map<ir::Value, size_t> of_values, of_tables;
  };
  static constexpr int kDeepest = 32;  // operations between a need and what it is made from

  void Start(uint32_t forward, uint32_t reverse);
  void TakeSums(const std::vector<bool>& sums);
  ir::Value NewForward(ir::Type t, const std::string& name);

  // --- values of the primal where the reverse of the current block is built
  ir::Value Primal(ir::Value v);
  ir::Affine Primal(const ir::Affine& a);
  std::vector<ir::Affine> Primal(ir::AffineSpan subs);
  ir::Value Extent(ir::Value array, int axis);
  ir::Value ExtentOfBar(ir::Value array, int axis);
  std::vector<ir::Value> Extents(ir::Value array);
  ir::Value Length(ir::Value list);
  bool IsChangedIn(uint32_t block, ir::Value v);
  ir::Value SizeOf(ir::Value v, ir::Op op, int axis);
  ir::Value Fetch(ir::Value source, uint32_t defined_in, ir::Value work = ir::kNoValue);
  ir::Value FetchAt(uint32_t at, ir::Value source);
  ir::Value ZeroOf(ir::Value v);

  // --- what is kept (keep_in_block.cc)
  bool AtHand(ir::Value v) const;
  std::optional<uint32_t> BehindLoops(uint32_t from) const;
  std::optional<uint32_t> KeptBehind(ir::Value array) const;
  size_t AddTable(ir::Value table, KeepOrRecompute& cut, std::vector<Candidate>& candidates,
                  CandidateNumbers& numbers);
  size_t AddCandidate(ir::Value v, KeepOrRecompute& cut, std::vector<Candidate>& candidates,
                      CandidateNumbers& numbers, int depth);
  std::vector<ir::Inst> ChooseKept(uint32_t b);
  // (reverse_integers.cc)
  std::vector<char> FindWanted() const;
  void FindIntegers();
  Reversible Integers() const;
  bool IsCounted(ir::Value v) const;
  void UndoTurn(uint32_t header);
  std::vector<ir::Value> IntegersFor(uint32_t header, uint32_t from);
  ir::Value Undone(ir::Value v) const;
  ir::Value Version(ir::Value v);
  void UndoUpdate(const ir::Inst& inst);
  void BeginVersions(const ir::Inst& inst);
  void ForgetVersions();
  // --- what statements keep element by element (keep_elements.cc)
  ir::Value KeepElements(const ir::Inst& statement, const ir::Inst& body, ir::Value result);
  StatusOr<ir::Value> KeepPartial(const ir::Inst& statement, const ir::Inst& call, size_t number);
  ir::Value Keep(const ir::Inst& statement, const ir::Inst& body, ir::Value element);
  bool IsCached(const ir::Inst& statement, const ir::Inst& call) const;
  void AddKept(const ir::Inst& statement, ir::Inst& copy) const;

  // --- cotangents
  bool Active(ir::Value v) const { return activity_.Active(v); }
  ir::Value TakeBar(ir::Value v);
  // `short_bar`: it may be a short zero where v's may.
  void Accumulate(ir::Value v, ir::Value bar, bool short_bar = false);
  bool MayBeShort(ir::Value v) const {
    return work_.TypeOf(v).IsArray() && accumulated_.count(v) != 0 && full_.count(v) == 0;
  }

  // --- reverse half
  Status BuildReverse();
  void DeclareReverseBlocks();
  Status ReverseBlock(uint32_t b);
  Status ReverseInst(const ir::Inst& inst);
  void ReverseTape(const ir::Inst& inst);
  void ReverseScalar(const ir::Inst& inst, ir::Value w);
  void ReverseSelect(const ir::Inst& inst, ir::Value w);
  void ReverseArrayOp(const ir::Inst& inst, ir::Value w);
  // --- on lists (reverse_lists.cc)
  void ReverseListOp(const ir::Inst& inst);
  void ReverseListGet(const ir::Inst& inst);
  void ReverseListTake(const ir::Inst& inst);
  void ReverseListPop(const ir::Inst& inst);
  using Change = std::function<ir::Value(ir::Value bar)>;  // of a cotangent, in place
  bool IsElementHere(ir::Value v) const;
  void ChangeBar(ir::Value v, Change change);
  ir::Value AddToElement(const ir::Inst& get, ir::Value bar, const std::vector<ir::Value>& fields,
                         const std::vector<std::vector<Change>>& changes);
  std::vector<ir::Value> TakeFieldBars(const ir::Inst& inst, size_t first, bool zeros);
  void AccumulateFields(const ir::Inst& inst, size_t first, const std::vector<ir::Value>& bars);
  bool Carries(ir::Type t) const { return ir::CarriesTangent(module_, t); }
  Status ReverseEach(const ir::Inst& inst);
  Status ReverseCall(const ir::Inst& inst);
  std::vector<ir::Value> CallReverse(const ir::Inst& inst, const CallAdjoint& how,
                                     const std::vector<ir::Value>& bars,
                                     const std::vector<bool>& have);
  std::vector<bool> HaveBars(ir::ValueSpan args) const;
  ir::Value SumIn(const ir::Inst& call, size_t k, ir::Value bar);
  ir::Value NoSum(const CallAdjoint& how, size_t k, ir::Value v);
  void GoBack(uint32_t b);
  void JumpBack(uint32_t b, const Predecessor& p);
  void FinishPrologue(uint32_t b);
  void PopNeeds(BlockState& state);
  void DropUnneeded();
  ir::Value TripsFor(uint32_t header, uint32_t from);
  ir::Value KnownTrips(uint32_t header);
  bool IsFree(ir::Value v, int depth = 0) const;
  void ReturnFromReverse();

  // --- calls that are reversed where they stand (reverse_early.cc)
  struct EarlyCall {
    uint32_t both = 0;
    bool of_one = false;  // for a cotangent of 1; the reverse half multiplies
    EarlyCotangents::Place place;
    size_t sums = 0;
    std::vector<bool> params, results;
    // By argument in `params`: its cotangent behind the call; what is handed in of it (kNoValue: zero); and whether the
    // reverse half takes it from here, rather than from a later call or as a parameter's.
    struct Bar {
      ir::Value made, handed;
      bool delivered = false;
    };
    std::map<size_t, Bar> bars;
  };
  Status PlanEarly();
  void PlanBars(const ir::Inst& call, EarlyCall& early,
                std::map<ir::Value, EarlyCall::Bar*>& pending);
  void ForwardEarly(const ir::Inst& call, const EarlyCall& early, ir::Value& tape);
  void ReverseEarly(const ir::Inst& call, const EarlyCall& early);
  ir::Value Multiplied(ir::Value bar, ir::Value by);
  ir::Value SeedOf(size_t result);

  // --- forward half
  void CountCalls();
  Status BuildForward();
  void DeclareForwardParams();
  Status ForwardBlock(uint32_t b);
  ir::Inst MapForward(const ir::Inst& inst);
  void ForwardTerminator(uint32_t b, ir::Value tape);
  Status ProveTape() const;
  bool IsActiveCall(const ir::Inst& inst) const;
  std::vector<bool> ActiveOf(ir::ValueSpan values) const;

  ir::Module& module_;
  ir::Function work_;  // f, prepared
  ReverseFlow flow_;
  std::function<bool(ir::Op)> is_constant_;
  analysis::Activity activity_;
  analysis::CarriedExtents carried_;
  UndoWebs undo_;
  std::vector<std::vector<ir::Value>> live_out_;
  std::vector<bool> active_params_, active_results_;
  ListFunctions& lists_;
  AdjointOf adjoint_of_;
  PartialsOf partials_of_;
  EarlyOf early_of_;
  Mixed mixed_;
  std::vector<const ir::Inst*> const_def_;  // by value of work_
  Definitions defs_;                        // of work_
  Counters counters_;
  ReadAlone read_alone_;
  SettledReads settled_;
  std::vector<std::set<uint32_t>> around_;  // by block: headers of loops

  bool combined_ = false, give_results_ = false;
  std::vector<bool> wrt_;
  std::vector<ir::Value> seeds_;
  std::map<ir::Value, ir::Value> accumulated_;  // parameters, their cotangents so far
  std::set<ir::Value> full_;                    // of these, those that have their shape
  std::unique_ptr<EarlyCotangents> cotangents_;
  std::map<const ir::Inst*, EarlyCall> early_;
  ir::Value first_tape_;    // forward: split, or as part of a region
  ir::Value reverse_tape_;  // reverse: split only, the function's parameter
  std::unique_ptr<ir::Builder> fb_, rb_;
  std::vector<ir::Value> forward_;  // work value -> forward value
  std::vector<BlockState> blocks_;
  std::map<std::pair<ir::Value, int>, ir::Value> extents_;
  std::map<uint32_t, std::set<ir::Value>>
      changed_in_;  // by block: what its instructions may take over
  // By statement: values of the forward half's body, the guards that they are under, and the arrays of the
  // forward half that keep them.
  struct KeptElement {
    ir::Value element, guard, array;
  };
  std::map<const ir::Inst*, std::vector<KeptElement>> kept_elements_;
  // By call in a body: the function that also gives partials, which the forward half calls for it, and these.
  struct CachedCall {
    uint32_t partials;
    std::vector<ir::Value> values;
  };
  std::map<const ir::Inst*, CachedCall> cached_calls_;

  std::map<const ir::Inst*, ir::Value> overwritten_;  // by update: the forward half's old element

  // --- state of the block whose reverse is being built
  uint32_t current_ = 0;
  ir::Value tape_;
  size_t calls_left_ = 0;
  std::map<ir::Value, ir::Value> bars_;
  std::map<uint32_t, ir::Value> versions_;  // by web: the array as it was at this point
  // By web, while an instruction is reversed that makes an array of it: that array (a value of work_), and
  // the one before it where that was asked for.
  std::map<uint32_t, ir::Value> begun_, earlier_;
  // Of what a list_get of this block gave: what is to be done to its cotangent, once that is moved out of
  // the list's. So a read of an element's element costs no whole inner array or list.
  std::map<ir::Value, std::vector<Change>> changes_;
};

}  // namespace pullback::ad
