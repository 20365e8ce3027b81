// jvp, vjp, stop_gradient, checkpointed calls and derivative rules: what the verifier holds them to.
#include <catch2/catch.hpp>

#include "core/ir/parser.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"

namespace pullback::ir {
namespace {

// "ok", or what the parser or the verifier says of a caller @f of @g.
std::string Verified(const std::string& body, const std::string& result = "f64",
                     const std::string& rules = "") {
  const std::string text = "fn @f(%x: f64, %n: i64, %a: [*]f64) -> (" + result +
                           ") {\nb0: " + body + "\n}\nfn @g(%x: f64, %n: i64) -> (f64, i64)" +
                           rules +
                           " { b0: ret %x, %n }\n"
                           "fn @good(%x: f64, %n: i64, %s: f64) -> (f64) { b0: ret %s }\n"
                           "fn @fwd(%x: f64, %n: i64, %d: f64) -> (f64, i64, f64) "
                           "{ b0: ret %x, %n, %d }\n";
  const StatusOr<Module> m = ParseModule(text);
  if (!m.ok()) return m.status().message();
  const Status s = Verify(*m);
  if (!s.ok()) return s.message();
  const std::string printed = Print(*m);
  const StatusOr<Module> again = ParseModule(printed);
  return again.ok() && Print(*again) == printed ? "ok" : "prints as " + printed;
}

TEST_CASE("derivative ops: arguments and results") {
  CHECK(Verified("%r, %k, %d = jvp @g wrt(0) (%x, %n, 1.0)  ret %d") == "ok");
  CHECK(Verified("%r, %k, %d = vjp @g wrt(0) (%x, %n, 1.0)  ret %d") == "ok");
  CHECK(Verified("%r, %k = vjp @g wrt() (%x, %n, 1.0)  ret %r") == "ok");
  CHECK(Verified("%r, %k, %d = jvp @g wrt(0) (%x, %n)  ret %d").find("number of arguments") !=
        std::string::npos);
  CHECK(Verified("%r, %k, %d = jvp @g wrt(0, 1) (%x, %n, 1.0, 1)  ret %d")
            .find("carries no tangent") != std::string::npos);
  CHECK(Verified("%r, %k, %d = jvp @g wrt(2) (%x, %n, 1.0)  ret %d").find("do not exist") !=
        std::string::npos);
  CHECK(Verified("%r, %k = jvp @g wrt(0) (%x, %n, 1.0)  ret %r").find("number of results") !=
        std::string::npos);
}

TEST_CASE("derivative ops: stop_gradient and checkpoint") {
  CHECK(Verified("%c = stop_gradient %a  ret %c", "[*]f64") == "ok");
  CHECK(Verified("%s = each(i < %n) { %y = stop_gradient %x } sum []: %y  ret %s") == "ok");
  CHECK(Verified("%r, %k = call checkpoint @g(%x, %n)  ret %r") == "ok");
}

TEST_CASE("derivative ops: loops of which few states are kept") {
  const auto loop = [](const std::string& end) {
    return Verified("jump b1(%x, 0)\nb1(%r: f64, %i: i64): " + end +
                    "\nb2: jump b1(mul(%r, %x), add(%i, 1))\nb3: ret %r");
  };
  CHECK(loop("br lt(%i, %n), b2, b3 checkpoint %n") == "ok");
  CHECK(loop("br lt(%i, %n), b2, b3 checkpoint 4") == "ok");
  CHECK(loop("br lt(%i, %n), b2, b3 checkpoint %x").find("a number of states") !=
        std::string::npos);
  CHECK(Verified("jump b1(%x)\nb1(%r: f64): jump b2 checkpoint %n\n"
                 "b2: br gt(%r, 0.1), b1(mul(%r, %x)), b3\nb3: ret %r") == "ok");
  CHECK(Verified("jump b1(%x)\nb1(%r: f64): jump b1(%x) checkpoint %x") != "ok");
  CHECK(Verified("ret %x checkpoint %n") != "ok");
}

TEST_CASE("derivative ops: rules have the derivative's signature") {
  CHECK(Verified("ret %x", "f64", " vjp @good jvp @fwd") == "ok");
  CHECK(Verified("ret %x", "f64", " vjp @fwd").find("the vjp rule does not") != std::string::npos);
  CHECK(Verified("ret %x", "f64", " jvp @good").find("the jvp rule does not") != std::string::npos);
}

}  // namespace
}  // namespace pullback::ir
