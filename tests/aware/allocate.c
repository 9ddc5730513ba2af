/* MPI_Win_allocate with GPU memory: calls to it. Rank 0 prints the results.
 *
 *     allocate usual|again [far] */
#include "tests/aware/allocate.h"

/* ---- what MPI tells of a window */

static void *attribute(MPI_Win win, int key)
{
    void *value = NULL;
    int found = 0;

    MPI_Win_get_attr(win, key, &value, &found);
    expect(found, "an attribute of a window");
    return value;
}

static void check_attributes(MPI_Win win, void *base, MPI_Aint nbytes, int unit)
{
    expect(nbytes == 0 || attribute(win, MPI_WIN_BASE) == base, "MPI_WIN_BASE");
    expect(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE) == nbytes, "MPI_WIN_SIZE");
    expect(*(int *)attribute(win, MPI_WIN_DISP_UNIT) == unit, "MPI_WIN_DISP_UNIT");
    expect(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR) == MPI_WIN_FLAVOR_ALLOCATE,
           "MPI_WIN_CREATE_FLAVOR");
    if (far && nbytes > 0 && is_on_gpu(base))
        expect(*(int *)attribute(win, MPI_WIN_MODEL) == MPI_WIN_SEPARATE, "MPI_WIN_MODEL");
}

static void attributes(void)
{
    void *base;
    MPI_Win win;

    for (int i = 0; i < 2; i++) { /* of 1003 bytes, and, on the last rank, none */
        const int unit = i == 0 ? 1 : 4;
        const MPI_Aint nbytes = i == 1 && rank == size - 1 ? 0 : 1003;

        expect(allocate(nbytes, unit, "cuda:device", &base, &win) == MPI_SUCCESS,
               "MPI_Win_allocate");
        expect(nbytes == 0 || is_on_gpu(base), "the memory is the GPU's");
        check_attributes(win, base, nbytes, unit);
        expect(says_gpu(win), "MPI_Win_get_info");
        MPI_Win_free(&win);
    }
    result("what MPI tells of a window");
}

#if MPI_VERSION >= 4
static void large_counts(void)
{
    MPI_Info info = info_of(KINDS, "cuda:device");
    char *base;
    MPI_Win win;

    MPI_Win_allocate_c(100, 5, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    expect(is_on_gpu(base), "the memory is the GPU's");
    check_attributes(win, base, 100, 5);
    MPI_Win_free(&win);
    result("MPI_Win_allocate_c");
}
#else
static void large_counts(void)
{
    if (rank == 0)
        tap_skip("MPI_Win_allocate_c", "this MPI has none");
}
#endif

/* ---- calls */

static void fences(void)
{
    MPI_Win win;
    double *memory = allocate_doubles("cuda:device", &win), *buffer = device_alloc(N * 8);

    write_doubles(memory, rank, 1);
    write_doubles(buffer, 1e4 * rank, 1);
    MPI_Win_fence(0, win);
    MPI_Put(buffer, N / 2, MPI_DOUBLE, next, 0, N / 2, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    expect(has_doubles(memory, 0, N / 2, 1e4 * before, 1), "a put");
    expect(has_doubles(memory, N / 2, N / 2, rank + N / 2, 1), "what was not put");
    MPI_Win_fence(0, win);
    MPI_Accumulate(buffer, N / 2, MPI_DOUBLE, next, 0, N / 2, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(0, win);
    expect(has_doubles(memory, 0, N / 2, 2e4 * before, 2), "an accumulate");
    MPI_Get(buffer, N / 2, MPI_DOUBLE, next, N / 2, N / 2, MPI_DOUBLE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    expect(has_doubles(buffer, 0, N / 2, next + N / 2, 1), "a get");
    MPI_Win_free(&win);
    device_free(buffer);
    result("put, accumulate and get between fences");
}

/* All ranks add to the first number of rank 0's memory, and one of them replaces the second one. */
static void locks(void)
{
    const int rounds = 20;
    MPI_Win win;
    double *memory = allocate_doubles("cuda:device", &win), one = 1, was = -1;
    int64_t number = rank + 1, zero = 0, found = -1;
    int won, winners;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    write_doubles(memory, 0, 0);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < rounds; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Fetch_and_op(&one, &was, MPI_DOUBLE, 0, 0, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        expect(was >= i && was < size * rounds, "MPI_Fetch_and_op");
    }
    MPI_Win_lock_all(0, win);
    MPI_Compare_and_swap(&number, &zero, &found, MPI_INT64_T, 0, 1, win);
    MPI_Win_flush(0, win);
    MPI_Win_unlock_all(win);
    won = found == 0;
    MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(winners == 1, "MPI_Compare_and_swap");
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    expect(rank > 0 || has_doubles(memory, 0, 1, size * rounds, 0), "the sum");
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
    result("locks, MPI_Fetch_and_op, MPI_Compare_and_swap");
}

static void posts(void)
{
    MPI_Win win;
    double *memory = allocate_doubles("cuda:device", &win), value = 7 + rank;
    MPI_Group all, to, from;

    write_doubles(memory, 0, 0);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &next, &to);
    MPI_Group_incl(all, 1, &before, &from);
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Put(&value, 1, MPI_DOUBLE, next, 5, 1, MPI_DOUBLE, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    expect(has_doubles(memory, 5, 1, 7 + before, 0), "a put");
    MPI_Group_free(&all);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Win_free(&win);
    result("MPI_Win_post and MPI_Win_start");
}

/* Lengths that are no multiples of a word: MPI may put the memory of the next rank behind the last byte. The rank
 * before writes the odd bytes, the rank itself the even ones. In one put: fences of MPICH 4.0 over several nodes
 * return before hundreds of puts have arrived, of host memory, too. */
static void odd_lengths(void)
{
    const int mine = 1003 + 5 * rank, theirs = 1003 + 5 * next;
    unsigned char *memory, host[4096], value[4096];
    MPI_Datatype odd;
    MPI_Win win;

    MPI_Type_vector(theirs / 2, 1, 2, MPI_BYTE, &odd);
    MPI_Type_commit(&odd);
    expect(allocate(mine, 1, "cuda:device", &memory, &win) == MPI_SUCCESS, "MPI_Win_allocate");
    for (int round = 1; round < 4; round++) {
        device_read(host, memory, (size_t)mine);
        for (int i = 0; i < mine; i += 2)
            host[i] = (unsigned char)(rank * 50 + round * 7 + i);
        device_write(memory, host, (size_t)mine);
        MPI_Win_fence(0, win);
        for (int i = 1; i < theirs; i += 2)
            value[i] = (unsigned char)(next * 50 + round * 7 + i);
        MPI_Put(&value[1], 1, odd, next, 1, 1, odd, win);
        MPI_Win_fence(0, win);
        device_read(host, memory, (size_t)mine);
        for (int i = 0; i < mine; i++)
            expect(host[i] == (unsigned char)(rank * 50 + round * 7 + i), "a byte");
    }
    MPI_Type_free(&odd);
    MPI_Win_free(&win);
    result("lengths that are no multiples of a word");
}

static void some_ranks(void)
{
    MPI_Win win;
    double *memory = allocate_doubles(rank == 0 ? "cuda:device" : NULL, &win), value = 3 + rank;

    expect(is_on_gpu(memory) == (rank == 0), "whose memory is the GPU's");
    expect(rank > 0 || says_gpu(win), "MPI_Win_get_info");
    check_attributes(win, memory, N * 8, 8);
    write_doubles(memory, 0, 0);
    MPI_Win_fence(0, win);
    for (int i = 0; i < size; i++)
        MPI_Put(&value, 1, MPI_DOUBLE, i, rank, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    expect(has_doubles(memory, 0, size, 3, 1), "puts to memory of both kinds");
    MPI_Win_free(&win);
    result("one rank alone asks for GPU memory");
}

static void alone(void)
{
    MPI_Info info = info_of(KINDS, "cuda:device");
    double *memory, value = 5;
    MPI_Win win;

    MPI_Win_allocate(N * 8, 8, info, MPI_COMM_SELF, &memory, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&value, 1, MPI_DOUBLE, 0, 2, 1, MPI_DOUBLE, win);
    MPI_Win_unlock(0, win);
    expect(is_on_gpu(memory) && has_doubles(memory, 2, 1, 5, 0), "a put to itself");
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    result("on MPI_COMM_SELF");
}

/* ---- freeing */

static const void *freed_base;
static int ncalled;

static int is_deleted(MPI_Win win, int key, void *value, void *extra)
{
    (void)win, (void)key, (void)value, (void)extra;
    ncalled++;
    expect(is_on_gpu(freed_base), "the memory is there in a callback");
    return MPI_SUCCESS;
}

static void freed(void)
{
    MPI_Win win;
    double *memory = allocate_doubles("cuda:device", &win);
    int key;

    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, is_deleted, &key, NULL);
    MPI_Win_set_attr(win, key, NULL);
    freed_base = memory;
    MPI_Win_free(&win);
    MPI_Win_free_keyval(&key);
    expect(ncalled == 1 && !is_on_gpu(memory), "the memory is free");
    result("the memory is freed behind the callbacks");
}

/* As much as a simulated GPU has, several times. */
static void again(void)
{
    const MPI_Aint nbytes = 64 << 20;
    double *base, value = 1;
    MPI_Win win;

    for (int i = 0; i < 40 && !wrong; i++) {
        if (allocate(nbytes, 8, "cuda:device", &base, &win) != MPI_SUCCESS) {
            expect(false, "MPI_Win_allocate");
            break;
        }
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Put(&value, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, win);
        MPI_Win_unlock(next, win);
        MPI_Win_free(&win);
    }
    result("windows that are freed, again and again");
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    device_start();
    if (argc > 1 && strcmp(argv[1], "again") == 0) {
        again();
    } else {
        attributes();
        large_counts();
        fences();
        locks();
        posts();
        odd_lengths();
        some_ranks();
        alone();
        freed();
    }
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
