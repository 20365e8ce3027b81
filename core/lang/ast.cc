#include "core/lang/ast.h"

void std::default_delete<pullback::lang::Expr>::operator()(pullback::lang::Expr* e) const {
  delete e;
}
void std::default_delete<pullback::lang::Stmt>::operator()(pullback::lang::Stmt* s) const {
  delete s;
}
void std::default_delete<pullback::lang::Function>::operator()(pullback::lang::Function* f) const {
  delete f;
}
void std::default_delete<pullback::lang::Struct>::operator()(pullback::lang::Struct* s) const {
  delete s;
}
