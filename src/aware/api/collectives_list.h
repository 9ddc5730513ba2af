/* Every collective function that takes buffers: EACH(name, nonblocking name, root, bytes, direct,
 * staging, parameters, arguments), for one width of counts; included by collectives.c alone. */

EACH(Bcast, Ibcast, root, elements_bytes(count, datatype),
     coll_direct_bcast(&coll, &result, buffer, count, datatype),
     coll_bcast(b, &coll, buffer, count, datatype),
     (void *buffer, COUNT count, MPI_Datatype datatype, int root, MPI_Comm comm),
     (b[0].host, count, datatype, root, comm))

EACH(Reduce, Ireduce, root, elements_bytes(count, datatype),
     coll_direct_reduce(&coll, &result, sendbuf, recvbuf, count, datatype, op),
     coll_reduce(b, &coll, sendbuf, recvbuf, count, count, datatype, false),
     (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, int root,
      MPI_Comm comm),
     (b[0].host, b[1].host, count, datatype, op, root, comm))

EACH(Allreduce, Iallreduce, NO_ROOT, elements_bytes(count, datatype),
     coll_direct_reduce(&coll, &result, sendbuf, recvbuf, count, datatype, op),
     coll_reduce(b, &coll, sendbuf, recvbuf, count, count, datatype, false),
     (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op,
      MPI_Comm comm),
     (b[0].host, b[1].host, count, datatype, op, comm))

EACH(Scan, Iscan, NO_ROOT, elements_bytes(count, datatype), false,
     coll_reduce(b, &coll, sendbuf, recvbuf, count, count, datatype, false),
     (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op,
      MPI_Comm comm),
     (b[0].host, b[1].host, count, datatype, op, comm))

EACH(Exscan, Iexscan, NO_ROOT, elements_bytes(count, datatype), false,
     coll_reduce(b, &coll, sendbuf, recvbuf, count, count, datatype, true),
     (const void *sendbuf, void *recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op,
      MPI_Comm comm),
     (b[0].host, b[1].host, count, datatype, op, comm))

EACH(Reduce_scatter_block, Ireduce_scatter_block, NO_ROOT, bytes_of_group(&coll, REDUCED_BLOCK),
     coll_direct_reduce_scatter(&coll, &result, sendbuf, recvbuf, recvcount, datatype, op),
     coll_reduce_scatter(b, &coll, sendbuf, recvbuf, (struct numbers){0}, recvcount, datatype),
     (const void *sendbuf, void *recvbuf, COUNT recvcount, MPI_Datatype datatype, MPI_Op op,
      MPI_Comm comm),
     (b[0].host, b[1].host, recvcount, datatype, op, comm))

EACH(Reduce_scatter, Ireduce_scatter, NO_ROOT, bytes_of_group(&coll, REDUCED), false,
     coll_reduce_scatter(b, &coll, sendbuf, recvbuf, COUNTS(recvcounts), 0, datatype),
     (const void *sendbuf, void *recvbuf, const COUNT recvcounts[], MPI_Datatype datatype,
      MPI_Op op, MPI_Comm comm),
     (b[0].host, b[1].host, recvcounts, datatype, op, comm))

EACH(Gather, Igather, root, bytes_of_own(&coll, SENT, GOT),
     coll_direct_gather(&coll, &result, SENT, GOT),
     coll_gather(b, &coll, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
     (SEND, RECV, int root, MPI_Comm comm),
     (b[0].host, sendcount, sendtype, b[1].host, recvcount, recvtype, root, comm))

EACH(Gatherv, Igatherv, root, bytes_of_own(&coll, SENT, GOTV),
     coll_direct_gather(&coll, &result, SENT, GOTV),
     coll_gatherv(b, &coll, sendbuf, sendcount, sendtype, recvbuf, COUNTS(recvcounts),
                  DISPLS(rdispls), recvtype),
     (SEND, RECVV, int root, MPI_Comm comm),
     (b[0].host, sendcount, sendtype, b[1].host, recvcounts, rdispls, recvtype, root, comm))

EACH(Scatter, Iscatter, root, bytes_scattered(&coll, SENT, GOT),
     coll_direct_scatter(&coll, &result, SENT, GOT),
     coll_scatter(b, &coll, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
     (SEND, RECV, int root, MPI_Comm comm),
     (b[0].host, sendcount, sendtype, b[1].host, recvcount, recvtype, root, comm))

EACH(Scatterv, Iscatterv, root, bytes_scattered(&coll, SENTV, GOT),
     coll_direct_scatter(&coll, &result, SENTV, GOT),
     coll_scatterv(b, &coll, sendbuf, COUNTS(sendcounts), DISPLS(sdispls), sendtype, recvbuf,
                   recvcount, recvtype),
     (SENDV, RECV, int root, MPI_Comm comm),
     (b[0].host, sendcounts, sdispls, sendtype, b[1].host, recvcount, recvtype, root, comm))

EACH(Allgather, Iallgather, NO_ROOT, bytes_of_own(&coll, SENT, GOT),
     coll_direct_gather(&coll, &result, SENT, GOT),
     coll_gather(b, &coll, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
     (SEND, RECV, MPI_Comm comm),
     (b[0].host, sendcount, sendtype, b[1].host, recvcount, recvtype, comm))

EACH(Allgatherv, Iallgatherv, NO_ROOT, bytes_of_own(&coll, SENT, GOTV),
     coll_direct_gather(&coll, &result, SENT, GOTV),
     coll_gatherv(b, &coll, sendbuf, sendcount, sendtype, recvbuf, COUNTS(recvcounts),
                  DISPLS(rdispls), recvtype),
     (SEND, RECVV, MPI_Comm comm),
     (b[0].host, sendcount, sendtype, b[1].host, recvcounts, rdispls, recvtype, comm))

EACH(Alltoall, Ialltoall, NO_ROOT, bytes_of_all(&coll, SENT, GOT),
     coll_direct_alltoall(&coll, &result, SENT, GOT),
     coll_alltoall(b, &coll, false, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
     (SEND, RECV, MPI_Comm comm),
     (b[0].host, sendcount, sendtype, b[1].host, recvcount, recvtype, comm))

EACH(Alltoallv, Ialltoallv, NO_ROOT, bytes_of_all(&coll, SENTV, GOTV),
     coll_direct_alltoall(&coll, &result, SENTV, GOTV),
     coll_alltoallv(b, &coll, false, sendbuf, COUNTS(sendcounts), DISPLS(sdispls), sendtype,
                    recvbuf, COUNTS(recvcounts), DISPLS(rdispls), recvtype),
     (SENDV, RECVV, MPI_Comm comm),
     (b[0].host, sendcounts, sdispls, sendtype, b[1].host, recvcounts, rdispls, recvtype, comm))

EACH(Alltoallw, Ialltoallw, NO_ROOT, bytes_of_all(&coll, SENTW, GOTW),
     coll_direct_alltoall(&coll, &result, SENTW, GOTW),
     coll_alltoallw(b, &coll, false, sendbuf, COUNTS(sendcounts), DISPLS(sdispls), sendtypes,
                    recvbuf, COUNTS(recvcounts), DISPLS(rdispls), recvtypes),
     (const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[],
      const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],
      const DISPL rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
     (b[0].host, sendcounts, sdispls, sendtypes, b[1].host, recvcounts, rdispls, recvtypes, comm))

EACH(Neighbor_allgather, Ineighbor_allgather, NO_ROOT, elements_bytes(sendcount, sendtype),
     coll_direct_neighbours(&coll, &result, SENT_TO_ALL, GOT),
     coll_neighbour_gather(b, &coll, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
     (SEND, RECV, MPI_Comm comm),
     (b[0].host, sendcount, sendtype, b[1].host, recvcount, recvtype, comm))

EACH(Neighbor_allgatherv, Ineighbor_allgatherv, NO_ROOT, elements_bytes(sendcount, sendtype),
     coll_direct_neighbours(&coll, &result, SENT_TO_ALL, GOTV),
     coll_neighbour_gatherv(b, &coll, sendbuf, sendcount, sendtype, recvbuf, COUNTS(recvcounts),
                            DISPLS(rdispls), recvtype),
     (SEND, RECVV, MPI_Comm comm),
     (b[0].host, sendcount, sendtype, b[1].host, recvcounts, rdispls, recvtype, comm))

EACH(Neighbor_alltoall, Ineighbor_alltoall, NO_ROOT, bytes_to_neighbours(&coll, SENT),
     coll_direct_neighbours(&coll, &result, SENT, GOT),
     coll_alltoall(b, &coll, true, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
     (SEND, RECV, MPI_Comm comm),
     (b[0].host, sendcount, sendtype, b[1].host, recvcount, recvtype, comm))

EACH(Neighbor_alltoallv, Ineighbor_alltoallv, NO_ROOT, bytes_to_neighbours(&coll, SENTV),
     coll_direct_neighbours(&coll, &result, SENTV, GOTV),
     coll_alltoallv(b, &coll, true, sendbuf, COUNTS(sendcounts), DISPLS(sdispls), sendtype, recvbuf,
                    COUNTS(recvcounts), DISPLS(rdispls), recvtype),
     (SENDV, RECVV, MPI_Comm comm),
     (b[0].host, sendcounts, sdispls, sendtype, b[1].host, recvcounts, rdispls, recvtype, comm))

EACH(Neighbor_alltoallw, Ineighbor_alltoallw, NO_ROOT, bytes_to_neighbours(&coll, SENTW),
     coll_direct_neighbours(&coll, &result, SENTW, GOTW),
     coll_alltoallw(b, &coll, true, sendbuf, COUNTS(sendcounts), DISPLS(sdispls), sendtypes,
                    recvbuf, COUNTS(recvcounts), DISPLS(rdispls), recvtypes),
     (const void *sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],
      const MPI_Datatype sendtypes[], void *recvbuf, const COUNT recvcounts[],
      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
     (b[0].host, sendcounts, sdispls, sendtypes, b[1].host, recvcounts, rdispls, recvtypes, comm))
