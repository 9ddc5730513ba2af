/* What the driver wrote of GPUs to the kernel's log. */
#include <string.h>

#include "core/doctor/doctor_internal.h"

/* Who is to blame: the program, or the GPU and what it is plugged into. */
enum blame { PROGRAM, REPAIRED, MACHINE };

/* NVIDIA, GPU Debug Guidelines and the catalogue of Xid errors, of which these are mostly seen
 * in computation. */
static const struct {
    int number;
    enum blame blame;
    const char *meaning;
} catalogue[] = {
    {8, PROGRAM, "a kernel ran beyond the time limit"},
    {13, PROGRAM, "an exception of a kernel, mostly an illegal address"},
    {31, PROGRAM, "a page fault: a kernel used an address that is not mapped"},
    {32, MACHINE, "commands arrived corrupted over the bus"},
    {38, MACHINE, "an error of the driver's firmware"},
    {43, PROGRAM, "a program's work was stopped after an error"},
    {45, PROGRAM, "the work of a program that ended was removed"},
    {46, MACHINE, "the GPU does not answer"},
    {48, MACHINE, "a memory error of two bits, which cannot be corrected"},
    {61, MACHINE, "a microcontroller of the GPU stopped"},
    {62, MACHINE, "a microcontroller of the GPU halted"},
    {63, REPAIRED, "a faulty row of memory is to be replaced at the next reset"},
    {64, MACHINE, "a faulty row of memory could not be replaced"},
    {68, PROGRAM, "an exception of the video decoder"},
    {69, PROGRAM, "an exception of the graphics engine"},
    {74, MACHINE, "an error of NVLink"},
    {79, MACHINE, "the GPU has fallen off the bus"},
    {92, REPAIRED, "many memory errors that were corrected"},
    {94, REPAIRED, "a memory error that ended the program that met it alone"},
    {95, MACHINE, "a memory error that may have reached other programs"},
    {109, PROGRAM, "a program did not give way in time"},
    {110, MACHINE, "a fault of the GPU's security"},
    {119, MACHINE, "the GPU's system processor (GSP) did not answer in time"},
    {120, MACHINE, "an error of the GPU's system processor (GSP)"},
    {121, REPAIRED, "an error of the link between chips, which was corrected"},
    {137, PROGRAM, "a page fault over NVLink, mostly by a peer's program"},
    {140, MACHINE, "a memory error that cannot be corrected"},
    {143, MACHINE, "the GPU could not be started"},
    {145, MACHINE, "an error of NVLink"},
    {149, MACHINE, "an error of NVLink"},
    {154, REPAIRED, "the driver asks for a reset or a reboot"},
};
#define NCATALOGUE (int)(sizeof catalogue / sizeof catalogue[0])

static int find_entry(int number)
{
    for (int i = 0; i < NCATALOGUE; i++)
        if (catalogue[i].number == number)
            return i;
    return -1;
}

static const char *meaning_of(int number)
{
    int entry = find_entry(number);

    return entry < 0 ? "see NVIDIA's catalogue of Xid errors" : catalogue[entry].meaning;
}

static enum blame blame_of(int number)
{
    int entry = find_entry(number);

    return entry < 0 ? REPAIRED : catalogue[entry].blame;
}

/* The address with the function where the GPU still shows. */
static const char *full_address(const struct doctor_facts *facts, const char *pci)
{
    for (int g = 0; g < facts->ngpus; g++)
        if (strncmp(facts->gpus[g].pci, pci, strlen(pci)) == 0)
            return facts->gpus[g].pci;
    return pci;
}

/* What was repaired since stays in the log: after a day it is history. */
#define RECENT_SECONDS (24 * 3600.0)

static bool is_recent(const struct doctor_facts *facts, const struct doctor_xid *xid)
{
    return facts->uptime < 0 || facts->uptime - xid->last < RECENT_SECONDS;
}

static enum doctor_severity severity_of(const struct doctor_facts *facts,
                                        const struct doctor_xid *xid)
{
    return blame_of(xid->number) == MACHINE && is_recent(facts, xid) ? DOCTOR_BREAKS : DOCTOR_NOTE;
}

/* All errors of the GPU of the entry at first. */
static void judge_gpu(const struct doctor_facts *facts, int first, struct doctor_result *result)
{
    const struct doctor_xid *last = &facts->xids[first], *worst = last;
    const char *pci = full_address(facts, last->pci);
    enum doctor_severity severity;
    bool more = result->state == DOCTOR_FOUND;
    int count = 0;

    for (int x = first; x < facts->nxids; x++) {
        const struct doctor_xid *xid = &facts->xids[x];

        if (strcmp(xid->pci, facts->xids[first].pci) != 0)
            continue;
        count += xid->count;
        doctor_saw(result, "/dev/kmsg: [%.6f] %s%s", xid->last, xid->line,
                   xid->count > 1 ? " (the last of this number)" : "");
        last = xid->last > last->last ? xid : last;
        if (severity_of(facts, xid) < severity_of(facts, worst))
            worst = xid;
    }
    severity = severity_of(facts, worst);
    if (more && result->severity < severity)
        severity = result->severity;
    doctor_found(result, severity, "%s%s: %d Xid error%s since boot, the last %d: %s",
                 more ? "; " : "", pci, count, count == 1 ? "" : "s", last->number,
                 meaning_of(last->number));
    if (worst != last && blame_of(worst->number) == MACHINE)
        text_add(&result->sentence, ", before that %d: %s", worst->number,
                 meaning_of(worst->number));
    if (blame_of(worst->number) == PROGRAM)
        doctor_set(result, "compute-sanitizer ./app   # the program of that time, not the GPU");
    else
        doctor_set(result,
                   "nvidia-smi -i %s --gpu-reset   # with no job on it; if it comes again, "
                   "have the GPU looked at",
                   pci);
}

void doctor_xid(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (!facts->nxids && !doctor_has_driver(facts, result))
        return;
    if (facts->kernel_log == DOCTOR_FILE_UNKNOWN || facts->kernel_log == DOCTOR_FILE_ABSENT) {
        doctor_unknown(result, "/dev/kmsg is not there");
        return;
    }
    if (facts->kernel_log != DOCTOR_FILE_USABLE) {
        doctor_unknown(result, "only root may read the kernel's log (kernel.dmesg_restrict)");
        return;
    }
    for (int x = 0; x < facts->nxids; x++) {
        bool first = true;

        for (int y = 0; y < x; y++)
            first &= strcmp(facts->xids[y].pci, facts->xids[x].pci) != 0;
        if (first)
            judge_gpu(facts, x, result);
    }
    if (!facts->nxids)
        doctor_saw(result, "/dev/kmsg: no Xid%s",
                   facts->kernel_log_cut ? "; its beginning was overwritten" : "");
}
