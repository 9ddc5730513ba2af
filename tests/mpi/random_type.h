/* Random derived types, and where their bytes lie by MPI's word. */
#ifndef GPUBIND_TESTS_MPI_RANDOM_TYPE_H
#define GPUBIND_TESTS_MPI_RANDOM_TYPE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A committed type, made of one predefined type, *base. */
MPI_Datatype random_type(uint64_t *state, MPI_Datatype base);

/* Where the bytes of count elements lie: their distances from the start of a buffer of
 * nbytes whose byte at origin the elements begin at. Asked of MPI_Pack. false: some lie
 * outside it, or there are more than most or none. */
struct byte_map {
    uint32_t *at; /* most of them */
    size_t n;
    bool twice; /* some byte belongs to two elements, so that nothing may be received */
};
bool byte_map_fill(struct byte_map *map, size_t most, MPI_Datatype type, int count, size_t origin,
                   size_t nbytes);

#endif
