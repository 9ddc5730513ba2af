/* The doctor's judgements over made-up facts: a sound machine, of which nothing may be
 * found, and changes to it, each of which one check must find. */
#include <stdlib.h>

#include "core/doctor/doctor.h"
#include "tests/core/doctor_machine.h"
#include "tests/tap.h"

/* clang-format off */
static const struct {
    const char *check;
    void (*change)(struct doctor_facts *facts);
    const char *result, *sentence, *set; /* parts of those; NULL: none is wanted */
} finds[] = {
    {"driver", drop_driver, "breaks", "is not loaded", "modprobe nvidia\n"},
    {"driver", have_nouveau, "breaks", "is not loaded", "blacklist nouveau"},
    {"driver", not_be_given, "breaks", "this container was not given", "docker run --gpus all"},
    {"driver", give_to_nouveau, "breaks", "does not drive 0000:20:00.0", "drivers/nouveau/unbind"},
    {"driver", give_to_vfio, "note", "does not drive 0000:20:00.0", "drivers/vfio-pci/unbind"},
    {"driver", lose_one, "breaks", "does not drive 0000:20:00.0", "dmesg"},
    {"device-files", lose_ctl, "breaks", "is not there", "nvidia-modprobe -c 0"},
    {"device-files", deny_ctl, "breaks", "may not be opened", "NVreg_DeviceFileMode=0666"},
    {"uvm", lose_uvm, "breaks", "/dev/nvidia-uvm is not there", "nvidia-modprobe -u"},
    {"uvm", lose_uvm_in_docker, "breaks", "is not there", "docker run --gpus all"},
    {"uvm", lose_uvm_in_podman, "breaks", "is not there", "podman run --device nvidia.com/gpu=all"},
    {"uvm", lose_uvm_in_pod, "breaks", "is not there", "limits: {nvidia.com/gpu: 1}"},
    {"uvm", lose_uvm_in_some, "breaks", "is not there", "NVIDIA_VISIBLE_DEVICES=all"},
    {"device-files", hide_ctl_in_apptainer, "breaks", "may not be opened", "srun --gpus"},
    {"cuda-library", lose_cuda_in_docker, "breaks", "libcuda.so.1", "all\nNVIDIA_DRIVER_CAPABILITIES="},
    {"cuda-library", lose_cuda_in_pod, "breaks", "libcuda.so.1", "limits: {nvidia.com/gpu: 1}"},
    {"cuda-library", lose_cuda_in_podman, "breaks", "libcuda.so.1", "podman run --device"},
    {"cuda-library", lose_cuda, "breaks", "libcuda.so.1 is not found", "LD_LIBRARY_PATH"},
    {"library-version", upgrade, "breaks", "different versions", "modprobe nvidia"},
    {"library-version", mismatch, "breaks", "different versions", "modprobe nvidia"},
    {"hidden-gpus", hide_one, "note", "1 of the machine's 2 GPUs", "batch system"},
    {"hidden-gpus", hide_one_in_slurm, "note", "1 of the machine's 2", "srun --gpus-per-node=2"},
    {"hidden-gpus", hide_all, "breaks", "2 of the machine's 2 GPUs", "NVreg_DeviceFileMode=0666"},
    {"hidden-gpus", be_given_one, "note", "1 of the machine's 2 GPUs", "docker run --gpus all"},
    {"visible-devices", hand_set, "note", "leaves 1 of 2", "unset CUDA_VISIBLE_DEVICES"},
    {"visible-devices", hand_wrong, "breaks", "'7' names no further GPU", "unset"},
    {"visible-devices", hand_uuid, "breaks", "'GPU-77' names no further GPU", "unset"},
    {"visible-devices", hand_empty, "breaks", "hides all GPUs", "unset"},
    {"device-order", order_odd, "note", "neither PCI_BUS_ID", "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
    {"device-order", mix_models, "note", "different models", "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
    {"device-order", mix_numbers, "breaks", "may mean other GPUs", "CUDA_DEVICE_ORDER="},
    {"all-visible", see_all, "note", "starts all 2 GPUs", "mpirun -np 2 gpubind ./app"},
    {"fabric-manager", not_join, "breaks", "not joined the fabric", "nvidia-fabricmanager"},
    {"fabric-manager", not_join_elsewhere, "note", "which are not in sight", "nvidia-smi -q"},
    {"fabric-manager", fail_to_join, "breaks", "(error 802): 0000:10:00.0", "nvidia-fabricmanager"},
    {"fabric-manager", lose_fabric_manager, "breaks", "no fabric manager runs", "systemctl enable --now"},
    {"xid", log_program, "note", "0000:10:00.0: 2 Xid errors since boot, the last 31: a page fault", "compute-sanitizer"},
    {"xid", log_fallen, "breaks", "0000:20:00.0: 1 Xid error since boot, the last 79: the GPU has fallen", "-i 0000:20:00.0 --gpu-reset"},
    {"xid", log_gone, "breaks", "0000:77:00: 1 Xid error", "-i 0000:77:00 --gpu-reset"},
    {"xid", log_later, "breaks", "4 Xid errors since boot, the last 45: the work of a program that ended was removed, before that 79: the GPU has fallen", "--gpu-reset"},
    {"xid", log_two, "breaks", "0000:10:00.0: 2 Xid errors since boot, the last 31: a page fault: a kernel used an address that is not mapped; 0000:20:00.0: 1 Xid", "--gpu-reset"},
    {"xid", log_two_back, "breaks", "; 0000:10:00.0: 2 Xid", "compute-sanitizer"},
    {"xid", log_old, "note", "the last 79", "--gpu-reset"},
    {"xid", log_strange, "note", "the last 999: see NVIDIA's catalogue", "--gpu-reset"},
    {"clocks", get_hot, "slows", "clocks: 0000:20:00.0 (too hot, by the hardware; slowdown", "-d TEMPERATURE"},
    {"clocks", brake, "slows", "power brake", "-d PERFORMANCE,POWER"},
    {"clocks", limit_power, "note", "0000:10:00.0 (power limit)", "nvidia-smi -pl"},
    {"clocks", set_clocks, "note", "clocks were set", "nvidia-smi -rac"},
    {"clocks", hot_and_set, "slows", "0000:10:00.0 (clocks were set), 0000:20:00.0 (too hot", "-rac"},
    {"mps-left", leave_pipes, "note", "died and left its pipes in /tmp/mps1", "rm -r /tmp/mps1"},
    {"mps-left", leave_daemon, "note", "runs that nobody uses, with pipes in /tmp/mps1", "echo quit | CUDA_MPS_PIPE_DIRECTORY=/tmp/mps1"},
    {"mps-left", leave_two, "note", "/tmp/mps1; an MPS control daemon died", "rm -r /tmp/mps2"},
    {"mps-left", leave_server, "slows", "; an MPS server whose control daemon has died still", "kill 4711"},
    {"numa-balancing", balance, "note", "NUMA balancing is on", "sysctl -w kernel.numa_balancing=0"},
    {"bar1", narrow_bar1, "slows", "smaller than that memory: 0000:10:00.0", "Resizable BAR"},
    {"bar1", narrow_bar1_alone, "note", "smaller than that memory", "Resizable BAR"},
    {"nvlink", lose_link, "slows", "NVLinks are down: 0000:20:00.0 (1 of 18)", "nvlink --status"},
    {"nvlink", lose_links, "slows", "0000:10:00.0 (18 of 18), 0000:20:00.0 (18 of 18)", "nvlink --status"},
    {"nvlink", bridge_some, "note", "0000:10:00.0 (6 of 18), 0000:20:00.0 (6 of 18)", "nvlink --status"},
    {"nvlink", bridge_one_less, "slows", "0000:10:00.0 (7 of 18)", "nvlink --status"},
    {"nvlink", add_unbridged, "note", "NVLinks are down: 0000:30:00.0 (18 of 18)", "nvlink --status"},
    {"shm", write_protect, "breaks", "/dev/shm may not be written to", "remount,rw /dev/shm"},
    {"persistence", go_cold, "slows", "from cold: 0000:20:00.0", "nvidia-persistenced"},
    {"compute-mode", exclude, "note", "ranks cannot share the GPU: 0000:10:00.0", "-c DEFAULT"},
    {"compute-mode", exclude_shared, "breaks", "ranks cannot share", "nvidia-cuda-mps-control -d"},
    {"compute-mode", prohibit, "breaks", "admits no CUDA program", "nvidia-smi -c DEFAULT"},
    {"mig", empty_mig, "breaks", "no instance to compute on: 0000:20:00.0", "-i 0000:20:00.0 -mig 0"},
    {"ecc", burn, "breaks", "could not be corrected: 0000:10:00.0", "--gpu-reset"},
    {"mps", share, "slows", "4 ranks of this node share 2 GPUs", "nvidia-cuda-mps-control -d"},
    {"mps", lose_mps, "note", "no MPS server answers", "unset CUDA_MPS_PIPE_DIRECTORY"},
    {"numa", lose_numa, "slows", "near to 0000:10:00.0, 0000:20:00.0",
     "echo NODE > /sys/bus/pci/devices/0000:10:00.0/numa_node\n"},
    {"peer-access", lose_peer, "slows", "1 of 1 pairs of GPUs have no peer access", NULL},
    {"iommu", translate, "note", "NVLink does not mind", "add iommu.passthrough=1 to"},
    {"iommu", translate_unlinked, "slows", "spoils peer access", "add iommu.passthrough=1 to"},
    {"acs", redirect, "slows", "Access Control", "setpci -s 0000:02:00.0 ECAP_ACS+0x6.w=0000"},
    {"shm", shrink_shm, "breaks", "/dev/shm holds 64 MiB", "mount -o remount,size=50% /dev/shm"},
    {"shm", shrink_shm_in_docker, "breaks", "holds 64 MiB", "docker run --shm-size=1g"},
    {"shm", shrink_shm_in_pod, "breaks", "holds 64 MiB", "medium: Memory"},
    {"shm", fill_shm, "breaks", "1 MiB are free", "ls -l /dev/shm"},
    {"shm", disk_shm, "slows", "type ext4", "mount -t tmpfs"},
    {"memlock", lock_little, "breaks", "8192 KiB", "ulimit -l unlimited"},
    {"memlock", lock_some, "note", "67108864 KiB", "ulimit -l unlimited"},
    {"memlock", lock_hard, "breaks", "8192 KiB", "/etc/security/limits.d"},
    {"ptrace-scope", yama_1, "note", "rank by rank", "kernel.yama.ptrace_scope=0"},
    {"ptrace-scope", yama_2, "slows", "copies messages in host memory twice", "sysctl -w"},
    {"ptrace-scope", yama_3_root, "slows", "twice", "reboot"},
    {"pid-namespace", apart_pid, "breaks", "another process namespace", "docker run --pid=host"},
    {"pid-namespace", alone_pid, "note", "own process namespace", "inside one container"},
    {"ipc-namespace", apart_ipc, "breaks", "another IPC namespace", "docker run --ipc=host"},
    {"ipc-namespace", alone_ipc, "note", "own IPC namespace", "inside one container"},
    {"user-namespace", apart_user, "slows", "another user namespace", "docker run --userns=host"},
    {"user-namespace", alone_user, "note", "own user namespace", "inside one container"},
    {"launcher", contradict, "breaks", "A=1 contradicts B=2", "--launcher NAME"},
    {"hwloc-plugins", add_opencl, "slows", "starts all GPUs", "export HWLOC_COMPONENTS=-opencl\n"},
    {"hwloc-plugins", add_opencl_to_list, "slows", "starts all GPUs", "HWLOC_COMPONENTS=-gl,-opencl\n"},
    {"hwloc-plugins", add_cuda, "slows", "starts all GPUs", "export HWLOC_COMPONENTS=-cuda\n"},
    {"cuda-aware", lose_aware, "note", "crashes without gpubind: Open MPI", "gpubind --gpu-aware ./app"},
};
/* clang-format on */
#define NFINDS (int)(sizeof finds / sizeof finds[0])

/* ---- what must not be found, by one look or another */

/* clang-format off */
CHANGE(without_gpus) { f->ngpus = 0; f->driver_loaded = false; see_all(f); }
CHANGE(without_nvml) { f->nvml = DOCTOR_NVML_FAILED; strcpy(f->nvml_why, "no library"); }
CHANGE(never_told_modes)
{
    for (int g = 0; g < 2; g++)
        f->gpus[g].persistence = f->gpus[g].compute_mode = -1;
}
CHANGE(be_windows) { f->windows = true; f->uvm = f->ctl = DOCTOR_FILE_ABSENT; }
CHANGE(all_by_hand) { f->by_gpubind = false; set_variable(&f->visible, "1,0"); }
CHANGE(part_in_slurm) { hand_set(f); f->in_slurm_job = true; }
CHANGE(part_in_flux) { hand_set(f); strcpy(f->launcher, "flux"); }
CHANGE(name_mig) { f->by_gpubind = false; set_variable(&f->visible, "MIG-1"); }
CHANGE(secret_uuids) { hand_uuid(f); f->gpus[1].uuid[0] = '\0'; }
CHANGE(mixed_by_bus) { mix_numbers(f); set_variable(&f->order, "PCI_BUS_ID"); }
CHANGE(one_gpu) { see_all(f); f->ngpus = 1; }
CHANGE(exclusive_mps) { exclude(f); f->mps_runs = true; }
CHANGE(full_mig) { f->gpus[1].mig = 1; f->gpus[1].instances = 7; }
CHANGE(no_ecc) { f->gpus[0].ecc_errors = -1; }
CHANGE(share_mps) { share(f); f->mps_runs = true; }
CHANGE(share_hidden) { share(f); hide_one(f); }
CHANGE(share_instances) { full_mig(f); f->local_size = 8; }
CHANGE(one_numa_cpus) { lose_numa(f); f->nnuma_cpus = 1; }
CHANGE(off_bus)
{
    for (int g = 0; g < 2; g++) {
        f->gpus[g].on_bus = false;
        f->gpus[g].numa = -2;
        f->gpus[g].nbridges = 0;
    }
}
CHANGE(in_guest) { translate_unlinked(f); f->virtual_machine = 1; }
CHANGE(apart_roots) { redirect(f); strcpy(f->gpus[0].bridge[0].pci, "0000:00:02.0"); }
CHANGE(acs_secret) { f->gpus[0].bridge[2].acs = -1; }
CHANGE(acs_above) { f->gpus[0].bridge[0].acs = f->gpus[1].bridge[0].acs = 0x1d; }
CHANGE(no_shm) { f->shm_bytes = f->shm_free = -1; f->shm_type[0] = '\0'; }
CHANGE(no_rdma) { lock_little(f); f->rdma[0] = '\0'; }
CHANGE(no_limits) { f->memlock_soft[0] = '\0'; }
CHANGE(yama_root) { yama_2(f); f->cap_ptrace = true; }
CHANGE(no_yama) { f->ptrace_scope = -1; }
CHANGE(yama_secret) { f->ptrace_scope = -2; }
CHANGE(daemon_there) { f->pid_namespace = f->ipc_namespace = f->user_namespace = 7; }
CHANGE(no_namespaces) { f->pid_namespace = f->ipc_namespace = f->user_namespace = 0; }
CHANGE(excluded) { add_opencl(f); set_variable(&f->hwloc_components, "linux,-opencl,pci"); }
CHANGE(phase_excluded) { add_opencl(f); set_variable(&f->hwloc_components, "-opencl:io"); }
CHANGE(stopped) { add_opencl(f); set_variable(&f->hwloc_components, "linux,stop"); }
CHANGE(blacklisted) { add_opencl(f); set_variable(&f->hwloc_blacklist, "a.so,hwloc_opencl.so"); }
CHANGE(no_icd) { add_opencl(f); f->icd[0] = '\0'; }
CHANGE(from_xml) { add_opencl(f); set_variable(&f->hwloc_xml, "x.xml"); }
CHANGE(no_folder) { f->plugin_folders[0] = '\0'; }
CHANGE(nvml_plugin) { add_opencl(f); strcpy(f->plugins[0].component, "nvml"); }
CHANGE(no_mpi) { f->nmpis = 0; }
CHANGE(mpi_silent) { f->mpis[0].cuda = -1; }
CHANGE(manager_out_of_sight) { be_ampere(f); f->fabric_manager = -1; }
CHANGE(log_denied) { f->kernel_log = DOCTOR_FILE_DENIED; }
CHANGE(log_absent) { f->kernel_log = DOCTOR_FILE_ABSENT; }
CHANGE(no_limits_told) { f->gpus[0].clock_limits = f->gpus[1].clock_limits = -1; }
CHANGE(use_mps) { add_mps(f, true)->servers = 1; add_mps(f, true)->gpubinds = true; }
CHANGE(start_mps) { strcpy(add_mps(f, true)->directory, "/tmp/nvidia-mps"); }
CHANGE(balance_one_numa) { balance(f); f->nnuma = 1; }
CHANGE(balance_secret) { f->numa_balancing = -1; }
CHANGE(no_bar1) { f->gpus[0].bar1_bytes = f->gpus[1].bar1_bytes = 0; }
CHANGE(bar1_secret) { f->gpus[0].bar1_bytes = f->gpus[1].bar1_bytes = -1; }
CHANGE(memory_secret) { f->gpus[0].memory_bytes = f->gpus[1].memory_bytes = -1; without_nvml(f); }
CHANGE(no_links)
{
    no_switch(f);
    lose_links(f);
}
CHANGE(links_secret) { f->gpus[0].links_up = f->gpus[1].links_up = -1; }
CHANGE(links_of_mig) { lose_link(f); f->gpus[1].mig = 1; f->gpus[1].instances = 7; }
CHANGE(versions_secret) { f->driver_version[0] = '\0'; without_nvml(f); }
/* clang-format on */

/* clang-format off */
static const struct {
    const char *check;
    void (*change)(struct doctor_facts *facts);
    const char *result;
} others[] = {
    {"driver", without_gpus, "moot"}, {"driver", be_windows, "fine"}, {"driver", off_bus, "fine"},
    {"device-files", be_windows, "moot"}, {"device-files", without_gpus, "moot"},
    {"uvm", be_windows, "moot"}, {"uvm", drop_driver, "moot"},
    {"cuda-library", without_gpus, "moot"}, {"library-version", versions_secret, "unknown"},
    {"library-version", without_gpus, "moot"}, {"hidden-gpus", without_gpus, "moot"},
    {"hidden-gpus", drop_driver, "moot"}, {"visible-devices", see_all, "fine"},
    {"visible-devices", all_by_hand, "fine"}, {"visible-devices", part_in_slurm, "fine"},
    {"visible-devices", part_in_flux, "fine"},
    {"visible-devices", name_mig, "unknown"}, {"visible-devices", secret_uuids, "unknown"},
    {"visible-devices", without_gpus, "moot"}, {"device-order", mixed_by_bus, "fine"},
    {"all-visible", one_gpu, "fine"}, {"all-visible", hand_set, "fine"},
    {"persistence", without_nvml, "fine"}, {"persistence", never_told_modes, "unknown"},
    {"compute-mode", exclusive_mps, "fine"}, {"compute-mode", without_nvml, "unknown"},
    {"compute-mode", never_told_modes, "unknown"}, {"mig", full_mig, "fine"},
    {"mig", without_nvml, "unknown"}, {"ecc", no_ecc, "fine"}, {"ecc", without_nvml, "unknown"},
    {"mps", share_mps, "fine"}, {"mps", share_hidden, "unknown"},
    {"mps", share_instances, "fine"}, {"mps", leave_job, "moot"}, {"numa", one_numa_cpus, "moot"},
    {"numa", off_bus, "unknown"}, {"peer-access", one_gpu, "moot"},
    {"peer-access", without_nvml, "unknown"}, {"iommu", in_guest, "moot"},
    {"iommu", off_bus, "unknown"}, {"iommu", one_gpu, "moot"}, {"acs", apart_roots, "moot"},
    {"acs", acs_secret, "unknown"}, {"acs", acs_above, "fine"}, {"acs", off_bus, "moot"},
    {"fabric-manager", no_switch, "moot"}, {"fabric-manager", be_ampere, "fine"},
    {"fabric-manager", manager_out_of_sight, "unknown"}, {"fabric-manager", without_gpus, "moot"},
    {"xid", log_denied, "unknown"}, {"xid", log_absent, "unknown"}, {"xid", without_gpus, "moot"},
    {"clocks", no_limits_told, "unknown"}, {"clocks", without_nvml, "unknown"},
    {"mps-left", use_mps, "fine"}, {"mps-left", start_mps, "fine"}, {"numa-balancing", balance_one_numa, "moot"},
    {"numa-balancing", balance_secret, "unknown"}, {"numa-balancing", without_gpus, "moot"},
    {"bar1", no_bar1, "fine"}, {"bar1", bar1_secret, "unknown"}, {"bar1", memory_secret, "unknown"},
    {"bar1", without_gpus, "moot"}, {"nvlink", no_links, "moot"},
    {"nvlink", links_secret, "unknown"}, {"nvlink", links_of_mig, "fine"},
    {"nvlink", without_nvml, "unknown"},
    {"shm", no_shm, "unknown"}, {"memlock", no_rdma, "moot"}, {"memlock", no_limits, "unknown"},
    {"ptrace-scope", yama_root, "fine"}, {"ptrace-scope", no_yama, "fine"},
    {"ptrace-scope", yama_secret, "unknown"}, {"pid-namespace", daemon_there, "fine"},
    {"pid-namespace", no_namespaces, "unknown"}, {"ipc-namespace", daemon_there, "fine"},
    {"ipc-namespace", no_namespaces, "unknown"}, {"user-namespace", daemon_there, "fine"},
    {"user-namespace", no_namespaces, "unknown"}, {"launcher", leave_job, "moot"},
    {"hwloc-plugins", excluded, "fine"}, {"hwloc-plugins", stopped, "fine"},
    {"hwloc-plugins", phase_excluded, "fine"}, {"driver", be_given_one, "fine"},
    {"hwloc-plugins", blacklisted, "fine"}, {"hwloc-plugins", no_icd, "fine"},
    {"hwloc-plugins", from_xml, "moot"}, {"hwloc-plugins", no_folder, "unknown"},
    {"hwloc-plugins", nvml_plugin, "fine"}, {"hwloc-plugins", without_gpus, "moot"},
    {"cuda-aware", no_mpi, "unknown"}, {"cuda-aware", mpi_silent, "unknown"},
};
/* clang-format on */

static struct doctor_facts facts;
static struct doctor_report report;

static int find_check(const char *name)
{
    for (int c = 0; c < doctor_nchecks; c++)
        if (strcmp(doctor_checks[c].name, name) == 0)
            return c;
    printf("Bail out! no check is called %s\n", name);
    exit(1);
}

static const char *word(const struct doctor_result *result)
{
    static const char *const states[] = {"fine", NULL, "unknown", "moot"};
    static const char *const severities[] = {"breaks", "slows", "note"};

    return result->state == DOCTOR_FOUND ? severities[result->severity] : states[result->state];
}

static bool has(const struct text *text, const char *part)
{
    return part ? text->bytes && strstr(text->bytes, part) : !text->length;
}

static void judges_sound(void)
{
    make_sound(&facts);
    doctor_judge(&facts, &report);
    for (int c = 0; c < doctor_nchecks; c++)
        if (!tap_ok(report.results[c].state == DOCTOR_FINE, "sound: %s", doctor_checks[c].name))
            tap_diag("%s: %s", word(&report.results[c]), report.results[c].sentence.bytes);
    tap_is_int(doctor_count(&report, DOCTOR_NOTE), 0, "nothing is counted");
    doctor_clear(&report);
}

static void finds_all(void)
{
    for (int i = 0; i < NFINDS; i++) {
        const struct doctor_result *result = &report.results[find_check(finds[i].check)];

        make_sound(&facts);
        finds[i].change(&facts);
        doctor_judge(&facts, &report);
        if (!tap_ok(strcmp(word(result), finds[i].result) == 0 &&
                        has(&result->sentence, finds[i].sentence) &&
                        has(&result->set, finds[i].set) && result->evidence.length,
                    "%s finds case %d: %s", finds[i].check, i, finds[i].sentence))
            tap_diag("%s: %s; set: %s", word(result),
                     result->sentence.bytes ? result->sentence.bytes : "nothing",
                     result->set.bytes ? result->set.bytes : "nothing");
        doctor_clear(&report);
    }
    for (int c = 0; c < doctor_nchecks; c++) {
        int n = 0;

        for (int i = 0; i < NFINDS; i++)
            n += strcmp(finds[i].check, doctor_checks[c].name) == 0;
        tap_ok(n > 0, "there is a case for %s", doctor_checks[c].name);
    }
}

static void leaves_others(void)
{
    for (int i = 0; i < (int)(sizeof others / sizeof others[0]); i++) {
        const struct doctor_result *result = &report.results[find_check(others[i].check)];

        make_sound(&facts);
        others[i].change(&facts);
        doctor_judge(&facts, &report);
        if (!tap_ok(strcmp(word(result), others[i].result) == 0 &&
                        (result->state == DOCTOR_FINE || result->sentence.length),
                    "%s is %s in case %d", others[i].check, others[i].result, i))
            tap_diag("%s: %s", word(result), result->sentence.bytes ? result->sentence.bytes : "");
        doctor_clear(&report);
    }
}

static void shows(void)
{
    static const char title[] = "node sound: 1 thing slows or breaks GPU jobs, 1 note (2 NVIDIA "
                                "GPUs, driver 580.1.2, openmpi)\nbreaks: shm: ";
    struct text text = {0};
    const char *note;

    make_sound(&facts);
    shrink_shm(&facts);
    strcpy(facts.shm_evidence, "mounts say \"64 MiB\"");
    lose_aware(&facts);
    doctor_judge(&facts, &report);
    doctor_render(&facts, &report, false, &text);
    tap_ok(text.bytes && strncmp(text.bytes, title, strlen(title)) == 0,
           "the title counts, and what breaks comes first");
    note = text.bytes ? strstr(text.bytes, "\nnote: cuda-aware: ") : NULL;
    tap_ok(text.bytes && strstr(text.bytes, "\n    seen  mounts say \"64 MiB\"\n") &&
               strstr(text.bytes, "\n    set   mount -o remount,size=50% /dev/shm\n"),
           "evidence and the line to set");
    tap_ok(note && strstr(note, "\nlooked at and fine: driver, "), "notes, then what is fine");
    text_clear(&text);
    doctor_render(&facts, &report, true, &text);
    tap_ok(text.bytes &&
               strstr(text.bytes, "\nfine: uvm: /dev/nvidia-uvm\n    seen  /dev/nvidia-uvm "
                                  "can be opened\n"),
           "all checks with their evidence");
    text_clear(&text);
    doctor_render_json(&facts, &report, &text);
    tap_ok(text.bytes && strstr(text.bytes, "\"found\":1,") &&
               strstr(text.bytes,
                      "{\"check\":\"shm\",\"result\":\"breaks\",\"text\":\"/dev/shm holds") &&
               strstr(text.bytes, "\"evidence\":[\"mounts say \\\"64 MiB\\\"\"") &&
               strstr(text.bytes, "\"set\":[\"mount -o remount,size=50% /dev/shm\"]}"),
           "JSON");
    text_clear(&text);
    doctor_clear(&report);
}

static void keeps_order(void)
{
    doctor_facts_init(&facts);
    doctor_facts_gpu(&facts, "0000:9a:00.0")->minor = 1;
    doctor_facts_gpu(&facts, "0000:17:00.0")->minor = 0;
    doctor_facts_gpu(&facts, "0000:9A:00.0")->numa = 5;
    tap_ok(facts.ngpus == 2 && facts.gpus[0].minor == 0 && facts.gpus[1].minor == 1 &&
               facts.gpus[1].numa == 5,
           "GPUs stand in order of address, each once");
    for (int g = 0; g < 2 * DOCTOR_MAX_GPUS; g++) {
        char pci[24];

        snprintf(pci, sizeof pci, "0001:%02x:00.0", g);
        doctor_facts_gpu(&facts, pci);
    }
    tap_is_int(facts.ngpus, DOCTOR_MAX_GPUS, "too many GPUs are left out");
    doctor_judge(&facts, &report);
    doctor_clear(&report);
}

int main(void)
{
    judges_sound();
    finds_all();
    leaves_others();
    shows();
    keeps_order();
    return tap_done();
}
