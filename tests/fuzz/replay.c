/* All targets on their kept inputs, and on inputs made of pieces of them: a test of its
 * own, and what the fuzzer has found stays found. `replay TARGET FILE` runs one input. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/pmix/plugin_file.h"
#include "tests/cases.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

#define LONGEST 65536
#define LIMIT_S 120

struct kept {
    char name[64];
    char *bytes;
    size_t size;
};

/* What the process that runs a target is at, seen by the one that waits. */
static struct attempt {
    char name[64];
    size_t size;
    char bytes[LONGEST];
} * attempt;

static int choose(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int read_corpus(const char *target, struct kept **corpus)
{
    const char *top = getenv("top_srcdir");
    char path[4096];
    struct dirent **entries;
    int n;

    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s", top ? top : "..", target);
    n = scandir(path, &entries, choose, alphasort);
    *corpus = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof **corpus);
    for (int i = 0; i < n; i++) {
        struct kept *kept = *corpus + i;

        snprintf(kept->name, sizeof kept->name, "%.63s", entries[i]->d_name);
        snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s/%s", top ? top : "..", target,
                 entries[i]->d_name);
        kept->bytes = plugin_file_bytes(path, &kept->size);
        if (!kept->bytes || kept->size > LONGEST) {
            printf("Bail out! %s: %s\n", path, kept->bytes ? "too long" : strerror(errno));
            exit(1);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return n;
}

static void try_input(const struct fuzz_target *target, const char *name, const char *bytes,
                      size_t size)
{
    char *copy = malloc(size + 1);

    snprintf(attempt->name, sizeof attempt->name, "%s", name);
    memcpy(attempt->bytes, bytes, size);
    attempt->size = size;
    /* In no more memory than it needs. */
    memcpy(copy, bytes, size);
    copy = realloc(copy, size ? size : 1);
    target->run(copy, size);
    free(copy);
}

static void add_piece(struct dice *dice, const struct kept *from, char *bytes, size_t *size)
{
    size_t at = from->size ? (size_t)dice_below(dice, (int)from->size) : 0;
    size_t n = (size_t)dice_below(dice, dice_once_in(dice, 3) ? (int)from->size + 1 : 24);

    at = dice_once_in(dice, 3) ? 0 : at;
    n = n > from->size - at ? from->size - at : n;
    n = n > LONGEST - *size ? LONGEST - *size : n;
    memcpy(bytes + *size, from->bytes + at, n);
    *size += n;
}

/* Pieces of kept inputs one behind the other, and a few other bytes. */
static size_t splice(struct dice *dice, const struct kept *corpus, int n, char *bytes)
{
    size_t size = 0;

    for (int pieces = 1 + dice_below(dice, 5); pieces > 0; pieces--)
        add_piece(dice, &corpus[dice_below(dice, n)], bytes, &size);
    for (int changes = dice_below(dice, 4); size && changes > 0; changes--)
        bytes[dice_below(dice, (int)size)] = (char)dice_below(dice, 256);
    return size;
}

static void try_mutant(struct dice *dice, const struct fuzz_target *target,
                       const struct kept *corpus, int n)
{
    static char bytes[LONGEST];
    const struct kept *kept = &corpus[dice_below(dice, n)];
    size_t size = kept->size;

    if (strcmp(target->name, "xml") == 0 && !dice_once_in(dice, 4)) {
        memcpy(bytes, kept->bytes, size);
        size = fuzz_mutate_xml(bytes, size, sizeof bytes, dice_roll(dice));
    } else {
        size = splice(dice, corpus, n, bytes);
    }
    try_input(target, "a mutant", bytes, size);
}

static void show_attempt(void)
{
    tap_diag("%s, %zu bytes:", attempt->name, attempt->size);
    printf("# ");
    for (size_t i = 0; i < attempt->size && i < 1000; i++)
        printf(attempt->bytes[i] > ' ' && attempt->bytes[i] < 127 ? "%c" : "\\x%02x",
               (unsigned char)attempt->bytes[i]);
    printf("\n");
}

static void run_target(const struct fuzz_target *target, uint64_t seed, int mutants)
{
    struct kept *corpus;
    int n = read_corpus(target->name, &corpus), status = -1;
    pid_t child;

    if (strcmp(target->name, "xml") == 0)
        mutants /= 10; /* hwloc is slow */
    attempt->name[0] = '\0';
    fflush(stdout);
    child = n > 0 ? fork() : -1;
    if (child == 0) {
        struct dice dice = {seed};

        alarm(LIMIT_S);
        for (int i = 0; i < n; i++)
            try_input(target, corpus[i].name, corpus[i].bytes, corpus[i].size);
        for (int i = 0; i < mutants; i++)
            try_mutant(&dice, target, corpus, n);
        exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!tap_ok(status == 0, "%s: %d kept inputs, %d mutants", target->name, n, mutants))
        show_attempt();
    for (int i = 0; i < n; i++)
        free(corpus[i].bytes);
    free(corpus);
}

static int run_file(const char *name, const char *path)
{
    const struct fuzz_target *target = fuzz_find(name);
    size_t size;
    char *bytes = plugin_file_bytes(path, &size);

    if (!target || !bytes || size > LONGEST) {
        fprintf(stderr, "usage: replay [TARGET FILE]\n");
        return 2;
    }
    try_input(target, path, bytes, size);
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t seed;
    int mutants;

    attempt = mmap(NULL, sizeof *attempt, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0);
    if (attempt == MAP_FAILED)
        return 1;
    if (argc == 3)
        return run_file(argv[1], argv[2]);
    seed = dice_seed(5);
    mutants = cases_wanted(2000);
    for (int t = 0; t < fuzz_ntargets; t++)
        run_target(&fuzz_targets[t], seed, mutants);
    return tap_done();
}
