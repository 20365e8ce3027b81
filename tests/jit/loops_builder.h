// Loops by hand, for tests of back ends: nodes are appended to the innermost open list.
#pragma once

#include <bit>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/loops/loops.h"
#include "jit/runtime/context.h"

namespace pullback::loops {

class FunctionBuilder {
 public:
  FunctionBuilder(Module& module, std::vector<ir::Type> params, std::vector<ir::Type> results) {
    module.functions.push_back(std::make_unique<Function>());
    f_ = module.functions.back().get();
    index_ = static_cast<uint32_t>(module.functions.size() - 1);
    f_->name = "f" + std::to_string(index_);
    f_->results = std::move(results);
    for (const ir::Type t : params) Param(NewBlock(), t);
    if (f_->blocks.empty()) NewBlock();
    block_ = 0;
    for (size_t b = 1; b < params.size(); ++b) {  // all parameters belong to the first block
      f_->blocks[0].params.push_back(f_->blocks[b].params[0]);
    }
    f_->blocks.resize(1);
    lists_ = {&f_->blocks[0].nodes};
  }

  uint32_t index() const { return index_; }
  Reg param(size_t i) const { return f_->blocks[0].params[i]; }
  uint32_t NewBlock() {
    f_->blocks.emplace_back();
    return static_cast<uint32_t>(f_->blocks.size() - 1);
  }
  Reg Param(uint32_t block, ir::Type t) {
    const Reg r = f_->NewReg(t);
    f_->blocks[block].params.push_back(r);
    return r;
  }
  // The function has all its blocks before the first is filled: lists are pointers into them.
  void SetBlock(uint32_t block) {
    block_ = block;
    lists_ = {&f_->blocks[block].nodes};
  }

  Node& Append(Node::Kind kind, std::vector<Reg> args, std::vector<ir::Type> results = {}) {
    Node node;
    node.kind = kind;
    node.args = std::move(args);
    for (const ir::Type t : results) node.results.push_back(f_->NewReg(t));
    lists_.back()->push_back(std::move(node));
    return lists_.back()->back();
  }
  Reg Scalar(ir::Op op, ir::Type result, std::vector<Reg> args) {
    Node& node = Append(Node::Kind::kScalar, std::move(args), {result});
    node.op = op;
    return node.results[0];
  }
  // An op whose result has the type of its last operand.
  Reg Op(ir::Op op, std::vector<Reg> args) {
    const ir::Type t = f_->TypeOf(args.back());
    return Scalar(op, t, std::move(args));
  }
  Reg Compare(ir::Op op, Reg a, Reg b) { return Scalar(op, ir::Type::Bool(), {a, b}); }
  Reg Const(ir::Type t, uint64_t bits) {
    Node& node = Append(Node::Kind::kScalar, {}, {t});
    node.bits = bits;
    return node.results[0];
  }
  Reg I64(int64_t v) { return Const(ir::Type::I64(), static_cast<uint64_t>(v)); }
  Reg F64(double v) { return Const(ir::Type::F64(), std::bit_cast<uint64_t>(v)); }
  Reg F32(float v) { return Const(ir::Type::Scalar(DType::kF32), std::bit_cast<uint32_t>(v)); }
  Reg Bool(bool v) { return Const(ir::Type::Bool(), v ? 1 : 0); }

  Reg Dim(Reg array, uint64_t axis) {
    Node& node = Append(Node::Kind::kDim, {array}, {ir::Type::I64()});
    node.bits = axis;
    return node.results[0];
  }
  Reg Load(Reg array, Reg offset) {
    return Append(Node::Kind::kLoad, {array, offset}, {f_->TypeOf(array).Element()}).results[0];
  }
  void Store(Reg array, Reg offset, Reg v) { Append(Node::Kind::kStore, {array, offset, v}); }
  Reg Alloc(DType t, std::vector<Reg> extents, bool zero, uint32_t loc = 0) {
    const int rank = static_cast<int>(extents.size());
    Node& node = Append(Node::Kind::kAlloc, std::move(extents), {ir::Type::Array(t, rank)});
    node.bits = zero ? 1 : 0;
    node.loc = loc;
    return node.results[0];
  }
  void Retain(Reg a) { Append(Node::Kind::kRetain, {a}); }
  void Release(Reg a) { Append(Node::Kind::kRelease, {a}); }
  Reg Unique(Reg a) { return Append(Node::Kind::kUnique, {a}, {f_->TypeOf(a)}).results[0]; }
  void Check(Reg condition, ir::TrapKind kind, uint32_t loc, std::vector<Reg> details = {}) {
    std::vector<Reg> args{condition};
    args.insert(args.end(), details.begin(), details.end());
    Node& node = Append(Node::Kind::kCheck, std::move(args));
    node.bits = static_cast<uint64_t>(kind);
    node.loc = loc;
  }
  std::vector<Reg> Call(uint32_t callee, std::vector<Reg> args, std::vector<ir::Type> results) {
    Node& node = Append(Node::Kind::kCall, std::move(args), std::move(results));
    node.callee = callee;
    return node.results;
  }

  void For(Reg lo, Reg hi, const std::function<void(Reg)>& body) {
    Node node;
    node.kind = Node::Kind::kFor;
    node.args = {lo, hi};
    node.results = {f_->NewReg(ir::Type::I64())};
    const Reg index = node.results[0];
    node.body = Inside([&] { body(index); });
    lists_.back()->push_back(std::move(node));
  }
  // Arms return what they yield.
  std::vector<Reg> If(Reg condition, std::vector<ir::Type> results,
                      const std::function<std::vector<Reg>()>& yes,
                      const std::function<std::vector<Reg>()>& no) {
    Node node;
    node.kind = Node::Kind::kIf;
    node.args = {condition};
    node.body = Inside([&] { node.body_yields = yes(); });
    node.other = Inside([&] { node.other_yields = no(); });
    for (const ir::Type t : results) node.results.push_back(f_->NewReg(t));
    std::vector<Reg> made = node.results;
    lists_.back()->push_back(std::move(node));
    return made;
  }
  void If(Reg condition, const std::function<void()>& yes) {
    If(
        condition, {},
        [&] {
          yes();
          return std::vector<Reg>{};
        },
        [] { return std::vector<Reg>{}; });
  }

  Reg LanesNew(DType t, ir::Monoid monoid = ir::Monoid::kSum) {
    Node& node = Append(Node::Kind::kLanesNew, {}, {ir::Type::Scalar(t)});
    node.monoid = monoid;
    const Reg r = node.results[0];
    f_->regs[r.id].lanes = true;
    monoids_.emplace_back(r, monoid);
    return r;
  }
  void LaneAdd(Reg lanes, Reg offset, Reg term) {
    Append(Node::Kind::kLaneAdd, {lanes, offset, term}).monoid = MonoidOf(lanes);
  }
  Reg LanesTotal(Reg lanes) {
    Node& node = Append(Node::Kind::kLanesTotal, {lanes}, {f_->TypeOf(lanes)});
    node.monoid = MonoidOf(lanes);
    return node.results[0];
  }

  Reg TapeNew() { return Append(Node::Kind::kTapeNew, {}, {ir::Type::Tape()}).results[0]; }
  Reg Push(Reg tape, Reg v) {
    return Append(Node::Kind::kPush, {tape, v}, {ir::Type::Tape()}).results[0];
  }
  std::pair<Reg, Reg> Pop(Reg tape, ir::Type t) {
    const Node& node = Append(Node::Kind::kPop, {tape}, {ir::Type::Tape(), t});
    return {node.results[0], node.results[1]};
  }

  void Jump(uint32_t block, std::vector<Reg> args) {
    Term().kind = ir::Terminator::Kind::kJump;
    Term().edges = {{block, std::move(args)}};
  }
  void Branch(Reg condition, ir::Edge yes, ir::Edge no) {
    Term().kind = ir::Terminator::Kind::kBranch;
    Term().cond = condition;
    Term().edges = {std::move(yes), std::move(no)};
  }
  void Return(std::vector<Reg> results) {
    Term().kind = ir::Terminator::Kind::kReturn;
    Term().results = std::move(results);
  }

 private:
  ir::Terminator& Term() { return f_->blocks[block_].term; }
  ir::Monoid MonoidOf(Reg lanes) const {
    for (const auto& [r, monoid] : monoids_) {
      if (r == lanes) return monoid;
    }
    return ir::Monoid::kSum;
  }
  std::vector<Node> Inside(const std::function<void()>& fill) {
    std::vector<Node> list;
    lists_.push_back(&list);
    fill();
    lists_.pop_back();
    return list;
  }

  Function* f_ = nullptr;
  uint32_t index_ = 0;
  uint32_t block_ = 0;
  std::vector<std::vector<Node>*> lists_;
  std::vector<std::pair<Reg, ir::Monoid>> monoids_;
};

}  // namespace pullback::loops
