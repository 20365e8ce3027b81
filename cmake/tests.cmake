# One Catch2 executable per folder under tests/ that holds a *_test.cc: test_<folder with _>, and one
# ctest entry of the same name. Other .cc of the folder are its helpers. tests/support/*.cc is a
# library of which a test takes what it uses; tests/bench and tests/fuzz are treated at the end.

set(EVERY_BACK_END pb_jit_llvm pb_jit_baseline pb_jit_cuda pb_jit)
set(EVERYTHING pb_server pb_client_load pb_client ${EVERY_BACK_END} pb_core_pipeline pb_core_eval)

# What the tests of a folder link. Early layers link little, so that they build while others do not.
function(pb_test_deps folder out)
  if(folder STREQUAL "core/base")
    set(deps pb_core_base)
  elseif(folder STREQUAL "core/ir")
    set(deps pb_core_eval)
  elseif(folder MATCHES "^core/(lang|eval)$")
    set(deps pb_core_lang pb_core_eval)
  elseif(folder STREQUAL "core/analysis")
    set(deps pb_core_analysis pb_core_lang pb_core_eval)
  elseif(folder MATCHES "^core")
    set(deps pb_core_pipeline pb_core_eval)
  elseif(folder STREQUAL "proto/program")
    set(deps pb_program pb_core_pipeline pb_core_eval)
  elseif(folder STREQUAL "jit/runtime")
    set(deps pb_jit_runtime)
  elseif(folder MATCHES "^(jit|e2e|gpu)")
    set(deps ${EVERY_BACK_END} pb_core_pipeline pb_core_eval pb_core_lang)
    if(folder MATCHES "^e2e")
      list(PREPEND deps pb_client pb_proto)
    endif()
  else()
    set(deps ${EVERYTHING})
  endif()
  set(${out} ${deps} PARENT_SCOPE)
endfunction()

add_library(pb_catch_main OBJECT ${CMAKE_CURRENT_LIST_DIR}/catch_main.cc
            ${CMAKE_CURRENT_LIST_DIR}/catch_pch.cc)
set_target_properties(pb_catch_main PROPERTIES UNITY_BUILD OFF)
target_precompile_headers(pb_catch_main PRIVATE
  <catch2/catch.hpp> <algorithm> <functional> <map> <memory> <optional> <set> <string> <vector>)
target_include_directories(pb_catch_main PRIVATE ${PROJECT_SOURCE_DIR})
# For tests over gRPC, which link every back end: LLVM's definitions are among theirs.
add_library(pb_catch_rpc OBJECT ${CMAKE_CURRENT_LIST_DIR}/catch_pch.cc)
target_link_libraries(pb_catch_rpc PRIVATE pb_grpc pb_llvm)
target_precompile_headers(pb_catch_rpc PRIVATE <catch2/catch.hpp> <grpcpp/grpcpp.h>
  <google/protobuf/message.h> <google/protobuf/generated_message_reflection.h>)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/catch_main.cc PROPERTIES
                            SKIP_PRECOMPILE_HEADERS ON)

file(GLOB_RECURSE TEST_SOURCES CONFIGURE_DEPENDS tests/*.cc)
set(TEST_FOLDERS "")
foreach(source ${TEST_SOURCES})
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/tests ${source})
  if(path MATCHES "_test\\.cc$" AND NOT path MATCHES "^(bench|fuzz|support)/")
    get_filename_component(folder ${path} DIRECTORY)
    list(APPEND TEST_FOLDERS ${folder})
  endif()
endforeach()
list(REMOVE_DUPLICATES TEST_FOLDERS)

file(GLOB SUPPORT_SOURCES CONFIGURE_DEPENDS tests/support/*.cc)
add_library(pb_test_support STATIC ${SUPPORT_SOURCES})
# A file at a time: what needs Catch or a back end is not linked where nobody asks for it.
set_target_properties(pb_test_support PROPERTIES UNITY_BUILD OFF)
target_include_directories(pb_test_support PRIVATE ${PROJECT_SOURCE_DIR})
target_precompile_headers(pb_test_support REUSE_FROM pb_catch_main)
set_source_files_properties(tests/support/paths.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                            COMPILE_DEFINITIONS "PULLBACK_SOURCE_FOLDER=\"${PROJECT_SOURCE_DIR}\"")

foreach(folder ${TEST_FOLDERS})
  set(sources ${TEST_SOURCES})
  list(FILTER sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/tests/${folder}/[^/]+$")
  string(REPLACE "/" "_" name test_${folder})
  pb_test_deps(${folder} deps)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE pb_warnings pb_catch_main pb_test_support ${deps})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  if(folder MATCHES "^(e2e|server|client)")
    target_precompile_headers(${name} REUSE_FROM pb_catch_rpc)
  else()
    target_precompile_headers(${name} REUSE_FROM pb_catch_main)
  endif()
  # Their files name their engines and programs alike.
  if(folder MATCHES "^jit")
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  # Tests are compiled once and run once: -O1 is a quarter less to compile.
  target_compile_options(${name} PRIVATE -O1)
  # Cases that are tagged so take sanitizers minutes, and little of what they run is not run by others.
  set(which "")
  if(PULLBACK_SANITIZE)
    set(which "~[long]")
  endif()
  add_test(NAME ${name} COMMAND ${name} ${which})
  # The code is that of tests/support/skip.h.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1500 SKIP_RETURN_CODE 77 ENVIRONMENT
    "PULLBACK_SOURCE_DIR=${PROJECT_SOURCE_DIR};PULLBACK_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  # Tests that start the programs need them built, and their timings need the machine to themselves.
  if(folder MATCHES "^(e2e|server|client)")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    foreach(program pullbackd pullback)
      if(TARGET ${program})
        add_dependencies(${name} ${program})
      endif()
    endforeach()
  endif()
endforeach()

# The longest, which starts before all that run beside it: a quarter of an hour for a core, twice that where the machine is shared.
set_tests_properties(test_jit_programs PROPERTIES COST 1000 TIMEOUT 3600)

# 4,000 random programs over the whole language, one in two hundred compiled (LLVM takes most of their time), and one
# of each construct, beside the 400 that test_jit_language runs: first, on two cores, for some minutes. The label leaves
# them in or out.
add_test(NAME random_programs COMMAND test_jit_language "generated programs over the whole language")
set_tests_properties(random_programs PROPERTIES LABELS random_programs COST 2000 TIMEOUT 3600 PROCESSORS 2
  ENVIRONMENT "PULLBACK_SEED=100000;PULLBACK_PROGRAMS=4000;PULLBACK_COMPILE_EACH=200")

# Theorem 6.35, and each pass on the way to Tensor SSA, of 10,000 programs of either kind, beside the 400 that
# test_core_pipeline takes: about a minute for a core each.
set(tensor_ssa_nested "Tensor SSA of random programs: values*")
set(tensor_ssa_flat "Tensor SSA of random flat programs: values*")
foreach(kind nested flat)
  add_test(NAME tensor_ssa_${kind} COMMAND test_core_pipeline ${tensor_ssa_${kind}})
  set_tests_properties(tensor_ssa_${kind} PROPERTIES LABELS random_programs TIMEOUT 3600
    ENVIRONMENT "PULLBACK_PROGRAMS=10000;PULLBACK_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endforeach()

# What needs a GPU; skipped where there is none.
set_tests_properties(test_gpu PROPERTIES LABELS gpu TIMEOUT 600)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME layering COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/layering.py)
  add_test(NAME layering_self_test
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/layering.py --self-test)
  add_test(NAME features COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/features.py)
  add_test(NAME features_self_test
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/features.py --self-test)
  add_test(NAME deploy_files
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/deploy_files.py)
  add_test(NAME deploy_files_self_test
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/deploy_files.py --self-test)
endif()

if(PULLBACK_BENCH)
  find_package(benchmark CONFIG QUIET)
  file(GLOB BENCH_SOURCES CONFIGURE_DEPENDS tests/bench/*.cc)
  foreach(source ${BENCH_SOURCES})
    get_filename_component(stem ${source} NAME_WE)
    string(REGEX REPLACE "_bench$" "" stem ${stem})
    add_executable(bench_${stem} ${source})
    target_link_libraries(bench_${stem} PRIVATE pb_warnings pb_test_support ${EVERYTHING})
    target_include_directories(bench_${stem} PRIVATE ${PROJECT_SOURCE_DIR})
    if(TARGET benchmark::benchmark)
      target_link_libraries(bench_${stem} PRIVATE benchmark::benchmark)
    endif()
  endforeach()
endif()

# The fuzz targets. The asan preset instruments everything and fuzzes; a build without sanitizers
# runs them once over the kept corpus, so that none can stop compiling or lose an old finding unseen.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND (PULLBACK_FUZZ OR NOT PULLBACK_SANITIZE))
  file(GLOB FUZZ_SOURCES CONFIGURE_DEPENDS tests/fuzz/*_fuzz.cc)
  file(GLOB FUZZ_HELPERS CONFIGURE_DEPENDS tests/fuzz/*.cc)
  list(FILTER FUZZ_HELPERS EXCLUDE REGEX "_fuzz\\.cc$")
  add_custom_target(fuzzers)
  foreach(source ${FUZZ_SOURCES})
    get_filename_component(stem ${source} NAME_WE)
    add_executable(${stem} ${source} ${FUZZ_HELPERS})
    # None needs a back end or gRPC's server: they build in minutes under the sanitizer.
    target_link_libraries(${stem} PRIVATE pb_warnings pb_program pb_wire pb_core_pipeline
                          pb_core_eval)
    target_include_directories(${stem} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(${stem} PRIVATE -fsanitize=fuzzer)
    target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${stem})
    add_test(NAME ${stem}_corpus
             COMMAND ${stem} -runs=0 ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${stem})
  endforeach()
endif()
