// Where the programs under test and this repository lie.
#pragma once

#include <string>

namespace pullback::testing {

// A program that was built: in $PULLBACK_BIN_DIR, by default beside the executable that asks.
std::string BinaryPath(const std::string& program);

// A file of this repository: in $PULLBACK_SOURCE_DIR, by default where this was compiled from.
std::string SourcePath(const std::string& path);

// The text of a file of this repository; throws when there is none.
std::string ReadSourceFile(const std::string& path);

}  // namespace pullback::testing
