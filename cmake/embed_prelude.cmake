# Writes OUTPUT, a .cc that defines pullback::lang::kPreludeText with the contents of INPUT; the
# empty text where there is no INPUT. Raw literals are cut into pieces, since compilers bound the
# length of one.
set(literal "")
if(INPUT)
  file(READ "${INPUT}" text)
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND literal "\n    R\"prelude(${piece})prelude\"")
    math(EXPR at "${at} + 8000")
  endwhile()
endif()
if(literal STREQUAL "")
  set(literal " \"\"")
endif()
file(WRITE "${OUTPUT}" "// Generated from core/lang/prelude.pull; edits are lost.
namespace pullback::lang {

extern const char* const kPreludeText;
const char* const kPreludeText =${literal};

}  // namespace pullback::lang
")
