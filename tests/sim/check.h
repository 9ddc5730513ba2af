/* For the tests of the simulated driver: each case is a process of its own, since the
 * driver reads its environment once. */
#ifndef GPUBIND_TESTS_SIM_CHECK_H
#define GPUBIND_TESTS_SIM_CHECK_H

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/sim_api.h"
#include "tests/tap.h"

static struct {
#define X(name, arguments) int(*name) arguments;
    CUDA_FUNCTIONS(X)
    CUDA_OPTIONAL_FUNCTIONS(X)
    SIM_DRIVER_FUNCTIONS(X)
#undef X
    int (*calls)(const char *);
    int (*open_mappings)(void);
} cu;

static int check_failed;

struct check_case {
    const char *what;
    void (*body)(void);
    const char *environment[4]; /* NAME=VALUE */
    const char *dies;           /* by abort, with this on stderr */
};

#define WANT(call, wanted) check_want((long)(call), (long)(wanted), #call, __LINE__)

__attribute__((unused)) static void check_want(long got, long wanted, const char *what, int line)
{
    if (got == wanted)
        return;
    check_failed++;
    fprintf(stderr, "line %d: %s is %ld, wanted %ld\n", line, what, got, wanted);
}

__attribute__((unused)) static void load_driver(void)
{
    const char *top = getenv("top_builddir");
    char path[4096];
    void *library;

    snprintf(path, sizeof path, "%s/tests/sim/.libs/libcudasim.so", top ? top : ".");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define X(name, arguments)                      \
    *(void **)&cu.name = dlsym(library, #name); \
    if (!cu.name)                               \
        check_want(0, 1, #name " is exported", __LINE__);
    CUDA_FUNCTIONS(X)
    CUDA_OPTIONAL_FUNCTIONS(X)
    SIM_DRIVER_FUNCTIONS(X)
#undef X
    *(void **)&cu.calls = dlsym(library, "gpubind_sim_calls");
    *(void **)&cu.open_mappings = dlsym(library, "gpubind_sim_open_mappings");
}

/* The driver, and the device's context current. */
__attribute__((unused)) static struct CUctx_st *start_driver(int device)
{
    struct CUctx_st *context = NULL;

    load_driver();
    WANT(cu.cuInit(0), CUDA_OK);
    WANT(cu.cuDevicePrimaryCtxRetain(&context, device), CUDA_OK);
    WANT(cu.cuCtxPushCurrent_v2(context), CUDA_OK);
    return context;
}

__attribute__((unused)) static cuda_address host(const void *bytes)
{
    return (cuda_address)(uintptr_t)bytes;
}

__attribute__((unused)) static cuda_address allocate(size_t nbytes)
{
    cuda_address address = 0;

    WANT(cu.cuMemAlloc_v2(&address, nbytes), CUDA_OK);
    return address;
}

/* Page-locked memory, full of value. */
__attribute__((unused)) static char *locked(size_t nbytes, int value)
{
    void *bytes = NULL;

    WANT(cu.cuMemHostAlloc(&bytes, nbytes, 0), CUDA_OK);
    memset(bytes, value, nbytes);
    return bytes;
}

/* The first byte at the address, as the device sees it. */
__attribute__((unused)) static int byte_at(cuda_address address)
{
    unsigned char byte = 0;

    WANT(cu.cuMemcpyDtoH_v2(&byte, address, 1), CUDA_OK);
    return byte;
}

/* The child's side of a case. */
static void run_body(const struct check_case *c, int output)
{
    static char job[64];

    unsetenv("CUDA_VISIBLE_DEVICES");
    snprintf(job, sizeof job, "GPUBIND_SIM_JOB=check-%d", (int)getpid());
    putenv(job);
    for (int i = 0; i < 4 && c->environment[i]; i++)
        putenv((char *)(uintptr_t)c->environment[i]); /* which does not write to it */
    dup2(output, STDERR_FILENO);
    alarm(60);
    c->body();
    _exit(check_failed ? 1 : 0);
}

static void run_case(const struct check_case *c)
{
    int output = memfd_create("check", MFD_CLOEXEC), status = 0;
    char said[2000] = "";
    bool good;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        run_body(c, output);
    waitpid(child, &status, 0);
    if (pread(output, said, sizeof said - 1, 0) < 0)
        said[0] = '\0';
    close(output);
    if (c->dies)
        good = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, c->dies);
    else
        good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !*said;
    if (tap_ok(good, "%s", c->what))
        return;
    tap_diag("status 0x%x", (unsigned)status);
    for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
        tap_diag("%s", line);
}

#endif
