/* The buffers of calls that read and write files. */
#ifndef GPUBIND_AWARE_FILE_BUFFERS_H
#define GPUBIND_AWARE_FILE_BUFFERS_H

#include "aware/message/staged.h"

/* What a call does with its buffer. Where a read ends is not known from its status: ROMIO's collective
 * ones tell the whole count at the end of the file. So the host memory has what the buffer had, and all
 * of it is written back. */
#define FILE_READ (STAGED_READ | STAGED_WRITTEN)
#define FILE_WRITE STAGED_READ

/* Calls the file's error handler. Returns result. */
int file_refused(MPI_File file, int result);
/* The file has the bytes as memory has them; another representation is made from elements of the buffer's type.
 * *etype: bytes of the unit of offsets. */
bool file_has_bytes_of_memory(MPI_File file, MPI_Count *etype);
/* As staged_begin. */
int file_begin(struct staged *staged, MPI_File file, const void *buf, MPI_Count count,
               MPI_Datatype type, unsigned use);
/* A call, or the second half of a split one, has ended with result: copies what it read, and ends the
 * buffer. */
int file_ended(struct staged *staged, int result, MPI_File file);
/* A call has made a request: the buffer is ended with it. */
int file_started(struct staged *staged, int result, MPI_Request request, MPI_File file);
/* The first half of a split call: its buffer is kept for the second one, of which a file has one at a
 * time. */
int file_split(struct staged *staged, int result, MPI_File file);
/* false: the buffer of the first half is not staged. */
bool file_split_take(struct staged *staged, MPI_File file);

#endif
