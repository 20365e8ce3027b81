#include "tests/support/language_shrink.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace pullback::testing {
namespace {

using Lines = std::vector<std::string>;

Lines Split(const std::string& text) {
  Lines lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string Join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Shrinker {
 public:
  Shrinker(std::string text, const std::function<bool(const std::string&)>& fails)
      : fails_(fails), lines_(Split(text)) {}

  std::string Run() {
    do {
      smaller_ = false;
      for (size_t n = std::max<size_t>(lines_.size() / 2, 1); n > 0; n /= 2) LeaveOut(n);
      LeaveBlocksOut();
      for (size_t i = 0; i < lines_.size(); ++i) ShortenLine(i);
    } while (smaller_ && tries_ < kMostTries);
    return Join(lines_);
  }

 private:
  static constexpr int kMostTries = 2000;

  bool Try(Lines lines) {
    if (++tries_ > kMostTries || !fails_(Join(lines))) return false;
    lines_ = std::move(lines);
    return smaller_ = true;
  }

  void LeaveOut(size_t n) {
    for (size_t i = 0; i + n <= lines_.size();) {
      Lines lines = lines_;
      lines.erase(lines.begin() + static_cast<long>(i), lines.begin() + static_cast<long>(i + n));
      if (!Try(std::move(lines))) ++i;
    }
  }

  // A block with what stands in it, or around it.
  void LeaveBlocksOut() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].empty() || lines_[i].back() != '{') continue;
      size_t end = i + 1;
      for (int depth = 1; end < lines_.size(); ++end) {
        for (char c : lines_[end]) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        if (depth <= 0) break;
      }
      if (end >= lines_.size()) continue;
      Lines whole = lines_, around = lines_;
      whole.erase(whole.begin() + static_cast<long>(i), whole.begin() + static_cast<long>(end + 1));
      if (Try(std::move(whole))) continue;
      around.erase(around.begin() + static_cast<long>(end));
      around.erase(around.begin() + static_cast<long>(i));
      Try(std::move(around));
    }
  }

  // A name or number for a call or what stands in brackets; a sum without its last terms.
  void ShortenLine(size_t i) {
    for (size_t at = 0; at < lines_[i].size(); ++at) {
      const std::string line = lines_[i];
      if (line[at] != '(') continue;
      size_t end = at + 1;
      for (int depth = 1; end < line.size() && depth > 0; ++end)
        depth += line[end] == '(' ? 1 : line[end] == ')' ? -1 : 0;
      size_t begin = at;
      while (begin > 0 && (std::isalnum(line[begin - 1]) || line[begin - 1] == '_')) --begin;
      for (const std::string& by : {std::string("x"), line.substr(at + 1, end - at - 2)}) {
        if (by.size() >= end - begin) continue;
        Lines lines = lines_;
        lines[i] = line.substr(0, begin) + by + line.substr(end);
        if (Try(std::move(lines))) {
          at = begin;
          break;
        }
      }
    }
    for (const char* op : {" + ", " * ", " - "}) {
      for (size_t at = lines_[i].rfind(op); at != std::string::npos && at > 0;
           at = lines_[i].rfind(op, at - 1)) {
        Lines lines = lines_;
        lines[i].resize(at);
        if (Try(std::move(lines))) break;
      }
    }
  }

  const std::function<bool(const std::string&)>& fails_;
  Lines lines_;
  bool smaller_ = false;
  int tries_ = 0;
};

}  // namespace

std::string FailureClass(const std::string& failure) {
  std::string out;
  int colons = 0;
  for (char c : failure) {
    if (c == ':' && ++colons == 2) break;
    if (!std::isdigit(c) && c != '-' && c != '.') out += c;
  }
  return out;
}

std::string Shrink(std::string text, const std::function<bool(const std::string&)>& fails) {
  return Shrinker(std::move(text), fails).Run();
}

}  // namespace pullback::testing
