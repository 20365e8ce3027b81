// The protocol's enums and the tree's: equal but for an UNSPECIFIED in front.
#pragma once

#include "core/lang/ast.h"
#include "pullback/v1/program_tables.pb.h"

namespace pullback::program {

static_assert(static_cast<int>(lang::BinaryOp::kAdd) + 1 == v1::BINARY_OPERATOR_ADD);
static_assert(static_cast<int>(lang::BinaryOp::kDiv) + 1 == v1::BINARY_OPERATOR_DIV);
static_assert(static_cast<int>(lang::BinaryOp::kRem) + 1 == v1::BINARY_OPERATOR_REM);
static_assert(static_cast<int>(lang::BinaryOp::kPow) + 1 == v1::BINARY_OPERATOR_POW);
static_assert(static_cast<int>(lang::BinaryOp::kMatMul) + 1 == v1::BINARY_OPERATOR_MATMUL);
static_assert(static_cast<int>(lang::BinaryOp::kEq) + 1 == v1::BINARY_OPERATOR_EQ);
static_assert(static_cast<int>(lang::BinaryOp::kGe) + 1 == v1::BINARY_OPERATOR_GE);
static_assert(static_cast<int>(lang::BinaryOp::kOr) + 1 == v1::BINARY_OPERATOR_OR);
static_assert(static_cast<int>(lang::UnaryOp::kNeg) + 1 == v1::UNARY_OPERATOR_NEG);
static_assert(static_cast<int>(lang::UnaryOp::kNot) + 1 == v1::UNARY_OPERATOR_NOT);
static_assert(static_cast<int>(lang::Comprehension::kGen) + 1 == v1::COMPREHENSION_KIND_GEN);
static_assert(static_cast<int>(lang::Comprehension::kMin) + 1 == v1::COMPREHENSION_KIND_MIN);
static_assert(static_cast<int>(lang::Comprehension::kArgMin) + 1 == v1::COMPREHENSION_KIND_ARGMIN);
static_assert(static_cast<int>(lang::Comprehension::kExists) + 1 == v1::COMPREHENSION_KIND_EXISTS);

// To the protocol's number, and from it where it is one (neither unspecified nor unknown).
template <typename Message, typename Tree>
Message ToEnum(Tree tree) {
  return static_cast<Message>(static_cast<int>(tree) + 1);
}
template <typename Tree, typename Message>
Tree FromEnum(Message message) {
  return static_cast<Tree>(static_cast<int>(message) - 1);
}

}  // namespace pullback::program
