// Arguments and seeds from the command line, as text and as values by the entry's signature.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/json.h"
#include "client/client.h"
#include "core/base/status.h"

namespace pullback::cli {

struct ArgumentTexts {
  std::vector<std::string> assignments;  // name=JSON, name=@FILE
  std::string file;                      // a JSON object; empty: none
  std::string seed;                      // JSON or @FILE; empty: none
  bool empty() const { return assignments.empty() && file.empty() && seed.empty(); }
};

struct ArgumentJson {
  Json values = Json::Object();  // by parameter
  std::optional<Json> seed;
};

// An assignment wins over the file. INVALID_ARGUMENT: USAGE, INVALID_JSON, UNREADABLE_FILE.
StatusOr<ArgumentJson> ReadArguments(const ArgumentTexts& texts);

// INVALID_ARGUMENT: MISSING_ARGUMENT, UNKNOWN_ARGUMENT, TYPE_MISMATCH, USAGE (a seed where none
// belongs).
StatusOr<client::Inputs> ConvertArguments(const ArgumentJson& json,
                                          const client::Signature& signature,
                                          client::Transform transform);

}  // namespace pullback::cli
