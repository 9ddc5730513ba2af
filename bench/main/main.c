/* The command line of gpubind-bench: a subcommand, --help or --version. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/program.h"
#include "bench/main/subcommands.h"

static int print_help(void)
{
    struct text text = {0};

    text_add(&text, "Usage: [mpirun -np N gpubind] gpubind-bench SUBCOMMAND [OPTION...]\n"
                    "       gpubind-bench SUBCOMMAND --help\n"
                    "Measure how fast data gets from and to the memory of GPUs.\n\n"
                    "Subcommands:\n");
    for (int i = 0; i < SUBCOMMANDS; i++) {
        text_add(&text, "  %s\n", subcommands[i].word);
        text_add_wrapped(&text, subcommands[i].help, 10);
    }
    text_add(&text, "\nInstead of a subcommand:\n"
                    "  -h, --help\n          print this\n"
                    "  -V, --version\n          print the version\n"
                    "\nSee gpubind-bench(1).\n");
    return bench_print(&text);
}

static int print_version(void)
{
    struct text text = {0};

    text_add(&text, "gpubind-bench %s\n", PACKAGE_VERSION);
    return bench_print(&text);
}

/* Starts MPI without the library, so that rank 0 alone reports the error. */
static int refuse(const struct gpubind_error *err)
{
    int rank;

    PMPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        bench_fail(err);
    MPI_Barrier(MPI_COMM_WORLD);
    PMPI_Finalize();
    return EXIT_OWN;
}

static int print_subcommand_help(enum subcommand_id subcommand)
{
    struct text text = {0};

    bench_options_help(subcommand, &text);
    return bench_print(&text);
}

static int run_subcommand(enum subcommand_id subcommand, int argc, char **argv)
{
    struct bench_options options;
    struct gpubind_error err;

    if (bench_options_read(subcommand, argc, argv, &options, &err) < 0)
        return refuse(&err);
    if (options.action == BENCH_HELP)
        return print_subcommand_help(subcommand);
    if (options.action == BENCH_VERSION)
        return print_version();
    if (subcommands[subcommand].run)
        return subcommands[subcommand].run(&options);
    return benchmark_run(&options, subcommands[subcommand].benchmark, true);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    struct gpubind_error err;

    /* Without mpirun Open MPI 4 starts a daemon of its own for MPI_Comm_spawn, and at times crashes in
     * MPI_Finalize in the thread that talks to it. Started by mpirun, it does not look at this. */
    setenv("OMPI_MCA_ess_singleton_isolated", "1", false);
    for (int i = 0; word && i < SUBCOMMANDS; i++)
        if (strcmp(word, subcommands[i].word) == 0)
            return run_subcommand((enum subcommand_id)i, argc - 1, argv + 1);
    if (word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0))
        return print_help();
    if (word && (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0))
        return print_version();
    if (word)
        error_set(&err, "'%s' is no subcommand (gpubind-bench --help lists them)", word);
    else
        error_set(&err, "no subcommand is given (gpubind-bench --help lists them)");
    return bench_fail(&err);
}
