/* A file in memory that all ranks of a node have open. memfd_create makes it, without a name, and
 * sockets pass it on, so that the size of /dev/shm, 64 MiB in many containers, is no limit. Where
 * that is not permitted it is a POSIX shared memory file, if /dev/shm has room for it. */
#ifndef GPUBIND_MPI_SHM_SHM_FILE_H
#define GPUBIND_MPI_SHM_SHM_FILE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

/* Collective over node: makes a file of nbytes, of which no page is allocated yet and about
 * `expected` bytes will be. Returns its descriptor, which the caller closes, or -1 on all ranks
 * with a sentence. With a descriptor, err of rank 0 says why it is a file in /dev/shm, if it is
 * one, and is unchanged otherwise. */
int shm_file_open(MPI_Comm node, size_t nbytes, size_t expected, struct gpubind_error *err);
/* Allocates pages, unless they are allocated. false: there is no memory for them. A touch of a
 * page that is not allocated is SIGBUS when memory has run out. */
bool shm_file_allocate(int fd, size_t from, size_t nbytes);
/* Collective over node: 0 if `good` on all ranks; else -1, with err of the first rank where it is
 * not. */
int node_agree(MPI_Comm node, bool good, struct gpubind_error *err);

#endif
