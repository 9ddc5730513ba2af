/* What the parts of the test of large collectives share: a call is made with buffers of any memory, and with
 * host memory, and must leave the same bytes in both. All ranks draw the same numbers. */
#ifndef GPUBIND_TESTS_AWARE_LARGE_H
#define GPUBIND_TESTS_AWARE_LARGE_H

#include "tests/mpi/job.h"

enum { TAG = 11, RANKS_MOST = 8, STEP = 32, KIB = 1024 };

/* A number below; a size of a block; either is the same on all ranks. */
unsigned draw(unsigned below);
size_t draw_size(void);
uint64_t draw_seed(void);
/* The other ranks may run ahead for so long; no result depends on it. */
void nap(int milliseconds);

/* ---- elements, and types that hold several of them */

enum values { INTS, LONGS, FLOATS, REALS, DOUBLES, BYTES, LONG_DOUBLES, PAIRS, SQUARES, GAPPED };

struct element {
    const char *name;
    enum values values;
    MPI_Datatype type;
    size_t extent;
};

/* divide elements are one of type. */
struct form {
    MPI_Datatype type;
    size_t extent;
    int divide;
};

void types_make(void);
void types_clear(void);
const struct element *element_of(enum values values);
/* Small numbers: sums and products are exact in any order. */
void fill_values(char *bytes, size_t nbytes, enum values values, uint64_t seed);
/* What no operation defines. */
void clear_padding(char *bytes, size_t nbytes, enum values values);
enum { FORMS = 4 };
/* Of ints: each other, four together, and two with gaps. */
struct form form_of_ints(unsigned which);
struct form form_of(const struct element *element);

struct reduction {
    enum values values;
    const char *name;
    MPI_Op op;
};
extern struct reduction reductions[];
extern const unsigned nreductions;

/* ---- calls */

enum operation {
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    MOVED, /* the following compute */
    REDUCE = MOVED,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    OPERATIONS
};

struct call {
    enum operation operation;
    MPI_Comm comm;
    int rank, size, root;
    int n;          /* elements of a block: a multiple of STEP */
    unsigned shift; /* who has which part of it in the functions with counts */
    const struct element *element;
    struct form out, in;
    const struct reduction *reduction;
    bool in_place;
    uint64_t seed;
    enum memory from, to; /* of this rank's buffers */
};

const char *operation_name(enum operation operation);
/* Takes comm, rank and size; a block of about nbytes of element, root 0, host memory. */
struct call call_of(enum operation operation, MPI_Comm comm, const struct element *element,
                    size_t nbytes);
/* Some call that all ranks draw alike: any operation, element, place and root. */
struct call draw_call(MPI_Comm comm, size_t nbytes);
/* The bytes of either of its buffers. */
size_t call_room(const struct call *call);
/* The call itself. out and in are buffers of call_room. */
int call_make(const struct call *call, char *out, char *in);
/* Zeroes what the standard leaves undefined in such a buffer after the call. */
void call_mask(const struct call *call, char *in);
/* Makes the call with call->from and call->to and with host memory, and compares all bytes. */
void call_check(const struct call *call);

/* ---- the parts */

void test_moved(void);
void test_reduced(void);
void test_neighbours(void);
void test_pass(void);
void test_comms(void);
void test_attributes(void);
void test_inter(void);
void test_ahead(void);
void test_progress(void);
void test_wildcards(void);
void test_pending(void);
void test_threads(void);
void test_streams(void);
void test_errors(void);

#endif
