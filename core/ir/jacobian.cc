#include "core/ir/jacobian.h"

#include <functional>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "core/ir/builder.h"

namespace pullback::ir {
namespace {

constexpr const char* kJacobianSuffix = ".jacobian";

// A float scalar or array that takes part, as a parameter or as a result.
struct Leaf {
  Value value;
  std::vector<Value> dims;
  Value begin, end;  // its elements' numbers among those of all leaves of its side
};

enum class Mode : uint8_t { kEither, kForward, kReverse };

Type BlockOf(Type result, Type param) {
  const int rank = result.rank + param.rank;
  return rank == 0 ? Type::Scalar(param.elem) : Type::Array(param.elem, rank);
}

Type TypeOfParam(const Function& f, size_t k) { return f.TypeOf(f.params()[k]); }

// Of those that are floats.
std::vector<bool> FloatParams(const Function& f, std::vector<bool> wrt) {
  for (size_t k = 0; k < wrt.size(); ++k) wrt[k] = wrt[k] && TypeOfParam(f, k).IsFloat();
  return wrt;
}

std::vector<bool> FloatResults(const Function& f) {
  std::vector<bool> rows;
  for (Type t : f.results) rows.push_back(t.IsFloat());
  return rows;
}

std::vector<Value> AddParams(Builder& b, const Function& f) {
  std::vector<Value> params;
  for (Value v : f.params()) params.push_back(b.AddParam(0, f.TypeOf(v), f.names[v.id]));
  return params;
}

std::vector<Value> Joined(std::vector<Value> a, const std::vector<Value>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class JacobianWriter {
 public:
  // `rows`: the results of f that are differentiated.
  JacobianWriter(Module& module, uint32_t f, std::vector<bool> wrt, std::vector<bool> rows,
                 Mode mode, uint32_t target)
      : b_(module, module.Get(target)),
        from_(module.Get(f)),
        f_(f),
        wrt_(std::move(wrt)),
        rows_(std::move(rows)),
        mode_(mode) {}

  void Write() {
    b_.NewBlock();
    args_ = AddParams(b_, from_);
    b_.function().results = from_.results;
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (size_t p = 0; p < wrt_.size(); ++p) {
        if (rows_[r] && wrt_[p])
          b_.function().results.push_back(BlockOf(from_.results[r], TypeOfParam(from_, p)));
      }
    }
    b_.SetBlock(0);
    primal_ = b_.Call(f_, args_);
    for (size_t p = 0; p < wrt_.size(); ++p) {
      if (wrt_[p]) params_.push_back({args_[p], {}, {}, {}});
    }
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r]) results_.push_back({primal_[r], {}, {}, {}});
    }
    Choose();
  }

 private:
  bool AllScalars(const std::vector<Leaf>& leaves) {
    for (const Leaf& leaf : leaves) {
      if (!b_.TypeOf(leaf.value).IsScalar()) return false;
    }
    return true;
  }

  void Choose() {
    const bool few_params = AllScalars(params_), few_results = AllScalars(results_);
    const bool forward = mode_ != Mode::kReverse, reverse = mode_ != Mode::kForward;
    if (forward && few_params && (!few_results || !reverse || params_.size() <= results_.size()))
      return Unrolled(true);
    if (reverse && few_results) return Unrolled(false);
    const Value columns = Number(params_), rows = Number(results_);
    if (!reverse) return Loop(true, columns);
    if (!forward) return Loop(false, rows);
    Compare(columns, rows);
  }

  void Compare(Value columns, Value rows) {
    const uint32_t forward = b_.NewBlock(), reverse = b_.NewBlock();
    b_.Branch(b_.Make(Op::Le, {columns, rows}), {forward, {}}, {reverse, {}});
    b_.SetBlock(forward);
    Loop(true, columns);
    b_.SetBlock(reverse);
    Loop(false, rows);
  }

  // Extents and numbers of elements; gives how many there are.
  Value Number(std::vector<Leaf>& leaves) {
    Value next = b_.I64(0);
    for (Leaf& leaf : leaves) {
      Value count = b_.I64(1);
      for (int axis = 0; axis < b_.TypeOf(leaf.value).rank; ++axis) {
        leaf.dims.push_back(b_.Dim(leaf.value, axis));
        count = b_.Make(Op::Mul, {count, leaf.dims.back()});
      }
      leaf.begin = next;
      next = b_.Make(Op::Add, {next, count});
      leaf.end = next;
    }
    return next;
  }

  // What one seed gives: the tangents of the results, or the cotangents of the parameters.
  std::vector<Value> Derivative(bool forward, const std::function<Value(const Leaf&)>& seed) {
    std::vector<Value> args = args_;
    if (forward) {
      for (const Leaf& leaf : params_) args.push_back(seed(leaf));
      const std::vector<Value> made = b_.Jvp(f_, wrt_, args);
      std::vector<Value> dots;
      size_t next = from_.results.size();
      for (size_t r = 0; r < rows_.size(); ++r) {
        if (rows_[r]) dots.push_back(made[next]);
        if (CarriesTangent(b_.module(), from_.results[r])) ++next;
      }
      return dots;
    }
    size_t row = 0;
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r]) {
        args.push_back(seed(results_[row++]));
      } else if (CarriesTangent(b_.module(), from_.results[r])) {
        args.push_back(b_.ZerosLike(primal_[r]));
      }
    }
    const std::vector<Value> made = b_.Vjp(f_, wrt_, args);
    return {made.begin() + static_cast<long>(from_.results.size()), made.end()};
  }

  // The block of a pair, by the number of the seeded leaf and that of the other.
  size_t BlockIndex(bool forward, size_t seeded, size_t other) const {
    return forward ? other * params_.size() + seeded : seeded * params_.size() + other;
  }
  DType ElementOf(bool forward, size_t seeded, size_t other) {
    return b_.TypeOf(params_[forward ? seeded : other].value).elem;
  }

  // Scalars are seeded one after the other: what comes out is the block.
  void Unrolled(bool forward) {
    const std::vector<Leaf>& seeded = forward ? params_ : results_;
    std::vector<Value> blocks(params_.size() * results_.size());
    for (size_t s = 0; s < seeded.size(); ++s) {
      const std::vector<Value> out = Derivative(forward, [&](const Leaf& leaf) {
        const Type t = b_.TypeOf(leaf.value);
        return &leaf == &seeded[s] ? b_.One(t) : b_.Zero(t);
      });
      for (size_t o = 0; o < out.size(); ++o)
        blocks[BlockIndex(forward, s, o)] = Converted(out[o], ElementOf(forward, s, o));
    }
    b_.Return(Joined(primal_, blocks));
  }

  Value Converted(Value v, DType to) {
    const Type t = b_.TypeOf(v);
    if (t.elem == to) return v;
    if (t.IsScalar()) return b_.Cast(v, to);
    std::vector<Value> dims;
    for (int axis = 0; axis < t.rank; ++axis) dims.push_back(b_.Dim(v, axis));
    const std::vector<Affine> at = Subscripts(b_.BeginEach(dims));
    const Value element = b_.Cast(b_.Index(v, at), to);
    return Stored(at, dims, element);
  }

  static std::vector<Affine> Subscripts(const std::vector<Value>& indices) {
    std::vector<Affine> at;
    for (Value i : indices) at.push_back(Affine::Of(i));
    return at;
  }

  // Ends the statement with an array of these elements.
  Value Stored(const std::vector<Affine>& at, const std::vector<Value>& dims, Value element) {
    EachResult r;
    r.out = at;
    r.shape = dims;
    r.value = element;
    return b_.EndEach({std::move(r)})[0];
  }

  // 1 at element number `k` of all, 0 elsewhere.
  Value OneHot(const Leaf& leaf, Value k) {
    const Type element = b_.TypeOf(leaf.value).Element();
    const Value at = b_.Make(Op::Sub, {k, leaf.begin});
    const auto hit = [&](Value flat) {
      return b_.Make(Op::Select, {b_.Make(Op::Eq, {flat, at}), b_.One(element), b_.Zero(element)});
    };
    if (leaf.dims.empty()) return hit(b_.I64(0));
    const std::vector<Value> indices = b_.BeginEach(leaf.dims);
    Value flat = indices[0];
    for (size_t axis = 1; axis < indices.size(); ++axis)
      flat = b_.Make(Op::Add, {b_.Make(Op::Mul, {flat, leaf.dims[axis]}), indices[axis]});
    const Value value = hit(flat);
    return Stored(Subscripts(indices), leaf.dims, value);
  }

  // for k < total: the derivative along element k of the seeded side goes into the blocks of its leaf.
  void Loop(bool forward, Value total) {
    const std::vector<Leaf>& seeded = forward ? params_ : results_;
    const uint32_t header = b_.NewBlock(), body = b_.NewBlock(), latch = b_.NewBlock(),
                   done = b_.NewBlock();
    std::vector<Value> blocks;
    for (const Leaf& r : results_) {
      for (const Leaf& p : params_) blocks.push_back(EmptyBlock(r, p));
    }
    const Value k = b_.AddParam(header, Type::I64(), "k");
    b_.Jump(header, Joined({b_.I64(0)}, blocks));
    const std::vector<Value> state = Declare(header, blocks);
    const std::vector<Value> filled = Declare(latch, blocks);
    b_.SetBlock(header);
    b_.Branch(b_.Make(Op::Lt, {k, total}), {body, {}}, {done, {}});
    b_.SetBlock(body);
    const std::vector<Value> out =
        Derivative(forward, [&](const Leaf& leaf) { return OneHot(leaf, k); });
    for (size_t s = 0; s < seeded.size(); ++s) {
      const bool last = s + 1 == seeded.size();
      const uint32_t here = last ? b_.block() : b_.NewBlock();
      const uint32_t next = last ? here : b_.NewBlock();
      if (!last) b_.Branch(b_.Make(Op::Lt, {k, seeded[s].end}), {here, {}}, {next, {}});
      b_.SetBlock(here);
      const std::vector<Value> place = Unflatten(seeded[s], k);
      std::vector<Value> after = state;
      for (size_t o = 0; o < out.size(); ++o) {
        Value& block = after[BlockIndex(forward, s, o)];
        block = Store(block, forward, place, out[o], ElementOf(forward, s, o));
      }
      b_.Jump(latch, after);
      b_.SetBlock(next);
    }
    b_.SetBlock(latch);
    b_.Jump(header, Joined({b_.Make(Op::Add, {k, b_.I64(1)})}, filled));
    b_.SetBlock(done);
    b_.Return(Joined(primal_, state));
  }

  std::vector<Value> Declare(uint32_t block, const std::vector<Value>& like) {
    std::vector<Value> params;
    for (Value v : like) params.push_back(b_.AddParam(block, b_.TypeOf(v)));
    return params;
  }

  Value EmptyBlock(const Leaf& result, const Leaf& param) {
    const DType element = b_.TypeOf(param.value).elem;
    const std::vector<Value> dims = Joined(result.dims, param.dims);
    return dims.empty() ? b_.Zero(Type::Scalar(element)) : b_.Zeros(element, dims);
  }

  // The index of element number k of all.
  std::vector<Value> Unflatten(const Leaf& leaf, Value k) {
    std::vector<Value> index(leaf.dims.size());
    Value rest = b_.Make(Op::Sub, {k, leaf.begin});
    for (size_t axis = leaf.dims.size(); axis-- > 0;) {
      index[axis] = axis == 0 ? rest : b_.Make(Op::Rem, {rest, leaf.dims[axis]});
      if (axis > 0) rest = b_.Make(Op::Div, {rest, leaf.dims[axis]});
    }
    return index;
  }

  // The block with `part` where its axes of the seeded leaf are `place`.
  Value Store(Value block, bool forward, const std::vector<Value>& place, Value part, DType to) {
    if (place.empty()) return Converted(part, to);
    if (b_.TypeOf(part).IsScalar()) return b_.Update(block, Subscripts(place), Converted(part, to));
    std::vector<Value> dims;
    for (int axis = 0; axis < b_.TypeOf(part).rank; ++axis) dims.push_back(b_.Dim(part, axis));
    return StoreAxes(block, dims, {}, [&](Value into, const std::vector<Value>& at) {
      const Value element = Converted(b_.Index(part, Subscripts(at)), to);
      return b_.Update(into, Subscripts(forward ? Joined(at, place) : Joined(place, at)), element);
    });
  }

  // Loops over the axes from number at.size() on.
  Value StoreAxes(Value block, const std::vector<Value>& dims, const std::vector<Value>& at,
                  const std::function<Value(Value, const std::vector<Value>&)>& store) {
    if (at.size() == dims.size()) return store(block, at);
    const uint32_t header = b_.NewBlock(), body = b_.NewBlock(), done = b_.NewBlock();
    const Value i = b_.AddParam(header, Type::I64(), "i");
    const Value into = b_.AddParam(header, b_.TypeOf(block));
    b_.Jump(header, {b_.I64(0), block});
    b_.SetBlock(header);
    b_.Branch(b_.Make(Op::Lt, {i, dims[at.size()]}), {body, {}}, {done, {}});
    b_.SetBlock(body);
    const Value filled = StoreAxes(into, dims, Joined(at, {i}), store);
    b_.Jump(header, {b_.Make(Op::Add, {i, b_.I64(1)}), filled});
    b_.SetBlock(done);
    return into;
  }

  Builder b_;
  const Function& from_;
  const uint32_t f_;
  const std::vector<bool> wrt_, rows_;
  const Mode mode_;
  std::vector<Value> args_, primal_;
  std::vector<Leaf> params_, results_;
};

uint32_t Write(Module& module, uint32_t f, const std::vector<bool>& wrt,
               const std::vector<bool>& rows, Mode mode) {
  const uint32_t target = module.AddFunction(module.Get(f).name + kJacobianSuffix);
  JacobianWriter(module, f, wrt, rows, mode, target).Write();
  return target;
}

// (params…) -> (result, gradient by every parameter of wrt…)
uint32_t AddGradient(Module& module, uint32_t f, const std::vector<bool>& wrt) {
  const uint32_t target = module.AddFunction(module.Get(f).name + ".gradient");
  const Function& from = module.Get(f);
  PB_CHECK(from.results.size() == 1 && from.results[0].IsScalar() && from.results[0].IsFloat());
  Builder b(module, module.Get(target));
  b.NewBlock();
  std::vector<Value> args = AddParams(b, from);
  b.function().results = from.results;
  for (size_t k = 0; k < wrt.size(); ++k) {
    if (wrt[k]) b.function().results.push_back(TypeOfParam(from, k));
  }
  args.push_back(b.One(from.results[0]));
  b.Return(b.Vjp(f, wrt, args));
  return target;
}

}  // namespace

uint32_t AddJacobian(Module& module, uint32_t f, const std::vector<bool>& wrt) {
  const Function& from = module.Get(f);
  return Write(module, f, FloatParams(from, wrt), FloatResults(from), Mode::kEither);
}

uint32_t AddForwardJacobian(Module& module, uint32_t f, const std::vector<bool>& wrt) {
  const Function& from = module.Get(f);
  return Write(module, f, FloatParams(from, wrt), FloatResults(from), Mode::kForward);
}

uint32_t AddReverseJacobian(Module& module, uint32_t f, const std::vector<bool>& wrt) {
  const Function& from = module.Get(f);
  return Write(module, f, FloatParams(from, wrt), FloatResults(from), Mode::kReverse);
}

std::optional<JacobianLoop> FindJacobianLoop(const Module& module, uint32_t f) {
  const Function& g = module.Get(f);
  if (g.name.find(kJacobianSuffix) == std::string::npos || g.blocks.size() == 1)
    return std::nullopt;
  for (const Block& b : g.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::Jvp || inst.op == Op::Vjp)
        return JacobianLoop{inst.callee, inst.wrt.ToVector()};
    }
  }
  return std::nullopt;
}

uint32_t AddHessian(Module& module, uint32_t f, const std::vector<bool>& wrt) {
  const std::vector<bool> floats = FloatParams(module.Get(f), wrt);
  const uint32_t gradient = AddGradient(module, f, floats);
  std::vector<bool> rows(module.Get(gradient).results.size(), true);
  rows[0] = false;
  const uint32_t jacobian = Write(module, gradient, floats, rows, Mode::kForward);
  const uint32_t target = module.AddFunction(module.Get(f).name + ".hessian");
  const Function& from = module.Get(jacobian);
  Builder b(module, module.Get(target));
  b.NewBlock();
  const std::vector<Value> made = b.Call(jacobian, AddParams(b, from));
  std::vector<Value> out = {made[0]};
  out.insert(out.end(), made.begin() + static_cast<long>(rows.size()), made.end());
  for (Value v : out) b.function().results.push_back(b.TypeOf(v));
  b.Return(out);
  return target;
}

uint32_t AddHessianProduct(Module& module, uint32_t f, const std::vector<bool>& wrt) {
  const std::vector<bool> floats = FloatParams(module.Get(f), wrt);
  const uint32_t gradient = AddGradient(module, f, floats);
  const uint32_t target = module.AddFunction(module.Get(f).name + ".hvp");
  const Function& from = module.Get(f);
  Builder b(module, module.Get(target));
  b.NewBlock();
  std::vector<Value> args = AddParams(b, from);
  const size_t n = args.size();
  for (size_t k = 0; k < n; ++k) {
    if (floats[k]) args.push_back(b.AddParam(0, TypeOfParam(from, k), "dot"));
  }
  const size_t columns = args.size() - n;
  const std::vector<Value> made = b.Jvp(gradient, floats, args);
  // result, gradient…, the result's tangent, the gradient's tangents…
  std::vector<Value> out = {made[0]};
  out.insert(out.end(), made.end() - static_cast<long>(columns), made.end());
  for (Value v : out) b.function().results.push_back(b.TypeOf(v));
  b.Return(out);
  return target;
}

}  // namespace pullback::ir
