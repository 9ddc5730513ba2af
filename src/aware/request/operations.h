/* Operations of the application. MPI calls their functions in functions that this library has called, and they may call
 * MPI's local functions with GPU memory in turn. So MPI is given functions of this library in their place, each of which
 * calls one of the application's. */
#ifndef GPUBIND_AWARE_OPERATIONS_H
#define GPUBIND_AWARE_OPERATIONS_H

/* Two buffers, the addresses of a count, of int or MPI_Count, and of a type, as C has it or Fortran; and what MPI may
 * add for C++. */
typedef void operation(void *in, void *inout, void *count, void *type, void *more);

/* For MPI, always the same one, since a function may be called after its MPI_Op is freed; the given one itself where the
 * application has very many. */
operation *operation_stand_in(operation *given);

#endif
