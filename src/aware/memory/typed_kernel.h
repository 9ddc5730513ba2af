/* Data of types that take many copies of rows, copied by a kernel: for typed_walk.c. */
#ifndef GPUBIND_AWARE_TYPED_KERNEL_H
#define GPUBIND_AWARE_TYPED_KERNEL_H

#include "aware/memory/typed_walk.h"

/* So much of it takes many copies of rows. */
bool typed_kernel_is_worth_it(const struct typed_shape *shape, MPI_Count count);
/* Does the whole walk, over elements of that shape in GPU memory of one allocation, from or to dense memory,
 * after earlier work of the legacy stream as buffer_copy_rows. false: copies of rows are to do it; what is
 * copied already is copied again. */
bool typed_kernel_copies(const struct walk *walk, const struct typed_shape *shape);

#endif
