/* Changes to XML that leave it XML, mostly: bytes flipped at random are refused by the
 * first reader, and what lies behind it is never seen. */
#include <string.h>

#include "tests/cases.h"
#include "tests/fuzz/fuzz.h"

struct span {
    size_t at, length;
};

/* What lies between two bytes, the next from somewhere on; empty where there is none. */
static struct span some_span(struct dice *dice, const char *bytes, size_t size, char first,
                             char last)
{
    size_t from = size ? (size_t)dice_below(dice, (int)size) : 0;
    const char *begin = memchr(bytes + from, first, size - from), *end;

    end = begin ? memchr(begin + 1, last, size - (size_t)(begin + 1 - bytes)) : NULL;
    if (!end)
        return (struct span){from, 0};
    return (struct span){(size_t)(begin + 1 - bytes), (size_t)(end - begin - 1)};
}

/* Puts length bytes of text in the place of a span; the new size, or the old one where
 * there is no room. */
static size_t replace(char *bytes, size_t size, size_t room, struct span span, const char *text,
                      size_t length)
{
    char copy[512];
    size_t behind = span.at + span.length;

    if (length > sizeof copy || size - span.length + length > room)
        return size;
    memcpy(copy, text, length); /* may be a piece of bytes */
    memmove(bytes + span.at + length, bytes + behind, size - behind);
    memcpy(bytes + span.at, copy, length);
    return size - span.length + length;
}

/* Values are between quotation marks, elements between angle brackets. */
static size_t change(struct dice *dice, char *bytes, size_t size, size_t room)
{
    static const char *const values[] = {"",
                                         "0",
                                         "1",
                                         "-1",
                                         "31",
                                         "70000",
                                         "4294967295",
                                         "18446744073709551616",
                                         "0x0",
                                         "0x1",
                                         "0x3",
                                         "0xf...f",
                                         "0x1,0x0,0x0",
                                         "xyz",
                                         "&#10;",
                                         "Machine",
                                         "Package",
                                         "PU",
                                         "Core",
                                         "NUMANode",
                                         "Group",
                                         "L3Cache",
                                         "Bridge",
                                         "PCIDev",
                                         "OSDev",
                                         "Misc",
                                         "MemCache",
                                         "0000:01:00.0",
                                         "0302 [10de:2330] [10de:16c1] a1",
                                         "nvml0",
                                         "cuda0",
                                         "NVIDIAUUID",
                                         "MIGUUID",
                                         "NVLinkBandwidth"};
    struct span value = some_span(dice, bytes, size, '"', '"'), other;
    const char *word = values[dice_below(dice, sizeof values / sizeof values[0])];

    switch (dice_below(dice, 5)) {
    case 0:
    case 1:
        return replace(bytes, size, room, value, word, strlen(word));
    case 2:
        other = some_span(dice, bytes, size, '"', '"');
        return replace(bytes, size, room, value, bytes + other.at, other.length);
    case 3:
        return replace(bytes, size, room, some_span(dice, bytes, size, '>', '>'), "", 0);
    default:
        other = some_span(dice, bytes, size, '>', '>');
        value = (struct span){some_span(dice, bytes, size, '>', '<').at, 0};
        return replace(bytes, size, room, value, bytes + other.at,
                       other.length + (other.at + other.length < size));
    }
}

size_t fuzz_mutate_xml(char *bytes, size_t size, size_t room, unsigned seed)
{
    struct dice dice = {((uint64_t)seed + 1) * 0x100000001b3u};

    for (int changes = 1 + dice_below(&dice, 3); changes > 0; changes--)
        size = change(&dice, bytes, size, room);
    return size;
}
