/* The launcher, hwloc and MPI. */
#include <stdio.h>
#include <string.h>

#include "core/doctor/doctor_internal.h"

void doctor_launcher(const struct doctor_facts *facts, struct doctor_result *result)
{
    if (facts->launcher_error[0]) {
        doctor_found(result, DOCTOR_BREAKS, "the launcher's variables contradict each other: %s",
                     facts->launcher_error);
        doctor_saw(result, "the environment: %s", facts->launcher_error);
        doctor_set(result, "gpubind --launcher NAME   # or unset what an outer job left behind");
    } else if (doctor_in_job(facts)) {
        doctor_saw(result, "the environment: %s, %d ranks on this node", facts->launcher,
                   facts->local_size);
    } else {
        doctor_moot(result, "not in a job");
    }
}

/* hwloc, Environment Variables, HWLOC_COMPONENTS: "-name" disables a component, with
 * ":phases" a part of it; behind "stop" none is enabled that was not named before. */
static bool components_exclude(const char *list, const char *component)
{
    size_t length = strlen(component);

    while (*list) {
        size_t size = strcspn(list, ",");
        bool minus = *list == '-';
        const char *name = list + minus;
        size_t name_size = strcspn(name, ",:");

        if (name_size == length && strncmp(name, component, length) == 0)
            return minus;
        if (size == 4 && strncmp(list, "stop", 4) == 0)
            return true;
        list += size;
        list += *list == ',';
    }
    return false;
}

/* hwloc, HWLOC_PLUGINS_BLACKLIST: file names between commas. */
static bool blacklisted(const char *list, const char *path)
{
    const char *file = strrchr(path, '/');
    const char *at;
    size_t length;

    file = file ? file + 1 : path;
    length = strlen(file);
    for (at = strstr(list, file); at; at = strstr(at + 1, file))
        if ((at == list || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

/* Whether loading it starts the GPUs. The OpenCL one asks all drivers that are
 * installed, so it needs NVIDIA's. */
static bool is_slow(const struct doctor_facts *facts, const struct doctor_plugin *plugin)
{
    if (strcmp(plugin->component, "opencl") == 0 && !facts->icd[0])
        return false;
    return strcmp(plugin->component, "opencl") == 0 || strcmp(plugin->component, "cuda") == 0;
}

static void advise_components(const struct doctor_facts *facts, const char *names,
                              struct doctor_result *result)
{
    const struct doctor_variable *now = &facts->hwloc_components;

    doctor_set(result, "export HWLOC_COMPONENTS=%.400s%s%s", now->value, now->value[0] ? "," : "",
               names);
}

/* Measured: mpirun of Open MPI, which asks hwloc for I/O devices, takes 0.5 s on two
 * H200 and 3.1 s on eight, and 0.05 s without the OpenCL plugin. */
void doctor_hwloc_plugins(const struct doctor_facts *facts, struct doctor_result *result)
{
    char names[128] = "";

    if (!doctor_has_driver(facts, result))
        return;
    if (facts->hwloc_xml.set) {
        doctor_moot(result, "HWLOC_XMLFILE is set: hwloc looks at a file and not at GPUs");
        return;
    }
    if (!facts->plugin_folders[0]) {
        doctor_unknown(result, "no folder of hwloc's plugins is where it mostly is; "
                               "HWLOC_PLUGINS_PATH may name it");
        return;
    }
    doctor_saw(result, "looked in %s", facts->plugin_folders);
    if (facts->hwloc_components.set)
        doctor_saw(result, "HWLOC_COMPONENTS=%.400s", facts->hwloc_components.value);
    for (int p = 0; p < facts->nplugins; p++) {
        const struct doctor_plugin *plugin = &facts->plugins[p];
        bool out = components_exclude(facts->hwloc_components.value, plugin->component) ||
                   blacklisted(facts->hwloc_blacklist.value, plugin->path);

        doctor_saw(result, "%s%s", plugin->path, out ? ", which is switched off" : "");
        if (!out && is_slow(facts, plugin) && !strstr(names, plugin->component))
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s-%s",
                     names[0] ? "," : "", plugin->component);
    }
    if (strstr(names, "opencl"))
        doctor_saw(result, "%s: NVIDIA's OpenCL driver", facts->icd);
    if (!names[0])
        return;
    doctor_found(result, DOCTOR_SLOWS,
                 "mpirun starts all GPUs by a plugin of hwloc's each time it "
                 "is called (measured: 0.5 s on two GPUs, 3.1 s on eight; "
                 "0.05 s without)");
    advise_components(facts, names, result);
}

/* Open MPI, CUDA: mpi_built_with_cuda_support. MPICH says how it was configured. */
void doctor_cuda_aware(const struct doctor_facts *facts, struct doctor_result *result)
{
    int unknown = 0;

    for (int m = 0; m < facts->nmpis; m++) {
        const struct doctor_mpi *mpi = &facts->mpis[m];

        doctor_saw(result, "%s", mpi->evidence);
        unknown += mpi->cuda < 0;
        if (mpi->cuda != 0)
            continue;
        if (result->state != DOCTOR_FOUND)
            doctor_found(result, DOCTOR_NOTE,
                         "this MPI is not CUDA-aware: a program that passes it GPU memory "
                         "crashes without gpubind: %s %s",
                         mpi->name, mpi->version);
        else
            text_add(&result->sentence, ", %s %s", mpi->name, mpi->version);
    }
    if (result->state == DOCTOR_FOUND)
        doctor_set(result, "mpirun gpubind --gpu-aware ./app   # or compile with pkg-config's "
                           "gpubind and call MPI_GPUSend in place of MPI_Send");
    else if (!facts->nmpis)
        doctor_unknown(result, "neither ompi_info nor mpichversion is in PATH");
    else if (unknown)
        doctor_unknown(result, "%s does not say", facts->mpis[0].name);
}
