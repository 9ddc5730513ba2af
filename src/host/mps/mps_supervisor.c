/* The supervisor process of an MPS server. */
#include "host/mps/mps_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/mps/mps_control.h"
#include "host/sys/bind.h"
#include "host/sys/process.h"

/* More than the time limits of starting and asking together. */
#define READY_LIMIT_S 30
/* Clients that outlive their rank have so long. */
#define QUIT_LIMIT_S 10
#define KILL_LIMIT_S 2
/* On kernels without pidfd_open (before 5.3). */
#define POLL_MS 1000

/* The report of the supervisor, sent once: failure.text is "" when the server is up. */
struct outcome {
    struct gpubind_error failure;
};

/* Detaches from the launcher: a session of its own, no inherited descriptors. */
static void detach(const struct mps_watch *watch, int report)
{
    int nowhere = open("/dev/null", O_RDWR);
    struct rlimit files;

    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(nowhere, fd);
    process_close_others(report, watch->folder->lock);
    /* Signals to all of the job, as before a time limit, are for the ranks. */
    for (int number = 1; number < NSIG; number++)
        signal(number, number == SIGCHLD ? SIG_DFL : SIG_IGN);
    (void)!chdir("/"); /* else it would keep the file system busy */
    prctl(PR_SET_NAME, "gpubind-mps");
    /* The daemon becomes a child of this process when its own parent ends. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (watch->cpus)
        (void)bind_cpus(watch->cpus);
}

/* One descriptor for each process; -1 where there is none to be had or the process
 * is gone. */
static struct pollfd *open_all(const struct mps_watch *watch)
{
    struct pollfd *watched = calloc((size_t)watch->npids, sizeof *watched);

    for (int i = 0; watched && i < watch->npids; i++)
        watched[i] = (struct pollfd){.events = POLLIN,
                                     .fd = (int)syscall(SYS_pidfd_open, watch->pids[i], 0)};
    return watched;
}

static bool is_over(const struct pollfd *watched, pid_t pid)
{
    return watched->fd >= 0 ? watched->revents != 0 : kill(pid, 0) < 0;
}

static void wait_for_ranks(pid_t *pids, int n, struct pollfd *watched)
{
    while (n > 0) {
        int left = 0, timeout_ms = -1;

        for (int i = 0; i < n; i++)
            timeout_ms = watched[i].fd < 0 ? POLL_MS : timeout_ms;
        poll(watched, (nfds_t)n, timeout_ms);
        for (int i = 0; i < n; i++) {
            if (is_over(&watched[i], pids[i])) {
                close(watched[i].fd);
                continue;
            }
            watched[left] = watched[i];
            pids[left++] = pids[i];
        }
        n = left;
    }
}

/* Whether all that came from the daemon has ended. */
static bool all_ended(int limit_s)
{
    const struct timespec moment = {.tv_nsec = 20000000};

    for (int left = limit_s * 50; left > 0; left--) {
        pid_t ended;

        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (ended < 0 && errno == ECHILD)
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

static void kill_all(const struct mps_watch *watch)
{
    mps_control_kill(watch->folder->pipe);
    all_ended(KILL_LIMIT_S);
}

/* The supervisor: starts the server, waits for the ranks to end, and stops the server. */
static void supervise(const struct mps_watch *watch, int report)
{
    const struct mps_dir *folder = watch->folder;
    struct pollfd *watched;
    struct outcome outcome = {{""}};
    int status;

    detach(watch, report);
    watched = open_all(watch);
    status = watched ? mps_control_start(folder->pipe, folder->log, watch->devices,
                                         folder->output_path, &outcome.failure)
                     : error_set(&outcome.failure, "out of memory");
    if (status < 0) {
        kill_all(watch);
        mps_dir_remove(folder);
    }
    /* A closed pipe means that the ranks are gone, which is noticed below. */
    (void)!write(report, &outcome, sizeof outcome);
    close(report);
    if (status < 0)
        return;
    wait_for_ranks(watch->pids, watch->npids, watched);
    mps_control_quit(folder->pipe);
    if (!all_ended(QUIT_LIMIT_S))
        kill_all(watch);
    mps_dir_remove(folder);
}

static int await_report(int report, struct gpubind_error *err)
{
    struct pollfd waiting = {.fd = report, .events = POLLIN};
    struct outcome outcome;
    int ready;

    do
        ready = poll(&waiting, 1, READY_LIMIT_S * 1000);
    while (ready < 0 && errno == EINTR);
    if (ready < 1)
        return error_set(err, "--mps: the MPS server was not up within %d s", READY_LIMIT_S);
    if (read(report, &outcome, sizeof outcome) != (ssize_t)sizeof outcome)
        return error_set(err, "--mps: the process that was to look after the MPS server died");
    return outcome.failure.text[0] ? error_set(err, "%s", outcome.failure.text) : 0;
}

int mps_supervisor_start(const struct mps_watch *watch, struct gpubind_error *err)
{
    int report[2], status;
    pid_t child;

    if (pipe2(report, O_CLOEXEC) < 0)
        return error_set(err, "--mps: %s", strerror(errno));
    child = fork();
    if (child == 0) {
        setsid();
        /* The second process is neither a session leader nor a child of the launcher. */
        if (fork() == 0) {
            signal(SIGPIPE, SIG_IGN);
            supervise(watch, report[1]);
        }
        _exit(0);
    }
    close(report[1]);
    if (child > 0)
        waitpid(child, NULL, 0);
    status = child < 0 ? error_set(err, "--mps: %s", strerror(errno))
                       : await_report(report[0], err);
    close(report[0]);
    return status;
}
