// A matrix that is a sum is not made where its readers add up products with its elements, and some of its terms are stored at
// tuples which data say, or all of them are diagonals, have one element in each row, or column, where data say, or are the
// same along an axis (not all of them that): its readers do so for each term, whose matrix can be followed
// (follow_tuples.cc), pinned to its diagonal, read as a vector (compact.cc), or is there already. The Laplacian of a graph,
// D - A:
//
//   l = each(i, j) { [i == j] d[i] - a[i, j] } gen [i, j]
//   y = each(i, j) { l[i, j] * x[j] } sum [i]
//                           s = each(i, j) { [i == j] d[i] } gen [i, j]
//                           t = each(i, j) { -a[i, j] } gen [i, j]
//                           y = each(i, j) { s[i, j] * x[j] } sum [i] + each(i, j) { t[i, j] * x[j] } sum [i]
//
// (d - a) * x becomes d * x - a * x, and the sums add up apart. So they do where the matrix is a sum of arrays that are there,
// all of them such.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/analysis/outer_values.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/summands.h"
#include "core/tensor/tuple_arrays.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

class SumSplitter {
 public:
  SumSplitter(ir::Function& f, bool with_others) : f_(f), with_others_(with_others), reads_(f) {}

  bool Run() {
    FindParts();
    if (tuples_.empty() && diagonals_.empty() && !HasEquality()) return false;
    outer_.emplace(f_);
    FindReaders();
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.each) Visit(inst);
        if (inst.op == Op::AddArrays) VisitSum(inst);
      }
    }
    if (split_.empty()) return false;
    // A reader's block may stand in front of the matrix's.
    for (const auto& [matrix, terms] : terms_) {
      for (size_t k = 0; k < terms.size(); ++k) matrices_[matrix].push_back(f_.NewLike(f_, matrix));
    }
    for (ir::Block& b : f_.blocks) Rewrite(b);
    return true;
  }

 private:
  void FindParts() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
          const ir::Values& shape = inst.each->results[k].shape;
          if (IsTupleArray(inst, k, f_)) tuples_[inst.results[k]] = shape;
          if (HoldsDiagonal(inst, k)) diagonals_[inst.results[k]] = shape;
        }
        if (inst.each && IsMatrix(inst) &&
            IsSameAlongAxis(*inst.each, {inst.each->results[0].value}))
          same_[inst.results[0]] = inst.each->results[0].shape;
      }
    }
  }

  // Whether an index is that of two axes, or an equality says which elements there are.
  bool HoldsDiagonal(const Inst& inst, size_t k) const {
    const EachResult& r = inst.each->results[k];
    if (r.monoid != ir::Monoid::kGen || r.into.valid() || !f_.TypeOf(inst.results[k]).IsFloat())
      return false;
    const bool twice =
        std::any_of(inst.each->indices.begin(), inst.each->indices.end(),
                    [&](const ir::IndexVar& i) { return tensor::CountNaming(r, i.var) > 1; });
    return twice || (IsMatrix(inst) && IsPinned(*inst.each, r.value));
  }

  static bool IsEquality(const Inst& inst) {
    return inst.op == Op::Eq || (inst.op == Op::Holds &&
                                 std::any_of(inst.constraints.begin(), inst.constraints.end(),
                                             [](const ir::Constraint& c) { return c.equality; }));
  }
  bool HasEquality() const {
    return std::any_of(f_.blocks.begin(), f_.blocks.end(), [](const ir::Block& b) {
      return std::any_of(b.insts.begin(), b.insts.end(), [](const Inst& inst) {
        return inst.each && std::any_of(inst.each->body.begin(), inst.each->body.end(), IsEquality);
      });
    });
  }

  void FindReaders() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& statement : b.insts) {
        if (!statement.each) continue;
        for (const Inst& inst : statement.each->body) {
          if (inst.op == Op::Index && f_.TypeOf(inst.args[0]).rank > 1)
            readers_[inst.args[0]].insert(&statement);
        }
      }
    }
  }

  // A matrix by its elements; each in its own place.
  bool IsMatrix(const Inst& inst) const {
    if (inst.results.size() != 1) return false;
    const Each& each = *inst.each;
    const EachResult& r = each.results[0];
    if (r.monoid != ir::Monoid::kGen || r.into.valid() || r.guard.valid() ||
        !f_.TypeOf(inst.results[0]).IsFloat() || r.out.size() != each.indices.size())
      return false;
    std::set<Value> named;
    for (const Affine& a : r.out) {
      if (PlaceOfIndex(each, a.AsValue())) named.insert(a.AsValue());
    }
    return named.size() == r.out.size();
  }

  // Whether some term, and not all of them, is absent where an element of a tuple array is.
  bool HasTupleTerm(const Each& each, const std::vector<Summand>& terms) const {
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      if (inst.op != Op::Index || !tuples_.contains(inst.args[0])) return false;
      const auto absent = std::count_if(terms.begin(), terms.end(), [&](const Summand& t) {
        return IsAbsentWith(each, t.value, inst.results[0]);
      });
      return absent > 0 && absent < static_cast<std::ptrdiff_t>(terms.size());
    });
  }

  // Whether every term is absent but on a diagonal, or where an index is a number, or, beside such a one, the same all along
  // an axis.
  bool AreDiagonals(const Each& each, const std::vector<Summand>& terms) const {
    size_t diagonals = 0, same = 0;
    for (const Summand& t : terms) {
      if (IsDiagonal(each, t))
        ++diagonals;
      else
        same += IsSameAlongAxis(each, t) ? 1 : 0;
    }
    return diagonals > 0 && diagonals + same == terms.size();
  }
  bool IsDiagonal(const Each& each, const Summand& t) const {
    return IsPinned(each, t.value) ||
           std::any_of(t.factors.begin(), t.factors.end(), [&](const auto& factor) {
             return factor.first->op != Op::Div &&
                    IsPinned(each, factor.first->args[1 - factor.second]);
           });
  }
  static bool IsSameAlongAxis(const Each& each, const Summand& t) {
    const std::set<Value> used = MadeOf(each, t);
    return std::any_of(each.indices.begin(), each.indices.end(),
                       [&](const ir::IndexVar& i) { return !used.contains(i.var); });
  }
  bool IsPinned(const Each& each, Value v) const {
    std::set<Value> seen;
    return IsPinned(each, v, seen);
  }
  bool IsPinned(const Each& each, Value v, std::set<Value>& seen) const {
    const Inst* def = seen.insert(v).second ? FindDef(each, v) : nullptr;
    if (!def) return false;
    if (def->guard.valid()) return Pins(each, def->guard);
    if (def->op == Op::Index && diagonals_.contains(def->args[0])) return true;
    if (IsConditionAsNumber(def, f_)) return Pins(each, def->args[0]);
    const bool product = def->op == Op::Mul || def->op == Op::SMul;
    return product && (IsPinned(each, def->args[0], seen) || IsPinned(each, def->args[1], seen));
  }
  static bool Pins(const Each& each, Value condition) {
    const Inst* def = FindDef(each, condition);
    if (def && def->op == Op::Eq)
      return IsPlace(each, def->args[0], def->args[1]) || IsPlace(each, def->args[1], def->args[0]);
    return def && IsEquality(*def) &&
           std::any_of(def->constraints.begin(), def->constraints.end(),
                       [&](const ir::Constraint& c) {
                         return c.equality && std::any_of(each.indices.begin(), each.indices.end(),
                                                          [&](const ir::IndexVar& i) {
                                                            const int64_t k = c.e.Coeff(i.var);
                                                            return k == 1 || k == -1;
                                                          });
                       });
  }

  // Whether v is data at other indices than this.
  static bool IsPlace(const Each& each, Value index, Value v) {
    const Inst* def = FindDef(each, v);
    return PlaceOfIndex(each, index) && def && def->op == Op::Index &&
           std::all_of(def->subs.begin(), def->subs.end(), [&](const Affine& a) {
             return std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
               return t.value != index && !FindDef(each, t.value);
             });
           });
  }

  // Whether the statement adds up what is linear in the matrix's elements.
  bool AddsUp(const Inst& reader, Value matrix, const ir::Values& shape) {
    const Each& each = *reader.each;
    if (!ReadsByIndices(each, outer_->BoxOf(each), matrix, shape)) return false;
    const Value read = OnlyReadOf(each, matrix)->results[0];
    return std::all_of(each.results.begin(), each.results.end(), [&](const EachResult& r) {
      return r.monoid == ir::Monoid::kSum && !r.into.valid() &&
             r.out.size() < each.indices.size() && IsLinearIn(each, r.value, read);
    });
  }

  void Visit(const Inst& inst) {
    if (!IsMatrix(inst) || !reads_.OnlyByStatements(inst.results[0])) return;
    const Value matrix = inst.results[0];
    std::vector<Summand> terms;
    if (!TakeSummands(*inst.each, inst.each->results[0].value, terms) || terms.size() < 2 ||
        !((with_others_ && HasTupleTerm(*inst.each, terms)) || AreDiagonals(*inst.each, terms)))
      return;
    if (SplitReaders(matrix, inst.each->results[0].shape)) terms_[matrix] = std::move(terms);
  }
  // False: not all of them add up.
  bool SplitReaders(Value matrix, const ir::Values& shape) {
    const std::set<const Inst*>& readers = readers_[matrix];
    const bool add_up = std::all_of(readers.begin(), readers.end(), [&](const Inst* reader) {
      return !split_.contains(reader) && AddsUp(*reader, matrix, shape);
    });
    for (const Inst* reader : readers) {
      if (add_up) split_[reader] = matrix;
    }
    return add_up && !readers.empty();
  }

  // A sum of arrays that are there, all of them stored at tuples or on diagonals, but for those that are the same along an
  // axis.
  void VisitSum(const Inst& sum) {
    const Value matrix = sum.results[0];
    for (Value arg : sum.args) {
      const auto of = summed_.find(arg);
      const ir::Values own = of == summed_.end() ? ir::Values{arg} : of->second;
      if (summed_[matrix].size() <= kMostSummands)
        summed_[matrix].insert(summed_[matrix].end(), own.begin(), own.end());
    }
    const ir::Values& terms = summed_[matrix];
    if (terms.size() > kMostSummands || !reads_.OnlyByStatements(matrix)) return;
    const ir::Values* shape = ShapeOfPart(terms[0]);
    const bool alike = std::all_of(terms.begin(), terms.end(), [&](Value v) {
      const ir::Values* other = ShapeOfPart(v);
      return shape && other && *other == *shape;
    });
    const bool all_same =
        std::all_of(terms.begin(), terms.end(), [&](Value v) { return same_.contains(v); });
    if (alike && !all_same && SplitReaders(matrix, *shape))
      matrices_[matrix] = std::vector<Value>(terms.begin(), terms.end());
  }
  const ir::Values* ShapeOfPart(Value v) const {
    for (const auto* parts : {&tuples_, &diagonals_, &same_}) {
      if (const auto part = parts->find(v); part != parts->end()) return &part->second;
    }
    return nullptr;
  }

  void Rewrite(ir::Block& b) {
    std::vector<Inst> all;
    for (Inst& inst : b.insts) {
      const auto reader = split_.find(&inst);
      if (reader != split_.end()) {
        SplitReader(inst, matrices_.at(reader->second), all);
        continue;
      }
      const bool matrix = inst.each && inst.results.size() == 1 && terms_.contains(inst.results[0]);
      if (matrix)
        MakeTerms(inst, all);
      else
        all.push_back(std::move(inst));
    }
    b.insts = std::move(all);
  }

  void MakeTerms(const Inst& inst, std::vector<Inst>& before) {
    const std::vector<Summand>& terms = terms_[inst.results[0]];
    for (size_t place = 0; place < terms.size(); ++place) {
      Inst term = WithSummand(inst, terms[place], f_, before);
      term.results = {matrices_.at(inst.results[0])[place]};
      before.push_back(std::move(term));
    }
  }

  // The results of `reader` are sums of those of its copies, one for each matrix.
  void SplitReader(Inst& reader, const std::vector<Value>& matrices, std::vector<Inst>& out) {
    const Value whole = split_.at(&reader);
    ir::Values sums;
    for (const Value matrix : matrices) {
      CopiedStatement copy = CopyStatement(reader, f_);
      copy.inst.results.clear();
      for (Value v : reader.results) copy.inst.results.push_back(f_.NewLike(f_, v));
      ReplaceValues(copy.inst, {{whole.id, matrix}});
      const ir::Values made = copy.inst.results;
      out.push_back(std::move(copy.inst));
      if (sums.empty()) {
        sums = made;
        continue;
      }
      const bool last = matrix == matrices.back();
      for (size_t k = 0; k < made.size(); ++k) {
        Inst add;
        add.op = f_.TypeOf(made[k]).IsArray() ? Op::AddArrays : Op::Add;
        add.loc = reader.loc;
        add.args = {sums[k], made[k]};
        add.results = {last ? reader.results[k] : f_.NewLike(f_, made[k])};
        sums[k] = add.results[0];
        out.push_back(std::move(add));
      }
    }
  }

  ir::Function& f_;
  const bool with_others_;
  const ArrayReads reads_;
  std::optional<analysis::OuterValues> outer_;  // of the function before it changes
  // Arrays with few elements, or the same all along an axis: their shapes.
  std::map<Value, ir::Values> tuples_, diagonals_, same_;
  std::map<Value, ir::Values> summed_;  // of sums of arrays: their terms
  std::map<Value, std::set<const Inst*>> readers_;
  std::map<Value, std::vector<Summand>> terms_;   // of matrices that are split
  std::map<const Inst*, Value> split_;            // readers, with their matrix
  std::map<Value, std::vector<Value>> matrices_;  // what is read in place of the whole
};

}  // namespace

bool SplitSums(ir::Function& f, bool with_others) { return SumSplitter(f, with_others).Run(); }

}  // namespace pullback::tensor
