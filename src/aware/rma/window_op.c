#include "aware/rma/window_op.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "aware/base/next.h"
#include "mpi/datatype/type_cache.h"
#include "mpi/datatype/type_contents.h"
#include "mpi/datatype/type_flatten.h"

#define KNOWN 64 /* pairs that were asked for */

struct pair {
    MPI_Op op;
    MPI_Datatype element;
    bool good;
};

static struct pair known[KNOWN];
static size_t nknown; /* of all time; the oldest ones go */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One that MPI has, and that computes. */
static bool is_predefined(MPI_Op op)
{
    const MPI_Op all[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                          MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (op == all[i])
            return true;
    return false;
}

/* The predefined type of the first element. */
static MPI_Datatype element_of(MPI_Datatype type)
{
    struct type_parts parts = {0};
    MPI_Datatype found = MPI_DATATYPE_NULL;

    if (type_is_basic(type))
        return type;
    if (type_flatten(&parts, type) == 0)
        found = type_numbered(parts.number);
    free(parts.blocks);
    return found;
}

static int reduces(MPI_Op op, MPI_Datatype element)
{
    uint64_t from[8] = {0}, to[8] = {0}; /* the longest element has 32 bytes */

    return CALL_MPI(PMPI_Reduce_local(from, to, 1, element, op));
}

/* Once for a pair, since the communicators' error handlers are others until it returns. */
static bool ask(MPI_Op op, MPI_Datatype element)
{
    const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler handlers[2];
    int result;

    for (int i = 0; i < 2; i++) {
        PMPI_Comm_get_errhandler(comms[i], &handlers[i]);
        PMPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    result = reduces(op, element);
    for (int i = 0; i < 2; i++) {
        PMPI_Comm_set_errhandler(comms[i], handlers[i]);
        PMPI_Errhandler_free(&handlers[i]);
    }
    return result == MPI_SUCCESS;
}

/* The lock is held. */
static bool is_good(MPI_Op op, MPI_Datatype element)
{
    struct pair *pair = known;

    while (pair < known + KNOWN && pair < known + nknown &&
           (pair->op != op || pair->element != element))
        pair++;
    if (pair < known + KNOWN && pair < known + nknown)
        return pair->good;
    pair = &known[nknown++ % KNOWN];
    *pair = (struct pair){op, element, ask(op, element)};
    return pair->good;
}

int window_check_op(MPI_Op op, MPI_Count count, MPI_Datatype type)
{
    MPI_Datatype element;
    bool good;

    if (count <= 0 || op == MPI_REPLACE || op == MPI_NO_OP)
        return MPI_SUCCESS;
    if (!is_predefined(op)) /* the program's own, which MPI 4.1, 12.3.4, rules out */
        return MPI_ERR_OP;
    element = element_of(type);
    if (element == MPI_DATATYPE_NULL)
        return MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    good = is_good(op, element);
    pthread_mutex_unlock(&lock);
    return good ? MPI_SUCCESS : MPI_ERR_OP;
}
