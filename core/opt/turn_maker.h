// The statements that make for all turns of nested loops what instructions of a turn make (raise_loops.cc).
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "core/opt/fillings.h"
#include "core/opt/turn_statement.h"

namespace pullback::opt {

class TurnMaker {
 public:
  // Appends to `out`. What turns have each on their own has no more than so many axes, theirs among them.
  TurnMaker(ir::Module& m, ir::Function& f, const TurnValues& values, TurnSizes& sizes,
            std::vector<ir::Inst>& out, size_t most_rank)
      : m_(m), f_(f), values_(values), sizes_(sizes), out_(out), most_rank_(most_rank) {}

  void AllowRank(size_t rank) { most_rank_ = std::max(most_rank_, rank); }

  // What a statement at that place makes; nothing: it has no form.
  std::optional<std::vector<TurnArray>> MakeStatement(const ir::Inst& inst, const TurnPlace& place);
  std::optional<TurnArray> MakeZeros(const ir::Inst& zeros, const TurnPlace& place);
  // Of its results, those that may be made again where they are read.
  std::vector<std::optional<CheapArray>> FindCheap(const ir::Inst& inst);
  // Of a statement that this has made: how one element is made again, if that is cheap.
  static std::optional<CheapArray> FindMaker(const ir::Inst& inst);
  // What there is behind the store, the last one of the filling's.
  std::optional<TurnArray> MakeStored(const Filling& filling, const TurnStore& store);
  // Of a number that turns of the innermost loop add up from the filling's start on: what each of them begins with.
  std::optional<TurnArray> MakeRunning(const Filling& filling, const TurnStore& store);

 private:
  TurnStatement Statement() { return {m_, f_, values_, out_}; }
  bool BeginTurns(TurnStatement& s, const NestPath& order, ir::ValueSpan own = {},
                  std::vector<ir::Value>* own_indices = nullptr,
                  const std::set<const CountedNest*>& from_end = {});
  std::optional<ir::EachResult> ResultOf(const ir::EachResult& r, const TurnArray& made,
                                         const TurnPlace& place, TurnStatement& s) const;
  void SetShape(const TurnArray& made, ir::EachResult& r) const;

  std::optional<TurnArray> MakeAlone(const Filling& filling, const TurnStore& store,
                                     ir::Monoid monoid, const NestPath& order);
  std::optional<TurnArray> MakeJoined(const Filling& filling, const TurnStore& store,
                                      const TurnArray& terms);
  std::optional<TurnArray> PutBeside(const Filling& filling, const TurnStore& store);
  std::optional<TurnArray> Replace(const Filling& filling, const TurnStore& store);
  bool CheckPlaces(const Filling& filling, const TurnStore& store, bool alone);
  bool BindPlaces(const std::vector<StorePlace>& places, const TurnArray& made,
                  const std::vector<ir::Value>& own, TurnStatement& s);
  std::set<const CountedNest*> FromEnd(const Filling& filling, const Access& store) const;

  ir::Module& m_;
  ir::Function& f_;
  const TurnValues& values_;
  TurnSizes& sizes_;
  std::vector<ir::Inst>& out_;
  size_t most_rank_;
};

}  // namespace pullback::opt
