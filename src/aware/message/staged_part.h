/* The parts of a staged buffer. */
#ifndef GPUBIND_AWARE_STAGED_PART_H
#define GPUBIND_AWARE_STAGED_PART_H

#include "aware/memory/typed.h"
#include "aware/message/staged.h"

/* From the first byte of a part to behind its last, as displacements in the buffer. */
struct staged_span {
    MPI_Aint low, high;
};

/* Of its data. */
MPI_Count staged_bytes_of(const struct staged_part *part);
struct staged_span staged_span_of(const struct staged_part *part);
struct typed staged_typed_of(const char *user, const struct staged_part *part);
/* What lies between its blocks is not all the application's, or of one allocation. */
bool staged_is_absolute(const struct staged *staged);

#endif
