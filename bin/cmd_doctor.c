/* What slows or breaks GPU jobs on this node? */
#include <stdlib.h>

#include "bin/cmds.h"
#include "core/doctor/doctor.h"
#include "host/doctor/collect.h"

#define EXIT_FOUND 1
/* Milliseconds suffice where all is well; NVML starts idle GPUs. */
#define FILES_SECONDS 20
#define NVML_SECONDS 30
#define MPI_SECONDS 10

static int say(const struct options *options, const struct doctor_facts *facts)
{
    struct doctor_report *report = calloc(1, sizeof *report);
    struct gpubind_error err;
    struct text text = {0};
    int status;

    if (!report) {
        error_set(&err, "out of memory");
        return fail(&err);
    }
    doctor_judge(facts, report);
    if (options->json)
        doctor_render_json(facts, report, &text);
    else
        doctor_render(facts, report, options->verbose, &text);
    status = print(&text);
    if (status == 0 && doctor_count(report, DOCTOR_SLOWS))
        status = EXIT_FOUND;
    text_clear(&text);
    doctor_clear(report);
    free(report);
    return status;
}

int cmd_doctor(const struct options *options)
{
    struct doctor_facts *facts = malloc(sizeof *facts);
    struct gpubind_error err;
    int local = 0, status = 0;

    if (!facts) {
        error_set(&err, "out of memory");
        return fail(&err);
    }
    if (doctor_read(FILES_SECONDS, facts, &local, &err) < 0)
        status = fail(&err);
    /* The first local rank reports for its node. */
    if (status == 0 && local == 0) {
        if (facts->driver_loaded)
            doctor_ask_nvml(NVML_SECONDS, facts);
        doctor_ask_mpi(MPI_SECONDS, facts);
        status = say(options, facts);
    }
    free(facts);
    return status;
}
