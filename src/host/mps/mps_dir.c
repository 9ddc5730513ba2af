/* The directory of one MPS server; removes those that killed supervisors left. */
#include "host/mps/mps_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "host/mps/mps_control.h"

/* Leaves room for the directory's own name. */
#define BASE_MAX 40
/* A supervisor takes its lock within this time. */
#define YOUNG_S 60

/* Up to the six characters by which folders differ: the user and the node, since
 * TMPDIR may be seen by several nodes. */
static void make_prefix(char *prefix, size_t size)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    snprintf(prefix, size, "gpubind-mps.%ld.%08x.", (long)geteuid(),
             (unsigned)hash_text(HASH_START, host));
}

/* Only the user and root may rename what lies there. */
static int choose_base(char base[PATH_MAX], struct gpubind_error *err)
{
    const char *wanted = getenv("TMPDIR");
    struct stat about;

    /* Without links, so that the same folder always has the same name. */
    if (!wanted || !*wanted || !realpath(wanted, base) || strlen(base) > BASE_MAX)
        snprintf(base, PATH_MAX, "/tmp");
    if (stat(base, &about) < 0)
        return error_set(err, "--mps: %s: %s", base, strerror(errno));
    if (about.st_uid != 0 && about.st_uid != geteuid())
        return error_set(err,
                         "--mps: %s, where the MPS server's pipes would lie, belongs to "
                         "another user",
                         base);
    if (about.st_mode & (S_IWGRP | S_IWOTH) && !(about.st_mode & S_ISVTX))
        return error_set(err,
                         "--mps: %s, where the MPS server's pipes would lie, lets other "
                         "users replace them",
                         base);
    return 0;
}

/* Removes name, a folder or not, below the open folder at; follows no link. */
static void remove_all(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *entry;
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);

    while (folder && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(fd, entry->d_name, 0) < 0)
            remove_all(fd, entry->d_name);
    if (folder)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
    unlinkat(at, name, AT_REMOVEDIR);
}

/* Whether no supervisor holds the lock of the directory, which is this user's. */
static bool is_left(int folder)
{
    struct stat about;
    int lock;
    bool left;

    if (fstat(folder, &about) < 0 || about.st_uid != geteuid())
        return false;
    lock = openat(folder, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0)
        return errno == ENOENT && time(NULL) - about.st_mtime > YOUNG_S;
    left = flock(lock, LOCK_EX | LOCK_NB) == 0;
    close(lock);
    return left;
}

/* Ends what a supervisor that was killed could not end. */
static void sweep(const char *base, const char *prefix)
{
    DIR *all = opendir(base);
    struct dirent *entry;

    while (all && (entry = readdir(all))) {
        char pipe[BASE_MAX + sizeof entry->d_name + sizeof "//pipe"];
        int folder;

        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        folder = openat(dirfd(all), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0)
            continue;
        if (is_left(folder)) {
            snprintf(pipe, sizeof pipe, "%.*s/%s/pipe", BASE_MAX, base, entry->d_name);
            mps_control_kill(pipe);
            remove_all(dirfd(all), entry->d_name);
        }
        close(folder);
    }
    if (all)
        closedir(all);
}

static int fill(struct mps_dir *folder, struct gpubind_error *err)
{
    const char *log = getenv("CUDA_MPS_LOG_DIRECTORY");
    char unlocked[MPS_DIR_MAX + 8], lock[MPS_DIR_MAX + 8];

    snprintf(unlocked, sizeof unlocked, "%s/new", folder->path);
    snprintf(lock, sizeof lock, "%s/lock", folder->path);
    snprintf(folder->pipe, sizeof folder->pipe, "%s/pipe", folder->path);
    snprintf(folder->output_path, sizeof folder->output_path, "%s/said", folder->path);
    snprintf(folder->log, sizeof folder->log, "%s/log", folder->path);
    /* The lock is there when the name is: another job may be sweeping. */
    folder->lock = open(unlocked, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (folder->lock < 0 || flock(folder->lock, LOCK_EX | LOCK_NB) < 0 ||
        rename(unlocked, lock) < 0 || mkdir(folder->pipe, 0700) < 0 || mkdir(folder->log, 0700) < 0)
        return error_set(err, "--mps: %s: %s", folder->path, strerror(errno));
    if (log && *log && strlen(log) < sizeof folder->log)
        snprintf(folder->log, sizeof folder->log, "%s", log);
    return 0;
}

int mps_dir_make(struct mps_dir *folder, struct gpubind_error *err)
{
    char base[PATH_MAX], prefix[64];

    memset(folder, 0, sizeof *folder);
    folder->lock = -1;
    if (choose_base(base, err) < 0)
        return -1;
    make_prefix(prefix, sizeof prefix);
    sweep(base, prefix);
    snprintf(folder->path, sizeof folder->path, "%.*s/%.32sXXXXXX", BASE_MAX, base, prefix);
    if (!mkdtemp(folder->path))
        return error_set(err, "--mps: no folder can be made in %s: %s", base, strerror(errno));
    if (fill(folder, err) < 0) {
        mps_dir_remove(folder);
        if (folder->lock >= 0)
            close(folder->lock);
        return -1;
    }
    return 0;
}

void mps_dir_remove(const struct mps_dir *folder)
{
    remove_all(AT_FDCWD, folder->path);
}
