#include <string.h>

#include "core/plan/plan_internal.h"

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
static void mix(uint64_t *hash, const void *data, size_t size)
{
    const unsigned char *byte = data;

    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ byte[i]) * UINT64_C(0x100000001b3);
}

static void mix_number(uint64_t *hash, int number)
{
    unsigned char byte[4];

    for (int i = 0; i < 4; i++)
        byte[i] = (unsigned char)((unsigned)number >> 8 * i);
    mix(hash, byte, sizeof byte);
}

static void mix_set(uint64_t *hash, const struct idset *set)
{
    for (int id = idset_next(set, -1); id >= 0; id = idset_next(set, id))
        mix_number(hash, id);
    mix_number(hash, -1);
}

uint64_t plan_hash(const struct node *node, const struct plan *plan)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int r = 0; r < plan->nranks; r++) {
        const struct plan_rank *rank = &plan->ranks[r];

        mix_number(&hash, rank->rank);
        mix_number(&hash, rank->local);
        mix_number(&hash, rank->role);
        for (int i = 0; i < rank->ngpus; i++) {
            const struct gpu *gpu = &node->gpus[rank->gpus[i]];

            mix(&hash, gpu->pci, strlen(gpu->pci) + 1);
            mix(&hash, gpu->uuid, strlen(gpu->uuid) + 1);
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
