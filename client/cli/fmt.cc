// pullback fmt: programs in the standard layout.
#include <algorithm>
#include <cstdio>

#include "client/cli/commands.h"
#include "client/cli/files.h"
#include "client/cli/programs.h"
#include "client/cli/report.h"

namespace pullback::cli {
namespace {

using program::Form;

// In the order of Form.
const std::vector<std::string> kForms = {"text", "message", "json"};

struct FmtOptions {
  std::vector<std::string> files;
  bool write = false;
  bool check = false;
  std::string from, to;  // empty: as the file's name says
};

int ReportUnformatted(const std::string& file) {
  std::fprintf(stderr, "%s: not as pullback fmt -w would write it\n", file.c_str());
  return kExitUnformatted;
}

Form FormNamed(const std::string& name, Form otherwise) {
  const auto found = std::find(kForms.begin(), kForms.end(), name);
  return found == kForms.end() ? otherwise : static_cast<Form>(found - kForms.begin());
}

int FormatOne(const std::string& file, const FmtOptions& options) {
  const Form from = FormNamed(options.from, FormOf(file));
  const Form to = FormNamed(options.to, from);
  if (to != from && (options.write || options.check)) {
    const Status other(Code::kInvalidArgument, "USAGE", "-w and --check keep a file's form");
    return Fail(other, file, /*json=*/false);
  }
  const auto bytes = ReadText(file);
  if (!bytes.ok()) return Fail(bytes.status(), file, /*json=*/false);
  const auto formatted = FormatFile(*bytes, from, to);
  if (!formatted.ok()) return Fail(formatted.status(), file, /*json=*/false);
  if (options.check) return *formatted == *bytes ? kExitOk : ReportUnformatted(file);
  if (!options.write || file == "-") {
    std::fwrite(formatted->data(), 1, formatted->size(), stdout);
    return kExitOk;
  }
  if (*formatted == *bytes) return kExitOk;
  const Status written = WriteText(file, *formatted);
  return written.ok() ? kExitOk : Fail(written, file, /*json=*/false);
}

int RunFmt(const FmtOptions& options) {
  int worst = kExitOk;
  for (const std::string& file : options.files) worst = std::max(worst, FormatOne(file, options));
  return worst;
}

}  // namespace

void AddFmt(CLI::App* app, Action* action) {
  auto* const command =
      app->add_subcommand("fmt", "Prints programs in the standard layout, as text or messages");
  auto options = std::make_shared<FmtOptions>();
  command
      ->add_option("FILE", options->files,
                   "Programs: text (.pull), messages (.pb) or messages in JSON (.json); - is "
                   "standard input")
      ->required()
      ->type_name("");
  auto* const write = command->add_flag("-w,--write", options->write, "Write the files in place");
  command->add_flag("--check", options->check, "Print nothing; exit 1 when a file would change")
      ->excludes(write);
  command->add_option("--to", options->to, "The form to print: text, message or json")
      ->check(CLI::IsMember(kForms).description(""))
      ->type_name("FORM");
  command->add_option("--from", options->from, "The files' form, whatever their names")
      ->check(CLI::IsMember(kForms).description(""))
      ->type_name("FORM");
  command->callback([options, action] { *action = [options] { return RunFmt(*options); }; });
}

}  // namespace pullback::cli
