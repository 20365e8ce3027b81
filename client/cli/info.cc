// pullback info: who answers, and how it is doing.
#include <cstdio>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "client/cli/report.h"

namespace pullback::cli {
namespace {

struct InfoOptions {
  PlaceOptions place;
  bool json = false;
};

void AddLimits(const client::ServerInfo& info, Json* json) {
  json->Add("max_message_bytes", Json::Integer(info.max_message_bytes));
  json->Add("max_source_bytes", Json::Integer(info.max_source_bytes));
  json->Add("max_nesting", Json::Integer(info.max_nesting));
  json->Add("memory_bytes", Json::Integer(info.memory_bytes));
  json->Add("max_depth", Json::Integer(info.max_depth));
  json->Add("default_deadline_seconds", Json::Number(info.default_deadline_seconds));
  json->Add("max_deadline_seconds", Json::Number(info.max_deadline_seconds));
  json->Add("threads", Json::Integer(info.threads));
  json->Add("compile_threads", Json::Integer(info.compile_threads));
  json->Add("queue", Json::Integer(info.queue));
}

void AddLoad(const client::ServerInfo& info, Json* json) {
  json->Add("uptime_seconds", Json::Number(info.uptime_seconds));
  json->Add("running", Json::Integer(info.running));
  json->Add("queued", Json::Integer(info.queued));
  json->Add("kernels", Json::Integer(info.kernels));
  json->Add("cache_bytes", Json::Integer(info.cache_bytes));
  json->Add("cache_hits", Json::Integer(info.cache_hits));
  json->Add("cache_misses", Json::Integer(info.cache_misses));
  json->Add("cache_evictions", Json::Integer(info.cache_evictions));
  json->Add("tier_switches", Json::Integer(info.tier_switches));
  json->Add("failed_tier_switches", Json::Integer(info.failed_tier_switches));
  json->Add("disk_entries", Json::Integer(info.disk_entries));
  json->Add("disk_bytes", Json::Integer(info.disk_bytes));
  json->Add("disk_hits", Json::Integer(info.disk_hits));
  json->Add("disk_misses", Json::Integer(info.disk_misses));
  json->Add("disk_damaged", Json::Integer(info.disk_damaged));
  json->Add("disk_evictions", Json::Integer(info.disk_evictions));
  json->Add("disk_failed_writes", Json::Integer(info.disk_failed_writes));
}

// The engine of this process has neither a server's limits nor its load.
Json Describe(const client::ServerInfo& info, bool local) {
  Json json = Json::Object();
  json.Add("version", Json::String(info.version));
  json.Add("build_id", Json::String(info.build_id));
  json.Add("backend", Json::String(info.backend));
  json.Add("backend_version", Json::String(info.backend_version));
  json.Add("target", Json::String(info.target));
  if (local) return json;
  AddLimits(info, &json);
  AddLoad(info, &json);
  return json;
}

void PrintText(const Json& json) {
  for (size_t i = 0; i < json.keys.size(); ++i) {
    std::printf("%-26s %s\n", json.keys[i].c_str(), json.items[i].text.c_str());
  }
}

StatusOr<Json> Ask(const PlaceOptions& place) {
  PB_ASSIGN_OR_RETURN(const auto session, Open(place));
  PB_ASSIGN_OR_RETURN(const client::ServerInfo info, session->Info());
  return Describe(info, place.local);
}

int RunInfo(const InfoOptions& options) {
  const auto json = Ask(options.place);
  if (!json.ok()) return Fail(json.status(), "", options.json);
  if (options.json) {
    std::printf("%s\n", Dump(*json).c_str());
  } else {
    PrintText(*json);
  }
  return kExitOk;
}

}  // namespace

void AddInfo(CLI::App* app, Action* action) {
  auto* const command = app->add_subcommand("info", "Version, limits and load of a server");
  auto options = std::make_shared<InfoOptions>();
  AddPlaceOptions(command, &options->place);
  AddJsonFlag(command, &options->json);
  command->callback([options, action] { *action = [options] { return RunInfo(*options); }; });
}

}  // namespace pullback::cli
