// Mutations by token, for targets that read text: most changes of single bytes only break words.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace pullback::fuzz {

// Words with what may stand in names, and single other characters.
inline std::vector<std::string> SplitTokens(std::string_view text) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '%' ||
           c == '@';
  };
  std::vector<std::string> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (is_word(text[i]) && end < text.size() && is_word(text[end])) ++end;
    tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

// One of: a token becomes a word of `words` or another token of the text; a token goes; a run of
// tokens stands twice.
inline void MutateTokens(std::vector<std::string>& tokens, const std::vector<const char*>& words,
                         std::mt19937& rng) {
  const auto pick = [&](size_t n) { return static_cast<size_t>(rng() % n); };
  std::string& at = tokens[pick(tokens.size())];
  switch (pick(5)) {
    case 0: at = words[pick(words.size())]; return;
    case 1: at = tokens[pick(tokens.size())]; return;
    case 2: at.clear(); return;
    case 3: at += std::string(" ") + words[pick(words.size())] + " "; return;
    default: break;
  }
  const size_t begin = pick(tokens.size());
  const size_t count = 1 + pick(std::min<size_t>(30, tokens.size() - begin));
  const std::vector<std::string> run(tokens.begin() + static_cast<long>(begin),
                                     tokens.begin() + static_cast<long>(begin + count));
  tokens.insert(tokens.begin() + static_cast<long>(pick(tokens.size())), run.begin(), run.end());
}

// The body of LLVMFuzzerCustomMutator.
inline size_t MutateText(uint8_t* data, size_t size, size_t max_size, unsigned seed,
                         const std::vector<const char*>& words) {
  std::mt19937 rng(seed);
  std::vector<std::string> tokens =
      SplitTokens(std::string_view(reinterpret_cast<const char*>(data), size));
  if (tokens.empty() || rng() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (size_t n = 1 + rng() % 3; n > 0; --n) MutateTokens(tokens, words, rng);
  std::string text;
  for (const std::string& t : tokens) text += t;
  if (text.size() > max_size) text.resize(max_size);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

}  // namespace pullback::fuzz
