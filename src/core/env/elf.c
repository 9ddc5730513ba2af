#include "core/env/elf.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct file {
    const unsigned char *bytes;
    size_t size;
};

/* NULL: that is not within the file, or not aligned. */
static const void *at(const struct file *file, uint64_t offset, uint64_t nbytes)
{
    if (offset > file->size || nbytes > file->size - offset || offset % sizeof(uint64_t))
        return NULL;
    return file->bytes + offset;
}

/* The NUL-terminated text there. */
static const char *text_at(const struct file *file, uint64_t offset)
{
    if (offset >= file->size || !memchr(file->bytes + offset, 0, file->size - offset))
        return NULL;
    return (const char *)file->bytes + offset;
}

static const ElfW(Ehdr) * header_of(const struct file *file)
{
    const unsigned class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    const uint16_t one = 1;
    const unsigned order = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    const ElfW(Ehdr) *header = at(file, 0, sizeof *header);

    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != class || header->e_ident[EI_DATA] != order ||
        (header->e_type != ET_EXEC && header->e_type != ET_DYN) ||
        header->e_phentsize != sizeof(ElfW(Phdr)))
        return NULL;
    return header;
}

/* Where an address of the loaded program lies in the file; SIZE_MAX: nowhere. */
static uint64_t offset_of(const ElfW(Phdr) * segments, int n, uint64_t address)
{
    for (int i = 0; i < n; i++)
        if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
            address - segments[i].p_vaddr < segments[i].p_filesz)
            return segments[i].p_offset + (address - segments[i].p_vaddr);
    return UINT64_MAX;
}

static const ElfW(Phdr) * find(const ElfW(Phdr) * segments, int n, unsigned type)
{
    for (int i = 0; i < n; i++)
        if (segments[i].p_type == type)
            return &segments[i];
    return NULL;
}

enum elf_kind elf_read(const void *bytes, size_t size,
                       void (*need)(void *context, const char *name), void *context)
{
    const struct file file = {bytes, size};
    const ElfW(Ehdr) *header = header_of(&file);
    const int n = header ? header->e_phnum : 0;
    const ElfW(Phdr) *segments = header ? at(&file, header->e_phoff, (uint64_t)n * sizeof *segments)
                                        : NULL;
    const ElfW(Phdr) *segment = segments ? find(segments, n, PT_DYNAMIC) : NULL;
    const ElfW(Dyn) *dynamic = segment ? at(&file, segment->p_offset, segment->p_filesz) : NULL;
    const size_t nentries = dynamic ? segment->p_filesz / sizeof *dynamic : 0;
    uint64_t names = UINT64_MAX;
    bool is_program = header && header->e_type == ET_EXEC;

    if (!segments)
        return ELF_OTHER;
    if (!segment)
        return ELF_STATIC;
    for (size_t i = 0; i < nentries && dynamic[i].d_tag != DT_NULL; i++) {
        if (dynamic[i].d_tag == DT_STRTAB)
            names = offset_of(segments, n, dynamic[i].d_un.d_ptr);
        if (dynamic[i].d_tag == DT_FLAGS_1 && dynamic[i].d_un.d_val & DF_1_PIE)
            is_program = true;
    }
    for (size_t i = 0; i < nentries && dynamic[i].d_tag != DT_NULL; i++) {
        const char *name = dynamic[i].d_tag == DT_NEEDED && names < size &&
                                   dynamic[i].d_un.d_val < size
                               ? text_at(&file, names + dynamic[i].d_un.d_val)
                               : NULL;

        if (name)
            need(context, name);
    }
    /* A static program that is position-independent has a dynamic section, too. */
    return is_program && !find(segments, n, PT_INTERP) ? ELF_STATIC : ELF_DYNAMIC;
}
