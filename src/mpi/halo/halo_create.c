/* gpubind_halo_create: the ranks exchange their grids, and all agree or all fail. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/core/context.h"
#include "mpi/core/rank_map.h"
#include "mpi/datatype/type_cache.h"
#include "mpi/halo/halo.h"
#include "mpi/halo/halo_box.h"
#include "mpi/persistent/persistent.h"

struct rank_grid { /* what each rank tells the others */
    int result;    /* an MPI error class, with its sentence */
    struct gpubind_error err;
    struct halo_grid grid;
};

/* ---- the arguments of this rank */

static int look_at_element(MPI_Datatype element, struct halo_grid *grid, struct gpubind_error *err)
{
    struct type_shape shape;

    if (type_lookup(element, &shape, err) < 0)
        return MPI_ERR_TYPE;
    if (!shape.dense || shape.nbytes == 0 || shape.nbytes > INT_MAX) {
        error_set(err, "the datatype of an element %s",
                  shape.nbytes == 0 ? "has no bytes"
                  : shape.dense     ? "is too large"
                                    : "has gaps, or another order than in memory");
        return MPI_ERR_TYPE;
    }
    grid->nbytes = (int)shape.nbytes;
    return MPI_SUCCESS;
}

static int look_at_arrays(const struct halo_grid *grid, void *const arrays[],
                          struct gpubind_error *err)
{
    if (grid->narrays < 1 || !arrays) {
        error_set(err, grid->narrays < 1 ? "narrays is %d" : "arrays is NULL, with %d of them",
                  grid->narrays);
        return MPI_ERR_ARG;
    }
    if (grid->in_turn && grid->narrays < 2) {
        error_set(err, "GPUBIND_HALO_IN_TURN needs two arrays, and there is one");
        return MPI_ERR_ARG;
    }
    for (int i = 0; i < grid->narrays; i++) {
        if (!arrays[i]) {
            error_set(err, "array %d is NULL", i + grid->base);
            return MPI_ERR_BUFFER;
        }
        for (int j = 0; grid->in_turn && j < i; j++)
            if (arrays[j] == arrays[i]) {
                error_set(err,
                          "arrays %d and %d are one, which is not possible with "
                          "GPUBIND_HALO_IN_TURN",
                          j + grid->base, i + grid->base);
                return MPI_ERR_BUFFER;
            }
    }
    return MPI_SUCCESS;
}

static int look_at(const struct gpubind_halo_grid *from, int narrays, void *const arrays[],
                   struct halo_grid *grid, struct gpubind_error *err)
{
    const int inner = HALO_FORTRAN | HALO_APART;
    int result;

    if (!from) {
        error_set(err, "the grid is NULL");
        return MPI_ERR_ARG;
    }
    *grid = (struct halo_grid){.ndims = from->ndims,
                               .pitch = from->pitch,
                               .narrays = narrays,
                               .corners = from->corners,
                               .base = (from->flags & HALO_FORTRAN) != 0,
                               .in_turn = (from->flags & GPUBIND_HALO_IN_TURN) != 0};
    memcpy(grid->ranks, from->ranks, sizeof grid->ranks);
    memcpy(grid->periodic, from->periodic, sizeof grid->periodic);
    memcpy(grid->cells, from->cells, sizeof grid->cells);
    memcpy(grid->width, from->width, sizeof grid->width);
    if (from->flags & ~(GPUBIND_HALO_IN_TURN | inner)) {
        error_set(err, "flags is %d", from->flags < 0 ? from->flags : from->flags & ~inner);
        return MPI_ERR_ARG;
    }
    if (from->flags & HALO_APART) {
        error_set(err, "the elements of the array section lie apart in memory, and no pitch "
                       "says how far its rows do");
        return MPI_ERR_BUFFER;
    }
    result = look_at_element(from->element, grid, err);
    if (result == MPI_SUCCESS && halo_grid_fill(grid, err) < 0)
        result = MPI_ERR_ARG;
    return result == MPI_SUCCESS ? look_at_arrays(grid, arrays, err) : result;
}

/* ---- all ranks */

/* The error of the first rank that has one. */
static int first_error(const struct rank_grid *all, const struct gpubind_halo_plan *halo,
                       struct gpubind_error *err)
{
    for (int i = 0; i < halo->size; i++) {
        if (all[i].result == MPI_SUCCESS)
            continue;
        if (i == halo->rank)
            *err = all[i].err;
        else
            error_set(err, "rank %d: %.450s", halo->names[i], all[i].err.text);
        return all[i].result;
    }
    return MPI_SUCCESS;
}

static void exchange(const struct rank_grid *mine, struct rank_grid *all, MPI_Comm comm)
{
    library_unlock();
    PMPI_Allgather(mine, sizeof *mine, MPI_BYTE, all, sizeof *mine, MPI_BYTE, comm);
    library_lock();
}

/* Checks all grids, with the same result on all ranks, and places the ranks in the grid. */
static int agree(struct gpubind_halo_plan *halo, const struct rank_grid *mine,
                 struct rank_grid *all, struct gpubind_error *err)
{
    struct halo_grid *grids;
    int result;

    exchange(mine, all, halo->comm);
    result = first_error(all, halo, err);
    if (result != MPI_SUCCESS)
        return result;
    grids = calloc((size_t)halo->size, sizeof *grids);
    if (!grids) {
        error_set(err, "out of memory");
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < halo->size; i++)
        grids[i] = all[i].grid;
    if (halo_grid_agree(grids, halo->names, halo->size, err) < 0)
        result = MPI_ERR_ARG;
    free(grids);
    halo->grid = mine->grid;
    if (result == MPI_SUCCESS && halo_grid_spread(&halo->grid, halo->size, err) < 0)
        result = MPI_ERR_ARG;
    return result;
}

/* ---- the messages */

static int make_message(const struct gpubind_halo_plan *halo, const struct halo_neighbor *neighbor,
                        enum request_kind kind, void *array, MPI_Datatype element,
                        gpubind_request *request, struct gpubind_error *err)
{
    const bool send = kind == REQUEST_SEND;
    struct arguments arguments = {.rank = neighbor->rank, .comm = halo->comm};
    struct halo_buffer buffer;
    int result = halo_box_buffer(&halo->grid, send ? &neighbor->send : &neighbor->receive, array,
                                 element, &buffer);

    if (result != MPI_SUCCESS) {
        error_set(err, "MPI cannot make the datatype of a boundary");
    } else {
        arguments.buf = buffer.start;
        arguments.count = buffer.count;
        arguments.type = buffer.type;
        arguments.tag = send ? neighbor->send_code : neighbor->receive_code;
        *request = persistent_make(&arguments, comm_of(halo->comm), kind, PERSISTENT_HALO,
                                   halo->grid.in_turn, &result, err);
    }
    halo_buffer_clear(&buffer, element);
    return result;
}

gpubind_request *halo_requests(const struct gpubind_halo_plan *halo, int array, int *n)
{
    *n = 2 * halo->nneighbors;
    return halo->requests + (size_t)array * (size_t)*n;
}

/* Sets up the requests, array after array on all ranks, so that the nth send to a rank in a
 * direction and the nth receive there are counterparts. */
static int make_messages(struct gpubind_halo_plan *halo, void *const arrays[], MPI_Datatype element,
                         struct gpubind_error *err)
{
    int result = MPI_SUCCESS, n;

    halo->nneighbors = halo_grid_neighbors(&halo->grid, halo->rank, halo->neighbors);
    n = halo->nneighbors;
    halo->requests = calloc((size_t)halo->grid.narrays * 2 * (size_t)n + 1,
                            sizeof(gpubind_request));
    if (!halo->requests) {
        error_set(err, "out of memory");
        return MPI_ERR_NO_MEM;
    }
    for (int array = 0; array < halo->grid.narrays; array++) {
        int all;
        gpubind_request *requests = halo_requests(halo, array, &all);

        for (int i = 0; i < all && result == MPI_SUCCESS; i++)
            result = make_message(halo, &halo->neighbors[i % n],
                                  i < n ? REQUEST_RECEIVE : REQUEST_SEND, arrays[array], element,
                                  &requests[i], err);
    }
    return result;
}

/* Waits until all channels are connected: later starts wait for no control message, unless some cannot be for now. */
static int await_messages(const struct gpubind_halo_plan *halo, struct gpubind_error *err)
{
    const int n = halo->grid.narrays * 2 * halo->nneighbors;

    return persistent_await(halo->requests, n, err);
}

/* ---- the whole */

void halo_clear(struct gpubind_halo_plan *halo)
{
    struct gpubind_error ignored;
    gpubind_request *requests;
    int n;

    for (int array = 0; halo->requests && array < halo->grid.narrays; array++) {
        requests = halo_requests(halo, array, &n);
        for (int i = 0; i < n; i++)
            if (requests[i])
                persistent_free(requests[i], &ignored);
    }
    if (halo->comm != MPI_COMM_NULL) {
        library_unlock();
        PMPI_Comm_free(&halo->comm);
        library_lock();
    }
    free(halo->requests);
    free(halo->names);
    free(halo);
}

/* Lists the ranks that have a GPU, in their order. */
static int list_names(struct gpubind_halo_plan *halo, const struct rank_map *rank_map)
{
    halo->names = calloc((size_t)rank_map->n, sizeof *halo->names);
    if (!halo->names)
        return -1;
    for (int i = 0; i < rank_map->n; i++)
        if (rank_map->ranks[i].has_gpu)
            halo->names[halo->size++] = i;
    return 0;
}

/* Copies the error handler, which not every MPI does. */
static void take_handler(MPI_Comm comm, MPI_Comm from)
{
    MPI_Errhandler handler;

    PMPI_Comm_get_errhandler(from, &handler);
    PMPI_Comm_set_errhandler(comm, handler);
    if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN)
        PMPI_Errhandler_free(&handler);
}

/* The halo without its requests. The same *result on all ranks, unless one is out of memory. */
static struct gpubind_halo_plan *begin(struct comm *comm, const struct rank_map *rank_map,
                                       int *result, struct gpubind_error *err)
{
    const bool has_gpu = rank_map->ranks[comm->rank].has_gpu;
    struct gpubind_halo_plan *halo = calloc(1, sizeof *halo);

    if (!halo || list_names(halo, rank_map) < 0) {
        error_set(err, "out of memory");
        *result = MPI_ERR_NO_MEM;
        free(halo);
        return NULL;
    }
    halo->started = -1;
    library_barrier(comm->user);
    library_unlock();
    *result = PMPI_Comm_split(comm->user, has_gpu ? 0 : MPI_UNDEFINED, comm->rank, &halo->comm);
    library_lock();
    if (*result != MPI_SUCCESS) {
        error_set(err, "MPI_Comm_split failed");
        halo->comm = MPI_COMM_NULL;
    } else if (has_gpu) {
        take_handler(halo->comm, comm->user);
        PMPI_Comm_rank(halo->comm, &halo->rank);
        *result = comm_attach(halo->comm, library_settings(), err);
    }
    if (*result == MPI_SUCCESS && has_gpu)
        return halo;
    halo_clear(halo);
    return NULL;
}

struct gpubind_halo_plan *halo_make(struct comm *comm, const struct gpubind_halo_grid *grid,
                                    int narrays, void *const arrays[], int *result,
                                    struct gpubind_error *err)
{
    const struct rank_map *rank_map = rank_map_of(comm, err);
    struct gpubind_halo_plan *halo = NULL;
    struct rank_grid mine = {0}, *all;

    *result = MPI_ERR_OTHER;
    if (rank_map)
        halo = begin(comm, rank_map, result, err);
    if (!halo)
        return NULL;
    all = calloc((size_t)halo->size, sizeof *all);
    if (!all)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM); /* the other ranks wait for this one */
    mine.result = look_at(grid, narrays, arrays, &mine.grid, &mine.err);
    *result = agree(halo, &mine, all, err);
    if (*result == MPI_SUCCESS) {
        mine.result = make_messages(halo, arrays, grid->element, &mine.err);
        exchange(&mine, all, halo->comm);
        *result = first_error(all, halo, err);
    }
    if (*result == MPI_SUCCESS && await_messages(halo, err) < 0)
        *result = MPI_ERR_OTHER;
    free(all);
    if (*result == MPI_SUCCESS)
        return halo;
    halo_clear(halo);
    return NULL;
}
