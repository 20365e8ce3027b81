// The types inside a type. Copies share them and are copied when one is changed, so that a type made of
// equal parts (`box((a, a))`, again and again) costs what it says and not what it spells out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace pullback::lang {

struct Type;

class TypeList {
 public:
  TypeList() = default;
  TypeList(std::initializer_list<Type> types);
  TypeList(std::vector<Type> types);  // NOLINT(google-explicit-constructor)

  size_t size() const;
  bool empty() const { return shared_ == nullptr; }
  const Type& operator[](size_t i) const;
  const Type& back() const;
  const Type* begin() const;
  const Type* end() const;
  const std::vector<Type>& items() const;

  void push_back(Type type);
  void Set(size_t i, const Type& type);

  // The types in the list and in each other, each as often as it is spelled, but no more than kMany; and
  // how many of them are inside each other. A struct is one, whatever it holds. Known at once.
  size_t nodes() const;
  int depth() const;
  static constexpr size_t kMany = 1000000000;

  bool operator==(const TypeList& o) const;

 private:
  struct Items;

  std::shared_ptr<Items> shared_;  // null: none
};

}  // namespace pullback::lang
