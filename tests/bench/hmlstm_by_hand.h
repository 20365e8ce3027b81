// The HM-LSTM cell update and its derivatives by c, f, i and g in C, as an expert would write them, several elements
// at a time. Included once for each width, with
//   HMLSTM_WIDTH   elements at a time
//   HMLSTM_TARGET  the instructions that this needs
// and no include guard. The math functions are those that generated code calls.

namespace HMLSTM_NAME {

using Vec = float __attribute__((vector_size(4 * HMLSTM_WIDTH)));
using Mask = int __attribute__((vector_size(4 * HMLSTM_WIDTH)));
using VecFn = Vec (*)(Vec);

struct Math {
  VecFn exp, tanh;
};

#define HMLSTM_INLINE [[gnu::always_inline, HMLSTM_TARGET]] inline

HMLSTM_INLINE Vec Load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
HMLSTM_INLINE void Store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
HMLSTM_INLINE Vec Splat(float x) { return x - Vec{}; }
HMLSTM_INLINE bool Any(Mask m) {
  int any = 0;
  for (int k = 0; k < HMLSTM_WIDTH; ++k) any |= m[k];
  return any != 0;
}
HMLSTM_INLINE Vec Squash(const Math& m, Vec x) { return 1.0f / (1.0f + m.exp(-x)); }
// Where a cotangent is 0, so is what it adds, whatever the partial.
HMLSTM_INLINE Vec Strong(Vec bar, Vec partial) { return bar == 0.0f ? Vec{} : bar * partial; }

HMLSTM_INLINE void StoreBars(const Cell& d, int64_t at, Vec bar, Vec pc, Vec pf, Vec pi, Vec pg) {
  Store(d.c_bar + at, Strong(bar, pc));
  Store(d.f_bar + at, Strong(bar, pf));
  Store(d.i_bar + at, Strong(bar, pi));
  Store(d.g_bar + at, Strong(bar, pg));
}

// Both arms of every select.
HMLSTM_INLINE void SelectGroup(const Cell& d, const Math& m, int64_t at, Mask flush, Mask update) {
  const Vec c = Load(d.c + at), bar = Load(d.y_bar + at);
  const Vec sf = Squash(m, Load(d.f + at)), si = Squash(m, Load(d.i + at));
  const Vec tg = m.tanh(Load(d.g + at));
  const Vec fresh = si * tg;
  const Mask either = flush | update;
  const Vec zero = {}, one = Splat(1);
  Store(d.y + at, flush ? fresh : update ? sf * c + fresh : c);
  StoreBars(d, at, bar,
            flush    ? zero
            : update ? sf
                     : one,
            update ? c * (sf * (1.0f - sf)) : zero, either ? tg * (si * (1.0f - si)) : zero,
            either ? si * (1.0f - tg * tg) : zero);
}

// Only the arms that some element of the group takes.
HMLSTM_INLINE void MixedGroup(const Cell& d, const Math& m, int64_t at, Mask flush, Mask update) {
  const Vec c = Load(d.c + at), bar = Load(d.y_bar + at);
  const Mask either = flush | update;
  const Vec zero = {};
  Vec y = c, pc = Splat(1), pf = {}, pi = {}, pg = {};
  if (Any(either)) {
    const Vec si = Squash(m, Load(d.i + at)), tg = m.tanh(Load(d.g + at));
    const Vec fresh = si * tg;
    Vec both = fresh;
    if (Any(update)) {
      const Vec sf = Squash(m, Load(d.f + at));
      both = update ? sf * c + fresh : fresh;
      pc = update ? sf : pc;
      pf = update ? c * (sf * (1.0f - sf)) : zero;
    }
    y = either ? both : c;
    pc = flush ? zero : pc;
    pi = either ? tg * (si * (1.0f - si)) : zero;
    pg = either ? si * (1.0f - tg * tg) : zero;
  }
  Store(d.y + at, y);
  StoreBars(d, at, bar, pc, pf, pi, pg);
}

template <bool kMixed>
[[gnu::noinline, HMLSTM_TARGET]] void Run(const Cell& d, const Math& m) {
  for (int64_t r = 0; r < d.n; ++r) {
    for (int64_t k = 0; k < d.n; k += HMLSTM_WIDTH) {
      const Vec z = d.column ? Splat(d.z[r]) : Load(d.z + k);
      const Vec zb = d.column ? Splat(d.zb[r]) : Load(d.zb + k);
      const Mask flush = z == 1.0f, update = ~flush & (zb == 1.0f);
      if (kMixed) {
        MixedGroup(d, m, r * d.n + k, flush, update);
      } else {
        SelectGroup(d, m, r * d.n + k, flush, update);
      }
    }
  }
}

#undef HMLSTM_INLINE

}  // namespace HMLSTM_NAME
