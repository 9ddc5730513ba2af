/* A test that all ranks of a job do together: each rank notes its faults, rank 0 prints
 * one line of TAP for all of them. What is under way has a name, which is said of a
 * rank that hangs. */
#ifndef GPUBIND_TESTS_MPI_JOB_H
#define GPUBIND_TESTS_MPI_JOB_H

#include <mpi.h>
#include <stdbool.h>

#include "gpubind.h"
#include "tests/mpi/gpu.h"

struct job {
    int rank, size;
    int local;      /* the rank's number on its node */
    int threads;    /* what MPI provides */
    MPI_Comm plain; /* for the tests' own messages, never used with the library */
};

extern struct job job;

/* How long a part may take: $TEST_SECONDS, or so many; $TEST_PATIENCE times as long. */
unsigned job_seconds(unsigned otherwise);
/* MPI_Init with at least threads ($TEST_MULTIPLE: MPI_THREAD_MULTIPLE), MPI_ERRORS_RETURN
 * on MPI_COMM_WORLD, gpu_start. The job ends after job_seconds(60). */
void job_start(int threads);
/* The plan, MPI_Finalize. Returns the program's status. */
int job_end(void);

/* The next test, and its name; no test may be under way. */
__attribute__((format(printf, 1, 2))) void job_test(const char *format, ...);
/* Where in it this rank is: said of its first fault, and where it hangs. "" to start with. */
__attribute__((format(printf, 1, 2))) void job_at(const char *format, ...);
/* The faults of this rank in it so far. */
int job_faults(void);
/* Its result. Collective over MPI_COMM_WORLD. */
void job_result(void);
/* Its result, where it cannot be had. Every rank must say so. */
void job_skip(const char *reason);

/* From any thread: good, or else this is a fault of this rank. Returns good. */
__attribute__((format(printf, 2, 3))) bool expect(bool good, const char *format, ...);
/* status is MPI_SUCCESS. */
__attribute__((format(printf, 2, 3))) bool succeeds(int status, const char *format, ...);
/* status, of a library call, is of this error class, and its text has one of these
 * words, which '|' separates, in it; NULL asks for some text. */
bool fails(int status, int class, const char *words, const char *what);
bool is_int(long long got, long long wanted, const char *what);
/* source, tag and bytes of a status; MPI_ANY_TAG and so on are taken literally. */
bool status_is(MPI_Status *status, int source, int tag, MPI_Count nbytes, const char *what);
/* The buffer holds nbytes of seed and nothing was written behind them. */
bool received(const struct buffer *buffer, size_t nbytes, uint64_t seed, const char *what);
/* buffer_make; on failure the program ends. */
void need_buffer(struct buffer *buffer, enum memory kind, size_t nbytes);
/* The same, filled with the bytes of seed. */
void need_filled(struct buffer *buffer, enum memory kind, size_t nbytes, uint64_t seed);

void job_barrier(void);
/* The number that follows in a sequence that state holds: the same on all ranks. */
unsigned random_next(uint64_t *state);

#endif
