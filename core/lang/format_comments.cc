#include <algorithm>

#include "core/lang/formatter.h"

namespace pullback::lang {

size_t Comments::FirstAt(uint32_t offset) const {
  auto before = [](const Comment& c, uint32_t o) { return c.offset < o; };
  auto it = std::lower_bound(p_.comments.begin(), p_.comments.end(), offset, before);
  return static_cast<size_t>(it - p_.comments.begin());
}

std::vector<const Comment*> Comments::TakeIn(uint32_t begin, uint32_t end) {
  std::vector<const Comment*> out;
  for (size_t i = FirstAt(begin); i < taken_.size() && p_.comments[i].offset < end; ++i) {
    if (taken_[i]) continue;
    taken_[i] = true;
    out.push_back(&p_.comments[i]);
  }
  return out;
}

const Comment* Comments::TakeTrailing(uint32_t offset) {
  size_t i = FirstAt(offset);
  if (i >= taken_.size() || taken_[i] || p_.comments[i].own_line) return nullptr;
  std::string_view between =
      std::string_view(p_.text).substr(offset, p_.comments[i].offset - offset);
  if (between.find_first_not_of(" \t\r;,") != std::string_view::npos) return nullptr;
  taken_[i] = true;
  return &p_.comments[i];
}

bool Comments::AnyIn(uint32_t begin, uint32_t end) const {
  size_t i = FirstAt(begin);
  return i < taken_.size() && p_.comments[i].offset < end;
}

}  // namespace pullback::lang
