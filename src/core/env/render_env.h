/* From the plan to the environment of one rank. */
#ifndef GPUBIND_CORE_ENV_RENDER_ENV_H
#define GPUBIND_CORE_ENV_RENDER_ENV_H

#include "core/env/visible_devices.h"
#include "core/plan/plan.h"
#include "core/topo/node.h"

enum nic_mode { NIC_AUTO, NIC_UCX, NIC_OFI, NIC_NONE };

/* What a rank may choose for itself without touching the plan. */
struct prefs {
    enum visible_mode visible;
    enum visible_ids ids;
    struct ze_order ze; /* what it has set for Level Zero */
    enum nic_mode nic;
    bool omp;
};

/* What counts the GPUs that ROCm's variable leaves, and would count anew where that is
 * set; and the names under which the plugin keeps what they were. */
#define ENV_ABOVE_ROCM 3
extern const struct env_above {
    const char *name, *kept;
} env_above_rocm[ENV_ABOVE_ROCM];

enum env_how {
    ENV_SET,     /* whatever was there */
    ENV_DEFAULT, /* unless the user set it */
    ENV_UNSET,
};

struct env_item {
    enum env_how how;
    const char *name; /* static */
    char *value;      /* owned; NULL for ENV_UNSET */
};

#define ENV_MAX 29
struct env_list {
    int n;
    struct env_item item[ENV_MAX];
};

/* The caller clears the list, also after -1 (no memory). */
int render_env(const struct node *node, const struct plan *plan, const struct plan_rank *rank,
               const struct prefs *prefs, const char *version, struct env_list *list);
void env_list_clear(struct env_list *list);

#endif
