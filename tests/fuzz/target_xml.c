/* Recorded machines. hwloc may die of one: that is seen in a process of its own first,
 * where it does here all that is done with it, and such an input is passed over. What
 * is judged is what gpubind makes of the others. */
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/topo/node_from_hwloc.h"
#include "core/topo/node_serialize.h"
#include "tests/cases.h"
#include "tests/fuzz/fuzz.h"

/* libFuzzer notes an input when its process dies; that of hwloc's is not meant. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void die_in_peace(void)
{
    static const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    const struct rlimit no_core = {0, 0};
    int nowhere = open("/dev/null", O_WRONLY);

    for (int i = 0; i < 6; i++)
        signal(signals[i], SIG_DFL);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(NULL);
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(nowhere, STDERR_FILENO);
    alarm(5);
}

/* hwloc loads its plugins with the first topology and keeps them up to the last. */
static void hold_plugins(void)
{
    static hwloc_topology_t first;

    if (first)
        return;
    setenv("HWLOC_PLUGINS_BLACKLIST", "hwloc_opencl.so,hwloc_cuda.so,hwloc_nvml.so,hwloc_gl.so", 1);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    FUZZ_CHECK(hwloc_topology_init(&first) == 0);
}

/* What hwloc leaks when it gives up on a file is not ours. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static bool try_load(hwloc_topology_t *topology, const char *xml)
{
    if (hwloc_topology_init(topology) < 0)
        return false;
    hwloc_topology_set_io_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_type_filter(*topology, HWLOC_OBJ_BRIDGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_set_xmlbuffer(*topology, xml, (int)strlen(xml) + 1) == 0 &&
        hwloc_topology_load(*topology) == 0)
        return true;
    hwloc_topology_destroy(*topology);
    return false;
}

static bool load(hwloc_topology_t *topology, const char *xml)
{
    bool loaded;

    if (__lsan_disable)
        __lsan_disable();
    loaded = try_load(topology, xml);
    if (__lsan_enable)
        __lsan_enable();
    return loaded;
}

/* hwloc's part of it. */
static void use(hwloc_topology_t topology)
{
    static const char *const names[] = {"NVLinkBandwidth", "XGMIBandwidth"};

    for (int i = 0; i < 2; i++) {
        struct hwloc_distances_s *distances;
        unsigned n = 1;

        if (hwloc_distances_get_by_name(topology, names[i], &n, &distances, 0) == 0 && n)
            hwloc_distances_release(topology, distances);
    }
}

static bool hwloc_survives(const char *xml)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        hwloc_topology_t topology;

        die_in_peace();
        if (!load(&topology, xml))
            _exit(1);
        use(topology);
        hwloc_topology_destroy(topology);
        _exit(0);
    }
    FUZZ_CHECK(child > 0);
    /* libFuzzer has a timer of its own. */
    while (waitpid(child, &status, 0) < 0)
        FUZZ_CHECK(errno == EINTR);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The parent believes what the child packs. */
static void pass_on(struct node *node)
{
    struct gpubind_error err;
    struct node other;
    size_t size;
    void *packed = node_pack(node, &size);

    fuzz_expect(&err);
    FUZZ_CHECK(node_unpack(packed, size, &other, &err) == 0);
    free(packed);
    node_clear(node);
    *node = other;
}

static void plan(struct node *node)
{
    struct policy policy;
    struct job job;

    for (const char *at = node->name; *at; at++)
        FUZZ_CHECK((unsigned char)*at >= 0x20 && *at != 0x7f);
    if (node->ncores > 64 || node->ngpus > 16)
        return; /* others are as good, and faster */
    policy_default(&policy);
    for (int bind = 0; bind <= BIND_NONE; bind++) {
        policy.bind = (enum bind_level)bind;
        job_unbound(node, 1 + bind, &job);
        fuzz_plan(node, &job, &policy);
        job_clear(&job);
    }
    policy.gpus_per_rank = 2;
    job_unbound(node, 2, &job);
    fuzz_plan(node, &job, &policy);
    job_clear(&job);
}

void fuzz_xml(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *xml = fuzz_rest(&input);
    hwloc_topology_t topology;
    struct gpubind_error err;
    struct node node;

    hold_plugins();
    if (hwloc_survives(xml) && load(&topology, xml)) {
        fuzz_expect(&err);
        memset(&node, 0, sizeof node);
        if (node_from_hwloc(topology, &node, &err) < 0) {
            fuzz_refused(&err);
        } else {
            pass_on(&node);
            plan(&node);
        }
        node_clear(&node);
        hwloc_topology_destroy(topology);
    }
    free(xml);
}
