/* One node as placement sees it: cores, GPUs, NICs and how far apart they are.
 *
 * Cores, GPUs and NICs are named by their position in the node's arrays. Cores
 * stand in topology order; GPUs and NICs in the order of their PCI addresses,
 * the instances of a partitioned (MIG) GPU one after the other in its place. */
#ifndef GPUBIND_CORE_TOPO_NODE_H
#define GPUBIND_CORE_TOPO_NODE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/idset.h"

#define NODE_MAX_SMT 8
#define NODE_MAX_GPUS 1024
#define NODE_MAX_NICS 4096
#define NODE_NAME_SIZE 256

struct core {
    int npus;
    int pu[NODE_MAX_SMT]; /* operating system numbers of the allowed PUs */
    int l3;               /* logical number, -1 where there is none */
    int numa;             /* operating system number of the nearest memory */
    int numa_domain;      /* cores of one NUMA node, or of one part of the machine that
                             has no memory of its own, have the same number */
    int package;          /* logical number */
    bool withheld;        /* NUMA-local to a GPU that no rank of the job may use */
};

enum gpu_vendor { GPU_NVIDIA, GPU_AMD, GPU_INTEL };

/* Level Zero's numbers: of the card, and of the tile when tiles are counted; -1
 * unknown. */
struct ze_number {
    int card, tile;
};

struct gpu {
    enum gpu_vendor vendor;
    char pci[24];           /* "0000:3b:00.0" */
    char uuid[96];          /* "" when it cannot be read; a MIG instance's own */
    char model[64];         /* "" when unknown */
    int index;              /* for display and for indices in VISIBLE_DEVICES: the
                           number among the GPUs that can be opened, PCI order */
    int minor;              /* of /dev/nvidiaN, -1 unknown */
    int vendor_index;       /* the number in its vendor's own order, -1 unknown; not Intel's */
    int card;               /* like index, but the parts of one card have one number */
    int part;               /* which instance or tile of its card, -1: all of it */
    bool mig;               /* an instance of a partitioned GPU */
    struct ze_number ze[2]; /* Intel: in Level Zero's order, and by PCI address */
    char card_uuid[96];     /* of the GPU that it is an instance of; "" unknown */
    struct idset cores;     /* positions of the nearest cores; all when unknown */
    int numa;               /* of those cores when they share one, else -1 */
    int numa_domain;        /* likewise */
    int package;            /* likewise */
};

struct nic {
    char name[32]; /* the name UCX, NCCL and libfabric use: "mlx5_0" */
    int port;      /* its first active one; 0: it has none */
    char pci[24];
    struct idset cores;
};

struct node {
    char name[NODE_NAME_SIZE];
    bool recorded;         /* from a file: nothing can be bound on this machine */
    char nvml_failure[96]; /* NVML was asked and hung or crashed: how; else "" */
    int ncores, ngpus, nnics;
    int nhidden; /* GPUs of the machine that the driver does not list here, not among gpus */
    struct core *cores;
    struct gpu *gpus;
    struct nic *nics;
    /* ngpus * ngpus: bandwidth of the direct GPU link (NVLink, XGMI) in MB/s,
     * 0 where there is none. */
    unsigned *link;
    /* ngpus * ngpus and ngpus * nnics: steps to the common ancestor; below 64
     * inside one PCI hierarchy (from 32 on this is its host bridge), from 64 on
     * through the CPUs (64 same locality, 65 same NUMA node, 66 same package, 67
     * anything else). */
    unsigned *gpu_hops;
    unsigned *nic_hops;
};

/* Allocates the arrays, zeroed. Returns -1 when there is no memory or a count is
 * out of bounds; the node is then empty. */
int node_make(struct node *node, int ncores, int ngpus, int nnics, struct gpubind_error *err);
void node_clear(struct node *node);

/* The copy is the caller's to clear; empty on failure. */
int node_copy(const struct node *from, struct node *to, struct gpubind_error *err);

/* Fills numa, numa_domain and package of every GPU from its cores. */
void node_locate(struct node *node);

/* Numbers the GPUs and their cards as they stand: index becomes the position. */
void node_number(struct node *node);

/* How far a GPU is from a core: 0 among its nearest cores, 1 in the same NUMA
 * node, 2 in the same package, 3 elsewhere. NUMA-local means at most 1. */
int node_distance(const struct node *node, int gpu, int core);

/* All allowed PUs of the node. */
void node_pus(const struct node *node, struct idset *pus);

/* Keeps only the PUs in `allowed`; cores that lose all are dropped. */
int node_restrict(struct node *node, const struct idset *allowed, struct gpubind_error *err);

/* Marks the cores near GPUs that are others': those whose flag is not set; flags has ngpus
 * entries. */
void node_withhold(struct node *node, const bool *flags);

/* Keeps the GPUs whose flag is set; flags has ngpus entries. */
void node_keep_gpus(struct node *node, const bool *flags);

/* Replaces the GPU at this position by its parts, which are as it is but for part. */
int node_split(struct node *node, int gpu, int nparts, struct gpubind_error *err);

/* The same for its instances, named by their UUIDs. */
int node_partition(struct node *node, int gpu, char (*uuids)[96], int ninstances,
                   struct gpubind_error *err);

/* Position of the GPU that text names (index, PCI address, UUID or a beginning
 * of a UUID that fits one GPU only; for part N of a card, CARD:N with the card's
 * number, PCI address or UUID); -1 with a sentence that lists those that exist. */
int node_find_gpu(const struct node *node, const char *text, struct gpubind_error *err);

#endif
