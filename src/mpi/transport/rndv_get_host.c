#include "mpi/transport/rndv_get_host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "core/base/list.h"
#include "mpi/base/trace.h"
#include "mpi/transport/receive_end.h"
#include "mpi/transport/rndv_staged_shm.h"

#define STEP_BYTES (1u << 20) /* in one step of the progress engine: other messages move between */

struct host_read {
    struct host_read *next;
    struct gpubind_operation *receive;
    uint64_t done; /* bytes */
};

static QUEUE_OF(struct host_read) reads;

static bool is_possible(const struct gpubind_operation *receive, const struct msg_header *header)
{
    return receive->from && !receive->memory.gpu && !(header->flags & MSG_ON_GPU) &&
           !receive->on_stream && !(header->flags & MSG_ON_STREAM) && !receive->peer->no_reads &&
           receive->peer->pid > 0;
}

bool rndv_get_host(struct gpubind_operation *receive, const struct msg_header *header)
{
    struct host_read *read;

    if (!is_possible(receive, header))
        return false;
    if (!receive_make_dense(receive))
        return true;
    trace(TRACE_P2P, "receive %u: reads the sender's host memory", receive->number);
    read = calloc(1, sizeof *read);
    if (!read)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    read->receive = receive;
    QUEUE_PUSH(&reads, read, next);
    return true;
}

/* One step. 1: all of it is there; 0: not yet; -1: this process may not read. */
static int advance(struct host_read *read)
{
    const struct gpubind_operation *receive = read->receive;
    const uint64_t left = receive->got_bytes - read->done;
    const size_t nbytes = left < STEP_BYTES ? (size_t)left : STEP_BYTES;
    const struct iovec to = {(char *)receive->buffer + read->done, nbytes};
    const struct iovec from = {(void *)(uintptr_t)(receive->from->header.address + read->done),
                               nbytes};
    const ssize_t n = process_vm_readv(receive->peer->pid, &to, 1, &from, 1, 0);

    if (n <= 0)
        return n < 0 && errno == EINTR ? 0 : -1;
    progress_made();
    read->done += (uint64_t)n;
    return read->done == receive->got_bytes;
}

void rndv_gets_host_progress(void)
{
    struct host_read *read = reads.first;
    int status;

    if (!read)
        return;
    status = advance(read);
    if (status == 0)
        return;
    QUEUE_POP(&reads, next);
    if (status > 0) {
        receive_finish(read->receive, 0, NULL);
    } else { /* not permitted, or memory that cannot be read so: page-locked by a device, say */
        read->receive->peer->no_reads |= errno == EPERM || errno == ENOSYS;
        rndv_staged_shm_get(read->receive, &read->receive->from->header);
    }
    free(read);
}
