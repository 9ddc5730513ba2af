#include "mpi/core/gpu_users.h"

#include "mpi/core/domain.h"

#define OTHERS (~(uint64_t)0)

/* MPI_COMM_WORLD's; NULL: its ranks share none. */
static const struct segment *segment(void)
{
    const struct domain *domain = domain_oldest();

    return domain && domain->segment.base ? &domain->segment : NULL;
}

static void add(const struct gpu *gpu)
{
    const struct segment *shared = segment();
    struct rank_ctrl *me = shared ? segment_rank_ctrl(shared, shared->me) : NULL;

    for (int i = 0; me && i < RANK_GPUS; i++) {
        const uint64_t device = atomic_load(&me->gpus[i]);

        if (device == gpu->device)
            return;
        if (device == 0 || i == RANK_GPUS - 1) {
            atomic_store(&me->gpus[i], i == RANK_GPUS - 1 ? OTHERS : gpu->device);
            return;
        }
    }
}

static bool uses(const struct rank_ctrl *rank, uint64_t device)
{
    uint64_t used = OTHERS;

    for (int i = 0; i < RANK_GPUS && used != 0; i++) {
        used = atomic_load_explicit(&rank->gpus[i], memory_order_acquire);
        if (used == device || used == OTHERS)
            return true;
    }
    return false;
}

unsigned gpu_users(struct gpu *gpu)
{
    const struct segment *shared = segment();
    unsigned n = 1;

    for (int rank = 0; shared && rank < shared->n; rank++)
        n += rank != shared->me && uses(segment_rank_ctrl(shared, rank), gpu->device);
    gpu->users = n;
    return n;
}

void gpu_users_add(struct gpu *gpu)
{
    add(gpu);
    gpu_users(gpu);
}
