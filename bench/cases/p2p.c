#include "bench/cases/p2p.h"

#include <string.h>

#include "bench/cases/cases.h"
#include "bench/output/output.h"
#include "core/base/idset.h"

static const char *yes(int value)
{
    return value ? "yes" : "no";
}

static void add_pair(struct p2p *p2p, int from, int to)
{
    const struct bench_gpu *a = &p2p->gpus[from].gpu, *b = &p2p->gpus[to].gpu;
    int rank, atomics, unified;

    table_add_row(p2p->table);
    table_set_word(p2p->table, P2P_MEASURE, "pair");
    table_set_number(p2p->table, P2P_FROM, from);
    table_set_number(p2p->table, P2P_TO, to);
    table_set_word(p2p->table, P2P_CAN, yes(p2p_reaches(p2p, from, to)));
    if (gpu_device_pair(&rank, GPU_PAIR_RANK, a->device, b->device) == GPU_OK)
        table_set_number(p2p->table, P2P_RANK, rank);
    if (gpu_device_pair(&atomics, GPU_PAIR_ATOMICS, a->device, b->device) == GPU_OK)
        table_set_word(p2p->table, P2P_ATOMICS, yes(atomics));
    if (gpu_device_attribute(&unified, GPU_ATTRIBUTE_UNIFIED_ADDRESSING, a->device) == GPU_OK)
        table_set_word(p2p->table, P2P_UNIFIED, yes(unified));
}

/* Adds the driver's attributes of the pairs of one GPU, and a note on pairs without access. */
static void add_pairs(struct p2p *p2p, int from)
{
    char list[4 * P2P_MAX_GPUS];
    struct idset denied;

    idset_clear(&denied);
    for (int to = 0; to < p2p->n; to++) {
        if (to == from)
            continue;
        add_pair(p2p, from, to);
        if (!p2p_reaches(p2p, from, to))
            idset_add(&denied, to);
    }
    if (idset_empty(&denied))
        return;
    idlist_render(&denied, list, sizeof list);
    text_add(&p2p->table->notes,
             "GPU %d cannot access GPU %s: copies go through the host, whatever is asked for\n",
             from, list);
}

static int add_result(struct p2p *p2p, enum p2p_kind kind, int from, int to, const char *access,
                      struct gpubind_error *err)
{
    static const char *const words[] = {[P2P_LATENCY] = "latency",
                                        [P2P_PING_PONG] = "ping-pong",
                                        [P2P_ONE_WAY] = "one-way",
                                        [P2P_BOTH] = "both-ways",
                                        [P2P_LOCAL] = "local"};
    struct table *table = p2p->table;
    struct p2p_result result;

    output_progress(p2p->options, "%s, GPU %d to %d%s%s", words[kind], from, to,
                    access ? ", peer access " : "", access ? access : "");
    if (p2p_measure(p2p, kind, from, to, &result, err) < 0)
        return -1;
    table_add_row(table);
    table_set_word(table, P2P_MEASURE, words[kind]);
    table_set_number(table, P2P_FROM, from);
    table_set_number(table, P2P_TO, to);
    if (access)
        table_set_word(table, P2P_ACCESS, access);
    table_set_number(table, P2P_BYTES, (double)result.nbytes);
    table_set_number(table, P2P_TIMES, result.times);
    table_set_number(table, P2P_US, result.us);
    table_set_number(table, P2P_GB_PER_S, 1e-9 * result.bytes_per_s);
    table_set_word(table, P2P_DATA, result.wrong ? "wrong" : "right");
    table->wrong |= result.wrong;
    return 0;
}

/* With access on, pairs without access are skipped, as they were measured with access off. So are
 * pairs to which the driver refuses it, because the number of peers of a GPU is limited. */
static int measure_pair(struct p2p *p2p, int from, int to, bool on, struct gpubind_error *err)
{
    bool there = p2p_reaches(p2p, from, to), back = p2p_reaches(p2p, to, from);
    struct gpubind_error why;

    if ((there && p2p_access(p2p, from, to, on, &why) < 0) ||
        (back && p2p_access(p2p, to, from, on, &why) < 0)) {
        text_add(&p2p->table->notes, "%s\n", why.text);
        return 0;
    }
    if (on && !there)
        return 0;
    for (int kind = 0; kind < P2P_KINDS; kind++)
        if (add_result(p2p, (enum p2p_kind)kind, from, to, on ? "on" : "off", err) < 0)
            return -1;
    return 0;
}

static int measure_all(struct p2p *p2p, struct gpubind_error *err)
{
    int pairs = p2p->n * p2p->n;

    for (int i = 0; i < p2p->n; i++)
        add_pairs(p2p, i);
    for (int on = 0; on < 2; on++)
        for (int i = 0; i < pairs; i++)
            if (i / p2p->n != i % p2p->n && measure_pair(p2p, i / p2p->n, i % p2p->n, on, err) < 0)
                return -1;
    for (int i = 0; i < p2p->n; i++)
        if (add_result(p2p, P2P_LOCAL, i, i, NULL, err) < 0)
            return -1;
    return 0;
}

static int fill_here(const struct bench_options *options, struct table *table,
                     struct gpubind_error *err)
{
    struct p2p p2p = {.options = options, .table = table};
    size_t least = P2P_LATENCY_NBYTES;
    int status = p2p_open(&p2p, options->size > least ? options->size : least, err);

    if (status == 0 && !p2p.n)
        status = error_set(err, "no GPU is visible: there is nothing to measure");
    if (status == 0) {
        p2p_describe(&p2p, "p2p",
                     "one GPU is visible, and pairs need two: what is measured is "
                     "copies within its memory");
        status = measure_all(&p2p, err);
    }
    p2p_close(&p2p);
    return status;
}

static int fill(const struct bench_options *options, struct table *table, struct gpubind_error *err)
{
    return benchmark_fill_on_rank0(fill_here, options, table, err);
}

const struct benchmark p2p_benchmark = {&p2p_schema, fill, false};
