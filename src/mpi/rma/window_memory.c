/* Window memory that ranks share by file descriptors. */
#include "mpi/rma/window_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/core/vmm.h"
#include "mpi/core/context.h"
#include "mpi/core/transport.h"
#include "mpi/shm/fd_exchange.h"

/* What ranks tell each other, three times: whether they can, what they have allocated, and
 * whether they have mapped the others' parts. */
struct rank_offer {
    int32_t has_gpu, good;
    char why[160]; /* when not good */
    struct fd_address address;
    uint64_t network;         /* its network namespace, in which address is valid */
    uint64_t id, start, size; /* of its part; size 0: none */
};

struct making {
    struct gpubind_window *win;
    struct rank_offer mine, *offers;
    struct fd_peer *others; /* by rank */
    int socket, fd;         /* -1: none */
};

/* Why sharing failed after all ranks had found it possible; it would fail again for later windows,
 * which do not try. Empty: it has not failed. */
static char fallback_reason[sizeof((struct rank_offer *)0)->why];

static struct peer *peer_of(const struct gpubind_window *win, int rank)
{
    return &win->comm->domain->peers[win->comm->domain_ranks[rank]];
}

static bool takes_part(const struct making *making, int rank)
{
    return making->offers[rank].has_gpu && peer_of(making->win, rank)->local >= 0;
}

static void note(struct making *making, int status, const struct gpubind_error *err)
{
    making->mine.good = status == 0;
    if (status < 0)
        memcpy(making->mine.why, err->text, sizeof making->mine.why - 1);
}

/* ---- the three steps of a rank: 0, or -1 with a sentence */

static uint64_t network_space(void)
{
    struct stat stat_of;

    return stat("/proc/self/ns/net", &stat_of) == 0 ? (uint64_t)stat_of.st_ino : 0;
}

static int prepare(struct making *making, bool willing, struct gpubind_error *err)
{
    const struct gpubind_window *win = making->win;

    if (!willing || !win->gpu)
        return error_set(err, "it has no part of the window");
    if (library_settings()->windows_by_ipc || !transport_allowed(TRANSPORT_IPC))
        return error_set(err, "the settings say so");
    if (fallback_reason[0])
        return error_set(err, "before, %.140s", fallback_reason);
    if (!vmm_is_possible(win->gpu))
        return error_set(err, "the GPU or its driver gives no descriptors");
    making->mine.network = network_space();
    making->socket = fd_exchange_open(&making->mine.address, err);
    return making->socket < 0 ? -1 : 0;
}

static int make(struct making *making, uint64_t nbytes, struct gpubind_error *err)
{
    struct gpubind_window *win = making->win;
    struct memory memory;

    if (nbytes == 0)
        return 0;
    if (vmm_make(win->gpu, nbytes, &win->memory, &making->mine.size, &making->fd, err) < 0)
        return -1;
    making->mine.start = win->memory;
    if (memory_of((const void *)(uintptr_t)win->memory, &memory, err) < 0)
        return -1;
    making->mine.id = memory.id;
    return 0;
}

static int map(struct making *making, int rank, struct gpubind_error *err)
{
    const struct rank_offer *rank_offer = &making->offers[rank];
    const struct memory_export shared = {
        rank_offer->id, rank_offer->start, rank_offer->size, {{0}}};
    struct gpubind_window *win = making->win;
    gpu_address at = 0;

    if (vmm_open(win->gpu, making->others[rank].fd, rank_offer->size, &at, err) < 0)
        return -1;
    win->parts[rank].mapping = mapping_adopt(peer_of(win, rank), &shared, win->gpu, at);
    if (win->parts[rank].mapping)
        return 0;
    vmm_close(at);
    return error_set(err, "out of memory");
}

static int map_all(struct making *making, struct gpubind_error *err)
{
    const struct gpubind_window *win = making->win;
    int status;

    for (int rank = 0; rank < win->n; rank++)
        making->others[rank] = (struct fd_peer){
            .address = making->offers[rank].address,
            .fd = -1,
            .takes = rank != win->rank && takes_part(making, rank) && making->fd >= 0,
            .gives = rank != win->rank && takes_part(making, rank) &&
                     making->offers[rank].size > 0};
    library_unlock();
    status = fd_exchange_all(making->socket, making->others, win->n, win->rank,
                             &making->mine.address, making->fd, err);
    library_lock();
    for (int rank = 0; rank < win->n && status == 0; rank++)
        if (making->others[rank].gives)
            status = map(making, rank, err);
    return status;
}

/* ---- all ranks */

/* Exchanges the offers. -1: all ranks of this node with a GPU are good, there are several, and
 * they are in one network namespace; else a rank that is not, or this one. */
static int agree(struct making *making)
{
    const struct gpubind_window *win = making->win;
    int n = 0, bad = -1, last = -1;

    library_unlock();
    PMPI_Allgather(&making->mine, sizeof making->mine, MPI_BYTE, making->offers,
                   sizeof making->mine, MPI_BYTE, win->own_comm);
    library_lock();
    for (int rank = win->n - 1; rank >= 0; rank--) {
        if (!takes_part(making, rank))
            continue;
        if (!making->offers[rank].good ||
            (last >= 0 && making->offers[rank].network != making->offers[last].network))
            bad = rank;
        last = rank;
        n++;
    }
    return bad < 0 && n < 2 ? win->rank : bad;
}

/* All ranks take part in all three exchanges, whatever their node finds. Returns as agree. */
static int try(struct making *making, bool willing, uint64_t nbytes)
{
    struct gpubind_error err = {{0}};
    int bad, first;

    note(making, prepare(making, willing, &err), &err);
    bad = agree(making);
    if (bad < 0 && making->win->gpu)
        note(making, make(making, nbytes, &err), &err);
    first = bad;
    bad = agree(making);
    if (first < 0 && bad < 0 && making->win->gpu)
        note(making, map_all(making, &err), &err);
    first = first < 0 ? bad : first;
    bad = agree(making);
    if (first < 0 && bad >= 0)
        memcpy(fallback_reason, making->offers[bad].why, sizeof fallback_reason);
    return first < 0 ? bad : first;
}

/* Frees this rank's part. Its pages stay until the last rank has unmapped it. */
static void undo(struct gpubind_window *win)
{
    window_detach(win);
    if (win->memory)
        vmm_close(win->memory);
    win->memory = 0;
}

/* With GPUBIND_VERBOSE, one rank of each node reports how the window is shared. */
static void report(const struct making *making, int bad)
{
    const struct gpubind_window *win = making->win;
    int n = 0;

    for (int rank = 0; rank < win->n; rank++) {
        if (n == 0 && takes_part(making, rank) && rank != win->rank)
            return;
        n += takes_part(making, rank);
    }
    if (n < 2 || !library_settings()->verbose)
        return;
    if (bad < 0)
        fprintf(stderr, "gpubind: rank %d: a window of this node is shown by file descriptors\n",
                win->rank);
    else
        fprintf(stderr,
                "gpubind: rank %d: a window of this node is shown by IPC handles; rank %d: "
                "%.159s\n",
                win->rank, bad,
                making->offers[bad].good ? "it is in another network namespace"
                                         : making->offers[bad].why);
}

void window_memory_make(struct gpubind_window *win, bool willing, uint64_t nbytes)
{
    const size_t n = (size_t)win->n;
    struct making making = {.win = win,
                            .mine = {.has_gpu = win->gpu != NULL},
                            .offers = calloc(n, sizeof *making.offers),
                            .others = calloc(n, sizeof *making.others),
                            .socket = -1,
                            .fd = -1};
    int bad;

    if (!making.offers || !making.others) /* the other ranks wait in a collective call */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    for (int rank = 0; rank < win->n; rank++)
        making.others[rank].fd = -1;
    bad = try(&making, willing, nbytes);
    if (bad >= 0)
        undo(win);
    else if (win->memory && making.mine.id != 0)
        memory_add_export(
            &(struct memory_export){making.mine.id, win->memory, making.mine.size, {{0}}});
    report(&making, bad);
    for (int rank = 0; rank < win->n; rank++)
        if (making.others[rank].fd >= 0)
            close(making.others[rank].fd);
    if (making.fd >= 0)
        close(making.fd);
    if (making.socket >= 0)
        close(making.socket);
    free(making.offers);
    free(making.others);
}
