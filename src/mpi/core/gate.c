#include "mpi/core/gate.h"

/* NULL: it has no name, or is not of this domain: all flags with names are of the oldest. */
static _Atomic uint32_t *flag_of(const struct domain *domain, int local, uint32_t name)
{
    return name == 0 || domain != domain_oldest()
               ? NULL
               : segment_stream_flag(&domain->segment, local, name - 1);
}

bool gate_has_come(const struct domain *domain, int local, const struct stream_gate *gate)
{
    const _Atomic uint32_t *came = flag_of(domain, local, gate->came);

    return came &&
           (int32_t)(atomic_load_explicit(came, memory_order_acquire) - gate->came_value) >= 0;
}

void gate_let_go(const struct domain *domain, int local, const struct stream_gate *gate)
{
    _Atomic uint32_t *go = flag_of(domain, local, gate->go);

    if (go)
        atomic_store_explicit(go, gate->go_value, memory_order_release);
}
