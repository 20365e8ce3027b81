#include "core/lang/type_list.h"

#include <algorithm>
#include <utility>

#include "core/lang/ast.h"

namespace pullback::lang {

struct TypeList::Items {
  std::vector<Type> types;
  size_t nodes = 0;
  int depth = 0;

  void Count(const Type& t) {
    nodes = std::min(nodes + t.Nodes(), kMany);
    depth = std::max(depth, t.Depth());
  }
};

TypeList::TypeList(std::initializer_list<Type> types) : TypeList(std::vector<Type>(types)) {}

TypeList::TypeList(std::vector<Type> types) {
  if (types.empty()) return;
  shared_ = std::make_shared<Items>();
  for (const Type& t : types) shared_->Count(t);
  shared_->types = std::move(types);
}

const std::vector<Type>& TypeList::items() const {
  static const std::vector<Type> none;
  return shared_ ? shared_->types : none;
}

size_t TypeList::size() const { return items().size(); }
const Type& TypeList::operator[](size_t i) const { return items()[i]; }
const Type& TypeList::back() const { return items().back(); }
const Type* TypeList::begin() const { return items().data(); }
const Type* TypeList::end() const { return begin() + size(); }

size_t TypeList::nodes() const { return shared_ ? shared_->nodes : 0; }
int TypeList::depth() const { return shared_ ? shared_->depth : 0; }

void TypeList::push_back(Type type) {
  if (!shared_) shared_ = std::make_shared<Items>();
  if (shared_.use_count() > 1) shared_ = std::make_shared<Items>(*shared_);
  shared_->Count(type);
  shared_->types.push_back(std::move(type));
}

void TypeList::Set(size_t i, const Type& type) {
  std::vector<Type> types = items();
  types[i] = type;
  *this = TypeList(std::move(types));
}

bool TypeList::operator==(const TypeList& o) const {
  if (shared_ == o.shared_) return true;
  return nodes() == o.nodes() && depth() == o.depth() && items() == o.items();
}

}  // namespace pullback::lang
