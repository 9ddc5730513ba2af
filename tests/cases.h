/* Nodes and jobs to test with: recorded, drawn by hand, random. */
#ifndef GPUBIND_TESTS_CASES_H
#define GPUBIND_TESTS_CASES_H

#include <stdint.h>

#include "core/plan/job.h"
#include "core/plan/plan.h"
#include "core/topo/node.h"

/* A generator of our own, so that a seed means the same everywhere. */
struct dice {
    uint64_t state;
};
uint32_t dice_roll(struct dice *dice);
/* 0 to n - 1. */
int dice_below(struct dice *dice, int n);
bool dice_once_in(struct dice *dice, int n);
/* GPUBIND_TEST_SEED when it is set, else fallback; prints which. */
uint64_t dice_seed(uint64_t fallback);
/* GPUBIND_TEST_CASES when it is set, else fallback. */
int cases_wanted(int fallback);

/* The recorded machines, NULL-terminated paths: tests/machines, and
 * ../shared/topologies where it is there. Lives until the process ends. */
char **machines_list(void);
const char *machine_title(const char *path);
/* Ends the test with a bail-out when the machine cannot be loaded. */
void machine_load(const char *path, struct node *node);

/* A node as in a drawing: npackages packages of numas NUMA nodes of cores cores
 * of smt PUs, and GPU g next to NUMA node gpu_numa[g]. PU p of core c is number
 * c + p * ncores. */
struct drawing {
    int npackages, numas, cores, smt, ngpus;
    const int *gpu_numa;
};
void node_draw(const struct drawing *drawing, struct node *node);
/* Four GPUs on two packages, with UUIDs that begin with GPU-11111111, GPU-22222222, ... */
void node_four(struct node *node);
/* The same; GPU 1 has two instances, GPU 3 has three: positions 0, 1-2, 3, 4-6. 0, or -1. */
int node_four_partitioned(struct node *node);

/* Any node: islands of linked GPUs, GPUs near a NUMA node, a package or all. */
void node_random(struct dice *dice, struct node *node);

/* All ranks may use all CPUs; rank numbers are the local ones. */
void job_unbound(const struct node *node, int nranks, struct job *job);

/* How a launcher bound the ranks. */
enum binding {
    BOUND_NOT,
    BOUND_CORES,    /* rank r to core r, round the machine */
    BOUND_REVERSED, /* the same from the last core on */
    BOUND_NUMAS,    /* rank r to NUMA node r, round */
    BOUND_PACKAGES,
    BOUND_ONE_PLACE, /* all to the last NUMA node */
    BOUND_RANDOM,    /* each to a random core, NUMA node or package, some not */
    BOUND_HOWS
};
const char *binding_name(enum binding how);
void job_bind(struct dice *dice, const struct node *node, enum binding how, struct job *job);

#endif
