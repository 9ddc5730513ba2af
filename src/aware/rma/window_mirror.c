#include "aware/rma/window_mirror.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "aware/memory/gpu_buffer.h"
#include "aware/memory/gpu_memory.h"
#include "aware/memory/host_pool.h"

/* In words of 8 bytes. */
#define PIECE ((size_t)65536) /* is read at once */
#define BLOCK ((size_t)256)   /* is compared at once */
#define GAP ((size_t)7)       /* between words to be written, at most, that is written with them */
#define WORD sizeof(uint64_t)

/* All memory is used by words: what lies behind the last byte in its word is 0. The mirror begins with a page,
 * wherever the GPU memory does: MPICH 4.0 takes the start of a window for that of 16 bytes that it lies in. */
struct window_mirror {
    char *gpu;
    size_t nbytes, n; /* of it, and words */
    bool own;         /* memory is the library's, not MPI's */
    _Atomic uint64_t *memory;
    uint64_t *known; /* the snapshot */
    pthread_mutex_t lock;
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- copies between GPU memory and words that stand for it */

static gpu_address address_of(const struct window_mirror *mirror, size_t at)
{
    return (gpu_address)(uintptr_t)mirror->gpu + at * WORD;
}

/* Bytes of the words, as far as they stand for GPU memory. */
static size_t bytes_of(const struct window_mirror *mirror, size_t at, size_t n)
{
    return smaller(n * WORD, mirror->nbytes - at * WORD);
}

/* Until await: n words from the one at on. */
static int read_words(const struct window_mirror *mirror, uint64_t *words, size_t at, size_t n)
{
    const struct rows rows = {
        address_of(mirror, at), (char *)words, bytes_of(mirror, at, n), 1, 0, 0, false};

    words[n - 1] = 0;
    return buffer_copy_rows(&rows, true);
}

static int await(const struct window_mirror *mirror)
{
    return buffer_wait(address_of(mirror, 0));
}

/* Runs of words that are to be written. Equal ones at equal distances, as the column of a matrix is, are
 * written together. */
struct runs {
    const struct window_mirror *mirror;
    uint64_t *words; /* of which the first is this one of all */
    size_t at;
    size_t from, to; /* the last run, if to > 0 */
    struct rows rows;
    gpu_address row; /* the last of them */
    bool any;
    int status;
};

static void write_rows(struct runs *runs)
{
    if (runs->rows.n > 0 && runs->status == 0)
        runs->status = buffer_copy_rows(&runs->rows, false);
    runs->rows.n = 0;
}

/* The last run has ended. */
static void end_run(struct runs *runs)
{
    const gpu_address gpu = address_of(runs->mirror, runs->from);
    const int64_t stride = (int64_t)(gpu - runs->row);
    struct rows *rows = &runs->rows;
    size_t nbytes;

    if (runs->to == 0)
        return;
    nbytes = bytes_of(runs->mirror, runs->from, runs->to - runs->from);
    runs->to = 0;
    runs->row = gpu;
    if (rows->n > 0 && rows->nbytes == nbytes && (rows->n == 1 || rows->gpu_stride == stride)) {
        rows->gpu_stride = rows->host_stride = stride;
        rows->n++;
        return;
    }
    write_rows(runs);
    *rows = (struct rows){gpu, (char *)&runs->words[runs->from - runs->at], nbytes, 1, 0, 0, false};
}

/* Words are added in their order. */
static void add_word(struct runs *runs, size_t at)
{
    if (runs->to > 0 && at > runs->to + GAP)
        end_run(runs);
    if (runs->to == 0)
        runs->from = at;
    runs->to = at + 1;
    runs->any = true;
}

static int end_runs(struct runs *runs)
{
    end_run(runs);
    write_rows(runs);
    return runs->status;
}

/* ---- comparisons */

/* 0xff in each byte in which they differ. */
static uint64_t unlike(uint64_t a, uint64_t b)
{
    uint64_t bits = a ^ b;

    bits |= bits >> 4;
    bits |= bits >> 2;
    bits |= bits >> 1;
    return (bits & 0x0101010101010101) * 0xff;
}

/* Those bytes of the word at once, and no others: another rank may be writing there. */
static void write_bytes(_Atomic uint64_t *to, uint64_t word, uint64_t bytes)
{
    uint64_t now = atomic_load_explicit(to, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(to, &now, (now & ~bytes) | (word & bytes),
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* n words that GPU memory has from the one at on. */
static void take_stores(struct window_mirror *mirror, const uint64_t *gpu, size_t at, size_t n)
{
    uint64_t *known = mirror->known + at;

    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t end = smaller(first + BLOCK, n);

        if (memcmp(gpu + first, known + first, (end - first) * WORD) == 0)
            continue;
        for (size_t i = first; i < end; i++) {
            const uint64_t bytes = unlike(gpu[i], known[i]);

            if (bytes)
                write_bytes(&mirror->memory[at + i], gpu[i], bytes);
            known[i] = (known[i] & ~bytes) | (gpu[i] & bytes);
        }
    }
}

/* Other ranks may have written to these words. */
static bool is_updated(const struct window_mirror *mirror, size_t at, size_t n)
{
    return memcmp((const void *)(mirror->memory + at), mirror->known + at, n * WORD) != 0;
}

/* What other ranks have written goes into n words that GPU memory has, from the one at on, and the runs. */
static void take_updates(struct window_mirror *mirror, uint64_t *gpu, size_t at, size_t n,
                         struct runs *runs)
{
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t end = smaller(first + BLOCK, n);

        if (!is_updated(mirror, at + first, end - first))
            continue;
        for (size_t i = first; i < end; i++) {
            const uint64_t theirs = atomic_load_explicit(&mirror->memory[at + i],
                                                         memory_order_relaxed);
            uint64_t *known = &mirror->known[at + i];
            const uint64_t bytes = unlike(theirs, *known) & ~unlike(gpu[i], *known);

            if (!bytes)
                continue;
            gpu[i] = (gpu[i] & ~bytes) | (theirs & bytes);
            *known = (*known & ~bytes) | (theirs & bytes);
            add_word(runs, at + i);
        }
    }
}

/* ---- synchronisation */

static int take_room(const struct window_mirror *mirror, struct host_block *room, size_t n)
{
    if (host_take(room, smaller(n, mirror->n) * WORD, mirror->gpu))
        return MPI_SUCCESS;
    fprintf(stderr, "gpubind: out of memory for the synchronisation of a window\n");
    return MPI_ERR_NO_MEM;
}

/* The next piece is read while one is compared. */
static int publish(struct window_mirror *mirror, uint64_t *room)
{
    int status = read_words(mirror, room, 0, smaller(PIECE, mirror->n));

    for (size_t at = 0; status == 0 && at < mirror->n; at += PIECE) {
        uint64_t *words = room + (at / PIECE % 2 ? PIECE : 0);
        uint64_t *others = room + (at / PIECE % 2 ? 0 : PIECE);
        const size_t next = at + PIECE;

        status = await(mirror);
        if (status == 0 && next < mirror->n)
            status = read_words(mirror, others, next, smaller(PIECE, mirror->n - next));
        if (status == 0)
            take_stores(mirror, words, at, smaller(PIECE, mirror->n - at));
    }
    return status;
}

int window_mirror_publish(struct window_mirror *mirror)
{
    struct host_block room;
    int result = take_room(mirror, &room, 2 * PIECE);

    if (result != MPI_SUCCESS)
        return result;
    pthread_mutex_lock(&mirror->lock);
    if (publish(mirror, room.at) < 0)
        result = MPI_ERR_BUFFER;
    pthread_mutex_unlock(&mirror->lock);
    host_give(&room);
    return result;
}

/* In up to n words, from the one at on. */
static int receive_piece(struct window_mirror *mirror, uint64_t *room, size_t at, size_t n,
                         bool *any)
{
    size_t end = at + n;
    struct runs runs = {.mirror = mirror, .words = room};

    while (at < end && !is_updated(mirror, at, smaller(BLOCK, end - at)))
        at += BLOCK;
    if (at >= end)
        return 0;
    while (end > at + BLOCK && !is_updated(mirror, end - BLOCK, BLOCK))
        end -= BLOCK;
    runs.at = at;
    if (read_words(mirror, room, at, end - at) < 0 || await(mirror) < 0)
        return -1;
    take_updates(mirror, room, at, end - at, &runs);
    if (!runs.any)
        return 0;
    *any = true;
    return end_runs(&runs) < 0 || await(mirror) < 0 ? -1 : 0;
}

int window_mirror_look(struct window_mirror *mirror, bool *any)
{
    struct host_block room;
    int result = take_room(mirror, &room, PIECE);

    if (result != MPI_SUCCESS)
        return result;
    pthread_mutex_lock(&mirror->lock);
    atomic_thread_fence(memory_order_acquire); /* what is read now comes after the round before */
    for (size_t at = 0; at < mirror->n && result == MPI_SUCCESS; at += PIECE)
        if (receive_piece(mirror, room.at, at, smaller(PIECE, mirror->n - at), any) < 0)
            result = MPI_ERR_BUFFER;
    pthread_mutex_unlock(&mirror->lock);
    host_give(&room);
    return result;
}

int window_mirror_receive(struct window_mirror *mirror)
{
    bool any;

    return window_mirror_look(mirror, &any);
}

/* A flag may be read, and arrive, that was put after data that had not come yet when its place was looked at.
 * So all is looked at again, until nothing new is found: then the snapshot is what the mirror had at one time.
 * Where others write without end, there is an end. */
int window_mirror_catch_up(struct window_mirror *mirror)
{
    int result = MPI_SUCCESS;
    bool any = true;

    for (int round = 0; round < WINDOW_MIRROR_ROUNDS && any && result == MPI_SUCCESS; round++) {
        any = false;
        result = window_mirror_look(mirror, &any);
    }
    return result;
}

/* ---- making one */

static void *map(size_t nbytes)
{
    void *at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    madvise(at, nbytes, MADV_HUGEPAGE); /* the system may not have them */
    return at;
}

static int refuse(size_t nbytes, const char *times)
{
    fprintf(stderr,
            "gpubind: a window over several nodes: out of memory for %zu bytes of the host's in "
            "place of the GPU's%s\n",
            nbytes, times);
    return MPI_ERR_NO_MEM;
}

/* With a snapshot, and no memory yet. NULL: out of memory. */
static struct window_mirror *make(void *gpu, size_t nbytes)
{
    struct window_mirror *mirror = calloc(1, sizeof *mirror);

    if (!mirror)
        return NULL;
    mirror->gpu = gpu;
    mirror->nbytes = nbytes;
    mirror->n = (nbytes + WORD - 1) / WORD;
    mirror->known = map(mirror->n * WORD);
    pthread_mutex_init(&mirror->lock, NULL);
    if (mirror->known)
        return mirror;
    window_mirror_free(mirror);
    return NULL;
}

int window_mirror_make(struct window_mirror **made, void *gpu, size_t nbytes)
{
    struct window_mirror *mirror = make(gpu, nbytes);
    int result;

    *made = NULL;
    if (mirror) {
        mirror->own = true;
        mirror->memory = map(mirror->n * WORD);
    }
    if (mirror && mirror->memory)
        result = window_mirror_publish(mirror); /* both have 0 */
    else
        result = refuse(nbytes, ", twice");
    if (result != MPI_SUCCESS)
        window_mirror_free(mirror);
    else
        *made = mirror;
    return result;
}

int window_mirror_prepare(struct window_mirror **made, void *gpu, size_t nbytes)
{
    *made = make(gpu, nbytes);
    return *made ? MPI_SUCCESS : refuse(nbytes, "");
}

/* MPICH 4.0 puts the memory of the next rank of the node directly behind, and takes the start of that for one of
 * 16 bytes, too. */
size_t window_mirror_room(size_t nbytes)
{
    const size_t line = 64;

    return (nbytes + line - 1) / line * line;
}

/* The snapshot has 0, as the GPU memory will: what others have written differs. */
int window_mirror_begin(struct window_mirror *mirror, void *memory)
{
    struct gpubind_error err;

    if ((uintptr_t)memory % WORD) {
        fprintf(
            stderr,
            "gpubind: MPI_Win_allocate: MPI gives memory that does not begin with a word, and so it "
            "cannot stand for the GPU's: the other ranks' sizes are to be multiples of 16\n");
        return MPI_ERR_OTHER;
    }
    if (gpu_memory_clear(mirror->gpu, mirror->nbytes, &err) < 0) {
        fprintf(stderr, "gpubind: MPI_Win_allocate: GPU memory of a window: %s\n", err.text);
        return MPI_ERR_OTHER;
    }
    mirror->memory = memory;
    return window_mirror_receive(mirror);
}

void window_mirror_free(struct window_mirror *mirror)
{
    if (!mirror)
        return;
    if (mirror->own && mirror->memory)
        munmap((void *)mirror->memory, mirror->n * WORD);
    if (mirror->known)
        munmap(mirror->known, mirror->n * WORD);
    pthread_mutex_destroy(&mirror->lock);
    free(mirror);
}

void *window_mirror_memory(const struct window_mirror *mirror)
{
    return (void *)(uintptr_t)mirror->memory;
}
