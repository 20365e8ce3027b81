// Gives gRPC's precompiled headers a translation unit to be built with; libraries reuse the result.
