/* GPU memory that two ranks of a node show each other, for bare copies. */
#ifndef GPUBIND_BENCH_LIB_PEER_MEMORY_H
#define GPUBIND_BENCH_LIB_PEER_MEMORY_H

#include <mpi.h>

/* Maps the memory that the peer has called this with, for the current context, until peer_memory_close.
 * mine: the start of an allocation of this rank's; NULL: it shows none. Returns NULL where one of the two shows
 * none, or the peer's cannot be mapped. Collective over the two. */
unsigned char *peer_memory_open(MPI_Comm comm, int peer, const void *mine);
/* NULL is none. */
void peer_memory_close(unsigned char *there);

#endif
