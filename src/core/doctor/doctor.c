/* The table of checks, their results, and the facts that they start from. */
#include "core/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/doctor/doctor_internal.h"

/* In the order in which one would repair: what is below comes first. */
const struct doctor_check doctor_checks[] = {
    {"driver", "the kernel driver and the GPUs that it drives", doctor_driver},
    {"device-files", "/dev/nvidiactl", doctor_device_files},
    {"uvm", "/dev/nvidia-uvm", doctor_uvm},
    {"cuda-library", "libcuda.so.1", doctor_cuda_library},
    {"library-version", "the driver's libraries and its kernel module", doctor_library_version},
    {"fabric-manager", "NVLink switches and the fabric manager", doctor_fabric_manager},
    {"hidden-gpus", "GPUs that this process may not open", doctor_hidden_gpus},
    {"visible-devices", "CUDA_VISIBLE_DEVICES", doctor_visible_devices},
    {"device-order", "CUDA_DEVICE_ORDER", doctor_device_order},
    {"all-visible", "how many GPUs each process starts", doctor_all_visible},
    {"persistence", "persistence mode", doctor_persistence},
    {"compute-mode", "compute mode", doctor_compute_mode},
    {"mig", "GPUs in MIG mode", doctor_mig},
    {"ecc", "memory errors", doctor_ecc},
    {"xid", "errors of GPUs in the kernel's log", doctor_xid},
    {"clocks", "what lowers the GPUs' clocks", doctor_clocks},
    {"mps", "ranks that share a GPU", doctor_mps},
    {"mps-left", "MPS daemons that were left over", doctor_mps_left},
    {"numa", "the NUMA nodes of GPUs", doctor_numa},
    {"numa-balancing", "automatic NUMA balancing", doctor_numa_balancing},
    {"bar1", "how much of a GPU's memory the PCI bus sees", doctor_bar1},
    {"peer-access", "peer access between GPUs", doctor_peer_access},
    {"nvlink", "NVLinks that are down", doctor_nvlink},
    {"iommu", "the IOMMU", doctor_iommu},
    {"acs", "PCI Access Control Services between GPUs", doctor_acs},
    {"shm", "/dev/shm", doctor_shm},
    {"memlock", "the limit of locked memory", doctor_memlock},
    {"ptrace-scope", "Yama's ptrace_scope", doctor_ptrace_scope},
    {"pid-namespace", "the process namespace", doctor_pid_namespace},
    {"ipc-namespace", "the IPC namespace", doctor_ipc_namespace},
    {"user-namespace", "the user namespace", doctor_user_namespace},
    {"launcher", "the launcher's environment", doctor_launcher},
    {"hwloc-plugins", "GPU plugins of hwloc", doctor_hwloc_plugins},
    {"cuda-aware", "whether MPI takes GPU memory", doctor_cuda_aware},
};
const int doctor_nchecks = sizeof doctor_checks / sizeof doctor_checks[0];
_Static_assert(sizeof doctor_checks / sizeof doctor_checks[0] <= DOCTOR_MAX_CHECKS,
               "too many checks");

void doctor_judge(const struct doctor_facts *facts, struct doctor_report *report)
{
    memset(report, 0, sizeof *report);
    for (int c = 0; c < doctor_nchecks; c++)
        doctor_checks[c].judge(facts, &report->results[c]);
}

void doctor_clear(struct doctor_report *report)
{
    for (int c = 0; c < doctor_nchecks; c++) {
        text_clear(&report->results[c].sentence);
        text_clear(&report->results[c].evidence);
        text_clear(&report->results[c].set);
    }
}

int doctor_count(const struct doctor_report *report, enum doctor_severity severity)
{
    int n = 0;

    for (int c = 0; c < doctor_nchecks; c++)
        n += report->results[c].state == DOCTOR_FOUND && report->results[c].severity <= severity;
    return n;
}

__attribute__((format(printf, 3, 0))) static void add(struct text *text, const char *end,
                                                      const char *format, va_list args)
{
    char line[1024];

    vsnprintf(line, sizeof line, format, args);
    text_add(text, "%s%s", line, end);
}

void doctor_found(struct doctor_result *result, enum doctor_severity severity, const char *format,
                  ...)
{
    va_list args;

    result->state = DOCTOR_FOUND;
    result->severity = severity;
    va_start(args, format);
    add(&result->sentence, "", format, args);
    va_end(args);
}

void doctor_unknown(struct doctor_result *result, const char *format, ...)
{
    va_list args;

    result->state = DOCTOR_UNKNOWN;
    va_start(args, format);
    add(&result->sentence, "", format, args);
    va_end(args);
}

void doctor_moot(struct doctor_result *result, const char *format, ...)
{
    va_list args;

    result->state = DOCTOR_MOOT;
    va_start(args, format);
    add(&result->sentence, "", format, args);
    va_end(args);
}

void doctor_saw(struct doctor_result *result, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(&result->evidence, "\n", format, args);
    va_end(args);
}

void doctor_set(struct doctor_result *result, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(&result->set, "\n", format, args);
    va_end(args);
}

void doctor_found_at(struct doctor_result *result, enum doctor_severity severity,
                     const char *sentence, const struct doctor_gpu *gpu)
{
    if (result->state != DOCTOR_FOUND)
        doctor_found(result, severity, "%s: %s", sentence, gpu->pci);
    else
        text_add(&result->sentence, ", %s", gpu->pci);
    if (severity < result->severity)
        result->severity = severity;
}

bool doctor_has_gpus(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (facts->ngpus)
        return true;
    doctor_moot(result, "no NVIDIA GPU");
    return false;
}

bool doctor_has_driver(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (!facts->driver_loaded)
        doctor_moot(result, facts->ngpus ? "no driver of NVIDIA's is loaded" : "no NVIDIA GPU");
    return facts->driver_loaded;
}

bool doctor_has_nvml(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (!doctor_has_gpus(facts, result))
        return false;
    if (facts->nvml != DOCTOR_NVML_ANSWERED)
        doctor_unknown(result, "NVML %s%s%s",
                       facts->nvml == DOCTOR_NVML_FAILED ? "does not answer" : "was not asked",
                       facts->nvml_why[0] ? ": " : "", facts->nvml_why);
    return facts->nvml == DOCTOR_NVML_ANSWERED;
}

bool doctor_may_open(const struct doctor_gpu *gpu)
{
    return gpu->device == DOCTOR_FILE_USABLE || gpu->device == DOCTOR_FILE_UNKNOWN;
}

int doctor_usable_gpus(const struct doctor_facts *facts)
{
    int n = 0;

    for (int g = 0; g < facts->ngpus; g++)
        n += doctor_may_open(&facts->gpus[g]);
    return n;
}

bool doctor_in_job(const struct doctor_facts *facts)
{
    return strcmp(facts->launcher, "none") != 0;
}

bool doctor_in_container(const struct doctor_facts *facts, const char *kind)
{
    return strcmp(facts->container, kind) == 0;
}

const char *doctor_file_text(enum doctor_file file)
{
    static const char *const texts[] = {"not looked at", "can be opened", "is not there",
                                        "may not be opened: its mode forbids it",
                                        "may not be opened: the device cgroup forbids it"};

    return texts[file];
}

void doctor_facts_init(struct doctor_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    strcpy(facts->launcher, "none");
    facts->daemon_seen = -1;
    memset(facts->peer, -1, sizeof facts->peer);
    memset(facts->nvlink, -1, sizeof facts->nvlink);
    facts->virtual_machine = -1;
    facts->numa_balancing = facts->shm_writable = facts->fabric_manager = -1;
    facts->uptime = -1;
    facts->shm_bytes = facts->shm_free = -1;
    facts->ptrace_scope = -2;
}

struct doctor_gpu *doctor_facts_gpu(struct doctor_facts *facts, const char *pci)
{
    struct doctor_gpu *gpu;
    int at = 0;

    while (at < facts->ngpus && strcasecmp(facts->gpus[at].pci, pci) < 0)
        at++;
    gpu = &facts->gpus[at];
    if (at < facts->ngpus && strcasecmp(gpu->pci, pci) == 0)
        return gpu;
    if (facts->ngpus == DOCTOR_MAX_GPUS)
        return NULL;
    memmove(gpu + 1, gpu, (size_t)(facts->ngpus++ - at) * sizeof *gpu);
    memset(gpu, 0, sizeof *gpu);
    snprintf(gpu->pci, sizeof gpu->pci, "%s", pci);
    gpu->minor = gpu->persistence = gpu->compute_mode = gpu->mig = -1;
    gpu->ecc_errors = gpu->bar1_bytes = gpu->memory_bytes = gpu->clock_limits = -1;
    gpu->links_up = gpu->links_down = gpu->fabric = gpu->fabric_status = -1;
    gpu->numa = -2;
    return gpu;
}
