/* FNV-1a, 64 bits (Fowler, Noll, Vo): a digest of texts and bytes, not of secrets. */
#ifndef GPUBIND_CORE_BASE_HASH_H
#define GPUBIND_CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of nothing. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of what HASH is of, followed by SIZE bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *byte = data;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The same for a text without its end. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

#endif
