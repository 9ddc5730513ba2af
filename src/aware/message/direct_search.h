/* Other processes' segments, found by a socket's name and then among their files. */
#ifndef GPUBIND_AWARE_DIRECT_SEARCH_H
#define GPUBIND_AWARE_DIRECT_SEARCH_H

#include <sys/socket.h>
#include <sys/un.h>

#include "aware/message/direct_segment.h"

#define DIRECT_MAGIC UINT64_C(0x3376646e69627067) /* and the version of the layout */
#define DIRECT_NAME "gpubind-aware"               /* of the memfd */

/* The abstract name at which a rank of the job listens, whose length is returned. */
socklen_t direct_socket_name(struct sockaddr_un *address, uint64_t job, int rank);
/* Maps the segment of a rank of the job, of this user; likely: the number of its file in that process. NULL: errno
 * says why. */
struct direct_segment *direct_search(uint64_t job, int rank, int likely);
/* Why a search was in vain may be over soon: a full backlog, or no file descriptor or memory for now. */
bool direct_search_again(int error);
/* nbytes of a file of that process. NULL: it is not there, or is shorter. The caller unmaps it. */
void *direct_map_file(pid_t pid, const char *fd, size_t nbytes, bool write);

#endif
