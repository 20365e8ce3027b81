// Lists by columns: what is sound, what is of a type, and in which order it is read.
#include <catch2/catch.hpp>

#include "core/base/lists.h"

namespace pullback {
namespace {

using Kind = ListColumn::Kind;

ListColumn Doubles(const std::vector<double>& values) {
  ListColumn c;
  c.kind = Kind::kTensor;
  c.data = Tensor::Of(DType::kF64, {}, values).data;
  return c;
}

ListColumn Lists(uint32_t record, std::vector<int64_t> lengths) {
  ListColumn c;
  c.kind = Kind::kList;
  c.record = record;
  c.extents = std::move(lengths);
  return c;
}

ApiType Named(const std::string& name) {
  ApiType type;
  type.is_tuple = true;
  type.struct_name = name;
  type.declared = 0;
  return type;
}

ApiType ListOf(ApiType element) {
  ApiType type;
  type.is_list = true;
  type.elements.push_back(std::move(element));
  return type;
}

// struct Tree { value: f64, kids: list Tree }
ApiStructs Trees() {
  ApiType tree{true, DType::kF64, {}, {ApiType{}, ListOf(Named("Tree"))}};
  tree.struct_name = "Tree";
  tree.field_names = {"value", "kids"};
  return {tree};
}

// Plans point into types.
const ListPlan& TreePlan() {
  static const ApiStructs structs = Trees();
  static const ApiType type = ListOf(Named("Tree"));
  static const ListPlan plan = PlanOf(type, structs);
  return plan;
}

// 1(2(3) 4) 5: the elements of a list together, depth first.
ListData Forest() { return {2, {{Doubles({1, 5, 2, 4, 3}), Lists(0, {2, 0, 1, 0, 0})}}}; }

TEST_CASE("Trees are read in the order that they lie in") {
  const ListData data = Forest();
  CHECK(FaultOf(data).empty());
  CHECK(Mismatch(TreePlan(), data, false).empty());
  ListReader reader(data);
  const auto value = [&](int64_t row) { return reader.At(0, 0, row).At<double>(0); };
  const ListReader::Rows roots = reader.Root();
  REQUIRE(roots.count == 2);
  CHECK(value(roots.first) == 1);
  CHECK(value(roots.first + 1) == 5);
  const ListReader::Rows kids = reader.Inner(0, 1, roots.first);
  REQUIRE(kids.count == 2);
  CHECK(value(kids.first) == 2);
  CHECK(value(kids.first + 1) == 4);
  const ListReader::Rows grandchildren = reader.Inner(0, 1, kids.first);
  REQUIRE(grandchildren.count == 1);
  CHECK(value(grandchildren.first) == 3);
  CHECK(reader.Inner(0, 1, roots.first + 1).count == 0);
}

TEST_CASE("Columns that are no lists are refused") {
  const auto faulty = [](const ListData& data) { return !FaultOf(data).empty(); };
  CHECK_FALSE(faulty({0, {}}));
  CHECK_FALSE(faulty({0, {{Doubles({})}}}));
  CHECK(faulty({1, {}}));
  CHECK(faulty({-1, {{Doubles({})}}}));
  CHECK(faulty({2, {{Doubles({1})}}}));
  CHECK(faulty({1, {{Doubles({1, 2})}}}));
  CHECK(faulty({1, {{Doubles({1}), Doubles({})}}}));
  CHECK(faulty({1, {{Lists(1, {1})}}}));  // of no record
  CHECK(faulty({1, {{Lists(0, {-1})}}}));
  CHECK(faulty({1, {{Lists(1, {1, 1})}, {Doubles({1})}}}));
  CHECK(faulty({1, {{ListColumn()}}}));                  // nothing tells how many there are
  CHECK(faulty({1, {{Doubles({1})}, {Doubles({1})}}}));  // an element in no list
  ListColumn nothing;
  nothing.extents = {1};
  CHECK(faulty({1, {{Doubles({1}), nothing}}}));
  // Two elements that hold each other, beside the list itself.
  CHECK(faulty({1, {{Lists(0, {0, 1, 1})}}}));
  CHECK(faulty({1, {{Lists(0, {INT64_MAX, 1})}}}));
  ListData bools{2, {{Doubles({})}}};
  bools.records[0][0].dtype = DType::kBool;
  bools.records[0][0].data = {0, 1};
  CHECK_FALSE(faulty(bools));
  bools.records[0][0].data = {0, 2};
  CHECK(faulty(bools));
}

TEST_CASE("Arrays in lists have their extents, and as many bytes") {
  ListColumn arrays = Doubles({1, 2, 3});
  arrays.rank = 1;
  arrays.extents = {2, 0, 1};
  CHECK(FaultOf({3, {{arrays}}}).empty());
  for (std::vector<int64_t> extents :
       {std::vector<int64_t>{2, 1, 1}, {2, 1}, {4, -1, 0}, {INT64_MAX, 1, 2}}) {
    arrays.extents = std::move(extents);
    CHECK_FALSE(FaultOf({3, {{arrays}}}).empty());
  }
  arrays.rank = 2;
  arrays.extents = {1, 2, kMaxExtent, 0, 1, 1};
  const ListData matrices{3, {{arrays}}};
  CHECK(FaultOf(matrices).empty());
  CHECK(ListReader(matrices).At(0, 0, 2).At<double>(0) == 3);
  CHECK(ListReader(matrices).At(0, 0, 1).shape == std::vector<int64_t>{kMaxExtent, 0});
  arrays.extents = {1, 2, int64_t{1} << 47, int64_t{1} << 47, 1, 1};
  CHECK_FALSE(FaultOf({3, {{arrays}}}).empty());
  arrays.rank = 9;
  CHECK_FALSE(FaultOf({3, {{arrays}}}).empty());
}

TEST_CASE("Lists nest so deep and no deeper") {
  const auto nested = [](size_t depth) {
    ListData data{1, {{Lists(0, std::vector<int64_t>(depth, 1))}}};
    data.records[0][0].extents.back() = 0;
    return data;
  };
  CHECK(FaultOf(nested(kMaxListNesting - 1)).empty());
  CHECK(FaultOf(nested(100 * kMaxListNesting)).find("nest more than 1000") != std::string::npos);
}

TEST_CASE("A list is of a type, or it is told what differs") {
  const ListPlan& trees = TreePlan();
  REQUIRE(trees.records.size() == 1);
  CHECK(trees.records[0].leaves[1].record == 0);
  ListData wrong = Forest();
  wrong.records[0][0].dtype = DType::kI64;
  CHECK(Mismatch(trees, wrong, false) == "'value' of elements: expected f64, got i64");
  CHECK(Mismatch(trees, {1, {{Lists(0, {0}), Lists(0, {0})}}}, false) ==
        "'value' of elements: expected f64, got lists");
  CHECK(Mismatch(trees, {1, {{Doubles({1})}}}, false).find("2 leaves, got 1") != std::string::npos);
  // Kids that are in a record of their own are no trees.
  const ListData split{1, {{Doubles({1}), Lists(1, {1})}, {Doubles({2}), Lists(1, {0})}}};
  CHECK(FaultOf(split).empty());
  CHECK_FALSE(Mismatch(trees, split, false).empty());

  const ApiType of_pairs = ListOf({false, DType::kF64, {"2"}, {}});
  const ListPlan pairs = PlanOf(of_pairs, {});
  ListColumn arrays = Doubles({1, 2, 3, 4});
  arrays.rank = 1;
  arrays.extents = {2, 2};
  CHECK(Mismatch(pairs, {2, {{arrays}}}, false).empty());
  arrays.extents = {3, 1};
  CHECK(Mismatch(pairs, {2, {{arrays}}}, false) == "elements: expected 2 on axis 0, got 3");
}

TEST_CASE("A derivative leaves out what holds no floats, and has the shape of the value") {
  ApiType pair{true, DType::kF64, {}, {ApiType{false, DType::kI64, {}, {}}, ApiType{}}};
  const ApiType type = ListOf(pair);
  const ListPlan plan = PlanOf(type, {});
  ListColumn integers = Doubles({0, 0});
  integers.dtype = DType::kI64;
  const ListData value{2, {{integers, Doubles({1, 2})}}};
  const ListData derivative{2, {{ListColumn(), Doubles({1, 2})}}};
  CHECK(FaultOf(derivative).empty());
  CHECK(Mismatch(plan, value, false).empty());
  CHECK(Mismatch(plan, derivative, true).empty());
  CHECK(Mismatch(plan, value, true) == "'0' of elements: expected nothing, got i64");
  CHECK(ShapeMismatch(plan, derivative, value).empty());
  CHECK(ShapeMismatch(plan, {1, {{ListColumn(), Doubles({1})}}}, value) ==
        "expected a list of 2, got one of 1");
  const ListPlan& trees = TreePlan();
  const ListData other{2, {{Doubles({1, 5, 2, 4, 3}), Lists(0, {2, 0, 0, 1, 0})}}};
  CHECK(FaultOf(other).empty());
  CHECK(ShapeMismatch(trees, other, Forest()) ==
        "'kids' of elements: the lengths are not those of what it belongs to");
}

TEST_CASE("Types hold floats, or do not, through lists of themselves") {
  CHECK(HoldsFloats(ListOf(Named("Tree")), Trees()));
  ApiStructs integers = Trees();
  integers[0].elements[0].dtype = DType::kI64;
  CHECK_FALSE(HoldsFloats(ListOf(Named("Tree")), integers));
  CHECK(ListOf(Named("Tree")).ToString() == "list Tree");
}

}  // namespace
}  // namespace pullback
