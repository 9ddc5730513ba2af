#include "host/sys/installed.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The program's file; /proc may be missing. */
static bool find_program(char path[PATH_MAX])
{
    /* getauxval returns addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr) */
    const char *started = (const char *)getauxval(AT_EXECFN);
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

    path[length > 0 ? length : 0] = '\0';
    return length > 0 || (started && realpath(started, path));
}

/* The shared object's file, where this code is in one, as the PMIx plugin's is in a daemon; a link to
 * it is followed. */
static bool find_object(char path[PATH_MAX])
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    const void *program = (const void *)getauxval(AT_PHDR);
    static const char here = 0;
    Dl_info mine, its;

    return dladdr(&here, &mine) && mine.dli_fname &&
           !(program && dladdr(program, &its) && its.dli_fbase == mine.dli_fbase) &&
           strchr(mine.dli_fname, '/') && realpath(mine.dli_fname, path);
}

/* Of what this code is in: "" where it is not known. */
static void own_folder(char folder[PATH_MAX])
{
    if (!find_object(folder) && !find_program(folder))
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
    return is_there(path, folder, "/../", file->built) || /* of bin */
           is_there(path, folder, "/../../",
                    file->built) || /* of a folder in tests, of plugin/.libs */
           is_there(path, "", "", file->installed) ||
           is_there(path, folder, "/../", file->moved) ||     /* of bin */
           is_there(path, folder, "/../../../", file->moved); /* of lib/gpubind/pmix */
}
