/* Looks at what this process really got and compares it with its plan, which an
 * outer gpubind or the plugin left in the environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "bin/cmds.h"
#include "core/base/idset.h"
#include "gpu/core/driver.h"
#include "host/sys/bind.h"
#include "host/sys/process.h"

#define EXIT_MISMATCH 1

struct checking {
    struct text found; /* the observed binding, for the line that is printed */
    struct text wrong; /* sentences */
};

static const char *planned(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

static void check_cpus(struct checking *checking)
{
    struct gpubind_error err;
    struct idset want, have;
    char *text;

    if (process_cpus(&have, &err) < 0 ||
        idlist_parse(planned("GPUBIND_CPUS"), "GPUBIND_CPUS", &want, &err) < 0) {
        text_add(&checking->wrong, "%s\n", err.text);
        return;
    }
    text = idlist_text(&have);
    text_add(&checking->found, ", CPUs %s", text ? text : "?");
    if (!idset_equal(&want, &have))
        text_add(&checking->wrong, "runs on CPUs %s, planned were %s\n", text ? text : "?",
                 planned("GPUBIND_CPUS"));
    free(text);
}

static void check_memory(struct checking *checking)
{
    const char *numa = getenv("GPUBIND_NUMA");
    struct idset want, have;
    char *text;

    /* The plugin's memory directive is a hint, which is not applied. */
    if (getenv("GPUBIND_MADE_BY"))
        return;
    if (!numa || idlist_parse(numa, "GPUBIND_NUMA", &want, NULL) < 0)
        return;
    if (bind_read_memory(&have) < 0) {
        text_add(&checking->wrong, "the memory policy cannot be read\n");
        return;
    }
    text = idlist_text(&have);
    text_add(&checking->found, ", memory %s", text && *text ? text : "anywhere");
    /* Kernels that prefer one node only are left at their default where there are several. */
    if ((idset_empty(&have) && idset_count(&want) == 1) || !idset_within(&have, &want))
        text_add(&checking->wrong, "prefers the memory of NUMA nodes '%s', planned were %s\n",
                 text ? text : "?", numa);
    free(text);
}

/* The variable must still be as gpubind left it. */
static void check_variable(struct checking *checking)
{
    static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                        "ZE_AFFINITY_MASK"};
    const char *want = getenv("GPUBIND_VISIBLE_DEVICES");

    if (!want)
        return;
    for (int i = 0; i < 3; i++)
        if (getenv(names[i]) && strcmp(getenv(names[i]), want) == 0)
            return;
    for (int i = 0; i < 3; i++)
        if (getenv(names[i]) || i == 2) {
            const char *name = getenv(names[i]) ? names[i] : names[0];

            text_add(&checking->wrong, "%s is '%s', gpubind set '%s'\n", name, planned(name), want);
            return;
        }
}

/* The i-th entry of a comma-separated list, which goes on behind it; NULL: there is none. */
static const char *entry(const char *list, int i)
{
    for (; i > 0 && list; i--) {
        list = strchr(list, ',');
        list += list != NULL;
    }
    return list;
}

static bool is_named(const char *text, const char *name)
{
    if (!text)
        return false;
    if (strncasecmp(text, "GPU-", 4) == 0 || strncasecmp(text, "MIG-", 4) == 0)
        text += 4;
    return strncasecmp(text, name, strlen(name)) == 0;
}

/* One of the devices that the rank sees is its i-th GPU, by UUID or, where that
 * cannot be read, by PCI address. Returns its position, or -1. */
static int find_seen(const struct cuda_seen *seen, int i)
{
    const char *uuid = entry(planned("GPUBIND_GPU_UUID"), i);
    const char *pci = entry(planned("GPUBIND_GPU_PCI"), i);
    const bool has_uuid = uuid && *uuid && *uuid != ',';

    for (int s = 0; s < seen->n; s++)
        if (has_uuid ? is_named(uuid, seen->uuid[s]) : is_named(pci, seen->pci[s]))
            return s;
    return -1;
}

static void check_devices(struct checking *checking)
{
    struct gpubind_error err;
    struct cuda_seen seen;
    int planned_gpus = idlist_entries(planned("GPUBIND_GPU_PCI"));
    const char *visible = getenv("GPUBIND_VISIBLE_DEVICES");
    int status = cuda_list(&seen, &err);

    if (status) {
        text_add(&checking->found, ", no CUDA driver to ask");
        if (status < 0)
            text_add(&checking->wrong, "%s\n", err.text);
        return;
    }
    text_add(&checking->found, ", CUDA sees %d device%s", seen.n, seen.n == 1 ? "" : "s");
    if (seen.n)
        text_add(&checking->found, ", first %s %s", seen.pci[0], seen.uuid[0]);
    if (visible && seen.n != idlist_entries(visible))
        text_add(&checking->wrong, "sees %d GPUs, planned were %d\n", seen.n,
                 idlist_entries(visible));
    for (int i = 0; i < planned_gpus; i++)
        if (find_seen(&seen, i) < 0)
            text_add(&checking->wrong, "does not see its GPU %d of %s\n", i,
                     planned("GPUBIND_GPU_PCI"));
}

static void check_role(struct checking *checking)
{
    const char *role = planned("GPUBIND_ROLE"), *uuid = planned("GPUBIND_GPU_UUID");

    text_add(&checking->found, "%s", role);
    if (*planned("GPUBIND_GPU_PCI"))
        text_add(&checking->found, " %s %s", planned("GPUBIND_GPU_PCI"), *uuid ? uuid : "?");
    if (strcmp(role, "gpu") != 0 && strcmp(role, "idle") != 0 && strcmp(role, "master") != 0)
        text_add(&checking->wrong, "has the role '%s', which there is not\n", role);
    if ((strcmp(role, "gpu") == 0) != (*planned("GPUBIND_GPU_PCI") != '\0'))
        text_add(&checking->wrong, "has the role %s and the GPU '%s'\n", role,
                 planned("GPUBIND_GPU_PCI"));
}

static int print_line(const struct checking *checking, const char *recorded)
{
    int status;
    struct text line = {0};
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    text_add(&line, "%s local rank %s: %s: %s%s\n", host, planned("GPUBIND_LOCAL_RANK"),
             checking->wrong.length ? "WRONG" : "ok",
             checking->found.bytes ? checking->found.bytes : "",
             recorded ? " (recorded machine: binding not looked at)" : "");
    for (const char *at = checking->wrong.bytes; at && *at; at += strcspn(at, "\n") + 1)
        text_add(&line, "%s local rank %s: %.*s\n", host, planned("GPUBIND_LOCAL_RANK"),
                 (int)strcspn(at, "\n"), at);
    status = print(&line);
    text_clear(&line);
    return status;
}

int cmd_check(const struct options *options)
{
    struct checking checking = {0};
    const char *recorded = getenv("GPUBIND_RECORDED");
    struct gpubind_error err;
    int status;

    (void)options;
    if (!getenv("GPUBIND_PLAN")) {
        error_set(&err, "--check looks at a rank that gpubind or its plugin started: "
                        "mpirun -np N gpubind gpubind --check");
        return fail(&err);
    }
    check_role(&checking);
    check_variable(&checking);
    if (!recorded) {
        check_cpus(&checking);
        check_memory(&checking);
        check_devices(&checking);
    }
    status = print_line(&checking, recorded);
    if (checking.wrong.length)
        status = EXIT_MISMATCH;
    text_clear(&checking.found);
    text_clear(&checking.wrong);
    return status;
}
