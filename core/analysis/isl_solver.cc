#include "core/analysis/isl_solver.h"

#ifdef PULLBACK_HAVE_ISL

#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace pullback::analysis {

using ir::Affine;
using ir::Constraint;
using ir::Value;

namespace {

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* p) const {
    kFree(p);
  }
};
using Ctx = std::unique_ptr<isl_ctx, Free<isl_ctx_free>>;
using Val = std::unique_ptr<isl_val, Free<isl_val_free>>;
using List = std::unique_ptr<isl_constraint_list, Free<isl_constraint_list_free>>;
using SetPtr = std::unique_ptr<isl_set, Free<isl_set_free>>;

// Where the cap is met every call gives null from then on, and nothing is printed.
Ctx NewContext(const IslLimits& limits) {
  Ctx ctx(isl_ctx_alloc());
  isl_options_set_on_error(ctx.get(), ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(ctx.get(), limits.max_operations);
  return ctx;
}

// A predicate as an isl set: one dimension for each value, then one for the quotient of each stride.
class Problem {
 public:
  // `vars` come after all others, so that they are projected out with the quotients.
  Problem(isl_ctx* ctx, const Predicate& p, const Box& box, const std::vector<Value>& vars)
      : ctx_(ctx), box_(box) {
    Collect(p, vars);
    kept_ = dims_.size();
    dims_.insert(dims_.end(), vars.begin(), vars.end());
    const size_t size = dims_.size() + p.strides.size();
    set_ = isl_basic_set_universe(isl_space_set_alloc(ctx, 0, static_cast<unsigned>(size)));
    for (const Constraint& c : rows_) Add(c.e, c.equality, -1, 0);
    for (size_t k = 0; k < p.strides.size(); ++k)
      Add(p.strides[k].e, true, static_cast<int>(dims_.size() + k), -p.strides[k].k);
  }

  bool complete() const { return complete_; }
  const std::vector<Value>& dims() const { return dims_; }
  // Gives the set away, over the kept values.
  SetPtr Project() {
    const auto count = static_cast<unsigned>(isl_basic_set_dim(set_, isl_dim_set)) - Kept();
    isl_set* set = isl_set_from_basic_set(std::exchange(set_, nullptr));
    set = isl_set_project_out(set, isl_dim_set, Kept(), count);
    return SetPtr(isl_set_coalesce(isl_set_compute_divs(set)));
  }
  SetPtr Take() { return SetPtr(isl_set_from_basic_set(std::exchange(set_, nullptr))); }
  ~Problem() { isl_basic_set_free(set_); }

 private:
  unsigned Kept() const { return static_cast<unsigned>(kept_); }

  void Note(const Affine& e, const std::vector<Value>& vars) {
    for (const Affine::Term& t : e.terms) {
      if (std::find(vars.begin(), vars.end(), t.value) == vars.end()) seen_.push_back(t.value);
    }
  }

  // The rows, and the ranges of every value in them.
  void Collect(const Predicate& p, const std::vector<Value>& vars) {
    const auto take = [&](const Constraint& c) {
      if (!c.e.IsConst() && !box_.IsTame(c.e)) {
        complete_ = false;
        return;
      }
      rows_.push_back(c);
      Note(c.e, vars);
    };
    for (const Constraint& c : p.constraints) take(c);
    for (const Stride& s : p.strides) {
      complete_ &= box_.IsTame(s.e);
      Note(s.e, vars);
    }
    for (Value v : vars) {
      for (const Constraint& c : box_.ConstraintsOf(v)) take(c);
    }
    std::set<Value> done;
    for (size_t k = 0; k < seen_.size(); ++k) {
      if (!done.insert(seen_[k]).second) continue;
      dims_.push_back(seen_[k]);
      for (const Constraint& c : box_.ConstraintsOf(seen_[k])) {
        if (box_.IsTame(c.e)) take(c);
      }
    }
  }

  void Add(const Affine& e, bool equality, int extra, int64_t extra_coeff) {
    isl_local_space* space = isl_local_space_from_space(isl_basic_set_get_space(set_));
    isl_constraint* c =
        equality ? isl_constraint_alloc_equality(space) : isl_constraint_alloc_inequality(space);
    c = isl_constraint_set_constant_val(c, isl_val_int_from_si(ctx_, e.constant));
    for (const Affine::Term& t : e.terms) {
      const auto at = std::find(dims_.begin(), dims_.end(), t.value) - dims_.begin();
      c = isl_constraint_set_coefficient_val(c, isl_dim_set, static_cast<int>(at),
                                             isl_val_int_from_si(ctx_, t.coeff));
    }
    if (extra >= 0) {
      c = isl_constraint_set_coefficient_val(c, isl_dim_set, extra,
                                             isl_val_int_from_si(ctx_, extra_coeff));
    }
    set_ = isl_basic_set_add_constraint(set_, c);
  }

  isl_ctx* ctx_;
  const Box& box_;
  std::vector<Constraint> rows_;
  std::vector<Value> seen_, dims_;
  size_t kept_ = 0;
  bool complete_ = true;
  isl_basic_set* set_ = nullptr;
};

// --- back from isl

// Stand for the integer divisions of a basic set while it is read.
constexpr uint32_t kFirstDiv = 0xf0000000u;
bool IsDiv(Value v) { return v.id >= kFirstDiv; }

std::optional<int64_t> ToInt(isl_val* owned) {
  const Val v(owned);
  constexpr int64_t kMost = int64_t{1} << 60;
  if (!v || isl_val_is_int(v.get()) != isl_bool_true) return std::nullopt;
  if (isl_val_cmp_si(v.get(), kMost) > 0 || isl_val_cmp_si(v.get(), -kMost) < 0)
    return std::nullopt;
  return isl_val_get_num_si(v.get());
}

std::optional<Constraint> ReadRow(isl_constraint* c, const std::vector<Value>& dims) {
  Constraint row{{}, isl_constraint_is_equality(c) == isl_bool_true};
  const std::optional<int64_t> constant = ToInt(isl_constraint_get_constant_val(c));
  if (!constant) return std::nullopt;
  row.e.constant = *constant;
  for (const isl_dim_type type : {isl_dim_set, isl_dim_div}) {
    const int count = isl_constraint_dim(c, type);
    for (int k = 0; k < count; ++k) {
      const std::optional<int64_t> coeff = ToInt(isl_constraint_get_coefficient_val(c, type, k));
      if (!coeff) return std::nullopt;
      const auto at = static_cast<uint32_t>(k);
      const Value v = type == isl_dim_set ? dims[at] : Value{kFirstDiv + at};
      if (*coeff != 0) row.e.terms.push_back({v, *coeff});
    }
  }
  Canonicalise(row.e);
  return row;
}

int DivsIn(const Affine& e) {
  return static_cast<int>(std::count_if(e.terms.begin(), e.terms.end(),
                                        [](const Affine::Term& t) { return IsDiv(t.value); }));
}

// k * div + rest = 0 says that rest is a multiple of k, and what div is in the other rows.
bool SolveDivs(std::vector<Constraint> rows, Predicate& out) {
  for (;;) {
    const auto row = std::find_if(rows.begin(), rows.end(), [](const Constraint& c) {
      return c.equality && DivsIn(c.e) == 1;
    });
    if (row == rows.end()) break;
    const Affine zero = row->e;
    rows.erase(row);
    const Affine::Term div = *std::find_if(zero.terms.begin(), zero.terms.end(),
                                           [](const Affine::Term& t) { return IsDiv(t.value); });
    const int64_t k = std::abs(div.coeff);
    for (Constraint& c : rows) {
      const int64_t coeff = c.e.Coeff(div.value);
      if (coeff == 0) continue;
      const auto e = Combine(k, c.e, div.coeff > 0 ? -coeff : coeff, zero);
      if (!e) return false;
      c.e = *e;
    }
    if (k > 1) out.strides.push_back({zero.Substitute(div.value, Affine{}), k});
  }
  for (const Constraint& c : rows) {
    if (DivsIn(c.e) != 0) return false;
  }
  out.constraints = std::move(rows);
  return true;
}

std::optional<Predicate> ReadPiece(isl_basic_set* piece, const std::vector<Value>& dims) {
  const List list(isl_basic_set_get_constraint_list(piece));
  const int count = list ? isl_constraint_list_n_constraint(list.get()) : -1;
  std::vector<Constraint> rows;
  for (int k = 0; k < count; ++k) {
    isl_constraint* c = isl_constraint_list_get_constraint(list.get(), k);
    std::optional<Constraint> row = ReadRow(c, dims);
    isl_constraint_free(c);
    if (!row) return std::nullopt;
    rows.push_back(std::move(*row));
  }
  Predicate p;
  if (count < 0 || !SolveDivs(std::move(rows), p)) return std::nullopt;
  return p;
}

struct Pieces {
  const std::vector<Value>& dims;
  std::vector<Predicate> read;
};

isl_stat ReadNext(isl_basic_set* piece, void* user) {
  auto& pieces = *static_cast<Pieces*>(user);
  std::optional<Predicate> p = ReadPiece(piece, pieces.dims);
  isl_basic_set_free(piece);
  if (!p) return isl_stat_error;
  pieces.read.push_back(std::move(*p));
  return isl_stat_ok;
}

}  // namespace

bool HasIsl() { return true; }

Truth IslIsEmpty(const Predicate& p, const Box& box, const IslLimits& limits) {
  const Ctx ctx = NewContext(limits);
  Problem problem(ctx.get(), p, box, {});
  const SetPtr set = problem.Take();
  const isl_bool empty = isl_set_is_empty(set.get());
  if (empty == isl_bool_true) return Truth::kTrue;
  return empty == isl_bool_false && problem.complete() ? Truth::kFalse : Truth::kUnknown;
}

std::optional<std::vector<Predicate>> IslExists(const std::vector<Value>& vars, const Predicate& p,
                                                const Box& box, const IslLimits& limits) {
  const Ctx ctx = NewContext(limits);
  Problem problem(ctx.get(), p, box, vars);
  if (!problem.complete()) return std::nullopt;
  const SetPtr set = problem.Project();
  const int count = set ? isl_set_n_basic_set(set.get()) : -1;
  if (count < 0 || static_cast<size_t>(count) > limits.max_pieces) return std::nullopt;
  Pieces pieces{problem.dims(), {}};
  if (isl_set_foreach_basic_set(set.get(), ReadNext, &pieces) != isl_stat_ok) return std::nullopt;
  return std::move(pieces.read);
}

}  // namespace pullback::analysis

#else

namespace pullback::analysis {

bool HasIsl() { return false; }
Truth IslIsEmpty(const Predicate&, const Box&, const IslLimits&) { return Truth::kUnknown; }
std::optional<std::vector<Predicate>> IslExists(const std::vector<ir::Value>&, const Predicate&,
                                                const Box&, const IslLimits&) {
  return std::nullopt;
}

}  // namespace pullback::analysis

#endif
