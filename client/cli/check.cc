// pullback check: are these programs right?
#include <cstdio>

#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "client/cli/programs.h"
#include "client/cli/report.h"
#include "core/lang/lang.h"

namespace pullback::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  bool json = false;
};

Status Check(const std::string& file, size_t* functions) {
  PB_ASSIGN_OR_RETURN(const std::string text, ReadProgram(file));
  PB_ASSIGN_OR_RETURN(lang::Program program, lang::Parse(text));
  *functions = program.functions.size();  // before those of the prelude come
  return lang::Check(program);
}

int CheckOne(const std::string& file, bool json) {
  size_t functions = 0;
  const Status status = Check(file, &functions);
  if (!status.ok()) return Fail(status, file, json);
  if (json) {
    std::printf("{\"functions\": %zu}\n", functions);
  } else {
    std::printf("%s: ok, %zu function%s\n", file.c_str(), functions, functions == 1 ? "" : "s");
  }
  return kExitOk;
}

int RunCheck(const CheckOptions& options) {
  int worst = kExitOk;
  for (const std::string& file : options.files) {
    worst = std::max(worst, CheckOne(file, options.json));
  }
  return worst;
}

}  // namespace

void AddCheck(CLI::App* app, Action* action) {
  auto* const command =
      app->add_subcommand("check", "Reports the mistakes of programs; needs no server");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("FILE", options->files, "Programs (.pull); - is standard input")
      ->required()
      ->type_name("");
  AddJsonFlag(command, &options->json);
  command->callback([options, action] { *action = [options] { return RunCheck(*options); }; });
}

}  // namespace pullback::cli
