/* How GPUs and NICs reach each other, in the codes of nvidia-smi topo. */
#ifndef GPUBIND_CORE_TOPO_LINK_MATRIX_H
#define GPUBIND_CORE_TOPO_LINK_MATRIX_H

#include "core/topo/node.h"

enum connection_kind {
    CONNECTION_SELF, /* in order of nvidia-smi's legend */
    CONNECTION_SYS,
    CONNECTION_NODE,
    CONNECTION_PHB,
    CONNECTION_PXB,
    CONNECTION_PIX,
    CONNECTION_MIG,    /* another instance of the same GPU */
    CONNECTION_TILE,   /* another tile of the same card */
    CONNECTION_NVLINK, /* with a number of links */
    CONNECTION_XGMI,   /* with GB/s */
    CONNECTION_XELINK, /* likewise */
    CONNECTIONS
};

struct connection {
    enum connection_kind kind;
    unsigned number; /* 0: the code has none */
};

/* Between the GPUs, or the GPU and the NIC, at these positions. */
struct connection connection_of_gpus(const struct node *node, int from, int to);
struct connection connection_of_nic(const struct node *node, int gpu, int nic);

/* "NV4" */
void connection_code(struct connection connection, char code[16]);

/* The code as a legend has it ("NV#"), and what it means. */
const char *connection_letters(enum connection_kind kind);
const char *connection_meaning(enum connection_kind kind);

#endif
