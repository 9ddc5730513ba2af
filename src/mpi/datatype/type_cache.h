/* What moving messages needs to know of an MPI datatype, kept with the type. */
#ifndef GPUBIND_MPI_DATATYPE_TYPE_CACHE_H
#define GPUBIND_MPI_DATATYPE_TYPE_CACHE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct type_block { /* of one element, in the order of the type map */
    MPI_Aint at;    /* bytes from the buffer's address */
    size_t nbytes;
};

struct flat_type;

struct type_shape {
    uint32_t number; /* of the predefined type that all of it consists of; see type_numbered */
    size_t nbytes;   /* of data in an element */
    bool dense;      /* an array of elements is contiguous */
    bool together;   /* one element is contiguous */
    MPI_Aint first;  /* offset of its first byte from the buffer's address */
    MPI_Aint extent;
    struct flat_type *flat; /* when not dense; lives as long as the type and its users */
};

/* 0, or -1 with a sentence: MPI_DATATYPE_NULL, of an unknown kind, or out of memory. */
int type_lookup(MPI_Datatype type, struct type_shape *shape, struct gpubind_error *err);

/* ---- predefined types: type_basic.c */

/* The number of a predefined type, the same on all ranks. -1: it is not predefined. */
int type_number(MPI_Datatype type);
/* It may be a pair of a value and an int, with a gap between or behind them. */
bool type_may_have_holes(int number);
/* It is such a pair: the bytes of the value, and the offset of the int. */
bool type_is_pair(int number, size_t *value, size_t *second);
/* The predefined type of that number; MPI_BYTE if this MPI does not have it. */
MPI_Datatype type_numbered(uint32_t number);
/* Bytes of an element of it. */
size_t type_numbered_size(uint32_t number);

#endif
