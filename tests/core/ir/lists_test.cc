// Records, lists and boxes: text, builder, verifier, and which types carry tangents.
#include <catch2/catch.hpp>

#include "core/ir/builder.h"
#include "core/ir/parser.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"

namespace pullback::ir {
namespace {

std::string ListErrorOf(const std::string& text) {
  const StatusOr<Module> m = ParseModule(text);
  if (!m.ok()) return m.status().message();
  return Verify(*m).message();
}

const char* const kText = R"(record Tree { value: [*]f64, kids: list<Tree>, tag: i64 }
record Empty { }
record Cell { tree: list<Tree> }
entry @f

fn @f(%a: [*]f64, %l: list<Tree>, %n: i64) -> (list<Tree>, [*]f64) {
b0:
  %none = list_new : list<Tree>
  %many = list_of %n, %a, %none, 1 : list<Tree>
  %0 = list_len %many
  %v, %k, %t = list_get %l, %n !1
  %s = list_set %many, %n, %v, %k, %t !2
  %rest, %1, %2, %3 = list_take %s, %n !3
  %p = list_push %rest, %1, %2, %3 !4
  %q, %4, %5, %6 = list_pop %p !5
  %c = box_new %q : box<Cell>
  box_set %c, %5
  %now = box_get %c
  %w = fit %4, %n
  %u = list_new : list<Empty>
  %u1 = list_push %u
  ret %now, %w
}
)";

TEST_CASE("lists: text and back") {
  const StatusOr<Module> m = ParseModule(kText);
  INFO(m.status().ToString());
  REQUIRE(m.ok());
  CHECK(Verify(*m).ToString() == "OK");
  CHECK(Print(*m) == kText);
  CHECK(Print(m->Clone()) == kText);
}

TEST_CASE("lists: the builder writes what the text says") {
  Module m;
  const uint32_t r = m.AddRecord({"R", {"x", "more"}, {Type::F64(), Type::List(0)}});
  CHECK(m.AddRecord({"R", {}, {}}) == 1);
  CHECK(m.records[1].name == "R.1");
  Function& f = m.Get(m.AddFunction("f"));
  f.results = {Type::List(r), Type::F64()};
  Builder b(m, f);
  b.NewBlock();
  const Value x = b.AddParam(0, Type::F64(), "x");
  const Value a = b.AddParam(0, Type::Array(DType::kF64, 1), "a");
  const Value none = b.ListNew(r, "none");
  const Value many = b.ListOf(r, b.I64(2), {x, none});
  const Value set = b.ListSet(many, b.I64(0), {x, many});
  const Builder::Taken taken = b.ListTake(set, b.I64(1));
  const Value pushed = b.ListPush(taken.list, taken.fields);
  const Builder::Taken popped = b.ListPop(pushed);
  const Value box = b.BoxNew(r, popped.fields);
  b.BoxSet(box, b.ListGet(popped.list, b.ListLen(b.ZerosLike(none))));
  b.Fit(a, {b.I64(3)});
  b.Return({popped.list, b.BoxGet(box)[0]});
  CHECK(Verify(m).ToString() == "OK");
  const StatusOr<Module> again = ParseModule(Print(m));
  REQUIRE(again.ok());
  CHECK(Print(*again) == Print(m));
  CHECK(Print(m).find("%x.1, %more = list_take") != std::string::npos);
  CHECK(Print(m).find(" = list_pop ") != std::string::npos);
}

TEST_CASE("lists: errors of the text") {
  CHECK(ListErrorOf("fn @f(%l: list<R>) -> () { b0: ret }") == "there is no record `R`");
  CHECK(ListErrorOf("record R { } record R { }") == "record `R` is defined twice");
  CHECK(ListErrorOf("record R { x f64 }") == "expected `:`");
  CHECK(ListErrorOf("record R") == "expected `{`");
  CHECK(ListErrorOf("record R { x: list<R }") == "expected `>`");
}

TEST_CASE("lists: what the verifier refuses") {
  const auto body = [](const std::string& text) {
    return ListErrorOf(
        "record R { x: f64 }\nrecord T { t: i64 }\n"
        "fn @f(%l: list<R>, %o: list<T>, %i: i64, %x: f64, %a: [*]f64) -> () {\nb0:\n" +
        text + "\n  ret\n}");
  };
  CHECK(body("%y = list_get %l, %i") == "");
  CHECK(body("%y = list_get %l, %x").find("takes a list and an i64 index") != std::string::npos);
  CHECK(body("%y, %z = list_get %l, %i").find("wrong number of results") != std::string::npos);
  CHECK(body("%p = list_push %l, %i").find("field x is f64, given i64") != std::string::npos);
  CHECK(body("%p = list_push %l").find("record R has 1 fields") != std::string::npos);
  CHECK(body("%p = list_set %x, %i, %x").find("takes a list") != std::string::npos);
  CHECK(body("%p = list_of %x, %x : list<R>").find("takes an i64") != std::string::npos);
  CHECK(body("%p = list_new : f64").find("yields a list") != std::string::npos);
  CHECK(body("%p = fit %a, %i, %i").find("takes an array") != std::string::npos);
  CHECK(body("%p = box_get %l").find("takes a box") != std::string::npos);
  CHECK(body("%s = each(j < %i) { %n = list_len %l } sum []: %n").find("may not stand in a body") !=
        std::string::npos);
  CHECK(ListErrorOf("record R { t: tape }").find("record R: field t is tape") != std::string::npos);
  Module m;
  m.records = {{"R", {}, {Type::F64()}}};
  CHECK(Verify(m).message().find("the numbers of fields") != std::string::npos);
}

TEST_CASE("lists: which types carry tangents") {
  const StatusOr<Module> m = ParseModule(
      "record Tree { x: f64, kids: list<Tree> }\nrecord Tag { t: i64, more: list<Tag> }\n"
      "record Far { tag: list<Tag>, cell: box<Tree> }");
  REQUIRE(m.ok());
  CHECK(CarriesTangent(*m, Type::F64()));
  CHECK(CarriesTangent(*m, Type::Array(DType::kF32, 2)));
  CHECK_FALSE(CarriesTangent(*m, Type::I64()));
  CHECK(CarriesTangent(*m, Type::Tape()));
  CHECK(CarriesTangent(*m, Type::List(0)));
  CHECK_FALSE(CarriesTangent(*m, Type::List(1)));
  CHECK(CarriesTangent(*m, Type::Box(2)));
  CHECK_FALSE(Type::List(0).IsFloat());
}

}  // namespace
}  // namespace pullback::ir
