/* The copy agent: a persistent kernel that copies while streams wait, without driver calls.
 *
 * While a stream of the application waits for the library, the application may be in a driver call
 * that waits for that stream: a synchronous copy, cudaFree, the first launch of a kernel. Such a
 * call holds a lock of the context, and every copy, launch and event of other threads waits for it;
 * the library's thread could not move the data that the stream waits for (driver 580, two H200;
 * README.md lists these calls).
 *
 * Therefore an instance of the kernel is launched before the first stream is made to wait. It is queued
 * in a stream of the library behind a wait for a flag in page-locked memory, the doorbell. Copies
 * are posted as commands in page-locked memory; the first command rings the doorbell. The instance
 * exits when all commands are done and no stream has waited for AGENT_LINGERS: before the first message it occupies no
 * multiprocessor, and it delays a call that waits for the whole context by no more than that.
 *
 * The driver may put work of different streams into one channel, which the GPU reads in order; it does so with the
 * legacy stream, whose work then waits for the doorbell, too, and with all streams where each channel (gpu->channels)
 * has something that waits. Therefore the instance runs without a command where that stream, or another of the library,
 * has work and the doorbell was not rung for AGENT_HELD; at once where a kernel is to wait in the legacy stream, and
 * where no channel would be left.
 *
 * As long as streams wait, the agent does all copies of the library in that context, which keeps
 * them in order. Callers hold the library's lock. */
#ifndef GPUBIND_GPU_COPY_COPY_AGENT_H
#define GPUBIND_GPU_COPY_COPY_AGENT_H

#include "gpu/copy/copy_agent_kernel.h"
#include "gpu/core/gpu_context.h"

#define AGENT_LINGERS 20e-6 /* seconds */
#define AGENT_HELD 2e-3

/* Before a stream of the GPU's context is made to wait (1), and when it goes on (-1). */
void agent_count_waiting(struct gpu *gpu, int more);
/* After it: the instance is not to wait for the doorbell, since a kernel is to wait in the legacy stream, or the wait
 * occupies one channel too many. */
void agent_run_at_once(const struct gpu *gpu);
/* Before agent_count_waiting: true: it will launch an instance. The thread that makes steps of progress is to be awake
 * then, since the driver may let that launch wait for what another thread waits for, behind the doorbell: */
bool agent_attend(const struct gpu *gpu);
/* by that thread, where it does not get the lock, whose holder may be in such a call: rings the doorbell of the latest
 * instance, or of its launch, after AGENT_HELD. */
void agents_unblock(void);
/* When the last one goes on, the instance stays for some microseconds, since the next one may wait soon, and a launch
 * takes 4 us. Is one to be ended, or to be let run, */
bool agents_need_looks(void);
/* and do it when it is time. */
void agents_look_after(void);
/* true: copies for that stream are to be posted to the agent. Never for GPU_PACK, which waits for
 * work of the application. */
bool agent_serves(const struct gpu *gpu, enum gpu_own_stream stream);
/* Posts a job of nbytes; waits for room in the ring. Returns the command's ticket, never 0. */
uint32_t agent_post(struct gpu *gpu, enum agent_kind kind, const void *job, size_t nbytes);
/* The ticket of the latest command; 0: all are done. */
uint32_t agent_latest(const struct gpu *gpu);
/* A kernel can read and write there: GPU memory, or page-locked. */
bool agent_can_access(gpu_address address);
/* Page-locked memory for copies from and to memory that is not. */
#define AGENT_BOUNCE_BYTES ((size_t)256 << 10)
char *agent_bounce(const struct gpu *gpu);
/* 1: done; 0: not yet; -1 with a sentence: the context has failed. */
int agent_done(struct gpu *gpu, uint32_t ticket, struct gpubind_error *err);
/* Waits for all commands. 0, or -1 with a sentence. */
int agent_drain(struct gpu *gpu, struct gpubind_error *err);
/* Sets the number of blocks; before the first stream waits. */
void agent_set_blocks(unsigned blocks);

#endif
