/* NVML that hangs, crashes or refuses, asked by a launcher: tests/nvml/faulty.c. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/discover/nvidia.h"
#include "host/discover/nvml.h"
#include "tests/cases.h"
#include "tests/tap.h"

static char folder[] = "/tmp/gpubind-test-nvml.XXXXXX";

static void answers(void)
{
    struct nvml_gpu list[NVML_MAX_GPUS];
    struct gpubind_error why = {""};
    int n = nvml_ask(true, 20, list, NVML_MAX_GPUS, &why);

    tap_is_int(n, 2, "NVML that is well lists its GPUs");
    if (n == 2)
        tap_is(list[1].uuid, "GPU-sim-1", "... all that it says of them arrives");
}

static void fails(const char *how, int seconds, int wanted, const char *sentence)
{
    struct nvml_gpu list[NVML_MAX_GPUS];
    struct gpubind_error why = {""};
    time_t before = time(NULL);

    setenv("NVML_FAULT", how, 1);
    tap_is_int(nvml_ask(false, seconds, list, NVML_MAX_GPUS, &why), wanted, how);
    tap_is(why.text, sentence, "... is said");
    tap_ok(time(NULL) - before < 15, "... in time");
    unsetenv("NVML_FAULT");
}

/* GPUs without UUIDs, of which NVML is asked and lists the first two. */
static int refine(int ngpus, struct node *node, struct gpubind_error *err)
{
    static const int numa[] = {0, 0, 0};
    const struct drawing drawing = {1, 1, 4, 1, ngpus, numa};

    node_draw(&drawing, node);
    for (int g = 0; g < ngpus; g++) {
        snprintf(node->gpus[g].pci, sizeof node->gpus[g].pci, "0000:%02x:00.0", 16 + g);
        node->gpus[g].uuid[0] = '\0';
        node->gpus[g].minor = g;
    }
    return nvidia_refine(folder, NVML_IF_NEEDED, node, err);
}

/* As under LXD, where /proc/driver/nvidia is not there. */
static void drops_unlisted(void)
{
    struct gpubind_error err = {""};
    struct node node;

    tap_is_int(refine(3, &node, &err), 0, "a GPU that NVML does not list");
    tap_ok(node.ngpus == 1 && node.nhidden == 1, "... is gone, as the one in MIG mode");
    tap_is(node.gpus[0].uuid, "GPU-sim-0", "... the first stays");
    node_clear(&node);
    setenv("NVML_FAULT", "unloaded", 1);
    tap_is_int(refine(3, &node, &err), 0, "nobody lists GPUs");
    tap_ok(node.ngpus == 3 && node.nhidden == 0, "... all stay");
    node_clear(&node);
    setenv("NVML_FAULT", "lists none", 1);
    tap_is_int(refine(3, &node, &err), 0, "NVML answers and lists no GPU");
    tap_ok(node.ngpus == 0 && node.nhidden == 3, "... all are gone");
    node_clear(&node);
    setenv("HWLOC_XMLFILE", "/elsewhere.xml", 1);
    tap_is_int(refine(3, &node, &err), 0, "the same on a machine that is pretended");
    tap_ok(node.ngpus == 3 && node.nhidden == 0, "... all stay");
    unsetenv("HWLOC_XMLFILE");
    unsetenv("NVML_FAULT");
    node_clear(&node);
}

/* As in a sandbox without /sys: the driver's folder shows GPUs, or is not there. */
static void takes_listed(void)
{
    static const struct {
        const char *command, *what;
        int ngpus;
    } cases[] = {
        {"true", "no PCI bus and no folder of the driver's: NVML is asked", 1},
        {"mkdir -p proc/driver/nvidia/gpus", "the folder is empty: it is not", 0},
        {"mkdir proc/driver/nvidia/gpus/0000:10:00.0", "the folder has a GPU: it is", 1},
    };
    struct gpubind_error err = {""};
    struct node node;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[200];

        snprintf(command, sizeof command, "cd %s && %s", folder, cases[i].command);
        tap_ok(system(command) == 0 && refine(0, &node, &err) == 0 && node.ngpus == cases[i].ngpus,
               "%s", cases[i].what);
        node_clear(&node);
    }
}

static void goes_on_without(void)
{
    struct gpubind_error err = {""};
    struct node node;
    char command[200];

    snprintf(command, sizeof command, "mkdir -p %s/dev && touch %s/dev/nvidiactl", folder, folder);
    tap_ok(system(command) == 0, "a driver");
    drops_unlisted();
    takes_listed();
    snprintf(command, sizeof command, "rm -r %s/proc", folder);
    tap_ok(system(command) == 0, "... without its folder");
    tap_is_int(refine(2, &node, &err), 0, "UUIDs that NVML tells");
    tap_is(node.gpus[0].uuid, "GPU-sim-0", "... are taken over");
    tap_is(node.nvml_failure, "", "... and nothing is wrong");
    node_clear(&node);
    setenv("NVML_FAULT", "dies", 1);
    tap_is_int(refine(2, &node, &err), 0, "NVML crashes: the plan is made without it");
    tap_ok(node.ngpus == 2 && !node.gpus[1].uuid[0], "... and without UUIDs");
    tap_is(node.nvml_failure, "NVML was ended by signal 9", "... which is kept to be said");
    node_clear(&node);
    snprintf(command, sizeof command, "mkdir -p %s/proc/driver/nvidia/capabilities/gpu0/mig/gi1",
             folder);
    tap_ok(system(command) == 0, "a GPU is partitioned");
    tap_is_int(refine(2, &node, &err), -1, "... which cannot be planned for without NVML");
    tap_is(err.text,
           "a GPU is partitioned (MIG), and its instances are named by NVML alone: "
           "NVML was ended by signal 9",
           "... with the reason");
    unsetenv("NVML_FAULT");
    node_clear(&node);
}

/* The loader reads LD_LIBRARY_PATH when a program starts, so this one starts again with
 * the module in it. */
static int start_again(const char *self)
{
    const char *top = getenv("top_builddir");
    char module[PATH_MAX], real[PATH_MAX], link[64];

    snprintf(module, sizeof module, "%s/tests/nvml/.libs/libnvmlfaulty.so", top ? top : ".");
    if (!mkdtemp(folder) || !realpath(module, real))
        return printf("Bail out! %s: %s\n", module, strerror(errno)), 1;
    snprintf(link, sizeof link, "%s/libnvidia-ml.so.1", folder);
    if (symlink(real, link) < 0)
        return printf("Bail out! %s: %s\n", link, strerror(errno)), 1;
    setenv("LD_LIBRARY_PATH", folder, 1);
    execl("/proc/self/exe", self, folder, (char *)NULL);
    return printf("Bail out! %s: %s\n", self, strerror(errno)), 1;
}

int main(int argc, char **argv)
{
    char command[64];

    if (argc < 2)
        return start_again(argv[0]);
    snprintf(folder, sizeof folder, "%s", argv[1]);
    alarm(240);
    answers();
    fails("hangs", 1, NVML_FAILED, "NVML gave no answer within 1 s");
    fails("dies", 20, NVML_FAILED, "NVML was ended by signal 9");
    fails("unloaded", 20, NVML_UNUSABLE, "NVML cannot be used");
    goes_on_without();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? tap_done() : 1;
}
