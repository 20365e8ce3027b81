// Lists as tangents and cotangents. Both have the type of the list itself; fields that carry no tangent
// are 0 there. A zero is short: the empty list is a zero of any length, and inside a list an array without
// elements is a zero of any shape, so that a zero costs nothing and needs no size. What works on them
// knows that; it is written as functions of the module, one for each record, which are inlined, and
// differentiated like any other where derivatives nest.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/ir/builder.h"

namespace pullback::ad {

class ListFunctions {
 public:
  explicit ListFunctions(ir::Module& module) : module_(module) {}

  // The zero of a field: 0, an array with all extents 0, the empty list.
  static ir::Value ZeroField(ir::Builder& b, ir::Type t);
  // The fields of element i; zeros of a short zero.
  std::vector<ir::Value> Get(ir::Builder& b, ir::Value list, ir::Value i);
  // The element moved out, zeros in its place; a short zero stays one.
  ir::Builder::Taken Take(ir::Builder& b, ir::Value list, ir::Value i);
  // The last element moved out; a short zero stays one.
  ir::Builder::Taken Pop(ir::Builder& b, ir::Value list);
  // `list` with n elements: itself, or n zeros in place of a short zero.
  ir::Value Full(ir::Builder& b, ir::Value list, ir::Value n);
  // `list`, which stands for one of length n, with `fields` added to element i; kNoValue adds nothing.
  ir::Value AddAt(ir::Builder& b, ir::Value list, ir::Value n, ir::Value i,
                  const std::vector<ir::Value>& fields);
  // The sum of two scalars, arrays of one shape, or lists.
  ir::Value Add(ir::Builder& b, ir::Value x, ir::Value y);
  // The same of two fields, which may be short zeros; what carries no tangent is 0 in both.
  ir::Value AddField(ir::Builder& b, ir::Value x, ir::Value y);
  // The fields of all elements, added up.
  std::vector<ir::Value> Sum(ir::Builder& b, ir::Value list);
  // `array`, or zeros of `extents` where it has others.
  ir::Value Shaped(ir::Builder& b, ir::Value array, const std::vector<ir::Value>& extents);
  // A tangent or cotangent of the list `like` with no short zero left in it: as long as `like`, its
  // arrays and lists likewise.
  ir::Value Fill(ir::Builder& b, ir::Value list, ir::Value like);

 private:
  enum class Kind : uint8_t {
    kGet,
    kTake,
    kPop,
    kFull,
    kAddAt,
    kAdd,
    kAddArrays,
    kSum,
    kShaped,
    kFill
  };
  using Body = void (ListFunctions::*)(ir::Builder& b, ir::Type t);

  // The function of this kind for a type, made when it is first asked for.
  uint32_t Of(Kind kind, ir::Type t);
  void MakeGet(ir::Builder& b, ir::Type t);
  void MakeTake(ir::Builder& b, ir::Type t);
  void MakePop(ir::Builder& b, ir::Type t);
  void MakeFull(ir::Builder& b, ir::Type t);
  void MakeAddAt(ir::Builder& b, ir::Type t);
  void MakeAdd(ir::Builder& b, ir::Type t);
  void MakeAddArrays(ir::Builder& b, ir::Type t);
  void MakeSum(ir::Builder& b, ir::Type t);
  void MakeShaped(ir::Builder& b, ir::Type t);
  void MakeFill(ir::Builder& b, ir::Type t);

  const std::vector<ir::Type>& FieldsOf(ir::Type t) const { return module_.FieldsOf(t); }
  std::vector<ir::Value> ZeroFields(ir::Builder& b, ir::Type t);

  ir::Module& module_;
  std::map<std::tuple<Kind, uint32_t, DType, uint8_t>, uint32_t> made_;
};

}  // namespace pullback::ad
