/* Reads a job from PMIx's server, and publishes the devices of its ranks there. */
#include "plugin/job_info.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <src/mca/gds/gds.h>

#include "core/plan/job.h"

/* Converts a key's value; a value of another type counts as none. */
static bool read_number(const pmix_value_t *value, void *into)
{
    long number = -1;

    if (value->type == PMIX_UINT16)
        number = value->data.uint16;
    else if (value->type == PMIX_UINT32)
        number = value->data.uint32;
    else if (value->type == PMIX_PROC_RANK)
        number = value->data.rank;
    else if (value->type == PMIX_INT)
        number = value->data.integer;
    else if (value->type == PMIX_SIZE && value->data.size <= INT_MAX)
        number = (long)value->data.size;
    if (number < 0 || number > INT_MAX)
        return false;
    *(int *)into = (int)number;
    return true;
}

static bool read_bool(const pmix_value_t *value, void *into)
{
    *(bool *)into = value->type == PMIX_BOOL ? value->data.flag : value->type == PMIX_UNDEF;
    return true;
}

static bool read_string(const pmix_value_t *value, void *into)
{
    char **text = into;

    if (value->type != PMIX_STRING || !value->data.string)
        return false;
    *text = strdup(value->data.string);
    return *text != NULL;
}

static bool read_host(const pmix_value_t *value, void *into)
{
    if (value->type != PMIX_STRING || !value->data.string)
        return false;
    snprintf(into, sizeof((struct job_info *)NULL)->host, "%s", value->data.string);
    return true;
}

/* "0-3", perhaps as "hwloc:0-3". */
static bool read_cpus(const pmix_value_t *value, void *into)
{
    const char *text = value->type == PMIX_STRING ? value->data.string : NULL;
    const char *colon = text ? strrchr(text, ':') : NULL;

    return text && idlist_parse(colon ? colon + 1 : text, PMIX_CPUSET, into, NULL) == 0;
}

static bool read_nspace(const pmix_value_t *value, void *into)
{
    if (value->type != PMIX_PROC || !value->data.proc)
        return false;
    snprintf(into, JOB_NAME_SIZE, "%s", value->data.proc->nspace);
    return true;
}

static bool fetch(const char *nspace, pmix_rank_t rank, const char *key,
                  bool (*read)(const pmix_value_t *, void *), void *into)
{
    pmix_status_t status;
    pmix_proc_t proc;
    pmix_kval_t *found;
    pmix_cb_t cb;
    bool had = false;

    PMIX_LOAD_PROCID(&proc, nspace, rank);
    PMIX_CONSTRUCT(&cb, pmix_cb_t);
    cb.proc = &proc;
    cb.scope = PMIX_SCOPE_UNDEF;
    cb.copy = true;
    cb.key = (char *)key;
    PMIX_GDS_FETCH_KV(status, pmix_globals.mypeer, &cb);
    cb.key = NULL;
    cb.proc = NULL;
    found = (pmix_kval_t *)pmix_list_get_first(&cb.kvs);
    if (status == PMIX_SUCCESS && pmix_list_get_size(&cb.kvs) > 0 && found->value)
        had = read(found->value, into);
    PMIX_DESTRUCT(&cb);
    return had;
}

/* peers: "0,1,5" */
static pmix_status_t read_ranks(const char *nspace, const char *peers, struct job_info *info)
{
    int room = idlist_entries(peers), node_rank;

    if (room < 1 || room > JOB_MAX_LOCAL)
        return PMIX_ERR_NOT_FOUND;
    info->ranks = calloc((size_t)room, sizeof *info->ranks);
    if (!info->ranks)
        return PMIX_ERR_NOMEM;
    for (const char *at = peers; at && *at; at = strchr(at, ','), at += at != NULL) {
        struct local_rank *rank = &info->ranks[info->nranks];

        rank->rank = (int)strtol(at, NULL, 10);
        rank->local = info->nranks++;
        (void)fetch(nspace, (pmix_rank_t)rank->rank, PMIX_LOCAL_RANK, read_number, &rank->local);
        /* Unbound ranks have none. */
        (void)fetch(nspace, (pmix_rank_t)rank->rank, PMIX_CPUSET, read_cpus, &rank->cpus);
        /* Open MPI 4 does not say who is spawned, but counts on on the node. */
        if (fetch(nspace, (pmix_rank_t)rank->rank, PMIX_NODE_RANK, read_number, &node_rank))
            info->spawned |= node_rank > rank->local;
    }
    return PMIX_SUCCESS;
}

pmix_status_t job_info_read(const char *nspace, struct job_info *info)
{
    char *peers = NULL;
    bool spawned = false;
    pmix_status_t status;

    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%s", nspace);
    /* The daemons' own namespace. */
    if (PMIX_CHECK_NSPACE(nspace, pmix_globals.myid.nspace))
        return PMIX_ERR_NOT_FOUND;
    if (!fetch(nspace, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, read_string, &peers) ||
        !fetch(nspace, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, read_number, &info->size)) {
        free(peers);
        return PMIX_ERR_NOT_FOUND;
    }
    status = read_ranks(nspace, peers, info);
    free(peers);
    if (fetch(nspace, PMIX_RANK_WILDCARD, PMIX_SPAWNED, read_bool, &spawned))
        info->spawned |= spawned;
    if (fetch(nspace, PMIX_RANK_WILDCARD, PMIX_PARENT_ID, read_nspace, info->parent))
        info->spawned = true;
    if (status == PMIX_SUCCESS)
        (void)fetch(nspace, (pmix_rank_t)info->ranks[0].rank, PMIX_HOSTNAME, read_host, info->host);
    return status;
}

/* The standard key of one rank, in the shape in which a daemon hands over job
 * information; PMIx copies it. */
static void publish_device(void *context, int rank, const char *device)
{
    pmix_namespace_t *nptr = context;
    pmix_status_t status;
    pmix_rank_t number = (pmix_rank_t)rank;
    pmix_info_t about[2], info;
    pmix_data_array_t array;

    PMIX_INFO_LOAD(&about[0], PMIX_RANK, &number, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&about[1], PMIX_DEVICE_ID, device, PMIX_STRING);
    array.type = PMIX_INFO;
    array.size = 2;
    array.array = about;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, PMIX_PROC_INFO_ARRAY);
    info.value.type = PMIX_DATA_ARRAY;
    info.value.data.darray = &array;
    PMIX_GDS_CACHE_JOB_INFO(status, pmix_globals.mypeer, nptr, &info, 1);
    if (status != PMIX_SUCCESS)
        gpubind_say_verbose(nptr->nspace, "cannot publish PMIX_DEVICE_ID");
    PMIX_INFO_DESTRUCT(&about[0]);
    PMIX_INFO_DESTRUCT(&about[1]);
}

void job_info_publish(pmix_namespace_t *nptr)
{
    jobs_visit_devices(nptr->nspace, publish_device, nptr);
}

static void publish_shifted(int fd, short flags, void *context)
{
    pmix_cb_t *cb = context;
    pmix_namespace_t *nptr;

    (void)fd;
    (void)flags;
    PMIX_LIST_FOREACH(nptr, &pmix_globals.nspaces, pmix_namespace_t)
    if (PMIX_CHECK_NSPACE(nptr->nspace, cb->key))
        job_info_publish(nptr);
    free(cb->key);
    cb->key = NULL;
    PMIX_RELEASE(cb);
}

void job_info_publish_soon(const char *nspace)
{
    pmix_cb_t *cb = PMIX_NEW(pmix_cb_t);
    char *name = strdup(nspace);

    if (!cb || !name) {
        free(name);
        if (cb)
            PMIX_RELEASE(cb);
        return;
    }
    cb->key = name;
    PMIX_THREADSHIFT(cb, publish_shifted);
}
