// What statements of the forward half store, element by element, for their transposes.
#include <algorithm>
#include <optional>

#include "core/ad/reverse_function.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

// Whether the subscripts are the index variables, one each.
bool Covers(const ir::Each& each, ir::AffineSpan subs) {
  if (subs.size() != each.indices.size()) return false;
  return std::all_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
    return std::any_of(subs.begin(), subs.end(), [&](const ir::Affine& a) {
      return a.terms.size() == 1 && a.terms[0].value == i.var;
    });
  });
}

// Some array is read at every point of the space: it has at least as many elements as the space has points.
bool ReadsElementPerPoint(const ir::Each& each) {
  return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
    return inst.op == Op::Index && !inst.guard.valid() && Covers(each, inst.subs);
  });
}

// Which result, if one does, stores the value for each point, at the point's own indices; where its guard does not hold it
// may store nothing.
std::optional<size_t> StoredAs(const ir::Each& each, Value value, Value guard) {
  for (size_t k = 0; k < each.results.size(); ++k) {
    const ir::EachResult& r = each.results[k];
    const bool everywhere = !r.guard.valid() || r.guard == guard;
    const bool stores = r.monoid == ir::Monoid::kGen && everywhere && r.value == value &&
                        r.out.size() == each.indices.size() && ir::IsPrefixForm(each, r);
    if (stores) return k;
  }
  return std::nullopt;
}

bool StoresElementPerPoint(const ir::Each& each) {
  return std::any_of(each.results.begin(), each.results.end(), [&](const ir::EachResult& r) {
    return r.monoid == ir::Monoid::kGen && !r.guard.valid() && Covers(each, r.out);
  });
}

}  // namespace

// A function of the math table is kept element by element, eight bytes each, where that takes no more
// memory than an array that the statement reads, and happens once; of a call with cached partials its value. A root that is
// stored anyway is read, so that what it is taken of is not needed any more.
Value ReverseFunction::KeepElements(const Inst& statement, const Inst& body, Value result) {
  if (body.op == Op::Call) {
    if (!IsCached(statement, body)) return {};
  } else if (body.op == Op::Sqrt && combined_) {
    const std::optional<size_t> stored = StoredAs(*statement.each, result, body.guard);
    const uint32_t block = flow_.def_block[statement.results[0].id];
    if (!stored || flow_.InCycle(block)) return {};
    return Fetch(forward_[statement.results[*stored].id], block);
  } else if (!(ir::Info(body.op).flags & ir::kLibm) || !work_.TypeOf(result).IsFloat() ||
             body.guard.valid() || !combined_ ||
             flow_.InCycle(flow_.def_block[statement.results[0].id]) ||
             !ReadsElementPerPoint(*statement.each)) {
    return {};
  }
  return Keep(statement, body, forward_[result.id]);
}

// The array, of the reverse half, with what the forward half's body computes as `element`.
Value ReverseFunction::Keep(const Inst& statement, const Inst& body, Value element) {
  auto& kept = kept_elements_[&statement];
  auto it = std::find_if(kept.begin(), kept.end(),
                         [&](const KeptElement& k) { return k.element == element; });
  if (it == kept.end()) {
    const int rank = static_cast<int>(statement.each->indices.size());
    const ir::Type type = ir::Type::Array(fb_->TypeOf(element).elem, rank);
    const Value guard = body.guard.valid() ? forward_[body.guard.id] : ir::kNoValue;
    it = kept.insert(kept.end(), {element, guard, NewForward(type, "kept")});
  }
  return Fetch(it->array, flow_.def_block[statement.results[0].id]);
}

// Whether the duals of a call are evaluated in the forward half. Left to the cost, only where the partials are
// stored once and are of the size of what the statement reads or makes.
bool ReverseFunction::IsCached(const Inst& statement, const Inst& call) const {
  const auto active = [this](Value v) { return Active(v); };
  if (mixed_ == Mixed::kRecomputed || module_.Get(call.callee).vjp_rule != ir::kNoFunction ||
      std::none_of(call.args.begin(), call.args.end(), active) ||
      std::none_of(call.results.begin(), call.results.end(), active))
    return false;
  if (mixed_ == Mixed::kCached) return true;
  const ir::Each& each = *statement.each;
  return combined_ && !flow_.InCycle(flow_.def_block[statement.results[0].id]) &&
         (ReadsElementPerPoint(each) || StoresElementPerPoint(each)) &&
         PrefersCached(module_, call.callee, ActiveOf(call.args));
}

// The array with a partial of a call in a statement's body; kNoValue: it is evaluated in the reverse half.
StatusOr<Value> ReverseFunction::KeepPartial(const Inst& statement, const Inst& call,
                                             size_t number) {
  if (!IsCached(statement, call)) return Value{};
  const auto [it, fresh] = cached_calls_.try_emplace(&call);
  if (fresh) {
    const std::vector<bool> active = ActiveOf(call.args);
    PB_ASSIGN_OR_RETURN(it->second.partials, partials_of_(call.callee, active));
    for (Value v : call.results) {
      if (!work_.TypeOf(v).IsFloat()) continue;
      for (bool a : active) {
        if (a) it->second.values.push_back(NewForward(work_.TypeOf(v), "partial"));
      }
    }
  }
  return Keep(statement, call, it->second.values[number]);
}

// In the forward half's copy of a statement: calls with their partials, and the arrays that are kept.
void ReverseFunction::AddKept(const Inst& statement, Inst& copy) const {
  if (!statement.each) return;
  for (size_t k = 0; k < statement.each->body.size(); ++k) {
    const auto cached = cached_calls_.find(&statement.each->body[k]);
    if (cached == cached_calls_.end()) continue;
    Inst& call = copy.each->body[k];
    call.callee = cached->second.partials;
    call.results.insert(call.results.end(), cached->second.values.begin(),
                        cached->second.values.end());
  }
  const auto kept = kept_elements_.find(&statement);
  if (kept == kept_elements_.end()) return;
  for (const KeptElement& k : kept->second) {
    ir::EachResult all;
    for (const ir::IndexVar& i : copy.each->indices) {
      all.out.push_back(ir::Affine::Of(i.var));
      all.shape.push_back(i.extent);
    }
    all.value = k.element;
    all.guard = k.guard;
    copy.each->results.push_back(std::move(all));
    copy.results.push_back(k.array);
  }
}

}  // namespace pullback::ad
