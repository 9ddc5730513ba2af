/* Processes that come and go: nothing of the communicators with them stays behind. For two
 * ranks. The library's shared memory is told by its name, memfd:gpubind. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 300000
#define ROUNDS 4
#define CHILDREN 2

static bool is_segment(const char *name)
{
    return strstr(name, "memfd:gpubind (") || strstr(name, "/dev/shm/gpubind.");
}

static int segments(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[600];
    int n = 0;

    while (maps && fgets(line, sizeof line, maps))
        n += is_segment(line);
    if (maps)
        fclose(maps);
    return n;
}

static int descriptors(void)
{
    char path[40], name[600];
    int n = 0;

    for (int fd = 0; fd < 1000; fd++) {
        ssize_t length;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        length = readlink(path, name, sizeof name - 1);
        name[length < 0 ? 0 : length] = '\0';
        n += is_segment(name);
    }
    return n;
}

/* Small messages by the slots, large ones by mappings or lanes; each to the next rank. */
static void ring(MPI_Comm comm, size_t nbytes, bool release)
{
    int rank, size, last;
    struct buffer out, in;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    last = (rank + size - 1) % size;
    need_filled(&out, MEMORY_DEVICE, nbytes, (uint64_t)rank);
    need_buffer(&in, MEMORY_DEVICE, nbytes);
    succeeds(gpubind_sendrecv(out.at, (int)nbytes, MPI_BYTE, (rank + 1) % size, 1, in.at,
                              (int)nbytes, MPI_BYTE, last, 1, comm, MPI_STATUS_IGNORE),
             "sendrecv");
    received(&in, nbytes, (uint64_t)last, "from the last rank");
    if (release) {
        gpubind_release(out.at);
        gpubind_release(in.at);
    }
    buffer_clear(&out);
    buffer_clear(&in);
}

/* merged is freed while a communicator of some of its ranks lives on. */
static void pass(MPI_Comm merged)
{
    int rank;
    MPI_Comm half;

    MPI_Comm_rank(merged, &rank);
    ring(merged, BYTES, true);
    ring(merged, 100, false);
    ring(merged, BYTES, false);
    MPI_Comm_split(merged, rank % CHILDREN, rank, &half);
    MPI_Comm_free(&merged);
    ring(half, BYTES, false);
    MPI_Comm_free(&half);
}

static void *ring_in_a_thread(void *argument)
{
    if (gpu_count)
        gpu_use(job.local % gpu_count);
    ring(*(MPI_Comm *)argument, 100, false);
    return NULL;
}

/* Two threads begin to use two communicators, some ranks the one first, and others the other. */
static void in_another_order(MPI_Comm inter, int high)
{
    MPI_Comm both[2];
    pthread_t thread;
    int rank;

    for (int i = 0; i < 2; i++)
        MPI_Intercomm_merge(inter, high, &both[i]);
    MPI_Comm_rank(both[0], &rank);
    pthread_create(&thread, NULL, ring_in_a_thread, &both[rank % 2]);
    ring_in_a_thread(&both[(rank + 1) % 2]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&both[i]);
}

static void end_child(MPI_Comm parent)
{
    MPI_Comm merged;

    if (job.threads == MPI_THREAD_MULTIPLE)
        in_another_order(parent, 1);
    MPI_Intercomm_merge(parent, 1, &merged);
    pass(merged);
    MPI_Comm_disconnect(&parent);
    gpu_end();
    MPI_Comm_free(&job.plain);
    MPI_Finalize();
    exit(0);
}

static MPI_Comm spawn(void)
{
    char program[500] = "", name[] = "spawn", *args[] = {name, NULL};
    MPI_Comm inter;

    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        abort();
    MPI_Comm_spawn(program, args, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    return inter;
}

/* What is left of the round goes with later calls, when the children have let go. */
static void settle(int before)
{
    for (int i = 0; i < 2000 && segments() > before; i++) {
        gpubind_progress();
        usleep(10000);
    }
}

void test_spawn(void)
{
    int before, opened;
    MPI_Comm parent, inter, merged;

    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        end_child(parent);
    ring(MPI_COMM_WORLD, BYTES, false);
    before = segments();
    opened = descriptors();
    for (int round = 0; round < ROUNDS; round++) {
        job_test("MPI_Comm_spawn");
        inter = spawn();
        if (job.threads == MPI_THREAD_MULTIPLE) {
            job_test("threads begin with two communicators in another order: round %d", round);
            in_another_order(inter, 0);
            job_result();
        }
        job_test("spawn, merge, pass messages, free: round %d", round);
        MPI_Intercomm_merge(inter, 0, &merged);
        pass(merged);
        MPI_Comm_disconnect(&inter);
        settle(before);
        is_int(segments(), before, "segments of shared memory");
        ring(MPI_COMM_WORLD, BYTES, false);
        is_int(descriptors(), opened, "their descriptors");
        job_result();
    }
}
