#include "core/loops/split_contractions.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostProducts = 8;  // of one statement

using Product = std::pair<const Inst*, const Inst*>;  // two reads

class Splitter {
 public:
  explicit Splitter(const ir::Function& f)
      : f_(f), definitions_(f.values.size()), in_body_(f.values.size()) {
    for (const ir::Block& block : f.blocks) {
      for (const Inst& inst : block.insts) {
        Note(inst);
        if (!inst.each) continue;
        for (const Inst& inner : inst.each->body) {
          Note(inner);
          for (Value v : inner.results) in_body_[v.id] = true;
        }
      }
    }
  }

  std::optional<ir::Function> Run() {
    std::optional<ir::Function> made;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      std::vector<Inst> insts;
      bool split = false;
      for (const Inst& inst : f_.blocks[b].insts) {
        const std::vector<std::vector<Product>> products = ProductsOf(inst);
        if (products.empty()) {
          insts.push_back(inst);
          continue;
        }
        if (!made) made = f_;
        split = true;
        for (size_t k = 0; k < products.size(); ++k) Write(inst, k, products[k], *made, insts);
      }
      if (split) made->blocks[b].insts = std::move(insts);
    }
    return made;
  }

 private:
  void Note(const Inst& inst) {
    for (Value v : inst.results) definitions_[v.id] = &inst;
  }

  const Inst* DefinitionOf(Value v, Op op) const {
    const Inst* inst = definitions_[v.id];
    return inst != nullptr && inst->op == op && !inst->guard.valid() ? inst : nullptr;
  }

  bool IsZero(Value v) const {
    const Inst* inst = DefinitionOf(v, Op::Const);
    return inst != nullptr && inst->bits == 0;
  }

  // Whether no subscript is data: the reads are all that a statement of its own has.
  template <typename Subs>
  bool IsOutside(const Subs& subs) const {
    return std::all_of(subs.begin(), subs.end(), [&](const Affine& sub) {
      return std::none_of(sub.terms.begin(), sub.terms.end(),
                          [&](const Affine::Term& t) { return in_body_[t.value.id]; });
    });
  }

  // Of each result; empty: it is one product already, or something else.
  std::vector<std::vector<Product>> ProductsOf(const Inst& inst) const {
    std::vector<std::vector<Product>> all;
    if (!inst.each || !inst.each->where.empty() || inst.each->body.size() < 4) return {};
    size_t count = 0;
    for (const EachResult& r : inst.each->results) {
      const bool plain = r.monoid == ir::Monoid::kSum && !r.guard.valid() && !r.out.empty() &&
                         f_.TypeOf(r.value).IsFloat() && IsOutside(r.out);
      if (!plain || !AddProducts(r.value, all.emplace_back())) return {};
      count += all.back().size();
    }
    return count <= kMostProducts ? all : std::vector<std::vector<Product>>();
  }

  bool AddProducts(Value v, std::vector<Product>& products) const {
    if (products.size() > kMostProducts) return false;
    if (const Inst* sum = DefinitionOf(v, Op::Add)) {
      return AddProducts(sum->args[0], products) && AddProducts(sum->args[1], products);
    }
    const Inst* product = DefinitionOf(v, Op::Mul);
    if (const Inst* strong = DefinitionOf(v, Op::Select)) product = StrongProduct(*strong);
    if (product == nullptr) return false;
    const Inst* a = DefinitionOf(product->args[0], Op::Index);
    const Inst* b = DefinitionOf(product->args[1], Op::Index);
    if (a == nullptr || b == nullptr || !IsOutside(a->subs) || !IsOutside(b->subs)) return false;
    products.emplace_back(a, b);
    return true;
  }

  // x == 0 ? 0 : x * y
  const Inst* StrongProduct(const Inst& select) const {
    const Inst* test = DefinitionOf(select.args[0], Op::Eq);
    const Inst* product = DefinitionOf(select.args[2], Op::Mul);
    if (test == nullptr || product == nullptr || !IsZero(select.args[1])) return nullptr;
    return IsZero(test->args[1]) && test->args[0] == product->args[0] ? product : nullptr;
  }

  // The statements of one result: each product is added to the sum of those before it.
  void Write(const Inst& inst, size_t result, const std::vector<Product>& products,
             ir::Function& made, std::vector<Inst>& insts) const {
    Value sum = inst.each->results[result].into;
    for (size_t k = 0; k < products.size(); ++k) {
      const Value whole = inst.results[result];
      const Value to = k + 1 == products.size() ? whole : made.NewValue(f_.TypeOf(whole));
      insts.push_back(Statement(inst, result, products[k], made));
      insts.back().results = {to};
      insts.back().each->results[0].into = std::exchange(sum, to);
    }
  }

  // With indices and a body of its own.
  Inst Statement(const Inst& inst, size_t result, const Product& product,
                 ir::Function& made) const {
    Inst statement;
    statement.op = inst.op;
    statement.loc = inst.loc;
    statement.each = std::make_unique<Each>();
    Each& each = *statement.each;
    for (const ir::IndexVar& i : inst.each->indices) {
      each.indices.push_back({made.NewValue(ir::Type::I64(), f_.names[i.var.id]), i.extent});
    }
    const auto renamed = [&](const auto& subs) {
      std::vector<Affine> out(subs.begin(), subs.end());
      for (Affine& sub : out) {
        for (size_t i = 0; i < each.indices.size(); ++i) {
          sub = sub.Substitute(inst.each->indices[i].var, Affine::Of(each.indices[i].var));
        }
      }
      return out;
    };
    Inst multiply;
    multiply.op = Op::Mul;
    for (const Inst* read : {product.first, product.second}) {
      Inst& copy = each.body.emplace_back(*read);
      copy.subs = renamed(read->subs);
      copy.results = {made.NewValue(f_.TypeOf(read->results[0]))};
      multiply.args.push_back(copy.results[0]);
    }
    const EachResult& r = inst.each->results[result];
    multiply.results = {made.NewValue(f_.TypeOf(r.value))};
    EachResult out = r;
    out.out = renamed(r.out);
    out.value = multiply.results[0];
    each.body.push_back(std::move(multiply));
    each.results.push_back(std::move(out));
    return statement;
  }

  const ir::Function& f_;
  std::vector<const Inst*> definitions_;
  std::vector<bool> in_body_;
};

}  // namespace

std::optional<ir::Function> SplitContractions(const ir::Function& f) { return Splitter(f).Run(); }

}  // namespace pullback::loops
