// Gives the precompiled Catch header a translation unit to be built with; tests reuse the result.
