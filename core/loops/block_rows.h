// A loop whose turns make a row each, and then add it to all rows of a matrix, takes its turns in blocks: the rows of a
// block first, then what they add to each row of the matrix.
//
//   %g = alloc f64 [%h]                                  %g = alloc f64 [%size, %h]
//   for %i in 0..%n {                                    for %block in 0..(%n + %size - 1) / %size {
//     for %j in 0..%h { %g[%j] = … }                       for %i in %lo..%hi {
//     for %a in 0..%d {                                      for %j in 0..%h { %g[(%i - %lo) * %h + %j] = … } }
//       for %j in 0..%h {                         =>       for %a in 0..%d {
//         %w[%a * %h + %j] += %x[…] * %g[%j] } } }            for %i.2 in %lo..%hi {
//                                                              for %j in 0..%h {
//                                                                %w[%a * %h + %j] += %x[…] * %g[(%i.2 - %lo) * %h + %j] } } } }
//
// So the matrix, which may be larger than any cache, is walked once a block and not once a row. Every element takes its
// terms in the same order. A block has 16 turns, or as many as the loop, or the matrix rows or columns: its rows, which are as
// long as one of these, take no more room. Scalars of a turn, few and cheap, are made again where rows are added.
#pragma once

#include <cstdint>

#include "core/loops/fuse_rows.h"
#include "core/loops/loops.h"

namespace pullback::loops {

inline constexpr int64_t kBlockTurns = 16;

// `rows`: what FuseRows has found.
void BlockRows(Function& f, const RowsOfTurns& rows);

}  // namespace pullback::loops
