/* What ELF files need, also of files that are cut off or damaged. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/env/elf.h"
#include "tests/tap.h"

struct file {
    unsigned char *bytes; /* its end is the end of readable memory */
    size_t size;
};

/* A copy of size bytes whose last one is followed by memory that cannot be read. */
static struct file copy(const unsigned char *bytes, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
    unsigned char *at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                             -1, 0);
    const size_t before = (room - size) & ~(size_t)7; /* stays aligned */

    mprotect(at + room, page, PROT_NONE);
    memcpy(at + before, bytes, size);
    return (struct file){at + before, size};
}

static void drop(struct file file)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t in_page = (size_t)file.bytes % page;

    munmap(file.bytes - in_page, (in_page + file.size + page - 1) / page * page + page);
}

static int nneeded;
static bool needs_libc;

static void need(void *context, const char *name)
{
    (void)context;
    nneeded++;
    needs_libc |= strncmp(name, "libc.so.", 8) == 0 && strlen(name) < 100;
}

static enum elf_kind read_copy(const unsigned char *bytes, size_t size)
{
    struct file file = copy(bytes, size);
    enum elf_kind kind = elf_read(file.bytes, file.size, need, NULL);

    drop(file);
    return kind;
}

/* Each word of the headers becomes something else; what counts is that nothing is read outside. */
static void damage(unsigned char *bytes, size_t size)
{
    static const unsigned char others[] = {0x00, 0x01, 0x08, 0x7f, 0x80, 0xff};
    struct file file = copy(bytes, size);

    for (size_t at = 0; at < 1024 && at < size; at++)
        for (size_t i = 0; i < sizeof others; i++) {
            const unsigned char was = file.bytes[at];

            file.bytes[at] = others[i];
            elf_read(file.bytes, file.size, need, NULL);
            file.bytes[at] = was;
        }
    drop(file);
}

int main(void)
{
    static const char script[] = "#!/bin/sh\nexit 0\n";
    const int fd = open("/proc/self/exe", O_RDONLY);
    struct stat status;
    unsigned char *bytes;
    size_t size;

    if (fd < 0 || fstat(fd, &status) < 0) {
        tap_skip("this program", "no /proc/self/exe");
        return tap_done();
    }
    size = (size_t)status.st_size;
    bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

    tap_is_int(elf_read(bytes, size, need, NULL), ELF_DYNAMIC, "this program is dynamic");
    tap_ok(needs_libc, "... and needs the C library");
    tap_is_int(read_copy((const unsigned char *)script, sizeof script), ELF_OTHER, "a script");
    tap_is_int(elf_read(bytes, 0, need, NULL), ELF_OTHER, "an empty file");
    for (size_t cut = 0; cut < 4096 && cut < size; cut += 8)
        read_copy(bytes, cut);
    tap_ok(true, "files that are cut off");
    damage(bytes, size);
    tap_ok(true, "damaged headers");
    bytes[4] = 7;
    tap_is_int(elf_read(bytes, size, need, NULL), ELF_OTHER, "another class");
    return tap_done();
}
