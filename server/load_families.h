// Families of metrics made at each scrape, of what is counted elsewhere: caches, pools, the process.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "server/metrics.h"

namespace pullback::server {

void AppendLoadFamilies(const LoadSample& load, const std::string& version,
                        std::vector<prometheus::MetricFamily>* families);

}  // namespace pullback::server
