/* The made-up machine of unit_doctor.c, and changes to it that a check must find. */
#ifndef GPUBIND_TESTS_DOCTOR_MACHINE_H
#define GPUBIND_TESTS_DOCTOR_MACHINE_H

#include <stdio.h>
#include <string.h>

#include "core/doctor/doctor_facts.h"

/* Two H100 with NVLink below one switch, two NUMA nodes, an RDMA device. */
static void make_sound(struct doctor_facts *facts)
{
    doctor_facts_init(facts);
    snprintf(facts->node, sizeof facts->node, "sound");
    snprintf(facts->version, sizeof facts->version, "1.2.3");
    facts->driver_loaded = facts->lists_gpus = facts->persistenced = true;
    snprintf(facts->driver_version, sizeof facts->driver_version, "580.1.2");
    snprintf(facts->nvml_version, sizeof facts->nvml_version, "580.1.2");
    snprintf(facts->cuda_path, sizeof facts->cuda_path, "/lib/libcuda.so.1");
    snprintf(facts->nvml_path, sizeof facts->nvml_path, "/lib/libnvidia-ml.so.1");
    facts->ctl = facts->uvm = DOCTOR_FILE_USABLE;
    facts->nvml = DOCTOR_NVML_ANSWERED;
    for (int g = 0; g < 2; g++) {
        char pci[24];
        struct doctor_gpu *gpu;

        snprintf(pci, sizeof pci, "0000:%d0:00.0", g + 1);
        gpu = doctor_facts_gpu(facts, pci);
        snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%d0000000-0000", g + 1);
        snprintf(gpu->model, sizeof gpu->model, "NVIDIA H100");
        snprintf(gpu->kernel_driver, sizeof gpu->kernel_driver, "nvidia");
        snprintf(gpu->iommu, sizeof gpu->iommu, "identity");
        gpu->on_bus = gpu->in_driver = true;
        gpu->minor = gpu->numa = g;
        gpu->device = DOCTOR_FILE_USABLE;
        gpu->nbridges = 3;
        snprintf(gpu->bridge[0].pci, sizeof gpu->bridge[0].pci, "0000:00:01.0");
        snprintf(gpu->bridge[1].pci, sizeof gpu->bridge[1].pci, "0000:01:00.0");
        snprintf(gpu->bridge[2].pci, sizeof gpu->bridge[2].pci, "0000:02:0%d.0", g);
        gpu->persistence = 1;
        gpu->compute_mode = gpu->mig = 0;
        gpu->ecc_errors = 0;
        gpu->bar1_bytes = 128LL << 30;
        gpu->memory_bytes = 80LL << 30;
        gpu->clock_limits = DOCTOR_CLOCKS_IDLE;
        gpu->links_up = 18;
        gpu->links_down = 0;
        gpu->fabric = DOCTOR_FABRIC_JOINED;
        gpu->fabric_status = 0;
    }
    facts->nswitches = 4;
    snprintf(facts->switches, sizeof facts->switches, "/sys/bus/pci/devices/0000:05:00.0");
    facts->fabric_manager = 1;
    facts->kernel_log = DOCTOR_FILE_USABLE;
    facts->uptime = 200000;
    facts->numa_balancing = 0;
    facts->shm_writable = 1;
    memset(facts->peer, 0, sizeof facts->peer);
    facts->nvlink[0][1] = facts->nvlink[1][0] = 1;
    facts->nnuma = facts->nnuma_cpus = 2;
    facts->virtual_machine = 0;
    facts->shm_bytes = facts->shm_free = 64LL << 30;
    snprintf(facts->shm_type, sizeof facts->shm_type, "tmpfs");
    snprintf(facts->memlock_soft, sizeof facts->memlock_soft, "unlimited");
    snprintf(facts->memlock_hard, sizeof facts->memlock_hard, "unlimited");
    snprintf(facts->rdma, sizeof facts->rdma, "mlx5_0");
    facts->ptrace_scope = 0;
    facts->caps_known = true;
    facts->pid_namespace = 4026531836;
    facts->ipc_namespace = 4026531839;
    facts->user_namespace = 4026531837;
    snprintf(facts->plugin_folders, sizeof facts->plugin_folders, "/usr/lib64/hwloc");
    facts->nmpis = 1;
    snprintf(facts->mpis[0].name, sizeof facts->mpis[0].name, "Open MPI");
    facts->mpis[0].cuda = 1;
    /* One GPU visible, as chosen by gpubind, in a job of two ranks. */
    snprintf(facts->launcher, sizeof facts->launcher, "openmpi");
    facts->local_size = 2;
    facts->daemon_seen = 1;
    facts->by_gpubind = facts->visible.set = true;
    snprintf(facts->visible.value, sizeof facts->visible.value, "GPU-10000000-0000");
}

static void set_variable(struct doctor_variable *variable, const char *value)
{
    variable->set = true;
    snprintf(variable->value, sizeof variable->value, "%s", value);
}

/* ---- changes */

#define CHANGE(name) static void name(struct doctor_facts *f)

/* clang-format off */
CHANGE(drop_driver)
{
    f->driver_loaded = f->lists_gpus = false;
    f->gpus[0].in_driver = f->gpus[1].in_driver = false;
}
CHANGE(have_nouveau) { drop_driver(f); strcpy(f->gpus[0].kernel_driver, "nouveau"); }
CHANGE(be_in_docker) { strcpy(f->container, "docker"); }
CHANGE(not_be_given) { drop_driver(f); be_in_docker(f); }
CHANGE(give_to_vfio) { f->gpus[1].in_driver = false; strcpy(f->gpus[1].kernel_driver, "vfio-pci"); }
CHANGE(give_to_nouveau) { f->gpus[1].in_driver = false; strcpy(f->gpus[1].kernel_driver, "nouveau"); }
CHANGE(lose_one) { f->gpus[1].in_driver = false; f->gpus[1].kernel_driver[0] = '\0'; }
CHANGE(be_given_one)
{
    be_in_docker(f);
    f->gpus[1].in_driver = false;
    f->gpus[1].minor = -1;
    f->gpus[1].device = DOCTOR_FILE_ABSENT;
}
CHANGE(lose_ctl) { f->ctl = DOCTOR_FILE_ABSENT; }
CHANGE(deny_ctl) { f->ctl = DOCTOR_FILE_DENIED; }
CHANGE(lose_uvm) { f->uvm = DOCTOR_FILE_ABSENT; }
CHANGE(lose_uvm_in_docker) { lose_uvm(f); be_in_docker(f); }
CHANGE(lose_uvm_in_podman) { lose_uvm(f); strcpy(f->container, "podman"); }
CHANGE(lose_uvm_in_pod) { lose_uvm(f); strcpy(f->container, "kubernetes"); }
CHANGE(lose_uvm_in_some) { lose_uvm(f); strcpy(f->container, "container"); }
CHANGE(hide_ctl_in_apptainer) { f->ctl = DOCTOR_FILE_HIDDEN; strcpy(f->container, "apptainer"); }
CHANGE(lose_cuda) { f->cuda_path[0] = '\0'; }
CHANGE(lose_cuda_in_docker) { lose_cuda(f); be_in_docker(f); }
CHANGE(lose_cuda_in_pod) { lose_cuda(f); strcpy(f->container, "kubernetes"); }
CHANGE(lose_cuda_in_podman) { lose_cuda(f); strcpy(f->container, "podman"); }
CHANGE(upgrade) { strcpy(f->nvml_version, "580.9.9"); }
CHANGE(mismatch) { f->nvml_version[0] = '\0'; f->nvml_mismatch = true; }
CHANGE(hide_one) { f->gpus[1].device = DOCTOR_FILE_HIDDEN; }
CHANGE(hide_one_in_slurm) { hide_one(f); f->in_slurm_job = true; }
CHANGE(hide_all) { hide_one(f); f->gpus[0].device = DOCTOR_FILE_DENIED; }
CHANGE(hand_set) { f->by_gpubind = false; set_variable(&f->visible, "0"); }
CHANGE(hand_wrong) { f->by_gpubind = false; set_variable(&f->visible, "1,7"); }
CHANGE(hand_uuid) { f->by_gpubind = false; set_variable(&f->visible, "GPU-77"); }
CHANGE(hand_empty) { f->by_gpubind = false; set_variable(&f->visible, ""); }
CHANGE(order_odd) { set_variable(&f->order, "BY_SIZE"); }
CHANGE(mix_models) { strcpy(f->gpus[1].model, "NVIDIA A2"); }
CHANGE(mix_numbers) { mix_models(f); hand_set(f); }
CHANGE(see_all) { f->by_gpubind = f->visible.set = false; f->visible.value[0] = '\0'; }
CHANGE(go_cold) { f->gpus[1].persistence = 0; }
CHANGE(exclude) { f->gpus[0].compute_mode = DOCTOR_PROCESSES_ONE; }
CHANGE(exclude_shared) { exclude(f); f->local_size = 3; f->mps_directory.set = false; }
CHANGE(prohibit) { f->gpus[0].compute_mode = DOCTOR_PROCESSES_NONE; }
CHANGE(empty_mig) { f->gpus[1].mig = 1; }
CHANGE(burn) { f->gpus[0].ecc_errors = 3; }
CHANGE(share) { f->local_size = 4; }
CHANGE(lose_mps) { set_variable(&f->mps_directory, "/tmp/mps"); }
CHANGE(lose_numa) { f->gpus[0].numa = f->gpus[1].numa = -1; }
CHANGE(lose_peer) { f->peer[0][1] = f->peer[1][0] = 1; }
CHANGE(translate) { strcpy(f->gpus[0].iommu, "DMA-FQ"); }
CHANGE(translate_unlinked) { translate(f); f->nvlink[0][1] = f->nvlink[1][0] = 0; }
CHANGE(redirect) { f->gpus[0].bridge[2].acs = 0x1d; }
CHANGE(shrink_shm) { f->shm_bytes = 64 << 20; }
CHANGE(shrink_shm_in_docker) { shrink_shm(f); be_in_docker(f); }
CHANGE(shrink_shm_in_pod) { shrink_shm(f); strcpy(f->container, "kubernetes"); }
CHANGE(fill_shm) { f->shm_free = 1 << 20; }
CHANGE(disk_shm) { strcpy(f->shm_type, "ext4"); }
CHANGE(lock_little) { strcpy(f->memlock_soft, "8388608"); }
CHANGE(lock_some) { strcpy(f->memlock_soft, "68719476736"); }
CHANGE(lock_hard) { lock_little(f); strcpy(f->memlock_hard, "8388608"); }
CHANGE(yama_1) { f->ptrace_scope = 1; }
CHANGE(yama_2) { f->ptrace_scope = 2; }
CHANGE(yama_3_root) { f->ptrace_scope = 3; f->cap_ptrace = true; }
CHANGE(be_apart) { f->daemon_seen = 0; be_in_docker(f); }
CHANGE(apart_pid) { f->pid_namespace = 4026532201; be_apart(f); }
CHANGE(apart_ipc) { f->ipc_namespace = 4026532202; be_apart(f); }
CHANGE(apart_user) { f->user_namespace = 4026532203; be_apart(f); }
CHANGE(leave_job) { strcpy(f->launcher, "none"); f->local_size = 0; f->daemon_seen = -1; }
CHANGE(alone_pid) { f->pid_namespace = 4026532201; leave_job(f); }
CHANGE(alone_ipc) { f->ipc_namespace = 4026532202; leave_job(f); }
CHANGE(alone_user) { f->user_namespace = 4026532203; leave_job(f); }
CHANGE(contradict) { strcpy(f->launcher_error, "A=1 contradicts B=2"); }
CHANGE(add_opencl)
{
    f->nplugins = 1;
    strcpy(f->plugins[0].component, "opencl");
    strcpy(f->plugins[0].path, "/usr/lib64/hwloc/hwloc_opencl.so");
    strcpy(f->icd, "/etc/OpenCL/vendors/nvidia.icd");
}
CHANGE(add_opencl_to_list) { add_opencl(f); set_variable(&f->hwloc_components, "-gl"); }
CHANGE(add_cuda) { add_opencl(f); strcpy(f->plugins[0].component, "cuda"); f->icd[0] = '\0'; }
CHANGE(not_join) { f->gpus[1].fabric = DOCTOR_FABRIC_NOT_STARTED; }
CHANGE(fail_to_join) { f->gpus[0].fabric_status = 3; }
CHANGE(not_join_elsewhere) { not_join(f); f->nswitches = 0; }
CHANGE(be_ampere) { f->gpus[0].fabric = f->gpus[1].fabric = DOCTOR_FABRIC_NONE; }
CHANGE(lose_fabric_manager)
{
    be_ampere(f);
    f->fabric_manager = 0;
    strcpy(f->fabric_evidence, "/proc: no process is nv-fabricmanager");
}
static void add_xid(struct doctor_facts *f, const char *pci, int number, int count, double last)
{
    struct doctor_xid *xid = &f->xids[f->nxids++];

    snprintf(xid->pci, sizeof xid->pci, "%s", pci);
    xid->number = number;
    xid->count = count;
    xid->last = last;
    snprintf(xid->line, sizeof xid->line, "NVRM: Xid (PCI:%s): %d, x", pci, number);
}
CHANGE(log_program) { add_xid(f, "0000:10:00", 31, 2, 199000); }
CHANGE(log_fallen) { add_xid(f, "0000:20:00", 79, 1, 199000); }
CHANGE(log_gone) { add_xid(f, "0000:77:00", 79, 1, 199000); }
CHANGE(log_later) { log_fallen(f); add_xid(f, "0000:20:00", 45, 3, 199500); }
CHANGE(log_two) { log_program(f); log_fallen(f); }
CHANGE(log_two_back) { log_fallen(f); log_program(f); }
CHANGE(log_old) { add_xid(f, "0000:20:00", 79, 1, 100000); }
CHANGE(log_strange) { add_xid(f, "0000:20:00", 999, 1, 199000); }
CHANGE(get_hot) { f->gpus[1].clock_limits = DOCTOR_CLOCKS_HOT | DOCTOR_CLOCKS_SLOWDOWN; }
CHANGE(brake) { f->gpus[0].clock_limits = DOCTOR_CLOCKS_BRAKE; }
CHANGE(limit_power) { f->gpus[0].clock_limits = DOCTOR_CLOCKS_POWER; }
CHANGE(set_clocks) { f->gpus[0].clock_limits = DOCTOR_CLOCKS_SET; }
CHANGE(hot_and_set) { set_clocks(f); get_hot(f); }
static struct doctor_mps *add_mps(struct doctor_facts *f, bool runs)
{
    struct doctor_mps *mps = &f->mps[f->nmps++];

    snprintf(mps->directory, sizeof mps->directory, "/tmp/mps%d", f->nmps);
    mps->pid = 4000 + f->nmps;
    mps->runs = runs;
    return mps;
}
CHANGE(leave_pipes) { add_mps(f, false); }
CHANGE(leave_daemon) { add_mps(f, true); }
CHANGE(leave_two) { add_mps(f, true); add_mps(f, false); }
CHANGE(leave_server) { add_mps(f, false); f->mps_orphan = 4711; }
CHANGE(balance) { f->numa_balancing = 1; }
CHANGE(narrow_bar1) { f->gpus[0].bar1_bytes = 256 << 20; }
CHANGE(narrow_bar1_alone) { narrow_bar1(f); f->rdma[0] = '\0'; }
CHANGE(lose_link) { f->gpus[1].links_up = 17; f->gpus[1].links_down = 1; }
CHANGE(no_switch)
{
    be_ampere(f);
    f->nswitches = 0;
    f->fabric_manager = 0;
}
CHANGE(lose_links)
{
    for (int g = 0; g < 2; g++) {
        f->gpus[g].links_up = 0;
        f->gpus[g].links_down = 18;
    }
}
CHANGE(bridge_some)
{
    no_switch(f);
    for (int g = 0; g < 2; g++) {
        f->gpus[g].links_up = 12;
        f->gpus[g].links_down = 6;
    }
}
CHANGE(bridge_one_less) { bridge_some(f); f->gpus[0].links_up--; f->gpus[0].links_down++; }
CHANGE(add_unbridged)
{
    no_switch(f);
    f->gpus[f->ngpus] = f->gpus[1];
    strcpy(f->gpus[f->ngpus].pci, "0000:30:00.0");
    f->gpus[f->ngpus].links_up = 0;
    f->gpus[f->ngpus++].links_down = 18;
}
CHANGE(write_protect) { f->shm_writable = 0; }
CHANGE(lose_aware) { f->mpis[0].cuda = 0; }
/* clang-format on */

#endif
