/* What the frame of the tests calls of libgpubind, in plain MPI programs, which are not linked to it. */
#include "gpubind.h"

const char *gpubind_error_text(void)
{
    return "";
}

int gpubind_alloc(void **at, size_t nbytes)
{
    (void)nbytes;
    *at = NULL;
    return MPI_ERR_NO_MEM;
}

int gpubind_free(void *at)
{
    (void)at;
    return MPI_ERR_ARG;
}
