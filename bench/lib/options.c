/* The options of gpubind-bench's subcommands. */
#include "bench/lib/options.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/options.h"

/* ---- how values are read */

/* LENGTH characters such as 8, 64K, 256M, 1G. */
static int parse_size(const char *text, size_t length, const char *from, size_t *nbytes,
                      struct gpubind_error *err)
{
    static const char suffixes[] = "KMG";
    const char *suffix;
    size_t at = 0, value = 0;

    for (; at < length && isdigit((unsigned char)text[at]) && value < SIZE_MAX / 100; at++)
        value = value * 10 + (size_t)(text[at] - '0');
    suffix = at > 0 && at + 1 == length ? strchr(suffixes, toupper((unsigned char)text[at])) : NULL;
    if (suffix && value <= SIZE_MAX >> 30) {
        value <<= 10 * (suffix - suffixes + 1);
        at++;
    }
    if (at < length || !value)
        return error_set(err, "%s: '%.*s' is no size, as 8, 64K, 256M or 1G is", from, (int)length,
                         text);
    *nbytes = value;
    return 0;
}

static int add_size(struct bench_options *options, size_t nbytes, const char *from,
                    struct gpubind_error *err)
{
    if (nbytes > BENCH_MAX_SIZE)
        return error_set(err, "%s: %zu bytes are more than 1G", from, nbytes);
    if (options->nsizes == BENCH_MAX_SIZES)
        return error_set(err, "%s: more than %d sizes", from, BENCH_MAX_SIZES);
    options->sizes[options->nsizes++] = nbytes;
    return 0;
}

/* SIZE or SIZE-SIZE, of length characters. */
static int read_range(const char *text, size_t length, const char *from,
                      struct bench_options *options, struct gpubind_error *err)
{
    const char *dash = memchr(text, '-', length);
    size_t low, high, first = dash ? (size_t)(dash - text) : length;

    if (parse_size(text, first, from, &low, err) < 0)
        return -1;
    high = low;
    if (dash && parse_size(dash + 1, length - first - 1, from, &high, err) < 0)
        return -1;
    if (high < low)
        return error_set(err, "%s: '%.*s' goes down", from, (int)length, text);
    for (; low <= high; low *= 2)
        if (add_size(options, low, from, err) < 0)
            return -1;
    return 0;
}

static int read_size(const struct option_row *row, const char *value, const char *from,
                     void *options, struct gpubind_error *err)
{
    size_t *nbytes = (size_t *)(void *)((char *)options + row->offset);

    return parse_size(value, strlen(value), from, nbytes, err);
}

static int read_sizes(const struct option_row *row, const char *value, const char *from,
                      void *options, struct gpubind_error *err)
{
    (void)row;
    ((struct bench_options *)options)->nsizes = 0;
    for (;;) {
        size_t length = strcspn(value, ",");

        if (read_range(value, length, from, options, err) < 0)
            return -1;
        if (!value[length])
            return 0;
        value += length + 1;
    }
}

/* Some of the words, with commas: bit 1 << position. */
static int read_measures(const struct option_row *row, const char *value, const char *from,
                         void *options, struct gpubind_error *err)
{
    unsigned measures = 0;

    for (;; value++) {
        size_t length = strcspn(value, ",");
        int position = option_find_word(row->words, value, length);

        if (position < 0)
            return error_set(err, "%s: '%.*s' is none of %s", from, (int)length, value, row->words);
        measures |= 1u << position;
        value += length;
        if (!*value)
            break;
    }
    *(unsigned *)(void *)((char *)options + row->offset) = measures;
    return 0;
}

/* ---- the table */

/* Rows of the same name are for different subcommands. */
enum {
    ALL = (1 << SUBCOMMANDS) - 1,
    PT2PT = 1 << SUBCOMMAND_PT2PT,
    STREAM = 1 << SUBCOMMAND_STREAM,
    COLL = 1 << SUBCOMMAND_COLL,
    P2P = 1 << SUBCOMMAND_P2P,
    HOST = 1 << SUBCOMMAND_HOST,
    HALO = 1 << SUBCOMMAND_HALO,
    PUT = 1 << SUBCOMMAND_PUT,
    PEER_KERNEL = 1 << SUBCOMMAND_PEER_KERNEL,
    REPORT = 1 << SUBCOMMAND_REPORT,
};
#define AT(member) .offset = offsetof(struct bench_options, member)

enum { GROUP_WHAT, GROUP_HOW, GROUP_OUTPUT, GROUP_ACTIONS, GROUPS };

/* clang-format off */
static const struct option_row rows[] = {
    {PT2PT, GROUP_WHAT, OPTION_READ, 0, "measure", "NAME[,NAME...]", NULL,
     "which of " MEASURE_WORDS " (all)",
     AT(measures), .read = read_measures, .words = MEASURE_WORDS},
    {PT2PT | REPORT, GROUP_WHAT, OPTION_READ, 0, "sizes", "SIZE[-SIZE][,...]", "8-256M",
     "bytes of a message, with K, M or G; a range goes in powers of 2", .read = read_sizes},
    {STREAM, GROUP_WHAT, OPTION_READ, 0, "measure", "NAME[,NAME...]", NULL,
     "which of " STREAM_WORDS " (all)",
     AT(stream_measures), .read = read_measures, .words = STREAM_WORDS},
    {STREAM, GROUP_WHAT, OPTION_READ, 0, "sizes", "SIZE[-SIZE][,...]", "8,64K,1M",
     "bytes of a message, as in --sizes of pt2pt", .read = read_sizes},
    {COLL, GROUP_WHAT, OPTION_READ, 0, "operations", "NAME[,NAME...]",
     "allreduce,bcast,alltoall,allgather", "which of " OPERATION_WORDS,
     AT(operations), .read = read_measures, .words = OPERATION_WORDS},
    {COLL, GROUP_WHAT, OPTION_READ, 0, "sizes", "SIZE[-SIZE][,...]", "8,64K,1M,16M",
     "bytes of the buffer, or of the block that one rank has for another; multiples of 8, 256M "
     "at most", .read = read_sizes},
    {COLL, GROUP_WHAT, OPTION_FLAG, 0, "host", NULL, NULL,
     "buffers in host memory, not in that of the GPUs", AT(host)},
    {HOST, GROUP_WHAT, OPTION_READ, 0, "measure", "NAME[,NAME...]", NULL,
     "which of " HOST_WORDS " (all)",
     AT(host_measures), .read = read_measures, .words = HOST_WORDS},
    {HOST, GROUP_WHAT, OPTION_READ, 0, "chunks", "SIZE[-SIZE][,...]", "64K-64M",
     "chunks that --size is cut into, as in --sizes of pt2pt", .read = read_sizes},
    {PT2PT, GROUP_WHAT, OPTION_WORD, 0, "buffers", "dd|dh|hd|hh", NULL,
     "device or host memory of the first rank of a pair, and of the second (dd)", AT(buffers)},
    {PT2PT, GROUP_WHAT, OPTION_WORD, 0, "api", "gpubind|mpi", NULL,
     "the calls of gpubind.h, or plain MPI on the same buffers (gpubind)", AT(api)},
    {PT2PT, GROUP_WHAT, OPTION_FLAG, 0, "compare", NULL, NULL,
     "both of them, in turns", AT(compare)},
    {PT2PT, GROUP_WHAT, OPTION_FLAG, 0, "force", NULL, NULL,
     "hand device memory to an MPI that does not say it is CUDA-aware", AT(force)},
    {PT2PT, GROUP_WHAT, OPTION_NAME, 0, "path", "ipc|shared|network|mpi|host", NULL,
     "the library's path, instead of its own choice: sets GPUBIND_PATH", AT(path)},
    {PT2PT, GROUP_WHAT, OPTION_WORD, 0, "ceiling", "auto|peer|staged|none", NULL,
     "the bare copy to compare with: to the peer's GPU, to page-locked host memory (auto)",
     AT(ceiling)},
    {PT2PT, GROUP_WHAT, OPTION_FLAG, 0, "pairs", NULL, NULL,
     "all pairs of ranks i and i + N/2 at once, not the first alone", AT(pairs)},
    {PT2PT, GROUP_HOW, OPTION_NUMBER, 0, "window", "N", NULL,
     "nonblocking messages under way at once (64 up to 64 KiB, 16 above)",
     AT(window), 1, BENCH_MAX_WINDOW},
    {PT2PT | STREAM | COLL, GROUP_HOW, OPTION_NUMBER, 0, "iterations", "N", NULL,
     "so many of each size (as many as fit into --time, 2000 at most)", AT(iterations), 1, 1000000},
    {PT2PT | STREAM | COLL, GROUP_HOW, OPTION_NUMBER, 0, "warmup", "N", "20",
     "iterations before those that count", AT(warmup), 1, 1000000},
    {PT2PT | STREAM | COLL | REPORT, GROUP_HOW, OPTION_NUMBER, 0, "time", "MS", "200",
     "milliseconds for each size and method", AT(time_ms), 1, 3600000},
    {PT2PT, GROUP_HOW, OPTION_READ, 0, "memory", "SIZE", NULL,
     "for the buffers of a rank; windows of large messages shrink to it (8G, or an eighth of "
     "what there is)", AT(memory), .read = read_size},
    {P2P | HOST | REPORT, GROUP_HOW, OPTION_READ, 0, "size", "SIZE", "64M",
     "bytes of a copy, but for latencies and chunks", AT(size), .read = read_size},
    {P2P | HOST | REPORT, GROUP_HOW, OPTION_NUMBER, 0, "repeats", "N", "100",
     "copies of each kind, fewer where they take longer than half a second",
     AT(repeats), 1, 1000000},
    {HALO, GROUP_HOW, OPTION_NUMBER, 0, "repeats", "N", "50",
     "batches of 20 exchanges for each grid and way", AT(repeats), 1, 1000000},
    {PUT | PEER_KERNEL, GROUP_HOW, OPTION_READ, 0, "size", "SIZE", "256M",
     "bytes that a kernel works on: a multiple of 16, or a power of 2 for peer-kernel",
     AT(size), .read = read_size},
    {PUT | PEER_KERNEL, GROUP_HOW, OPTION_NUMBER, 0, "time", "MS", "20",
     "milliseconds for each measurement", AT(time_ms), 1, 3600000},
    {REPORT, GROUP_OUTPUT, OPTION_TEXT, 0, "output", "FILE", "gpubind-report.json",
     "all results as one JSON object, which gpubind-plot draws", AT(output)},
    {ALL, GROUP_OUTPUT, OPTION_FLAG, 0, "csv", NULL, NULL,
     "comma-separated values", AT(csv)},
    {ALL, GROUP_OUTPUT, OPTION_FLAG, 0, "json", NULL, NULL,
     "one JSON object, which gpubind-plot draws", AT(json)},
    {ALL, GROUP_OUTPUT, OPTION_FLAG, 0, "progress", NULL, NULL,
     "say on stderr what is measured, also where that is no terminal", AT(progress)},
    {ALL, GROUP_ACTIONS, OPTION_ACTION, 'h', "help", NULL, NULL,
     "print this", AT(action), .low = BENCH_HELP},
    {ALL, GROUP_ACTIONS, OPTION_ACTION, 'V', "version", NULL, NULL,
     "print the version", AT(action), .low = BENCH_VERSION},
};
/* clang-format on */

static const char *const group_titles[GROUPS] = {"What is measured", "How", "Output",
                                                 "Instead of measuring"};

#define NROWS (sizeof rows / sizeof *rows)
_Static_assert(NROWS <= OPTIONS_MAX, "too many options");
static const struct option_table table = {rows, NROWS, group_titles, GROUPS};

/* ---- the command line */

/* A bit for each. */
static unsigned all_words(const char *words)
{
    unsigned all = 1;

    for (; (words = strchr(words, '|')) != NULL; words++)
        all = all << 1 | 1;
    return all;
}

int bench_options_default(enum subcommand_id subcommand, struct bench_options *options,
                          struct gpubind_error *err)
{
    memset(options, 0, sizeof *options);
    options->subcommand = subcommand;
    options->measures = all_words(MEASURE_WORDS);
    options->stream_measures = all_words(STREAM_WORDS);
    options->host_measures = all_words(HOST_WORDS);
    return options_set_presets(&table, 1u << subcommand, options, err);
}

static int take(void *options, const struct option_row *row, const char *value,
                struct gpubind_error *err)
{
    char from[64];

    snprintf(from, sizeof from, "--%s", row->name);
    if (value && !*value)
        return error_set(err, "%s: the value is empty", from);
    return option_set(row, value, from, options, err);
}

/* Scripts may have what drew before gpubind-plot did. */
static int refuse_pictures(int argc, char **argv, struct gpubind_error *err)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--svg") == 0 || strncmp(argv[i], "--svg=", 6) == 0)
            return error_set(err,
                             "--svg: gpubind-plot draws the pictures: gpubind-bench %s --json "
                             ">FILE.json, then gpubind-plot FILE.json -o FILE.svg",
                             argv[0]);
    return 0;
}

static bool names_picture(const char *path)
{
    static const char *const suffixes[] = {".html", ".htm", ".svg", ".png", ".pdf"};
    size_t length = strlen(path);

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t n = strlen(suffixes[i]);

        if (length >= n && strcmp(path + length - n, suffixes[i]) == 0)
            return true;
    }
    return false;
}

/* coll counts in doubles. */
static int check_coll(const struct bench_options *options, struct gpubind_error *err)
{
    for (int i = 0; i < options->nsizes; i++) {
        if (options->sizes[i] % sizeof(double))
            return error_set(err, "--sizes: %zu bytes are no multiple of 8: coll sums doubles",
                             options->sizes[i]);
        if (options->sizes[i] > COLL_MAX_SIZE)
            return error_set(err, "--sizes: %zu bytes are more than 256M, the largest of coll",
                             options->sizes[i]);
    }
    return 0;
}

static int check_options(const struct bench_options *options, struct gpubind_error *err)
{
    if (options->output && names_picture(options->output))
        return error_set(err,
                         "--output: %s would hold JSON: gpubind-plot draws (--output FILE.json, "
                         "then gpubind-plot FILE.json -o FILE.svg, .png or .pdf)",
                         options->output);
    if (options->csv && options->json)
        return error_set(err, "--csv and --json exclude each other");
    if (options->path && options->api == API_MPI && !options->compare)
        return error_set(err, "--path goes with the calls of gpubind.h, not with --api mpi");
    if (options->ceiling == CEILING_PEER && options->buffers != BUFFERS_DD)
        return error_set(err, "--ceiling peer goes with --buffers dd: the copy is from GPU to GPU");
    if (options->ceiling == CEILING_STAGED && options->buffers == BUFFERS_HH)
        return error_set(err, "--ceiling staged needs a GPU: --buffers hh has none");
    return options->subcommand == SUBCOMMAND_COLL ? check_coll(options, err) : 0;
}

int bench_options_read(enum subcommand_id subcommand, int argc, char **argv,
                       struct bench_options *options, struct gpubind_error *err)
{
    char help[64];
    int end;

    snprintf(help, sizeof help, "gpubind-bench %s --help", argv[0]);
    if (bench_options_default(subcommand, options, err) < 0 || refuse_pictures(argc, argv, err) < 0)
        return -1;
    end = options_read_arguments(&table, 1u << subcommand, argc, argv, help, take, options, err);
    if (end < 0)
        return -1;
    if (end < argc)
        return error_set(err, "'%s' is one word too many", argv[end]);
    return check_options(options, err);
}

void bench_options_describe(enum subcommand_id subcommand, struct text *text)
{
    options_describe(&table, 1u << subcommand, text);
}

const char *bench_buffers_word(int buffers)
{
    static const char *const words[] = {"dd", "dh", "hd", "hh"};

    return words[buffers];
}
