#include "core/pipeline/sparse_library.h"

#include <string>

#include "core/base/status.h"
#include "core/lang/lang.h"

namespace pullback::pipeline {
namespace {

// Counting sorts, and greedy colouring: columns with many rows first, each with the least colour that no
// column has that it shares a row with. Where one row has elements in all columns, no two can have the same.
constexpr const char* kText = R"pull(
fn bucket(key: [z]i64, count: i64, n: i64) -> ([n + 1]i64, [z]i64) {
  var starts = gen i < n + 1 { 0 }
  for t in 0..count { starts[key[t] + 1] += 1 }
  for i in 0..n { starts[i + 1] += starts[i] }
  var next = starts
  var order = gen t < z { 0 }
  for t in 0..count {
    order[next[key[t]]] = t
    next[key[t]] += 1
  }
  return (starts, order)
}
fn unique(row: [z]i64, column: [z]i64, n: i64, m: i64) -> ([n + 1]i64, [z]i64) {
  let (starts, order) = bucket(row, z, n)
  var kept = gen i < n + 1 { 0 }
  var columns = gen t < z { 0 }
  var seen = gen j < m { 0 - 1 }
  var end = 0
  for i in 0..n {
    for t in starts[i]..starts[i + 1] {
      let j = column[order[t]]
      if seen[j] < i {
        seen[j] = i
        columns[end] = j
        end += 1
      }
    }
    kept[i + 1] = end
  }
  return (kept, columns)
}
fn transposed(starts: [p]i64, columns: [z]i64, m: i64) -> ([m + 1]i64, [z]i64) {
  var ends = gen j < m + 1 { 0 }
  for t in 0..starts[p - 1] { ends[columns[t] + 1] += 1 }
  for j in 0..m { ends[j + 1] += ends[j] }
  var next = ends
  var rows = gen t < z { 0 }
  for i in 0..p - 1 {
    for t in starts[i]..starts[i + 1] {
      rows[next[columns[t]]] = i
      next[columns[t]] += 1
    }
  }
  return (ends, rows)
}
fn colours(starts: [p]i64, columns: [z]i64, ends: [q]i64, rows: [y]i64) -> ([q - 1]i64, i64) {
  let n = p - 1
  let m = q - 1
  let used = sum j < m { if ends[j] < ends[j + 1] { 1 } else { 0 } }
  if widest(starts) == used {
    let next = exscan sum j < m { if ends[j] < ends[j + 1] { 1 } else { 0 } }
    return (gen j < m { if ends[j] < ends[j + 1] { next[j] } else { 0 - 1 } }, used)
  }
  let most = max j < m { ends[j + 1] - ends[j] }
  let (classes, order) = bucket(gen j < m { most - (ends[j + 1] - ends[j]) }, m, most + 1)
  var colour = gen j < m { 0 - 1 }
  var near = gen k < m + 1 { 0 - 1 }
  var count = 0
  for o in 0..m {
    let j = order[o]
    if ends[j] < ends[j + 1] {
      for s in ends[j]..ends[j + 1] {
        let i = rows[s]
        for t in starts[i]..starts[i + 1] {
          let k = colour[columns[t]]
          if k >= 0 { near[k] = j }
        }
      }
      var k = 0
      while near[k] == j { k += 1 }
      colour[j] = k
      count = max(count, k + 1)
    }
  }
  return (colour, count)
}
fn widest(starts: [p]i64) -> i64 {
  return max(0, max i < p - 1 { starts[i + 1] - starts[i] })
}
fn numbers(starts: [p]i64, count: i64) -> [count]i64 {
  var rows = gen t < count { 0 }
  for i in 0..p - 1 {
    for t in starts[i]..starts[i + 1] { rows[t] = i }
  }
  return rows
}
fn scanned_starts(starts: [p]i64, columns: [z]i64, group: i64, m: i64) -> [p]i64 {
  var ends = gen i < p { 0 }
  var seen = gen j < m { 0 - 1 }
  var count = 0
  for i in 0..p - 1 {
    if i % group == 0 { count = 0 }
    ends[i + 1] = ends[i] + count
    for t in starts[i]..starts[i + 1] {
      if seen[columns[t]] < i / group {
        seen[columns[t]] = i / group
        count += 1
      }
    }
  }
  return ends
}
fn scanned_columns(starts: [p]i64, columns: [z]i64, group: i64, m: i64, ends: [p]i64, total: i64)
    -> [total]i64 {
  var made = gen t < total { 0 }
  var seen = gen j < m { 0 - 1 }
  var found = gen j < m { 0 }
  var count = 0
  for i in 0..p - 1 {
    if i % group == 0 { count = 0 }
    for k in 0..count { made[ends[i] + k] = found[k] }
    for t in starts[i]..starts[i + 1] {
      let j = columns[t]
      if seen[j] < i / group {
        seen[j] = i / group
        found[count] = j
        count += 1
      }
    }
  }
  return made
}
fn set_width(columns: i64, numbers: i64, least: i64, most: i64) -> i64 {
  let some = max(columns, 1)
  let room = max(min(numbers / (2 * some), most), least)
  return 2 * (min((some + 1) / 2, room) + 1) + 1
}
fn own(n: i64, first: i64, width: i64) -> [n, width]i64 {
  return gen i < n, k < width {
    if k == 0 { 1 } else { if k == 1 { first + i } else { [k == 2] * (first + i + 1) } } }
}
fn narrowed(into: [n, w]i64, i: i64) -> [n, w]i64 {
  var sets = into
  let count = sets[i, 0]
  var best = 1
  for k in 2..count {
    if sets[i, 2 * k + 1] - sets[i, 2 * k] < sets[i, 2 * best + 1] - sets[i, 2 * best] { best = k }
  }
  for q in 2 * best..2 * count - 1 { sets[i, q] = sets[i, q + 2] }
  sets[i, 0] = count - 1
  return sets
}
fn join(into: [n, w]i64, i: i64, others: [m, w]i64, j: i64) -> [n, w]i64 {
  var sets = into
  var p = 1
  for t in 0..others[j, 0] {
    let first = others[j, 2 * t + 1]
    let end = others[j, 2 * t + 2]
    let last = 2 * sets[i, 0]
    while p < last && sets[i, p + 1] < first { p += 2 }
    if p > last || end < sets[i, p] {
      var q = last
      while q >= p {
        sets[i, q + 2] = sets[i, q]
        q -= 1
      }
      sets[i, p] = first
      sets[i, p + 1] = end
      sets[i, 0] = last / 2 + 1
      if last + 3 == w {
        sets = narrowed(sets, i)
        p = 1
      }
    } else {
      var until = max(end, sets[i, p + 1])
      var q = p + 2
      while q < last && sets[i, q] <= until {
        until = max(until, sets[i, q + 1])
        q += 2
      }
      sets[i, p] = min(first, sets[i, p])
      sets[i, p + 1] = until
      let fewer = q - p - 2
      if fewer > 0 {
        for r in q..last + 1 { sets[i, r - fewer] = sets[i, r] }
        sets[i, 0] = (last - fewer) / 2
      }
    }
  }
  return sets
}
fn join_rows(into: [n, w]i64, others: [n, w]i64) -> [n, w]i64 {
  var sets = into
  for i in 0..n { sets = join(sets, i, others, i) }
  return sets
}
fn put(into: [n, w]i64, i: i64, others: [m, w]i64, j: i64) -> [n, w]i64 {
  var sets = into
  for t in 0..2 * others[j, 0] + 1 { sets[i, t] = others[j, t] }
  return sets
}
fn row(sets: [n, w]i64, i: i64) -> [1, w]i64 {
  return gen j < 1, k < w { sets[i, k] }
}
fn scanned_sets(terms: [n, w]i64, group: i64) -> [n, w]i64 {
  var sets = gen i < n, k < w { 0 }
  var state = gen j < 1, k < w { 0 }
  for i in 0..n {
    if i % group == 0 { state[0, 0] = 0 }
    sets = put(sets, i, state, 0)
    state = join(state, 0, terms, i)
  }
  return sets
}
fn through(into: [n, w]i64, first: i64, steps: [m, v]i64, others: [m, w]i64) -> [n, w]i64 {
  var sets = into
  for j in 0..m {
    for t in 0..steps[j, 0] {
      for i in max(steps[j, 2 * t + 1] - first, 0)..min(steps[j, 2 * t + 2] - first, n) {
        sets = join(sets, i, others, j)
      }
    }
  }
  return sets
}
fn everywhere(into: [n, w]i64, others: [m, w]i64) -> [n, w]i64 {
  var all = gen j < 1, k < w { 0 }
  for j in 0..m { all = join(all, 0, others, j) }
  var sets = into
  for i in 0..n { sets = join(sets, i, all, 0) }
  return sets
}
fn set_starts(sets: [n, w]i64) -> [n + 1]i64 {
  var starts = gen i < n + 1 { 0 }
  for i in 0..n {
    var count = 0
    for k in 0..sets[i, 0] { count += sets[i, 2 * k + 2] - sets[i, 2 * k + 1] }
    starts[i + 1] = starts[i] + count
  }
  return starts
}
fn set_columns(sets: [n, w]i64, starts: [p]i64, count: i64) -> [count]i64 {
  var columns = gen t < count { 0 }
  for i in 0..n {
    var t = starts[i]
    for k in 0..sets[i, 0] {
      for j in sets[i, 2 * k + 1]..sets[i, 2 * k + 2] {
        columns[t] = j
        t += 1
      }
    }
  }
  return columns
}
)pull";

void RemovePlaces(ir::Function& f) {
  for (ir::Block& b : f.blocks) {
    for (ir::Inst& inst : b.insts) {
      inst.loc = 0;
      if (!inst.each) continue;
      for (ir::Inst& body : inst.each->body) body.loc = 0;
      for (ir::EachResult& r : inst.each->results) r.loc = 0;
    }
  }
}

// Appends what the function reaches; gives its index.
uint32_t Append(ir::Module& module, const lang::Program& program, const char* name) {
  StatusOr<ir::Module> lowered = lang::Lower(program, name);
  PB_CHECK(lowered.ok());
  const auto first = static_cast<uint32_t>(module.functions.size());
  for (auto& f : lowered->functions) {
    ir::ForEachCallee(*f, [&](uint32_t& callee) { callee += first; });
    RemovePlaces(*f);
    const uint32_t target = module.AddFunction("sparse." + f->name);
    f->name = module.Get(target).name;
    module.Get(target) = std::move(*f);
  }
  return first + lowered->entry;
}

}  // namespace

ad::SparseFunctions AddSparseLibrary(ir::Module& module) {
  StatusOr<lang::Program> program = lang::Parse(kText);
  PB_CHECK(program.ok());
  PB_CHECK(lang::Check(*program).ok());
  const auto add = [&](const char* name) { return Append(module, *program, name); };
  return {.bucket = add("bucket"),
          .unique = add("unique"),
          .transposed = add("transposed"),
          .colours = add("colours"),
          .numbers = add("numbers"),
          .widest = add("widest"),
          .scanned_starts = add("scanned_starts"),
          .scanned_columns = add("scanned_columns"),
          .set_width = add("set_width"),
          .own = add("own"),
          .join = add("join"),
          .join_rows = add("join_rows"),
          .put = add("put"),
          .row = add("row"),
          .scanned_sets = add("scanned_sets"),
          .through = add("through"),
          .everywhere = add("everywhere"),
          .set_starts = add("set_starts"),
          .set_columns = add("set_columns")};
}

}  // namespace pullback::pipeline
