/* The calls that exchange ghost cells. */
#include "mpi/halo/halo.h"

#include <stdio.h>

#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/message/message.h"
#include "mpi/persistent/persistent.h"

/* GPUBIND_HALO_IN_TURN: why exchanges need no handshake, that is why a rank may write to the
 * ghost cells of a neighbour without asking.
 *
 * Exchange e is that of array e mod n, n >= 2, on all ranks. When rank S begins e, it has
 * completed e - 1, and so has a message that each neighbour R sent in e - 1: neighbours
 * exchange messages both ways in every exchange, also across edges and corners, since the box
 * at an offset on one side corresponds to the box at the opposite offset on the other, with
 * the same extents, none of them 0. So R has begun e - 1 and, as its program promises, no
 * longer touches the ghost cells of e - 2 and before: the last exchange of array e mod n was
 * e - n, which is e - 2 or before. By the same order R has taken S's message of e - n, so
 * that the `done` flag is free.
 *
 * Two things follow. The order of the arrays is checked here. And each exchange must come after
 * the one before it, on the host or in one stream (or in streams that wait for each other),
 * which the program ensures. The first exchange of each array does the handshake in any case:
 * the promise does not cover what the program did to the ghost cells before. */
static int check_turn(const struct gpubind_halo_plan *halo, int array, struct gpubind_error *err)
{
    if (!halo->grid.in_turn || array == halo->turn)
        return MPI_SUCCESS;
    error_set(err,
              "it is the turn of array %d, not of array %d: the halo was made with "
              "GPUBIND_HALO_IN_TURN",
              halo->turn + halo->grid.base, array + halo->grid.base);
    return MPI_ERR_ARG;
}

static MPI_Comm comm_of_halo(const struct gpubind_halo_plan *halo)
{
    return halo ? halo->comm : MPI_COMM_WORLD;
}

static int check(const struct gpubind_halo_plan *halo, struct gpubind_error *err)
{
    if (!halo) {
        error_set(err, "the halo is GPUBIND_HALO_NULL: it was freed, or this rank has no GPU");
        return MPI_ERR_ARG;
    }
    if (!library_started()) {
        error_set(err, "the library has ended");
        return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

static int check_idle(const struct gpubind_halo_plan *halo, struct gpubind_error *err)
{
    const int result = check(halo, err);

    if (result != MPI_SUCCESS || halo->started < 0)
        return result;
    error_set(err, "the exchange of array %d is under way, until gpubind_halo_wait",
              halo->started + halo->grid.base);
    return MPI_ERR_REQUEST;
}

/* Checks that the array's exchange may begin. */
static int check_start(const struct gpubind_halo_plan *halo, int array, struct gpubind_error *err)
{
    const int result = check_idle(halo, err);

    if (result != MPI_SUCCESS)
        return result;
    if (array < 0 || array >= halo->grid.narrays) {
        error_set(err, "there is no array %d: the halo has %d", array + halo->grid.base,
                  halo->grid.narrays);
        return MPI_ERR_ARG;
    }
    return check_turn(halo, array, err);
}

int gpubind_halo_create(MPI_Comm user, const struct gpubind_halo_grid *grid, int narrays,
                        void *const arrays[], gpubind_halo *halo)
{
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter("gpubind_halo_create");
    *halo = GPUBIND_HALO_NULL;
    comm = library_comm(user, &result, &err);
    if (comm)
        *halo = halo_make(comm, grid, narrays, arrays, &result, &err);
    return library_leave(user, result, "gpubind_halo_create", &err);
}

static void take_turn(struct gpubind_halo_plan *halo, int array)
{
    halo->turn = (array + 1) % halo->grid.narrays;
}

int gpubind_halo_start(gpubind_halo halo, int array)
{
    struct gpubind_error err;
    gpubind_request *requests;
    int result, n;

    library_enter("gpubind_halo_start");
    result = check_start(halo, array, &err);
    if (result == MPI_SUCCESS) {
        requests = halo_requests(halo, array, &n);
        result = persistent_start(requests, n, &err);
    }
    if (result == MPI_SUCCESS) {
        halo->started = array;
        take_turn(halo, array);
    }
    return library_leave(comm_of_halo(halo), result, "gpubind_halo_start", &err);
}

/* "array 0, the message from rank 3 at offset (-1, 0): SENTENCE" */
static void name_message(const struct gpubind_halo_plan *halo, int which, struct gpubind_error *err)
{
    const struct halo_neighbor *neighbor = &halo->neighbors[which % halo->nneighbors];
    const struct gpubind_error why = *err;
    char offset[40] = "";

    for (int i = 0, end = 0; i < halo->grid.ndims; i++)
        end += snprintf(offset + end, sizeof offset - (size_t)end, "%s%d", i ? ", " : "",
                        neighbor->offset[halo_grid_dim(&halo->grid, i)]);
    error_set(err, "array %d, the message %s rank %d at offset (%s): %.350s",
              halo->started + halo->grid.base, which < halo->nneighbors ? "from" : "to",
              halo->names[neighbor->rank], offset, why.text);
}

/* Completes all requests. Returns the error of the first that failed. */
static int end_exchange(struct gpubind_halo_plan *halo, struct gpubind_error *err)
{
    int n, result = MPI_SUCCESS;
    gpubind_request *requests = halo_requests(halo, halo->started, &n);

    progress_wait(requests, n, false);
    for (int i = 0; i < n; i++) {
        struct gpubind_error why;
        const int ended = request_finish(requests[i], MPI_STATUS_IGNORE, &why);

        if (ended == MPI_SUCCESS || result != MPI_SUCCESS)
            continue;
        result = ended;
        *err = why;
        name_message(halo, i, err);
    }
    halo->started = -1;
    return result;
}

int gpubind_halo_wait(gpubind_halo halo)
{
    struct gpubind_error err;
    int result;

    library_enter("gpubind_halo_wait");
    result = check(halo, &err);
    if (result == MPI_SUCCESS && halo->started < 0) {
        error_set(&err, "no exchange was started");
        result = MPI_ERR_REQUEST;
    } else if (result == MPI_SUCCESS) {
        result = end_exchange(halo, &err);
    }
    return library_leave(comm_of_halo(halo), result, "gpubind_halo_wait", &err);
}

int gpubind_halo_exchange_on_stream(gpubind_halo halo, int array, gpubind_stream stream)
{
    struct gpubind_error err;
    gpubind_request *requests;
    int result, n;

    library_enter("gpubind_halo_exchange_on_stream");
    result = check_start(halo, array, &err);
    if (result == MPI_SUCCESS) {
        requests = halo_requests(halo, array, &n);
        result = persistent_start_on_stream(requests, n, stream, &err);
    }
    if (result == MPI_SUCCESS)
        take_turn(halo, array);
    return library_leave(comm_of_halo(halo), result, "gpubind_halo_exchange_on_stream", &err);
}

int gpubind_halo_place(gpubind_halo halo, int place[], int ranks[])
{
    struct gpubind_error err;
    int result, at[HALO_DIMS];

    library_enter("gpubind_halo_place");
    result = check(halo, &err);
    if (result == MPI_SUCCESS) {
        halo_grid_place(&halo->grid, halo->rank, at);
        for (int d = 0; d < halo->grid.ndims; d++) {
            if (place)
                place[d] = at[d];
            if (ranks)
                ranks[d] = halo->grid.ranks[d];
        }
    }
    return library_leave(comm_of_halo(halo), result, "gpubind_halo_place", &err);
}

int gpubind_halo_neighbor(gpubind_halo halo, const int offset[], int *rank)
{
    struct gpubind_error err;
    int result, at[HALO_DIMS] = {0}, other;

    library_enter("gpubind_halo_neighbor");
    *rank = MPI_PROC_NULL;
    result = check(halo, &err);
    for (int d = 0; result == MPI_SUCCESS && d < halo->grid.ndims; d++) {
        at[d] = offset[d];
        if (at[d] < -1 || at[d] > 1) {
            error_set(&err, "%s is %d, not -1, 0 or 1",
                      halo_grid_name(&halo->grid, "offset", d).text, at[d]);
            result = MPI_ERR_ARG;
        }
    }
    if (result == MPI_SUCCESS) {
        other = halo_grid_rank_at(&halo->grid, halo->rank, at);
        *rank = other < 0 ? MPI_PROC_NULL : halo->names[other];
    }
    return library_leave(comm_of_halo(halo), result, "gpubind_halo_neighbor", &err);
}

int gpubind_halo_free(gpubind_halo *halo)
{
    struct gpubind_error err;
    const MPI_Comm comm = comm_of_halo(*halo);
    int result = MPI_SUCCESS;

    library_enter("gpubind_halo_free");
    if (*halo)
        result = check_idle(*halo, &err);
    if (*halo && result == MPI_SUCCESS) {
        halo_clear(*halo);
        *halo = GPUBIND_HALO_NULL;
    }
    return library_leave(comm, result, "gpubind_halo_free", &err);
}
