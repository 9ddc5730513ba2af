/* What makes GPUs and the ways to them slower than they are: clocks, pages that move, windows
 * of the PCI bus. */
#include "core/doctor/doctor_internal.h"

#define MIB (1024 * 1024LL)

static const struct {
    long long bit;
    enum doctor_severity severity;
    const char *text;
} limits[] = {
    {DOCTOR_CLOCKS_HOT, DOCTOR_SLOWS, "too hot, by the hardware"},
    {DOCTOR_CLOCKS_THERMAL, DOCTOR_SLOWS, "too hot, by the driver"},
    {DOCTOR_CLOCKS_BRAKE, DOCTOR_SLOWS, "power brake of the power supply"},
    {DOCTOR_CLOCKS_SLOWDOWN, DOCTOR_SLOWS, "slowdown by the hardware"},
    {DOCTOR_CLOCKS_POWER, DOCTOR_NOTE, "power limit"},
    {DOCTOR_CLOCKS_SET, DOCTOR_NOTE, "clocks were set"},
    {DOCTOR_CLOCKS_SYNC, DOCTOR_NOTE, "the slowest GPU of a group"},
};
#define NLIMITS (sizeof limits / sizeof limits[0])

static void advise_clocks(long long seen, struct doctor_result *result)
{
    if (seen & (DOCTOR_CLOCKS_HOT | DOCTOR_CLOCKS_THERMAL))
        doctor_set(result, "nvidia-smi -q -d TEMPERATURE   # and look after fans and air");
    if (seen & (DOCTOR_CLOCKS_BRAKE | DOCTOR_CLOCKS_SLOWDOWN))
        doctor_set(result, "nvidia-smi -q -d PERFORMANCE,POWER   # and look after power supplies");
    if (seen & DOCTOR_CLOCKS_POWER)
        doctor_set(result, "nvidia-smi -q -d POWER   # and, to raise it: nvidia-smi -pl WATTS");
    if (seen & DOCTOR_CLOCKS_SET)
        doctor_set(result, "nvidia-smi -rac; nvidia-smi -rgc");
}

/* NVML, clocks throttle reasons: those of this moment. An idle GPU lowers its own. */
void doctor_clocks(const struct doctor_facts *facts, struct doctor_result *result)
{
    long long seen = 0;
    int known = 0;

    if (!doctor_has_nvml(facts, result))
        return;
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];
        const char *sentence = "something lowers the GPU's clocks";
        enum doctor_severity severity = DOCTOR_NOTE;
        struct text why = {0};

        known += gpu->clock_limits >= 0;
        for (size_t i = 0; i < NLIMITS && gpu->clock_limits >= 0; i++)
            if (gpu->clock_limits & limits[i].bit) {
                text_add(&why, "%s%s", why.length ? "; " : "", limits[i].text);
                seen |= limits[i].bit;
                severity = limits[i].severity < severity ? limits[i].severity : severity;
            }
        if (gpu->clock_limits >= 0)
            doctor_saw(result, "NVML: %s: clocks lowered by 0x%llx: %s", gpu->pci,
                       (unsigned long long)gpu->clock_limits,
                       why.bytes                                ? why.bytes
                       : gpu->clock_limits & DOCTOR_CLOCKS_IDLE ? "it is idle"
                                                                : "nothing");
        if (why.bytes) {
            doctor_found_at(result, severity, sentence, gpu);
            text_add(&result->sentence, " (%s)", why.bytes);
        }
        text_clear(&why);
    }
    if (result->state == DOCTOR_FOUND)
        advise_clocks(seen, result);
    else if (!known)
        doctor_unknown(result, "NVML does not tell what lowers clocks here");
}

/* Linux kernel, sysctl kernel.numa_balancing: pages are unmapped so that a fault tells who uses
 * them, which reaches what GPUs and network devices have mapped through MMU notifiers. Ranks
 * that are bound have their pages near already. A note: it is Linux's default, and many programs
 * do not notice. */
void doctor_numa_balancing(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (!doctor_has_gpus(facts, result))
        return;
    if (facts->nnuma == 1) {
        doctor_moot(result, "one NUMA node");
        return;
    }
    if (facts->numa_balancing < 0) {
        doctor_unknown(result, "/proc/sys/kernel/numa_balancing cannot be read");
        return;
    }
    doctor_saw(result, "/proc/sys/kernel/numa_balancing: %d", facts->numa_balancing);
    if (!facts->numa_balancing)
        return;
    doctor_found(result, DOCTOR_NOTE,
                 "the kernel's automatic NUMA balancing is on: it unmaps pages of ranks to see "
                 "who uses them, and moves them");
    doctor_set(result, "sysctl -w kernel.numa_balancing=0");
    doctor_set(result, "echo kernel.numa_balancing=0 > /etc/sysctl.d/99-numa.conf   # to keep it");
}

/* GPUDirect RDMA, and peer access over PCI, reach a GPU's memory through BAR1. */
void doctor_bar1(const struct doctor_facts *facts, struct doctor_result *result)
{
    bool needed = facts->rdma[0] || doctor_needs_pci(facts);
    int known = 0;

    if (!doctor_has_gpus(facts, result))
        return;
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];

        if (gpu->bar1_bytes >= 0)
            doctor_saw(result, "/sys/bus/pci/devices/%s/resource: BAR1 of %lld MiB", gpu->pci,
                       gpu->bar1_bytes / MIB);
        if (gpu->memory_bytes > 0)
            doctor_saw(result, "NVML: %s: %lld MiB of memory", gpu->pci, gpu->memory_bytes / MIB);
        if (gpu->bar1_bytes < 0 || gpu->memory_bytes <= 0)
            continue;
        known++;
        /* Without BAR1 the memory is reached in another way, as on GH200. */
        if (gpu->bar1_bytes && gpu->bar1_bytes < gpu->memory_bytes)
            doctor_found_at(result, needed ? DOCTOR_SLOWS : DOCTOR_NOTE,
                            "BAR1, by which other devices reach a GPU's memory, is smaller than "
                            "that memory",
                            gpu);
    }
    if (result->state == DOCTOR_FOUND)
        doctor_set(result, "switch on \"Above 4G Decoding\" and \"Resizable BAR\" in the setup of "
                           "the machine's firmware");
    else if (!known && facts->nvml != DOCTOR_NVML_ANSWERED)
        doctor_has_nvml(facts, result);
    else if (!known)
        doctor_unknown(result, "the size of BAR1, or of the memory, cannot be read");
}
