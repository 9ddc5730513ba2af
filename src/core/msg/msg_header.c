/* Checks message headers that another process wrote. */
#include "core/msg/msg_header.h"

#include <string.h>

struct front {
    uint32_t magic;
    uint8_t version, kind;
};

void msg_sign(void *message, enum msg_kind kind)
{
    struct front front = {MSG_MAGIC, MSG_VERSION, (uint8_t)kind};

    memcpy(message, &front, offsetof(struct front, kind) + 1);
}

enum msg_kind msg_kind(const void *message)
{
    return (enum msg_kind)((const unsigned char *)message)[offsetof(struct front, kind)];
}

static size_t smallest(enum msg_kind kind)
{
    switch (kind) {
    case MSG_RTS:
    case MSG_RELEASE:
    case MSG_DATA:
        return sizeof(struct msg_header);
    case MSG_CTS:
    case MSG_CREDIT:
        return sizeof(struct msg_cts);
    }
    return SIZE_MAX;
}

int msg_check(const void *message, size_t nbytes, struct gpubind_error *err)
{
    struct front front = {0};
    struct msg_header header;
    size_t wanted;

    if (nbytes >= sizeof(struct msg_cts))
        memcpy(&front, message, sizeof front);
    if (front.magic != MSG_MAGIC)
        return error_set(err, "%zu bytes arrived that are no message of gpubind", nbytes);
    if (front.version != MSG_VERSION)
        return error_set(err, "a rank runs another version of gpubind (messages %u, here %u)",
                         (unsigned)front.version, MSG_VERSION);
    wanted = smallest((enum msg_kind)front.kind);
    if (nbytes < wanted)
        return error_set(err, "a message of kind %u with %zu bytes arrived", (unsigned)front.kind,
                         nbytes);
    if (front.kind == MSG_CTS || front.kind == MSG_CREDIT)
        return 0;
    memcpy(&header, message, sizeof header);
    if (header.flags & MSG_EAGER && header.nbytes != nbytes - sizeof header)
        return error_set(err, "a message announces %llu bytes and carries %zu",
                         (unsigned long long)header.nbytes, nbytes - sizeof header);
    return 0;
}
