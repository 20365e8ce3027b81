// What an object must look like before it is given to the linker, which trusts its input.
#include <llvm/Object/ELF.h>

#include <algorithm>
#include <array>

#include "jit/llvm/load.h"

namespace pullback::jit {
namespace {

namespace elf = llvm::ELF;
using File = llvm::object::ELFFile<llvm::object::ELF64LE>;
using llvm::StringRef;

Status Rejected(const std::string& why) {
  return Status(Code::kInternal, "OBJECT_REJECTED", "object code refused: " + why);
}

template <typename T>
StatusOr<T> Checked(llvm::Expected<T> value) {
  if (!value) return Rejected(llvm::toString(value.takeError()));
  return std::move(*value);
}

bool IsRuntimeSymbol(StringRef name) {
  return std::any_of(SymbolsBegin(), SymbolsEnd(),
                     [&](const RuntimeSymbol& s) { return name == s.name; });
}

// Sections that our compiler makes, with what each may be. A name that ends in * stands for itself
// and for names that go on with a dot.
struct SectionRow {
  StringRef name;
  uint32_t type;
  uint64_t flags;     // exactly these …
  uint64_t optional;  // … and perhaps these
};
constexpr uint64_t kMerged = elf::SHF_MERGE | elf::SHF_STRINGS;
const SectionRow kSections[] = {
    {"", elf::SHT_NULL, 0, 0},
    {".text*", elf::SHT_PROGBITS, elf::SHF_ALLOC | elf::SHF_EXECINSTR, 0},
    {".rodata*", elf::SHT_PROGBITS, elf::SHF_ALLOC, kMerged},
    {".data.rel.ro*", elf::SHT_PROGBITS, elf::SHF_ALLOC | elf::SHF_WRITE, 0},
    {".eh_frame", elf::SHT_X86_64_UNWIND, elf::SHF_ALLOC, 0},
    {".rela*", elf::SHT_RELA, elf::SHF_INFO_LINK, 0},
    {".symtab", elf::SHT_SYMTAB, 0, 0},
    {".strtab", elf::SHT_STRTAB, 0, 0},
    {".note.GNU-stack", elf::SHT_PROGBITS, 0, 0},
    {".comment", elf::SHT_PROGBITS, 0, kMerged},
};

bool Matches(StringRef pattern, StringRef name) {
  if (!pattern.consume_back("*")) return name == pattern;
  return name.consume_front(pattern) && (name.empty() || name.starts_with("."));
}

// Bytes that a relocation changes, and that it may look at in front of them; 0: not one of ours.
struct Reach {
  uint64_t bytes;
  uint64_t before;
};
Reach ReachOf(uint32_t type) {
  switch (type) {
    case elf::R_X86_64_64: return {8, 0};
    case elf::R_X86_64_PC32:
    case elf::R_X86_64_PLT32:
    case elf::R_X86_64_GOTPCREL: return {4, 0};
    case elf::R_X86_64_GOTPCRELX:
    case elf::R_X86_64_REX_GOTPCRELX: return {4, 3};
    default: return {0, 0};
  }
}

class ObjectChecker {
 public:
  ObjectChecker(File file, StringRef entry) : file_(std::move(file)), entry_(entry) {}

  Status Run() {
    const auto& header = file_.getHeader();
    if (header.e_machine != elf::EM_X86_64 || header.e_type != elf::ET_REL || header.e_phnum != 0) {
      return Rejected("not a relocatable object for this machine");
    }
    PB_ASSIGN_OR_RETURN(sections_, Checked(file_.sections()));
    for (const auto& section : sections_) PB_RETURN_IF_ERROR(CheckSection(section));
    if (symbols_ == nullptr) return Rejected("no symbols");
    PB_ASSIGN_OR_RETURN(const auto symbols, Checked(file_.symbols(symbols_)));
    PB_ASSIGN_OR_RETURN(names_, Checked(file_.getStringTableForSymtab(*symbols_)));
    for (const auto& symbol : symbols.drop_front(symbols.empty() ? 0 : 1)) {
      PB_RETURN_IF_ERROR(CheckSymbol(symbol));
    }
    if (entries_ != 1) return Rejected("no entry " + entry_.str());
    for (const auto& section : sections_) {
      if (section.sh_type == elf::SHT_RELA) {
        PB_RETURN_IF_ERROR(CheckRelocations(section, symbols.size()));
      }
    }
    return {};
  }

 private:
  using Section = File::Elf_Shdr;

  Status CheckSection(const Section& section) {
    PB_ASSIGN_OR_RETURN(const StringRef name, Checked(file_.getSectionName(section)));
    const auto* row = std::find_if(std::begin(kSections), std::end(kSections),
                                   [&](const SectionRow& r) { return Matches(r.name, name); });
    if (row == std::end(kSections) || section.sh_type != row->type ||
        (section.sh_flags & ~row->optional) != row->flags) {
      return Rejected("section " + name.str());
    }
    PB_RETURN_IF_ERROR(Checked(file_.getSectionContents(section)).status());
    if (section.sh_addr != 0 || section.sh_addralign > 4096 ||
        (section.sh_addralign & (section.sh_addralign - 1)) != 0) {
      return Rejected("place of section " + name.str());
    }
    if (section.sh_type != elf::SHT_SYMTAB) return {};
    if (symbols_ != nullptr) return Rejected("two tables of symbols");
    symbols_ = &section;
    return {};
  }

  // The section that `index` names, when it is one that is loaded.
  const Section* Loaded(uint64_t index) const {
    if (index == 0 || index >= sections_.size()) return nullptr;
    const Section& section = sections_[index];
    return (section.sh_flags & elf::SHF_ALLOC) != 0 ? &section : nullptr;
  }

  Status CheckSymbol(const File::Elf_Sym& symbol) {
    PB_ASSIGN_OR_RETURN(const StringRef name, Checked(symbol.getName(names_)));
    if (symbol.st_shndx == elf::SHN_UNDEF) {
      return IsRuntimeSymbol(name) ? Status() : Rejected("symbol " + name.str());
    }
    if (symbol.getType() == elf::STT_FILE) return {};
    const Section* section = Loaded(symbol.st_shndx);
    if (section == nullptr || symbol.st_value > section->sh_size ||
        symbol.st_size > section->sh_size - symbol.st_value ||
        symbol.getType() > elf::STT_SECTION) {
      return Rejected("place of symbol " + name.str());
    }
    if (symbol.getBinding() == elf::STB_LOCAL) return {};
    if (name != entry_ || symbol.getBinding() != elf::STB_GLOBAL ||
        symbol.getType() != elf::STT_FUNC || (section->sh_flags & elf::SHF_EXECINSTR) == 0) {
      return Rejected("definition of " + name.str());
    }
    ++entries_;
    return {};
  }

  Status CheckRelocations(const Section& table, size_t symbols) {
    const Section* target = Loaded(table.sh_info);
    if (target == nullptr || table.sh_link >= sections_.size() ||
        &sections_[table.sh_link] != symbols_) {
      return Rejected("relocations of no section");
    }
    PB_ASSIGN_OR_RETURN(const auto relocations, Checked(file_.relas(table)));
    for (const auto& relocation : relocations) {
      const Reach reach = ReachOf(relocation.getType(false));
      if (reach.bytes == 0) {
        return Rejected("relocation of type " + std::to_string(relocation.getType(false)));
      }
      const uint64_t size = target->sh_size;
      if (relocation.r_offset < reach.before || size < reach.bytes ||
          relocation.r_offset > size - reach.bytes || relocation.getSymbol(false) == 0 ||
          relocation.getSymbol(false) >= symbols) {
        return Rejected("place of a relocation");
      }
    }
    return {};
  }

  File file_;
  StringRef entry_;
  llvm::ArrayRef<Section> sections_;
  const Section* symbols_ = nullptr;
  StringRef names_;
  int entries_ = 0;
};

}  // namespace

Status CheckObject(const ObjectCode& code) {
  // Tables inside are read in place: they need the alignment of their entries.
  if (reinterpret_cast<uintptr_t>(code.bytes.data()) % 8 != 0) {
    return Rejected("bytes are not aligned");
  }
  PB_ASSIGN_OR_RETURN(File file, Checked(File::create(code.bytes)));
  return ObjectChecker(std::move(file), code.entry_symbol).Run();
}

}  // namespace pullback::jit
