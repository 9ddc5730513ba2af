/* Files that others wrote: the plugin and the parameter files of PMIx and Open MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Some of what they read is their own affair. */
#include "host/launch/binding_policy.c"
#include "host/pmix/mca_param.h"
#include "host/pmix/plugin_file.c"
#include "host/sys/env_array.h"
#include "plugin/slurm.h"
#include "tests/fuzz/fuzz.h"

static char folder[64];

static void remove_folder(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    FUZZ_CHECK(system(command) == 0);
}

/* A folder for the time of the process, with one file. */
static void put(const char *below, const char *name, const void *bytes, size_t size)
{
    char path[256];
    FILE *file;

    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%s/gpubind_test_fuzz.XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        FUZZ_CHECK(mkdtemp(folder));
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s%s", folder, below);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s%s/%s", folder, below, name);
    file = fopen(path, "we");
    FUZZ_CHECK(file && fwrite(bytes, 1, size, file) == size);
    fclose(file);
}

void fuzz_plugin_file(const char *bytes, size_t size)
{
    struct plugin_file file;

    put("/plugin", PLUGIN_FILE, bytes, size);
    plugin_file_read(folder, "/plugin", &file);
    FUZZ_CHECK(file.state >= PLUGIN_FILE_UNREADABLE && file.state <= PLUGIN_FILE_OURS);
    FUZZ_CHECK(memchr(file.why, '\0', sizeof file.why));
    FUZZ_CHECK(memchr(file.version, '\0', sizeof file.version));
    FUZZ_CHECK((file.state == PLUGIN_FILE_OURS) == !file.why[0]);
    for (const char *at = file.version; *at; at++)
        FUZZ_CHECK((unsigned char)*at >= 0x20 && *at != 0x7f);
}

/* What the process that loads libpmix says. */
void fuzz_pmix_answers(const char *bytes, size_t size)
{
    static struct pmix_library library;
    char path[64];
    int fd = fuzz_file(bytes, size, path, sizeof path);

    memset(&library, 0, sizeof library);
    lseek(fd, 0, SEEK_SET);
    take_answers(fd, &library);
    close(fd);
    FUZZ_CHECK(library.version[0] || library.why_not[0]);
    FUZZ_CHECK(memchr(library.path, '\0', sizeof library.path));
    FUZZ_CHECK(memchr(library.version, '\0', sizeof library.version));
    FUZZ_CHECK(memchr(library.why_not, '\0', sizeof library.why_not));
    FUZZ_CHECK(memchr(library.plugin_why_not, '\0', sizeof library.plugin_why_not));
}

/* slurm.conf, and what the relay left: the lines before the first empty one. */
void fuzz_slurm(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *variables[12] = {NULL}, conf[128], **env;
    struct gpubind_error err;
    int n = 0;

    while (n < 10 && (variables[n] = fuzz_line(&input)) && *variables[n])
        n++;
    put("", "slurm.conf", input.at, (size_t)(input.end - input.at));
    snprintf(conf, sizeof conf, "SLURM_CONF=%s/slurm.conf", folder);
    free(variables[n]);
    variables[n] = conf;
    fuzz_environment(variables);
    fuzz_expect(&err);
    env = slurm_env(&err);
    fuzz_environment_restore();
    if (!env)
        fuzz_refused(&err);
    env_array_free(env);
    for (int i = 0; i < n; i++)
        free(variables[i]);
}

/* The value of the variable in the first line, then the file. */
void fuzz_mca_param(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *value = fuzz_line(&input), assignment[8192];
    char *variables[] = {assignment, NULL}, *none[] = {NULL};
    struct mca_param_sources where = {"", "/nowhere", "", none, "the daemon's"};
    struct mca_param setting;

    put("/.pmix", "mca-params.conf", input.at, (size_t)(input.end - input.at));
    where.home = folder;
    if (value && *value) {
        snprintf(assignment, sizeof assignment, "PMIX_MCA_%s=%s",
                 strlen(value) % 2 ? "pmdl" : "mca_base_param_files", value);
        where.env = variables;
    }
    mca_param_find(&where, "pmdl", &setting);
    FUZZ_CHECK(memchr(setting.value, '\0', sizeof setting.value));
    FUZZ_CHECK(memchr(setting.from, '\0', sizeof setting.from));
    FUZZ_CHECK(setting.from[0] || !setting.value[0]);
    free(value);
}

/* Open MPI 4's parameter file, and the same bytes as a command line of prterun. */
void fuzz_policy(const char *bytes, size_t size)
{
    char path[128], *line = malloc(size + 1);

    put("", "mca-params.conf", bytes, size);
    snprintf(path, sizeof path, "%s/mca-params.conf", folder);
    (void)file_sets_binding(path);
    memcpy(line, bytes, size);
    line[size] = '\0';
    for (char *at = line; (at = memchr(at, '\n', size - (size_t)(at - line)));)
        *at = '\0';
    (void)command_line_sets_binding(line, size);
    free(line);
}
