// Collects the checker's messages and makes one Status of them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace pullback::lang {

// What messages are told in besides: the instances that the checked text belongs to.
struct ReportContext {
  std::vector<Diagnostic> notes;
  std::string prefix;
  bool elsewhere = false;  // messages are moved to `at`: the text is the prelude's
  Span at;
};

class Reporter {
 public:
  // Gives back the one before.
  ReportContext SetContext(ReportContext context) {
    return std::exchange(context_, std::move(context));
  }
  explicit Reporter(const std::string& text) : text_(text) {}

  void Error(const Span& span, std::string message);  // reason TYPE_ERROR
  // `reason` is one of the limits of lang.h.
  void Limit(const Span& span, const char* reason, std::string message);
  // "<what> is not implemented yet"
  void Unimplemented(const Span& span, const std::string& what);

  bool full() const;  // enough messages: more would be dropped
  bool ok() const { return messages_.empty(); }
  size_t count() const { return messages_.size(); }
  // A type error wins over a limit, and a limit over UNIMPLEMENTED: what the user must mend first.
  Status ToStatus() const;

 private:
  enum class Rank { kError, kLimit, kUnimplemented };
  void Add(Rank rank, const char* reason, const Span& span, std::string message);

  struct Message {
    Rank rank;
    const char* reason;
    Diagnostic diagnostic;
    std::vector<Diagnostic> notes;
  };
  const std::string& text_;
  std::vector<Message> messages_;
  ReportContext context_;
};

// "; did you mean 'norm'?" for the candidate nearest to `name`; what another language's word is here; or nothing.
std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace pullback::lang
