/* How the GPUs are set up, mostly by what NVML says. */
#include <string.h>

#include "core/doctor/doctor_internal.h"
#include "core/env/mps_env.h"

/* NVIDIA Driver Persistence: without it the driver lets go of a GPU when its last
 * client ends, and the next one starts it from cold. */
void doctor_persistence(const struct doctor_facts *facts, struct doctor_result *result)
{
    int known = 0;

    if (!doctor_has_gpus(facts, result))
        return;
    doctor_saw(result, "/run/nvidia-persistenced %s",
               facts->persistenced ? "is there" : "is not there");
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];

        known += gpu->persistence >= 0;
        if (gpu->persistence >= 0)
            doctor_saw(result, "NVML: %s: persistence mode %s", gpu->pci,
                       gpu->persistence ? "on" : "off");
        if (gpu->persistence == 0)
            doctor_found_at(
                result, DOCTOR_SLOWS,
                "persistence mode is off, so each job that comes first starts the GPU from "
                "cold",
                gpu);
    }
    if (result->state == DOCTOR_FOUND)
        doctor_set(result, "systemctl enable --now nvidia-persistenced   # or: nvidia-smi -pm 1");
    else if (!known && !doctor_has_nvml(facts, result))
        return;
    else if (!known)
        doctor_unknown(result, "NVML does not tell persistence mode here");
}

/* GPUs and instances of GPUs that ranks can have for themselves. */
static int count_units(const struct doctor_facts *facts)
{
    int n = 0;

    for (int g = 0; g < facts->ngpus; g++)
        if (doctor_may_open(&facts->gpus[g]))
            n += facts->gpus[g].mig == 1 ? facts->gpus[g].instances : 1;
    return n;
}

/* A launcher may give each rank its own GPU and hide the others, so one rank cannot
 * tell where some are hidden. */
static bool some_hidden(const struct doctor_facts *facts)
{
    return doctor_usable_gpus(facts) < facts->ngpus;
}

static bool are_shared(const struct doctor_facts *facts)
{
    return doctor_in_job(facts) && !some_hidden(facts) && facts->local_size > count_units(facts);
}

/* Multi-Process Service, Provisioning: exclusive modes admit one process, or the one
 * MPS server. */
void doctor_compute_mode(const struct doctor_facts *facts, struct doctor_result *result)
{
    int known = 0;

    if (!doctor_has_nvml(facts, result))
        return;
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];
        static const char *const names[] = {"Default", "Exclusive_Thread", "Prohibited",
                                            "Exclusive_Process"};
        int mode = gpu->compute_mode;

        if (mode < 0 || mode > DOCTOR_PROCESSES_ONE)
            continue;
        known++;
        doctor_saw(result, "NVML: %s: compute mode %s", gpu->pci, names[mode]);
        if (mode == DOCTOR_PROCESSES_NONE)
            doctor_found_at(result, DOCTOR_BREAKS, "the compute mode admits no CUDA program", gpu);
        else if (mode != DOCTOR_PROCESSES_ANY && !facts->mps_runs)
            doctor_found_at(result, are_shared(facts) ? DOCTOR_BREAKS : DOCTOR_NOTE,
                            "the compute mode admits one process, so ranks cannot share the GPU",
                            gpu);
    }
    if (result->state == DOCTOR_FOUND)
        doctor_set(result, "nvidia-smi -c DEFAULT   # or, to share: nvidia-cuda-mps-control -d");
    else if (!known)
        doctor_unknown(result, "NVML does not tell compute modes here");
}

/* MIG User Guide: CUDA cannot use a GPU in MIG mode but by a compute instance. */
void doctor_mig(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (!doctor_has_nvml(facts, result))
        return;
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];

        if (gpu->mig < 0)
            doctor_saw(result, "NVML: %s: no MIG", gpu->pci);
        else
            doctor_saw(result, "NVML: %s: MIG mode %s, %d instances", gpu->pci,
                       gpu->mig ? "on" : "off", gpu->instances);
        if (gpu->mig == 1 && gpu->instances == 0) {
            doctor_found_at(result, DOCTOR_BREAKS,
                            "MIG mode is on, but there is no instance to compute on", gpu);
            doctor_set(result, "nvidia-smi -i %s -mig 0   # or: nvidia-smi mig -i %s -cgi 0 -C",
                       gpu->pci, gpu->pci);
        }
    }
}

/* NVIDIA GPU Memory Error Management: uncorrectable errors end the programs that
 * meet them; a reset puts spare rows in their place. */
void doctor_ecc(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (!doctor_has_nvml(facts, result))
        return;
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];

        if (gpu->ecc_errors < 0)
            doctor_saw(result, "NVML: %s: no ECC, or it is off", gpu->pci);
        else
            doctor_saw(result,
                       "NVML: %s: %lld uncorrected memory errors since the driver was "
                       "loaded",
                       gpu->pci, gpu->ecc_errors);
        if (gpu->ecc_errors > 0) {
            doctor_found_at(result, DOCTOR_BREAKS,
                            "GPU memory had errors that could not be corrected", gpu);
            doctor_set(result, "nvidia-smi -i %s --gpu-reset   # with no job on it", gpu->pci);
        }
    }
}

/* Multi-Process Service, When to Use MPS: without it processes on a GPU take turns. */
void doctor_mps(const struct doctor_facts *facts, struct doctor_result *result)
{
    int units = count_units(facts);
    const char *set = facts->mps_directory.set ? facts->mps_directory.value : NULL;

    if (!doctor_has_gpus(facts, result))
        return;
    doctor_saw(result, "%.200s/control %s", mps_directory(set),
               facts->mps_runs ? "is there: an MPS server runs"
                               : "is not there, or its daemon has died");
    if (facts->mps_runs)
        return;
    if (facts->mps_directory.set) {
        doctor_found(result, DOCTOR_NOTE,
                     "CUDA_MPS_PIPE_DIRECTORY names a folder where no MPS "
                     "server answers");
        doctor_set(result, "nvidia-cuda-mps-control -d   # or: unset CUDA_MPS_PIPE_DIRECTORY");
    }
    if (are_shared(facts) && units) {
        text_clear(&result->sentence);
        text_clear(&result->set);
        doctor_found(result, DOCTOR_SLOWS,
                     "%d ranks of this node share %d GPU%s and no MPS server "
                     "runs, so they take turns",
                     facts->local_size, units, units == 1 ? "" : "s");
        doctor_saw(result, "%s: %d ranks on this node", facts->launcher, facts->local_size);
        doctor_set(result, "nvidia-cuda-mps-control -d");
    } else if (result->state != DOCTOR_FOUND && !doctor_in_job(facts)) {
        doctor_moot(result, "whether ranks share GPUs shows in a job only");
    } else if (result->state != DOCTOR_FOUND && some_hidden(facts) && facts->local_size > units) {
        doctor_unknown(result, "other ranks may have the GPUs that are hidden from this one");
    }
}

/* Whether a job's programs are about to come to this one, whose server starts then. */
static bool is_awaited(const struct doctor_facts *facts, const struct doctor_mps *mps)
{
    const char *set = facts->mps_directory.set ? facts->mps_directory.value : NULL;

    return mps->gpubinds ||
           (doctor_in_job(facts) && strcmp(mps->directory, mps_directory(set)) == 0);
}

static void judge_directory(const struct doctor_facts *facts, const struct doctor_mps *mps,
                            struct doctor_result *result)
{
    doctor_saw(result, "%s/nvidia-cuda-mps-control.pid: %ld, %s", mps->directory, mps->pid,
               !mps->runs     ? "which is no MPS control daemon"
               : mps->servers ? "a control daemon with a server"
                              : "a control daemon without a server");
    if (mps->runs && (mps->servers || is_awaited(facts, mps)))
        return;
    doctor_found(result, DOCTOR_NOTE, "%s%s %s", result->state == DOCTOR_FOUND ? "; " : "",
                 mps->runs ? "an MPS control daemon runs that nobody uses, with pipes in"
                           : "an MPS control daemon died and left its pipes in",
                 mps->directory);
    if (mps->runs)
        doctor_set(
            result,
            "echo quit | CUDA_MPS_PIPE_DIRECTORY=%s nvidia-cuda-mps-control   # as its owner",
            mps->directory);
    else
        doctor_set(result, "rm -r %s   # as its owner", mps->directory);
}

/* Multi-Process Service, Architecture: the daemon starts a server for the first client;
 * programs that find the pipes of a daemon come under its server whether they want it or not. */
void doctor_mps_left(const struct doctor_facts *facts, struct doctor_result *result)
{
    for (int m = 0; m < facts->nmps; m++)
        judge_directory(facts, &facts->mps[m], result);
    if (facts->mps_orphan) {
        enum doctor_state before = result->state;

        doctor_saw(result, "/proc/%ld: an MPS server, whose parent is no control daemon",
                   facts->mps_orphan);
        doctor_found(result, DOCTOR_SLOWS,
                     "%san MPS server whose control daemon has died still holds GPUs",
                     before == DOCTOR_FOUND ? "; " : "");
        doctor_set(result, "kill %ld   # as its owner", facts->mps_orphan);
    }
    if (!result->evidence.length)
        doctor_saw(result, "neither /tmp/nvidia-mps nor another folder of pipes is left over");
}
