// Lists go in and come out of native code.
#include <catch2/catch.hpp>

#include <thread>

#include "core/base/lists.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

using Kind = ListColumn::Kind;

Engine& TheEngine() {
  static Engine engine(EngineOptions(), Ok(MakeLlvmBackend()));
  return engine;
}

StatusOr<Outputs> Evaluate(const KernelRequest& request, const Inputs& inputs,
                           const RunLimits& limits = {}) {
  PB_ASSIGN_OR_RETURN(const Handle handle, TheEngine().Compile(request));
  return TheEngine().Run(handle, inputs, limits);
}

template <typename T>
ListColumn Column(DType dtype, const std::vector<T>& values) {
  ListColumn c;
  c.kind = Kind::kTensor;
  c.dtype = dtype;
  c.data = Tensor::Of(dtype, {}, values).data;
  return c;
}
ListColumn Numbers(const std::vector<double>& values) { return Column(DType::kF64, values); }
ListColumn Arrays(std::vector<int64_t> lengths, const std::vector<double>& values) {
  ListColumn c = Numbers(values);
  c.rank = 1;
  c.extents = std::move(lengths);
  return c;
}
ListColumn Lists(uint32_t record, std::vector<int64_t> lengths) {
  ListColumn c;
  c.kind = Kind::kList;
  c.record = record;
  c.extents = std::move(lengths);
  return c;
}
ApiValue List(ListData data) {
  ApiValue value;
  value.list = std::make_shared<const ListData>(std::move(data));
  return value;
}

std::vector<double> Values(const ListData& list, size_t record, size_t column) {
  const std::vector<uint8_t>& data = list.records.at(record).at(column).data;
  std::vector<double> values(data.size() / sizeof(double));
  std::memcpy(values.data(), data.data(), data.size());
  return values;
}

const char* const kNested =
    "fn f(xs: list list f64) -> f64 {\n"
    "  var s = 0.0\n"
    "  for i < len(xs) { for j < len(xs[i]) { s += f64(i + 1) * xs[i][j] * xs[i][j] } }\n"
    "  return s\n}\n";

TEST_CASE("Lists of lists: value, gradient, product with a tangent") {
  const ApiValue xs = List({3, {{Lists(1, {2, 0, 1})}, {Numbers({1, 2, 3})}}});
  const Outputs out = Ok(Evaluate(Ask(kNested, "f", Transform::kValueAndGrad), {{xs}, {}}));
  CHECK(out.value.tensor.At<double>(0) == 1 + 4 + 27);
  const ListData& gradient = *out.derivatives[0].list;
  CHECK(gradient.length == 3);
  CHECK(gradient.records[0][0].extents == std::vector<int64_t>{2, 0, 1});
  CHECK(Values(gradient, 1, 0) == std::vector<double>{2, 4, 18});
  const Outputs jvp = Ok(Evaluate(Ask(kNested, "f", Transform::kJvp), {{xs}, {xs}}));
  CHECK(jvp.derivatives[0].tensor.At<double>(0) == 64);
}

TEST_CASE("Elements of every dtype, arrays and lists, beside other parameters") {
  const char* const program =
      "struct E { b: bool, x: f32, l: list i64, a: [_]f64, k: i64 }\n"
      "fn f(y: [n]f64, es: list E, m: i64) -> (list E, f64) {\n"
      "  var out = es\n"
      "  out[0].a[1] += y[0]\n  out[0].l = push(out[0].l, m)\n"
      "  return (out, es[0].a[1])\n}\n";
  const ListData es{
      2,
      {{Column<uint8_t>(DType::kBool, {1, 0}), Column<float>(DType::kF32, {0.5F, 2}),
        Lists(1, {0, 2}), Arrays({3, 0}, {1, 2, 3}), Column<int64_t>(DType::kI64, {7, INT64_MIN})},
       {Column<int64_t>(DType::kI64, {4, 5})}}};
  const Inputs inputs{{Vector({10}), List(es), Integer(9)}, {}};
  const Outputs out = Ok(Evaluate(Ask(program), inputs));
  const ListData& got = *out.value.elements[0].list;
  CHECK(FaultOf(got).empty());
  for (const size_t k : {0, 1, 4}) CHECK(got.records[0][k].data == es.records[0][k].data);
  CHECK(Values(got, 0, 3) == std::vector<double>{1, 12, 3});
  CHECK(got.records[0][3].extents == std::vector<int64_t>{3, 0});
  CHECK(got.records[0][2].extents == std::vector<int64_t>{1, 2});
  CHECK(got.records[1][0].data == Column<int64_t>(DType::kI64, {9, 4, 5}).data);
  CHECK(out.value.elements[1].tensor.At<double>(0) == 2);
}

TEST_CASE("A list that is the result twice, and one that nothing happened to") {
  const ApiValue xs = List({2, {{Numbers({1, 2})}}});
  const Outputs out = Ok(Evaluate(
      Ask("fn f(x: list f64) -> (list f64, list f64) { return (x, push(x, 3.0)) }"), {{xs}, {}}));
  CHECK(Values(*out.value.elements[0].list, 0, 0) == std::vector<double>{1, 2});
  CHECK(Values(*out.value.elements[1].list, 0, 0) == std::vector<double>{1, 2, 3});
  const Outputs none =
      Ok(Evaluate(Ask("fn f(x: list f64) -> list f64 { return x }"), {{List({})}, {}}));
  CHECK(none.value.list->length == 0);
  const Outputs unused = Ok(
      Evaluate(Ask("fn f(x: list f64, y: f64) -> f64 { return y }", "f", Transform::kValueAndGrad),
               {{xs, Scalar(1)}, {}}));
  CHECK(Values(*unused.derivatives[0].list, 0, 0) == std::vector<double>{0, 0});
}

TEST_CASE("NaNs in lists come out as the canonical one") {
  const uint64_t odd = 0xfff8dead00000001;
  const ListData xs{1, {{Column<uint64_t>(DType::kF64, {odd})}}};
  const Outputs out =
      Ok(Evaluate(Ask("fn f(x: list f64) -> list f64 { return x }"), {{List(xs)}, {}}));
  uint64_t bits = 0;
  std::memcpy(&bits, out.value.list->records[0][0].data.data(), sizeof(bits));
  CHECK(bits == 0x7ff8000000000000);
}

TEST_CASE("What is no such list is refused before it is made one") {
  const char* const program =
      "struct P { a: [2]f64 }\n"
      "fn f(x: list f64, p: list P) -> f64 { return f64(len(x) + len(p)) }";
  const ApiValue p = List({});
  const auto call = [&](const ApiValue& x) {
    return Evaluate(Ask(program), {{x, p}, {}}).status();
  };
  CHECK(call(List({1, {{Numbers({1})}}})).ok());
  CHECK(call(Scalar(1)).message() == "argument 'x': expected list f64, got f64");
  CHECK(call(Tuple({})).reason() == "TYPE_MISMATCH");
  const Status wrong = call(List({1, {{Column<int64_t>(DType::kI64, {1})}}}));
  CHECK(wrong.reason() == "TYPE_MISMATCH");
  CHECK(wrong.message() == "argument 'x': elements: expected f64, got i64");
  const Status short_of = call(List({2, {{Numbers({1})}}}));
  CHECK(short_of.reason() == "INVALID_VALUE");
  CHECK(
      Evaluate(Ask(program), {{p, List({1, {{Arrays({3}, {1, 2, 3})}}})}, {}}).status().message() ==
      "argument 'p': 'a' of elements: expected 2 on axis 0, got 3");
  CHECK(Evaluate(Ask("fn f(x: f64) -> f64 { return x }"), {{p}, {}}).status().message() ==
        "argument 'x': expected f64, got a list of 0");
}

TEST_CASE("Seeds of lists have the shape of what they belong to") {
  const char* const program =
      "fn f(xs: list f64) -> list f64 {\n"
      "  var ys = xs\n  for i < len(ys) { ys[i] = ys[i] * ys[i] }\n  return ys\n}\n";
  const ApiValue xs = List({3, {{Numbers({1, 2, 3})}}});
  const auto call = [&](const std::vector<double>& seed, Transform transform) {
    const auto n = static_cast<int64_t>(seed.size());
    return Evaluate(Ask(program, "f", transform), {{xs}, {List({n, {{Numbers(seed)}}})}});
  };
  for (const Transform transform : {Transform::kVjp, Transform::kJvp}) {
    const Outputs out = Ok(call({1, 1, 1}, transform));
    CHECK(Values(*out.derivatives[0].list, 0, 0) == std::vector<double>{2, 4, 6});
    CHECK_FALSE(call({1, 1}, transform).ok());
    CHECK(call({1, 1, 1, 1}, transform).status().reason() == "SIZE_MISMATCH");
  }
}

TEST_CASE("A deep tree, in value and gradient") {
  const char* const program =
      "struct T { v: f64, kids: list T }\n"
      "fn f(t: T) -> f64 {\n"
      "  var s = t.v * t.v\n  for i < len(t.kids) { s += f(t.kids[i]) }\n  return s\n}\n";
  const int64_t depth = kMaxListNesting - 1;
  std::vector<int64_t> lengths(static_cast<size_t>(depth), 1);
  lengths.back() = 0;
  const std::vector<double> values(lengths.size(), 1);
  const ApiValue t = Tuple({Scalar(1), List({1, {{Numbers(values), Lists(0, lengths)}}})});
  const Outputs out = Ok(Evaluate(Ask(program, "f", Transform::kValueAndGrad), {{t}, {}}));
  CHECK(out.value.tensor.At<double>(0) == static_cast<double>(depth + 1));
  const ListData& kids = *out.derivatives[0].elements[1].list;
  CHECK(Values(kids, 0, 0) == std::vector<double>(lengths.size(), 2));
  CHECK(kids.records[0][1].extents == lengths);
}

TEST_CASE("Lists are charged to the run, on the way in and out") {
  const ApiValue xs = List({100000, {{Numbers(std::vector<double>(100000, 1))}}});
  RunLimits limits;
  limits.memory_bytes = 100000;
  const char* const last = "fn f(x: list f64) -> f64 { return last(x) }";
  CHECK(Evaluate(Ask(last), {{xs}, {}}, limits).status().reason() == "MEMORY_BUDGET");
  limits.memory_bytes = 1200000;
  CHECK(Evaluate(Ask(last), {{xs}, {}}, limits).ok());
  const char* const same = "fn f(x: list f64) -> list f64 { return x }";
  CHECK(Evaluate(Ask(same), {{xs}, {}}, limits).status().reason() == "MEMORY_BUDGET");
  CHECK(Evaluate(Ask(same), {{xs}, {}}).ok());
  // Each list is twice the one before: 2^60 lists in a few bytes of the run.
  const char* const bomb =
      "struct T { kids: list T }\n"
      "fn f(n: i64) -> T {\n"
      "  var t = T(list())\n  for i < n { t = T(list(t, t)) }\n  return t\n}\n";
  CHECK(Evaluate(Ask(bomb), {{Integer(60)}, {}}, limits).status().reason() == "MEMORY_BUDGET");
  CHECK(Ok(Evaluate(Ask(bomb), {{Integer(3)}, {}}))
            .value.elements[0]
            .list->records[0][0]
            .extents.size() == 14);
  const Status deep =
      Evaluate(Ask("struct T { kids: list T }\n"
                   "fn f(n: i64) -> T {\n"
                   "  var t = T(list())\n  for i < n { t = T(list(t)) }\n  return t\n}\n"),
               {{Integer(5000)}, {}})
          .status();
  CHECK(deep.reason() == "RECURSION_LIMIT");
  limits = {};
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  limits.memory_bytes = int64_t{1} << 40;
  CHECK(Evaluate(Ask(bomb), {{Integer(60)}, {}}, limits).status().code() ==
        Code::kDeadlineExceeded);
}

TEST_CASE("Texts that differ in names of structs share a kernel that takes lists") {
  const auto program = [](const std::string& s, const std::string& v) {
    return "struct " + s + " { " + v + ": f64, kids: list " + s + " }\nfn f(t: " + s +
           ") -> f64 { return t." + v + " * 81.25 }";
  };
  const Handle a = Ok(TheEngine().Compile(Ask(program("Tree", "v"))));
  const Handle b = Ok(TheEngine().Compile(Ask(program("Node", "weight"))));
  CHECK(a.kernel_id == b.kernel_id);
  CHECK(b.view->signature.structs.at(0).struct_name == "Node");
  CHECK(b.view->signature.structs.at(0).field_names[0] == "weight");
  const ApiValue t = Tuple({Scalar(2), List({})});
  CHECK(Ok(TheEngine().Run(b, {{t}, {}})).value.tensor.At<double>(0) == 162.5);
}

TEST_CASE("Boxes stay inside a run") {
  const Status s =
      TheEngine().Compile(Ask("fn f(b: list box f64) -> f64 { return get(b[0]) }")).status();
  CHECK(s.code() == Code::kUnimplemented);
}

}  // namespace
}  // namespace pullback::jit
