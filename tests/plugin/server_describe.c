/* What a daemon tells PMIx about a namespace. Open MPI 4.1's orted, PRRTE's prted and
 * Slurm's mpi/pmix differ in what they leave out, in types, and in where they put it;
 * seen with Open MPI 4.1.4 and in the public sources of the three. */
#include <stdlib.h>
#include <string.h>

#include "tests/plugin/server.h"

#define ABOUT_JOB 40  /* keys of the job, at most */
#define ABOUT_PART 16 /* keys of one node, application or rank, at most */

static bool is_like(const struct nspace *nspace, const char *daemon)
{
    return strcmp(nspace->like, daemon) == 0;
}

/* elsewhere-a, elsewhere-b ... elsewhere-ba: PMIx 4.2 shortens a list of names by the
 * numbers in them, and puts names out of their order where other names lie between. */
static void node_name(const struct nspace *nspace, uint32_t node, char name[256])
{
    char letters[8];
    size_t at = sizeof letters - 1;

    if (node == nspace->here) {
        snprintf(name, 256, "%s", nspace->hostname);
        return;
    }
    letters[at] = '\0';
    do {
        letters[--at] = (char)('a' + node % 26);
        node /= 26;
    } while (node && at);
    snprintf(name, 256, "elsewhere-%s", letters + at);
}

/* "0,1,2": the ranks on a node. The caller frees it. */
static char *node_ranks(const struct nspace *nspace, uint32_t node)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    const char *comma = "";

    if (!stream)
        abort();
    for (uint32_t rank = 0; rank < nspace->size; rank++) {
        if (nspace->node_of[rank] != node)
            continue;
        fprintf(stream, "%s%u", comma, rank);
        comma = ",";
    }
    fclose(stream);
    return text;
}

static uint32_t node_count(const struct nspace *nspace, uint32_t node, uint32_t *lowest)
{
    uint32_t count = 0;

    for (uint32_t rank = 0; rank < nspace->size; rank++)
        if (nspace->node_of[rank] == node && count++ == 0)
            *lowest = rank;
    return count;
}

/* A short map is text, a long one is compressed and may hold zeros. */
static void add_map(struct infos *infos, const char *key, const char *map, bool as_string)
{
    bool text = as_string && strncmp(map, "blob", 4) != 0;

    infos_add(infos, key, map, text ? PMIX_STRING : PMIX_REGEX);
}

static pmix_status_t add_maps(const struct nspace *nspace, struct infos *infos, bool as_string)
{
    char *names = NULL, *ranks = NULL, *map = NULL;
    size_t names_size, ranks_size;
    FILE *to_names = open_memstream(&names, &names_size);
    FILE *to_ranks = open_memstream(&ranks, &ranks_size);
    pmix_status_t status;

    for (uint32_t node = 0; node < nspace->nnodes; node++) {
        char name[256], *list = node_ranks(nspace, node);

        node_name(nspace, node, name);
        fprintf(to_names, "%s%s", node ? "," : "", name);
        fprintf(to_ranks, "%s%s", node ? ";" : "", list);
        free(list);
    }
    fclose(to_names);
    fclose(to_ranks);
    status = PMIx_generate_regex(names, &map);
    if (status == PMIX_SUCCESS) {
        add_map(infos, PMIX_NODE_MAP, map, as_string);
        free(map);
        status = PMIx_generate_ppn(ranks, &map);
    }
    if (status == PMIX_SUCCESS) {
        add_map(infos, PMIX_PROC_MAP, map, as_string);
        free(map);
    }
    free(names);
    free(ranks);
    return status;
}

static void add_node(const struct nspace *nspace, struct infos *infos, uint32_t node,
                     pmix_data_type_t leader_type)
{
    uint32_t lowest = 0, count = node_count(nspace, node, &lowest);
    char *peers = node_ranks(nspace, node);

    infos_add_number(infos, PMIX_NODE_SIZE, node == nspace->here ? nspace->noderank + count : count,
                     PMIX_UINT32);
    infos_add_number(infos, PMIX_LOCAL_SIZE, count, PMIX_UINT32);
    infos_add_number(infos, PMIX_LOCALLDR, lowest, leader_type);
    if (count)
        infos_add(infos, PMIX_LOCAL_PEERS, peers, PMIX_STRING);
    free(peers);
}

/* prted has an array for each node; the others tell of this node alone, with the job. */
static void add_nodes(const struct nspace *nspace, struct infos *infos)
{
    if (!is_like(nspace, "prrte")) {
        if (is_like(nspace, "slurm"))
            infos_add_number(infos, PMIX_NODEID, nspace->here, PMIX_UINT32);
        add_node(nspace, infos, nspace->here,
                 is_like(nspace, "slurm") ? PMIX_UINT32 : PMIX_PROC_RANK);
        return;
    }
    for (uint32_t node = 0; node < nspace->nnodes; node++) {
        struct infos part;
        char name[256];

        infos_make(&part, ABOUT_PART, nspace->omit);
        node_name(nspace, node, name);
        infos_add(&part, PMIX_HOSTNAME, name, PMIX_STRING);
        infos_add_number(&part, PMIX_NODEID, node, PMIX_UINT32);
        add_node(nspace, &part, node, PMIX_PROC_RANK);
        infos_add_array(infos, PMIX_NODE_INFO_ARRAY, &part);
    }
}

static void add_apps(const struct nspace *nspace, struct infos *infos)
{
    for (uint32_t app = 0; app < nspace->napps; app++) {
        uint32_t size = 0, leader = 0;
        struct infos part;

        for (uint32_t rank = 0; rank < nspace->size; rank++)
            if (nspace->app_of[rank] == app && size++ == 0)
                leader = rank;
        infos_make(&part, ABOUT_PART, nspace->omit);
        infos_add_number(&part, PMIX_APPNUM, app, PMIX_UINT32);
        infos_add_number(&part, PMIX_APP_SIZE, size, PMIX_UINT32);
        infos_add_number(&part, PMIX_APPLDR, leader, PMIX_PROC_RANK);
        infos_add_array(infos, PMIX_APP_INFO_ARRAY, &part);
    }
}

/* The local rank of each rank, in the order of ranks on its node. */
static uint32_t *local_ranks(const struct nspace *nspace)
{
    uint32_t *local = calloc(nspace->size + 1, sizeof *local);
    uint32_t *next = calloc(nspace->nnodes + 1, sizeof *next);

    if (!local || !next)
        abort();
    for (uint32_t rank = 0; rank < nspace->size; rank++)
        local[rank] = next[nspace->node_of[rank]]++;
    free(next);
    return local;
}

/* orted calls an unbound rank's place "(null)", and has no cpuset for it. */
static void add_place(const struct nspace *nspace, struct infos *part, uint32_t local)
{
    char cpuset[1024];

    if (nspace->cpusets && word_part(nspace->cpusets, ';', local, cpuset, sizeof cpuset) &&
        strcmp(cpuset, "-") != 0)
        infos_add(part, PMIX_CPUSET, cpuset, PMIX_STRING);
    else if (!is_like(nspace, "slurm"))
        infos_add(part, PMIX_LOCALITY_STRING, "(null)", PMIX_STRING);
}

/* Slurm knows of one application, and tells local ranks of this node alone. */
static void add_order(const struct nspace *nspace, struct infos *part, uint32_t rank,
                      uint32_t local)
{
    bool slurm = is_like(nspace, "slurm"), here = nspace->node_of[rank] == nspace->here;

    infos_add_number(part, PMIX_GLOBAL_RANK, rank, slurm ? PMIX_UINT32 : PMIX_PROC_RANK);
    if (slurm) {
        infos_add_number(part, PMIX_APPNUM, 0, PMIX_INT);
        infos_add_number(part, PMIX_APPLDR, 0, PMIX_INT);
    } else if (nspace->napps > 1) {
        infos_add_number(part, PMIX_APPNUM, nspace->app_of[rank], PMIX_UINT32);
    }
    if (slurm && !here)
        return;
    infos_add_number(part, PMIX_LOCAL_RANK, local, PMIX_UINT16);
    infos_add_number(part, PMIX_NODE_RANK, here ? nspace->noderank + local : local, PMIX_UINT16);
}

static void add_ranks(const struct nspace *nspace, struct infos *infos)
{
    uint32_t *local = local_ranks(nspace);

    for (uint32_t rank = 0; rank < nspace->size; rank++) {
        struct infos part;
        char name[256];

        infos_make(&part, ABOUT_PART, nspace->omit);
        infos_add_number(&part, PMIX_RANK, rank, PMIX_PROC_RANK); /* has to be the first */
        if (nspace->node_of[rank] == nspace->here)
            add_place(nspace, &part, local[rank]);
        add_order(nspace, &part, rank, local[rank]);
        infos_add_number(&part, PMIX_NODEID, nspace->node_of[rank], PMIX_UINT32);
        node_name(nspace, nspace->node_of[rank], name);
        infos_add(&part, PMIX_HOSTNAME, name, PMIX_STRING);
        infos_add_array(infos, PMIX_PROC_INFO_ARRAY, &part);
    }
    free(local);
}

static void add_sizes(const struct nspace *nspace, struct infos *infos)
{
    infos_add(infos, PMIX_JOBID, nspace->name, PMIX_STRING);
    infos_add_number(infos, PMIX_UNIV_SIZE, nspace->size, PMIX_UINT32);
    infos_add_number(infos, PMIX_JOB_SIZE, nspace->size, PMIX_UINT32);
    infos_add_number(infos, PMIX_MAX_PROCS, nspace->size, PMIX_UINT32);
    if (is_like(nspace, "slurm"))
        return;
    infos_add_number(infos, PMIX_NUM_NODES, nspace->nnodes, PMIX_UINT32);
    infos_add_number(infos, PMIX_JOB_NUM_APPS, nspace->napps, PMIX_UINT32);
}

static void add_parent(const struct nspace *nspace, struct infos *infos)
{
    bool spawned = nspace->parent.nspace[0] != '\0';

    if (spawned || is_like(nspace, "slurm"))
        infos_add(infos, PMIX_SPAWNED, &spawned, PMIX_BOOL);
    if (spawned)
        infos_add(infos, PMIX_PARENT_ID, &nspace->parent, PMIX_PROC);
}

/* KEY:TEXT;KEY:TEXT: what the script adds to the job, right or wrong. */
static void add_given(const struct nspace *nspace, struct infos *infos)
{
    char part[1024];

    for (size_t i = 0; nspace->give && word_part(nspace->give, ';', i, part, sizeof part); i++) {
        char *colon = strchr(part, ':');

        if (!colon)
            continue;
        *colon = '\0';
        infos_add(infos, key_text(part), colon + 1, PMIX_STRING);
    }
}

pmix_status_t nspace_describe(const struct nspace *nspace, struct infos *infos)
{
    pmix_status_t status;

    infos_make(infos, (size_t)ABOUT_JOB + nspace->size + nspace->nnodes + nspace->napps,
               nspace->omit);
    add_sizes(nspace, infos);
    status = add_maps(nspace, infos, is_like(nspace, "slurm"));
    add_nodes(nspace, infos);
    if (!is_like(nspace, "slurm"))
        add_apps(nspace, infos);
    add_ranks(nspace, infos);
    add_parent(nspace, infos);
    infos->omit = NULL;
    add_given(nspace, infos);
    return status;
}
