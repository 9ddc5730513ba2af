/* The rendezvous of a node's ranks: sizes of messages and answers, a leader that is busy, and who
 * waits how long. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "core/base/hash.h"
#include "host/launch/node_rendezvous.h"
#include "tests/host/ranks.h"
#include "tests/tap.h"

#define NRANKS 5

static char key[64];
static size_t answer_size;
static bool one_for_all;
static int listener = -1, peer = -1; /* of this process, which forked ranks close */

static int clock_speed = 1;
static double patience_s = 30, limit_s, decide_s;

/* In place of libc's, these two: a rank's clock may go faster than others'. */
int clock_gettime(clockid_t which, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, which, now);

    now->tv_sec *= clock_speed;
    now->tv_nsec *= clock_speed;
    now->tv_sec += now->tv_nsec / 1000000000;
    now->tv_nsec %= 1000000000;
    return (int)status;
}

int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    struct timespec limit = {.tv_sec = timeout_ms / clock_speed / 1000,
                             .tv_nsec = timeout_ms / clock_speed % 1000 * 1000000L};

    return ppoll(fds, n, timeout_ms < 0 ? NULL : &limit, NULL);
}

static int prepare(void *context, struct gpubind_error *err)
{
    (void)context;
    (void)err;
    return 0;
}

static void fail(void *context, const struct gpubind_error *err)
{
    (void)context;
    (void)err;
}

/* Bytes that depend on the rank and on where they stand. */
static char byte_of(int rank, size_t at)
{
    return (char)(rank * 7 + (int)(at % 251));
}

static int decide(void *context, const struct rendezvous_message *messages, int n,
                  struct rendezvous_message *answers, struct gpubind_error *err)
{
    (void)context;
    (void)err;
    rank_sleep(decide_s);
    for (int i = 0; i < n && (i == 0 || !one_for_all); i++) {
        int rank = one_for_all ? 0 : *(const char *)messages[i].bytes;
        char *bytes = malloc(answer_size);

        for (size_t at = 0; at < answer_size; at++)
            bytes[at] = byte_of(rank, at);
        answers[i] = (struct rendezvous_message){.bytes = bytes, .size = answer_size};
    }
    return 0;
}

static struct rendezvous_call call_of(char *mine, size_t size)
{
    return (struct rendezvous_call){.key = key,
                                    .expected = NRANKS,
                                    .patience_s = patience_s,
                                    .limit_s = limit_s,
                                    .prepare = prepare,
                                    .decide = decide,
                                    .fail = fail,
                                    .mine = {.bytes = mine, .size = size}};
}

static int meet(int number)
{
    char mine = (char)number;
    const struct rendezvous_call call = call_of(&mine, 1);
    struct rendezvous_message answer;
    struct gpubind_error err;

    close(listener);
    close(peer);
    if (node_rendezvous(&call, &answer, &err) != RENDEZVOUS_DONE || answer.size != answer_size)
        return 1;
    for (size_t at = 0; at < answer_size; at++)
        if (((char *)answer.bytes)[at] != byte_of(one_for_all ? 0 : number, at))
            return 2;
    free(answer.bytes);
    return 0;
}

static void test_answers(void)
{
    static const size_t sizes[] = {0, 1, 32767, 32768, 32769, 65536, 65537, 131072, 3000000};

    for (int shared = 0; shared < 2; shared++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            answer_size = sizes[i];
            one_for_all = shared;
            snprintf(key, sizeof key, "unit/%ld/%d/%zu", (long)getpid(), shared, i);
            tap_ok(ranks_run(meet, NRANKS) == NRANKS, "each has its %s of %zu bytes",
                   shared ? "share of one answer" : "own answer", answer_size);
        }
}

static void test_message_too_long(void)
{
    char *mine = calloc(1, RENDEZVOUS_MAX + 1);
    const struct rendezvous_call call = call_of(mine, RENDEZVOUS_MAX + 1);
    struct rendezvous_message answer;
    struct gpubind_error err;

    tap_is_int(node_rendezvous(&call, &answer, &err), RENDEZVOUS_FAILED,
               "a message of more than the maximum is refused");
    tap_ok(strstr(err.text, "65537 bytes") != NULL, "... in words that say why: %s", err.text);
    free(mine);
}

/* Listens at the first address of the key, as a leader does, but with room for one peer only. */
static int listen_in_place(struct sockaddr_un *address, socklen_t *size)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1);
    *size += (socklen_t)snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                                 "gpubind.%ld.%016llx.0", (long)geteuid(),
                                 (unsigned long long)hash_text(HASH_START, key));
    if (bind(fd, (struct sockaddr *)address, *size) < 0 || listen(fd, 0) < 0)
        return -1;
    return fd;
}

/* The backlog is full for longer than an address may be stuck. */
static void test_busy_leader(void)
{
    struct sockaddr_un address;
    int waiting = 0, good = 0;
    pid_t pids[NRANKS];
    socklen_t size;

    answer_size = 100;
    one_for_all = false;
    snprintf(key, sizeof key, "unit/%ld/busy", (long)getpid());
    peer = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    listener = listen_in_place(&address, &size);
    tap_ok(listener >= 0 && connect(peer, (struct sockaddr *)&address, size) == 0,
           "a leader's backlog is full");
    for (int i = 0; i < NRANKS; i++)
        pids[i] = rank_start(meet, i);
    rank_sleep(8);
    for (int i = 0; i < NRANKS; i++)
        waiting += waitpid(pids[i], NULL, WNOHANG) == 0;
    tap_is_int(waiting, NRANKS, "the others wait for it");
    close(listener);
    close(peer);
    for (int i = 0; i < NRANKS; i++)
        good += rank_ended(pids[i], 0);
    tap_is_int(good, NRANKS, "... and meet again when it leaves");
}

/* Starts rank 0, which leads by the clock of all, and others. */
static void start_others(pid_t *pids, int first, int last)
{
    for (int i = first; i <= last; i++) {
        pids[i] = rank_start(meet, i);
        rank_sleep(i ? 0 : 0.5);
    }
}

static int count_good(const pid_t *pids, int n)
{
    int good = 0;

    for (int i = 0; i < n; i++)
        good += rank_ended(pids[i], 0);
    return good;
}

/* Others wait as long as the leader does: here until 64 s and more have gone by on their clocks. */
static void test_late_rank(void)
{
    pid_t pids[NRANKS];

    snprintf(key, sizeof key, "unit/%ld/late", (long)getpid());
    start_others(pids, 0, 0);
    patience_s = 2;
    clock_speed = 30;
    start_others(pids, 1, NRANKS - 2);
    patience_s = 30;
    clock_speed = 1;
    rank_sleep(4);
    start_others(pids, NRANKS - 1, NRANKS - 1);
    tap_is_int(count_good(pids, NRANKS), NRANKS, "ranks wait as long as their leader does");
}

/* A limit is the leader's, too, and the time for its decision does not count. */
static void test_limit(void)
{
    double began, took;
    pid_t pids[NRANKS];
    struct timespec now;

    snprintf(key, sizeof key, "unit/%ld/limit", (long)getpid());
    limit_s = 2;
    decide_s = 1;
    clock_gettime(CLOCK_MONOTONIC, &now);
    began = (double)now.tv_sec;
    start_others(pids, 0, NRANKS - 2);
    tap_is_int(count_good(pids, NRANKS - 1), NRANKS - 1,
               "with a limit ranks that found their leader have its answer");
    clock_gettime(CLOCK_MONOTONIC, &now);
    took = (double)now.tv_sec - began;
    tap_ok(took < 15, "... after %.0f s, where the next rank would have had 30", took);
    limit_s = decide_s = 0;
}

int main(void)
{
    test_answers();
    test_message_too_long();
    test_busy_leader();
    test_late_rank();
    test_limit();
    return tap_done();
}
