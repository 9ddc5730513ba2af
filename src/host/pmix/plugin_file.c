/* Inspects a plugin file and the libpmix that would load it. */
#include "host/pmix/plugin_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/text.h"

#define MAX_SIZE ((size_t)64 << 20)
#define LOAD_SECONDS 10

char *plugin_file_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    size_t room = 65536;
    char *bytes = file ? malloc(room) : NULL;

    *size = 0;
    while (bytes) {
        *size += fread(bytes + *size, 1, room - 1 - *size, file);
        if (*size < room - 1 || room >= MAX_SIZE)
            break;
        room *= 2;
        char *more = realloc(bytes, room);

        if (!more)
            free(bytes);
        bytes = more;
    }
    if (bytes && ferror(file)) {
        int why = errno;

        free(bytes);
        bytes = NULL;
        errno = why;
    }
    if (bytes)
        bytes[*size] = '\0';
    if (file)
        fclose(file);
    return bytes;
}

bool pmix_version_read(const char *text, int version[3])
{
    text += strcspn(text, "0123456789");
    return sscanf(text, "%9d.%9d.%9d", &version[0], &version[1], &version[2]) == 3;
}

/* Kind of machine, by the program that runs: NULL when the object is of that kind. */
static const char *object_fault(const char *bytes, size_t size)
{
    ElfW(Ehdr) object, own;
    FILE *self;
    size_t got;

    if (size < sizeof object || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return "is no shared object";
    memcpy(&object, bytes, sizeof object);
    self = fopen("/proc/self/exe", "re");
    got = self ? fread(&own, sizeof own, 1, self) : 0;
    if (self)
        fclose(self);
    if (got &&
        (memcmp(object.e_ident, own.e_ident, EI_VERSION) != 0 || object.e_machine != own.e_machine))
        return "is for another kind of machine";
    return object.e_type == ET_DYN ? NULL : "is no shared object";
}

/* The sentence that every plugin carries; see plugin/component.c. */
static bool read_identity(const char *bytes, size_t size, struct plugin_file *file)
{
    static const char mark[] = "@gpubind-plugin ";
    const char *at = bytes, *end = bytes + size;
    char version[sizeof file->version], pmix[32], words[128];

    /* The plugin may hold this function, too, and so the mark alone. */
    while ((at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1))) {
        at += sizeof mark - 1;
        /* sscanf looks for the end of all that follows. */
        snprintf(words, sizeof words, "%.*s", (int)sizeof words - 1, at);
        if (sscanf(words, "%31s for PMIx %31s", version, pmix) == 2 &&
            pmix_version_read(pmix, file->pmix)) {
            text_clean(version);
            snprintf(file->version, sizeof file->version, "%s", version);
            return true;
        }
    }
    return false;
}

static void set_state(struct plugin_file *file, enum plugin_file_state state, const char *why)
{
    file->state = state;
    snprintf(file->why, sizeof file->why, "%s", why);
}

void plugin_file_read(const char *root, const char *folder, struct plugin_file *file)
{
    char path[2 * PATH_MAX];
    const char *fault;
    struct stat info;
    size_t size;
    char *bytes;

    memset(file, 0, sizeof *file);
    snprintf(path, sizeof path, "%s%s", root, folder);
    if (stat(path, &info) < 0) {
        set_state(file, PLUGIN_FILE_ABSENT, errno == ENOENT ? "no such folder" : strerror(errno));
        return;
    }
    snprintf(path, sizeof path, "%s%s/%s", root, folder, PLUGIN_FILE);
    /* As for PMIx, a link to nothing is nothing. */
    if (stat(path, &info) < 0) {
        set_state(file, PLUGIN_FILE_ABSENT, errno == ENOENT ? "not there" : strerror(errno));
        return;
    }
    bytes = S_ISREG(info.st_mode) ? plugin_file_bytes(path, &size) : NULL;
    if (!bytes) {
        set_state(file, PLUGIN_FILE_UNREADABLE, "cannot be read: ");
        strncat(file->why, S_ISREG(info.st_mode) ? strerror(errno) : "no file",
                sizeof file->why - strlen(file->why) - 1);
        return;
    }
    fault = object_fault(bytes, size);
    if (fault)
        set_state(file, PLUGIN_FILE_NO_OBJECT, fault);
    else if (!read_identity(bytes, size, file))
        set_state(file, PLUGIN_FILE_NOT_OURS, "does not say that it is gpubind's plugin");
    else
        file->state = PLUGIN_FILE_OURS;
    free(bytes);
}

/* One record per answer: a letter and a NUL-terminated text. */
static void answer(int fd, char what, const char *text)
{
    char line[PATH_MAX + 2];
    int length = snprintf(line, sizeof line, "%c%s", what, text);

    if (length > 0 && write(fd, line, strlen(line) + 1) < 0)
        _exit(1);
}

/* In the child. What a library does when it is loaded is its own affair, so nothing
 * of this may happen in gpubind itself. */
static void load(int fd, const char *path, const char *plugin)
{
    void *library = dlopen(*path ? path : "libpmix.so.2", RTLD_LAZY | RTLD_GLOBAL);
    const char *(*get_version)(void) = NULL;
    struct link_map *map = NULL;
    char real[PATH_MAX];

    if (!library) {
        answer(fd, 'e', dlerror());
        return;
    }
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, real))
        answer(fd, 'p', real);
    *(void **)&get_version = dlsym(library, "PMIx_Get_version");
    if (get_version)
        answer(fd, 'v', get_version());
    else
        answer(fd, 'e', "it has no PMIx_Get_version()");
    if (plugin && !dlopen(plugin, RTLD_LAZY))
        answer(fd, 'x', dlerror());
}

/* The parent's side. */
static void take_answers(int fd, struct pmix_library *library)
{
    char bytes[4 * PATH_MAX];
    size_t size = 0;
    ssize_t got;

    do {
        got = read(fd, bytes + size, sizeof bytes - 1 - size);
        size += got > 0 ? (size_t)got : 0;
    } while (got > 0 || (got < 0 && errno == EINTR));
    bytes[size] = '\0';
    for (size_t at = 0; at < size; at += strlen(bytes + at) + 1) {
        const char *text = bytes + at + 1;

        if (bytes[at] == 'p' && !library->path[0])
            snprintf(library->path, sizeof library->path, "%s", text);
        else if (bytes[at] == 'v')
            snprintf(library->version, sizeof library->version, "%.*s",
                     (int)strcspn(text + strcspn(text, "0123456789"), " "),
                     text + strcspn(text, "0123456789"));
        else if (bytes[at] == 'e')
            snprintf(library->why_not, sizeof library->why_not, "%s", text);
        else if (bytes[at] == 'x')
            snprintf(library->plugin_why_not, sizeof library->plugin_why_not, "%s", text);
    }
    if (!library->version[0] && !library->why_not[0])
        snprintf(library->why_not, sizeof library->why_not, "loading it ends a process");
}

void pmix_library_load(const char *root, const char *plugin, struct pmix_library *library)
{
    char path[2 * PATH_MAX] = "", plugin_path[2 * PATH_MAX];
    int ends[2];
    pid_t child;

    if (library->path[0])
        snprintf(path, sizeof path, "%s%s", root, library->path);
    snprintf(plugin_path, sizeof plugin_path, "%s%s", root, plugin ? plugin : "");
    if (pipe(ends) < 0) {
        snprintf(library->why_not, sizeof library->why_not, "%s", strerror(errno));
        return;
    }
    child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(LOAD_SECONDS);
        load(ends[1], path, plugin ? plugin_path : NULL);
        _exit(0);
    }
    close(ends[1]);
    if (child < 0)
        snprintf(library->why_not, sizeof library->why_not, "%s", strerror(errno));
    else
        take_answers(ends[0], library);
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}
