#include "core/loops/paces.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace pullback::loops {
namespace {

// More than 0, in lowest terms.
struct Ratio {
  int64_t above = 1, below = 1;
  bool operator==(const Ratio&) const = default;
};
Ratio Scaled(const Ratio& a, int64_t above, int64_t below) {
  const int64_t over = a.above * above, under = a.below * below, both = std::gcd(over, under);
  return {over / both, under / both};
}

constexpr int64_t kMostParts = 1 << 16;

bool IsByTurns(const Effects& loop) {
  return std::all_of(loop.memory.begin(), loop.memory.end(), [](const auto& of) {
    const Effects::Access& access = of.second;
    return access.axis == Effects::Access::kNoAxis || access.IsByTurn();
  });
}

class Rates {
 public:
  explicit Rates(const std::vector<const Effects*>& loops) : loops_(loops), turns_(loops.size()) {
    for (const Effects* loop : loops) {
      for (const auto& [r, access] : loop->memory) {
        if (access.writes) written_.insert(r);
      }
    }
  }

  // In parts of a turn that is whole for all of them.
  std::optional<std::vector<int64_t>> Find() {
    for (size_t k = 0; k < loops_.size(); ++k) {
      if (turns_[k]) continue;
      turns_[k] = Ratio();
      if (!Spread(k)) return std::nullopt;
    }
    int64_t whole = 1;
    const auto add = [&](const Ratio& turns) {
      whole = std::lcm(whole, turns.below);
      return whole <= kMostRate;
    };
    for (const std::optional<Ratio>& turns : turns_) {
      if (!add(*turns)) return std::nullopt;
    }
    for (const auto& [r, turns] : rows_) {
      if (!add(turns)) return std::nullopt;
    }
    std::vector<int64_t> rates;
    for (const std::optional<Ratio>& turns : turns_) {
      rates.push_back(Scaled(*turns, whole, 1).above);
      if (rates.back() > kMostRate) return std::nullopt;
    }
    return rates;
  }

 private:
  // From a loop whose turns are known to all that access rows of what it does.
  bool Spread(size_t from) {
    std::vector<size_t> next{from};
    while (!next.empty()) {
      const size_t k = next.back();
      next.pop_back();
      for (const auto& [r, access] : loops_[k]->memory) {
        if (!Counts(r, access)) continue;
        const Ratio row = Scaled(*turns_[k], access.period, access.step);
        const auto [known, fresh] = rows_.emplace(r, row);
        if (known->second != row || row.above > kMostParts || row.below > kMostParts) return false;
        if (fresh) TellAll(r, row, next);
      }
    }
    return true;
  }
  void TellAll(Reg r, const Ratio& row, std::vector<size_t>& next) {
    for (size_t k = 0; k < loops_.size(); ++k) {
      const auto access = loops_[k]->memory.find(r);
      if (turns_[k] || access == loops_[k]->memory.end() || !Counts(r, access->second)) continue;
      turns_[k] = Scaled(row, access->second.step, access->second.period);
      next.push_back(k);
    }
  }
  bool Counts(Reg r, const Effects::Access& access) const {
    return access.axis != Effects::Access::kNoAxis && written_.contains(r);
  }

  const std::vector<const Effects*>& loops_;
  std::set<Reg> written_;
  std::vector<std::optional<Ratio>> turns_;  // that a turn of each loop takes
  std::map<Reg, Ratio> rows_;                // that a row takes
};

}  // namespace

Pace Composed(const Pace& first, const Pace& then) {
  return {first.rate * then.rate, first.delay * then.rate + then.delay};
}

Effects Paced(Effects loop, const Pace& pace) {
  for (auto& [r, access] : loop.memory) {
    if (access.axis == Effects::Access::kNoAxis) continue;
    const int64_t turns = access.period * pace.rate;
    if (turns % access.step != 0) {
      if (access.step % turns != 0) {
        access.axis = Effects::Access::kNoAxis;
        continue;
      }
      access.step /=
          turns;  // of a period of 1, as that of any larger step is (core/ir/row_windows.h)
      access.first = access.first - pace.delay * access.step;
      access.last = access.last - pace.delay * access.step;
      access.period = 1;
      continue;
    }
    const int64_t times = pace.rate / access.step;
    access.first = access.first * times - pace.delay;
    access.last = access.last * times - pace.delay;
    access.period = turns / access.step;
    access.step = 1;
  }
  return loop;
}

std::optional<std::vector<int64_t>> RatesOf(const std::vector<const Effects*>& loops) {
  if (std::all_of(loops.begin(), loops.end(), [](const Effects* loop) { return IsByTurns(*loop); }))
    return std::vector<int64_t>(loops.size(), 1);
  return Rates(loops).Find();
}

}  // namespace pullback::loops
