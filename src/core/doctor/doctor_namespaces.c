/* Ranks in namespaces of their own cannot share GPU memory, files or addresses. */
#include <string.h>

#include "core/doctor/doctor_internal.h"

/* Ranks whose launcher is in the same namespace are there together. A daemon that is
 * not in sight started each in a namespace of its own, or one for all of a node. */
static bool in_subprocess(const struct doctor_facts *facts)
{
    return doctor_in_job(facts) && facts->daemon_seen == 0;
}

struct kind {
    const char *name, *file; /* in /proc/self/ns */
    unsigned long first;
    enum doctor_severity apart;
    const char *spoils;
    const char *option; /* of docker and podman */
};

static void judge(const struct doctor_facts *facts, const struct kind *kind, unsigned long number,
                  struct doctor_result *result)
{
    if (!number) {
        doctor_unknown(result, "/proc/self/ns/%s cannot be read", kind->file);
        return;
    }
    doctor_saw(result, "/proc/self/ns/%s: %lu, %s", kind->file, number,
               number == kind->first ? "that of the machine" : "not that of the machine");
    if (doctor_in_job(facts) && facts->daemon_seen >= 0)
        doctor_saw(result, "the daemon of %s is %s above this process", facts->launcher,
                   facts->daemon_seen ? "in sight" : "not in sight");
    if (number == kind->first || (doctor_in_job(facts) && facts->daemon_seen == 1))
        return;
    if (in_subprocess(facts))
        doctor_found(result, kind->apart,
                     "this rank is in another %s namespace than its launcher, "
                     "and where each rank has one of its own, %s",
                     kind->name, kind->spoils);
    else
        doctor_found(result, DOCTOR_NOTE,
                     "this is a container's own %s namespace; where each rank "
                     "is started in a container of its own, %s",
                     kind->name, kind->spoils);
    if (strcmp(facts->container, "docker") == 0 || strcmp(facts->container, "podman") == 0)
        doctor_set(result, "%s run %s   # or start mpirun inside the container", facts->container,
                   kind->option);
    else
        doctor_set(result, "start mpirun inside one container for all ranks of the node");
}

/* UCX, cuda_ipc: handles of CUDA IPC are not exchanged between process namespaces. */
void doctor_pid_namespace(const struct doctor_facts *facts, struct doctor_result *result)
{
    static const struct kind kind = {"process",
                                     "pid",
                                     DOCTOR_FIRST_PID,
                                     DOCTOR_BREAKS,
                                     "CUDA IPC and CMA do not work between ranks",
                                     "--pid=host"};

    judge(facts, &kind, facts->pid_namespace, result);
}

/* UCX-Py, NVLink and Docker: processes must share an IPC namespace for NVLink. */
void doctor_ipc_namespace(const struct doctor_facts *facts, struct doctor_result *result)
{
    static const struct kind kind = {"IPC",
                                     "ipc",
                                     DOCTOR_FIRST_IPC,
                                     DOCTOR_BREAKS,
                                     "ranks share neither /dev/shm nor CUDA IPC",
                                     "--ipc=host"};

    judge(facts, &kind, facts->ipc_namespace, result);
}

/* user_namespaces(7): a right counts in the namespace that holds the other process, so
 * process_vm_readv is refused across; Open MPI then leaves CMA alone. */
void doctor_user_namespace(const struct doctor_facts *facts, struct doctor_result *result)
{
    static const struct kind kind = {"user",
                                     "user",
                                     DOCTOR_FIRST_USER,
                                     DOCTOR_SLOWS,
                                     "ranks may not read each other's memory (CMA)",
                                     "--userns=host"};

    judge(facts, &kind, facts->user_namespace, result);
}
