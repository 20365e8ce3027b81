// pullback: programs from the command line, by a server or in this process.
#include <CLI/CLI.hpp>

#include "client/cli/commands.h"
#include "client/cli/report.h"

namespace {

constexpr char kFooter[] = R"(Examples:
  pullback eval docs/examples/pow.pull -e pow -t value_and_grad -a x=2.0 -a n=3
  pullback eval p.pull -e f --args inputs.json --json --local
  pullback check p.pull
  pullback load docs/examples/pow.pull -e pow -a x=2.0 -a n=3 --rate 1000 --duration 10
Exit codes: 0; 1 unformatted, too many errors; 2 usage; 3 the program, or arguments that do not fit it; 4 the run (a trap, a budget, a
deadline); 5 the server or the way to it. More: docs/cli.md.)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Pullback: values and exact derivatives of small programs.", "pullback");
  app.set_version_flag("--version", "pullback " PULLBACK_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  pullback::cli::Action action;
  pullback::cli::AddEval(&app, &action);
  pullback::cli::AddCheck(&app, &action);
  pullback::cli::AddFmt(&app, &action);
  pullback::cli::AddExplain(&app, &action);
  pullback::cli::AddBench(&app, &action);
  pullback::cli::AddLoad(&app, &action);
  pullback::cli::AddInfo(&app, &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? pullback::cli::kExitOk : pullback::cli::kExitUsage;
  }
  return action();
}
