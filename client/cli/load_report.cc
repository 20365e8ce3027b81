#include "client/cli/load_report.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace pullback::cli {
namespace {

using load::Histogram;
using load::Outcome;

constexpr int kBarWidth = 50;

struct Figure {
  const char* label;
  const char* key;
  double percent;  // 100: the maximum
};
constexpr Figure kFigures[] = {{"p50, us", "p50", 50},
                               {"p90, us", "p90", 90},
                               {"p99, us", "p99", 99},
                               {"p99.9, us", "p99_9", 99.9},
                               {"max, us", "max", 100}};

[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

double Micros(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

double Median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string Heading(const LoadReport& report) {
  const load::Options& o = report.options;
  std::string text;
  if (o.rate > 0) {
    const bool poisson = o.arrivals == load::ArrivalKind::kPoisson;
    text = Format("open loop, %g requests/s, %s arrivals", o.rate, poisson ? "Poisson" : "even");
  } else {
    text = Format("closed loop, %d in flight", o.concurrency);
  }
  const char* const what = report.kind == "warm" ? "a warm kernel" : "programs never seen";
  const char* const how = o.rpc == load::Rpc::kEvaluate ? "Evaluate" : "EvaluateStream";
  return text + Format(
                    ", %d connections, %g s after %g s of warm-up\n%s of %s, "
                    "request %zu bytes, reply %zu bytes\n",
                    o.connections, report.server.seconds, report.warmup_seconds, how, what,
                    report.request_bytes, report.reply_bytes);
}

std::string Row(const char* label, const LoadReport& report, double server, double echo,
                double ratio) {
  if (!report.echo) return Format("%-14s %12.1f\n", label, server);
  const std::string last = std::isnan(ratio) ? "" : Format("%12.3f", ratio);
  return Format("%-14s %12.1f %12.1f %s\n", label, server, echo, last.c_str());
}

std::string Table(const LoadReport& report) {
  const Outcome none;
  const Outcome& echo = report.echo ? *report.echo : none;
  const LoadReport::Ratios ratios = report.Medians();
  std::string text;
  if (report.echo) text += Format("%-14s %12s %12s %12s\n", "", "server", "echo", "ratio");
  text += Row("answers", report, static_cast<double>(report.server.latency.count()),
              static_cast<double>(echo.latency.count()), std::nan(""));
  text += Row("answers/s", report, report.server.rate(), echo.rate(), ratios.rate);
  for (const auto& [label, key, percent] : kFigures) {
    const double ratio = percent == 50 ? ratios.p50 : percent == 99 ? ratios.p99 : std::nan("");
    text += Row(label, report, Micros(report.server.latency.Percentile(percent)),
                Micros(echo.latency.Percentile(percent)), ratio);
  }
  if (report.echo) text += Format("ratios are medians of %zu rounds\n", report.rounds.size());
  return text;
}

std::string Errors(const char* name, const Outcome& outcome) {
  if (outcome.errors.empty()) return Format("%s: no errors\n", name);
  std::string text = Format("%s: %lld of %lld failed\n", name, (long long)outcome.failed(),
                            (long long)outcome.total());
  for (const auto& [code, count] : outcome.errors) {
    text += Format("  %-40s %lld\n", code.c_str(), (long long)count);
  }
  return text;
}

std::string OpenLoop(const Outcome& outcome) {
  return Format(
      "sent late by p50 %.1f us, p99 %.1f us; at most %lld in flight, %lld waiting here\n",
      Micros(outcome.delay.Percentile(50)), Micros(outcome.delay.Percentile(99)),
      (long long)outcome.peak_in_flight, (long long)outcome.peak_backlog);
}

// Rows of half an octave each.
std::string Bars(const Histogram& histogram) {
  const std::vector<Histogram::Bucket> buckets = histogram.Buckets();
  if (buckets.empty()) return "";
  const auto row_of = [](int64_t value) {
    return static_cast<int>(
        std::floor(2 * std::log2(static_cast<double>(std::max<int64_t>(value, 1)))));
  };
  const int first = row_of(buckets.front().lowest);
  std::vector<int64_t> rows(static_cast<size_t>(row_of(buckets.back().lowest) - first) + 1);
  for (const auto& b : buckets) rows[static_cast<size_t>(row_of(b.lowest) - first)] += b.count;
  const int64_t most = *std::max_element(rows.begin(), rows.end());
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double share = static_cast<double>(rows[i]) / static_cast<double>(most);
    // What is there is seen, however little.
    const auto width = static_cast<size_t>(std::ceil(share * kBarWidth));
    text +=
        Format("%10.0f us |%-*s| %7.3f %%\n", std::exp2((first + static_cast<double>(i)) / 2) / 1e3,
               kBarWidth, std::string(width, '#').c_str(),
               100 * static_cast<double>(rows[i]) / static_cast<double>(histogram.count()));
  }
  return text;
}

Json Percentiles(const Histogram& histogram) {
  Json json = Json::Object();
  json.Add("mean", Json::Number(histogram.Mean() / 1e3));
  for (const Figure& f : kFigures)
    json.Add(f.key, Json::Number(Micros(histogram.Percentile(f.percent))));
  return json;
}

Json ToJson(const Outcome& outcome, bool open) {
  Json errors = Json::Object();
  for (const auto& [code, count] : outcome.errors) errors.Add(code, Json::Integer(count));
  Json buckets = Json::Array();
  for (const Histogram::Bucket& b : outcome.latency.Buckets()) {
    Json bucket = Json::Array();
    bucket.Add(Json::Number(Micros(b.lowest)));
    bucket.Add(Json::Number(Micros(b.highest)));
    bucket.Add(Json::Integer(b.count));
    buckets.Add(std::move(bucket));
  }
  Json json = Json::Object();
  json.Add("seconds", Json::Number(outcome.seconds));
  json.Add("answers", Json::Integer(outcome.latency.count()));
  json.Add("answers_per_second", Json::Number(outcome.rate()));
  json.Add("failed", Json::Integer(outcome.failed()));
  json.Add("errors", std::move(errors));
  json.Add("latency_us", Percentiles(outcome.latency));
  if (open) {
    json.Add("send_delay_us", Percentiles(outcome.delay));
    json.Add("peak_in_flight", Json::Integer(outcome.peak_in_flight));
    json.Add("peak_backlog", Json::Integer(outcome.peak_backlog));
  }
  json.Add("histogram_us", std::move(buckets));
  return json;
}

void AddOptions(const LoadReport& report, Json* json) {
  const load::Options& o = report.options;
  const bool open = o.rate > 0;
  json->Add("loop", Json::String(open ? "open" : "closed"));
  json->Add("rpc", Json::String(o.rpc == load::Rpc::kEvaluate ? "Evaluate" : "EvaluateStream"));
  json->Add("programs", Json::String(report.kind));
  if (open) {
    const bool poisson = o.arrivals == load::ArrivalKind::kPoisson;
    json->Add("rate", Json::Number(o.rate));
    json->Add("arrivals", Json::String(poisson ? "poisson" : "constant"));
    json->Add("max_in_flight", Json::Integer(o.max_in_flight));
    json->Add("max_backlog", Json::Integer(o.max_backlog));
  } else {
    json->Add("concurrency", Json::Integer(o.concurrency));
  }
  json->Add("connections", Json::Integer(o.connections));
  json->Add("warmup_seconds", Json::Number(report.warmup_seconds));
  json->Add("request_bytes", Json::Integer(static_cast<int64_t>(report.request_bytes)));
  json->Add("reply_bytes", Json::Integer(static_cast<int64_t>(report.reply_bytes)));
}

}  // namespace

LoadReport::Ratios LoadReport::Medians() const {
  std::vector<double> rates, p50s, p99s;
  for (const Ratios& r : rounds) {
    rates.push_back(r.rate);
    p50s.push_back(r.p50);
    p99s.push_back(r.p99);
  }
  return {Median(rates), Median(p50s), Median(p99s)};
}

double LoadReport::error_share() const {
  const auto total = static_cast<double>(server.total());
  // A server that was never asked has not done well.
  return total == 0 ? 1 : static_cast<double>(server.failed()) / total;
}

std::string ToText(const LoadReport& report) {
  std::string text = Heading(report) + Table(report) + Errors("server", report.server);
  if (report.echo && !report.echo->errors.empty()) text += Errors("echo", *report.echo);
  if (report.options.rate > 0) text += OpenLoop(report.server);
  return text + Bars(report.server.latency);
}

Json ToJson(const LoadReport& report) {
  const bool open = report.options.rate > 0;
  Json json = Json::Object();
  AddOptions(report, &json);
  json.Add("server", ToJson(report.server, open));
  if (report.echo) {
    const LoadReport::Ratios medians = report.Medians();
    Json ratios = Json::Object();
    ratios.Add("rounds", Json::Integer(static_cast<int64_t>(report.rounds.size())));
    ratios.Add("answers_per_second", Json::Number(medians.rate));
    ratios.Add("p50", Json::Number(medians.p50));
    ratios.Add("p99", Json::Number(medians.p99));
    json.Add("echo", ToJson(*report.echo, open));
    json.Add("ratios", std::move(ratios));
  }
  return json;
}

}  // namespace pullback::cli
