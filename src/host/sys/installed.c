#include "host/sys/installed.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
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

/* What this code is in. */
struct own_file {
    char folder[PATH_MAX]; /* "": not known */
    char prefix[PATH_MAX]; /* the folder above */
    uid_t owner, keeper;   /* of the file; of its folder, who can replace it */
    bool open;             /* to be written by everybody, as all files of some file systems are */
};

static void cut_last(char *path)
{
    if (strrchr(path, '/'))
        *strrchr(path, '/') = '\0';
}

static void find_own(struct own_file *own)
{
    struct stat about;

    if (!find_object(own->folder) && !find_program(own->folder))
        own->folder[0] = '\0';
    if (stat(own->folder, &about) < 0)
        about = (struct stat){0};
    own->owner = about.st_uid;
    own->open = about.st_mode & S_IWOTH;
    cut_last(own->folder);
    own->keeper = stat(own->folder, &about) == 0 ? about.st_uid : own->owner;
    memcpy(own->prefix, own->folder, sizeof own->prefix);
    cut_last(own->prefix);
}

static bool is_file(char path[PATH_MAX], const char *folder, const char *up, const char *file)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s%s", folder, up, file);

    return length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
}

/* Nobody else can put something in its place, or into it in place of what is there. */
static bool is_kept(const struct own_file *own, const char *path)
{
    struct stat about;
    bool open;

    if (lstat(path, &about) < 0 ||
        (about.st_uid != 0 && about.st_uid != own->owner && about.st_uid != own->keeper))
        return false;
    open = about.st_mode & S_IWOTH && !S_ISLNK(about.st_mode) &&
           !(S_ISDIR(about.st_mode) && about.st_mode & S_ISVTX);
    return !open || own->open;
}

/* Beside it, with nothing on the way from the folder above that other users can change between this look
 * and the loader's: that folder may be open to them, as /scratch is above /scratch/me/bin. */
static bool is_beside(char path[PATH_MAX], const struct own_file *own, const char *folder,
                      const char *up, const char *file)
{
    char *end = path + strlen(folder) + 1;
    bool kept = is_file(path, folder, up, file);

    for (; kept && (end = strchr(end, '/')); end++) {
        *end = '\0';
        kept = is_kept(own, path);
        *end = '/';
    }
    return kept && is_kept(own, path);
}

bool installed_find(const struct installed_file *file, char path[PATH_MAX])
{
    struct own_file own;

    find_own(&own);
    /* What lies beside this goes before another installation at the configured prefix. */
    return is_beside(path, &own, own.folder, "../", file->built) ||    /* of bin */
           is_beside(path, &own, own.folder, "../../", file->built) || /* of plugin/.libs */
           is_beside(path, &own, own.prefix, LIBDIR_NAME "/", file->installed) || /* of bin */
           is_file(path, LIBDIR, "", file->installed) ||
           is_beside(path, &own, own.folder, "../../", file->installed); /* of lib/gpubind/pmix */
}
