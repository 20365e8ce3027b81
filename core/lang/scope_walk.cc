#include "core/lang/scope_walk.h"

#include <set>

namespace pullback::lang {

void ScopeWalk::Declare(const std::string& name, const void* declaration) {
  scopes_[name].push_back(declaration);
  declared_.push_back(name);
  OnDeclare(declaration);
}

const void* ScopeWalk::Find(const std::string& name) const {
  auto it = scopes_.find(name);
  return it == scopes_.end() || it->second.empty() ? nullptr : it->second.back();
}

void ScopeWalk::Reset(size_t mark) {
  for (; declared_.size() > mark; declared_.pop_back()) scopes_[declared_.back()].pop_back();
}

void ScopeWalk::Items(const Block& block) {
  for (const StmtPtr& s : block.stmts) Walk(*s);
  Walk(block.result);
}

void ScopeWalk::Walk(const Block& block) {
  const size_t mark = declared_.size();
  Items(block);
  Reset(mark);
}

void ScopeWalk::Walk(const Lambda& lambda) {
  const size_t mark = declared_.size();
  OnLambda(&lambda, true);
  for (const Param& p : lambda.params) Walk(p.type);
  for (const Param& p : lambda.params) Declare(p.name, &p);
  Items(lambda.body);
  OnLambda(&lambda, false);
  Reset(mark);
}

void ScopeWalk::Walk(const Stmt& s) {
  const bool declares = s.kind == Stmt::Kind::kLet || s.kind == Stmt::Kind::kVar;
  for (const Target& t : s.targets) Walk(t.path);
  if (s.annotation) Walk(*s.annotation);
  const bool loop = s.kind == Stmt::Kind::kWhile || s.kind == Stmt::Kind::kFor;
  if (loop && s.kind == Stmt::Kind::kWhile) OnLoop(true);
  Walk(s.value);
  Walk(s.arms);
  for (const Target& t : s.targets) {
    if (declares)
      Declare(t.name, &t);
    else
      OnAssign(t, Find(t.name));
  }
  if (!loop) return;
  const size_t mark = declared_.size();
  Walk(s.binder.lo);
  Walk(s.binder.hi);
  Walk(s.snapshots);
  if (s.kind == Stmt::Kind::kFor) {
    OnLoop(true);
    Declare(s.binder.name, &s.binder);
  }
  Walk(s.body);
  OnLoop(false);
  Reset(mark);
}

void ScopeWalk::Walk(const Expr& e) {
  const bool named = e.kind == Expr::Kind::kName || e.kind == Expr::Kind::kCall ||
                     (e.kind == Expr::Kind::kBroadcastCall && !e.name.empty());
  if (named) Use(e.name, e.span);
  if (e.kind == Expr::Kind::kComprehension) return Comprehension(e);
  if (e.lambda) Walk(*e.lambda);
  for (const ExprPtr& operand : e.operands) Walk(operand);
  Walk(e.subscripts);
  Walk(e.path);
  Walk(e.arms);
}

void ScopeWalk::Comprehension(const Expr& e) {
  const size_t mark = declared_.size();
  for (const Binder& b : e.binders) {
    Walk(b.lo);
    Walk(b.hi);
    Declare(b.name, &b);
  }
  Walk(e.body);
  Reset(mark);
}

void ScopeWalk::Walk(const std::vector<Access>& path) {
  for (const Access& a : path) Walk(a.subscripts);
}

void ScopeWalk::Walk(const std::vector<Subscript>& subscripts) {
  for (const Subscript& s : subscripts) {
    Walk(s.index);
    Walk(s.lo);
    Walk(s.hi);
    Walk(s.step);
  }
}

void ScopeWalk::Walk(const std::vector<CondArm>& arms) {
  for (const CondArm& arm : arms) {
    Walk(arm.cond);
    Walk(arm.body);
  }
}

void ScopeWalk::Walk(const TypeExpr& t) {
  for (const ExprPtr& dim : t.dims) Walk(dim);
  for (const TypeExpr& element : t.elements) Walk(element);
}

namespace {

class Collector : public ScopeWalk {
 public:
  std::vector<FreeName> names;

 protected:
  void OnUse(const std::string& name, const Span& span, const void* declaration) override {
    if (!declaration && seen_.insert(name).second) names.push_back({name, span});
  }
  void OnAssign(const Target& target, const void* declaration) override {
    OnUse(target.name, target.span, declaration);
  }
  void OnDeclare(const void*) override {}
  void OnLoop(bool) override {}
  void OnLambda(const Lambda*, bool) override {}

  std::set<std::string> seen_;
};

// Where in the text something happens to a variable.
struct Event {
  size_t time = 0;
  std::vector<size_t> loops;  // around it, by when they begin
};

class Sharing : public ScopeWalk {
 public:
  std::set<const void*> shared;

  void Finish() {
    for (const auto& [declaration, captures] : captures_) {
      for (const Event& a : assigned_[declaration]) {
        for (const Event& c : captures) {
          if (a.time > c.time || Repeats(declaration, a, c)) shared.insert(declaration);
        }
      }
    }
  }

 private:
  struct Declared {
    size_t time = 0;
    size_t lambdas = 0;
  };

  void OnDeclare(const void* declaration) override { declared_[declaration] = {++time_, lambdas_}; }
  void OnUse(const std::string&, const Span&, const void* declaration) override {
    if (!declaration || declared_[declaration].lambdas >= lambdas_) return;
    captures_[declaration].push_back({++time_, loops_});
  }
  void OnAssign(const Target&, const void* declaration) override {
    if (!declaration) return;
    if (declared_[declaration].lambdas < lambdas_) {
      shared.insert(declaration);
      return;
    }
    assigned_[declaration].push_back({++time_, loops_});
  }
  void OnLoop(bool enter) override {
    if (enter)
      loops_.push_back(++time_);
    else
      loops_.pop_back();
  }
  void OnLambda(const Lambda*, bool enter) override { lambdas_ += enter ? 1 : size_t(-1); }

  // Both stand in a loop that begins after the declaration.
  bool Repeats(const void* declaration, const Event& a, const Event& b) {
    for (size_t i = 0; i < a.loops.size() && i < b.loops.size() && a.loops[i] == b.loops[i]; ++i) {
      if (a.loops[i] > declared_[declaration].time) return true;
    }
    return false;
  }

  size_t time_ = 0;
  size_t lambdas_ = 0;
  std::vector<size_t> loops_;
  std::unordered_map<const void*, Declared> declared_;
  std::unordered_map<const void*, std::vector<Event>> captures_;
  std::unordered_map<const void*, std::vector<Event>> assigned_;
};

}  // namespace

std::set<const void*> SharedVariables(const Block& body) {
  Sharing sharing;
  sharing.Walk(body);
  sharing.Finish();
  return std::move(sharing.shared);
}

std::vector<FreeName> FreeNames(const Lambda& lambda) {
  Collector collector;
  collector.Walk(lambda);
  return std::move(collector.names);
}

}  // namespace pullback::lang
