// Programs as messages: text to tables and back, for every construct; tables changed at random.
// PULLBACK_PROGRAMS, PULLBACK_MUTATIONS: how many; PULLBACK_SEED: the first.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>

#include "proto/program/tables.h"
#include "tests/fuzz/tables.h"
#include "tests/support/language_program.h"
#include "tests/support/paths.h"
#include "tests/support/programs.h"
#include "tests/support/settings.h"

namespace pullback::test {
namespace {

// The blocks of docs/language.md that are programs.
std::vector<std::string> DocumentedPrograms() {
  std::vector<std::string> programs;
  std::istringstream lines(testing::ReadSourceFile("docs/language.md"));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```pull") programs.emplace_back();
    if (inside && line != "```") programs.back() += line + "\n";
    inside = line == "```pull" || (inside && line != "```");
  }
  return programs;
}

std::vector<std::string> KnownPrograms() {
  std::vector<std::string> programs = DocumentedPrograms();
  REQUIRE(programs.size() > 15);
  for (const auto& file :
       std::filesystem::directory_iterator(testing::SourcePath("docs/examples"))) {
    if (file.path().extension() == ".pull") {
      programs.push_back(
          testing::ReadSourceFile("docs/examples/" + file.path().filename().string()));
    }
  }
  programs.push_back(testing::ReadSourceFile("core/lang/prelude.pull"));
  for (const auto* list : {&testing::FirstPrograms(), &testing::DataPrograms()}) {
    for (const testing::ProgramCase& program : *list) programs.push_back(program.text);
  }
  return programs;
}

TEST_CASE("tables: every known program goes to messages and back, and is the same program") {
  for (const std::string& text : KnownPrograms()) {
    INFO(text);
    REQUIRE(lang::Parse(text).ok());
    CHECK(fuzz::CheckText(text) == "");
  }
}

TEST_CASE("tables: generated programs go to messages and back, to the same IR") {
  const uint32_t count = testing::Setting("PULLBACK_PROGRAMS", 150),
                 first = testing::Setting("PULLBACK_SEED", 0);
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const std::string text = testing::GenerateLanguageProgram(seed).text;
    const std::string fault = fuzz::CheckText(text);
    INFO("seed " << seed << "\n" << text);
    REQUIRE(fault == "");
  }
}

// --- any tables

// Names that mean something where they stand.
constexpr const char* kWords[] = {"x",          "sum", "max",  "scan", "exscan", "rel",         "T",
                                  "checkpoint", "gen", "list", "_",    "len",    "the values 0"};

// Changes one field somewhere below, or takes it away.
void Mutate(google::protobuf::Message* message, std::mt19937& random) {
  using Field = google::protobuf::FieldDescriptor;
  const auto* reflection = message->GetReflection();
  std::vector<const Field*> set;
  reflection->ListFields(*message, &set);
  if (set.empty()) return;
  const Field* field = set[random() % set.size()];
  if (field->is_repeated()) {
    const int at =
        static_cast<int>(random() % static_cast<uint32_t>(reflection->FieldSize(*message, field)));
    if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
      if (random() % 16 == 0) return reflection->RemoveLast(message, field);
      return Mutate(reflection->MutableRepeatedMessage(message, field, at), random);
    }
    if (field->cpp_type() == Field::CPPTYPE_UINT32) {
      return reflection->SetRepeatedUInt32(message, field, at, random() % 64);
    }
    return reflection->RemoveLast(message, field);
  }
  if (field->cpp_type() == Field::CPPTYPE_MESSAGE && random() % 8 != 0) {
    return Mutate(reflection->MutableMessage(message, field), random);
  }
  switch (field->cpp_type()) {
    case Field::CPPTYPE_UINT32: return reflection->SetUInt32(message, field, random() % 64);
    case Field::CPPTYPE_INT64:
      return reflection->SetInt64(message, field, static_cast<int64_t>(random() % 8) - 4);
    case Field::CPPTYPE_DOUBLE:
      return reflection->SetDouble(message, field, static_cast<double>(random() % 9) - 4.5);
    case Field::CPPTYPE_STRING:
      return reflection->SetString(message, field, kWords[random() % std::size(kWords)]);
    case Field::CPPTYPE_ENUM:
      return reflection->SetEnumValue(message, field, static_cast<int>(random() % 18));
    default: return reflection->ClearField(message, field);
  }
}

TEST_CASE("tables: whatever is changed in them, they are refused or have a text") {
  const std::vector<std::string> programs = KnownPrograms();
  std::mt19937 random(testing::Setting("PULLBACK_SEED", 1));
  int refused = 0, accepted = 0;
  for (uint32_t i = 0; i < testing::Setting("PULLBACK_MUTATIONS", 4000); ++i) {
    const std::string& text = programs[random() % programs.size()];
    if (text.size() > 4000) continue;
    v1::ProgramTables tables = program::ToTables(*lang::Parse(text));
    for (uint32_t k = 0; k <= random() % 3; ++k) Mutate(&tables, random);
    const std::string fault = fuzz::CheckTables(tables);
    INFO(i << ": " << tables.DebugString());
    REQUIRE(fault == "");
    ++(program::ToText(tables).ok() ? accepted : refused);
  }
  CHECK(refused > 100);
  CHECK(accepted > 100);
}

}  // namespace
}  // namespace pullback::test
