/* Persistent requests, set up. */
#include "gpu/core/sync_memops.h"
#include "mpi/datatype/flat_type.h"
#include "mpi/persistent/persistent.h"

/* The application may free its type at once. */
static int keep_type(struct pair *pair, MPI_Datatype type)
{
    int integers, addresses, types, combiner;

    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    pair->type = type;
    if (combiner == MPI_COMBINER_NAMED)
        return MPI_SUCCESS;
    pair->own_type = PMPI_Type_dup(type, &pair->type) == MPI_SUCCESS;
    return pair->own_type ? MPI_SUCCESS : MPI_ERR_TYPE;
}

struct gpubind_operation *persistent_make(const struct arguments *arguments, struct comm *comm,
                                          enum operation_kind kind, bool internal, bool sure,
                                          int *result, struct gpubind_error *err)
{
    struct gpubind_operation *request;
    struct type_shape shape;
    struct layout layout;
    struct pair *pair;
    bool regular;

    request = message_describe(arguments, comm, kind, &shape, result, err);
    if (request && synchronous_make(&request->memory))
        synchronous_settle(&request->memory);
    if (!request)
        return NULL;
    regular = type_layout(&shape, (uint64_t)arguments->count, &layout);
    pair = pair_make(request, regular ? &layout : NULL, internal, sure);
    if (pair) {
        pair->dense = shape.dense || request->nbytes == 0;
        pair->count = arguments->count;
        *result = keep_type(pair, arguments->type);
        if (*result == MPI_SUCCESS)
            return request;
        error_set(err, "the datatype cannot be kept");
        pair_free(pair);
        return NULL;
    }
    error_set(err, "out of memory");
    *result = MPI_ERR_OTHER;
    operation_forget(request);
    return NULL;
}
