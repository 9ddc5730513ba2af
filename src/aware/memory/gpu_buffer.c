#include "aware/memory/gpu_buffer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aware/base/next.h"
#include "aware/base/start.h"
#include "aware/memory/copy_stream.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_context.h"
#include "gpu/core/pointer_query.h"
#include "gpu/core/sync_memops.h"

/* ---- whose memory */

/* Where the heap of brk begins: the field start_brk of proc(5). NULL: not known. */
static const char *heap_start(void)
{
    FILE *file = fopen("/proc/self/stat", "re");
    char line[2048], *field = NULL;
    unsigned long long start = 0;

    if (file && fgets(line, sizeof line, file))
        field = strrchr(line, ')'); /* ends field 2 */
    for (int number = 2; field && number < 47; number++)
        field = strchr(field + 1, ' ');
    if (field)
        start = strtoull(field, NULL, 10);
    if (file)
        fclose(file);
    return (const char *)(uintptr_t)start;
}

/* Beyond it no heap ends: the kernel maps other memory so far above, where it chooses addresses at random. */
#define HEAP_MOST ((uintptr_t)1 << 40)

/* The driver maps no GPU memory there. To ask the driver or the kernel takes 0.1 us. By the system call: UCX replaces
 * sbrk by one that sets the end that it has read, behind which another thread's malloc may have got memory meanwhile. */
static bool is_in_heap(const void *buf)
{
    static _Atomic uintptr_t first; /* 0: not known yet */
    static _Atomic uintptr_t last;  /* likewise; the heap's end may have moved since */
    const uintptr_t at = (uintptr_t)buf;
    uintptr_t start = atomic_load_explicit(&first, memory_order_relaxed);
    uintptr_t end = atomic_load_explicit(&last, memory_order_relaxed);

    if (!start) {
        start = (uintptr_t)heap_start();
        if (!start)
            start = (uintptr_t)syscall(SYS_brk, 0); /* what lies before is asked for */
        atomic_store(&first, start);
    }
    if (at < start || at - start > HEAP_MOST)
        return false;
    if (at >= end) {
        end = (uintptr_t)syscall(SYS_brk, 0);
        atomic_store(&last, end);
    }
    return at < end;
}

struct stack {
    const char *low, *high; /* low NULL: not known yet */
};

static void find_stack(struct stack *stack)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t nbytes = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &nbytes);
        pthread_attr_destroy(&attributes);
    }
    stack->low = low ? low : (const char *)stack;
    stack->high = stack->low + nbytes;
}

/* What this thread's stack has in use. A coroutine's stack is another, and then nothing is. */
static bool is_on_stack(const void *buf)
{
    static __thread struct stack stack __attribute__((tls_model("initial-exec")));
    const char *here = __builtin_frame_address(0), *at = buf;

    if (!stack.low)
        find_stack(&stack);
    return here >= stack.low && at >= here && at < stack.high;
}

static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;

/* The process has started CUDA. */
static bool driver_is_there(void)
{
    bool there;

    if (gpu_driver_is_known())
        return true;
    pthread_mutex_lock(&driver_lock);
    there = gpu_driver();
    pthread_mutex_unlock(&driver_lock);
    return there;
}

int gpu_use(struct gpubind_error *err)
{
    int status;

    pthread_mutex_lock(&driver_lock);
    status = gpu_start(err);
    pthread_mutex_unlock(&driver_lock);
    return status;
}

bool gpu_is_in_use(void)
{
    return !is_behind && aware_is_on() && driver_is_there();
}

static enum pointer_kind kind_of(const void *buf, struct allocation *allocation)
{
    enum pointer_kind kind;

    if (!gpu_is_in_use() || !buf || is_on_stack(buf) || is_in_heap(buf))
        return POINTER_HOST;
    kind = pointer_kind(buf, allocation);
    if (kind == POINTER_DEVICE && !allocation->synchronous)
        sync_memops_ensure(buf);
    return kind;
}

bool buffer_is_on_gpu(const void *buf)
{
    struct allocation allocation;

    return buffer_allocation(buf, &allocation);
}

bool buffer_allocation(const void *buf, struct allocation *allocation)
{
    return kind_of(buf, allocation) == POINTER_DEVICE;
}

#define PAGE 4096
#define PAGES 256 /* that were found readable, by their numbers */

/* A system call that reads a signal set, and then refuses what it is to do with it. */
static bool is_readable(const void *buf)
{
    static _Atomic uintptr_t readable[PAGES];
    const uintptr_t page = (uintptr_t)buf / PAGE;

    if (atomic_load_explicit(&readable[page % PAGES], memory_order_relaxed) == page)
        return true;
    if (syscall(SYS_rt_sigprocmask, ~0, (uintptr_t)buf & ~(uintptr_t)7, NULL, 8) < 0 &&
        errno == EFAULT)
        return false;
    atomic_store_explicit(&readable[page % PAGES], page, memory_order_relaxed);
    return true;
}

/* What lies in the first or the last page is no memory, but a constant of MPI. */
static bool is_constant(const void *buf)
{
    return (uintptr_t)buf < PAGE || (uintptr_t)buf >= -(uintptr_t)PAGE;
}

enum buffer_place buffer_place(const void *buf)
{
    struct allocation allocation;

    switch (kind_of(buf, &allocation)) {
    case POINTER_DEVICE:
        return BUFFER_GPU;
    case POINTER_UNKNOWN:
        return is_constant(buf) || is_readable(buf) ? BUFFER_HOST : BUFFER_LOST;
    default:
        return BUFFER_HOST;
    }
}

/* ---- copies */

bool buffer_enter_context(gpu_context context, struct entered *entered)
{
    entered->context = context;
    if (!context || gpu_context_push(context) != GPU_OK)
        return false;
    entered->capture = gpu_suspend_capture();
    return true;
}

bool buffer_enter(const void *gpu, struct entered *entered)
{
    return buffer_enter_context(pointer_context(gpu), entered);
}

void buffer_leave(const struct entered *entered)
{
    gpu_context ours;

    gpu_resume_capture(entered->capture);
    gpu_context_pop(&ours);
}

static int refuse(const void *gpu, int status)
{
    struct gpubind_error err;

    gpu_error(status, "a copy", &err);
    fprintf(stderr, "gpubind: a buffer of an MPI call, GPU memory at %p: %s\n", gpu, err.text);
    return -1;
}

static int refuse_gone(const void *gpu)
{
    fprintf(stderr, "gpubind: a buffer of an MPI call: there is no GPU memory at %p\n", gpu);
    return -1;
}

static void *pointer_to(gpu_address address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): one address space */
}

static int transfer(const struct rows *rows, bool to_host, bool wait)
{
    const void *gpu = pointer_to(rows->gpu);
    struct entered entered;
    gpu_stream stream;
    int status;

    if (!buffer_enter(gpu, &entered))
        return refuse_gone(gpu);
    stream = copy_stream(entered.context);
    status = rows_copy(rows, to_host, stream);
    if (wait && status == GPU_OK)
        status = gpu_stream_synchronize(stream);
    buffer_leave(&entered);
    return status == GPU_OK ? 0 : refuse(gpu, status);
}

int buffer_copy_rows(const struct rows *rows, bool to_host)
{
    return transfer(rows, to_host, false);
}

int buffer_wait(gpu_address gpu)
{
    struct entered entered;
    int status;

    if (!buffer_enter(pointer_to(gpu), &entered))
        return refuse_gone(pointer_to(gpu));
    status = gpu_stream_synchronize(copy_stream(entered.context));
    buffer_leave(&entered);
    return status == GPU_OK ? 0 : refuse(pointer_to(gpu), status);
}

static int copy(const void *gpu, void *host, size_t nbytes, bool to_host)
{
    const struct rows rows = {(gpu_address)(uintptr_t)gpu, host, nbytes, 1, 0, 0, false};

    return nbytes == 0 ? 0 : transfer(&rows, to_host, true);
}

int buffer_to_host(void *host, const void *gpu, size_t nbytes)
{
    return copy(gpu, host, nbytes, true);
}

int buffer_to_gpu(void *gpu, const void *host, size_t nbytes)
{
    return copy(gpu, (void *)(uintptr_t)host, nbytes, false);
}
