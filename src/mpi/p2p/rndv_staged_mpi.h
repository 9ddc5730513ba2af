/* Data in MPI messages of the library's communicator: straight from and to the
 * buffers (host memory; GPU memory when MPI knows CUDA), or through page-locked
 * chunks, whose copies and messages overlap. */
#ifndef GPUBIND_MPI_P2P_RNDV_STAGED_MPI_H
#define GPUBIND_MPI_P2P_RNDV_STAGED_MPI_H

#include "mpi/core/request.h"

#define TRANSFER_WHOLE ((uint64_t)1 << 30) /* bytes of each message without chunks */

/* Starts this side of it; ends the operation. chunk: bytes of each MPI message, the same on both
 * sides; straight: the buffer is handed to MPI. */
void transfer_send(struct gpubind_operation *send, int tag, uint64_t chunk, bool straight);
/* Answers the sender's announcement, of its operation asked_by. */
void transfer_receive(struct gpubind_operation *receive, uint64_t asked_by, uint64_t chunk,
                      bool straight, bool direct);
void transfers_progress(void);
/* Some are under way, so that MPI has to be called. */
bool transfers_busy(void);

#endif
