#include "server/program_texts.h"

#include "core/base/sha256.h"
#include "proto/program/tables.h"

namespace pullback::server {

StatusOr<std::string> ProgramTexts::TextOf(const v1::Program& program) {
  if (!program.has_tables()) return program::TextOf(program, limits_);
  const std::string key = Sha256Hex(program.tables().SerializeAsString());
  if (const auto known = texts_.Find(key)) return std::string(**known);
  PB_ASSIGN_OR_RETURN(std::string text, program::TextOf(program, limits_));
  texts_.Insert(key, std::make_shared<const std::string>(text), key.size() + text.size());
  return text;
}

}  // namespace pullback::server
