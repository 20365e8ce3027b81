// The one translation unit that carries Catch's runner; every test executable links its object.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
