#include "core/pipeline/steps.h"

#include <algorithm>
#include <set>

#include "core/ad/operators.h"
#include "core/ir/fingerprint.h"
#include "core/opt/simplify.h"
#include "core/tensor/normalise.h"
#include "core/tensor/tuple_arrays.h"

namespace pullback::pipeline {

namespace {

// Of normalising and fusing beyond those that are asked for, as long as fusing finds something.
constexpr int kMostMoreRounds = 8;
// Of arrays that are read by diagonals of others, or at tuples.
constexpr int kMostShapes = 4;
constexpr int kMostRoundsOfFixed = 40;  // of what rows are made of
// Of loops within loops that take rows of arrays.
constexpr int kMostNests = 4;
// Of arrays made of arrays that are made again.
constexpr int kMostRepeats = 8;

// Matrices that are stored at tuples: products of such with diagonal ones are stored at tuples, too, once their indices
// are pinned.
bool HoldsTuples(const ir::Module& m) {
  return std::any_of(m.functions.begin(), m.functions.end(),
                     [](const auto& f) { return tensor::HoldsTupleArray(*f); });
}

// Simplifies, with what predicates say of the points of statements.
Status SimplifyPoints(ir::Module& m, const opt::RewriteOptions& rules) {
  PB_RETURN_IF_ERROR(opt::Simplify(m, rules));
  for (auto& f : m.functions) tensor::SimplifyPredicates(*f);
  return opt::Simplify(m, rules);
}

Status RaiseLoops(PassRunner& passes, ir::Module& m) {
  bool raised = false;
  PB_RETURN_IF_ERROR(passes.Run("raise_loops", m, [&](ir::Module& x) {
    for (auto& f : x.functions) raised |= opt::RaiseLoops(x, *f);
    return raised ? opt::Simplify(x, passes.rules()) : Status();
  }));
  return raised ? ImproveLoops(passes, m, false) : Status();  // of some nothing is left
}

}  // namespace

Status InlineAndSimplify(PassRunner& passes, ir::Module& m) {
  PB_RETURN_IF_ERROR(passes.Simplify(m));
  PB_RETURN_IF_ERROR(passes.Run("inline", m, [&](ir::Module& x) {
    return opt::InlineCalls(x, opt::kMostInsts, passes.rules());
  }));
  return passes.Simplify(m);
}

Status DeriveOperators(PassRunner& passes, ir::Module& m, bool optimise) {
  while (ad::HasOperators(m)) {  // one nesting level a round
    PB_RETURN_IF_ERROR(passes.Run("derive_operators", m, [&](ir::Module& x) {
      return ad::DeriveInnermost(x, passes.mixed());
    }));
    if (optimise) PB_RETURN_IF_ERROR(InlineAndSimplify(passes, m));
  }
  return {};
}

Status ImproveLoops(PassRunner& passes, ir::Module& m, bool derived) {
  bool changed = false;
  PB_RETURN_IF_ERROR(passes.Run("normalise_loops", m, [&](ir::Module& x) {
    for (auto& f : x.functions) changed |= opt::NormaliseLoops(*f, derived, passes.rules());
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  }));
  return derived ? MoveInvariants(passes, m) : Status();
}

Status MoveInvariants(PassRunner& passes, ir::Module& m) {
  bool changed = false;
  return passes.Run("float_invariants", m, [&](ir::Module& x) {
    for (auto& f : x.functions) changed |= opt::FloatInvariants(*f, passes.rules());
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  });
}

Status PrepareLoops(PassRunner& passes, ir::Module& m) {
  PB_RETURN_IF_ERROR(passes.Run("move_elements", m, [&](ir::Module& x) {
    for (auto& f : x.functions) opt::MoveElements(*f);
    return opt::Simplify(x, passes.rules());
  }));
  PB_RETURN_IF_ERROR(ImproveLoops(passes, m, false));
  PB_RETURN_IF_ERROR(RaiseLoops(passes, m));
  const auto unroll = [&] {
    return passes.Run("unroll", m,
                      [&](ir::Module& x) { return opt::UnrollStatements(x, passes.rules()); });
  };
  PB_RETURN_IF_ERROR(unroll());
  PB_RETURN_IF_ERROR(passes.Run("join_makers", m, [&](ir::Module& x) {
    bool joined = false;
    for (auto& f : x.functions) joined |= opt::JoinMakers(x, *f);
    return joined ? opt::Simplify(x, passes.rules()) : Status();
  }));
  bool streamed = false;
  PB_RETURN_IF_ERROR(passes.Run("stream_rows", m, [&](ir::Module& x) {
    for (auto& f : x.functions) streamed |= opt::StreamRows(x, *f);
    return streamed ? opt::Simplify(x, passes.rules()) : Status();
  }));
  if (!streamed) return {};
  PB_RETURN_IF_ERROR(RaiseLoops(passes, m));  // that fill a row
  return unroll();
}

Status ShareStatements(PassRunner& passes, ir::Module& m) {
  return passes.Run("share_statements", m, [&](ir::Module& x) {
    bool shared = false;
    for (auto& f : x.functions) shared |= tensor::ShareStatements(*f);
    return shared ? opt::Simplify(x, passes.rules()) : Status();
  });
}

// What is split is made with fewer axes before derivatives are.
Status SplitReductions(PassRunner& passes, ir::Module& m) {
  PB_RETURN_IF_ERROR(passes.Run("factor_sums", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) changed |= tensor::FactorSums(*f);
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  }));
  PB_RETURN_IF_ERROR(passes.Run("lift_dear", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) changed |= tensor::LiftDear(*f);
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  }));
  return passes.Run("split_reductions", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) {
      changed |= tensor::SplitReductions(*f);
      changed |= tensor::ReduceOnce(*f);
    }
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  });
}

Status RowsAtPoints(PassRunner& passes, ir::Module& m) {
  return passes.Run("rows_at_points", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) changed |= tensor::RowsAtPoints(x, *f);
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  });
}

Status SplitConcats(PassRunner& passes, ir::Module& m) {
  return passes.Run("split_concats", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) {
      changed |= tensor::MakeRowsWhereRead(*f);
      changed |= tensor::SplitConcats(*f);
    }
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  });
}

Status MakeLess(PassRunner& passes, ir::Module& m) {
  PB_RETURN_IF_ERROR(ShareStatements(passes, m));
  PB_RETURN_IF_ERROR(passes.Run("split_rings", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) changed |= tensor::SplitRings(*f);
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  }));
  PB_RETURN_IF_ERROR(passes.Run("rows_as_read", m, [&](ir::Module& x) {
    bool split = false, again = true, changed = false;
    for (auto& f : x.functions) {
      // What conditions say of subscripts.
      const auto simplify = [&] {
        if (tensor::SimplifyPredicates(*f)) tensor::HoistGuards(*f);
      };
      simplify();
      if (tensor::ReadForwards(*f)) {
        split = true;
        simplify();
      }
      split |= tensor::SplitClamps(*f);
    }
    for (auto& f : x.functions) split |= tensor::MakeElementsAlone(*f);
    if (split) PB_RETURN_IF_ERROR(opt::Simplify(x, passes.rules()));
    for (int round = 0; again && round < kMostRoundsOfFixed; ++round) {
      again = false;
      for (auto& f : x.functions) again |= tensor::MakeFixedRows(*f);
      if (again)
        PB_RETURN_IF_ERROR(SimplifyPoints(x, passes.rules()));  // which rows these are made of
    }
    for (auto& f : x.functions) changed |= tensor::MakeRowsAsRead(*f);
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  }));
  PB_RETURN_IF_ERROR(SplitReductions(passes, m));
  bool changed = true;
  for (int round = 0; changed && round < kMostShapes; ++round) {
    changed = false;
    bool split = false;
    PB_RETURN_IF_ERROR(passes.Run("split_sums", m, [&](ir::Module& x) {
      for (auto& f : x.functions) split |= tensor::SplitSums(*f, true);
      return split ? opt::Simplify(x, passes.rules()) : Status();
    }));
    if (split) PB_RETURN_IF_ERROR(passes.Fuse("fuse_free", m, true));
    if (HoldsTuples(m)) PB_RETURN_IF_ERROR(passes.Normalise(m));
    PB_RETURN_IF_ERROR(passes.Run("make_less", m, [&](ir::Module& x) {
      for (auto& f : x.functions) {
        changed |= tensor::KeepDiagonals(*f);
        changed |= tensor::KeepRows(*f);
        changed |= tensor::FollowTuples(*f);
      }
      return changed ? opt::Simplify(x, passes.rules()) : Status();
    }));
  }
  return {};
}

Status FactorSeeds(PassRunner& passes, ir::Module& m) {
  bool changed = false;
  PB_RETURN_IF_ERROR(passes.Run("factor_seeds", m, [&](ir::Module& x) {
    for (auto& f : x.functions) changed |= tensor::FactorSeeds(*f);
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  }));
  return changed ? NormaliseAndFuse(passes, m, 1) : Status();
}

Status SinkStatements(PassRunner& passes, ir::Module& m) {
  return passes.Run("sink_statements", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) {
      if (opt::SplitJoins(*f)) {
        opt::EliminateDeadCode(*f, passes.rules());  // what is added elsewhere now
        changed = true;
      }
      changed |= opt::SinkStatements(*f);
    }
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  });
}

Status BlockTurns(PassRunner& passes, ir::Module& m) {
  PB_RETURN_IF_ERROR(passes.Run("count_up", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) changed |= opt::CountUp(x, *f);
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  }));
  PB_RETURN_IF_ERROR(passes.Run("carried_rows", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) changed |= opt::ReadCarriedRows(*f);
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  }));
  bool joined = true;
  for (int round = 0; joined && round < kMostNests; ++round) {
    joined = false;
    PB_RETURN_IF_ERROR(passes.Run("join_loops", m, [&](ir::Module& x) {
      for (auto& f : x.functions) joined |= opt::JoinLoops(x, *f);
      return joined ? opt::Simplify(x, passes.rules()) : Status();
    }));
  }
  PB_RETURN_IF_ERROR(passes.Run("pin_taken", m, [&](ir::Module& x) {
    bool pinned = false;
    for (auto& f : x.functions) pinned |= tensor::PinTakenRows(*f, passes.may_pin());
    return pinned ? opt::Simplify(x, passes.rules()) : Status();
  }));
  PB_RETURN_IF_ERROR(passes.Run("split_totals", m, [&](ir::Module& x) {
    bool split = false;
    for (auto& f : x.functions) split |= tensor::SplitTotals(*f);
    return split ? opt::Simplify(x, passes.rules()) : Status();
  }));
  bool changed = true;
  for (int round = 0; changed && round < kMostNests; ++round) {
    changed = false;
    PB_RETURN_IF_ERROR(passes.Run("rows_in_turns", m, [&](ir::Module& x) {
      for (auto& f : x.functions) changed |= opt::MakeRowsInTurns(x, *f);
      return changed ? opt::Simplify(x, passes.rules()) : Status();
    }));
    PB_RETURN_IF_ERROR(passes.Run("rows_from_end", m, [&](ir::Module& x) {
      bool turned = false;
      for (auto& f : x.functions) turned |= opt::ReadRowsForwards(x, *f);
      return turned ? opt::Simplify(x, passes.rules()) : Status();
    }));
    PB_RETURN_IF_ERROR(passes.Run("block_turns", m, [&](ir::Module& x) {
      for (auto& f : x.functions) changed |= opt::BlockTurns(x, *f);
      return changed ? opt::Simplify(x, passes.rules()) : Status();
    }));
  }
  return {};
}

Status RowsAsMade(PassRunner& passes, ir::Module& m) {
  bool alone = false;
  PB_RETURN_IF_ERROR(passes.Run("rows_alone", m, [&](ir::Module& x) {
    for (auto& f : x.functions) alone |= tensor::MakeRowsAlone(*f);
    return alone ? SimplifyPoints(x, passes.rules()) : Status();
  }));
  if (alone) {
    PB_RETURN_IF_ERROR(passes.Fuse("fuse", m, false));
    PB_RETURN_IF_ERROR(passes.Run("simplify_points", m, [&](ir::Module& x) {
      PB_RETURN_IF_ERROR(SimplifyPoints(x, passes.rules()));
      bool rows = false;  // that the text names, of what is made alone
      for (auto& f : x.functions) rows |= tensor::RecomputeRows(*f);
      return rows ? SimplifyPoints(x, passes.rules()) : Status();
    }));
  }
  return passes.Run("rows_as_made", m, [&](ir::Module& x) {
    bool changed = false;
    for (auto& f : x.functions) {
      changed |= tensor::MakeRowsAsMade(*f);
      changed |= tensor::MakeRowsInTurn(*f);
    }
    return changed ? opt::Simplify(x, passes.rules()) : Status();
  });
}

Status RaiseReaders(PassRunner& passes, ir::Module& m) {
  PB_RETURN_IF_ERROR(passes.Run("read_extrema", m, [](ir::Module& x) {
    for (auto& f : x.functions) tensor::ReadExtrema(*f);
    return Status();
  }));
  return passes.Run("raise_readers", m, [](ir::Module& x) {
    for (auto& f : x.functions) tensor::RaiseReaders(*f);
    return Status();
  });
}

Status CommonRows(PassRunner& passes, ir::Module& m) {
  return passes.Run("common_rows", m, [](ir::Module& x) {
    for (auto& f : x.functions) tensor::CommonRows(*f);
    return Status();
  });
}

Status KeepFewer(PassRunner& passes, ir::Module& m) {
  PB_RETURN_IF_ERROR(passes.Run("read_clipped", m, [](ir::Module& x) {
    for (auto& f : x.functions) tensor::ReadClipped(*f);
    return Status();
  }));
  bool changed = false;
  PB_RETURN_IF_ERROR(passes.Run("read_extrema", m, [&](ir::Module& x) {
    for (auto& f : x.functions) changed |= tensor::ReadExtrema(*f);
    return Status();
  }));
  if (changed) {
    PB_RETURN_IF_ERROR(RaiseReaders(passes, m));
    PB_RETURN_IF_ERROR(CommonRows(passes, m));  // what was read there is searched in any order
  }
  changed = true;
  for (int round = 0; changed && round < kMostRepeats; ++round) {
    changed = false;
    PB_RETURN_IF_ERROR(passes.Run("repeat_cheap", m, [&](ir::Module& x) {
      for (auto& f : x.functions) changed |= tensor::RepeatCheap(*f);
      return Status();
    }));
    if (changed) PB_RETURN_IF_ERROR(passes.Fuse("fuse", m, false));
  }
  return {};
}

Status TurnArrays(PassRunner& passes, ir::Module& m) {
  return passes.Run("turn_arrays", m, [](ir::Module& x) {
    for (auto& f : x.functions) tensor::TurnArrays(*f);
    return Status();
  });
}

Status NormaliseAndFuse(PassRunner& passes, ir::Module& m, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    PB_RETURN_IF_ERROR(passes.Normalise(m));
    PB_RETURN_IF_ERROR(passes.Simplify(m));
    PB_RETURN_IF_ERROR(passes.Fuse("fuse", m, false));
  }
  for (int more = 0;; ++more) {
    PB_RETURN_IF_ERROR(passes.Normalise(m));
    PB_RETURN_IF_ERROR(passes.Simplify(m));
    if (more == kMostMoreRounds) return {};
    const uint64_t before = ir::Fingerprint(m);
    PB_RETURN_IF_ERROR(passes.Fuse("fuse", m, false));
    if (ir::Fingerprint(m) != before) continue;
    bool compacted = false;
    PB_RETURN_IF_ERROR(passes.Run("compact", m, [&](ir::Module& x) {
      for (auto& f : x.functions) {
        compacted |= tensor::KeepDiagonals(*f);
        bool again = tensor::KeepRows(*f);
        compacted |= tensor::PlaceValues(*f);
        compacted |= tensor::SendSums(*f);
        again |= tensor::RecomputeRows(*f);
        if (again) tensor::ShareStatements(*f);  // rows that rounds before have made
        compacted |= again;
        compacted |= tensor::SplitSums(*f, false);
        compacted |= tensor::FollowTuples(*f);
        compacted |= tensor::CompactArrays(*f);
        compacted |= tensor::ShareNegatives(*f);
      }
      return Status();
    }));
    if (!compacted) return {};
    PB_RETURN_IF_ERROR(passes.Fuse("fuse", m, false));
  }
}

bool IsCompact(const ir::Module& m, const std::vector<ir::Value>& seeded) {
  const ir::Function& f = m.Get(m.entry);
  const std::set<ir::Value> arrays(seeded.begin(), seeded.end());
  for (const ir::Block& b : f.blocks) {
    for (const ir::Inst& inst : b.insts) {
      for (ir::Value v : inst.results) {
        if (arrays.count(v) > 0) return false;
      }
    }
  }
  return true;
}

}  // namespace pullback::pipeline
