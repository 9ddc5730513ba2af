/* The digest of a plan, by which the ranks of a node compare theirs. */
#include <string.h>

#include "core/base/hash.h"
#include "core/plan/plan_internal.h"

static void mix_number(uint64_t *hash, int number)
{
    unsigned char byte[4];

    for (int i = 0; i < 4; i++)
        byte[i] = (unsigned char)((unsigned)number >> 8 * i);
    *hash = hash_bytes(*hash, byte, sizeof byte);
}

static void mix_set(uint64_t *hash, const struct idset *set)
{
    for (int id = idset_next(set, -1); id >= 0; id = idset_next(set, id))
        mix_number(hash, id);
    mix_number(hash, -1);
}

uint64_t plan_hash(const struct node *node, const struct plan *plan)
{
    uint64_t hash = HASH_START;

    for (int r = 0; r < plan->nranks; r++) {
        const struct plan_rank *rank = &plan->ranks[r];

        mix_number(&hash, rank->rank);
        mix_number(&hash, rank->local);
        mix_number(&hash, rank->role);
        for (int i = 0; i < rank->ngpus; i++) {
            const struct gpu *gpu = &node->gpus[rank->gpus[i]];

            hash = hash_bytes(hash, gpu->pci, strlen(gpu->pci) + 1);
            hash = hash_bytes(hash, gpu->uuid, strlen(gpu->uuid) + 1);
            /* Tiles need not have a UUID. */
            if (gpu->part >= 0)
                mix_number(&hash, gpu->part);
        }
        mix_set(&hash, &rank->cpus);
        mix_number(&hash, rank->nic);
    }
    return hash;
}

bool plan_renumber(const struct node *node, struct plan *plan, const int *ranks)
{
    if (plan->hash != plan_hash(node, plan))
        return false;
    for (int r = 0; r < plan->nranks; r++)
        plan->ranks[r].rank = ranks[r];
    plan->hash = plan_hash(node, plan);
    return true;
}
