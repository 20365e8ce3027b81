#include "tests/support/paths.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace pullback::testing {
namespace {

namespace fs = std::filesystem;

fs::path Folder(const char* variable, const fs::path& otherwise) {
  const char* const folder = std::getenv(variable);
  return folder != nullptr && *folder != '\0' ? fs::path(folder) : otherwise;
}

}  // namespace

std::string BinaryPath(const std::string& program) {
  static const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  return (Folder("PULLBACK_BIN_DIR", own) / program).string();
}

std::string SourcePath(const std::string& path) {
  return (Folder("PULLBACK_SOURCE_DIR", PULLBACK_SOURCE_FOLDER) / path).string();
}

std::string ReadSourceFile(const std::string& path) {
  std::ifstream file(SourcePath(path), std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + SourcePath(path));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace pullback::testing
