/* The ranks of a node as processes that a unit test forks. */
#ifndef GPUBIND_TESTS_HOST_RANKS_H
#define GPUBIND_TESTS_HOST_RANKS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Starts a process that ends with the status that rank(number) returns; what hangs is ended after
 * two minutes. */
__attribute__((unused)) static pid_t rank_start(int (*rank)(int number), int number)
{
    pid_t pid = fork();

    if (pid == 0) {
        alarm(120);
        _exit(rank(number));
    }
    return pid;
}

/* Whether it ended with this status. */
__attribute__((unused)) static bool rank_ended(pid_t pid, int wanted)
{
    int status;

    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == wanted;
}

/* Runs ranks 0 to n - 1 at once; how many ended with status 0. */
__attribute__((unused)) static int ranks_run(int (*rank)(int number), int n)
{
    pid_t pids[1024];
    int good = 0;

    for (int i = 0; i < n; i++)
        pids[i] = rank_start(rank, i);
    for (int i = 0; i < n; i++)
        good += rank_ended(pids[i], 0);
    return good;
}

__attribute__((unused)) static void rank_sleep(double seconds)
{
    struct timespec moment = {.tv_sec = (time_t)seconds,
                              .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&moment, NULL);
}

#endif
