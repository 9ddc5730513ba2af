/* Is the driver there, whole and of one version? */
#include <string.h>

#include "core/doctor/doctor_internal.h"

static const struct doctor_gpu *first_on_bus(const struct doctor_facts *facts)
{
    for (int g = 0; g < facts->ngpus; g++)
        if (facts->gpus[g].on_bus)
            return &facts->gpus[g];
    return NULL;
}

/* Apptainer leaves the device cgroup as it is: what that hides the batch system has to give. */
bool doctor_give_gpus(const struct doctor_facts *facts, enum doctor_file file, int ngpus,
                      struct doctor_result *result)
{
    if (!facts->container[0] ||
        (doctor_in_container(facts, "apptainer") && file == DOCTOR_FILE_HIDDEN))
        return false;
    if (doctor_in_container(facts, "docker"))
        doctor_set(result, "docker run --gpus all");
    else if (doctor_in_container(facts, "podman"))
        doctor_set(result, "podman run --device nvidia.com/gpu=all");
    else if (doctor_in_container(facts, "apptainer"))
        doctor_set(result, "apptainer exec --nv   # or: singularity exec --nv");
    else if (doctor_in_container(facts, "kubernetes"))
        doctor_set(result, "resources: {limits: {nvidia.com/gpu: %d}}", ngpus > 0 ? ngpus : 1);
    else
        doctor_set(result, "NVIDIA_VISIBLE_DEVICES=all   # in the environment of the container, "
                           "where NVIDIA's runtime or hook starts it");
    return true;
}

static void judge_absent(const struct doctor_facts *facts, struct doctor_result *result)
{
    const struct doctor_gpu *gpu = first_on_bus(facts);

    if (!gpu) {
        doctor_moot(result, "no NVIDIA GPU");
        return;
    }
    doctor_saw(result, "/sys/bus/pci/devices/%s is an NVIDIA GPU", gpu->pci);
    if (facts->container[0]) {
        doctor_found(result, DOCTOR_BREAKS,
                     "the machine has NVIDIA GPUs, but this container was "
                     "not given the driver");
        doctor_give_gpus(facts, DOCTOR_FILE_ABSENT, 1, result);
        return;
    }
    doctor_found(result, DOCTOR_BREAKS,
                 "the machine has NVIDIA GPUs, but NVIDIA's kernel driver "
                 "is not loaded");
    if (strcmp(gpu->kernel_driver, "nouveau") == 0) {
        doctor_saw(result, "/sys/bus/pci/devices/%s/driver is nouveau", gpu->pci);
        doctor_set(result, "echo blacklist nouveau > /etc/modprobe.d/nouveau.conf");
    }
    doctor_set(result, "modprobe nvidia");
}

/* GPUs that the loaded driver does not drive. Those that it drives and that are not
 * listed are hidden, as from a container. Those of vfio-pci are a virtual machine's. */
static void judge_undriven(const struct doctor_facts *facts, struct doctor_result *result)
{
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];
        bool given = strcmp(gpu->kernel_driver, "vfio-pci") == 0;

        if (!gpu->on_bus || gpu->in_driver || !facts->lists_gpus ||
            strcmp(gpu->kernel_driver, "nvidia") == 0)
            continue;
        if (result->state != DOCTOR_FOUND)
            doctor_found(result, DOCTOR_NOTE, "the driver does not drive %s", gpu->pci);
        else
            text_add(&result->sentence, ", %s", gpu->pci);
        if (!given)
            result->severity = DOCTOR_BREAKS;
        doctor_saw(result, "/proc/driver/nvidia/gpus has no %s, whose driver is %s", gpu->pci,
                   gpu->kernel_driver[0] ? gpu->kernel_driver : "none");
        if (gpu->kernel_driver[0])
            doctor_set(result,
                       "echo %s > /sys/bus/pci/drivers/%s/unbind; "
                       "echo %s > /sys/bus/pci/drivers/nvidia/bind",
                       gpu->pci, gpu->kernel_driver, gpu->pci);
        else
            doctor_set(result, "dmesg | grep -e NVRM -e %s", gpu->pci);
    }
}

void doctor_driver(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (facts->windows) {
        doctor_saw(result, "/dev/dxg is there: the driver is that of Windows");
        return;
    }
    if (!facts->driver_loaded) {
        doctor_saw(result, "/proc/driver/nvidia/version is not there");
        judge_absent(facts, result);
        return;
    }
    doctor_saw(result, "/proc/driver/nvidia/version: %s",
               facts->driver_version[0] ? facts->driver_version
                                        : "is not there, /dev/nvidiactl is");
    judge_undriven(facts, result);
}

/* Whether device files can be asked for. */
static bool has_files(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (!doctor_has_driver(facts, result))
        return false;
    if (facts->windows)
        doctor_moot(result, "Windows has the driver");
    return !facts->windows;
}

/* nvidia-modprobe(1): it makes the files where udev does not, as on machines without
 * an X server. In a container the runtime hands them over. */
static void judge_file(const struct doctor_facts *facts, enum doctor_file file, const char *path,
                       const char *need, const char *remedy, struct doctor_result *result)
{
    doctor_saw(result, "%s %s", path, doctor_file_text(file));
    if (file == DOCTOR_FILE_USABLE)
        return;
    if (file == DOCTOR_FILE_UNKNOWN) {
        doctor_unknown(result, "%s was not looked at", path);
        return;
    }
    doctor_found(result, DOCTOR_BREAKS, "%s %s, and %s", path,
                 file == DOCTOR_FILE_ABSENT ? "is not there" : "may not be opened", need);
    if (file == DOCTOR_FILE_DENIED)
        doctor_set(result, DOCTOR_OPEN_FILES);
    else if (doctor_give_gpus(facts, file, 1, result))
        return;
    else if (file == DOCTOR_FILE_HIDDEN)
        doctor_set(result, "srun --gpus-per-node=1");
    else
        doctor_set(result, "%s", remedy);
}

void doctor_device_files(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (has_files(facts, result))
        judge_file(facts, facts->ctl, "/dev/nvidiactl", "no program reaches the driver without it",
                   "nvidia-modprobe -c 0", result);
}

void doctor_uvm(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (has_files(facts, result))
        judge_file(facts, facts->uvm, "/dev/nvidia-uvm",
                   "CUDA does not start without the module nvidia-uvm", "nvidia-modprobe -u -c 0",
                   result);
}

void doctor_cuda_library(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (!doctor_has_driver(facts, result))
        return;
    if (facts->cuda_path[0]) {
        doctor_saw(result, "%s", facts->cuda_path);
        return;
    }
    doctor_found(result, DOCTOR_BREAKS,
                 "libcuda.so.1 is not found, and no CUDA program starts "
                 "without it");
    doctor_saw(result, "LD_LIBRARY_PATH, /etc/ld.so.cache and the loader's own folders have no "
                       "libcuda.so.1");
    if (!doctor_give_gpus(facts, DOCTOR_FILE_ABSENT, 1, result))
        doctor_set(result, "export LD_LIBRARY_PATH=FOLDER_OF_LIBCUDA:$LD_LIBRARY_PATH");
    else if (!doctor_in_container(facts, "apptainer") && !doctor_in_container(facts, "podman"))
        doctor_set(result, "NVIDIA_DRIVER_CAPABILITIES=compute,utility   # in the environment of "
                           "the container, which says what NVIDIA's runtime hands over");
}

/* NVML: NVML_ERROR_LIB_RM_VERSION_MISMATCH; the kernel's module refuses libraries of
 * another version. Packages were upgraded and the old module is still loaded, or a
 * container was started before the upgrade. */
void doctor_library_version(const struct doctor_facts *facts, struct doctor_result *result)
{
    bool differ = facts->driver_version[0] && facts->nvml_version[0] &&
                  strcmp(facts->driver_version, facts->nvml_version) != 0;

    if (!doctor_has_driver(facts, result))
        return;
    if (facts->driver_version[0])
        doctor_saw(result, "/proc/driver/nvidia/version: %s", facts->driver_version);
    if (facts->nvml_path[0])
        doctor_saw(result, "%s: %s", facts->nvml_path,
                   facts->nvml_version[0] ? facts->nvml_version : "its name holds no version");
    if (facts->nvml_mismatch)
        doctor_saw(result, "nvmlInit: driver and library versions differ");
    if (differ || facts->nvml_mismatch) {
        doctor_found(result, DOCTOR_BREAKS,
                     "the driver's libraries and its kernel module are of "
                     "different versions, and it refuses them");
        doctor_set(result, "%s",
                   facts->container[0] ? "stop this container and start it anew"
                                       : "rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia; "
                                         "modprobe nvidia (or reboot)");
    } else if (facts->nvml != DOCTOR_NVML_ANSWERED &&
               (!facts->driver_version[0] || !facts->nvml_version[0])) {
        doctor_unknown(result, "the version of the %s is not known",
                       facts->driver_version[0] ? "libraries" : "kernel module");
    }
}
