/* Collects the doctor's facts in a subprocess. */
#include "host/doctor/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "host/launch/launcher.h"
#include "host/sys/process.h"
#include "host/sys/subprocess.h"

static void take_variable(const char *name, struct doctor_variable *variable)
{
    const char *value = getenv(name);

    variable->set = value != NULL;
    snprintf(variable->value, sizeof variable->value, "%s", value ? value : "");
}

static void read_launcher(struct doctor_facts *facts, int *local)
{
    struct text remarks = {0}, notes = {0};
    struct gpubind_error err = {""};
    struct process daemon;
    struct world world;

    if (launcher_read("auto", &world, &remarks, &notes, &err) < 0)
        snprintf(facts->launcher_error, sizeof facts->launcher_error, "%s", err.text);
    text_clear(&remarks);
    text_clear(&notes);
    snprintf(facts->launcher, sizeof facts->launcher, "%s", world.launcher);
    if (facts->launcher_error[0] || strcmp(world.launcher, "none") == 0)
        return;
    facts->local_size = world.local_size;
    /* Without local ranks, the first rank of the job reports. */
    *local = world.unnumbered ? world.rank : world.local;
    if (world.daemons && world.daemons[0])
        facts->daemon_seen = process_ancestor(world.daemons, &daemon);
}

void doctor_read_environment(struct doctor_facts *facts)
{
    take_variable("CUDA_VISIBLE_DEVICES", &facts->visible);
    take_variable("CUDA_DEVICE_ORDER", &facts->order);
    take_variable("CUDA_MPS_PIPE_DIRECTORY", &facts->mps_directory);
    take_variable("HWLOC_COMPONENTS", &facts->hwloc_components);
    take_variable("HWLOC_PLUGINS_BLACKLIST", &facts->hwloc_blacklist);
    take_variable("HWLOC_XMLFILE", &facts->hwloc_xml);
    facts->in_slurm_job = getenv("SLURM_JOB_ID") != NULL;
    facts->in_pod = getenv("KUBERNETES_SERVICE_HOST") != NULL;
    facts->by_gpubind = getenv("GPUBIND_PLAN") != NULL;
    if (gethostname(facts->node, sizeof facts->node - 1) < 0)
        facts->node[0] = '\0';
    snprintf(facts->version, sizeof facts->version, "%s", PACKAGE_VERSION);
}

struct reading {
    struct doctor_facts facts;
    int local;
};

static void read_all(int out, void *context)
{
    struct reading *reading = context;
    const char *bytes = context;

    doctor_read_environment(&reading->facts);
    read_launcher(&reading->facts, &reading->local);
    doctor_read_bus("", &reading->facts);
    doctor_read_driver("", getenv("LD_LIBRARY_PATH"), &reading->facts);
    doctor_read_limits("", &reading->facts);
    doctor_read_hwloc("", getenv("HWLOC_PLUGINS_PATH"), &reading->facts);
    doctor_read_daemons("", &reading->facts);
    doctor_read_log("", &reading->facts);
    for (size_t done = 0; done < sizeof *reading;) {
        ssize_t wrote = write(out, bytes + done, sizeof *reading - done);

        if (wrote < 1)
            _exit(1);
        done += (size_t)wrote;
    }
}

int doctor_read(int seconds, struct doctor_facts *facts, int *local, struct gpubind_error *err)
{
    struct reading *reading = calloc(1, sizeof *reading), *answer = calloc(1, sizeof *answer);
    struct gpubind_error why;
    int status = 0;
    size_t got;

    if (!reading || !answer) {
        status = error_set(err, "out of memory");
    } else {
        doctor_facts_init(&reading->facts);
        if (subprocess_run(read_all, reading, seconds, answer, sizeof *answer, &got, &why) < 0)
            status = error_set(err, "this machine's files cannot be read: %.400s", why.text);
        else if (got != sizeof *answer)
            status = error_set(err, "this machine's files cannot be read: the answer is cut");
    }
    if (status == 0) {
        *facts = answer->facts;
        *local = answer->local;
    }
    free(reading);
    free(answer);
    return status;
}
