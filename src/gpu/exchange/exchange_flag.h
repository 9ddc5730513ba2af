/* A GPU sync flag, 64 bits; read by the host, by nvcc and by the simulated driver.
 *
 * Its low half is what exchange.h says, 0 or 1, and is all that the work of an exchange
 * writes. A high half other than 0 says that the channel is broken, for good: every wait
 * ends. The kernel then copies nothing and tells nobody; stream memory operations know
 * no condition, so that a send which they wait for copies and tells after all. The host
 * says so to itself by other means, before; see channel.c. */
#ifndef GPUBIND_GPU_EXCHANGE_EXCHANGE_FLAG_H
#define GPUBIND_GPU_EXCHANGE_EXCHANGE_FLAG_H

#define EXCHANGE_FLAG 8 /* bytes */
/* Of a whole flag. The low half is set for drivers that wait for 32 bits: one wait there
 * goes on. */
#define EXCHANGE_FLAG_BROKEN 0x100000001ull

#endif
