/* What the parts of the soak test share. All ranks draw the same numbers, and check every byte. */
#ifndef GPUBIND_TESTS_AWARE_SOAK_H
#define GPUBIND_TESTS_AWARE_SOAK_H

#include "tests/mpi/job.h"

/* A number below, a size in bytes, a kind of memory. */
unsigned draw(unsigned below);
uint64_t draw_seed(void);
size_t draw_size(void);
enum memory draw_memory(void);

enum { MESSAGES_MOST = 8, LARGE = 1 << 20 };
extern long nmessages, ncollectives; /* so far */

/* A few of them, of random modes, at once; one. */
void messages(void);
void collective(void);

#endif
