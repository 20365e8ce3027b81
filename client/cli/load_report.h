// What pullback load found, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/json.h"
#include "client/load/load.h"

namespace pullback::cli {

struct LoadReport {
  std::string kind;  // "warm", "distinct"
  load::Options options;
  double warmup_seconds = 0;
  size_t request_bytes = 0;
  size_t reply_bytes = 0;

  load::Outcome server;
  // Of a run beside the echo.
  std::optional<load::Outcome> echo;
  struct Ratios {
    double rate, p50, p99;  // the server's to the echo's
  };
  std::vector<Ratios> rounds;
  Ratios Medians() const;

  // Of the server's requests, those that failed.
  double error_share() const;
};

std::string ToText(const LoadReport& report);
Json ToJson(const LoadReport& report);

}  // namespace pullback::cli
