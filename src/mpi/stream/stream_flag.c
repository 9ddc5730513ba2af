#include "mpi/stream/stream_flag.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cuda/page_locked.h"

#define CHUNK (256u << 10)
#define APART 64 /* a cache line each: the CPU writes some while GPUs read others */
#define WORDS (CHUNK / APART)

static struct word *spare;

/* The words are never freed: see page_locked.h. */
static bool make_words(struct gpubind_error *err)
{
    struct word *words = calloc(WORDS, sizeof *words);
    char *at = words ? page_locked(CHUNK, err) : NULL;

    if (!words)
        error_set(err, "out of memory");
    if (!at) {
        free(words);
        return false;
    }
    for (unsigned i = 0; i < WORDS; i++) {
        words[i].at = (_Atomic uint32_t *)(void *)(at + (size_t)i * APART);
        word_give(&words[i]);
    }
    return true;
}

void words_unpinned(void)
{
    spare = NULL;
}

struct word *word_take(struct gpubind_error *err)
{
    struct word *word;

    if (!spare && !make_words(err))
        return NULL;
    word = spare;
    spare = word->next;
    return word;
}

void word_give(struct word *word)
{
    word->next = spare;
    spare = word;
}

void word_open(struct word *word)
{
    atomic_store_explicit(word->at, word->value, memory_order_release);
}

bool word_has(const struct word *word, uint32_t value)
{
    return (int32_t)(atomic_load_explicit(word->at, memory_order_acquire) - value) >= 0;
}

static cuda_address address(const struct word *word)
{
    return (cuda_address)(uintptr_t)word->at;
}

int word_write_in(const struct word *word, struct CUstream_st *stream)
{
    return gpu_driver()->cuStreamWriteValue32_v2(stream, address(word), word->value, 0);
}

int word_wait_in(const struct word *word, struct CUstream_st *stream)
{
    return gpu_driver()->cuStreamWaitValue32_v2(stream, address(word), word->value,
                                                CUDA_WAIT_GEQ);
}
