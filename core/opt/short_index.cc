#include "core/opt/short_index.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/statements.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

constexpr size_t kMostTermInsts = 192;

bool IsSumOver(const ir::Each& each, Value index) {
  if (each.results.size() != 1) return false;
  const ir::EachResult& r = each.results[0];
  const auto names = [&](const Affine& a) { return a.Coeff(index) != 0; };
  return r.monoid == ir::Monoid::kSum && !r.guard.valid() && !r.into.valid() &&
         ir::FindDef(each, r.value) != nullptr && std::none_of(r.out.begin(), r.out.end(), names) &&
         std::none_of(each.where.begin(), each.where.end(),
                      [&](const ir::Constraint& c) { return names(c.e); });
}

// The term of one point.
class Term {
 public:
  Term(ir::Function& f, std::vector<Inst>& out, Value index, int64_t point)
      : f_(f), out_(out), index_(index), point_(point) {}

  Value Make(const ir::Each& each) {
    Inst number;
    number.op = Op::Const;
    number.bits = static_cast<uint64_t>(point_);
    number.results = {names_[index_] = f_.NewLike(f_, index_)};
    out_.push_back(std::move(number));
    for (const Inst& inst : each.body) {
      Inst copy = inst;
      for (Affine& a : copy.subs) a = a.Substitute(index_, Affine::Const(point_));
      for (ir::Constraint& c : copy.constraints)
        c.e = c.e.Substitute(index_, Affine::Const(point_));
      ir::ForEachOperand(copy, [&](Value& v) {
        if (const auto it = names_.find(v); it != names_.end()) v = it->second;
      });
      ir::CanonicaliseAffines(copy);
      for (Value& v : copy.results) v = names_[v] = f_.NewLike(f_, v);
      out_.push_back(std::move(copy));
    }
    return names_.at(each.results[0].value);
  }

 private:
  ir::Function& f_;
  std::vector<Inst>& out_;
  const Value index_;
  const int64_t point_;
  std::map<Value, Value> names_;
};

}  // namespace

bool UnrollIndex(ir::Function& f, Inst& statement, Value index, int64_t n) {
  ir::Each& each = *statement.each;
  if (n < 1 || !IsSumOver(each, index) ||
      static_cast<size_t>(n) * each.body.size() > kMostTermInsts)
    return false;
  std::vector<Inst> body;
  Value sum;
  for (int64_t point = 0; point < n; ++point) {
    const Value term = Term(f, body, index, point).Make(each);
    ir::Appender out(f, body, 0);
    sum = sum.valid() ? out.Make(Op::Add, f.TypeOf(term), {sum, term}) : term;
  }
  each.body = std::move(body);
  each.indices.erase(std::find_if(each.indices.begin(), each.indices.end(),
                                  [&](const ir::IndexVar& i) { return i.var == index; }));
  ir::EachResult& r = each.results[0];
  r.value = sum;
  if (!r.out.empty() && r.out.size() == each.indices.size() && ir::IsPrefixForm(each, r))
    r.monoid = ir::Monoid::kGen;
  return true;
}

}  // namespace pullback::opt
