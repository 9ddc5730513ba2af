/* The ways between GPUs, and from cores to GPUs. */
#include <string.h>

#include "core/doctor/doctor_internal.h"

/* Kernel, ABI of sysfs-bus-pci: numa_node may be written where the firmware does not
 * tell; that taints the kernel as a workaround. local_cpus, which hwloc reads, follows. Nodes
 * without CPUs (HBM, CXL, GPU memory) do not count: no rank is near to them. */
void doctor_numa(const struct doctor_facts *facts, struct doctor_result *result)
{
    int unknown = 0;

    if (!doctor_has_gpus(facts, result))
        return;
    if (facts->nnuma_cpus == 1) {
        doctor_moot(result, "one NUMA node with CPUs");
        return;
    }
    if (facts->nnuma_cpus < 1) {
        doctor_unknown(result, "/sys/devices/system/node cannot be read");
        return;
    }
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];

        unknown += gpu->numa == -2;
        if (gpu->numa == -2)
            continue;
        doctor_saw(result, "/sys/bus/pci/devices/%s/numa_node: %d", gpu->pci, gpu->numa);
        if (gpu->numa >= 0)
            continue;
        if (result->state != DOCTOR_FOUND)
            doctor_found(result, DOCTOR_SLOWS,
                         "the firmware does not say which of the %d NUMA nodes is near to %s",
                         facts->nnuma_cpus, gpu->pci);
        else
            text_add(&result->sentence, ", %s", gpu->pci);
        doctor_set(result, "echo NODE > /sys/bus/pci/devices/%s/numa_node%s", gpu->pci,
                   facts->virtual_machine == 1
                       ? "   # better: on the host, a root bus for each node"
                       : "");
    }
    if (result->state != DOCTOR_FOUND && unknown)
        doctor_unknown(result, "%d GPU%s not show on the PCI bus", unknown,
                       unknown == 1 ? " does" : "s do");
}

static const char *peer_text(int status)
{
    static const char *const texts[] = {"OK",
                                        "the chipset does not support it",
                                        "a GPU does not support it",
                                        "the topology of the I/O hub does not support it",
                                        "disabled by a registry key",
                                        "not supported",
                                        "unknown"};

    return status >= 0 && status < 7 ? texts[status] : "unknown";
}

/* NVML: nvmlDeviceGetP2PStatus for reads says what cudaDeviceCanAccessPeer would,
 * without a context. */
void doctor_peer_access(const struct doctor_facts *facts, struct doctor_result *result)
{
    int pairs = 0, known = 0, without = 0;

    if (!doctor_has_gpus(facts, result))
        return;
    if (doctor_usable_gpus(facts) < 2) {
        doctor_moot(result, "fewer than two GPUs may be opened");
        return;
    }
    if (!doctor_has_nvml(facts, result))
        return;
    for (int a = 0; a < facts->ngpus; a++)
        for (int b = a + 1; b < facts->ngpus; b++) {
            int status = facts->peer[a][b];

            if (!doctor_may_open(&facts->gpus[a]) || !doctor_may_open(&facts->gpus[b]))
                continue;
            pairs++;
            known += status >= 0;
            without += status > 0;
            if (status > 0 && without <= 4)
                doctor_saw(result, "NVML: %s and %s: %s", facts->gpus[a].pci, facts->gpus[b].pci,
                           peer_text(status));
        }
    if (without) {
        doctor_found(result, DOCTOR_SLOWS,
                     "%d of %d pairs of GPUs have no peer access: what they "
                     "exchange goes through host memory",
                     without, pairs);
    } else if (known < pairs) {
        doctor_unknown(result, "NVML does not tell of %d of %d pairs of GPUs", pairs - known,
                       pairs);
    } else {
        doctor_saw(result, "NVML: all %d pairs have peer access", pairs);
    }
}

bool doctor_needs_pci(const struct doctor_facts *facts)
{
    for (int a = 0; a < facts->ngpus; a++)
        for (int b = a + 1; b < facts->ngpus; b++)
            if (facts->nvlink[a][b] == 0 && doctor_may_open(&facts->gpus[a]) &&
                doctor_may_open(&facts->gpus[b]))
                return true;
    return false;
}

/* CUDA C++ Programming Guide, IOMMU on Linux: on bare metal peer access over PCI is
 * not supported under an IOMMU; in a virtual machine its use is right. A group's type
 * (kernel, ABI of sysfs-kernel-iommu_groups) is "identity" when nothing is translated.
 * iommu=pt is x86's alone; iommu.passthrough is that of all, of x86 since Linux 5.4. */
void doctor_iommu(const struct doctor_facts *facts, struct doctor_result *result)
{
    bool needed = doctor_needs_pci(facts);

    if (!doctor_has_gpus(facts, result))
        return;
    if (facts->ngpus == 1) {
        doctor_moot(result, "one GPU");
        return;
    }
    if (facts->virtual_machine == 1) {
        doctor_moot(result, "a virtual machine");
        return;
    }
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];

        if (!gpu->on_bus)
            continue;
        doctor_saw(result, "/sys/bus/pci/devices/%s/iommu_group%s%s", gpu->pci,
                   gpu->iommu[0] ? "/type: " : " is not there", gpu->iommu);
        if (strncmp(gpu->iommu, "DMA", 3) != 0 || result->state == DOCTOR_FOUND)
            continue;
        doctor_found(result, needed ? DOCTOR_SLOWS : DOCTOR_NOTE,
                     "the IOMMU translates what GPUs send over PCI, which spoils peer access "
                     "there%s",
                     needed ? "" : " (NVLink does not mind)");
        doctor_set(result, "add iommu.passthrough=1 to the kernel's command line and reboot   # "
                           "x86 before Linux 5.4: iommu=pt");
    }
    if (!result->evidence.length)
        doctor_unknown(result, "no GPU shows on the PCI bus");
}

/* The bridges that two GPUs have in common, from the root port down. */
static int common_bridges(const struct doctor_gpu *a, const struct doctor_gpu *b)
{
    int n = 0;

    while (n < a->nbridges && n < b->nbridges && strcmp(a->bridge[n].pci, b->bridge[n].pci) == 0)
        n++;
    return n;
}

/* The PCI Express specification's ACS control: P2P request and completion redirect. */
#define ACS_REDIRECT 0x0cu

static void judge_bridge(const struct doctor_bridge *bridge, int *unreadable,
                         struct doctor_result *result)
{
    *unreadable += bridge->acs == -1;
    if (bridge->acs < 0 || !((unsigned)bridge->acs & ACS_REDIRECT))
        return;
    if (result->evidence.bytes && strstr(result->evidence.bytes, bridge->pci))
        return;
    if (result->state != DOCTOR_FOUND)
        doctor_found(result, DOCTOR_SLOWS,
                     "PCI Access Control Services send what GPUs below one "
                     "switch tell each other up to the CPU and back");
    doctor_saw(result, "/sys/bus/pci/devices/%s/config: ACS control 0x%04x", bridge->pci,
               (unsigned)bridge->acs);
    doctor_set(result, "setpci -s %s ECAP_ACS+0x6.w=0000", bridge->pci);
}

/* NCCL User Guide, Troubleshooting, PCI Access Control Services. */
void doctor_acs(const struct doctor_facts *facts, struct doctor_result *result)
{
    int pairs = 0, unreadable = 0;

    if (!doctor_has_gpus(facts, result))
        return;
    for (int a = 0; a < facts->ngpus; a++)
        for (int b = a + 1; b < facts->ngpus; b++) {
            const struct doctor_gpu *x = &facts->gpus[a], *y = &facts->gpus[b];
            int common = common_bridges(x, y);

            pairs += common > 0;
            for (int i = common; common && i < x->nbridges; i++)
                judge_bridge(&x->bridge[i], &unreadable, result);
            for (int i = common; common && i < y->nbridges; i++)
                judge_bridge(&y->bridge[i], &unreadable, result);
        }
    if (!pairs)
        doctor_moot(result, "no two GPUs below one PCI switch");
    else if (result->state != DOCTOR_FOUND && unreadable)
        doctor_unknown(result, "only root may read the switches' registers");
    else if (result->state != DOCTOR_FOUND)
        doctor_saw(result, "no switch between two GPUs redirects");
}
