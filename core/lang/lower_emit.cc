#include "core/lang/lower_emit.h"

#include <utility>

namespace pullback::lang {
namespace {

using ir::Each;
using ir::EachResult;
using ir::Inst;

Value ExtentOf(const Finished& f, Value index) {
  for (const auto* list : {&f.indices, &f.bound}) {
    for (const ir::IndexVar& i : *list) {
      if (i.var == index) return i.extent;
    }
  }
  PB_CHECK(false);
  return {};
}

// The element read that is all the body does; nullptr when it does more.
const Inst* OnlyRead(const Finished& f) {
  const Inst* read = nullptr;
  for (const Inst& inst : f.body) {
    if (absl::MakeConstSpan(inst.results) == f.values)
      read = &inst;
    else if (!(ir::Info(inst.op).flags & ir::kPure))
      return nullptr;
  }
  return read && read->op == Op::Index && !read->guard.valid() ? read : nullptr;
}

// The array that the statement would only copy, kNoValue when it does more.
Value CopiedArray(Context& c, const Finished& f) {
  const bool plain = f.monoid == ir::Monoid::kGen && !f.guard.valid() && f.where.empty();
  const Inst* read = plain ? OnlyRead(f) : nullptr;
  if (!read || read->subs.size() != f.out.size() || f.indices.size() != f.out.size()) return {};
  const std::vector<Affine>& dims = c.DimsOf(read->args[0]);
  for (size_t i = 0; i < f.out.size(); ++i) {
    if (!(read->subs[i].AsValue() == f.out[i])) return {};
    if (c.AffineFor(ExtentOf(f, f.out[i])) != dims[i]) return {};
  }
  return read->args[0];
}

// A product over several indices is one of products over the last: its derivative then holds the products of rows, and
// what stands before and behind a term in its row, and not before and behind it in all.
bool IsProductOfRows(Context& c, const Finished& f) {
  const size_t outer = f.out.size();
  if (f.monoid != ir::Monoid::kProd || f.indices.size() < outer + 2) return false;
  for (size_t k = 0; k < outer; ++k) {
    if (f.indices[k].var != f.out[k]) return false;  // a relation has taken its place
  }
  return std::all_of(f.values.begin(), f.values.end(),
                     [&](Value v) { return c.b.TypeOf(v).IsFloat(); });
}

std::vector<Value> EmitProductOfRows(Context& c, Finished f) {
  Finished rows = std::move(f), all;
  const size_t outer = rows.out.size();
  all.monoid = rows.monoid;
  all.loc = rows.loc;
  rows.out.clear();
  std::vector<Affine> subs;
  for (size_t k = 0; k + 1 < rows.indices.size(); ++k) {
    const ir::IndexVar& i = rows.indices[k];
    rows.out.push_back(i.var);
    all.indices.push_back({c.function.NewLike(c.function, i.var), i.extent});
    subs.push_back(Affine::Of(all.indices.back().var));
    if (k < outer) all.out.push_back(all.indices.back().var);
  }
  for (Value products : Emit(c, std::move(rows))) {
    Inst read;
    read.op = Op::Index;
    read.loc = all.loc;
    read.args = {products};
    for (const Affine& sub : subs) read.subs.push_back(sub);
    all.values.push_back(c.function.NewValue(c.b.TypeOf(products).Element()));
    read.results = {all.values.back()};
    all.body.push_back(std::move(read));
  }
  return Emit(c, std::move(all));
}

}  // namespace

std::vector<Value> Emit(Context& c, Finished f) {
  if (const Value same = CopiedArray(c, f); same.valid()) return {same};
  if (IsProductOfRows(c, f)) return EmitProductOfRows(c, std::move(f));
  AtBlock block(c);
  EachResult r;
  r.monoid = f.monoid;
  r.guard = f.guard;
  r.second = f.second;
  r.outer = f.outer;
  std::vector<Affine> dims;
  for (Value i : f.out) {
    r.out.push_back(Affine::Of(i));
    r.shape.push_back(ExtentOf(f, i));
    dims.push_back(c.AffineFor(r.shape.back()));
  }
  Inst inst;
  inst.op = Op::Each;
  inst.loc = f.loc;
  inst.each = std::make_unique<Each>();
  for (Value v : f.values) {
    r.value = v;
    inst.each->results.push_back(r);
    const DType elem = ir::IsArg(f.monoid) ? DType::kI64 : c.b.TypeOf(v).elem;
    const int rank = static_cast<int>(dims.size());
    const ir::Type t = rank == 0 ? ir::Type::Scalar(elem) : ir::Type::Array(elem, rank);
    inst.results.push_back(c.function.NewValue(t));
    if (rank > 0) c.SetMade(inst.results.back(), dims, inst.loc);
  }
  inst.each->indices.assign(f.indices.begin(), f.indices.end());
  inst.each->where = std::move(f.where);
  inst.each->body = std::move(f.body);
  const std::vector<Value> results = ir::ToVector(inst.results);
  c.b.Append(std::move(inst));
  return results;
}

}  // namespace pullback::lang
