#include "mpi/persistent/ctrl_msg.h"

#include <stdlib.h>

#include "mpi/core/context.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/send_net.h"
#include "mpi/p2p/send_shm.h"

struct post { /* a letter on its way */
    struct post *next;
    struct gpubind_operation *operation;
    uint64_t sequence;
    struct pair_letter letter;
};

/* Seconds that a letter takes once it was announced, unless its sender has to help: that
 * one may be in a call of MPI for long. */
#define PATIENCE 1e-3

static struct post *leaving, *coming, **coming_end = &coming;
static struct post *kept, **kept_end = &kept; /* for a thread that may call MPI */
static double announced; /* the latest of them */

static struct post *make(enum operation_kind kind, struct comm *companion, int rank)
{
    struct post *post = calloc(1, sizeof *post);
    struct gpubind_operation *operation = operation_make(kind);

    if (!post || !operation) /* the other side waits for it */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    operation_join(operation, companion);
    operation->rank = rank;
    operation->peer = &companion->domain->peers[companion->domain_ranks[rank]];
    operation->tag = LETTER_TAG;
    operation->buffer = &post->letter;
    operation->memory.address = (cuda_address)(uintptr_t)&post->letter;
    operation->nbytes = sizeof post->letter;
    post->operation = operation;
    return post;
}

static void send(struct post *post)
{
    if (post->operation->peer->local >= 0)
        local_send(post->operation);
    else
        remote_send(post->operation);
    post->next = leaving;
    leaving = post;
}

void letter_send(struct comm *comm, int rank, const struct pair_letter *letter)
{
    struct post *post = make(OPERATION_SEND, comm->companion, rank);

    post->letter = *letter;
    if (post->operation->peer->local >= 0 || (library_may_call_mpi() && !kept)) {
        send(post);
        return;
    }
    *kept_end = post;
    kept_end = &post->next;
}

static void send_kept(void)
{
    while (kept && library_may_call_mpi()) {
        struct post *post = kept;

        kept = post->next;
        send(post);
    }
    if (!kept)
        kept_end = &kept;
}

void letter_arrived(struct comm *companion, const struct arrival *arrival)
{
    struct post *post = make(OPERATION_RECEIVE, companion, arrival->header.source);

    announced = operation_clock();
    post->sequence = arrival->header.sequence;
    *coming_end = post;
    coming_end = &post->next;
    receive_start(post->operation, arrival);
}

static void drop_sent(void)
{
    struct post **link = &leaving;

    while (*link) {
        struct post *post = *link;

        if (!post->operation->done) {
            link = &post->next;
            continue;
        }
        *link = post->next;
        operation_forget(post->operation);
        free(post);
    }
}

void letters_read(void (*take)(struct comm *, int rank, const struct pair_letter *))
{
    drop_sent();
    send_kept();
    while (coming && coming->operation->done) {
        struct post *post = coming;

        if (post->operation->result != MPI_SUCCESS) /* what was promised cannot be had */
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_INTERN);
        coming = post->next;
        if (!coming)
            coming_end = &coming;
        post->letter.sequence = post->sequence;
        take(post->operation->comm->of, post->operation->rank, &post->letter);
        operation_forget(post->operation); /* the communicator may end with it */
        free(post);
    }
}

bool letters_busy(void)
{
    return leaving || coming || kept;
}

bool letters_coming(void)
{
    return coming && operation_clock() - announced < PATIENCE;
}
