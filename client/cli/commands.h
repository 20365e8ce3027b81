// The commands. Each adds itself to the program; when it is chosen, *action becomes what main calls, which
// gives the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace pullback::cli {

using Action = std::function<int()>;

void AddEval(CLI::App* app, Action* action);
void AddCheck(CLI::App* app, Action* action);
void AddFmt(CLI::App* app, Action* action);
void AddExplain(CLI::App* app, Action* action);
void AddBench(CLI::App* app, Action* action);
void AddLoad(CLI::App* app, Action* action);
void AddInfo(CLI::App* app, Action* action);

}  // namespace pullback::cli
