#include "tests/cases.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/discover/topology.h"

/* xorshift64* (Vigna). */
uint32_t dice_roll(struct dice *dice)
{
    dice->state ^= dice->state >> 12;
    dice->state ^= dice->state << 25;
    dice->state ^= dice->state >> 27;
    return (uint32_t)(dice->state * UINT64_C(2685821657736338717) >> 32);
}

int dice_below(struct dice *dice, int n)
{
    return (int)(dice_roll(dice) % (uint32_t)n);
}

bool dice_once_in(struct dice *dice, int n)
{
    return dice_below(dice, n) == 0;
}

uint64_t dice_seed(uint64_t fallback)
{
    const char *text = getenv("GPUBIND_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : fallback;

    seed = seed ? seed : 1;
    printf("# GPUBIND_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

int cases_wanted(int fallback)
{
    const char *text = getenv("GPUBIND_TEST_CASES");
    int n = text ? atoi(text) : 0;

    return n > 0 ? n : fallback;
}

char **machines_list(void)
{
    static glob_t found;
    const char *top = getenv("top_srcdir");
    char pattern[4096];

    top = top ? top : "..";
    snprintf(pattern, sizeof pattern, "%s/tests/machines/*.xml", top);
    glob(pattern, 0, NULL, &found);
    snprintf(pattern, sizeof pattern, "%s/../shared/topologies/*.xml", top);
    glob(pattern, GLOB_APPEND, NULL, &found);
    if (found.gl_pathc == 0) {
        printf("Bail out! no machines below %s: set top_srcdir\n", top);
        exit(1);
    }
    return found.gl_pathv;
}

const char *machine_title(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void must(int status, const struct gpubind_error *err)
{
    if (status == 0)
        return;
    printf("Bail out! %s\n", err->text);
    exit(1);
}

void machine_load(const char *path, struct node *node)
{
    struct gpubind_error err;

    must(topology_load(path, false, node, &err), &err);
}

static void draw_cores(const struct drawing *d, struct node *node)
{
    for (int c = 0; c < node->ncores; c++) {
        struct core *core = &node->cores[c];

        core->npus = d->smt;
        for (int p = 0; p < d->smt; p++)
            core->pu[p] = c + p * node->ncores;
        core->numa = core->numa_domain = core->l3 = c / d->cores;
        core->package = core->numa / d->numas;
    }
}

static void name_gpus(struct node *node)
{
    for (int g = 0; g < node->ngpus; g++) {
        struct gpu *gpu = &node->gpus[g];

        gpu->minor = gpu->vendor_index = -1;
        snprintf(gpu->pci, sizeof gpu->pci, "0000:%02x:00.0", 16 + g);
        snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%08x-0000-4000-8000-%012x",
                 (unsigned)(g + 1) * 0x11111111u, (unsigned)g);
    }
    node_number(node);
}

static int common_distance(const struct node *node, int gpu, const struct idset *near)
{
    int best = 3;

    for (int c = idset_next(near, -1); c >= 0; c = idset_next(near, c))
        if (node_distance(node, gpu, c) < best)
            best = node_distance(node, gpu, c);
    return best;
}

static void measure(struct node *node)
{
    node_locate(node);
    for (int a = 0; a < node->ngpus; a++) {
        for (int b = 0; b < node->ngpus; b++)
            node->gpu_hops[a * node->ngpus + b] = a == b ? 0
                                                         : 64 + (unsigned)common_distance(
                                                                    node, a, &node->gpus[b].cores);
        for (int n = 0; n < node->nnics; n++)
            node->nic_hops[a * node->nnics + n] = 64 + (unsigned)common_distance(
                                                           node, a, &node->nics[n].cores);
    }
}

/* level: 0 a NUMA node, 1 its package, 2 the machine, 3 every other core of the
 * NUMA node. */
static void put_near(const struct node *node, int numa, int package, int level, struct idset *near)
{
    int first = 0;

    while (node->cores[first].numa != numa)
        first++;
    for (int c = 0; c < node->ncores; c++)
        if (level == 2 || (level == 1 && node->cores[c].package == package) ||
            (level == 0 && node->cores[c].numa == numa) ||
            (level == 3 && node->cores[c].numa == numa && (c - first) % 2 == 0))
            idset_add(near, c);
}

void node_draw(const struct drawing *d, struct node *node)
{
    struct gpubind_error err;

    must(node_make(node, d->npackages * d->numas * d->cores, d->ngpus, 0, &err), &err);
    snprintf(node->name, sizeof node->name, "drawn");
    draw_cores(d, node);
    name_gpus(node);
    for (int g = 0; g < d->ngpus; g++)
        put_near(node, d->gpu_numa[g], 0, 0, &node->gpus[g].cores);
    measure(node);
}

void node_four(struct node *node)
{
    static const int numa[] = {0, 0, 1, 1};
    const struct drawing drawing = {2, 1, 4, 1, 4, numa};

    node_draw(&drawing, node);
}

int node_four_partitioned(struct node *node)
{
    char one[2][96] = {"MIG-aaaaaaaa-1", "MIG-bbbbbbbb-2"};
    char three[3][96] = {"MIG-GPU-44444444/1/0", "MIG-GPU-44444444/2/0", "MIG-cccccccc-5"};
    int status;

    node_four(node);
    status = node_partition(node, 3, three, 3, NULL);
    if (status == 0)
        status = node_partition(node, 1, one, 2, NULL);
    node_number(node);
    return status;
}

static void link_islands(struct dice *dice, struct node *node)
{
    int islands = 1 + dice_below(dice, 3), of[NODE_MAX_GPUS];

    for (int g = 0; g < node->ngpus; g++)
        of[g] = dice_below(dice, islands);
    for (int a = 0; a < node->ngpus; a++)
        for (int b = 0; b < node->ngpus; b++)
            node->link[a * node->ngpus + b] = a != b && of[a] == of[b] ? 50000 : 0;
}

void node_random(struct dice *dice, struct node *node)
{
    struct drawing d = {.npackages = 1 + dice_below(dice, 3),
                        .numas = 1 + dice_below(dice, 3),
                        .cores = 1 + dice_below(dice, 5),
                        .smt = 1 + dice_below(dice, 2)};
    int nnumas = d.npackages * d.numas, level = dice_below(dice, 5);
    struct gpubind_error err;

    d.ngpus = dice_once_in(dice, 20) ? 0 : 1 + dice_below(dice, dice_once_in(dice, 8) ? 16 : 8);
    must(node_make(node, nnumas * d.cores, d.ngpus, dice_below(dice, 4), &err), &err);
    snprintf(node->name, sizeof node->name, "random");
    draw_cores(&d, node);
    name_gpus(node);
    for (int g = 0; g < node->ngpus; g++) {
        int numa = dice_below(dice, nnumas);

        put_near(node, numa, numa / d.numas, level == 4 ? dice_below(dice, 4) : level,
                 &node->gpus[g].cores);
    }
    for (int n = 0; n < node->nnics; n++) {
        snprintf(node->nics[n].name, sizeof node->nics[n].name, "mlx5_%d", n);
        put_near(node, dice_below(dice, nnumas), 0, 0, &node->nics[n].cores);
    }
    measure(node);
    if (dice_once_in(dice, 2))
        link_islands(dice, node);
}

void job_unbound(const struct node *node, int nranks, struct job *job)
{
    struct gpubind_error err;

    must(job_make(job, nranks, &err), &err);
    for (int r = 0; r < nranks; r++) {
        job->ranks[r].rank = job->ranks[r].local = r;
        node_pus(node, &job->ranks[r].cpus);
    }
}

const char *binding_name(enum binding how)
{
    static const char *const names[] = {
        "not bound",         "bound to cores",   "bound in reverse", "bound to NUMA nodes",
        "bound to packages", "all in one place", "bound at random"};

    return names[how];
}

/* Binds to everything that core shares: 0 the core, 1 its NUMA node, 2 its package. */
static void bind_around(const struct node *node, int core, int level, struct idset *cpus)
{
    const struct core *at = &node->cores[core];

    idset_clear(cpus);
    for (int c = 0; c < node->ncores; c++) {
        const struct core *other = &node->cores[c];

        if (c == core || (level == 1 && other->numa == at->numa) ||
            (level == 2 && other->package == at->package))
            for (int p = 0; p < other->npus; p++)
                idset_add(cpus, other->pu[p]);
    }
}

/* The first core of the nth (modulo their number) NUMA node or package. */
static int nth_place(const struct node *node, int nth, bool packages)
{
    int starts[IDSET_MAX], n = 0;

    for (int c = 0; c < node->ncores; c++) {
        const struct core *core = &node->cores[c], *before = &node->cores[c ? c - 1 : 0];

        if (c == 0 || (packages ? core->package != before->package : core->numa != before->numa))
            starts[n++] = c;
    }
    return starts[nth % n];
}

void job_bind(struct dice *dice, const struct node *node, enum binding how, struct job *job)
{
    int last = node->ncores - 1;

    for (int r = 0; r < job->nranks; r++) {
        struct idset *cpus = &job->ranks[r].cpus;

        if (how == BOUND_CORES)
            bind_around(node, r % node->ncores, 0, cpus);
        else if (how == BOUND_REVERSED)
            bind_around(node, last - r % node->ncores, 0, cpus);
        else if (how == BOUND_NUMAS)
            bind_around(node, nth_place(node, r, false), 1, cpus);
        else if (how == BOUND_PACKAGES)
            bind_around(node, nth_place(node, r, true), 2, cpus);
        else if (how == BOUND_ONE_PLACE)
            bind_around(node, last, 1, cpus);
        else if (how == BOUND_RANDOM && !dice_once_in(dice, 5))
            bind_around(node, dice_below(dice, node->ncores), dice_below(dice, 3), cpus);
    }
}
