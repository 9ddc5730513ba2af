/* MPI_Compare_and_swap on GPU memory: elements of each size, where the kernel compares them and where it does not,
 * with buffers of either kind; and of all ranks to one. Rank 0 prints the results. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define ROOM 64 /* bytes of the window, and of each buffer */

static char *memory, *gpu[3];
static MPI_Win win;

static const struct type {
    MPI_Datatype type;
    const char *name;
    size_t nbytes;
} types[] = {{MPI_BYTE, "MPI_BYTE", 1},         {MPI_INT8_T, "MPI_INT8_T", 1},
             {MPI_INT16_T, "MPI_INT16_T", 2},   {MPI_INT32_T, "MPI_INT32_T", 4},
             {MPI_UINT64_T, "MPI_UINT64_T", 8}, {MPI_C_BOOL, "MPI_C_BOOL", 1},
             {MPI_AINT, "MPI_AINT", 8}};

/* The bytes of both, in the next rank's memory; at: where the element lies; kinds: bit i: buffer i is on the GPU. */
static void check(const struct type *type, size_t at, bool equal, unsigned kinds)
{
    const int target = (rank + 1) % size;
    char host[3][8], there[ROOM], expected[ROOM]; /* of host: what is given, compared, found */
    char *buffers[3];

    for (int i = 0; i < ROOM; i++)
        there[i] = (char)(rand() % 100 + 1);
    memcpy(expected, there, ROOM);
    for (size_t i = 0; i < sizeof host[0]; i++)
        host[0][i] = (char)(there[i] + 1);
    memcpy(host[1], there + at, sizeof host[1]);
    host[1][type->nbytes - 1] ^= (char)(equal ? 0 : 2);
    memset(host[2], 0, sizeof host[2]);
    for (int i = 0; i < 3; i++) {
        buffers[i] = kinds >> i & 1 ? gpu[i] : host[i];
        device_write(gpu[i], host[i], sizeof host[i]);
    }
    if (equal)
        memcpy(expected + at, host[0], type->nbytes);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(there, ROOM, MPI_BYTE, target, 0, ROOM, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    MPI_Compare_and_swap(buffers[0], buffers[1], buffers[2], type->type, target, (MPI_Aint)at, win);
    MPI_Win_flush(target, win);
    if (kinds >> 2 & 1)
        device_read(host[2], gpu[2], sizeof host[2]);
    if (memcmp(host[2], there + at, type->nbytes) != 0 && wrong++ == 0)
        tap_diag("rank %d: %s at %zu: another element was found there", rank, type->name, at);
    MPI_Get(there, ROOM, MPI_BYTE, target, 0, ROOM, MPI_BYTE, win);
    MPI_Win_unlock(target, win);
    if (memcmp(there, expected, ROOM) != 0 && wrong++ == 0)
        tap_diag("rank %d: %s at %zu, %s: it is not what it should be", rank, type->name, at,
                 equal ? "equal" : "not equal");
}

static void each(void)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (size_t at = 0; at < 24; at += at < 8 ? 1 : 8)
            for (unsigned kinds = 0; kinds < 8; kinds += 1 + (at % 8 != 0) * 6)
                for (int equal = 0; equal <= 1; equal++)
                    check(&types[i], at, equal, kinds);
        result(types[i].name);
    }
}

/* Each rank adds 1 so many times, by one comparison after the other, and by sums in between. */
static void all_to_one(void)
{
    const int rounds = 30;
    const int64_t one = 1;
    int64_t count = 0, found, next;

    if (rank == 0)
        device_write(memory, &count, sizeof count);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < rounds; i++) {
        if (i % 3 == 0) {
            MPI_Fetch_and_op(&one, &found, MPI_INT64_T, 0, 0, MPI_SUM, win);
            continue;
        }
        MPI_Fetch_and_op(NULL, &count, MPI_INT64_T, 0, 0, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
        for (;; count = found) {
            next = count + 1;
            MPI_Compare_and_swap(&next, &count, &found, MPI_INT64_T, 0, 0, win);
            MPI_Win_flush(0, win);
            if (found == count)
                break;
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        device_read(&count, memory, sizeof count);
    if (rank == 0 && count != (int64_t)size * rounds && wrong++ == 0)
        tap_diag("%lld in place of %lld", (long long)count, (long long)size * rounds);
    result("all ranks to one");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    memory = device_alloc(ROOM);
    for (int i = 0; i < 3; i++)
        gpu[i] = device_alloc(ROOM);
    srand(1 + (unsigned)rank);
    MPI_Win_create(memory, ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    each();
    all_to_one();
    MPI_Win_free(&win);
    device_free(memory);
    for (int i = 0; i < 3; i++)
        device_free(gpu[i]);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
