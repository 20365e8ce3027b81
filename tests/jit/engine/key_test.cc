// What makes a kernel another one, and what does not.
#include <catch2/catch.hpp>

#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

struct Keys {
  std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>();
  Engine engine{EngineOptions(), backend};
  std::string Of(const KernelRequest& request) { return Ok(engine.Compile(request)).kernel_id; }
};

const char* const kKeyText =
    "fn g(t: f64) -> f64 { return t * t }\n"
    "fn f(x: f64, y: f64) -> f64 { let s = g(x) + y\n return s * y }\n";

TEST_CASE("Names, layout and comments are not part of the key") {
  Keys keys;
  const std::string id = keys.Of(Ask(kKeyText));
  CHECK(id.size() == 64);
  CHECK(id == keys.Of(Ask("# a comment\n"
                          "fn main(a: f64, b: f64) -> f64 {\n"
                          "  let other = (square(a) + b)   # here too\n"
                          "  return other * b\n"
                          "}\n"
                          "fn unused(z: i64) -> i64 { return z }\n"
                          "fn square(q: f64) -> f64 { return q * q }\n",
                          "main")));
  CHECK(keys.backend->compiles == 1);
}

TEST_CASE("Everything that changes the code is part of the key") {
  Keys keys;
  const std::string id = keys.Of(Ask(kKeyText));
  CHECK(id != keys.Of(Ask("fn f(x: f64, y: f64) -> f64 { return x * x + y * y }")));
  CHECK(id != keys.Of(Ask(kKeyText, "g")));
  CHECK(id != keys.Of(Ask(kKeyText, "f", Transform::kValueAndGrad)));
  KernelRequest request = Ask(kKeyText);
  request.options.optimise = false;
  CHECK(id != keys.Of(request));
  request = Ask(kKeyText);
  request.options.opt_level = 0;
  CHECK(id != keys.Of(request));
  request = Ask(kKeyText);
  request.options.mixed = ad::Mixed::kCached;
  CHECK(id != keys.Of(request));
  request = Ask(kKeyText);
  request.options.contractions = Contractions::kBlas;
  CHECK(id != keys.Of(request));
  request = Ask(kKeyText);
  request.options.opt_level = 2;  // the engine's own
  CHECK(id == keys.Of(request));
}

TEST_CASE("The order of wrt is part of the key; all of them is the default") {
  Keys keys;
  const auto grad = [&](std::vector<std::string> wrt) {
    return keys.Of(Ask(kKeyText, "f", Transform::kValueAndGrad, std::move(wrt)));
  };
  CHECK(grad({}) == grad({"x", "y"}));
  CHECK(grad({"x", "y"}) != grad({"y", "x"}));
  CHECK(grad({"x"}) != grad({"y"}));
  CHECK(grad({"x"}) != grad({}));
  // It says nothing about a value.
  CHECK(keys.Of(Ask(kKeyText)) == keys.Of(Ask(kKeyText, "f", Transform::kValue, {"x"})));
}

TEST_CASE("Another build has other keys") {
  Keys a;
  Keys b;
  auto other = std::make_shared<FakeBackend>();
  other->built = "fake-2";
  Engine engine(EngineOptions(), other);
  CHECK(a.Of(Ask(kKeyText)) == b.Of(Ask(kKeyText)));
  CHECK(a.Of(Ask(kKeyText)) != Ok(engine.Compile(Ask(kKeyText))).kernel_id);
  CHECK(engine.build_id().find("fake-2") != std::string::npos);
}

}  // namespace
}  // namespace pullback::jit
