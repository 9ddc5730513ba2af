#include "host/sys/installed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Where this program lies; /proc may be missing. */
static void own_folder(char folder[PATH_MAX])
{
    /* getauxval returns addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr) */
    const char *started = (const char *)getauxval(AT_EXECFN);
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);

    folder[length > 0 ? length : 0] = '\0';
    if (length <= 0 && (!started || !realpath(started, folder)))
        folder[0] = '\0';
    if (strrchr(folder, '/'))
        *strrchr(folder, '/') = '\0';
}

static bool is_there(char path[PATH_MAX], const char *folder, const char *up, const char *file)
{
    const int length = snprintf(path, PATH_MAX, "%s%s%s", folder, up, file);

    return length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
}

bool installed_find(const struct installed_file *file, char path[PATH_MAX])
{
    char folder[PATH_MAX];

    own_folder(folder);
    return is_there(path, folder, "/../", file->built) ||    /* of bin */
           is_there(path, folder, "/../../", file->built) || /* of a folder in tests */
           is_there(path, "", "", file->installed) || is_there(path, folder, "/../", file->moved);
}
