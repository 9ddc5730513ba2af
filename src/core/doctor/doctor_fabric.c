/* NVLink: its switches, the daemon that starts them, links that are down. */
#include <string.h>

#include "core/doctor/doctor_internal.h"

static const char *fabric_text(int fabric)
{
    static const char *const texts[] = {"not supported", "not started", "joining", "joined"};

    return fabric >= 0 && fabric <= DOCTOR_FABRIC_JOINED ? texts[fabric] : "not known";
}

/* Hopper's GPUs tell by NVML whether they have joined. A failed join (its status) is one that
 * was not made. Where the switches are not in sight, as in a virtual machine, CUDA may do
 * without. True where some GPU tells. */
static bool judge_states(const struct doctor_facts *facts, struct doctor_result *result)
{
    bool told = false, here = facts->nswitches;

    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];

        if (gpu->fabric <= DOCTOR_FABRIC_NONE)
            continue;
        told = true;
        doctor_saw(result, "NVML: %s: NVLink fabric %s, status %d", gpu->pci,
                   fabric_text(gpu->fabric), gpu->fabric_status);
        if (gpu->fabric != DOCTOR_FABRIC_JOINED || gpu->fabric_status > 0)
            doctor_found_at(result, here ? DOCTOR_BREAKS : DOCTOR_NOTE,
                            here ? "GPUs have not joined the fabric of NVLink's switches, and CUDA "
                                   "does not start before (error 802)"
                                 : "GPUs have not joined the fabric of NVLink's switches, which "
                                   "are not in sight; CUDA may not start before (error 802)",
                            gpu);
    }
    return told;
}

/* Fabric Manager User Guide: without it GPUs on a board with NVSwitches are not usable by
 * CUDA. In a virtual machine without the switches it runs on the host. */
void doctor_fabric_manager(const struct doctor_facts *facts, struct doctor_result *result)
{
    bool told;

    if (!doctor_has_gpus(facts, result))
        return;
    told = judge_states(facts, result);
    if (!told && !facts->nswitches) {
        doctor_moot(result, "no NVLink switch");
        return;
    }
    if (facts->nswitches)
        doctor_saw(result, "%s: %d NVLink switch%s", facts->switches, facts->nswitches,
                   facts->nswitches == 1 ? "" : "es");
    if (facts->fabric_evidence[0])
        doctor_saw(result, "%s", facts->fabric_evidence);
    if (!told && facts->fabric_manager < 0)
        doctor_unknown(result, "the fabric manager is not in sight from here");
    else if (!told && facts->fabric_manager == 0)
        doctor_found(result, DOCTOR_BREAKS,
                     "the machine has NVLink switches, but no fabric manager runs, and CUDA does "
                     "not start without (error 802)");
    if (result->state == DOCTOR_FOUND && !facts->nswitches)
        doctor_set(result, "nvidia-smi -q | grep -A 3 Fabric   # and, where the switches are: "
                           "systemctl status nvidia-fabricmanager");
    else if (result->state == DOCTOR_FOUND)
        doctor_set(result,
                   "systemctl enable --now nvidia-fabricmanager   # of the driver's version");
}

/* The most links that a GPU of this model has up. */
static int most_links(const struct doctor_facts *facts, const struct doctor_gpu *like)
{
    int most = 0;

    for (int g = 0; g < facts->ngpus; g++)
        if (strcmp(facts->gpus[g].model, like->model) == 0 && facts->gpus[g].links_up > most)
            most = facts->gpus[g].links_up;
    return most;
}

static void judge_links(const struct doctor_facts *facts, const struct doctor_gpu *gpu,
                        struct doctor_result *result)
{
    static const char sentence[] = "NVLinks are down";
    enum doctor_state before = result->state;
    int most = most_links(facts, gpu);
    bool joined = gpu->links_up || facts->nswitches;

    if ((joined && gpu->links_up < most) || (gpu->links_down && facts->nswitches))
        doctor_found_at(result, DOCTOR_SLOWS, sentence, gpu);
    else if (most && gpu->links_down)
        doctor_found_at(result, DOCTOR_NOTE, sentence, gpu);
    else
        return;
    text_add(&result->sentence, " (%d of %d)", gpu->links_down, gpu->links_up + gpu->links_down);
    if (before != DOCTOR_FOUND)
        doctor_set(result, "nvidia-smi nvlink --status   # then, without jobs: nvidia-smi "
                           "--gpu-reset; or seat the bridge anew");
}

/* Cards have links that no bridge joins. A fault is some up and fewer than on the same card
 * beside it, or any down below a switch; some of each, or none up beside a joined card, is a
 * note. In MIG mode links are not used. */
void doctor_nvlink(const struct doctor_facts *facts, struct doctor_result *result)
{
    int known = 0, links = 0;

    if (!doctor_has_nvml(facts, result))
        return;
    for (int g = 0; g < facts->ngpus; g++) {
        const struct doctor_gpu *gpu = &facts->gpus[g];

        if (gpu->links_up < 0)
            continue;
        known++;
        links += gpu->links_up + (facts->nswitches ? gpu->links_down : 0);
        doctor_saw(result, "NVML: %s: %d NVLinks up, %d down", gpu->pci, gpu->links_up,
                   gpu->links_down);
        if (gpu->mig != 1)
            judge_links(facts, gpu, result);
    }
    if (result->state == DOCTOR_FOUND)
        return;
    if (!known)
        doctor_unknown(result, "NVML does not tell of NVLinks here");
    else if (!links)
        doctor_moot(result, "no NVLink joins GPUs");
}
