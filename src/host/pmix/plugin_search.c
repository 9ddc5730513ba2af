/* Searches the directories of a PMIx daemon for gpubind's plugin. */
#include "host/pmix/plugin_search.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/text.h"
#include "host/sys/env_array.h"

/* The commands that start ranks and have a PMIx server. */
/* clang-format off */
static const char *const daemons[] = {
    "orted", "mpirun", "mpiexec", "orterun",    "mpirun.openmpi", "mpiexec.openmpi",
    "prted", "prte",   "prterun", "slurmstepd", "flux-shell",     "jsmd",
    "palsd", "orterun_wrapper", NULL}; /* the last one: Open MPI 4 of the Python package index */
/* clang-format on */

/* ---- the daemon */

/* Where its files lie for us: another mount namespace shows others under their names. */
static void read_mounts(struct plugin_search *places)
{
    char path[64], theirs[64] = "", ours[64] = "";

    snprintf(path, sizeof path, "/proc/%ld/ns/mnt", (long)places->daemon.pid);
    if (readlink(path, theirs, sizeof theirs - 1) > 0 &&
        readlink("/proc/self/ns/mnt", ours, sizeof ours - 1) > 0 && strcmp(theirs, ours) != 0)
        snprintf(places->mounts, sizeof places->mounts, "/proc/%ld/root", (long)places->daemon.pid);
}

/* A line ends with the path of what is mapped; see proc(5). */
static void read_maps(struct plugin_search *places)
{
    char path[64], line[PATH_MAX + 128];
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/maps", (long)places->daemon.pid);
    errno = 0;
    file = fopen(path, "re");
    if (!file || !fgets(line, sizeof line, file)) {
        snprintf(places->maps_unknown, sizeof places->maps_unknown, "%s",
                 errno ? strerror(errno) : "it is empty");
    } else {
        do {
            const char *name = strchr(line, '/'), *base = strrchr(line, '/');

            line[strcspn(line, "\n")] = '\0';
            if (base && strncmp(base, "/libpmix.so", 11) == 0)
                snprintf(places->pmix.path, sizeof places->pmix.path, "%s", name);
            if (base && strncmp(base + 1, PLUGIN_FILE, strlen(PLUGIN_FILE)) == 0)
                snprintf(places->loaded, sizeof places->loaded, "%s", name);
        } while (fgets(line, sizeof line, file));
    }
    if (file)
        fclose(file);
}

/* As it was when the daemon started. The array is the caller's to free, and *block;
 * NULL when it is not known. */
static char **read_environment(struct plugin_search *places, char **block)
{
    char path[64], **array = NULL;
    size_t size, n = 0;
    bool whole = true;

    snprintf(path, sizeof path, "/proc/%ld/environ", (long)places->daemon.pid);
    *block = plugin_file_bytes(path, &size);
    if (!*block) {
        snprintf(places->environment_unknown, sizeof places->environment_unknown, "%s",
                 strerror(errno));
        return NULL;
    }
    for (size_t at = 0; at < size; at += strlen(*block + at) + 1) {
        whole &= strchr(*block + at, '=') != NULL;
        n++;
    }
    /* Slurm's daemon writes its title over it, and leaves the end. */
    if (!whole) {
        snprintf(places->environment_unknown, sizeof places->environment_unknown,
                 "overwritten by itself");
        return NULL;
    }
    array = calloc(n + 1, sizeof *array);
    n = 0;
    for (size_t at = 0; array && at < size; at += strlen(*block + at) + 1)
        array[n++] = *block + at;
    return array;
}

/* As PMIx does it: HOME, else what the user's entry says. */
static void find_home(struct plugin_search *places, char *const *env)
{
    const char *home = env_array_get(env, "HOME");
    const struct passwd *user = NULL;
    struct stat info;
    char path[64] = "/proc/self";

    if (places->has_daemon)
        snprintf(path, sizeof path, "/proc/%ld", (long)places->daemon.pid);
    if (places->environment_unknown[0])
        home = NULL;
    else if (!home && stat(path, &info) == 0)
        user = getpwuid(info.st_uid);
    snprintf(places->home, sizeof places->home, "%s", home ? home : user ? user->pw_dir : "");
}

/* ---- parameters */

static bool is_inherited(char *const *env, const char *variable)
{
    const char *value = getenv(variable), *above = env_array_get(env, variable);

    return value && above && strcmp(value, above) == 0;
}

static bool is_too_late(char *const *env, const char *variable)
{
    return getenv(variable) && !env_array_get(env, variable);
}

static void add_parameter(void *visitor, const char *name, const char *value, const char *from)
{
    struct plugin_search *places = visitor;
    struct mca_param *setting;
    char *own;

    if (places->nparameters == PLUGIN_PARAMETERS_MAX)
        return;
    own = places->parameters[places->nparameters].name;
    setting = &places->parameters[places->nparameters++].setting;
    text_copy(own, sizeof places->parameters->name, name + strlen(PLUGIN_PARAMETER));
    text_copy(setting->value, sizeof setting->value, value);
    text_copy(setting->from, sizeof setting->from, from);
}

static void find_settings(struct plugin_search *places, char *const *env)
{
    bool of_daemon = places->has_daemon && !places->environment_unknown[0];
    struct mca_param_sources where = {places->mounts, places->home, places->pmix.path, env,
                                      of_daemon            ? "the daemon's"
                                      : places->has_daemon ? "this rank's"
                                                           : "this"};
    mca_param_find(&where, "mca_base_component_path", &places->component_path);
    mca_param_find(&where, "pmdl", &places->selection);
    mca_params_see(&where, PLUGIN_PARAMETER, add_parameter, places);
    places->component_path_too_late = is_too_late(env, "PMIX_MCA_mca_base_component_path");
    places->selection_too_late = is_too_late(env, "PMIX_MCA_pmdl");
}

/* "a,b" takes these only, "^a,b" all others. */
bool plugin_left_out(const char *selection)
{
    bool except = *selection == '^', named = false;
    const char *at = selection + strspn(selection, "^");

    for (size_t length; *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        named |= length == 7 && strncmp(at, "gpubind", length) == 0;
    }
    return *selection && named == except;
}

/* ---- places */

static void add_place(struct plugin_search *places, const char *folder)
{
    struct plugin_dir *place = &places->place[places->n];

    for (int i = 0; i < places->n; i++)
        if (strcmp(places->place[i].folder, folder) == 0)
            return;
    if (places->n == PLUGIN_DIRS_MAX) {
        places->left_out++;
        return;
    }
    snprintf(place->folder, sizeof place->folder, "%s", folder);
    plugin_file_read(places->mounts, folder, &place->file);
    places->n++;
}

/* Folders between colons; relative ones are below where the daemon is. */
static void add_component_path(struct plugin_search *places)
{
    char folder[2 * PATH_MAX], link[64] = "/proc/self/cwd", cwd[PATH_MAX];
    ssize_t length;

    if (places->has_daemon)
        snprintf(link, sizeof link, "/proc/%ld/cwd", (long)places->daemon.pid);
    length = readlink(link, cwd, sizeof cwd - 1);
    cwd[length > 0 ? length : 0] = '\0';
    for (const char *at = places->component_path.value; *at;) {
        int size = (int)strcspn(at, ":");

        if (*at == '/')
            snprintf(folder, sizeof folder, "%.*s", size, at);
        else
            snprintf(folder, sizeof folder, "%s/%.*s", cwd, size, at);
        if (size)
            add_place(places, folder);
        at += size + (at[size] == ':');
    }
}

static void read_dirs(struct plugin_search *places, char *const *env)
{
    char folder[PATH_MAX + 64];

    /* What the loader finds from here may be another one. */
    places->pmix_is_guess = !places->has_daemon || places->maps_unknown[0];
    if (places->pmix_is_guess)
        pmix_library_load("", NULL, &places->pmix);
    find_home(places, env);
    places->below_gpubind = is_inherited(env, "GPUBIND_PLAN");
    find_settings(places, env);
    if (strrchr(places->pmix.path, '/')) {
        snprintf(folder, sizeof folder, "%.*s/pmix",
                 (int)(strrchr(places->pmix.path, '/') - places->pmix.path), places->pmix.path);
        add_place(places, folder);
    }
    if (places->home[0]) {
        snprintf(folder, sizeof folder, "%s/.pmix/components", places->home);
        add_place(places, folder);
    }
    add_component_path(places);
}

void plugin_search_installed(struct plugin_search *places)
{
#ifdef PMIXPLUGINDIR
    places->built = true;
    snprintf(places->installed.folder, sizeof places->installed.folder, "%s", PMIXPLUGINDIR);
    plugin_file_read("", PMIXPLUGINDIR, &places->installed.file);
#else
    places->built = false;
#endif
}

const struct plugin_dir *plugin_search_first(const struct plugin_search *places)
{
    for (int i = 0; i < places->n; i++)
        if (places->place[i].file.state != PLUGIN_FILE_ABSENT)
            return &places->place[i];
    return NULL;
}

/* The file that decides is tried beside the libpmix that would load it. */
static void try_to_load(struct plugin_search *places)
{
    const struct plugin_dir *first = plugin_search_first(places);
    char path[PATH_MAX + 64];

    if (!places->pmix.path[0])
        return;
    if (first)
        snprintf(path, sizeof path, "%s/%s", first->folder, PLUGIN_FILE);
    pmix_library_load(places->mounts, first && first->file.state == PLUGIN_FILE_OURS ? path : NULL,
                      &places->pmix);
}

void plugin_search_daemon(struct plugin_search *places)
{
    char *block = NULL, **env;

    places->has_daemon = process_ancestor(daemons, &places->daemon);
    if (!places->has_daemon)
        return;
    read_mounts(places);
    read_maps(places);
    env = read_environment(places, &block);
    read_dirs(places, env ? env : environ);
    try_to_load(places);
    free(env);
    free(block);
}

void plugin_search_here(struct plugin_search *places)
{
    read_dirs(places, environ);
    try_to_load(places);
}
