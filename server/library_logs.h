// What gRPC and protobuf print by themselves goes into our log: clients cause most of it, so it is kept
// at level debug, gRPC's errors at warn.
#pragma once

namespace pullback::server {

void RouteLibraryLogs();

}  // namespace pullback::server
