/* The copy agent: a persistent kernel that copies while streams wait, without a call of the
 * driver.
 *
 * While a stream of the application waits for the library, the application may sit in a
 * call of the driver that waits for that stream: a synchronous copy, cudaFree, the first
 * launch of a kernel. Such a call keeps a lock of the context, and every copy, launch and
 * event of other threads waits for it; so the library's thread could not move the data that
 * the stream waits for (driver 580, two H200; see README.md for which calls these are).
 *
 * Therefore a kernel is launched before the stream is made to wait. It is queued in a
 * stream of the library, behind a wait for a flag in page-locked memory, the doorbell. What is to
 * be copied is posted as a command in page-locked memory; the first command rings the
 * doorbell. The instance exits when nothing is to do and one lies ready for each stream that
 * waits, or none does any more: between messages no multiprocessor is taken, and a call that
 * waits for the whole context is not kept waiting.
 *
 * As long as streams wait, all copies of the library in that context go this way, so that
 * they stay in their order. Calls are made with the library's lock. */
#ifndef GPUBIND_GPU_COPY_COPY_AGENT_H
#define GPUBIND_GPU_COPY_COPY_AGENT_H

#include "gpu/copy/copy_agent_kernel.h"
#include "gpu/core/gpu_context.h"

/* Before a stream of the GPU's context is made to wait (1), and when it goes on (-1). */
void agent_expect(struct gpu *gpu, int more);
/* What would go into that stream is to be posted. Not what waits for the application's work in
 * GPU_PACK. */
bool agent_serves(const struct gpu *gpu, enum gpu_own_stream stream);
/* Posts a job of that kind, nbytes of it; waits for room in the ring. The command's ticket:
 * never 0. */
uint32_t agent_post(struct gpu *gpu, enum agent_kind kind, const void *job, size_t nbytes);
/* The ticket of the latest command; 0: all are done. */
uint32_t agent_latest(const struct gpu *gpu);
/* A kernel can read and write there: GPU memory, or page-locked. */
bool agent_reaches(gpu_address address);
/* 1: done; 0: not yet; -1 with a sentence: the context is no more good. */
int agent_done(struct gpu *gpu, uint32_t ticket, struct gpubind_error *err);
/* Waits for all commands. 0, or -1 with a sentence. */
int agent_drain(struct gpu *gpu, struct gpubind_error *err);
/* So many blocks, before the first hold. */
void agent_set_blocks(unsigned blocks);

#endif
