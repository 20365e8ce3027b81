// What a call may not be given.
#include <catch2/catch.hpp>

#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

// What the engine says to inputs of a program whose results nobody looks at.
Status Call(const std::string& program, const Inputs& inputs,
            Transform transform = Transform::kValue, std::vector<std::string> wrt = {}) {
  auto backend = std::make_shared<FakeBackend>();
  backend->entry = [](RunContext* c, const uint64_t*, uint64_t*) { pb_trap(c, 2, 0, 0, 0); };
  Engine engine(EngineOptions(), backend);
  const Handle handle = Ok(engine.Compile(Ask(program, "f", transform, std::move(wrt))));
  const Status s = engine.Run(handle, inputs).status();
  return s.reason() == "DIVISION_BY_ZERO" ? Status() : s;
}

void CheckSays(const Status& s, const std::string& reason, const std::string& message) {
  CHECK(s.code() == Code::kInvalidArgument);
  CHECK(s.reason() == reason);
  CHECK(s.message() == message);
}

const char* const kVector = "fn f(x: [n]f64, y: [n]f64, m: i64) -> f64 { return x[0] * y[m] }";

TEST_CASE("Arguments are counted") {
  CHECK(Call(kVector, {{Vector({1}), Vector({2}), Integer(0)}, {}}).ok());
  CheckSays(Call(kVector, {{Vector({1})}, {}}), "MISSING_ARGUMENT", "argument 'y' is missing");
  CheckSays(Call(kVector, {{Vector({1}), Vector({2}), Integer(0), Integer(0)}, {}}),
            "UNKNOWN_ARGUMENT", "expected 3 arguments, got 4");
  CheckSays(Call(kVector, {{Vector({1}), Vector({2}), Integer(0)}, {Scalar(1)}}),
            "UNKNOWN_ARGUMENT", "expected 0 seeds, got 1");
}

TEST_CASE("Dtypes, ranks and structure are those of the signature") {
  CheckSays(Call(kVector, {{Vector({1}), Scalar(2), Integer(0)}, {}}), "TYPE_MISMATCH",
            "argument 'y': expected [n]f64, got f64");
  CheckSays(Call(kVector, {{Vector({1}), Vector({2}), Scalar(0)}, {}}), "TYPE_MISMATCH",
            "argument 'm': expected i64, got f64");
  CheckSays(Call(kVector, {{Tuple({}), Vector({2}), Integer(0)}, {}}), "TYPE_MISMATCH",
            "argument 'x': expected [n]f64, got a tuple of 0");
  const char* const tuple = "fn f(p: (f64, (i64, f64))) -> f64 { return p.0 + (p.1).1 }";
  CHECK(Call(tuple, {{Tuple({Scalar(1), Tuple({Integer(2), Scalar(3)})})}, {}}).ok());
  CheckSays(Call(tuple, {{Tuple({Scalar(1), Tuple({Scalar(2), Scalar(3)})})}, {}}), "TYPE_MISMATCH",
            "argument 'p.1.0': expected i64, got f64");
  CheckSays(Call(tuple, {{Tuple({Scalar(1)})}, {}}), "TYPE_MISMATCH",
            "argument 'p': expected (f64, (i64, f64)), got a tuple of 1");
  CheckSays(Call(tuple, {{Scalar(1)}, {}}), "TYPE_MISMATCH",
            "argument 'p': expected (f64, (i64, f64)), got f64");
}

TEST_CASE("A size equation that fails is named") {
  CheckSays(Call(kVector, {{Vector({1, 2, 3}), Vector({2}), Integer(0)}, {}}), "SIZE_MISMATCH",
            "argument 'y' axis 0: expected n = 3 (from argument 'x' axis 0), got 1");
}

TEST_CASE("Sizes are solved where they are linear, and made of integers") {
  const char* const linear =
      "fn f(k: i64, x: [2 * n + 1]f64, y: [n - k]f64) -> [n * k]f64 { return zeros(n * k) }";
  CHECK(Call(linear, {{Integer(1), Vector({1, 2, 3, 4, 5}), Vector({1})}, {}}).ok());
  for (const ApiValue& x : {Vector({1, 2, 3, 4}), Vector({})}) {
    CHECK(Call(linear, {{Integer(1), x, Vector({1})}, {}}).reason() == "SIZE_MISMATCH");
  }
  CHECK(Call(linear, {{Integer(2), Vector({1, 2, 3, 4, 5}), Vector({1})}, {}}).reason() ==
        "SIZE_MISMATCH");
  CHECK(Call(linear, {{Integer(INT64_MIN), Vector({1, 2, 3, 4, 5}), Vector({1})}, {}}).reason() ==
        "SIZE_MISMATCH");
  const char* const divided =
      "fn f(k: i64, x: [n]f64, y: [n / k]f64) -> f64 { return x[0] + y[0] }";
  CHECK(Call(divided, {{Integer(2), Vector({1, 2, 3}), Vector({1})}, {}}).ok());
  CHECK(Call(divided, {{Integer(0), Vector({1, 2, 3}), Vector({1})}, {}}).reason() ==
        "SIZE_MISMATCH");
}

ApiValue Raw(DType dtype, std::vector<int64_t> shape, size_t bytes, uint8_t fill = 0) {
  return Leaf({dtype, std::move(shape), std::vector<uint8_t>(bytes, fill)});
}

TEST_CASE("Bytes must fit the shape, whatever the shape says") {
  const char* const program = "fn f(x: [n, m]f64) -> f64 { return x[0, 0] }";
  CHECK(Call(program, {{Raw(DType::kF64, {2, 3}, 48)}, {}}).ok());
  CHECK(Call(program, {{Raw(DType::kF64, {0, kMaxExtent}, 0)}, {}}).ok());
  const ApiValue wrong[] = {
      Raw(DType::kF64, {2, 3}, 47),
      Raw(DType::kF64, {2, 3}, 0),
      Raw(DType::kF64, {-2, -3}, 48),
      Raw(DType::kF64, {0, -1}, 0),
      Raw(DType::kF64, {0, kMaxExtent + 1}, 0),
      Raw(DType::kF64, {INT64_MAX, 2}, 16),
      Raw(DType::kF64, {int64_t{1} << 61, 8}, 0),
      Raw(DType::kF64, {int64_t{1} << 32, int64_t{1} << 29}, 0),
  };
  for (const ApiValue& value : wrong) {
    CHECK(Call(program, {{value}, {}}).reason() == "INVALID_VALUE");
  }
  CHECK(Call("fn f(x: f64) -> f64 { return x }", {{Raw(DType::kF64, {}, 0)}, {}}).reason() ==
        "INVALID_VALUE");
  CHECK(Call("fn f(x: f32) -> f32 { return x }", {{Raw(DType::kF32, {}, 8)}, {}}).reason() ==
        "INVALID_VALUE");
}

TEST_CASE("A bool is 0 or 1") {
  const char* const program = "fn f(b: bool, c: [n]bool) -> bool { return b and c[0] }";
  CHECK(Call(program, {{Raw(DType::kBool, {}, 1, 1), Raw(DType::kBool, {9}, 9, 1)}, {}}).ok());
  CheckSays(Call(program, {{Raw(DType::kBool, {}, 1, 2), Raw(DType::kBool, {9}, 9, 1)}, {}}),
            "INVALID_VALUE", "argument 'b': a bool is a byte 0 or 1");
  CHECK(
      Call(program, {{Raw(DType::kBool, {}, 1, 1), Raw(DType::kBool, {9}, 9, 255)}, {}}).reason() ==
      "INVALID_VALUE");
}

TEST_CASE("The seed of vjp is shaped like the result") {
  const char* const program =
      "fn f(x: [n]f64, k: i64) -> ([2 * n]f64, i64, f64) {\n"
      "  return (gen i < 2 * n { x[i / 2] }, k, x[0])\n}\n";
  const auto call = [&](std::vector<ApiValue> seeds) {
    return Call(program, {{Vector({1, 2}), Integer(0)}, std::move(seeds)}, Transform::kVjp);
  };
  CHECK(call({Tuple({Vector({1, 2, 3, 4}), Tuple({}), Scalar(1)})}).ok());
  CheckSays(call({Tuple({Vector({1, 2, 3}), Tuple({}), Scalar(1)})}), "SIZE_MISMATCH",
            "seed axis 0: expected 4, got 3");
  CheckSays(call({Tuple({Vector({1, 2, 3, 4}), Integer(1), Scalar(1)})}), "TYPE_MISMATCH",
            "seed element 1: expected an empty tuple in place of i64, got i64");
  CheckSays(call({}), "MISSING_ARGUMENT", "expected 1 seed (shaped like the result), got 0");
  CHECK(call({Vector({1, 2, 3, 4}), Scalar(1)}).reason() == "UNKNOWN_ARGUMENT");
}

TEST_CASE("Fields are named") {
  const char* const program =
      "struct L { f: f64, k: i64 }\nstruct C { r: [3]f64, l: L }\n"
      "fn f(c: C) -> f64 { return c.l.f * c.r[0] }\n";
  CHECK(Call(program, {{Tuple({Vector({1, 2, 3}), Tuple({Scalar(1), Integer(2)})})}, {}}).ok());
  CheckSays(Call(program, {{Tuple({Vector({1, 2, 3}), Tuple({Scalar(1), Scalar(2)})})}, {}}),
            "TYPE_MISMATCH", "argument 'c.l.k': expected i64, got f64");
  CheckSays(Call(program, {{Tuple({Vector({1, 2, 3}), Scalar(1)})}, {}}), "TYPE_MISMATCH",
            "argument 'c.l': expected L, got f64");
}

TEST_CASE("Seeds of jvp are shaped like the parameters of wrt") {
  const char* const program = "fn f(x: [n]f64, p: (i64, [m]f64)) -> f64 { return x[0] * (p.1)[0] }";
  const auto call = [&](std::vector<ApiValue> seeds, std::vector<std::string> wrt = {}) {
    return Call(program,
                {{Vector({1, 2}), Tuple({Integer(0), Vector({1, 2, 3})})}, std::move(seeds)},
                Transform::kJvp, std::move(wrt));
  };
  const ApiValue p = Tuple({Tuple({}), Vector({1, 2, 3})});
  CHECK(call({Vector({1, 2}), p}).ok());
  CHECK(call({p, Vector({1, 2})}, {"p", "x"}).ok());
  CHECK(call({p}, {"p"}).ok());
  CheckSays(call({Vector({1, 2, 3}), p}), "SIZE_MISMATCH", "seed 'x' axis 0: expected 2, got 3");
  CHECK(call({Vector({1, 2}), Tuple({Tuple({}), Vector({1})})}).reason() == "SIZE_MISMATCH");
  CHECK(call({Vector({1, 2})}).reason() == "MISSING_ARGUMENT");
}

}  // namespace
}  // namespace pullback::jit
