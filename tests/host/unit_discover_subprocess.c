/* Discovery in a process of its own: whatever happens there ends in one sentence. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/topo/node_serialize.h"
#include "host/discover/discover_subprocess.h"
#include "host/discover/hwloc_subprocess.h"
#include "tests/cases.h"
#include "tests/tap.h"

static const int numa[] = {0, 1};
static const struct drawing drawing = {2, 1, 2, 1, 2, numa};

#define DISCOVER(name)                                                                         \
    static int name(const char *version, const char *file, const char *xml, struct node *node, \
                    struct gpubind_error *err)
#define UNUSED (void)version, (void)file, (void)xml, (void)node, (void)err

DISCOVER(find)
{
    UNUSED;
    node_draw(&drawing, node);
    return 0;
}

DISCOVER(refuse)
{
    UNUSED;
    return error_set(err, "no\n\033[2Jsuch thing");
}

DISCOVER(crash)
{
    struct rlimit core;

    UNUSED;
    getrlimit(RLIMIT_CORE, &core);
    /* A sanitizer makes something else of this signal. */
    signal(SIGSEGV, SIG_DFL);
    raise(core.rlim_cur ? SIGKILL : SIGSEGV);
    return 0;
}

DISCOVER(leave)
{
    UNUSED;
    _exit(0);
}

DISCOVER(time_out)
{
    struct rlimit cpu;

    UNUSED;
    getrlimit(RLIMIT_CPU, &cpu);
    /* At the second of these the kernel kills, and nobody knows why. */
    raise(cpu.rlim_cur <= 30 && cpu.rlim_max > cpu.rlim_cur ? SIGXCPU : SIGKILL);
    return 0;
}

DISCOVER(eat)
{
    size_t eaten = 0;

    UNUSED;
    while (eaten < 3000 && mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                -1, 0) != MAP_FAILED)
        eaten++;
    return error_set(err, eaten < 1100 ? "no more" : "as much as I like");
}

DISCOVER(lie)
{
    UNUSED;
    node_draw(&drawing, node);
    node->cores[0].npus = 1000;
    return 0;
}

DISCOVER(chatter)
{
    UNUSED;
    fprintf(stderr, "this is not seen\n");
    return error_set(err, "%s", xml);
}

static const struct way {
    const char *title;
    discover_function *discover;
    bool is_file;
    const char *sentence; /* NULL: a node is found */
} ways[] = {
    {"a node is found", find, true, NULL},
    {"without a file, too", find, false, NULL},
    {"a refusal is passed on, as one line", refuse, true, "no??[2Jsuch thing"},
    {"without a file, what it is about stands before it", refuse, false, "that: no??[2Jsuch thing"},
    {"a crash, without a core file", crash, true,
     "that is nothing that hwloc can read: it died (Segmentation fault)"},
    {"an exit", leave, true, "that is nothing that hwloc can read"},
    {"the end of its time", time_out, true, "that takes hwloc more than 30 s of CPU time"},
    {"the end of its memory", eat, true, "no more"},
    {"a node that cannot be", lie, true, "that describes no node that can be planned for"},
    {"the text of the file", chatter, true, "the text"},
};

static void try_way(const struct way *way, const char *path)
{
    struct gpubind_error err = {""};
    struct node node = {.ncores = 0};
    int status = discover_in_subprocess(way->discover, way->is_file ? path : NULL, "that", &node,
                                        &err);

    if (way->sentence) {
        tap_is(status < 0 ? err.text : "(found)", way->sentence, way->title);
    } else {
        tap_ok(status == 0 && node.ncores == 4 && node.ngpus == 2 && node.gpus[1].numa == 1, "%s",
               way->title);
        node_clear(&node);
    }
}

/* With limits of a second. */
static int spin(void *context, const char *xml, char **bytes, size_t *size,
                struct gpubind_error *err)
{
    (void)context, (void)xml, (void)bytes, (void)size;
    while (clock() != (clock_t)-1)
        continue;
    return error_set(err, "no clock");
}

static int wait_for_long(void *context, const char *xml, char **bytes, size_t *size,
                         struct gpubind_error *err)
{
    const int *seconds = context;

    (void)xml, (void)size, (void)bytes;
    sleep((unsigned)*seconds);
    return error_set(err, "waited");
}

static void try_limits(void)
{
    int two = 2, sixty = 60;
    struct hwloc_work spinning = {.run = spin, .what = "that", .most = 1, .cpu_s = 1};
    struct hwloc_work waiting = {
        .run = wait_for_long, .context = &two, .what = "that", .most = 1, .cpu_s = 1};
    struct hwloc_work stuck = {
        .run = wait_for_long, .context = &sixty, .what = "that", .most = 1, .wall_s = 1};
    struct gpubind_error err = {""};
    char *bytes;
    size_t size;

    hwloc_subprocess_run(&spinning, &bytes, &size, &err);
    tap_is(err.text, "that takes hwloc more than 1 s of CPU time", "CPU time is counted");
    hwloc_subprocess_run(&waiting, &bytes, &size, &err);
    tap_is(err.text, "that: waited", "time in which it does nothing is not");
    hwloc_subprocess_run(&stuck, &bytes, &size, &err);
    tap_is(err.text, "that: hwloc is not done within 1 s", "one that hangs is ended");
}

int main(void)
{
    char path[] = "/tmp/gpubind-test-apart.XXXXXX", sentence[128];
    int fd = mkstemp(path);
    sigset_t limits;

    if (fd < 0 || write(fd, "the text", 8) != 8) {
        printf("Bail out! cannot write %s\n", path);
        return 1;
    }
    close(fd);
    /* None of these may keep us from seeing how the child ends. */
    sigemptyset(&limits);
    sigaddset(&limits, SIGXCPU);
    sigprocmask(SIG_BLOCK, &limits, NULL);
    signal(SIGCHLD, SIG_IGN);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
        try_way(&ways[w], path);
    unlink(path);
    snprintf(sentence, sizeof sentence, "topology file %s: No such file or directory", path);
    try_way(&(struct way){"a file that is not there", find, true, sentence}, path);
    try_limits();
    return tap_done();
}
