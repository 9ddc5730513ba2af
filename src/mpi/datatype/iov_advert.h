/* Irregular types of receives that wait, told to the senders of the node: a sender that
 * knows where each piece lies copies straight there. */
#ifndef GPUBIND_MPI_DATATYPE_IOV_ADVERT_H
#define GPUBIND_MPI_DATATYPE_IOV_ADVERT_H

#include "mpi/core/domain.h"
#include "mpi/core/request.h"

/* The receiver: fills the offer's name for the type, and puts its pieces where the sender
 * finds them. false: another offer has its pieces there, or they are too many. */
bool iov_advert_publish(struct gpubind_operation *receive, struct offer *offer);
/* The offer is over. */
void iov_advert_withdraw(const struct gpubind_operation *receive);

/* The sender, of an offer that it has taken: the offered pieces, which stay the library's.
 * NULL: it cannot have them. */
struct gather *iov_advert_read(const struct domain *domain, const struct peer *peer,
                               const struct offer *offer);
/* The domain, or (NULL) the library ends. */
void iov_advert_forget(const struct domain *domain);

#endif
