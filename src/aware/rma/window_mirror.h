/* A rank's GPU memory in a window whose ranks are not all within each other's reach: on several nodes. MPI is
 * given host memory of the same size, the mirror, and so all of its calls hold. That is the separate memory
 * model (MPI 4.1, 12.7): the mirror is the public copy, the GPU memory the private one, and what is
 * synchronised is this rank's alone. No other rank knows of it.
 *
 * Programs store to a part of their memory while others put into another part, so neither copy may replace the
 * other as a whole. A snapshot has what both had when they were last compared: a byte of the GPU memory that
 * differs from it was stored by the application, a byte of the mirror by other ranks. Where both differ, the
 * program is wrong, and the application's byte stays.
 *
 * Other ranks may write to the mirror while it is compared. Nothing is lost thereby: each word of the mirror is
 * read once, and what was read goes to the GPU memory and into the snapshot, so that what comes later, if only
 * the other half of a number, differs from the snapshot the next time. And in the mirror no byte is written
 * that the application has not stored.
 *
 * Where a copy to GPU memory has failed, what others have written may be lost.
 *
 * Each int is an MPI error class, and there is a sentence on stderr. Any thread may call these. */
#ifndef GPUBIND_AWARE_WINDOW_MIRROR_H
#define GPUBIND_AWARE_WINDOW_MIRROR_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct window_mirror;

/* Of GPU memory, which is copied. On failure *made is NULL. */
int window_mirror_make(struct window_mirror **made, void *gpu, size_t nbytes);
/* The same of GPU memory that has no content yet, and will have 0: for memory of MPI's that is not there yet, */
int window_mirror_prepare(struct window_mirror **made, void *gpu, size_t nbytes);
/* until it is: of window_mirror_room bytes, some of which other ranks may already have written. */
int window_mirror_begin(struct window_mirror *mirror, void *memory);
size_t window_mirror_room(size_t nbytes);
/* Not before MPI has freed the window. NULL does nothing. */
void window_mirror_free(struct window_mirror *mirror);
/* What MPI is given. */
void *window_mirror_memory(const struct window_mirror *mirror);

/* Before MPI's synchronisation: the application's stores go to the mirror. Reads all of the GPU memory. */
int window_mirror_publish(struct window_mirror *mirror);
/* After it: what other ranks have written, up to now, goes to GPU memory. Reads the GPU memory around it. */
int window_mirror_receive(struct window_mirror *mirror);
/* The same while others may be writing: what they wrote before something that arrives has arrived, too. */
int window_mirror_catch_up(struct window_mirror *mirror);
/* Once of what that does up to so many times; *any: set where something had been written. */
#define WINDOW_MIRROR_ROUNDS 100
int window_mirror_look(struct window_mirror *mirror, bool *any);

#endif
