/* One-sided communication: windows, and the memory in them. */
#include "aware/base/creations.h"
#include "aware/base/start.h"
#include "aware/request/calls.h"
#include "aware/rma/window_allocate.h"
#include "aware/rma/window_far.h"
#include "aware/rma/window_later.h"

/* ---- making and freeing */

/* UNIT: the type of displacement units. */
#define CREATES(name, UNIT)                                                                   \
    NEXT(name)                                                                                \
    AWARE_PUBLIC int name(void *base, MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, \
                          MPI_Win *win)                                                       \
    {                                                                                         \
        MAKES_COMMUNICATOR;                                                                   \
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;                                         \
        struct window_plan plan;                                                              \
        MPI_Info given;                                                                       \
        int result;                                                                           \
                                                                                              \
        if (!aware_is_on())                                                                   \
            return BEHIND(name, base, size, unit, info, comm, win);                           \
        result = window_plan(&plan, comm, base, size, unit, false);                           \
        if (result != MPI_SUCCESS)                                                            \
            return call_refused(comm, result);                                                \
        window_try_begin(&plan, comm, &handler);                                              \
        given = window_info_begin(&plan, info);                                               \
        if (!plan.window || !plan.window->empty)                                              \
            result = BEHIND(name, plan.base, plan.nbytes, unit, given, comm, win);            \
        if (plan.window && (plan.window->empty || result != MPI_SUCCESS))                     \
            result = window_make_empty(&plan, unit, given, comm, win);                        \
        window_info_end(given, info);                                                         \
        window_try_end(&plan, comm, &handler);                                                \
        return window_made(&plan, result, comm, *win);                                        \
    }

CREATES(MPI_Win_create, int)
#if MPI_VERSION >= 4
CREATES(MPI_Win_create_c, MPI_Aint)
#endif

#define ALLOCATES(name, UNIT)                                                                 \
    NEXT(name)                                                                                \
    AWARE_PUBLIC int name(MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, void *base, \
                          MPI_Win *win)                                                       \
    {                                                                                         \
        MAKES_COMMUNICATOR;                                                                   \
        struct window_plan plan;                                                              \
        MPI_Info given;                                                                       \
        int result;                                                                           \
                                                                                              \
        if (!aware_is_on())                                                                   \
            return BEHIND(name, size, unit, info, comm, base, win);                           \
        result = window_plan_allocate(&plan, comm, size, unit, info);                         \
        if (result != MPI_SUCCESS)                                                            \
            return call_refused(comm, result);                                                \
        given = window_info_begin(&plan, info);                                               \
        result = BEHIND(name, plan.nbytes, unit, given, comm, base, win);                     \
        window_info_end(given, info);                                                         \
        return window_allocated(&plan, result, comm, base, *win);                             \
    }

ALLOCATES(MPI_Win_allocate, int)
#if MPI_VERSION >= 4
ALLOCATES(MPI_Win_allocate_c, MPI_Aint)
#endif

NEXT(MPI_Win_create_dynamic)
AWARE_PUBLIC int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    MAKES_COMMUNICATOR;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    struct window_plan plan;
    int result;

    if (!aware_is_on())
        return BEHIND(MPI_Win_create_dynamic, info, comm, win);
    result = window_plan(&plan, comm, NULL, 0, 1, true);
    if (result != MPI_SUCCESS)
        return call_refused(comm, result);
    window_try_begin(&plan, comm, &handler);
    result = BEHIND(MPI_Win_create_dynamic, info, comm, win);
    if (plan.window && result != MPI_SUCCESS)
        result = window_make_empty(&plan, 1, info, comm, win);
    window_try_end(&plan, comm, &handler);
    return window_made(&plan, result, comm, *win);
}

/* The application's callbacks are called in it, and may communicate. */
NEXT(MPI_Win_free)
AWARE_PUBLIC int MPI_Win_free(MPI_Win *win)
{
    struct window_freeing freeing;
    struct window *window;
    int result;

    if (is_behind ||
        window_is_being_freed(*win)) /* a tool behind this library calls PMPI_Win_free */
        return next_of_MPI_Win_free()(win);
    window_free_begin(&freeing, *win);
    result = next_of_MPI_Win_free()(win);
    window = window_free_end(&freeing);
    if (result != MPI_SUCCESS || !window)
        return result;
    window_later_end(window, WINDOW_ALL, UINT64_MAX, result);
    if (window->mirror &&
        !window->allocated) /* else it goes with MPI's memory, and so does the GPU's */
        result = window_mirror_receive(window->mirror);
    else if (window->far)
        result = window_far_each(window->far, window_mirror_receive);
    window_free(window);
    return result == MPI_SUCCESS ? result : call_refused(MPI_COMM_SELF, result);
}

static bool is_dynamic(MPI_Win win)
{
    int *flavor, found = 0;

    return win != MPI_WIN_NULL &&
           PMPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &found) == MPI_SUCCESS && found &&
           *flavor == MPI_WIN_FLAVOR_DYNAMIC;
}

NEXT(MPI_Win_attach)
AWARE_PUBLIC int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    struct window *window = is_behind ? NULL : window_find(win);
    int result;

    if (window && window->dynamic && window->empty
            ? size < 0
            : size <= 0 || !window_is_gpu_memory(base) || !is_dynamic(win))
        return BEHIND(MPI_Win_attach, win, base, size);
    if (window && window->far)
        result = window_far_attach(window, base, size);
    else
        result = window && window->dynamic ? window_attach(window, base, size)
                                           : window_is_far(base);
    return result == MPI_SUCCESS ? result : window_refused(win, result);
}

NEXT(MPI_Win_detach)
AWARE_PUBLIC int MPI_Win_detach(MPI_Win win, const void *base)
{
    struct window *window = is_behind ? NULL : window_find(win);
    int result = MPI_SUCCESS;

    if (window && window->far ? window_far_detach(window, base, &result)
                              : window && window_detach(window, base))
        return result == MPI_SUCCESS ? result : window_refused(win, result);
    return BEHIND(MPI_Win_detach, win, base);
}
