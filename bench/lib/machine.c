#include "bench/lib/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define LINE 256

/* What stands behind the first line that begins with key, up to stop characters. */
static void read_line(const char *path, const char *key, char value[LINE])
{
    char line[512];
    FILE *file = fopen(path, "r");

    *value = '\0';
    while (file && !*value && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            snprintf(value, LINE, "%s", line + strlen(key) + strspn(line + strlen(key), "\t :"));
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
    char cpu[LINE];
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

/* The digits with dots behind "Kernel Module". */
static void add_driver(const struct bench_gpu *gpu, struct text *text)
{
    char line[LINE];
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

/* The lines of all ranks of comm, on its rank 0. */
static void gather_lines(const char mine[LINE], MPI_Comm comm, struct text *text)
{
    char *all = NULL;
    int rank, n;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    if (rank == 0)
        all = calloc((size_t)n, LINE);
    if (rank == 0 && !all)
        ranks_die("out of memory");
    MPI_Gather(mine, LINE, MPI_CHAR, all, LINE, MPI_CHAR, 0, comm);
    for (int i = 0; i < n && rank == 0; i++)
        text_add(text, "%s", all + (size_t)i * LINE);
    free(all);
}

void machine_add_ranks(const struct bench_gpu *gpu, MPI_Comm comm, struct text *text)
{
    struct text mine = {0};
    char begin[24], line[LINE];
    int rank;

    MPI_Comm_rank(comm, &rank);
    snprintf(begin, sizeof begin, "rank %d: ", rank);
    machine_add_gpu(begin, gpu, &mine);
    snprintf(line, sizeof line, "%.*s\n", LINE - 2, mine.bytes ? mine.bytes : "");
    text_clear(&mine);
    gather_lines(line, comm, text);
}

static void add_run(const struct bench *bench, const char *copy_name, struct text *text)
{
    static const char *const buffers[] = {"device to device", "device to host", "host to device",
                                          "host to host"};
    const struct bench_options *options = bench->options;

    text_add(text, "gpubind-bench %s pt2pt: %d ranks, %d pair%s, %s\n", PACKAGE_VERSION,
             bench->ranks.n, bench->ranks.npairs, bench->ranks.npairs == 1 ? "" : "s",
             buffers[options->buffers]);
    text_add(text, "calls: %s%s%s, path: %s, compared with: %s\n",
             bench->use[METHOD_GPUBIND] ? "gpubind" : "",
             options->compare ? " and " : "", bench->use[METHOD_MPI] ? "plain MPI" : "",
             !bench->use[METHOD_GPUBIND] ? "MPI's"
             : options->path             ? options->path
                                         : "chosen by the library",
             copy_name ? copy_name : "no bare copy");
}

/* What this rank works with, as its line. */
static void rank_line(const struct bench *bench, char line[LINE])
{
    struct text text = {0};
    char host[65] = "";

    *line = '\0';
    if (bench->ranks.pair < 0)
        return;
    gethostname(host, sizeof host - 1);
    text_add(&text, "rank %d: %s, ", bench->ranks.rank, host);
    if (bench->has_gpu) {
        machine_add_gpu("", &bench->gpu, &text);
    } else {
        text_add(&text, "host memory");
    }
    snprintf(line, LINE, "%s\n", text.bytes ? text.bytes : "");
    text_clear(&text);
}

void machine_describe(const struct bench *bench, const char *copy_name, struct text *text)
{
    char mine[LINE];

    rank_line(bench, mine);
    if (bench->ranks.rank == 0) {
        add_run(bench, copy_name, text);
        machine_add_host(text);
    }
    gather_lines(mine, MPI_COMM_WORLD, text);
    if (bench->ranks.rank == 0)
        machine_add_mpi(text);
}
