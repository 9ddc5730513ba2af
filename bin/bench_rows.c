#include "bin/bench_rows.h"

#include "bin/bench_result.h"

/* Rows of the same name are for different subcommands. */
enum {
    ALL = (1 << MODES) - 1,
    PT2PT = 1 << MODE_PT2PT,
    P2P = 1 << MODE_P2P,
};
#define AT(member) offsetof(struct bench_options, member)

const struct bench_row bench_rows[] = {
    {PT2PT, BENCH_WHAT, BENCH_MEASURES, 0, "measure", "NAME[,NAME...]", NULL,
     "which of " MEASURE_WORDS " (all)", MEASURE_WORDS, AT(measures), 0, 0},
    {PT2PT, BENCH_WHAT, BENCH_SIZES, 0, "sizes", "SIZE[-SIZE][,...]", "8-256M",
     "bytes of a message, with K, M or G; a range goes in powers of 2", NULL, 0, 0, 0},
    {PT2PT, BENCH_WHAT, BENCH_WORD, 0, "buffers", "dd|dh|hd|hh", NULL,
     "device or host memory of the first rank of a pair, and of the second (dd)", "dd|dh|hd|hh",
     AT(buffers), 0, 0},
    {PT2PT, BENCH_WHAT, BENCH_WORD, 0, "api", "gpubind|mpi", NULL,
     "the calls of gpubind.h, or plain MPI on the same buffers (gpubind)", "gpubind|mpi", AT(api),
     0, 0},
    {PT2PT, BENCH_WHAT, BENCH_FLAG, 0, "compare", NULL, NULL, "both of them, in turns", NULL,
     AT(compare), 0, 0},
    {PT2PT, BENCH_WHAT, BENCH_FLAG, 0, "force", NULL, NULL,
     "hand device memory to an MPI that does not say it is CUDA-aware", NULL, AT(force), 0, 0},
    {PT2PT, BENCH_WHAT, BENCH_NAME, 0, "path", "ipc|shared|network|direct|host", NULL,
     "the library's path, instead of its own choice: sets GPUBIND_PATH",
     "ipc|shared|network|direct|host", AT(path), 0, 0},
    {PT2PT, BENCH_WHAT, BENCH_WORD, 0, "ceiling", "auto|peer|staged|none", NULL,
     "the bare copy to compare with: to the peer's GPU, to page-locked host memory (auto)",
     "auto|peer|staged|none", AT(ceiling), 0, 0},
    {PT2PT, BENCH_WHAT, BENCH_FLAG, 0, "pairs", NULL, NULL,
     "all pairs of ranks i and i + N/2 at once, not the first alone", NULL, AT(pairs), 0, 0},
    {PT2PT, BENCH_HOW, BENCH_NUMBER, 0, "window", "N", NULL,
     "nonblocking messages under way at once (64 up to 64 KiB, 16 above)", NULL, AT(window), 1,
     BENCH_MAX_WINDOW},
    {PT2PT, BENCH_HOW, BENCH_NUMBER, 0, "iterations", "N", NULL,
     "so many of each size (as many as fit into --time, 2000 at most)", NULL, AT(iterations), 1,
     1000000},
    {PT2PT, BENCH_HOW, BENCH_NUMBER, 0, "warmup", "N", "20",
     "iterations before those that count", NULL, AT(warmup), 1, 1000000},
    {PT2PT, BENCH_HOW, BENCH_NUMBER, 0, "time", "MS", "200",
     "milliseconds for each size and method", NULL, AT(time_ms), 1, 3600000},
    {PT2PT, BENCH_HOW, BENCH_SIZE, 0, "memory", "SIZE", NULL,
     "for the buffers of a rank; windows of large messages shrink to it (8G, or an eighth of what "
     "there is)",
     NULL, AT(memory), 0, 0},
    {P2P, BENCH_HOW, BENCH_SIZE, 0, "size", "SIZE", "64M",
     "bytes of a copy, but for the latency", NULL, AT(size), 0, 0},
    {P2P, BENCH_HOW, BENCH_NUMBER, 0, "repeats", "N", "100",
     "copies of each kind, fewer where they take longer than half a second", NULL, AT(repeats), 1,
     1000000},
    {ALL, BENCH_OUTPUT, BENCH_FLAG, 0, "csv", NULL, NULL, "comma-separated values", NULL,
     AT(csv), 0, 0},
    {ALL, BENCH_OUTPUT, BENCH_FLAG, 0, "json", NULL, NULL, "one JSON object", NULL, AT(json), 0,
     0},
    {PT2PT, BENCH_OUTPUT, BENCH_TEXT, 0, "svg", "FILE", NULL,
     "draw latency and bandwidth by size, too", NULL, AT(svg), 0, 0},
    {P2P, BENCH_OUTPUT, BENCH_TEXT, 0, "svg", "FILE", NULL,
     "draw the results as pictures, too", NULL, AT(svg), 0, 0},
    {ALL, BENCH_OUTPUT, BENCH_FLAG, 0, "progress", NULL, NULL,
     "say on stderr what is measured, also where that is no terminal", NULL, AT(progress), 0, 0},
    {ALL, BENCH_ACTIONS, BENCH_ACTION, 'h', "help", NULL, NULL, "print this", NULL, AT(action),
     BENCH_HELP, 0},
    {ALL, BENCH_ACTIONS, BENCH_ACTION, 'V', "version", NULL, NULL, "print the version", NULL,
     AT(action), BENCH_VERSION, 0},
};
_Static_assert(sizeof bench_rows / sizeof bench_rows[0] <= BENCH_MAX_ROWS, "too many options");
const int bench_nrows = sizeof bench_rows / sizeof bench_rows[0];
