// Batching over a new axis against running the code once a point.
#include "core/ad/batch.h"

#include <catch2/catch.hpp>

#include "core/ir/verifier.h"
#include "tests/support/derivatives.h"

namespace pullback::ad {
namespace {

using testing::ParseIr;
using testing::RunOk;

constexpr int64_t kPoints = 3;

// (k, params of f…, the first with an axis of length k in front) -> results; nothing where f is refused.
std::optional<std::vector<bool>> Batch(ir::Module& m) {
  const ir::Function& f = m.Get(m.entry);
  const uint32_t target = m.AddFunction("batched");
  ir::Builder b(m, m.Get(target));
  b.NewBlock();
  const ir::Value k = b.AddParam(0, ir::Type::I64());
  std::vector<Batched> args;
  for (ir::Value v : f.params()) {
    ir::Type t = f.TypeOf(v);
    const bool first = args.empty();
    if (first) t = ir::Type::Array(t.elem, t.rank + 1);
    args.push_back({b.AddParam(0, t), first});
  }
  std::vector<ir::Value> made;
  const auto results = AppendBatched(b, f, args, {k}, made);
  if (!results) return std::nullopt;
  std::vector<ir::Value> values;
  std::vector<bool> batched;
  for (const Batched& r : *results) {
    values.push_back(r.value);
    batched.push_back(r.batched);
    b.function().results.push_back(b.TypeOf(r.value));
  }
  b.Return(values);
  m.entry = target;
  INFO(Verify(m).ToString());
  REQUIRE(Verify(m).ok());
  return batched;
}

Tensor Part(const Tensor& whole, int64_t k) {
  Tensor part{whole.dtype, {whole.shape.begin() + 1, whole.shape.end()}, {}};
  const size_t bytes = whole.data.size() / static_cast<size_t>(whole.shape[0]);
  part.data.assign(whole.data.begin() + static_cast<long>(static_cast<size_t>(k) * bytes),
                   whole.data.begin() + static_cast<long>((static_cast<size_t>(k) + 1) * bytes));
  return part;
}

// `first`: kPoints times the first argument.
void CheckBatch(const std::string& text, const Tensor& first, const std::vector<Tensor>& rest) {
  INFO(text);
  const ir::Module f = ParseIr(text);
  ir::Module m = f.Clone();
  const auto batched = Batch(m);
  REQUIRE(batched);
  std::vector<Tensor> args = {Tensor::I64(kPoints), first};
  args.insert(args.end(), rest.begin(), rest.end());
  const std::vector<Tensor> whole = RunOk(m, args);
  for (int64_t k = 0; k < kPoints; ++k) {
    args = {Part(first, k)};
    args.insert(args.end(), rest.begin(), rest.end());
    const std::vector<Tensor> point = RunOk(f, args);
    for (size_t r = 0; r < point.size(); ++r) {
      const Tensor part = (*batched)[r] ? Part(whole[r], k) : whole[r];
      CHECK(part.shape == point[r].shape);
      CHECK(part.data == point[r].data);
    }
  }
}

TEST_CASE("batch: scalars") {
  CheckBatch(
      "fn @f(%x: f64, %y: f64) -> (f64, f64, f64) { b0: %c = gt %x, %y  %s = select %c, %x, 1.0\n"
      "%z = mul %y, %y  ret mul(sin(%x), %y), %s, %z }",
      testing::Vec({0.5, 2.0, -1.0}), {Tensor::F64(1.0)});
}

TEST_CASE("batch: reads, extents, sums of arrays") {
  CheckBatch(
      "fn @f(%a: [*]f64, %b: [*]f64, %i: i64) -> (f64, i64, [*]f64, [*]f64) { b0: %n = dim %a, 0\n"
      "%v = index %a[%n - %i - 1]  %c = add_arrays %b, %a  %d = add_arrays %a, %a\n"
      "ret %v, %n, %c, %d }",
      testing::Mat(kPoints, 2, {1, 2, 3, 4, 5, 6}), {testing::Vec({10, 20}), Tensor::I64(1)});
}

// Some results have the axis and some have not; scalars from outside are read at their point; scans start
// anew; a guard and a read by data differ from point to point.
TEST_CASE("batch: statements") {
  CheckBatch(
      "fn @f(%a: [*]f64, %b: [*]f64) -> (f64, [*]f64, [*]f64, f64, [*]f64, [*]f64) { b0:\n"
      "%n = dim %a, 0  %t = index %a[0]\n"
      "%s, %p, %q, %u, %w, %x = each(i < %n) where (0 <= %i) {\n"
      "  %v = index %a[%i]  %c = index %b[%i]  %d = mul %c, %c  %m = mul %v, %t\n"
      "  %g = gt %v, 2.0  %k = cast %g : i64  %r = index %b[%k]  %h = mul %r, %c if %g\n"
      "} sum []: %m, scan_sum 0 [%i] of (%n): %v, gen [%i] of (%n): %d, sum []: %c,\n"
      "  gen [%n - 1 - %i] of (%n): %r, gen [%i] of (%n): %h if %g\n"
      "ret %s, %p, %q, %u, %w, %x }",
      testing::Mat(kPoints, 2, {1, 2, 3, 4, 5, 6}), {testing::Vec({0.5, 1.5})});
}

TEST_CASE("batch: what has no form for all points at once") {
  for (const char* text : {
           "fn @f(%a: [*]f64) -> [*]f64 { b0: %b = update %a[0], 1.0  ret %b }",
           "fn @f(%x: f64) -> f64 { b0: %c = gt %x, 0.0  br %c, b1, b2\nb1: ret %x\nb2: ret 0.0 }",
           "fn @f(%x: f64, %a: [*]f64) -> f64 { b0: %k = cast %x : i64  %v = index %a[%k]  ret %v "
           "}",
           "fn @f(%x: f64) -> [*]f64 { b0: %k = cast %x : i64  %y = each(i < %k) {} gen [%i] of "
           "(%k): "
           "1.0\nret %y }",
           "fn @f(%a: [*,*,*,*,*,*,*,*]f64) -> f64 { b0: %v = index %a[0,0,0,0,0,0,0,0]  ret %v }",
       }) {
    INFO(text);
    ir::Module m = ParseIr(text);
    CHECK(!Batch(m));
  }
}

}  // namespace
}  // namespace pullback::ad
