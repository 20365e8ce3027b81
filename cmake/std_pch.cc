// Gives the precompiled standard headers a translation unit to be built with; libraries reuse the result.
