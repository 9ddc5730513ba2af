#include "aware/base/next.h"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

__thread bool is_behind;

void next_find_mpi(void)
{
    void *all = dlopen(NULL, RTLD_LAZY);
    struct link_map *object = NULL;

    if (!all)
        return;
    if (!dlsym(RTLD_NEXT, "PMPI_Initialized") && dlinfo(all, RTLD_DI_LINKMAP, &object) == 0)
        for (; object; object = object->l_next) {
            void *handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
            void *init = handle ? dlsym(handle, "PMPI_Initialized") : NULL;
            Dl_info mpi; /* the object, or one that it needs */

            if (init && dladdr(init, &mpi))
                dlopen(mpi.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
            if (handle)
                dlclose(handle);
            if (init)
                break;
        }
    dlclose(all);
}

static void *find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found) {
        next_find_mpi();
        found = dlsym(RTLD_NEXT, name);
    }
    return found;
}

bool next_has(const char *name)
{
    return find(name) != NULL;
}

/* MPI is not up where it is linked statically: not even MPI_Init is behind ours. */
static _Noreturn void give_up(void)
{
    int up = 0;

    PMPI_Initialized(&up);
    if (up)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_OTHER);
    _Exit(EXIT_FAILURE);
}

void *next_function(const char *name)
{
    void *found = find(name);

    if (!found) {
        fprintf(stderr, "gpubind: the MPI library that is loaded has no %s\n", name);
        give_up();
    }
    return found;
}

/* MPICH makes no progress in a probe for messages of the process itself. */
static int other_rank(void)
{
    static _Atomic int found = -1;
    int rank, size;

    if (found < 0) {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
        found = (rank + 1) % size;
    }
    return found;
}

/* One that no message is likely to have. */
static int largest_tag(void)
{
    int *value = NULL, flag = 0;

    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    return flag ? *value : 32767; /* which each MPI has */
}

/* MPI makes progress only in probes that find nothing. */
void progress_of_mpi(void)
{
    static _Atomic int tag = -1;
    int there = 0;

    if (tag < 0)
        tag = largest_tag();
    do
        CALL_MPI(PMPI_Iprobe(other_rank(), tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
    while (there && tag-- > 0);
}
