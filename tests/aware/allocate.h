/* What the tests of MPI_Win_allocate with GPU memory share. */
#ifndef GPUBIND_TESTS_AWARE_ALLOCATE_H
#define GPUBIND_TESTS_AWARE_ALLOCATE_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define KINDS "mpi_memory_alloc_kinds"
#define N 1000 /* doubles of most windows */

static int next, before;
static bool far; /* the ranks are out of each other's reach */

__attribute__((unused)) static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
}

/* That the host cannot access. */
__attribute__((unused)) static bool is_on_gpu(const void *at)
{
    int (*get)(unsigned, int *, void **, uintptr_t), which = 2;
    unsigned type = 0;
    void *value = &type;

    *(void **)&get = device_call("cuPointerGetAttributes");
    return get(1, &which, &value, (uintptr_t)at) == 0 && type == 2;
}

__attribute__((unused)) static int class_of(int error)
{
    int class;

    MPI_Error_class(error, &class);
    return class;
}

/* kinds NULL: the key is not there. */
__attribute__((unused)) static MPI_Info info_of(const char *key, const char *kinds)
{
    MPI_Info info = MPI_INFO_NULL;

    if (kinds) {
        MPI_Info_create(&info);
        MPI_Info_set(info, key, kinds);
    }
    return info;
}

__attribute__((unused)) static int allocate(MPI_Aint nbytes, int unit, const char *kinds,
                                            void *base, MPI_Win *win)
{
    MPI_Info info = info_of(KINDS, kinds);
    int error = MPI_Win_allocate(nbytes, unit, info, MPI_COMM_WORLD, base, win);

    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return error;
}

__attribute__((unused)) static double *allocate_doubles(const char *kinds, MPI_Win *win)
{
    double *base = NULL;

    if (allocate(N * (MPI_Aint)sizeof *base, sizeof *base, kinds, &base, win) != MPI_SUCCESS)
        expect(false, "MPI_Win_allocate");
    return base;
}

__attribute__((unused)) static void write_doubles(double *to, double first, double step)
{
    double host[N];

    for (int i = 0; i < N; i++)
        host[i] = first + step * i;
    is_on_gpu(to) ? device_write(to, host, sizeof host) : (void)memcpy(to, host, sizeof host);
}

__attribute__((unused)) static bool has_doubles(const double *at, int from, int n, double first,
                                                double step)
{
    double host[N];

    is_on_gpu(at) ? device_read(host, at, sizeof host) : (void)memcpy(host, at, sizeof host);
    for (int i = 0; i < n; i++)
        if (host[from + i] != first + step * i)
            return false;
    return true;
}

/* Open MPI gives all keys back that it was given. */
__attribute__((unused)) static bool says_gpu(MPI_Win win)
{
    char kinds[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info info;

    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, KINDS, MPI_MAX_INFO_VAL, kinds, &found);
    MPI_Info_free(&info);
    return found && strcmp(kinds, "cuda:device") == 0;
}

__attribute__((unused)) static void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    far = *argc > 2 && strcmp((*argv)[2], "far") == 0;
}

#endif
