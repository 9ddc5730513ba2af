/* What slows or breaks GPU jobs on this node? */
#include <stdlib.h>

#include "bin/cmds.h"
#include "bin/doctor_job.h"
#include "core/doctor/doctor.h"
#include "host/doctor/collect.h"

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
        status = DOCTOR_EXIT_FOUND;
    text_clear(&text);
    doctor_clear(report);
    free(report);
    return status;
}

static int tell_node(const struct options *options)
{
    struct doctor_facts *facts = malloc(sizeof *facts);
    struct gpubind_error err;
    int local = 0, status = 0;

    if (!facts) {
        error_set(&err, "out of memory");
        return fail(&err);
    }
    if (doctor_read(DOCTOR_FILES_SECONDS, facts, &local, &err) < 0)
        status = fail(&err);
    /* The first local rank reports for its node. */
    if (status == 0 && local == 0) {
        if (facts->driver_loaded)
            doctor_ask_nvml(DOCTOR_NVML_SECONDS, facts);
        doctor_ask_mpi(DOCTOR_MPI_SECONDS, facts);
        status = say(options, facts);
    }
    free(facts);
    return status;
}

/* Why the nodes do not report together is worth a line where they might have. */
static void say_why(const struct text *why)
{
    struct text line = {0};

    text_add(&line, "the nodes of this job do not report together: %s",
             why->bytes ? why->bytes : "");
    say_lines(line.bytes);
    text_clear(&line);
}

int cmd_doctor(const struct options *options)
{
    struct text text = {0}, why = {0};
    int status = 0, printed;

    if (doctor_job(options, &text, &status, &why)) {
        if (why.length)
            say_why(&why);
        printed = text.length ? print(&text) : 0;
        status = printed ? printed : status;
    } else {
        if (why.length)
            say_why(&why);
        status = tell_node(options);
    }
    text_clear(&text);
    text_clear(&why);
    return status;
}
