/* What a program is linked to: the part of the ELF format (elf(5)) that says so. */
#ifndef GPUBIND_CORE_ENV_ELF_H
#define GPUBIND_CORE_ENV_ELF_H

#include <stddef.h>

enum elf_kind {
    ELF_OTHER,   /* no ELF file of this machine's class and byte order: a script, or damaged */
    ELF_STATIC,  /* it loads no shared object */
    ELF_DYNAMIC, /* a program that the dynamic linker starts, or a shared object */
};

/* Calls need for each name that the file needs (DT_NEEDED). bytes: the whole file, aligned to 8
 * bytes; nothing outside of it is read, whatever is in it. */
enum elf_kind elf_read(const void *bytes, size_t size,
                       void (*need)(void *context, const char *name), void *context);

#endif
