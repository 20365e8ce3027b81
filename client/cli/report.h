// What the user is told, and the exit code.
#pragma once

#include <string>

#include "client/cli/json.h"
#include "core/base/status.h"

namespace pullback::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitUnformatted = 1,  // of fmt --check
  kExitErrors = 1,       // of load: more errors than --max-errors
  kExitUsage = 2,        // flags, files, JSON that is none
  kExitProgram = 3,      // the program, or arguments that do not fit it
  kExitRun = 4,          // a trap, a budget, a deadline
  kExitServer = 5,       // the server or the way to it
};

ExitCode ExitCodeOf(const Status& status);

// Prints an error to standard error, each diagnostic as FILE:LINE:COLUMN with its excerpt; with `json`
// also {"error": …} to standard output. Gives the exit code.
int Fail(const Status& status, const std::string& file, bool json);

Json ToJson(const Diagnostic& diagnostic);

}  // namespace pullback::cli
