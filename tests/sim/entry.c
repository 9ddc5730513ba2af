/* A simulated CUDA driver: GPU memory between processes on a machine without a GPU.
 *
 * Found as libcuda.so.1 (a symbolic link in a folder that LD_LIBRARY_PATH names), it
 * exports what src/gpu/core/driver_api.h and sim_api.h list. "Device" memory is shared
 * memory, which the application sees at addresses that it cannot touch: only the
 * driver's calls move it. Streams are queues of work that is done later.
 *
 * Results were compared with those of the real driver (580, H200), call by call. Where
 * that leaves something undefined, the simulator is unkind: what an owner frees while
 * a peer has it mapped is overwritten; work on memory that is gone, also when the call that
 * took it away has waited, and a device
 * address that is no memory, end the process by abort with a line on stderr. Unlike
 * the real driver's, an error that work leaves in a stream is reported once and then
 * gone, so that a test can go on in the same process.
 *
 * Environment, read when it is first needed:
 *   GPUBIND_SIM_DEVICES=N     devices of the machine, 0 to 15; default 2. Device d has
 *                             the UUID GPU-11111111-..., GPU-22222222-..., so a prefix
 *                             names it; the rest comes from the host's name.
 *   GPUBIND_SIM_HOST=NAME     instead of the host's name; processes of different hosts
 *                             share nothing
 *   CUDA_VISIBLE_DEVICES      as the real driver reads it
 *   GPUBIND_SIM_PEERS=MATRIX  which device reaches which: all (default), none, or rows
 *                             such as 011/101/110
 *   GPUBIND_SIM_MEMORY=BYTES  of each device; default 1 GiB
 *   GPUBIND_SIM_JOB=NAME      processes with the same name share the devices' memory;
 *                             default "default". It lies in a file without a name
 *                             (job.c); the kernel frees it with the last process.
 *   GPUBIND_SIM_IPC=refuse    opening a memory handle fails with 801; a number instead
 *                             of refuse is the result
 *   GPUBIND_SIM_CUMEM=no      there is no memory of cuMemCreate
 *   GPUBIND_SIM_LATENCY=US    mean time that work waits in a stream; default 0: what
 *                             can be done is done by the call that queues it
 *   GPUBIND_SIM_QUEUE=N       a stream takes so much work; the call with more waits; default
 *                             all
 *   GPUBIND_SIM_SEED=N        of the random part of it and of batched copies' order
 *   GPUBIND_SIM_KERNELS=1     modules load; they have the library's kernels
 *   GPUBIND_SIM_ILLEGAL=0     a kernel that accesses an illegal address ends the process: a real
 *                             one ends its context, which a caller that goes on would hide
 *   GPUBIND_SIM_FLUSH=1       a wait for a word may flush remote writes; default: not supported
 *   GPUBIND_SIM_WORDS_OF_64=0 says that streams wait for words of 32 bits only
 *   GPUBIND_SIM_LOCKS=1       calls wait for threads that wait in the driver, see locks.c
 *   GPUBIND_SIM_CHANNEL=1     the legacy stream's work is kept back by what waits in streams of the
 *                             greatest priority, as two H200 (driver 580) do it now and then
 *   GPUBIND_SIM_MPS=1         as with MPS: where two streams wait, no other goes on, see channels.c
 *   CUDA_DEVICE_MAX_CONNECTIONS=N  where N streams wait
 *   GPUBIND_SIM_OPEN=1        the host may access device memory, as on no GPU: for tests by others
 *                             whose own code does (tests/mpich_suite)
 *   GPUBIND_SIM_FAIL=LIST     failures, see faults.c; GPUBIND_SIM_RANK=N: only in the
 *                             process that its launcher calls rank N
 *
 * This file: the way in and out of every call. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/sim.h"

/* clang-format off */
static const char *const names[] = {
#define X(name, arguments) #name,
    CUDA_FUNCTIONS(X)
    CUDA_OPTIONAL_FUNCTIONS(X)
    SIM_DRIVER_FUNCTIONS(X)
#undef X
};
/* clang-format on */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long calls[SIM_CALLS];
static bool loaded;
static pid_t initialised;           /* the process that called cuInit */
static _Thread_local int late;      /* see sim_take_late */
static _Thread_local bool callback; /* this thread runs a host function */

void sim_lock(void)
{
    pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void sim_wait(uint64_t until)
{
    struct timespec now, wake;
    uint64_t at;

    if (until == UINT64_MAX) {
        pthread_cond_wait(&changed, &lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    at = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    at = until > at ? until - at : 0;
    clock_gettime(CLOCK_REALTIME, &wake); /* the condition's clock */
    at += (uint64_t)wake.tv_nsec;
    wake.tv_sec += (time_t)(at / 1000000000u);
    wake.tv_nsec = (long)(at % 1000000000u);
    pthread_cond_timedwait(&changed, &lock, &wake);
}

void sim_changed(void)
{
    pthread_cond_broadcast(&changed);
}

void sim_die(const char *format, ...)
{
    va_list args;

    fputs("gpubind-sim: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\n", stderr);
    abort();
}

uint64_t sim_number(const char *variable, uint64_t fallback, uint64_t most)
{
    const char *value = getenv(variable);
    unsigned long long number;
    char *end;

    if (!value || !*value)
        return fallback;
    errno = 0;
    number = strtoull(value, &end, 10);
    if (*end || *value == '-' || errno || number > most)
        sim_die("%s=%s is not a number up to %llu", variable, value, (unsigned long long)most);
    return number;
}

void *sim_new(size_t nbytes)
{
    static struct kept {
        struct kept *next;
        max_align_t bytes[];
    } * all;
    struct kept *kept = calloc(1, sizeof *kept + nbytes);

    if (!kept)
        sim_die("no memory");
    kept->next = all;
    all = kept;
    return kept->bytes;
}

uint64_t sim_random(void)
{
    static uint64_t state; /* xorshift */

    if (!state) {
        state = 0x9e3779b97f4a7c15u * (1 + sim_number("GPUBIND_SIM_SEED", 1, UINT32_MAX));
        for (const char *rank = sim_rank(); *rank; rank++)
            state ^= (state << 7) + (unsigned char)*rank;
        state |= 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

const char *sim_name(int call)
{
    return names[call];
}

int sim_find(const char *name, size_t length)
{
    for (int call = 0; call < SIM_CALLS; call++)
        if (strlen(names[call]) == length && memcmp(names[call], name, length) == 0)
            return call;
    return -1;
}

static int check_call(enum sim_call call)
{
    int result;

    if (callback)
        return SIM_NOT_PERMITTED;
    if (call != CALL_cuInit && call != CALL_cuGetErrorName && initialised != getpid())
        return SIM_NOT_INITIALIZED; /* a child of fork has no driver either */
    result = fault_of(call, calls[call], &late);
    return result ? result : capture_refuses(call);
}

int sim_enter(enum sim_call call)
{
    int result;

    pthread_mutex_lock(&lock);
    if (!loaded) {
        faults_load();
        queue_load();
    }
    loaded = true;
    calls[call]++;
    result = check_call(call);
    if (result)
        return sim_leave(result);
    lock_pass(call);
    return CUDA_OK;
}

int sim_leave(int result)
{
    late = 0;
    pthread_mutex_unlock(&lock);
    return result;
}

int sim_take_late(void)
{
    int error = late;

    late = 0;
    return error;
}

void sim_begin_callback(void)
{
    callback = true;
}

int cuInit(unsigned flags)
{
    int result = sim_enter(CALL_cuInit);

    if (result)
        return result;
    if (flags)
        return sim_leave(CUDA_INVALID_VALUE);
    if (initialised == getpid())
        return sim_leave(CUDA_OK);
    if (initialised)
        return sim_leave(SIM_NOT_INITIALIZED);
    result = devices_load();
    if (result)
        return sim_leave(result);
    job_join();
    initialised = getpid();
    return sim_leave(CUDA_OK);
}

int cuGetErrorName(int result, const char **name)
{
    static const struct {
        int result;
        const char *name;
    } known[] = {
        {CUDA_OK, "CUDA_SUCCESS"},
        {CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {SIM_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
        {CUDA_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED"},
        {CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {SIM_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
        {SIM_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
        {SIM_PEER_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
        {CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
        {SIM_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {CUDA_NOT_READY, "CUDA_ERROR_NOT_READY"},
        {SIM_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {CUDA_PEER_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
        {SIM_CONTEXT_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
        {CUDA_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
        {SIM_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
        {SIM_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"},
        {SIM_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
        {CUDA_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
        {SIM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
        {CUDA_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
        {SIM_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT"},
        {SIM_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
    };
    int entered = sim_enter(CALL_cuGetErrorName);

    if (entered)
        return entered;
    *name = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].result == result)
            *name = known[i].name;
    return sim_leave(*name ? CUDA_OK : CUDA_INVALID_VALUE);
}

__attribute__((visibility("default"))) int gpubind_sim_calls(const char *function)
{
    int call = sim_find(function, strlen(function));
    unsigned long n;

    if (call < 0)
        return -1;
    sim_lock();
    n = calls[call];
    sim_unlock();
    return (int)n;
}
