/* Checks message headers that another process wrote. */
#include "core/msg/msg_header.h"

#include <string.h>

struct front {
    uint32_t magic;
    uint8_t version, kind;
};

void wire_sign(void *message, enum wire_kind kind)
{
    struct front front = {WIRE_MAGIC, WIRE_VERSION, (uint8_t)kind};

    memcpy(message, &front, offsetof(struct front, kind) + 1);
}

enum wire_kind wire_kind(const void *message)
{
    return (enum wire_kind)((const unsigned char *)message)[offsetof(struct front, kind)];
}

static size_t smallest(enum wire_kind kind)
{
    switch (kind) {
    case WIRE_RTS:
    case WIRE_RELEASE:
    case WIRE_DATA:
        return sizeof(struct wire_header);
    case WIRE_CTS:
    case WIRE_CREDIT:
        return sizeof(struct wire_cts);
    }
    return SIZE_MAX;
}

int wire_check(const void *message, size_t nbytes, struct gpubind_error *err)
{
    struct front front = {0};
    struct wire_header header;
    size_t wanted;

    if (nbytes >= sizeof(struct wire_cts))
        memcpy(&front, message, sizeof front);
    if (front.magic != WIRE_MAGIC)
        return error_set(err, "%zu bytes arrived that are no message of gpubind", nbytes);
    if (front.version != WIRE_VERSION)
        return error_set(err, "a rank runs another version of gpubind (messages %u, here %u)",
                         (unsigned)front.version, WIRE_VERSION);
    wanted = smallest((enum wire_kind)front.kind);
    if (nbytes < wanted)
        return error_set(err, "a message of kind %u with %zu bytes arrived", (unsigned)front.kind,
                         nbytes);
    if (front.kind == WIRE_CTS || front.kind == WIRE_CREDIT)
        return 0;
    memcpy(&header, message, sizeof header);
    if (header.flags & WIRE_EAGER && header.nbytes != nbytes - sizeof header)
        return error_set(err, "a message announces %llu bytes and carries %zu",
                         (unsigned long long)header.nbytes, nbytes - sizeof header);
    return 0;
}
