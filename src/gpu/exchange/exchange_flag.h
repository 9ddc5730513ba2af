/* A GPU sync flag, 64 bits; included by the host, by nvcc and by the simulated driver.
 *
 * The low half is 0 or 1 as in exchange.h, and is all that an exchange writes. A high half other
 * than 0 marks the channel as broken for good, and ends every wait. The kernel then copies nothing
 * and sets no flag; stream memory operations have no conditions, so a send that they order still
 * copies and sets its flag. The host learns of the failure by other means, earlier: channel.c. */
#ifndef GPUBIND_GPU_EXCHANGE_EXCHANGE_FLAG_H
#define GPUBIND_GPU_EXCHANGE_EXCHANGE_FLAG_H

#define EXCHANGE_FLAG 8 /* bytes */
/* All 64 bits. The low half is set, too, so that drivers with 32-bit waits end one wait. */
#define EXCHANGE_FLAG_BROKEN 0x100000001ull

#endif
