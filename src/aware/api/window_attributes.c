/* What programs ask of windows: what the application gave, or was given, and MPI has not. */
#include "aware/base/next.h"
#include "aware/rma/window_allocate.h"
#include "aware/rma/window_far.h"

NEXT(MPI_Win_get_attr)
AWARE_PUBLIC int MPI_Win_get_attr(MPI_Win win, int key, void *value, int *flag)
{
    struct window *window = is_behind ? NULL : window_find(win);
    const int result = BEHIND(MPI_Win_get_attr, win, key, value, flag);

    if (result != MPI_SUCCESS || !window || !*flag)
        return result;
    if (key == MPI_WIN_MODEL && window_is_separate(window))
        *(int **)value = &window->model;
    if (!window->gpu && !window->mirror)
        return result;
    if (key == MPI_WIN_BASE)
        *(void **)value = window->base;
    if (key == MPI_WIN_SIZE)
        *(MPI_Aint **)value = &window->nbytes;
    if (!window->mirror && key == MPI_WIN_CREATE_FLAVOR)
        *(int **)value = &window->flavor;
    return result;
}

NEXT(MPI_Win_get_info)
AWARE_PUBLIC int MPI_Win_get_info(MPI_Win win, MPI_Info *info)
{
    struct window *window = is_behind ? NULL : window_find(win);
    const int result = BEHIND(MPI_Win_get_info, win, info);

    if (result == MPI_SUCCESS && window && window->asked_for_gpu)
        PMPI_Info_set(*info, WINDOW_KINDS_KEY, WINDOW_KINDS_GPU);
    return result;
}
