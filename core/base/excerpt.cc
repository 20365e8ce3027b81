// Diagnostics as text: the source line with a caret line under it.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace pullback {
namespace {

constexpr size_t kMaxColumns = 100;  // code points of an excerpt before it is shortened

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the well-formed UTF-8 sequence at s[i], or 0. Overlong forms and surrogates need not be
// told apart by what draws carets, but what is drawn goes into protobuf strings, which must be
// UTF-8.
size_t SequenceLength(std::string_view s, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned char lead = byte(i);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length <= 1) return length;
  if (lead > 0xF4 || i + length > s.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if (!IsContinuation(s[i + k])) return 0;
  }
  const unsigned char second = byte(i + 1);
  const bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                   (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

struct Glyph {
  std::string text;
  size_t offset;  // of its first byte in the line
};

// Cuts a line into code points; what is not UTF-8 or not printable becomes a stand-in.
std::vector<Glyph> Glyphs(std::string_view line) {
  std::vector<Glyph> out;
  for (size_t i = 0; i < line.size();) {
    const size_t n = SequenceLength(line, i);
    const bool control = n == 1 && line[i] != '\t' && (line[i] < ' ' || line[i] == 0x7F);
    if (n == 0) {
      out.push_back({"\xEF\xBF\xBD", i});
    } else {
      out.push_back({control ? " " : std::string(line.substr(i, n)), i});
    }
    i += std::max<size_t>(n, 1);
  }
  return out;
}

// The window [first, last) of glyphs to show so that the start of the span stays in sight.
std::pair<size_t, size_t> Window(size_t count, size_t caret) {
  if (count <= kMaxColumns) return {0, count};
  const size_t before = kMaxColumns / 3;
  size_t first = caret > before ? caret - before : 0;
  first = std::min(first, count - kMaxColumns);
  return {first, first + kMaxColumns};
}

}  // namespace

std::string MakeExcerpt(const std::string& text, const Span& span) {
  const size_t begin = std::min<size_t>(span.begin, text.size());
  const size_t end = std::clamp<size_t>(span.end, begin, text.size());
  const size_t line_begin = begin == 0 ? 0 : text.rfind('\n', begin - 1) + 1;  // npos + 1 is 0
  const size_t line_end = std::min(text.find('\n', begin), text.size());
  const std::vector<Glyph> glyphs =
      Glyphs(std::string_view(text).substr(line_begin, line_end - line_begin));

  const auto index_of = [&](size_t offset) {  // of the first glyph at or after this byte
    size_t i = 0;
    while (i < glyphs.size() && glyphs[i].offset < offset) ++i;
    return i;
  };
  const size_t caret = index_of(begin - line_begin);
  const size_t caret_end = std::max(caret + 1, index_of(std::min(end, line_end) - line_begin));
  const auto [first, last] = Window(glyphs.size(), caret);

  std::string shown = first > 0 ? "..." : "";
  std::string marks = first > 0 ? "   " : "";
  for (size_t i = first; i < last; ++i) {
    shown += glyphs[i].text;
    if (i < caret) marks += glyphs[i].text == "\t" ? "\t" : " ";
  }
  if (last < glyphs.size()) shown += "...";
  marks.append(std::min(caret_end, std::max(last, caret + 1)) - caret, '^');
  return shown + "\n" + marks;
}

std::string FormatDiagnostic(const Diagnostic& d) {
  static constexpr const char* kNames[] = {"error", "warning", "note"};
  std::string out;
  if (d.span.line > 0) {
    out = std::to_string(d.span.line) + ":" + std::to_string(d.span.column) + ": ";
  }
  out += std::string(kNames[static_cast<size_t>(d.severity)]) + ": " + d.message;
  if (!d.excerpt.empty()) out += "\n" + d.excerpt;
  return out;
}

}  // namespace pullback
