#include "core/ad/sparse_jacobian.h"

#include <functional>
#include <map>
#include <utility>

#include "core/ad/partials.h"
#include "core/ad/set_pattern.h"
#include "core/analysis/activity.h"
#include "core/ir/builder.h"

namespace pullback::ad {
namespace {

using ir::Affine;
using ir::Op;
using ir::Value;

// The elements of a block: by rows and by columns, both in order.
struct Elements {
  SparseRows by_row, by_column;
  Value count;
  Value row, column;  // of each
};

// A result or a parameter.
struct Side {
  Value value;
  std::vector<Value> extents;
  Value count;  // of elements
};

// By result of f: whether it may depend on parameter p.
std::vector<bool> ReachedResults(const ir::Module& module, const ir::Function& f, size_t p) {
  std::vector<bool> params(f.params().size()), results(f.results.size(), true);
  params[p] = true;
  const std::function<bool(Op)> is_constant = [](Op op) { return RuleOf(op) == Rule::kConstant; };
  const analysis::Activity activity(module, f, params, results, is_constant);
  std::vector<bool> reached(f.results.size());
  for (const ir::Block& b : f.blocks) {
    for (size_t r = 0; r < b.term.results.size(); ++r)
      reached[r] = reached[r] || activity.Active(b.term.results[r]);
  }
  return reached;
}

class JacobianWriter {
 public:
  JacobianWriter(ir::Module& module, uint32_t f, JacobianRows rows, bool forward_only,
                 const SparseFunctions& functions, uint32_t target)
      : module_(module),
        from_(module.Get(f)),
        f_(f),
        rows_(std::move(rows)),
        forward_only_(forward_only),
        functions_(functions),
        b_(module, module.Get(target)) {}

  std::vector<bool> FoundPatterns(const std::vector<bool>& wrt) {
    WritePrimal();
    std::vector<bool> found;
    for (size_t r = 0; r < primal_.size(); ++r) {
      for (size_t p = 0; p < wrt.size() && rows_.differentiated[r]; ++p) {
        if (wrt[p] && b_.TypeOf(args_[p]).IsFloat())
          found.push_back((pattern_ && pattern_->IsFound(primal_[r], args_[p])) || SetsFunction(p));
      }
    }
    return found;
  }

  void Run(const std::vector<bool>& wrt) {
    WritePrimal();
    std::vector<Value> out;
    for (size_t r = 0; r < primal_.size(); ++r) {
      if (rows_.given[r]) out.push_back(primal_[r]);
    }
    struct Block {
      size_t r, p;
      bool zero;
      std::vector<Value> parts;
    };
    std::vector<Block> blocks;
    for (size_t r = 0; r < primal_.size(); ++r) {
      for (size_t p = 0; p < wrt.size() && rows_.differentiated[r]; ++p) {
        if (wrt[p] && b_.TypeOf(args_[p]).IsFloat()) blocks.push_back({r, p, IsZero(r, p), {}});
      }
    }
    // Those without elements last: what they consist of would be held through the loops of the others.
    for (const bool zero : {false, true}) {
      for (Block& block : blocks) {
        if (block.zero == zero) block.parts = BlockOf(block.r, block.p, zero);
      }
    }
    for (const Block& block : blocks) out.insert(out.end(), block.parts.begin(), block.parts.end());
    b_.function().results.clear();
    for (Value v : out) b_.function().results.push_back(b_.TypeOf(v));
    b_.Return(out);
  }

 private:
  // Straight-line code is there as itself, since the pattern speaks of what is in it, unless its derivative is
  // another's.
  void WritePrimal() {
    ir::Function& g = b_.function();
    const std::string name = g.name;
    if (from_.blocks.size() == 1 && !from_.HasRule()) {
      g = from_;
      g.name = name;
      args_ = ir::ToVector(g.params());
      primal_ = ir::ToVector(g.blocks[0].term.results);
      g.blocks[0].term = {};
      pattern_.emplace(b_, g.blocks[0].insts, functions_);
      return;
    }
    b_.NewBlock();
    for (Value v : from_.params())
      args_.push_back(b_.AddParam(0, from_.TypeOf(v), from_.names[v.id]));
    primal_ = b_.Call(f_, args_);
  }

  Side SideOf(Value v) {
    Side side{v, {}, {}};
    for (int axis = 0; axis < b_.TypeOf(v).rank; ++axis) side.extents.push_back(b_.Dim(v, axis));
    side.count = ElementCount(b_, side.extents);
    return side;
  }

  std::vector<Value> BlockOf(size_t r, size_t p, bool zero) {
    const Side result = SideOf(primal_[r]), param = SideOf(args_[p]);
    if (zero) return ZeroBlock(result, param);
    std::vector<Value> out;
    const Elements elements = Find(r, p, result, param);
    const auto [seeds, values] = Compute(r, p, result, param, elements);
    out.push_back(seeds);
    out.push_back(Shape(result, param));
    Coordinates(elements.row, result, elements.count, out);
    Coordinates(elements.column, param, elements.count, out);
    out.push_back(values);
    return out;
  }

  // No seed, no elements.
  std::vector<Value> ZeroBlock(const Side& result, const Side& param) {
    std::vector<Value> out = {b_.I64(0), Shape(result, param)};
    const auto none = [this](DType t) { return b_.Zeros(t, {b_.I64(0)}); };
    const size_t axes = result.extents.size() + param.extents.size();
    for (size_t axis = 0; axis < axes; ++axis) out.push_back(none(DType::kI64));
    out.push_back(none(b_.TypeOf(param.value).elem));
    return out;
  }

  // --- which elements

  // As far as the code says it.
  bool IsZero(size_t r, size_t p) {
    if (pattern_) return pattern_->IsEmpty(primal_[r], args_[p]);
    if (from_.HasRule()) return false;
    const auto [it, fresh] = reached_.try_emplace(p);
    if (fresh) it->second = ReachedResults(module_, from_, p);
    return !it->second[r];
  }

  Elements Find(size_t r, size_t p, const Side& result, const Side& param) {
    std::optional<SparseRows> found;
    if (pattern_) found = pattern_->Of(result.value, param.value);
    if (!found) found = BySets(r, p, result, param);
    if (!found) found = All(result, param);
    Elements e;
    e.by_column = Transposed(*found, param.count);
    e.by_row = Transposed(e.by_column, result.count);
    e.count = b_.Index(e.by_row.starts, {Affine::Of(result.count)});
    e.row = b_.Call(functions_.numbers, {e.by_row.starts, e.count})[0];
    e.column = Each({e.count}, [&](const std::vector<Value>& at) {
      return b_.Index(e.by_row.columns, {Affine::Of(at[0])});
    });
    return e;
  }

  const std::optional<uint32_t>& SetsFunction(size_t p) {
    const auto [it, fresh] = sets_functions_.try_emplace(p);
    if (fresh) it->second = AddSetsFunction(module_, f_, p, functions_);
    return it->second;
  }

  std::optional<SparseRows> BySets(size_t r, size_t p, const Side& result, const Side& param) {
    const std::optional<uint32_t> function = SetsFunction(p);
    if (!function) return std::nullopt;
    const auto [it, fresh] = sets_.try_emplace(p);
    if (fresh) {
      const Value width = SetWidth(b_, functions_, param.count);
      std::vector<Value> args = {width};
      args.insert(args.end(), args_.begin(), args_.end());
      args.push_back(b_.Call(functions_.own, {param.count, b_.I64(0), width})[0]);
      it->second = b_.Call(*function, args);
    }
    size_t at = primal_.size();
    for (size_t k = 0; k < r; ++k) at += ir::CarriesTangent(module_, from_.results[k]);
    const Value sets = it->second[at];
    const Value starts = b_.Call(functions_.set_starts, {sets})[0];
    const Value count = b_.Index(starts, {Affine::Of(result.count)});
    return SparseRows{starts, b_.Call(functions_.set_columns, {sets, starts, count})[0]};
  }

  SparseRows Transposed(const SparseRows& rows, Value columns) {
    const std::vector<Value> made =
        b_.Call(functions_.transposed, {rows.starts, rows.columns, columns});
    return {made[0], made[1]};
  }

  SparseRows All(const Side& result, const Side& param) {
    const Value starts = b_.Make(Op::Add, {result.count, b_.I64(1)});
    const Value all = b_.Make(Op::Mul, {result.count, param.count});
    return {
        Each({starts},
             [&](const std::vector<Value>& at) { return b_.Make(Op::Mul, {at[0], param.count}); }),
        Each({all},
             [&](const std::vector<Value>& at) { return b_.Make(Op::Rem, {at[0], param.count}); })};
  }

  // --- their values

  struct Computed {
    Value seeds, values;
  };

  Computed Compute(size_t r, size_t p, const Side& result, const Side& param, const Elements& e) {
    const SparseRows &rows = e.by_row, &columns = e.by_column;
    const auto colour_rows = [&] {
      return b_.Call(functions_.colours,
                     {columns.starts, columns.columns, rows.starts, rows.columns});
    };
    if (result.extents.empty() && !param.extents.empty()) {
      const auto reverse = colour_rows();
      return Seeded(false, r, p, result, param, e, reverse[0], reverse[1]);
    }
    const auto forward =
        b_.Call(functions_.colours, {rows.starts, rows.columns, columns.starts, columns.columns});
    if (forward_only_ || param.extents.empty())
      return Seeded(true, r, p, result, param, e, forward[0], forward[1]);
    const uint32_t compare = b_.NewBlock(), tangents = b_.NewBlock(), cotangents = b_.NewBlock(),
                   done = b_.NewBlock();
    const Computed out{
        b_.AddParam(done, ir::Type::I64()),
        b_.AddParam(done, ir::Type::Array(b_.TypeOf(param.value).elem, 1), "elements")};
    // Rows need at least as many colours as the fullest column has elements.
    const Value least = b_.Call(functions_.widest, {columns.starts})[0];
    b_.Branch(b_.Make(Op::Le, {forward[1], least}), {tangents, {}}, {compare, {}});
    b_.SetBlock(compare);
    const auto reverse = colour_rows();
    b_.Branch(b_.Make(Op::Le, {forward[1], reverse[1]}), {tangents, {}}, {cotangents, {}});
    b_.SetBlock(tangents);
    const Computed f = Seeded(true, r, p, result, param, e, forward[0], forward[1]);
    b_.Jump(done, {f.seeds, f.values});
    b_.SetBlock(cotangents);
    const Computed v = Seeded(false, r, p, result, param, e, reverse[0], reverse[1]);
    b_.Jump(done, {v.seeds, v.values});
    b_.SetBlock(done);
    return out;
  }

  // for k < colours: a seed of ones where the colour is k; the elements of that colour are what comes out in
  // their rows (columns).
  Computed Seeded(bool forward, size_t r, size_t p, const Side& result, const Side& param,
                  const Elements& e, Value colour, Value colours) {
    const Side &seeded = forward ? param : result, &other = forward ? result : param;
    const Value numbers = forward ? e.column : e.row, places = forward ? e.row : e.column;
    const Value keys = Each({e.count}, [&](const std::vector<Value>& at) {
      return b_.Index(colour, {Affine::Of(b_.Index(numbers, {Affine::Of(at[0])}))});
    });
    const auto buckets = b_.Call(functions_.bucket, {keys, e.count, colours});
    const DType to = b_.TypeOf(param.value).elem;
    const Value none = b_.Zeros(to, {e.count});
    const Value values = Loop(b_.I64(0), colours, none, [&](Value k, Value into) {
      const Value part = Derivative(forward, r, p, Seed(seeded, colour, k));
      const Value begin = b_.Index(buckets[0], {Affine::Of(k)});
      const Value end = b_.Index(buckets[0], {Affine::Of(k) + Affine::Const(1)});
      return Loop(begin, end, into, [&](Value t, Value elements) {
        const Value at = b_.Index(buckets[1], {Affine::Of(t)});
        Value element = part;
        if (!other.extents.empty()) {
          const Value place = b_.Index(places, {Affine::Of(at)});
          element = b_.Index(part, Subscripts(Unflatten(b_, place, other.extents)));
        }
        return b_.Update(elements, {Affine::Of(at)}, b_.Cast(element, to));
      });
    });
    return {colours, values};
  }

  Value Seed(const Side& side, Value colour, Value k) {
    const ir::Type element = b_.TypeOf(side.value).Element();
    const auto hit = [&](Value number) {
      const Value same = b_.Make(Op::Eq, {b_.Index(colour, {Affine::Of(number)}), k});
      return b_.Make(Op::Select, {same, b_.One(element), b_.Zero(element)});
    };
    if (side.extents.empty()) return hit(b_.I64(0));
    return Each(side.extents, [&](const std::vector<Value>& at) {
      return hit(FlatIndex(b_, Subscripts(at), side.extents));
    });
  }

  // The tangent of the result, or the cotangent of the parameter.
  Value Derivative(bool forward, size_t r, size_t p, Value seed) {
    std::vector<bool> wrt(args_.size(), false);
    wrt[p] = true;
    std::vector<Value> args = args_;
    size_t before = 0;  // results with tangents in front of r
    for (size_t k = 0; k < primal_.size(); ++k) {
      const bool carries = ir::CarriesTangent(module_, from_.results[k]);
      if (carries && k < r) ++before;
      if (carries && !forward) args.push_back(k == r ? seed : b_.ZerosLike(primal_[k]));
    }
    if (!forward) return b_.Vjp(f_, wrt, args)[primal_.size()];
    args.push_back(seed);
    return b_.Jvp(f_, wrt, args)[primal_.size() + before];
  }

  // --- what is given

  Value Shape(const Side& result, const Side& param) {
    std::vector<Value> extents = result.extents;
    extents.insert(extents.end(), param.extents.begin(), param.extents.end());
    Value shape = b_.Zeros(DType::kI64, {b_.I64(static_cast<int64_t>(extents.size()))});
    for (size_t axis = 0; axis < extents.size(); ++axis)
      shape = b_.Update(shape, {Affine::Const(static_cast<int64_t>(axis))}, extents[axis]);
    return shape;
  }

  void Coordinates(Value numbers, const Side& side, Value count, std::vector<Value>& out) {
    if (side.extents.size() == 1) {
      out.push_back(numbers);
      return;
    }
    for (size_t axis = 0; axis < side.extents.size(); ++axis) {
      out.push_back(Each({count}, [&](const std::vector<Value>& at) {
        return Unflatten(b_, b_.Index(numbers, {Affine::Of(at[0])}), side.extents)[axis];
      }));
    }
  }

  // --- helpers

  static std::vector<Affine> Subscripts(const std::vector<Value>& indices) {
    std::vector<Affine> at;
    for (Value i : indices) at.push_back(Affine::Of(i));
    return at;
  }

  template <typename Fn>
  Value Each(const std::vector<Value>& extents, const Fn& element) {
    const std::vector<Value> at = b_.BeginEach(extents);
    ir::EachResult r;
    r.out = Subscripts(at);
    r.shape = extents;
    r.value = element(at);
    return b_.EndEach({std::move(r)})[0];
  }

  template <typename Fn>
  Value Loop(Value begin, Value end, Value state, const Fn& step) {
    const uint32_t header = b_.NewBlock(), body = b_.NewBlock(), done = b_.NewBlock();
    const Value k = b_.AddParam(header, ir::Type::I64(), "k");
    const Value into = b_.AddParam(header, b_.TypeOf(state));
    b_.Jump(header, {begin, state});
    b_.SetBlock(header);
    b_.Branch(b_.Make(Op::Lt, {k, end}), {body, {}}, {done, {}});
    b_.SetBlock(body);
    const Value next = step(k, into);
    b_.Jump(header, {b_.Make(Op::Add, {k, b_.I64(1)}), next});
    b_.SetBlock(done);
    return into;
  }

  ir::Module& module_;
  const ir::Function& from_;
  const uint32_t f_;
  const JacobianRows rows_;
  const bool forward_only_;
  const SparseFunctions functions_;
  ir::Builder b_;
  std::optional<SparsePattern> pattern_;
  std::map<size_t, std::vector<bool>> reached_;               // by parameter: which results
  std::map<size_t, std::optional<uint32_t>> sets_functions_;  // by parameter
  std::map<size_t, std::vector<Value>> sets_;                 // what they give
  std::vector<Value> args_, primal_;
};

}  // namespace

uint32_t AddSparseJacobian(ir::Module& module, uint32_t f, const std::vector<bool>& wrt,
                           const JacobianRows& rows, bool forward_only,
                           const SparseFunctions& functions) {
  const uint32_t target = module.AddFunction(module.Get(f).name + ".sparse_jacobian");
  JacobianWriter(module, f, rows, forward_only, functions, target).Run(wrt);
  return target;
}

std::vector<bool> FoundPatterns(ir::Module module, uint32_t f, const std::vector<bool>& wrt,
                                const JacobianRows& rows, const SparseFunctions& functions) {
  const uint32_t target = module.AddFunction("patterns");
  return JacobianWriter(module, f, rows, false, functions, target).FoundPatterns(wrt);
}

}  // namespace pullback::ad
