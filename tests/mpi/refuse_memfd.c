/* Loaded before the C library's: the library gets no memory without a name, as under a
 * system call filter that refuses it. The simulated driver's own is let through. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int memfd_create(const char *name, unsigned flags)
{
    if (strcmp(name, "gpubind") != 0)
        return (int)syscall(SYS_memfd_create, name, flags);
    errno = EPERM;
    return -1;
}
