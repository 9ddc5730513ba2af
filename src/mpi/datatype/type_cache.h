/* MPI datatypes, as far as moving their bytes needs them. */
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
    uint32_t number; /* the predefined type that all of it consists of; see type_numbered */
    size_t nbytes;   /* of data in an element */
    bool dense;      /* an array of them is its data and nothing else */
    bool together;   /* the data of one element lie together */
    MPI_Aint first;  /* where its data begin, in bytes from the buffer's address */
    MPI_Aint extent;
    struct flat_type *flat; /* when not dense: where they lie; lives as long as the type or
                                its users */
};

/* 0, or -1 with a sentence: MPI_DATATYPE_NULL, too large, or no memory. */
int type_lookup(MPI_Datatype type, struct type_shape *shape, struct gpubind_error *err);

/* ---- predefined types: type_basic.c */

/* The same on all ranks; -1: it is none of them. */
int type_number(MPI_Datatype type);
/* It may be one of the pairs. */
bool type_may_have_holes(int number);
/* It is a pair of a value and an int: the value's bytes, and where the int begins. */
bool type_is_pair(int number, size_t *value, size_t *second);
/* The predefined type of that number here; MPI_BYTE for what this MPI does not have. */
MPI_Datatype type_numbered(uint32_t number);
/* Bytes of an element of it. */
size_t type_numbered_size(uint32_t number);

#endif
