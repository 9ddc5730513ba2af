#include "bench/lib/machine.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench/lib/ranks.h"

/* The rest of the first line that begins with key. */
static void read_line(const char *path, const char *key, char value[MACHINE_LINE])
{
    char line[512];
    FILE *file = fopen(path, "r");

    *value = '\0';
    while (file && !*value && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            snprintf(value, MACHINE_LINE, "%s",
                     line + strlen(key) + strspn(line + strlen(key), "\t :"));
    value[strcspn(value, "\n")] = '\0';
    if (file)
        fclose(file);
}

void machine_add_job(const char *subcommand, int nranks, struct text *text)
{
    text_add(text, "gpubind-bench %s %s: %d rank%s\n", PACKAGE_VERSION, subcommand, nranks,
             nranks == 1 ? "" : "s");
}

void machine_add_host(struct text *text)
{
    char cpu[MACHINE_LINE];
    struct utsname system;

    memset(&system, 0, sizeof system);
    uname(&system);
    read_line("/proc/cpuinfo", "model name", cpu);
    text_add(text, "host of rank 0: %s, %ld CPUs, %s %s\n", *cpu ? cpu : system.machine,
             sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.release);
}

/* "Open MPI v4.1.4", "MPICH Version: 4.0.2". */
void machine_add_mpi(struct text *text)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    for (char *c = version; *c; c++)
        if (isspace((unsigned char)*c))
            *c = ' ';
    text_add(text, "MPI: %s\n", version);
}

/* Adds the driver's version: the digits with dots after "Kernel Module". */
static void add_driver(const struct bench_gpu *gpu, struct text *text)
{
    char line[MACHINE_LINE];
    const char *at;

    if (gpu->version)
        text_add(text, ", CUDA %d.%d", gpu->version / 1000, gpu->version % 1000 / 10);
    read_line("/proc/driver/nvidia/version", "NVRM version", line);
    for (at = line; *at; at++)
        if (isdigit((unsigned char)at[0]) && at[strspn(at, "0123456789")] == '.')
            break;
    if (*at)
        text_add(text, ", driver %.*s", (int)strspn(at, "0123456789."), at);
}

void machine_add_gpu(const char *begin, const struct bench_gpu *gpu, struct text *text)
{
    text_add(text, "%s%s %s", begin, *gpu->name ? gpu->name : "GPU", gpu->pci);
    add_driver(gpu, text);
}

void machine_gather_lines(const char mine[MACHINE_LINE], MPI_Comm comm, struct text *text)
{
    char *all = NULL;
    int rank, n;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    if (rank == 0)
        all = calloc((size_t)n, MACHINE_LINE);
    if (rank == 0 && !all)
        ranks_die("out of memory");
    MPI_Gather(mine, MACHINE_LINE, MPI_CHAR, all, MACHINE_LINE, MPI_CHAR, 0, comm);
    for (int i = 0; i < n && rank == 0; i++)
        text_add(text, "%s", all + (size_t)i * MACHINE_LINE);
    free(all);
}

void machine_add_ranks(const struct bench_gpu *gpu, MPI_Comm comm, struct text *text)
{
    struct text mine = {0};
    char begin[24], line[MACHINE_LINE];
    int rank;

    MPI_Comm_rank(comm, &rank);
    snprintf(begin, sizeof begin, "rank %d: ", rank);
    machine_add_gpu(begin, gpu, &mine);
    snprintf(line, sizeof line, "%.*s\n", MACHINE_LINE - 2, mine.bytes ? mine.bytes : "");
    text_clear(&mine);
    machine_gather_lines(line, comm, text);
}

/* An extension of Open MPI and MPICH. */
bool machine_mpi_is_cuda_aware(void)
{
    int (*query)(void);

    *(void **)&query = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    return query && query() == 1;
}
