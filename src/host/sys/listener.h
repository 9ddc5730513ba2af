/* Who listens at an abstract Unix socket. */
#ifndef GPUBIND_HOST_SYS_LISTENER_H
#define GPUBIND_HOST_SYS_LISTENER_H

#include <stdbool.h>

/* Whether a process of this user listens at the abstract name, without its leading NUL. False, too,
 * where /proc does not show that process, as one in another PID namespace. Takes time: it may look
 * through the descriptors of all processes of this user. */
bool listener_is_own(const char *name);

#endif
