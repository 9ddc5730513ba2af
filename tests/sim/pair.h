/* For tests of the simulated driver with two processes. */
#ifndef GPUBIND_TESTS_SIM_PAIR_H
#define GPUBIND_TESTS_SIM_PAIR_H

#include "tests/sim/check.h"

/* Two processes that take turns, each with a driver of its own: pair_fork splits them
 * before the driver is loaded. */
struct pair {
    pid_t peer; /* 0 in the second process */
    int in, out;
};

__attribute__((unused)) static struct pair pair_fork(void)
{
    int there[2], back[2];
    struct pair pair;

    if (pipe(there) < 0 || pipe(back) < 0)
        exit(1);
    pair.peer = fork();
    pair.in = pair.peer ? back[0] : there[0];
    pair.out = pair.peer ? there[1] : back[1];
    close(pair.peer ? back[1] : there[1]);
    close(pair.peer ? there[0] : back[0]);
    if (!pair.peer)
        alarm(60);
    return pair;
}

/* The other goes on with what was written. */
__attribute__((unused)) static void tell(const struct pair *pair, const void *bytes, size_t n)
{
    WANT(write(pair->out, bytes, n), n);
}

__attribute__((unused)) static void hear(const struct pair *pair, void *bytes, size_t n)
{
    WANT(read(pair->in, bytes, n), n);
}

__attribute__((unused)) static void turn(const struct pair *pair)
{
    tell(pair, "", 1);
}

__attribute__((unused)) static void await(const struct pair *pair)
{
    char byte;

    hear(pair, &byte, 1);
}

/* The second process ends here, the first adds its failures to its own. */
__attribute__((unused)) static void pair_join(const struct pair *pair)
{
    int status;

    if (!pair->peer)
        _exit(check_failed ? 1 : 0);
    waitpid(pair->peer, &status, 0);
    WANT(status, 0);
}

__attribute__((unused)) static struct cuda_ipc_handle handle_of(cuda_address address)
{
    struct cuda_ipc_handle handle = {{0}};

    WANT(cu.cuIpcGetMemHandle(&handle, address), CUDA_OK);
    return handle;
}

__attribute__((unused)) static cuda_address open_handle(struct cuda_ipc_handle handle)
{
    cuda_address address = 0;

    WANT(cu.cuIpcOpenMemHandle_v2(&address, handle, CUDA_IPC_LAZY_PEER), CUDA_OK);
    return address;
}

#endif
