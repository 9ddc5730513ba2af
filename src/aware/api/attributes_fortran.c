/* MPI_Win_get_attr of Fortran, which MPIs do not make of C's: Open MPI and MPICH look the attribute up
 * themselves, and would give what their own window has. Fortran has the value where C has a pointer to it.
 *
 * Open MPI's mpi_f08 calls the name of mpif.h; MPICH's has a name of its own. The arguments are the same, but
 * that its last one may be left out. */
#include "aware/base/next.h"
#include "aware/rma/window_far.h"

/* MPICH's keyvals of Fortran come after those of C. */
#ifdef OPEN_MPI
#define FORTRAN_KEY(key) (key)
#else
#define FORTRAN_KEY(key) ((key) + 1)
#endif

typedef void get_attr(MPI_Fint *win, MPI_Fint *key, MPI_Aint *value, MPI_Fint *flag,
                      MPI_Fint *error);

static void correct(MPI_Fint win, MPI_Fint key, MPI_Aint *value)
{
    const struct window *window = window_find(PMPI_Win_f2c(win));

    if (window && key == FORTRAN_KEY(MPI_WIN_MODEL) && window_is_separate(window))
        *value = window->model;
    if (!window || !(window->gpu || window->mirror))
        return;
    if (key == FORTRAN_KEY(MPI_WIN_BASE))
        *value = (MPI_Aint)window->base;
    if (key == FORTRAN_KEY(MPI_WIN_SIZE))
        *value = window->nbytes;
    if (!window->mirror && key == FORTRAN_KEY(MPI_WIN_CREATE_FLAVOR))
        *value = window->flavor;
}

static void get(get_attr *behind, MPI_Fint *win, MPI_Fint *key, MPI_Aint *value, MPI_Fint *flag,
                MPI_Fint *error)
{
    MPI_Fint failed = MPI_SUCCESS;

    behind(win, key, value, flag, &failed);
    if (error)
        *error = failed;
    if (failed == MPI_SUCCESS && *flag && !is_behind && windows_are_there())
        correct(*win, *key, value);
}

#define GETS(name)                                                                            \
    AWARE_PUBLIC get_attr name;                                                               \
    void name(MPI_Fint *win, MPI_Fint *key, MPI_Aint *value, MPI_Fint *flag, MPI_Fint *error) \
    {                                                                                         \
        static get_attr *found;                                                               \
                                                                                              \
        if (!found)                                                                           \
            *(void **)&found = next_function(#name);                                          \
        get(found, win, key, value, flag, error);                                             \
    }

/* As compilers may spell it. */
GETS(mpi_win_get_attr_)
GETS(pmpi_win_get_attr_)
GETS(mpi_win_get_attr__)
GETS(pmpi_win_get_attr__)
GETS(mpi_win_get_attr)
GETS(pmpi_win_get_attr)
GETS(MPI_WIN_GET_ATTR)
GETS(PMPI_WIN_GET_ATTR)
#ifdef OPEN_MPI
GETS(MPI_Win_get_attr_f)
GETS(PMPI_Win_get_attr_f)
GETS(MPI_Win_get_attr_f08)
GETS(PMPI_Win_get_attr_f08)
#else
GETS(mpi_win_get_attr_f08_)
GETS(pmpir_win_get_attr_f08_)
#endif
