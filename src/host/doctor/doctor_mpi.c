/* The MPIs of PATH, asked whether they take GPU memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/doctor/collect.h"
#include "host/sys/subprocess.h"

#define ANSWER_SIZE (4 << 20)

static struct doctor_mpi *add_mpi(struct doctor_facts *facts, const char *name)
{
    struct doctor_mpi *mpi = &facts->mpis[facts->nmpis++];

    memset(mpi, 0, sizeof *mpi);
    snprintf(mpi->name, sizeof mpi->name, "%s", name);
    mpi->cuda = -1;
    return mpi;
}

/* What stands behind key, up to the end of the line; false when key is not there. */
static bool find_value(const char *text, const char *key, char *value, size_t size)
{
    const char *at = strstr(text, key);

    value[0] = '\0';
    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, " \t");
    snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

/* The tool's answer; NULL when there is no such tool. A tool that fails is an MPI of
 * which nothing is known. The program is kept from starting GPUs: it is to list what
 * it was built with. */
static struct doctor_mpi *ask(const char *name, const char *const *tool, int seconds, char *text,
                              struct doctor_facts *facts)
{
    const char *argv[8] = {"env", "CUDA_VISIBLE_DEVICES=", "HWLOC_COMPONENTS=-opencl,-cuda,-nvml"};
    struct gpubind_error err = {""};
    struct doctor_mpi *mpi;

    for (int i = 0; i < 5; i++) {
        argv[3 + i] = i < 4 ? tool[i] : NULL;
        if (!argv[3 + i])
            break;
    }
    if (subprocess_command(argv, seconds, text, ANSWER_SIZE, &err) < 0) {
        if (strcmp(err.text, "exit status 127") == 0)
            return NULL;
        mpi = add_mpi(facts, name);
        snprintf(mpi->evidence, sizeof mpi->evidence, "%s: %.200s", tool[0], err.text);
        text[0] = '\0';
        return mpi;
    }
    return add_mpi(facts, name);
}

static void ask_openmpi(int seconds, char *text, struct doctor_facts *facts)
{
    static const char *const tool[5] = {"ompi_info", "--parsable", "--all", NULL};
    struct doctor_mpi *mpi = ask("Open MPI", tool, seconds, text, facts);
    char value[64];

    if (!mpi || mpi->evidence[0])
        return;
    find_value(text, "\nompi:version:full:", mpi->version, sizeof mpi->version);
    /* Open MPI 5 says "false" there and has a component for CUDA all the same. */
    if (strstr(text, "\nmca:accelerator:cuda:")) {
        mpi->cuda = 1;
        snprintf(mpi->evidence, sizeof mpi->evidence,
                 "ompi_info --parsable --all: %s: mca:accelerator:cuda", mpi->version);
        return;
    }
    if (!find_value(text, "built_with_cuda_support:value:", value, sizeof value)) {
        snprintf(mpi->evidence, sizeof mpi->evidence,
                 "ompi_info --parsable --all: nothing of built_with_cuda_support");
        return;
    }
    mpi->cuda = strcmp(value, "true") == 0;
    snprintf(mpi->evidence, sizeof mpi->evidence,
             "ompi_info --parsable --all: %s: built_with_cuda_support: %s", mpi->version, value);
}

/* An option of configure as a word of its own, with "=VALUE" behind or without, since there are
 * others that begin so (--with-cuda-sm). */
static bool has_option(const char *text, const char *option)
{
    static const char ends[] = " \t\n'\"";
    size_t length = strlen(option);

    for (const char *at = strstr(text, option); at; at = strstr(at + 1, option))
        if ((at == text || strchr(ends, at[-1])) && (at[length] == '=' || strchr(ends, at[length])))
            return true;
    return false;
}

/* Yaksa is the part of MPICH that moves GPU memory. */
static void ask_mpich(int seconds, char *text, struct doctor_facts *facts)
{
    static const struct {
        const char *option;
        int cuda;
    } options[] = {
        {"--with-cuda=no", 0}, {"--with-cuda", 1}, {"--without-cuda", 0}, {"--without-yaksa", 0}};
    static const char *const tool[5] = {"mpichversion", NULL};
    struct doctor_mpi *mpi = ask("MPICH", tool, seconds, text, facts);
    const char *seen = "neither --with-cuda nor --without-cuda";

    if (!mpi || mpi->evidence[0])
        return;
    find_value(text, "Version:", mpi->version, sizeof mpi->version);
    for (size_t i = 0; i < sizeof options / sizeof options[0] && mpi->cuda < 0; i++)
        if (has_option(text, options[i].option)) {
            mpi->cuda = options[i].cuda;
            seen = options[i].option;
        }
    snprintf(mpi->evidence, sizeof mpi->evidence, "mpichversion: %s: configured with %s",
             mpi->version, seen);
}

void doctor_ask_mpi(int seconds, struct doctor_facts *facts)
{
    char *text = malloc(ANSWER_SIZE);

    if (!text)
        return;
    ask_openmpi(seconds, text, facts);
    ask_mpich(seconds, text, facts);
    free(text);
}
