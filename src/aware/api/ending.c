#include "aware/api/ending.h"

#include <mpi.h>
#include <stdatomic.h>

#include "aware/base/counts.h"
#include "aware/base/next.h"
#include "aware/base/traced.h"
#include "aware/message/direct_segment.h"
#include "aware/message/direct_send.h"
#include "aware/request/requests.h"

static atomic_bool prepared;

void ending_now(void)
{
    requests_sweep(true); /* those that the application has freed, as MPI would complete them */
    if (direct_segment_end()) {
        direct_sends_end();
        direct_segment_hide();
    }
    counts_print();
    traced_write();
    is_behind = true;
}

static int self_is_freed(MPI_Comm self, int key, void *value, void *extra)
{
    (void)self, (void)key, (void)value, (void)extra;
    ending_now();
    return MPI_SUCCESS;
}

/* MPI calls the callbacks of MPI_COMM_SELF in the opposite order of their attaching (MPI 4.0, 11.2.4), so
 * that this one is the last. */
void ending_prepare(void)
{
    int key = MPI_KEYVAL_INVALID;

    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, self_is_freed, &key, NULL) != MPI_SUCCESS)
        return;
    atomic_store(&prepared, PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) == MPI_SUCCESS);
    PMPI_Comm_free_keyval(&key);
}

bool ending_is_prepared(void)
{
    return atomic_load(&prepared);
}
