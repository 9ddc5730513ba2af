/* What the tests of messages on streams share. */
#ifndef GPUBIND_TESTS_MPI_ON_STREAM_H
#define GPUBIND_TESTS_MPI_ON_STREAM_H

#include "tests/mpi/job.h"

#define ON_STREAM_LARGEST (3 << 20)

extern struct CUstream_st *blocking, *alone; /* alone: waits for no other stream */
extern struct buffer sent, got, copied;

cuda_address address_of(const struct buffer *buffer);
/* Waits for it, and for its messages. */
void stream_ends(struct CUstream_st *stream);
/* The graph that was captured, to be launched; without one the job is aborted, with the reason. */
struct CUgraphExec_st *graph_captured(struct CUstream_st *stream);
/* In the stream, after a while: to gets what from has. */
void stream_copies(const struct buffer *to, const struct buffer *from, size_t nbytes,
                   struct CUstream_st *stream);

void on_stream_order(void);
void on_stream_matching(void);
void on_stream_strided(void);
void on_stream_errors(void);

#endif
