/* Which of a process's slots are used by its direct messages (outgoing.h). Any thread may call these. */
#ifndef GPUBIND_AWARE_OUTGOING_SLOTS_H
#define GPUBIND_AWARE_OUTGOING_SLOTS_H

#include "aware/message/outgoing.h"

/* For a message, until outgoing_release, or until after outgoing_complete the receiver has it. small: its
 * descriptor is as long as itself. NULL: all are used. */
struct outgoing *outgoing_take(bool small);
/* A slot with shorter descriptors than the i-th has, if one of that may be under way. NULL: none is, or there is
 * no such slot; then the i-th has none from now on. */
struct outgoing *outgoing_take_below(int i);
/* It was not sent. */
void outgoing_release(struct outgoing *out);
/* The application's send is complete. */
void outgoing_complete(struct outgoing *out);

/* An enum direct_state. */
uint32_t outgoing_state(const struct outgoing *out);
/* Nobody will take it. */
bool outgoing_is_lost(const struct outgoing *out);
/* The receiver has what was sent, or never will. */
bool outgoing_is_left(const struct outgoing *out);

#endif
