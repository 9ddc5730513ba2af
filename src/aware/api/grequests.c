/* Generalized requests. */
#include <mpi.h>
#include <stddef.h>

#include "aware/base/next.h"
#include "aware/base/start.h"
#include "aware/request/generalized.h"

/* Any function of the application's, or of this library's, as MPI takes it, or as it is kept. */
#define AS(type, function) ((type)(void (*)(void))(function))
#define QUERY(function) AS(MPI_Grequest_query_function *, function)
#define FREE(function) AS(MPI_Grequest_free_function *, function)
#define CANCEL(function) AS(MPI_Grequest_cancel_function *, function)

static struct generalized keep(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free,
                               MPI_Grequest_cancel_function *cancel)
{
    return (struct generalized){.query = AS(int (*)(void *, void *, void *), query),
                                .free = AS(int (*)(void *, void *), free),
                                .cancel = AS(int (*)(void *, void *, void *), cancel)};
}

/* false: of MPI's own, as of files, too. */
static bool is_applications(const struct generalized *given)
{
    return !is_behind && aware_is_on() && given->query && given->free && given->cancel;
}

NEXT(MPI_Grequest_start)
AWARE_PUBLIC int MPI_Grequest_start(MPI_Grequest_query_function *query,
                                    MPI_Grequest_free_function *free,
                                    MPI_Grequest_cancel_function *cancel, void *extra,
                                    MPI_Request *request)
{
    const struct generalized given = keep(query, free, cancel),
                             ours = generalized_stand_ins(&given);
    void *state = is_applications(&given) ? generalized_state(&given, extra) : NULL;
    int result;

    if (!state)
        return BEHIND(MPI_Grequest_start, query, free, cancel, extra, request);
    result = BEHIND(MPI_Grequest_start, QUERY(ours.query), FREE(ours.free), CANCEL(ours.cancel),
                    state, request);
    if (result != MPI_SUCCESS)
        generalized_drop(state);
    return result;
}

/* ---- MPICH's extension: MPI calls their functions to get on with them, too */

#ifdef MPICH_NUMVERSION
#define POLL(function) AS(MPIX_Grequest_poll_function *, function)
#define WAIT(function) AS(MPIX_Grequest_wait_function *, function)

static struct generalized keep_all(MPI_Grequest_query_function *query,
                                   MPI_Grequest_free_function *free,
                                   MPI_Grequest_cancel_function *cancel,
                                   MPIX_Grequest_poll_function *poll,
                                   MPIX_Grequest_wait_function *wait)
{
    struct generalized given = keep(query, free, cancel);

    given.poll = AS(int (*)(void *, void *), poll);
    given.wait = AS(int (*)(int, void **, double, void *), wait);
    return given;
}

NEXT(MPIX_Grequest_start)
AWARE_PUBLIC int MPIX_Grequest_start(MPI_Grequest_query_function *query,
                                     MPI_Grequest_free_function *free,
                                     MPI_Grequest_cancel_function *cancel,
                                     MPIX_Grequest_poll_function *poll,
                                     MPIX_Grequest_wait_function *wait, void *extra,
                                     MPI_Request *request)
{
    const struct generalized given = keep_all(query, free, cancel, poll, wait),
                             ours = generalized_stand_ins(&given);
    void *state = is_applications(&given) ? generalized_state(&given, extra) : NULL;
    int result;

    if (!state)
        return BEHIND(MPIX_Grequest_start, query, free, cancel, poll, wait, extra, request);
    result = BEHIND(MPIX_Grequest_start, QUERY(ours.query), FREE(ours.free), CANCEL(ours.cancel),
                    POLL(ours.poll), WAIT(ours.wait), state, request);
    if (result != MPI_SUCCESS)
        generalized_drop(state);
    return result;
}

NEXT(MPIX_Grequest_class_create)
AWARE_PUBLIC int MPIX_Grequest_class_create(MPI_Grequest_query_function *query,
                                            MPI_Grequest_free_function *free,
                                            MPI_Grequest_cancel_function *cancel,
                                            MPIX_Grequest_poll_function *poll,
                                            MPIX_Grequest_wait_function *wait,
                                            MPIX_Grequest_class *class)
{
    const struct generalized given = keep_all(query, free, cancel, poll, wait),
                             ours = generalized_stand_ins(&given);
    int result;

    if (!is_applications(&given))
        return BEHIND(MPIX_Grequest_class_create, query, free, cancel, poll, wait, class);
    result = BEHIND(MPIX_Grequest_class_create, QUERY(ours.query), FREE(ours.free),
                    CANCEL(ours.cancel), POLL(ours.poll), WAIT(ours.wait), class);
    return result != MPI_SUCCESS || generalized_add_class(*class, &given) ? result : MPI_ERR_NO_MEM;
}

NEXT(MPIX_Grequest_class_allocate)
AWARE_PUBLIC int MPIX_Grequest_class_allocate(MPIX_Grequest_class class, void *extra,
                                              MPI_Request *request)
{
    struct generalized given;
    void *state;
    int result;

    if (is_behind || !generalized_of_class(class, &given))
        return BEHIND(MPIX_Grequest_class_allocate, class, extra, request);
    state = generalized_state(&given, extra);
    if (!state)
        return MPI_ERR_NO_MEM;
    result = BEHIND(MPIX_Grequest_class_allocate, class, state, request);
    if (result != MPI_SUCCESS)
        generalized_drop(state);
    return result;
}
#endif
