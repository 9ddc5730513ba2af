/* Which file of a name the dynamic loader would take, without loading it. */
#ifndef GPUBIND_HOST_SYS_LD_SEARCH_H
#define GPUBIND_HOST_SYS_LD_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* Looks in LD_LIBRARY_PATH, which the caller read (NULL: not set), in what ldconfig
 * noted in /etc/ld.so.cache, and in the loader's own folders, in this order (ld.so(8)).
 * Files for another kind of machine are passed over. path is without root. */
bool ld_search(const char *root, const char *name, const char *folders, char *path, size_t size);

#endif
