#include "core/analysis/isl_solver.h"

#ifdef PULLBACK_HAVE_ISL

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <array>
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
using Aff = std::unique_ptr<isl_aff, Free<isl_aff_free>>;
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
  Problem(isl_ctx* ctx, const Predicate& p, const Box& box, std::vector<Value> vars)
      : ctx_(ctx), box_(box) {
    for (const Quotient& q : p.quotients) {
      vars.push_back(q.name);
      Define(q);
    }
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

  // 0 <= e - d * q <= d - 1. Says its range to the box.
  void Define(const Quotient& q) {
    const std::optional<Interval> range = RangeOf(q, box_);
    if (range) box_.AddValue(q.name, *range);
    const std::optional<Affine> rest = Combine(1, q.e, -q.d, Affine::Of(q.name));
    complete_ &= range && rest && box_.IsTame(*rest);
    if (!complete_) return;
    rows_.push_back({*rest, false});
    rows_.push_back({Affine::Const(q.d - 1) - *rest, false});
  }

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
    for (const Constraint& c : rows_) Note(c.e, vars);
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
  Box box_;
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
Value DivAt(int k) { return Value{kFirstDiv + static_cast<uint32_t>(k)}; }

constexpr int64_t kMost = int64_t{1} << 60;

std::optional<int64_t> ToInt(isl_val* owned) {
  const Val v(owned);
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
      const Value v = type == isl_dim_set ? dims[static_cast<size_t>(k)] : DivAt(k);
      if (*coeff != 0) row.e.terms.push_back({v, *coeff});
    }
  }
  Canonicalise(row.e);
  return row;
}

// The definition of a division, over dims and the divisions in front of it.
std::optional<Quotient> ReadDiv(isl_basic_set* piece, int k, const std::vector<Value>& dims) {
  const Aff aff(isl_basic_set_get_div(piece, k));
  const std::optional<int64_t> d =
      aff ? ToInt(isl_aff_get_denominator_val(aff.get())) : std::nullopt;
  if (!d) return std::nullopt;
  // What isl gives are the numerators over the denominator.
  const auto numerator = [&](isl_val* v) {
    return ToInt(isl_val_mul(v, isl_val_int_from_si(isl_aff_get_ctx(aff.get()), *d)));
  };
  Quotient q{DivAt(k), {}, *d};
  const std::optional<int64_t> constant = numerator(isl_aff_get_constant_val(aff.get()));
  if (!constant) return std::nullopt;
  q.e.constant = *constant;
  for (const isl_dim_type type : {isl_dim_in, isl_dim_div}) {
    const int count = isl_aff_dim(aff.get(), type);
    for (int at = 0; at < count; ++at) {
      const std::optional<int64_t> coeff =
          numerator(isl_aff_get_coefficient_val(aff.get(), type, at));
      if (!coeff || (*coeff != 0 && type == isl_dim_div && at >= k)) return std::nullopt;
      if (*coeff == 0) continue;
      q.e.terms.push_back({type == isl_dim_in ? dims[static_cast<size_t>(at)] : DivAt(at), *coeff});
    }
  }
  Canonicalise(q.e);
  return q;
}

int DivsIn(const Affine& e) {
  return static_cast<int>(std::count_if(e.terms.begin(), e.terms.end(),
                                        [](const Affine::Term& t) { return IsDiv(t.value); }));
}

// e, times the coefficient of v in zero, without v; what it was times. nullopt: too large.
std::optional<int64_t> Eliminate(Value v, const Affine& zero, Affine& e) {
  const int64_t of_zero = zero.Coeff(v), of_e = e.Coeff(v);
  if (of_e == 0) return 1;
  const int64_t k = std::abs(of_zero);
  const auto without = Combine(k, e, of_zero > 0 ? -of_e : of_e, zero);
  if (!without) return std::nullopt;
  e = *without;
  return k;
}

// k * div + rest = 0 says that rest is a multiple of k, and what div is elsewhere.
bool SolveDivs(std::vector<Constraint>& rows, std::vector<Quotient>& divs, Predicate& out) {
  for (;;) {
    const auto row = std::find_if(rows.begin(), rows.end(), [](const Constraint& c) {
      return c.equality && DivsIn(c.e) == 1;
    });
    if (row == rows.end()) return true;
    const Affine zero = row->e;
    rows.erase(row);
    const Affine::Term div = *std::find_if(zero.terms.begin(), zero.terms.end(),
                                           [](const Affine::Term& t) { return IsDiv(t.value); });
    for (Constraint& c : rows) {
      if (!Eliminate(div.value, zero, c.e)) return false;
    }
    for (Quotient& q : divs) {
      const auto times = Eliminate(div.value, zero, q.e);
      if (!times || q.d > kMost / *times) return false;
      q.d *= *times;
    }
    const int64_t k = std::abs(div.coeff);
    if (k > 1) out.strides.push_back({zero.Substitute(div.value, Affine{}), k});
  }
}

// 0 <= e - d * q <= d - 1.
std::array<Constraint, 2> DefinitionOf(const Quotient& q) {
  Affine rest = q.e;
  rest.terms.push_back({q.name, -q.d});
  Canonicalise(rest);
  return {{{rest, false}, {Affine::Const(q.d - 1) - rest, false}}};
}

bool Names(const Affine& e, Value v) { return e.Coeff(v) != 0; }

// The divisions that are left and that something names, in order.
std::vector<Quotient> NamedDivs(const std::vector<Constraint>& rows, std::vector<Quotient> divs) {
  for (size_t k = divs.size(); k-- > 0;) {
    const Value name = divs[k].name;
    const bool named = std::any_of(rows.begin(), rows.end(),
                                   [&](const Constraint& c) { return Names(c.e, name); }) ||
                       std::any_of(divs.begin() + static_cast<long>(k), divs.end(),
                                   [&](const Quotient& q) { return Names(q.e, name); });
    if (!named) divs.erase(divs.begin() + static_cast<long>(k));
  }
  return divs;
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
  std::vector<Quotient> divs;
  const int div_count = isl_basic_set_dim(piece, isl_dim_div);
  for (int k = 0; k < div_count; ++k) {
    std::optional<Quotient> q = ReadDiv(piece, k, dims);
    if (!q) return std::nullopt;
    for (const Constraint& c : DefinitionOf(*q)) rows.push_back(c);
    divs.push_back(*std::move(q));
  }
  Predicate p;
  if (count < 0 || !SolveDivs(rows, divs, p)) return std::nullopt;
  // What is still a quotient says these by itself; of one that an equation has told they are constraints.
  for (const Quotient& q : divs) {
    const auto by_definition = DefinitionOf(q);
    std::erase_if(rows, [&](const Constraint& c) {
      return std::find(by_definition.begin(), by_definition.end(), c) != by_definition.end();
    });
  }
  p.quotients = NamedDivs(rows, std::move(divs));
  p.constraints = std::move(rows);
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
