#include "host/launch/gpu_aware.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/env/elf.h"
#include "host/sys/env_array.h"
#include "host/sys/installed.h"

enum family { OPEN_MPI, MPICH, MPI_ABI, OTHER_MPI };

/* MPI libraries, by what the names begin with that programs need; the first row that fits. */
static const struct {
    const char *begins;
    enum family family;
} mpi_libraries[] = {
    {"libmpi.so.40", OPEN_MPI}, {"libmpich.so.", MPICH},     {"libmpi.so.12", MPICH},
    {"libmpi.so.", OTHER_MPI},  {"libmpi_abi.so.", MPI_ABI}, {"libmpi_cray.so.", OTHER_MPI},
};

/* What the launchers of an MPI set: it is the MPI of a program that names none, as Python is. PMI_RANK
 * and PMIX_RANK say nothing, since Slurm and others set them for any MPI. */
static const struct {
    const char *variable, *name;
    enum family family;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "Open MPI", OPEN_MPI},
    {"OMPI_COMM_WORLD_SIZE", "Open MPI", OPEN_MPI}, /* all that the PMIx plugin sees */
    {"MPI_LOCALRANKID", "MPICH's family", MPICH},   /* Hydra, also Intel MPI's */
    {"MV2_COMM_WORLD_RANK", "MPICH's family", MPICH},
    {"MVP_COMM_WORLD_RANK", "MPICH's family", MPICH},
};

/* The library for the MPI that gpubind was built with. */
static const struct installed_file library = {"src/aware/.libs/libgpubind-aware.so.0",
                                              "libgpubind-aware.so.0"};

/* Those for a family of MPIs, where they were built. */
static const struct installed_file family_libraries[] = {
    [OPEN_MPI] = {"src/aware/.libs/libgpubind-aware-openmpi.so.0", "libgpubind-aware-openmpi.so.0"},
    [MPICH] = {"src/aware/.libs/libgpubind-aware-mpich.so.0", "libgpubind-aware-mpich.so.0"},
    [MPI_ABI] = {"src/aware/.libs/libgpubind-aware-mpi-abi.so.0", "libgpubind-aware-mpi-abi.so.0"},
};

struct mpi {
    char name[64]; /* of the MPI library; empty: none is named */
    enum family family;
};

static void find_mpi(void *context, const char *name)
{
    struct mpi *mpi = context;

    for (size_t i = 0; i < sizeof mpi_libraries / sizeof *mpi_libraries && !mpi->name[0]; i++)
        if (strncmp(name, mpi_libraries[i].begins, strlen(mpi_libraries[i].begins)) == 0) {
            snprintf(mpi->name, sizeof mpi->name, "%s", name);
            mpi->family = mpi_libraries[i].family;
        }
}

/* What a file needs. */
static enum elf_kind read_mpi(const char *path, struct mpi *mpi)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum elf_kind kind = ELF_OTHER;
    struct stat status;
    void *bytes;

    *mpi = (struct mpi){"", OTHER_MPI};
    if (fd < 0)
        return ELF_OTHER;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            kind = elf_read(bytes, (size_t)status.st_size, find_mpi, mpi);
            munmap(bytes, (size_t)status.st_size);
        }
    }
    close(fd);
    return kind;
}

/* -1: the program cannot be preloaded to. its: the MPI that it names. */
static int check_program(const char *program, struct mpi *its, struct gpubind_error *err)
{
    struct stat status;
    const enum elf_kind kind = read_mpi(program, its);

    if (kind == ELF_STATIC)
        return error_set(err, "%s loads no shared objects; link it with -lgpubind-aware", program);
    if (stat(program, &status) == 0 && ((status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
                                        (status.st_mode & S_ISGID && status.st_gid != getegid())))
        return error_set(err, "%s is setuid; link it with -lgpubind-aware", program);
    return 0;
}

/* false: there is none, and path stays. */
static bool find_family(enum family family, char path[PATH_MAX])
{
    char found[PATH_MAX];

    if (family >= OTHER_MPI || !installed_find(&family_libraries[family], found))
        return false;
    memcpy(path, found, sizeof found);
    return true;
}

/* For a program that names an MPI. mine: of the library at path, which stays where it fits. */
static int choose_by_program(const char *program, const struct mpi *its, const struct mpi *mine,
                             char path[PATH_MAX], struct gpubind_error *err)
{
    if (!mine->name[0] || strcmp(its->name, mine->name) == 0 || find_family(its->family, path))
        return 0;
    if (its->family < OTHER_MPI)
        return error_set(
            err, "libgpubind-aware is built for %s, and %s needs %s: there is no " LIBDIR "/%s",
            mine->name, program, its->name, family_libraries[its->family].installed);
    return error_set(err, "libgpubind-aware is built for %s, and %s needs %s", mine->name, program,
                     its->name);
}

/* The row of launchers that env shows, or their number. */
static size_t find_launcher(char *const *env)
{
    size_t i = 0;

    while (i < sizeof launchers / sizeof *launchers && !env_array_get(env, launchers[i].variable))
        i++;
    return i;
}

/* For a program that names none: the launcher's MPI, else what the library was built for. */
static int choose_by_launcher(const struct mpi *mine, char *const *env, char path[PATH_MAX],
                              struct gpubind_error *err)
{
    const size_t i = find_launcher(env);

    if (i == sizeof launchers / sizeof *launchers || !mine->name[0] ||
        find_family(launchers[i].family, path) || mine->family == launchers[i].family)
        return 0;
    return error_set(
        err,
        "libgpubind-aware is built for %s, and the launcher is %s's: there is no " LIBDIR "/%s",
        mine->name, launchers[i].name, family_libraries[launchers[i].family].installed);
}

/* -1 with a sentence: the library is not there, or cannot help the program. */
static int find_library(const char *program, char *const *env, char path[PATH_MAX],
                        struct gpubind_error *err)
{
    struct mpi mine, its;

    if (!installed_find(&library, path))
        return error_set(err, "there is no " LIBDIR "/%s, which is built where there is an MPI",
                         library.installed);
    read_mpi(path, &mine);
    if (check_program(program, &its, err) < 0)
        return -1;
    if (its.name[0] ? choose_by_program(program, &its, &mine, path, err) < 0
                    : choose_by_launcher(&mine, env, path, err) < 0)
        return -1;
    if (strpbrk(path, ": "))
        return error_set(err, "%s cannot be preloaded, because of a blank or colon in its name",
                         path);
    return 0;
}

/* An entry of a list as LD_PRELOAD has it. */
static bool is_listed(const char *list, const char *entry)
{
    while (*list) {
        const size_t length = strcspn(list, ": ");

        if (length == strlen(entry) && strncmp(list, entry, length) == 0)
            return true;
        list += length;
        list += strspn(list, ": ");
    }
    return false;
}

static void add(struct env_list *list, const char *name, char *value)
{
    list->item[list->n++] = (struct env_item){ENV_SET, name, value};
}

static int preload(const char *path, const char *mode, char *const *env, struct env_list *list,
                   struct gpubind_error *err)
{
    const char *others = env_array_get(env, "LD_PRELOAD");
    struct text all = {0};
    char *copy = strdup(mode);

    if (!others || !is_listed(others, path))
        text_add(&all, "%s%s", path, others && *others ? ":" : "");
    text_add(&all, "%s", others ? others : "");
    if (all.failed || !copy) {
        text_clear(&all);
        free(copy);
        return error_set(err, "out of memory");
    }
    add(list, "LD_PRELOAD", all.bytes);
    add(list, "GPUBIND_GPU_AWARE", copy);
    return 0;
}

void gpu_aware_note_launcher(const char *launcher, const char *program, struct text *notes)
{
    static const char *const names[] = {[OPEN_MPI] = "Open MPI", [MPICH] = "MPICH's family"};
    const bool of_mpich = strcmp(launcher, "hydra") == 0 || strcmp(launcher, "mvapich") == 0;
    const enum family family = of_mpich ? MPICH : OPEN_MPI;
    struct mpi its;

    if (!of_mpich && strcmp(launcher, "openmpi") != 0)
        return;
    read_mpi(program, &its);
    if (its.family != family && (its.family == OPEN_MPI || its.family == MPICH))
        text_add(notes,
                 "%s needs %s of %s, and a launcher of %s starts it: each rank may be a job of its "
                 "own; use the mpiexec of its own MPI\n",
                 program, its.name, names[its.family], names[family]);
}

bool gpu_aware_knows_launcher(char *const *env)
{
    return find_launcher(env) < sizeof launchers / sizeof *launchers;
}

int gpu_aware_check(enum gpu_aware mode, const char *program, char *const *env,
                    struct gpubind_error *err)
{
    char path[PATH_MAX];

    return mode == GPU_AWARE_ON ? find_library(program, env, path, err) : 0;
}

int gpu_aware_environment(enum gpu_aware mode, const char *program, char *const *env,
                          struct env_list *list, struct text *outcome, bool *aside,
                          struct gpubind_error *err)
{
    char path[PATH_MAX], *off;

    *aside = false;
    if (mode == GPU_AWARE_NOT_GIVEN)
        return 0;
    if (mode == GPU_AWARE_OFF) {
        off = strdup("off");
        if (!off)
            return error_set(err, "out of memory");
        add(list, "GPUBIND_GPU_AWARE", off);
        return 0;
    }
    if (find_library(program, env, path, err) == 0) {
        text_add(outcome, "GPU-aware: %s is preloaded\n", path);
        return preload(path, mode == GPU_AWARE_ON ? "on" : "auto", env, list, err);
    }
    if (mode == GPU_AWARE_ON)
        return -1;
    *aside = true;
    text_add(outcome, "GPU-aware steps aside: %s\n", err->text);
    return 0;
}
