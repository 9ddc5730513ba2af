/* A file in memory that all ranks of a node have open. It has no name in any file system:
 * memfd_create makes it and a socket hands it over, so that the size of /dev/shm, which is
 * 64 MiB in many containers, is no limit. Where that is refused it is a POSIX shared memory
 * file, if /dev/shm has room for it. */
#ifndef GPUBIND_MPI_SHM_SHM_FILE_H
#define GPUBIND_MPI_SHM_SHM_FILE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

/* Collective over node: a file of nbytes, of which no page is there yet and `expected` may
 * come to be used. Its descriptor, which the caller closes; or -1 on all ranks, with a
 * sentence. With a descriptor, err has a sentence on rank 0 where the memory has a name in
 * /dev/shm for want of the other kind, and is as it was elsewhere. */
int shm_file_open(MPI_Comm node, size_t nbytes, size_t expected, struct gpubind_error *err);
/* Allocates the pages, unless they are there. false: there is no memory for them. Touching
 * a page that was not reserved is SIGBUS when memory has run out. */
bool shm_file_allocate(int fd, size_t from, size_t nbytes);
/* Collective over node: 0 when it is good on all; else -1, and err is on all ranks that of
 * the first one where it is not. */
int node_agree(MPI_Comm node, bool good, struct gpubind_error *err);

#endif
