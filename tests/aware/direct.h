/* What the parts of the test of messages share. All ranks draw the same numbers, and so know what each
 * other rank does. */
#ifndef GPUBIND_TESTS_AWARE_DIRECT_H
#define GPUBIND_TESTS_AWARE_DIRECT_H

#include "tests/mpi/job.h"

enum { TAG = 7, MIB = 1 << 20, LARGEST = 5 * MIB + 5, MIX_FIRST = 1536, MIX_LAST = 4096 };

/* job.plain carries the results and the tokens, this one the messages under test. */
extern MPI_Comm messages;

/* A number below; a kind of memory: of a GPU or any; a size: most are small. */
unsigned draw(unsigned below);
enum memory draw_gpu(void);
enum memory draw_memory(void);
size_t draw_size(void);
uint64_t draw_seed(void);

/* An empty message beside those under test: the rank there has come as far as this. */
void token_to(int rank);
void token_from(int rank);
/* The other ranks may run ahead for so long; no result depends on it. */
void nap(int milliseconds);
/* The first class of result. */
int class_of(int result);

/* ---- where the bytes of a message lie */

enum shape {
    BASIC,
    CONTIGUOUS,
    VECTOR,
    INDEXED,
    STRUCT,
    RESIZED,
    PERMUTED, /* blocks out of order: its size equals its extent */
    BACKWARDS,
    SHAPES
};
enum { RUNS = 16 };

struct layout {
    enum shape shape;
    MPI_Datatype element, type;
    int count;            /* of type */
    size_t origin, span;  /* bytes: where the buffer of a call starts, all */
    size_t nbytes, nruns; /* of the message */
    struct {
        size_t at, nbytes;
    } runs[RUNS]; /* in the order of the message */
};

const char *shape_name(enum shape shape);
void layout_make(struct layout *layout, enum shape shape, MPI_Datatype element, size_t n);
void layout_clear(struct layout *layout);

/* ---- a buffer with that layout */

struct place {
    struct layout layout;
    struct buffer buffer;
    void *at; /* what MPI is given */
};

void place_make(struct place *place, enum memory kind, enum shape shape, MPI_Datatype element,
                size_t n);
void place_clear(struct place *place);
/* All bytes are those of seed where the layout has some, and untouched elsewhere. */
void place_fill(const struct place *place, uint64_t seed);
/* Does it hold the first nbytes of a message of seed, and is all else untouched? */
bool place_holds(const struct place *place, size_t nbytes, uint64_t seed, const char *what);

/* All that a status of nbytes says; those of a receive into layout. */
void status_says(MPI_Status *status, int source, int tag, size_t nbytes,
                 const struct layout *layout, const char *what);

/* Completes all by one of several calls. */
enum { COMPLETIONS = 10 };
const char *completion_name(int how);
void complete(int how, int n, MPI_Request requests[], MPI_Status statuses[]);

/* ---- the parts */

void test_modes(void);
void test_types(void);
void test_probes(void);
void test_probes_behind(void);
void test_lengths(void);
void test_truncation(void);
void test_progress(void);
void test_persistent(void);
void test_wildcards(void);
void test_buffers(void);
void test_rings(void);
void test_lists(void);
void test_comms(void);
void test_layouts(void);
void test_streams(void);
void test_freed_memory(void);
void test_threads(void);
/* In place of them: the program's end, and its status. */
int finalize(void);

#endif
