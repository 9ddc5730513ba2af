/* From the plan to what people and programs read. All functions add to text. */
#ifndef GPUBIND_CORE_REPORT_RENDER_H
#define GPUBIND_CORE_REPORT_RENDER_H

#include "core/base/text.h"
#include "core/plan/plan.h"
#include "core/topo/node.h"

/* The job's ranks with a GPU, ascending; n is 0 when they are not known. */
struct gpu_ranks {
    int n;
    const int *ranks;
};

/* A title and one aligned line a rank; neighbours when peers are known. */
void render_table(const struct node *node, const struct plan *plan, const struct gpu_ranks *peers,
                  struct text *text);

/* One line of JSON; see gpubind(1) for the keys. peers NULL: without neighbours. */
void render_json(const struct node *node, const struct plan *plan, const struct gpu_ranks *peers,
                 struct text *text);

/* Why each rank got what it got, one sentence a line. */
void render_why(const struct node *node, const struct plan *plan, const struct policy *policy,
                struct text *text);

/* The plan's notes (enum plan_note), one sentence a line. */
void render_notes(const struct node *node, const struct plan *plan, struct text *text);

#endif
