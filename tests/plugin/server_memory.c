/* malloc() and its relatives, in place of the C library's for the whole process, plugins
 * included: they count, and fail when server_watch.c says so. What allocates inside of
 * the C library (strdup, getline, fopen ...) is here as well, since there the caller of
 * malloc() is the library. */
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/plugin/server.h"

#define CALLER __builtin_return_address(0)

static size_t nblocks, nbytes;

void memory_total(size_t *blocks, size_t *bytes)
{
    *blocks = __atomic_load_n(&nblocks, __ATOMIC_RELAXED);
    *bytes = __atomic_load_n(&nbytes, __ATOMIC_RELAXED);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__

/* The C library's own function behind the one here. */
static void *behind(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    if (!function)
        abort();
    return function;
}

static void came(void *block)
{
    if (!block)
        return;
    __atomic_add_fetch(&nblocks, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&nbytes, malloc_usable_size(block), __ATOMIC_RELAXED);
}

static void went(size_t usable)
{
    __atomic_sub_fetch(&nblocks, 1, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&nbytes, usable, __ATOMIC_RELAXED);
}

static void *keep(void *block, size_t size, const void *caller)
{
    came(block);
    if (watch_is(caller))
        blocks_add(block, size, caller);
    return block;
}

static void *allocate(size_t size, const void *caller)
{
    static void *(*next)(size_t);

    if (!next)
        *(void **)&next = behind("malloc");
    return keep(next(size), size, caller);
}

void *malloc(size_t size)
{
    return watch_refuses(CALLER, "malloc", size) ? NULL : allocate(size, CALLER);
}

void *calloc(size_t n, size_t size)
{
    static void *(*next)(size_t, size_t);

    if (watch_refuses(CALLER, "calloc", n * size))
        return NULL;
    if (!next)
        *(void **)&next = behind("calloc");
    return keep(next(n, size), n * size, CALLER);
}

/* Whoever asked for a block first goes on holding it. */
static void *resize(void *block, size_t size, const void *caller)
{
    static void *(*next)(void *, size_t);
    size_t usable = malloc_usable_size(block);
    const void *owner = blocks_remove(block);
    void *moved;

    if (!next)
        *(void **)&next = behind("realloc");
    moved = next(block, size);
    if (!moved && size > 0) {
        if (owner)
            blocks_add(block, usable, owner);
        return NULL;
    }
    if (block)
        went(usable);
    came(moved);
    if (moved && (owner || watch_is(caller)))
        blocks_add(moved, size, owner ? owner : caller);
    return moved;
}

void *realloc(void *block, size_t size)
{
    return watch_refuses(CALLER, "realloc", size) ? NULL : resize(block, size, CALLER);
}

void *reallocarray(void *block, size_t n, size_t size)
{
    size_t all;

    if (__builtin_mul_overflow(n, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return watch_refuses(CALLER, "reallocarray", all) ? NULL : resize(block, all, CALLER);
}

void free(void *block)
{
    static void (*next)(void *);

    if (!next)
        *(void **)&next = behind("free");
    if (!block)
        return;
    went(malloc_usable_size(block));
    blocks_remove(block);
    next(block);
}

static void *allocate_aligned(size_t alignment, size_t size, const void *caller)
{
    static void *(*next)(size_t, size_t);

    if (!next)
        *(void **)&next = behind("memalign");
    return keep(next(alignment, size), size, caller);
}

void *memalign(size_t alignment, size_t size)
{
    return watch_refuses(CALLER, "memalign", size) ? NULL
                                                   : allocate_aligned(alignment, size, CALLER);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return watch_refuses(CALLER, "aligned_alloc", size) ? NULL
                                                        : allocate_aligned(alignment, size, CALLER);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    void *made;

    if (watch_refuses(CALLER, "posix_memalign", size))
        return ENOMEM;
    made = allocate_aligned(alignment, size, CALLER);
    if (!made)
        return ENOMEM;
    *block = made;
    return 0;
}

static char *copy_text(const char *text, size_t length, const void *caller)
{
    char *copy = allocate(length + 1, caller);

    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *strdup(const char *text)
{
    size_t length = strlen(text);

    return watch_refuses(CALLER, "strdup", length + 1) ? NULL : copy_text(text, length, CALLER);
}

char *strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);

    return watch_refuses(CALLER, "strndup", length + 1) ? NULL : copy_text(text, length, CALLER);
}

__attribute__((format(printf, 2, 0))) static int print_text(char **text, const char *format,
                                                            va_list args, const char *function,
                                                            const void *caller)
{
    va_list again;
    int length;

    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *text = NULL;
    if (length < 0 || watch_refuses(caller, function, (size_t)length + 1))
        return -1;
    *text = allocate((size_t)length + 1, caller);
    return *text ? vsnprintf(*text, (size_t)length + 1, format, args) : -1;
}

int vasprintf(char **text, const char *format, va_list args)
{
    return print_text(text, format, args, "vasprintf", CALLER);
}

int asprintf(char **text, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = print_text(text, format, args, "asprintf", CALLER);
    va_end(args);
    return length;
}

/* What these two become under _FORTIFY_SOURCE. */
int __vasprintf_chk(char **text, int flag, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int __asprintf_chk(char **text, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int __vasprintf_chk(char **text, int flag, const char *format, va_list args)
{
    (void)flag;
    return print_text(text, format, args, "vasprintf", CALLER);
}

int __asprintf_chk(char **text, int flag, const char *format, ...)
{
    va_list args;
    int length;

    (void)flag;
    va_start(args, format);
    length = print_text(text, format, args, "asprintf", CALLER);
    va_end(args);
    return length;
}
#endif
