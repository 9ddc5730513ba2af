/* What the driver's files tell, with a folder of our own in the place of /. The
 * PCI addresses are such that no GPU of this machine is meant. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/discover/nvidia.h"
#include "host/launch/placement.h"
#include "host/launch/visible_gpus.h"
#include "tests/cases.h"
#include "tests/tap.h"

/* Apart from what follows it, so that no trigraph comes about. */
#define NOT_TOLD "????"

static char root[] = "/tmp/gpubind-test-nvidia.XXXXXX";

static void run(const char *command)
{
    char line[640];

    snprintf(line, sizeof line, "cd '%s' && %s", root, command);
    if (system(line) != 0)
        tap_ok(false, "%s", line);
}

/* The machine of every case: three GPUs, minors 2, 0, 1 in order of address. */
static void set_up(struct node *node)
{
    static const int numa[] = {0, 0, 0};
    const struct drawing drawing = {1, 1, 4, 1, 3, numa};

    node_draw(&drawing, node);
    run("rm -rf proc dev && mkdir -p dev proc/driver/nvidia && touch dev/nvidiactl");
    for (int g = 0; g < 3; g++) {
        char line[512];
        struct gpu *gpu = &node->gpus[g];

        snprintf(gpu->pci, sizeof gpu->pci, "fffe:%02x:00.0", 16 + g);
        gpu->uuid[0] = '\0';
        snprintf(line, sizeof line,
                 "mkdir -p proc/driver/nvidia/gpus/%s && printf 'Model: \\t\\t Fake %d\\n"
                 "GPU UUID: \\t GPU-%d0000000-0000-0000-0000-000000000000\\n"
                 "Bus Location: \\t %s\\nDevice Minor: \\t %d\\n' "
                 "> proc/driver/nvidia/gpus/%s/information && touch dev/nvidia%d",
                 gpu->pci, g, g + 1, gpu->pci, (g + 2) % 3, gpu->pci, g);
        run(line);
    }
}

static int refine(struct node *node)
{
    struct gpubind_error err = {""};
    int status = nvidia_refine(root, NVML_IF_NEEDED, node, &err);

    if (status < 0)
        tap_diag("said: %s", err.text);
    return status;
}

/* The same, and what one rank then sees; notes may say something. */
static int see(struct node *node, struct text *notes)
{
    static const struct policy policy = {.gpus_per_rank = 1};
    struct facts facts;
    struct job job;
    struct gpubind_error err = {""};
    int status = refine(node);

    memset(&facts, 0, sizeof facts);
    nvidia_minors(root, &facts.minors);
    job_unbound(node, 1, &job);
    if (status == 0)
        status = visible_gpus_apply(node, &facts, &job, &policy, notes, &err);
    job_clear(&job);
    return status;
}

static void reads_information(void)
{
    struct node node;

    set_up(&node);
    tap_is_int(refine(&node), 0, "all files are there");
    tap_is_int(node.ngpus, 3, "all GPUs remain");
    tap_is(node.gpus[1].uuid, "GPU-20000000-0000-0000-0000-000000000000", "UUID");
    tap_is(node.gpus[1].model, "Fake 1", "model");
    tap_is_int(node.gpus[0].minor, 2, "minor, which is not the place in PCI order");
    node_clear(&node);
}

/* The command takes the second of the three GPUs away. */
static void drops_second(const char *command, const char *what)
{
    struct text notes = {0};
    struct node node;

    set_up(&node);
    run(command);
    tap_is_int(see(&node, &notes), 0, what);
    tap_is_int(node.ngpus, 2, "... it is gone");
    tap_ok(notes.bytes && strstr(notes.bytes, "1 GPU may not be opened"), "... which is said");
    if (node.ngpus == 2) {
        tap_is(node.gpus[0].pci, "fffe:10:00.0", "... the first GPU stays");
        tap_is(node.gpus[1].pci, "fffe:12:00.0", "... the third GPU stays");
        tap_is_int(node.gpus[1].index, 1, "... and is number 1 now, as CUDA counts");
    }
    node_clear(&node);
    text_clear(&notes);
}

static void drops_hidden(void)
{
    struct text notes = {0};
    struct node node;

    /* Device file 0 is that of the second GPU: compared by device, not by index. */
    drops_second("rm dev/nvidia0", "the second GPU's device file is missing");
    set_up(&node);
    run("rm dev/nvidia[0-9]");
    see(&node, &notes);
    tap_is_int(node.ngpus, 0, "no device file, no GPU");
    node_clear(&node);
    text_clear(&notes);
    drops_second(
        "echo 'GPU Excluded: No' >> proc/driver/nvidia/gpus/fffe:10:00.0/information && "
        "printf 'GPU Excluded:\\t Yes\\n' >> proc/driver/nvidia/gpus/fffe:11:00.0/information",
        "a GPU that the driver was told to exclude");
}

/* Machines whose driver runs and whose first program of CUDA has nvidia-modprobe make the device files. */
static void has_files_made(void)
{
    struct text notes = {0};
    struct node node;

    set_up(&node);
    run("rm dev/nvidia* && mkdir -p usr/bin && touch usr/bin/nvidia-modprobe");
    see(&node, &notes);
    tap_is_int(node.ngpus, 0, "no device files, and nvidia-modprobe may not make any");
    node_clear(&node);
    text_clear(&notes);
    if (getuid() != 0) {
        tap_skip("no device files, which nvidia-modprobe will make", "only root's file is root's");
        return;
    }
    set_up(&node);
    run("rm dev/nvidia* && chmod u+s usr/bin/nvidia-modprobe");
    see(&node, &notes);
    tap_ok(node.ngpus == 3 && !notes.bytes, "no device files, which nvidia-modprobe will make");
    node_clear(&node);
    text_clear(&notes);
    run("rm -r usr");
}

/* A container of the legacy runtime: the folder and the device files are those of the GPUs
 * that it was given, the PCI bus shows all. */
static void drops_unlisted(void)
{
    struct gpubind_error err;
    struct node node;

    drops_second("rm -r dev/nvidia0 proc/driver/nvidia/gpus/fffe:11:00.0",
                 "a GPU that the driver does not list");
    set_up(&node);
    run("rm -r proc/driver/nvidia/gpus/fffe:1[02]:00.0");
    tap_is_int(nvidia_refine(root, NVML_NEVER, &node, &err), 0, "the same without NVML");
    tap_ok(node.ngpus == 1 && node.nhidden == 2, "... two of three are hidden");
    node_clear(&node);
    set_up(&node);
    run("mv proc/driver/nvidia/gpus/fffe:10:00.0 proc/driver/nvidia/gpus/fffe:20:00.0 && "
        "rm -r proc/driver/nvidia/gpus/fffe:1*");
    tap_is_int(refine(&node), 0, "a folder that lists GPUs of another machine alone");
    tap_ok(node.ngpus == 3 && node.nhidden == 0, "... says nothing of these");
    node_clear(&node);
}

static void minors_are(const char *files, const char *wanted)
{
    struct idset minors;
    char line[256], *got;

    snprintf(line, sizeof line, "rm -rf dev && mkdir dev && cd dev && touch nvidiactl %s", files);
    run(line);
    nvidia_minors(root, &minors);
    got = idlist_text(&minors);
    snprintf(line, sizeof line, "minors with the files %s", files);
    tap_is(got, wanted, line);
    free(got);
}

/* A container or a job is given any of a node's GPUs, the last ones too. */
static void counts_minors(void)
{
    minors_are("nvidia0 nvidia1 nvidia2", "0-2");
    minors_are("nvidia1 nvidia-uvm nvidia-modeset", "1");
    minors_are("nvidia7", "7");
    minors_are("nvidia12", "12");
    minors_are("nvidia0 nvidia15", "0,15");
}

static void meets_secrets(void)
{
    struct node node;

    set_up(&node);
    run("sed -i 's/GPU-20000000.*/GPU-" NOT_TOLD NOT_TOLD "-" NOT_TOLD "/' "
        "proc/driver/nvidia/gpus/fffe:11:00.0/information");
    refine(&node);
    tap_is(node.gpus[1].uuid, "", "question marks are no UUID");
    tap_is_int(node.ngpus, 3, "the GPU stays");
    node_clear(&node);
    set_up(&node);
    snprintf(node.gpus[1].uuid, sizeof node.gpus[1].uuid, "GPU-known");
    run("sed -i 's/GPU-20000000.*/GPU-" NOT_TOLD NOT_TOLD "/' "
        "proc/driver/nvidia/gpus/fffe:11:00.0/information");
    refine(&node);
    tap_is(node.gpus[1].uuid, "GPU-known", "a UUID that hwloc told survives question marks");
    node_clear(&node);
}

/* Everything that can be read is used; nothing that cannot is fatal. */
static void meets_ruins(void)
{
    struct node node;

    set_up(&node);
    run("rm proc/driver/nvidia/gpus/fffe:11:00.0/information");
    tap_is_int(refine(&node), 0, "an information file is missing");
    tap_ok(node.ngpus == 3 && node.gpus[1].minor == -1, "its GPU stays, without UUID and minor");
    node_clear(&node);
    set_up(&node);
    run("cd proc/driver/nvidia/gpus/fffe:11:00.0 && rm information && mkdir information");
    tap_is_int(refine(&node), 0, "an information file is a folder");
    tap_is_int(node.ngpus, 3, "its GPU stays");
    node_clear(&node);
    set_up(&node);
    run("head -c 4096 /dev/urandom > proc/driver/nvidia/gpus/fffe:11:00.0/information");
    tap_is_int(refine(&node), 0, "an information file is noise");
    node_clear(&node);
    set_up(&node);
    run("head -c 300 /dev/zero | tr '\\0' x > l && { printf 'GPU UUID: GPU-'; cat l; } "
        "> proc/driver/nvidia/gpus/fffe:11:00.0/information && rm l");
    tap_is_int(refine(&node), 0, "an information file has an endless line");
    tap_ok(strlen(node.gpus[1].uuid) < sizeof node.gpus[1].uuid, "which is cut");
    node_clear(&node);
}

static void without_proc(void)
{
    struct text notes = {0};
    struct node node;

    set_up(&node);
    if (getuid() == 0) {
        tap_skip("/proc/driver/nvidia that cannot be read", "root reads everything");
    } else {
        run("chmod 0 proc/driver/nvidia");
        tap_is_int(refine(&node), 0, "/proc/driver/nvidia that cannot be read");
        run("chmod 755 proc/driver/nvidia");
    }
    node_clear(&node);
    set_up(&node);
    run("rm -r proc");
    tap_is_int(see(&node, &notes), 0, "no /proc at all");
    tap_is_int(node.ngpus, 3, "the device files alone keep the GPUs");
    node_clear(&node);
    text_clear(&notes);
    set_up(&node);
    run("rm -r proc dev");
    tap_is_int(see(&node, &notes), 0, "neither driver nor device files");
    tap_is_int(node.ngpus, 0, "a GPU without a device file cannot be used");
    node_clear(&node);
    text_clear(&notes);
}

static void leaves_others_alone(void)
{
    struct text notes = {0};
    struct node node;

    set_up(&node);
    run("rm dev/nvidia0");
    for (int g = 0; g < 3; g++)
        node.gpus[g].vendor = GPU_AMD;
    tap_is_int(see(&node, &notes), 0, "AMD GPUs");
    tap_is_int(node.ngpus, 3, "NVIDIA's files say nothing about them");
    node_clear(&node);
    text_clear(&notes);
}

int main(void)
{
    char command[64];

    if (!mkdtemp(root)) {
        printf("Bail out! %s: %s\n", root, strerror(errno));
        return 1;
    }
    reads_information();
    drops_hidden();
    has_files_made();
    drops_unlisted();
    counts_minors();
    meets_secrets();
    meets_ruins();
    without_proc();
    leaves_others_alone();
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command) == 0 ? tap_done() : 1;
}
