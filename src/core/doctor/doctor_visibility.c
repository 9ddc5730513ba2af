/* Which GPUs does this process see, and is that what was meant? */
#include <ctype.h>
#include <string.h>

#include "core/doctor/doctor_internal.h"
#include "core/env/visible_devices.h"

static void advise_hidden(const struct doctor_facts *facts, enum doctor_file file, int minor,
                          struct doctor_result *result)
{
    if (file == DOCTOR_FILE_DENIED)
        doctor_set(result, DOCTOR_OPEN_FILES);
    else if (facts->in_slurm_job)
        doctor_set(result, "srun --gpus-per-node=%d", facts->ngpus);
    else if (doctor_give_gpus(facts, file, facts->ngpus, result))
        return;
    else if (file == DOCTOR_FILE_ABSENT && minor >= 0)
        doctor_set(result, "nvidia-modprobe -c %d", minor);
    else
        doctor_set(result, "ask the batch system for %d GPUs", facts->ngpus);
}

/* The driver lists all GPUs of the machine whatever the device cgroup, or the files in
 * a container's /dev, let a process open. */
void doctor_hidden_gpus(const struct doctor_facts *facts, struct doctor_result *result)
{
    int hidden = 0, worst = -1;

    if (!doctor_has_driver(facts, result) || !doctor_has_gpus(facts, result))
        return;
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];

        if (gpu->minor < 0)
            doctor_saw(result, "%s: %s", gpu->pci,
                       doctor_may_open(gpu) ? "its number in /dev is not known"
                                            : "/proc/driver/nvidia/gpus does not have it");
        else
            doctor_saw(result, "/dev/nvidia%d (%s) %s", gpu->minor, gpu->pci,
                       doctor_file_text(gpu->device));
        if (doctor_may_open(gpu))
            continue;
        hidden++;
        if (worst < 0)
            worst = g;
    }
    if (!hidden)
        return;
    doctor_found(result, hidden == facts->ngpus ? DOCTOR_BREAKS : DOCTOR_NOTE,
                 "%d of the machine's %d GPUs may not be opened by this process", hidden,
                 facts->ngpus);
    advise_hidden(facts, facts->gpus[worst].device, facts->gpus[worst].minor, result);
}

/* The GPUs that can be opened, as the driver counts them. */
static int make_node(const struct doctor_facts *facts, struct node *node)
{
    if (node_make(node, 1, doctor_usable_gpus(facts), 0, NULL) < 0)
        return -1;
    for (int g = 0, n = 0; g < facts->ngpus; g++) {
        if (!doctor_may_open(&facts->gpus[g]))
            continue;
        memcpy(node->gpus[n].pci, facts->gpus[g].pci, sizeof node->gpus[n].pci);
        memcpy(node->gpus[n++].uuid, facts->gpus[g].uuid, sizeof node->gpus[0].uuid);
    }
    node_number(node);
    return 0;
}

static bool knows_uuids(const struct doctor_facts *facts)
{
    for (int g = 0; g < facts->ngpus; g++)
        if (!facts->gpus[g].uuid[0])
            return false;
    return true;
}

/* Launchers that may choose GPUs for a rank, in this variable. */
static bool chosen_by_launcher(const struct doctor_facts *facts)
{
    static const char *const names[] = {"slurm", "flux", "jsrun", "pals"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(facts->launcher, names[i]) == 0)
            return true;
    return facts->in_slurm_job;
}

static void judge_list(const struct doctor_facts *facts, const struct node *node,
                       struct doctor_result *result)
{
    const struct ze_order unused = {.composite = false};
    struct visible_list seen;
    const char *bad = visible_parse(node, facts->visible.value, &unused, &seen);
    const char *unreadable = visible_unreadable(node, facts->visible.value);
    int n = seen.n;

    if (unreadable)
        doctor_found(result, DOCTOR_NOTE,
                     "CUDA_VISIBLE_DEVICES: '%.*s' may be a GPU whose UUID cannot be read",
                     (int)strcspn(unreadable, ","), unreadable);
    else if (bad)
        doctor_found(result, DOCTOR_BREAKS,
                     "CUDA_VISIBLE_DEVICES: '%.*s' names no further GPU, and CUDA ends the list "
                     "there: it sees %d of %d",
                     (int)strcspn(bad, ","), bad, n, node->ngpus);
    else if (n == 0)
        doctor_found(result, DOCTOR_BREAKS, "CUDA_VISIBLE_DEVICES is empty and hides all GPUs");
    else if (n < node->ngpus && !chosen_by_launcher(facts))
        doctor_found(result, DOCTOR_NOTE,
                     "CUDA_VISIBLE_DEVICES leaves %d of %d GPUs to every "
                     "rank that inherits it",
                     n, node->ngpus);
    if (result->state == DOCTOR_FOUND)
        doctor_set(result, "unset CUDA_VISIBLE_DEVICES");
}

void doctor_visible_devices(const struct doctor_facts *facts, struct doctor_result *result)
{
    struct node node;

    if (!doctor_has_gpus(facts, result))
        return;
    if (!facts->visible.set) {
        doctor_saw(result, "CUDA_VISIBLE_DEVICES is not set");
        return;
    }
    doctor_saw(result, "CUDA_VISIBLE_DEVICES=%.200s", facts->visible.value);
    if (facts->by_gpubind) {
        doctor_saw(result, "GPUBIND_PLAN is set: gpubind chose it");
        return;
    }
    if (strstr(facts->visible.value, "MIG-")) {
        doctor_unknown(result, "CUDA_VISIBLE_DEVICES names MIG instances, which are not looked at");
        return;
    }
    if (strstr(facts->visible.value, "GPU-") && !knows_uuids(facts)) {
        doctor_unknown(result, "CUDA_VISIBLE_DEVICES names UUIDs, and not all GPUs' can be read");
        return;
    }
    if (!doctor_usable_gpus(facts)) {
        doctor_moot(result, "no GPU may be opened");
        return;
    }
    if (make_node(facts, &node) < 0) {
        doctor_unknown(result, "out of memory");
        return;
    }
    judge_list(facts, &node, result);
    node_clear(&node);
}

static bool models_differ(const struct doctor_facts *facts)
{
    for (int g = 1; g < facts->ngpus; g++)
        if (facts->gpus[g].model[0] && facts->gpus[0].model[0] &&
            strcmp(facts->gpus[g].model, facts->gpus[0].model) != 0)
            return true;
    return false;
}

/* CUDA C++ Programming Guide, CUDA Environment Variables: FASTEST_FIRST is the
 * default, by which numbers mean other GPUs than in nvidia-smi where models differ. */
void doctor_device_order(const struct doctor_facts *facts, struct doctor_result *result)
{
    const char *order = facts->order.set ? facts->order.value : "";
    bool by_bus = strcmp(order, "PCI_BUS_ID") == 0;
    bool numbers = facts->visible.set && isdigit((unsigned char)facts->visible.value[0]);

    if (!doctor_has_gpus(facts, result))
        return;
    doctor_saw(result, "CUDA_DEVICE_ORDER%s%.100s", facts->order.set ? "=" : " is not set", order);
    if (facts->order.set && *order && !by_bus && strcmp(order, "FASTEST_FIRST") != 0) {
        doctor_found(result, DOCTOR_NOTE,
                     "CUDA_DEVICE_ORDER is neither PCI_BUS_ID nor "
                     "FASTEST_FIRST, and CUDA does not heed it");
        doctor_set(result, "export CUDA_DEVICE_ORDER=PCI_BUS_ID");
    } else if (models_differ(facts) && !by_bus) {
        doctor_saw(result, "models differ: %s is a %s", facts->gpus[0].pci, facts->gpus[0].model);
        doctor_found(result, numbers ? DOCTOR_BREAKS : DOCTOR_NOTE,
                     "the GPUs are of different models, so CUDA numbers them by speed and "
                     "nvidia-smi by PCI address%s",
                     numbers ? ": the numbers in CUDA_VISIBLE_DEVICES may mean other GPUs" : "");
        doctor_set(result, "export CUDA_DEVICE_ORDER=PCI_BUS_ID");
    }
}

/* Measured on H200, driver 580: cuInit and a first context take 2.55 s with eight GPUs
 * visible, 0.35 s with one. */
void doctor_all_visible(const struct doctor_facts *facts, struct doctor_result *result)
{
    int n = doctor_usable_gpus(facts);

    if (!doctor_has_gpus(facts, result))
        return;
    doctor_saw(result, "GPUs that can be opened: %d", n);
    doctor_saw(result, "CUDA_VISIBLE_DEVICES%s%.200s", facts->visible.set ? "=" : " is not set",
               facts->visible.value);
    if (n < 2 || facts->visible.set)
        return;
    doctor_found(result, DOCTOR_NOTE,
                 "each process that starts CUDA here starts all %d GPUs, where a rank needs its "
                 "own alone (measured on H200: 2.55 s with eight, 0.35 s with one)",
                 n);
    doctor_set(result, "mpirun -np %d gpubind ./app", n);
}
