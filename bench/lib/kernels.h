/* Constants that the kernels share with the host code that launches them. */
#ifndef GPUBIND_BENCH_LIB_KERNELS_H
#define GPUBIND_BENCH_LIB_KERNELS_H

/* Who moves the bytes of bench_put and bench_get. */
enum bench_by { BY_THREAD, BY_WARP, BY_BLOCK, BY_BULK, BY_KINDS };

/* Bulk copies go through a ring of chunks in shared memory. */
#define BULK_PIECE 8192
#define BULK_PIECES 5

/* How bench_ping signals the peer. */
enum bench_ping { PING_SIGNAL, PING_PUT_SIGNAL, PING_RELAXED, PINGS };

/* The access pattern of bench_double. */
enum bench_pattern { PATTERN_TOGETHER, PATTERN_STRIDED, PATTERN_RANDOM, PATTERN_CHAIN, PATTERNS };
#define PATTERN_STRIDE 16        /* elements of 8 bytes */
#define CHAIN_STRIDE 0x9e3779b1u /* odd, so that the chain visits all elements */

#endif
