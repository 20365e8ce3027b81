#include "core/lang/check_report.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/lang/habits.h"

namespace pullback::lang {
namespace {

constexpr size_t kMaxMessages = 20;
constexpr size_t kMaxSuggested = 32;  // longer names get no suggestion: distance is quadratic

// Levenshtein's distance, by rows.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

void Reporter::Error(const Span& span, std::string message) {
  Add(Rank::kError, "TYPE_ERROR", span, std::move(message));
}

void Reporter::Limit(const Span& span, const char* reason, std::string message) {
  Add(Rank::kLimit, reason, span, std::move(message));
}

void Reporter::Unimplemented(const Span& span, const std::string& what) {
  Add(Rank::kUnimplemented, "UNIMPLEMENTED", span, what + " is not implemented yet");
}

bool Reporter::full() const { return messages_.size() >= kMaxMessages; }

// The target of `x[e] += 1` is checked twice, since the parser desugars it: a message at the same
// place is the same message.
void Reporter::Add(Rank rank, const char* reason, const Span& span, std::string message) {
  const Span& place = context_.elsewhere ? context_.at : span;
  message = context_.prefix + message;
  bool repeated = std::any_of(messages_.begin(), messages_.end(), [&](const Message& m) {
    return m.diagnostic.span.begin == place.begin && m.diagnostic.message == message;
  });
  if (full() || repeated) return;
  Diagnostic d{Severity::kError, place, std::move(message), {}};
  if (place.line != 0) d.excerpt = MakeExcerpt(text_, place);
  messages_.push_back({rank, reason, std::move(d), context_.notes});
}

Status Reporter::ToStatus() const {
  if (messages_.empty()) return {};
  const Message* first = &messages_[0];
  std::vector<const Message*> sorted;
  for (const Message& m : messages_) {
    if (m.rank < first->rank) first = &m;
    sorted.push_back(&m);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Message* a, const Message* b) {
    return std::tie(a->diagnostic.span.begin, a->diagnostic.message) <
           std::tie(b->diagnostic.span.begin, b->diagnostic.message);
  });
  std::vector<Diagnostic> diagnostics;
  for (const Message* m : sorted) {
    diagnostics.push_back(m->diagnostic);
    diagnostics.insert(diagnostics.end(), m->notes.begin(), m->notes.end());
  }
  Code code = first->rank == Rank::kUnimplemented ? Code::kUnimplemented : Code::kInvalidArgument;
  return Status(code, first->reason, first->diagnostic.message, std::move(diagnostics));
}

std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (name.size() > kMaxSuggested) return {};
  if (std::string habit = HabitOfWord(name); !habit.empty()) return habit;
  size_t best = std::min<size_t>(3, name.size() / 3 + 1);  // nearer than this
  std::string_view nearest;
  for (std::string_view candidate : candidates) {
    size_t longer = std::max(name.size(), candidate.size());
    size_t shorter = std::min(name.size(), candidate.size());
    if (longer - shorter >= best || candidate == name) continue;
    size_t distance = EditDistance(name, candidate);
    if (distance >= best || distance >= name.size()) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?";
}

}  // namespace pullback::lang
