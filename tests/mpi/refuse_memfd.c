/* Loaded before the C library's: no file of memory without a name is to be had, as under a system call
 * filter that refuses it. REFUSED: the name that is refused alone; else all of gpubind's are, and the simulated
 * driver's own are let through. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int memfd_create(const char *name, unsigned flags)
{
    const char *refused = getenv("REFUSED");

    if (refused ? strcmp(name, refused) != 0 : strncmp(name, "gpubind-sim", 11) == 0)
        return (int)syscall(SYS_memfd_create, name, flags);
    errno = EPERM;
    return -1;
}
