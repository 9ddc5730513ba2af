/* GPUBIND_COLLECTIVES: the ways that collectives with GPU memory may go. */
#ifndef GPUBIND_AWARE_COLL_WAYS_H
#define GPUBIND_AWARE_COLL_WAYS_H

#include <stdbool.h>

struct coll_ways {
    bool messages; /* data that is moved: as direct messages */
    bool nccl;     /* reductions: by NCCL, where it is there */
    bool at_once;  /* NCCL is started by the first of them */
};

/* auto is all but at_once, as is a value that is none, of which a sentence on stderr tells. staged is none,
 * everything goes through host memory; so it is, too, where a profiler stands behind this library, which
 * would not see calls that do not reach MPI. */
struct coll_ways coll_ways(void);
/* As a number, which ranks compare; 0: none. */
unsigned coll_ways_word(void);

#endif
