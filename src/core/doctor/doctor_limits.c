/* What the process and its container are allowed of memory and of each other. */
#include <stdlib.h>
#include <string.h>

#include "core/doctor/doctor_internal.h"

#define MIB (1024 * 1024LL)
/* MPI libraries take some MiB a rank there, NCCL some for each pair of GPUs; containers
 * have 64 MiB unless told otherwise. NCCL User Guide, Troubleshooting, asks for 1 GiB. */
#define SHM_ENOUGH (512 * MIB)
#define SHM_FREE_ENOUGH (64 * MIB)
/* Less than this a library that registers its own buffers can use up alone. */
#define MEMLOCK_LITTLE (1024 * MIB)

static void advise_shm(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (doctor_in_container(facts, "docker") || doctor_in_container(facts, "podman"))
        doctor_set(result, "%s run --shm-size=1g   # or: --ipc=host", facts->container);
    else if (doctor_in_container(facts, "kubernetes"))
        doctor_set(result,
                   "volumes: [{name: shm, emptyDir: {medium: Memory}}], mounted at /dev/shm");
    else
        doctor_set(result, "mount -o remount,size=50%% /dev/shm");
}

void doctor_shm(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (facts->shm_evidence[0])
        doctor_saw(result, "%s", facts->shm_evidence);
    if (facts->shm_free >= 0)
        doctor_saw(result, "/dev/shm: %lld MiB free", facts->shm_free / MIB);
    if (facts->shm_writable == 0) {
        doctor_saw(result, "/dev/shm: may not be written to");
        doctor_found(
            result, DOCTOR_BREAKS,
            "/dev/shm may not be written to, and ranks of MPI and NCCL cannot share memory");
        doctor_set(result, "mount -o remount,rw /dev/shm; chmod 1777 /dev/shm");
    } else if (facts->shm_type[0] && strcmp(facts->shm_type, "tmpfs") != 0 &&
               strcmp(facts->shm_type, "ramfs") != 0) {
        doctor_found(result, DOCTOR_SLOWS,
                     "/dev/shm is a file system of type %s and may not be in "
                     "memory",
                     facts->shm_type);
        doctor_set(result, "mount -t tmpfs tmpfs /dev/shm");
    } else if (facts->shm_bytes >= 0 && facts->shm_bytes < SHM_ENOUGH) {
        doctor_found(result, DOCTOR_BREAKS,
                     "/dev/shm holds %lld MiB, and ranks of MPI and NCCL that run out of it end "
                     "with a bus error",
                     facts->shm_bytes / MIB);
        advise_shm(facts, result);
    } else if (facts->shm_free >= 0 && facts->shm_free < SHM_FREE_ENOUGH) {
        doctor_found(result, DOCTOR_BREAKS,
                     "/dev/shm is full: %lld MiB are free, and ranks of MPI "
                     "end with a bus error",
                     facts->shm_free / MIB);
        doctor_set(result, "ls -l /dev/shm   # remove what crashed jobs left");
    } else if (facts->shm_bytes < 0) {
        doctor_unknown(result, "the size of /dev/shm cannot be read");
    }
}

/* UCX and libfabric register memory with the network device, which locks it; Open MPI
 * and NCCL ask for "unlimited". */
void doctor_memlock(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (!facts->rdma[0]) {
        doctor_moot(result, "no RDMA device");
        return;
    }
    if (!facts->memlock_soft[0]) {
        doctor_unknown(result, "/proc/self/limits cannot be read");
        return;
    }
    doctor_saw(result, "/proc/self/limits: max locked memory %s, at most %s", facts->memlock_soft,
               facts->memlock_hard);
    doctor_saw(result, "/sys/class/infiniband/%s", facts->rdma);
    if (strcmp(facts->memlock_soft, "unlimited") == 0)
        return;
    doctor_found(result, atoll(facts->memlock_soft) < MEMLOCK_LITTLE ? DOCTOR_BREAKS : DOCTOR_NOTE,
                 "%lld KiB of memory may be locked, and RDMA devices (%s) need all that they send "
                 "from locked",
                 atoll(facts->memlock_soft) / 1024, facts->rdma);
    if (strcmp(facts->memlock_hard, "unlimited") == 0)
        doctor_set(result, "ulimit -l unlimited");
    else if (doctor_in_container(facts, "docker") || doctor_in_container(facts, "podman"))
        doctor_set(result, "%s run --ulimit memlock=-1", facts->container);
    else
        doctor_set(result, "echo '* - memlock unlimited' > /etc/security/limits.d/memlock.conf");
    if (facts->in_slurm_job)
        doctor_set(result, "PropagateResourceLimitsExcept=MEMLOCK   # in slurm.conf, with "
                           "LimitMEMLOCK=infinity for slurmd");
}

/* Linux kernel, Yama, ptrace_scope; process_vm_readv(2) asks for the right to trace.
 * With 1 a rank may still grant it (PR_SET_PTRACER), which Open MPI does and UCX of
 * some versions does not. Who has CAP_SYS_PTRACE is free up to 2. */
void doctor_ptrace_scope(const struct doctor_facts *facts, struct doctor_result *result)
{
    int scope = facts->ptrace_scope;

    if (scope == -2) {
        doctor_unknown(result, "/proc/sys/kernel/yama/ptrace_scope cannot be read");
        return;
    }
    if (scope < 0)
        doctor_saw(result, "/proc/sys/kernel/yama is not there");
    else
        doctor_saw(result, "/proc/sys/kernel/yama/ptrace_scope: %d", scope);
    if (facts->caps_known)
        doctor_saw(result, "/proc/self/status: CapEff has %sCAP_SYS_PTRACE",
                   facts->cap_ptrace ? "" : "no ");
    if (scope < 1 || (scope < 3 && facts->cap_ptrace))
        return;
    if (scope == 1)
        doctor_found(result, DOCTOR_NOTE,
                     "ranks may read each other's memory (CMA) only where "
                     "their MPI library allows it rank by rank");
    else
        doctor_found(result, DOCTOR_SLOWS,
                     "ranks may not read each other's memory (CMA), so MPI "
                     "copies messages in host memory twice");
    if (scope == 3)
        doctor_set(result, "echo kernel.yama.ptrace_scope=0 > /etc/sysctl.d/99-ptrace.conf   # and "
                           "reboot");
    else
        doctor_set(result, "sysctl -w kernel.yama.ptrace_scope=0");
}
