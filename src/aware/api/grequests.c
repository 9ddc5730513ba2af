/* Generalized requests. MPI calls their functions in functions that this library has called, and they may complete
 * requests with GPU memory in turn. So MPI is given functions of this library in their place, with a state of
 * this library's. */
#include <stdlib.h>

#include "aware/base/next.h"
#include "aware/base/start.h"
#include "aware/request/application.h"

/* As functions of C have them, or of Fortran: these return nothing, have a code's address behind the others, and
 * MPI calls them with all that; functions of C do not look at it. */
struct grequest {
    int (*query)(void *extra, void *status, void *code);
    int (*free)(void *extra, void *code);
    int (*cancel)(void *extra, void *complete, void *code);
    void *extra;
};

#define APPLICATION(call)                                    \
    __extension__({                                          \
        const struct application left = application_enter(); \
        const int result_of_it = (call);                     \
                                                             \
        application_leave(&left);                            \
        result_of_it;                                        \
    })

static int query(void *extra, void *status, void *code)
{
    const struct grequest *of = extra;

    return APPLICATION(of->query(of->extra, status, code));
}

/* The last call of all. */
static int free_it(void *extra, void *code)
{
    struct grequest *of = extra;
    const int result = APPLICATION(of->free(of->extra, code));

    free(of);
    return result;
}

static int cancel(void *extra, void *complete, void *code)
{
    const struct grequest *of = extra;

    return APPLICATION(of->cancel(of->extra, complete, code));
}

/* Any function of the application's, or of this library's, as MPI takes it, or as it is kept. */
#define AS(type, function) ((type)(void (*)(void))(function))

NEXT(MPI_Grequest_start)
AWARE_PUBLIC int MPI_Grequest_start(MPI_Grequest_query_function *query_function,
                                    MPI_Grequest_free_function *free_function,
                                    MPI_Grequest_cancel_function *cancel_function, void *extra,
                                    MPI_Request *request)
{
    struct grequest *of = NULL;
    int result;

    if (!is_behind && aware_is_on() && query_function && free_function && cancel_function)
        of = malloc(sizeof *of);
    if (!of) /* of MPI's own, as of files, too */
        return BEHIND(MPI_Grequest_start, query_function, free_function, cancel_function, extra,
                      request);
    of->query = AS(int (*)(void *, void *, void *), query_function);
    of->free = AS(int (*)(void *, void *), free_function);
    of->cancel = AS(int (*)(void *, void *, void *), cancel_function);
    of->extra = extra;
    result = BEHIND(MPI_Grequest_start, AS(MPI_Grequest_query_function *, query),
                    AS(MPI_Grequest_free_function *, free_it),
                    AS(MPI_Grequest_cancel_function *, cancel), of, request);
    if (result != MPI_SUCCESS)
        free(of);
    return result;
}
