/* What programs ask of windows: what the application gave, which MPI has not. */
#include "aware/base/next.h"
#include "aware/rma/window.h"

NEXT(MPI_Win_get_attr)
AWARE_PUBLIC int MPI_Win_get_attr(MPI_Win win, int key, void *value, int *flag)
{
    struct window *window = is_behind ? NULL : window_find(win);
    const int result = BEHIND(MPI_Win_get_attr, win, key, value, flag);

    if (result != MPI_SUCCESS || !window || !(window->gpu || window->mirror) || !*flag)
        return result;
    if (key == MPI_WIN_BASE)
        *(void **)value = window->base;
    if (window->mirror) {
        if (key == MPI_WIN_MODEL)
            *(int **)value = &window->model;
        return result;
    }
    if (key == MPI_WIN_SIZE)
        *(MPI_Aint **)value = &window->nbytes;
    if (key == MPI_WIN_CREATE_FLAVOR)
        *(int **)value = &window->flavor;
    return result;
}
