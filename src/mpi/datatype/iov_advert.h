/* Advertised iovs: a waiting receive with an irregular datatype tells the senders of the node
 * where its pieces lie, so that a sender copies straight to them. */
#ifndef GPUBIND_MPI_DATATYPE_IOV_ADVERT_H
#define GPUBIND_MPI_DATATYPE_IOV_ADVERT_H

#include "mpi/core/domain.h"
#include "mpi/core/request.h"

/* The receiver: publishes the iov of the receive's type in its part of shared memory, and its name
 * in the advertisement of the buffer. false: another receive uses the room, or the iov is too
 * long. */
bool iov_advert_publish(struct gpubind_operation *receive, struct rtr *rtr);
/* The advertisement has ended: the room is free for another. */
void iov_advert_withdraw(const struct gpubind_operation *receive);

/* The sender, which has taken the advertisement: the table for the published iov. It stays the
 * library's. NULL: out of memory, or the iov was replaced. */
struct iov_table *iov_advert_read(const struct domain *domain, const struct peer *peer,
                                  const struct rtr *rtr);
/* Frees the tables of a domain that ends, or (NULL) all. */
void iov_advert_forget(const struct domain *domain);

#endif
