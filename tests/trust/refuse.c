/* refuse ERRNO CALL[,CALL...] COMMAND [ARG...]: runs the command under a filter by which the kernel answers
 * these system calls with that error, as containers, SELinux or a site's sandbox do. Other calls, and
 * those of other architectures, are let through.
 *
 * "unix" is socket(AF_UNIX). What the simulated driver (tests/sim) calls for itself is let through: it asks for
 * files that may be sealed, and names the protocol of its sockets. A call that the C library here has no number
 * for is passed over; if all are, the status is 77, as for a kernel that has no filters. */
#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OWN_ARCH AUDIT_ARCH_AARCH64
#elif defined __powerpc64__
#define OWN_ARCH AUDIT_ARCH_PPC64LE
#else
#define OWN_ARCH 0 /* no call has it: nothing is refused */
#endif

#define UNAVAILABLE 77
#define MOST 32 /* calls */

/* Of an argument of a call: its low half, as little endian machines have it. */
struct condition {
    unsigned char argument;
    unsigned mask, value;
};

struct call {
    const char *name;
    long number;
    int nconditions;
    struct condition condition[2]; /* all must hold */
};

/* clang-format off */
#define CALL(name) {#name, SYS_##name, 0, {{0, 0, 0}}}
static const struct call calls[] = {
    CALL(accept4), CALL(bind), CALL(clone), CALL(connect), CALL(fallocate), CALL(ftruncate), CALL(get_mempolicy),
    CALL(getrandom), CALL(getsockopt), CALL(kill), CALL(listen), CALL(mbind),
    CALL(mlock), CALL(perf_event_open), CALL(pipe2), CALL(prctl), CALL(prlimit64),
    CALL(process_vm_readv), CALL(process_vm_writev), CALL(ptrace), CALL(readlinkat), CALL(recvfrom), CALL(recvmsg),
    CALL(sched_getaffinity), CALL(sched_setaffinity), CALL(sendmsg), CALL(sendto), CALL(set_mempolicy), CALL(setns),
    CALL(setpgid), CALL(setsockopt), CALL(statfs), CALL(sysinfo), CALL(uname), CALL(unshare),
    {"memfd_create", SYS_memfd_create, 1, {{1, MFD_ALLOW_SEALING, 0}}},
    {"unix", SYS_socket, 2, {{0, UINT_MAX, AF_UNIX}, {2, UINT_MAX, 0}}},
#ifdef SYS_clone3
    CALL(clone3),
#endif
#ifdef SYS_kcmp
    CALL(kcmp),
#endif
#ifdef SYS_membarrier
    CALL(membarrier),
#endif
#ifdef SYS_pidfd_open
    CALL(pidfd_open),
#endif
#ifdef SYS_pidfd_getfd
    CALL(pidfd_getfd),
#endif
#ifdef SYS_shmget
    CALL(shmget),
#endif
#ifdef SYS_userfaultfd
    CALL(userfaultfd),
#endif
};
static const struct { const char *name; unsigned number; } errors[] = {
    {"EACCES", EACCES}, {"EAGAIN", EAGAIN}, {"ENOSYS", ENOSYS}, {"EPERM", EPERM},
};
/* clang-format on */

struct program {
    struct sock_filter step[5 + 9 * MOST + 1];
    unsigned short n;
    int ncalls;
};

static void add(struct program *program, struct sock_filter step)
{
    program->step[program->n++] = step;
}

static void load(struct program *program, size_t offset)
{
    add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

/* The next n steps are for this value alone. */
static void unless_equal_skip(struct program *program, unsigned value, int n)
{
    add(program,
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, (unsigned char)n));
}

/* Answers the call with an error. The number is loaded before and after. */
static void refuse(struct program *program, const struct call *call, unsigned error)
{
    const int n = call->nconditions;

    unless_equal_skip(program, (unsigned)call->number, 3 * n + 1 + (n > 0));
    for (int i = 0; i < n; i++) {
        const struct condition *condition = &call->condition[i];

        load(program, offsetof(struct seccomp_data, args) + 8ul * condition->argument);
        add(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, condition->mask));
        unless_equal_skip(program, condition->value, 3 * (n - 1 - i) + 1);
    }
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
    if (n > 0)
        load(program, offsetof(struct seccomp_data, nr));
}

/* -1: no such call is known here. */
static int add_call(struct program *program, const char *name, unsigned error)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0 && program->ncalls < MOST) {
            refuse(program, &calls[i], error);
            program->ncalls++;
            return 0;
        }
    return -1;
}

static int install(struct program *program, char *names, unsigned error)
{
    struct sock_fprog filter = {.filter = program->step};
    const char *name;

    load(program, offsetof(struct seccomp_data, arch));
    unless_equal_skip(program, OWN_ARCH, 1);
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0));
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    load(program, offsetof(struct seccomp_data, nr));
    while ((name = strsep(&names, ",")))
        if (add_call(program, name, error) < 0)
            fprintf(stderr, "refuse: there is no '%s' here\n", name);
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    filter.len = program->n;
    if (program->ncalls == 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char **argv)
{
    static struct program program;

    for (size_t i = 0; argc > 3 && i < sizeof errors / sizeof *errors; i++) {
        if (strcmp(errors[i].name, argv[1]) != 0)
            continue;
        if (install(&program, argv[2], errors[i].number) < 0) {
            fprintf(stderr, "refuse: no filter for '%s'\n", argv[1]);
            return UNAVAILABLE;
        }
        execvp(argv[3], argv + 3);
        perror(argv[3]);
        return 127;
    }
    fprintf(stderr, "usage: refuse EACCES|EAGAIN|ENOSYS|EPERM CALL[,CALL...] COMMAND [ARG...]\n");
    return 2;
}
