#include "core/doctor/doctor_facts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

void doctor_facts_init(struct doctor_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    strcpy(facts->launcher, "none");
    facts->daemon_seen = -1;
    memset(facts->peer, -1, sizeof facts->peer);
    memset(facts->nvlink, -1, sizeof facts->nvlink);
    facts->virtual_machine = -1;
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
    gpu->ecc_errors = -1;
    gpu->numa = -2;
    return gpu;
}
