#include "client/cli/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

namespace pullback::cli {
namespace {

namespace fs = std::filesystem;

Status Unreadable(const std::string& path, const std::string& why) {
  return Status(Code::kInvalidArgument, "UNREADABLE_FILE", "cannot read " + path + ": " + why);
}

Status Unwritable(const std::string& path, const std::string& why) {
  return Status(Code::kInvalidArgument, "UNWRITABLE_FILE", "cannot write " + path + ": " + why);
}

std::string All(std::istream& in) { return {std::istreambuf_iterator<char>(in), {}}; }

}  // namespace

StatusOr<std::string> ReadText(const std::string& path) {
  if (path == "-") return All(std::cin);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return Unreadable(path, "it is a directory");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Unreadable(path, std::strerror(errno));
  std::string text = All(file);
  if (file.bad()) return Unreadable(path, "reading failed");
  return text;
}

Status WriteText(const std::string& path, const std::string& text) {
  const fs::path target = fs::weakly_canonical(path);  // a link stays one
  const std::string scratch = target.string() + ".tmp";
  std::error_code error;
  std::ofstream(scratch, std::ios::binary) << text << std::flush;
  if (fs::file_size(scratch, error) != text.size() || error) {
    fs::remove(scratch, error);
    return Unwritable(path, "no room, or no such folder");
  }
  fs::permissions(scratch, fs::status(target).permissions(), error);
  fs::rename(scratch, target, error);
  return error ? Unwritable(path, error.message()) : Status();
}

}  // namespace pullback::cli
