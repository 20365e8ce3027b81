// pullback fmt: programs in the standard layout.
#include <algorithm>
#include <cstdio>

#include "client/cli/commands.h"
#include "client/cli/files.h"
#include "client/cli/report.h"
#include "core/lang/lang.h"

namespace pullback::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  bool write = false;
  bool check = false;
};

int ReportUnformatted(const std::string& file) {
  std::fprintf(stderr, "%s: not as pullback fmt -w would write it\n", file.c_str());
  return kExitUnformatted;
}

int FormatOne(const std::string& file, const Options& options) {
  const auto text = ReadText(file);
  if (!text.ok()) return Fail(text.status(), file, /*json=*/false);
  const auto program = lang::Parse(*text);
  if (!program.ok()) return Fail(program.status(), file, /*json=*/false);
  const std::string formatted = lang::Format(*program);
  if (options.check) return formatted == *text ? kExitOk : ReportUnformatted(file);
  if (!options.write || file == "-") {
    std::fwrite(formatted.data(), 1, formatted.size(), stdout);
    return kExitOk;
  }
  if (formatted == *text) return kExitOk;
  const Status written = WriteText(file, formatted);
  return written.ok() ? kExitOk : Fail(written, file, /*json=*/false);
}

int Run(const Options& options) {
  int worst = kExitOk;
  for (const std::string& file : options.files) worst = std::max(worst, FormatOne(file, options));
  return worst;
}

}  // namespace

void AddFmt(CLI::App* app, Action* action) {
  auto* const command = app->add_subcommand("fmt", "Prints programs in the standard layout");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Programs (.pull); - is standard input")
      ->required()
      ->type_name("");
  auto* const write = command->add_flag("-w,--write", options->write, "Write the files in place");
  command->add_flag("--check", options->check, "Print nothing; exit 1 when a file would change")
      ->excludes(write);
  command->callback([options, action] { *action = [options] { return Run(*options); }; });
}

}  // namespace pullback::cli
