/* Runs work or a program in a child process, with a limit on time and output. */
#include "host/sys/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void be_child(int out, void (*work)(int out, void *context), void *context)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    /* A group of its own, so that all of it can be killed; it ends with us. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    work(out, context);
    _exit(0);
}

/* Until the end of file, the deadline or the end of room. False: too late. */
static bool take(int fd, long long deadline, char *bytes, size_t size, size_t *got)
{
    char rest[4096] = "";

    *got = 0;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        long long left = deadline - now_ms();
        bool full = *got == size;
        ssize_t n;

        if (left <= 0 || poll(&ready, 1, (int)left) == 0)
            return false;
        n = read(fd, full ? rest : bytes + *got, full ? sizeof rest : size - *got);
        if (n == 0)
            return true;
        if (n > 0 && !full)
            *got += (size_t)n;
        else if (n < 0 && errno != EINTR)
            return true;
    }
}

/* Waits until the deadline, then kills. A child that hangs in the kernel does not even
 * die then: it is left. False: it had to be killed. */
static bool reap(pid_t child, long long deadline, int *status)
{
    const struct timespec pause = {0, 2000000};
    bool in_time = true;
    pid_t ended;

    while ((ended = waitpid(child, status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        if (now_ms() >= deadline) {
            if (!in_time)
                break;
            in_time = false;
            kill(-child, SIGKILL);
            kill(child, SIGKILL);
            deadline += 500;
        }
        nanosleep(&pause, NULL);
    }
    /* Kills the processes that the child has started. */
    kill(-child, SIGKILL);
    return in_time;
}

int subprocess_read(void (*work)(int out, void *context), void *context, int seconds, void *bytes,
                    size_t size, size_t *got, struct subprocess_end *end, struct gpubind_error *err)
{
    long long deadline = now_ms() + seconds * 1000LL;
    /* If SIGCHLD is ignored, the exit status is lost. */
    void (*before)(int) = signal(SIGCHLD, SIG_DFL);
    int ends[2];
    bool in_time;
    pid_t child;

    *got = 0;
    end->status = 0;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        signal(SIGCHLD, before);
        return error_set(err, "no pipe: %s", strerror(errno));
    }
    child = fork();
    if (child == 0)
        be_child(ends[1], work, context);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        signal(SIGCHLD, before);
        return error_set(err, "no process: %s", strerror(errno));
    }
    /* Parent and child both set it, since either may run first. */
    setpgid(child, child);
    in_time = take(ends[0], deadline, bytes, size, got);
    end->in_time = reap(child, in_time ? deadline : now_ms(), &end->status) && in_time;
    close(ends[0]);
    signal(SIGCHLD, before);
    return 0;
}

long subprocess_run(void (*work)(int out, void *context), void *context, int seconds, void *bytes,
                    size_t size, size_t *got, struct gpubind_error *err)
{
    struct subprocess_end end;

    if (subprocess_read(work, context, seconds, bytes, size, got, &end, err) < 0)
        return -1;
    if (!end.in_time)
        return error_set(err, "no answer within %d seconds", seconds);
    if (WIFSIGNALED(end.status))
        return error_set(err, "ended by signal %d", WTERMSIG(end.status));
    if (WIFEXITED(end.status) && WEXITSTATUS(end.status))
        return error_set(err, "exit status %d", WEXITSTATUS(end.status));
    return (long)*got;
}

static void run_command(int out, void *context)
{
    const char *const *argv = context;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execvp(argv[0], (char *const *)(size_t)argv);
    _exit(errno == ENOENT ? 127 : 126);
}

long subprocess_command(const char *const *argv, int seconds, char *text, size_t size,
                        struct gpubind_error *err)
{
    size_t got;
    long length = subprocess_run(run_command, (void *)(size_t)argv, seconds, text, size - 1, &got,
                                 err);

    text[got] = '\0';
    return length;
}
