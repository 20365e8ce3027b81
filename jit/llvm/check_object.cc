#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "jit/llvm/load.h"

namespace pullback::jit {
namespace {

using llvm::StringRef;
namespace object = llvm::object;

Status Rejected(const std::string& why) {
  return Status(Code::kInternal, "OBJECT_REJECTED", "object code refused: " + why);
}

Status Rejected(llvm::Error error) { return Rejected(llvm::toString(std::move(error))); }

bool IsRuntimeSymbol(StringRef name) {
  return std::any_of(SymbolsBegin(), SymbolsEnd(),
                     [&](const RuntimeSymbol& s) { return name == s.name; });
}

bool IsExpectedSection(StringRef name) {
  name.consume_front(".rela");
  static constexpr std::string_view kExact[] = {
      "",          ".text",           ".data.rel.ro", ".symtab",  ".strtab",
      ".shstrtab", ".note.GNU-stack", ".comment",     ".eh_frame"};
  return std::find(std::begin(kExact), std::end(kExact), std::string_view(name)) !=
             std::end(kExact) ||
         name == ".rodata" || name.starts_with(".rodata.") || name.starts_with(".text.") ||
         name.starts_with(".data.rel.ro.");
}

bool IsExpectedRelocation(uint64_t type) {
  switch (type) {
    case llvm::ELF::R_X86_64_64:
    case llvm::ELF::R_X86_64_PC32:
    case llvm::ELF::R_X86_64_PLT32:
    case llvm::ELF::R_X86_64_GOTPCREL:
    case llvm::ELF::R_X86_64_GOTPCRELX:
    case llvm::ELF::R_X86_64_REX_GOTPCRELX: return true;
    default: return false;
  }
}

Status CheckSections(const object::ELF64LEObjectFile& elf) {
  for (const object::ELFSectionRef section : elf.sections()) {
    auto name = section.getName();
    if (!name) return Rejected(name.takeError());
    if (!IsExpectedSection(*name)) return Rejected("section " + name->str());
    const uint64_t flags = section.getFlags();
    if ((flags & llvm::ELF::SHF_WRITE) != 0 && !name->starts_with(".data.rel.ro")) {
      return Rejected("writable section " + name->str());
    }
    if ((flags & llvm::ELF::SHF_EXECINSTR) != 0 && !name->starts_with(".text")) {
      return Rejected("code in section " + name->str());
    }
    for (const object::RelocationRef relocation : section.relocations()) {
      if (!IsExpectedRelocation(relocation.getType())) {
        return Rejected("relocation of type " + std::to_string(relocation.getType()));
      }
    }
  }
  return {};
}

Status CheckSymbols(const object::ELF64LEObjectFile& elf, StringRef entry) {
  bool has_entry = false;
  for (const object::ELFSymbolRef symbol : elf.symbols()) {
    auto name = symbol.getName();
    if (!name) return Rejected(name.takeError());
    auto flags = symbol.getFlags();
    if (!flags) return Rejected(flags.takeError());
    if ((*flags & object::SymbolRef::SF_Undefined) != 0) {
      if (!name->empty() && !IsRuntimeSymbol(*name)) return Rejected("symbol " + name->str());
      continue;
    }
    if (symbol.getBinding() == llvm::ELF::STB_LOCAL) continue;
    if (*name != entry || has_entry) return Rejected("definition of " + name->str());
    has_entry = symbol.getELFType() == llvm::ELF::STT_FUNC;
  }
  return has_entry ? Status() : Rejected("no entry " + entry.str());
}

}  // namespace

Status CheckObject(const ObjectCode& code) {
  const llvm::MemoryBufferRef buffer(code.bytes, "kernel");
  auto parsed = object::ObjectFile::createELFObjectFile(buffer);
  if (!parsed) return Rejected(parsed.takeError());
  const auto* elf = llvm::dyn_cast<object::ELF64LEObjectFile>(parsed->get());
  if (elf == nullptr || elf->getELFFile().getHeader().e_machine != llvm::ELF::EM_X86_64 ||
      elf->getELFFile().getHeader().e_type != llvm::ELF::ET_REL) {
    return Rejected("not a relocatable object for this machine");
  }
  PB_RETURN_IF_ERROR(CheckSections(*elf));
  return CheckSymbols(*elf, code.entry_symbol);
}

}  // namespace pullback::jit
