/* `spawn [-- COMMAND]`: processes that MPI_Comm_spawn starts pass GPU memory, too, to each other and to
 * their parents. `spawn nothing`: of a program that is not there. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/device.h"

enum { N = 30000, CHILDREN = 2 };

static int values[N], wrong;

static void check(int first, const char *what)
{
    for (int i = 0; i < N; i++)
        if (values[i] != first + i) {
            printf("%s: value %d is %d, not %d\n", what, i, values[i], first + i);
            wrong++;
            return;
        }
}

static void fill(int *on_gpu, int first)
{
    for (int i = 0; i < N; i++)
        values[i] = first + i;
    device_write(on_gpu, values, sizeof values);
}

/* Every rank of one side sends to its like on the other; then a broadcast to all. */
static void talk(MPI_Comm others, int rank, int partner, int child)
{
    int *on_gpu = device_alloc(sizeof values);
    MPI_Comm all;

    if (partner >= 0) {
        fill(on_gpu, 1000 * child + rank);
        MPI_Sendrecv_replace(on_gpu, N, MPI_INT, partner, 3, partner, 3, others, MPI_STATUS_IGNORE);
        device_read(values, on_gpu, sizeof values);
        check(1000 * !child + partner, child ? "from a parent" : "from a child");
    }
    MPI_Intercomm_merge(others, child, &all);
    fill(on_gpu, child || rank ? 0 : 7);
    MPI_Bcast(on_gpu, N, MPI_INT, 0, all);
    device_read(values, on_gpu, sizeof values);
    check(7, "a broadcast");
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
    device_free(on_gpu);
}

static MPI_Comm start(char *self, int several)
{
    char *first[] = {"a child", "1", NULL}, *second[] = {"a child", "2", NULL};
    char *commands[] = {self, self}, **argvs[] = {first, second};
    const int counts[] = {1, CHILDREN - 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm children;

    if (several)
        MPI_Comm_spawn_multiple(2, commands, argvs, counts, infos, 0, MPI_COMM_WORLD, &children,
                                MPI_ERRCODES_IGNORE);
    else
        MPI_Comm_spawn(self, first, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE);
    return children;
}

static void start_nothing(void)
{
    MPI_Comm children = MPI_COMM_NULL;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_spawn("no-such-program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL) {
        if (argc != 3 || strcmp(argv[1], "a child") != 0)
            wrong++;
        MPI_Comm_remote_size(parents, &size);
        talk(parents, rank, rank < size ? rank : MPI_PROC_NULL, 1);
        MPI_Comm_disconnect(&parents);
        MPI_Finalize();
        return 0;
    }
    for (int several = 0; several < 2 && argc != 2; several++) {
        MPI_Comm children = start(argv[argc - 1], several);

        talk(children, rank, rank < CHILDREN ? rank : MPI_PROC_NULL, 0);
        MPI_Comm_disconnect(&children);
    }
    if (argc == 2)
        start_nothing();
    if (rank == 0)
        printf("%d ranks have had children: %d are wrong\n", size, wrong);
    MPI_Finalize();
    return wrong != 0;
}
