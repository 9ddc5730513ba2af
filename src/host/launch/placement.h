/* From the facts about a node's ranks to the node's plan. */
#ifndef GPUBIND_HOST_LAUNCH_PLACEMENT_H
#define GPUBIND_HOST_LAUNCH_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/env/render_env.h"
#include "core/plan/job.h"
#include "core/plan/plan.h"
#include "core/topo/node.h"
#include "host/discover/topology.h"
#include "host/launch/binding_policy.h"
#include "host/launch/node_rendezvous.h"

/* What the user asked for, the same for all ranks of a node. */
#define RULES_MAX_MASTERS 256
struct rules {
    struct policy policy; /* without the map */
    const char *map;      /* "0,1" or "@FILE", NULL: none */
    const char *topology; /* hwloc XML, NULL: this machine */
    int nmasters;
    int masters[RULES_MAX_MASTERS];
};

/* Whether all masters are ranks of a job of this size. */
int rules_check_masters(const struct rules *rules, int size, struct gpubind_error *err);

/* How --report says who got what. */
enum report_form { REPORT_TABLE = 1, REPORT_JSON = 2 };

/* Room for the placement options that a rank was given. */
#define FACTS_GIVEN 368

/* What the leader needs to know of one rank; sent between processes of one build as it is, with the
 * values of visible behind it. */
struct facts {
    char version[24];
    int rank, local;
    bool unnumbered;           /* local is to follow from the order of ranks */
    uint64_t rules_digest;     /* 0: no placement options were given */
    char given[FACTS_GIVEN];   /* them by options_say; empty, too, where they do not fit */
    struct idset cpus;         /* that it may use; empty: all of the node */
    struct idset allowed_cpus; /* before its launcher bound it */
    enum binding_origin binding;
    struct idset minors; /* of the NVIDIA devices that it may open */
    struct prefs prefs;
    int report; /* bits of enum report_form */
    bool verbose;
    bool mps;               /* asks for an MPS server */
    bool has_memory_policy; /* one was set before gpubind ran */
    bool planned;           /* the plugin planned for the rank already ... */
    bool planned_master;
    uint64_t planned_hash;   /* ... a plan with this hash ... */
    char planned_gpus[4096]; /* ... in which these GPUs are the rank's; "": none */
    char failure[512];       /* why the rank cannot go on; "": it can */
    char unknown[1024];      /* a line for each variable that looks like gpubind's and is not */
    bool has_visible[VISIBLE_VARIABLES];    /* visible_variable is set ... */
    const char *visible[VISIBLE_VARIABLES]; /* ... to this, which somebody else owns */
};

/* A GPU that ranks of other jobs have. */
struct taken {
    char pci[24], uuid[96]; /* as in struct gpu */
    int part;
    int ranks;
};

struct placement {
    struct node node;
    const struct taken *taken; /* the caller's; ntaken of them */
    int ntaken;
    struct policy policy; /* with the map */
    struct job job;
    struct plan plan;
};

/* What this process may see and use. visible points to the environment. */
int facts_read(const struct world *world, struct facts *facts, struct gpubind_error *err);

/* The message that a rank sends, which the caller frees. Fails where visible is too long for one. */
int facts_pack(const struct facts *facts, struct rendezvous_message *message,
               struct gpubind_error *err);

/* bytes, aligned as malloc aligns them, are the message of a rank that runs this version.
 * Nothing else may be done with them before; then they begin with its struct facts, but for
 * visible. */
int facts_check(const void *bytes, size_t size, struct gpubind_error *err);

/* The facts of a message that was checked. visible points into it. */
void facts_unpack(const struct rendezvous_message *message, struct facts *facts);

/* Says in what the placement options of two ranks differ. Returns -1. */
int facts_refuse_difference(const struct facts *a, const struct facts *b,
                            struct gpubind_error *err);

/* Loads the node. The caller clears, also after a failure. */
int placement_load(struct placement *placement, const struct rules *rules, const char *topology,
                   struct gpubind_error *err);

/* Leaves of the node what a plan for this process alone would see. Sentences worth
 * saying are added to notes. */
int placement_see(struct placement *placement, const struct facts *here, struct text *notes,
                  struct gpubind_error *err);

/* The same of a node that was loaded already. */
int placement_copy(struct placement *placement, const struct node *node, struct gpubind_error *err);

/* Plans for the ranks of facts, in any order. Sentences worth saying
 * once a node are added to notes. */
int placement_make(struct placement *placement, const struct rules *rules,
                   const struct facts *facts, int n, struct text *notes, struct gpubind_error *err);

void placement_clear(struct placement *placement);

/* Reads --map, the GPUs to use in this order, into nmap and map. text is a list of indices, PCI
 * addresses and UUIDs, or "@FILE": such a list over any number of lines, '#' begins a comment. */
int map_read(const struct node *node, const char *text, struct policy *policy,
             struct gpubind_error *err);

#endif
