# libgpubind-aware: MPI functions that take GPU memory, for an MPI that does not. It stands before
# MPI, and libgpubind where a program uses that: LD_PRELOAD, or -lgpubind-aware before them.
# libgpubind-aware is MPICC's. The others, of the same sources, are for programs of other MPIs, which
# gpubind --gpu-aware chooses between (src/host/launch/gpu_aware.c).

# The functions that stand in for MPI's, by both names (src/aware/base/next.h).
aware_stand_ins = \
	src/aware/api/attach.c \
	src/aware/api/collectives.c src/aware/api/collectives_list.h \
	src/aware/api/comms.c \
	src/aware/api/constructors.c \
	src/aware/api/errhandlers.c \
	src/aware/api/files.c \
	src/aware/api/grequests.c \
	src/aware/api/one_sided.c \
	src/aware/api/op_create.c \
	src/aware/api/p2p.c \
	src/aware/api/packing.c \
	src/aware/api/partitioned.c \
	src/aware/api/probes.c \
	src/aware/api/queries.c \
	src/aware/api/sendrecv.c \
	src/aware/api/spawn.c \
	src/aware/api/statuses.c \
	src/aware/api/waits.c \
	src/aware/api/waits_lists.c \
	src/aware/api/window_attributes.c \
	src/aware/api/window_epochs.c \
	src/aware/api/windows.c
aware_sources = \
	src/aware/memory/attached.c src/aware/memory/attached.h \
	src/aware/request/application.c src/aware/request/application.h \
	src/aware/request/calls.c src/aware/request/calls.h \
	src/aware/request/carried.c src/aware/request/carried.h \
	src/aware/coll/coll_blocks.c src/aware/coll/coll_blocks.h \
	src/aware/coll/coll_buffers.c src/aware/coll/coll_buffers.h \
	src/aware/coll/coll_comm.c src/aware/coll/coll_comm.h \
	src/aware/coll/coll_direct.c src/aware/coll/coll_direct.h \
	src/aware/coll/coll_moves.c src/aware/coll/coll_moves.h \
	src/aware/coll/coll_nccl.c src/aware/coll/coll_nccl.h \
	src/aware/coll/coll_traced.c src/aware/coll/coll_traced.h \
	src/aware/coll/coll_ways.c src/aware/coll/coll_ways.h \
	src/aware/coll/neighbours.c src/aware/coll/neighbours.h \
	src/aware/memory/copy_stream.c src/aware/memory/copy_stream.h \
	src/aware/base/counts.c src/aware/base/counts.h \
	src/aware/base/creations.c src/aware/base/creations.h \
	src/aware/message/direct_ask.c src/aware/message/direct_ask.h \
	src/aware/message/direct_data.c src/aware/message/direct_data.h \
	src/aware/message/direct_export.c src/aware/message/direct_export.h \
	src/aware/message/direct_memory.c src/aware/message/direct_memory.h \
	src/aware/message/direct_receive.c src/aware/message/direct_receive.h \
	src/aware/message/direct_search.c src/aware/message/direct_search.h \
	src/aware/message/direct_segment.c src/aware/message/direct_segment.h \
	src/aware/message/direct_send.c src/aware/message/direct_send.h \
	src/aware/message/direct_token.h \
	$(aware_stand_ins) \
	src/aware/api/ending.c src/aware/api/ending.h \
	src/aware/io/file_buffers.c src/aware/io/file_buffers.h \
	src/aware/io/file_pieces.c src/aware/io/file_pieces.h \
	src/aware/memory/gpu_buffer.c src/aware/memory/gpu_buffer.h \
	src/aware/memory/gpu_memory.c src/aware/memory/gpu_memory.h \
	src/aware/memory/gpu_pool.c src/aware/memory/gpu_pool.h \
	src/aware/memory/host_pool.c src/aware/memory/host_pool.h \
	src/aware/memory/kernel_start.c src/aware/memory/kernel_start.h \
	src/aware/request/generalized.c src/aware/request/generalized.h \
	src/aware/request/matched.c src/aware/request/matched.h \
	src/aware/base/handlers.c src/aware/base/handlers.h \
	src/aware/base/stand_ins.h \
	src/aware/base/info.c src/aware/base/info.h \
	src/aware/base/next.c src/aware/base/next.h \
	src/aware/message/outgoing.c src/aware/message/outgoing.h \
	src/aware/message/outgoing_slots.c src/aware/message/outgoing_slots.h \
	src/aware/request/persistent.c src/aware/request/persistent.h \
	src/aware/reduce/gpu_reduction.c src/aware/reduce/gpu_reduction.h \
	src/aware/request/operations.c src/aware/request/operations.h \
	src/aware/reduce/reductions.c src/aware/reduce/reductions.h \
	src/aware/message/progress.c src/aware/message/progress.h \
	src/aware/request/request_write.c \
	src/aware/request/requests.c src/aware/request/requests.h src/aware/request/staged_request.h \
	src/aware/request/requests_freed.c \
	src/aware/request/requests_pull.c \
	src/aware/request/several.c src/aware/request/several.h \
	src/aware/base/setting.c src/aware/base/setting.h \
	src/aware/message/staged.c src/aware/message/staged.h src/aware/message/staged_part.h \
	src/aware/message/staged_write.c \
	src/aware/base/start.c src/aware/base/start.h \
	src/aware/base/traced.c src/aware/base/traced.h \
	src/aware/base/undo.c src/aware/base/undo.h \
	src/aware/memory/sparse_block.c src/aware/memory/sparse_block.h \
	src/aware/memory/typed.c src/aware/memory/typed.h \
	src/aware/memory/typed_kernel.c src/aware/memory/typed_kernel.h \
	src/aware/memory/typed_shape.c src/aware/memory/typed_shape.h \
	src/aware/memory/typed_table.c src/aware/memory/typed_table.h \
	src/aware/memory/typed_walk.c src/aware/memory/typed_walk.h \
	src/aware/rma/window.c src/aware/rma/window.h \
	src/aware/rma/window_accumulate.c \
	src/aware/rma/window_buffer.c src/aware/rma/window_buffer.h \
	src/aware/rma/window_allocate.c src/aware/rma/window_allocate.h \
	src/aware/rma/window_far.c src/aware/rma/window_far.h \
	src/aware/rma/window_handle.c \
	src/aware/rma/window_later.c src/aware/rma/window_later.h \
	src/aware/rma/window_mirror.c src/aware/rma/window_mirror.h \
	src/aware/rma/window_move.c src/aware/rma/window_move.h \
	src/aware/rma/window_on_gpu.c src/aware/rma/window_on_gpu.h \
	src/aware/rma/window_op.c src/aware/rma/window_op.h \
	src/aware/rma/window_place.c src/aware/rma/window_place.h \
	src/aware/rma/window_regions.c \
	src/aware/rma/window_sync.c src/aware/rma/window_sync.h \
	src/aware/base/world_ranks.c src/aware/base/world_ranks.h \
	src/mpi/base/nvtx_part.c src/mpi/base/nvtx_part.h \
	src/mpi/base/trace_part.c src/mpi/base/trace_part.h \
	src/mpi/datatype/type_basic.c src/mpi/datatype/type_cache.h \
	src/mpi/datatype/type_contents.c src/mpi/datatype/type_contents.h \
	src/mpi/datatype/type_darray.c src/mpi/datatype/type_darray.h \
	src/mpi/datatype/type_flatten.c src/mpi/datatype/type_flatten.h \
	src/mpi/datatype/type_regular.c src/mpi/datatype/type_regular.h
# Not for the MPI standard's ABI, which has no Fortran.
aware_fortran = src/aware/api/attributes_fortran.c src/aware/api/errhandlers_fortran.c
aware_flags = $(AM_CFLAGS) $(HIDDEN_CFLAGS) -pthread
aware_ldflags = -version-info 1:0:1 -pthread
aware_libs = src/gpu/libgpubind-gpu.la src/core/libgpubind-core.la
# No static library: the dynamic linker alone puts it before MPI.
aware_shared = --tag=disable-static
aware_pmpi = $(AM_CPPFLAGS) -DAWARE_PMPI

if HAVE_MPI
lib_LTLIBRARIES += src/aware/libgpubind-aware.la
noinst_LTLIBRARIES += src/aware/libpmpi.la
endif
src_aware_libpmpi_la_LIBTOOLFLAGS = $(aware_shared)
src_aware_libpmpi_la_CPPFLAGS = $(aware_pmpi)
src_aware_libpmpi_la_CFLAGS = $(aware_flags) $(MPI_CFLAGS)
src_aware_libpmpi_la_SOURCES = $(aware_stand_ins)
src_aware_libgpubind_aware_la_LIBTOOLFLAGS = $(aware_shared)
src_aware_libgpubind_aware_la_CFLAGS = $(aware_flags) $(MPI_CFLAGS)
src_aware_libgpubind_aware_la_LDFLAGS = $(aware_ldflags)
src_aware_libgpubind_aware_la_LIBADD = src/aware/libpmpi.la $(aware_libs) $(MPI_LIBS)
src_aware_libgpubind_aware_la_SOURCES = $(aware_sources) $(aware_fortran)

# The MPIs of MPICH's ABI are called libmpich.so.12 or libmpi.so.12: this library needs none by name,
# and finds the program's when it is called (src/aware/base/next.c); until then its symbols of MPI are
# undefined, which MPI_LAZY allows whatever a packager's LDFLAGS say.
if FOR_MPICH
lib_LTLIBRARIES += src/aware/libgpubind-aware-mpich.la
noinst_LTLIBRARIES += src/aware/libpmpi-mpich.la
endif
src_aware_libpmpi_mpich_la_LIBTOOLFLAGS = $(aware_shared)
src_aware_libpmpi_mpich_la_CPPFLAGS = $(aware_pmpi) -DGPUBIND_MPI_OF_PROGRAM
src_aware_libpmpi_mpich_la_CFLAGS = $(aware_flags) $(MPICH_CFLAGS)
src_aware_libpmpi_mpich_la_SOURCES = $(aware_stand_ins)
src_aware_libgpubind_aware_mpich_la_LIBTOOLFLAGS = $(aware_shared)
src_aware_libgpubind_aware_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) -DGPUBIND_MPI_OF_PROGRAM
src_aware_libgpubind_aware_mpich_la_CFLAGS = $(aware_flags) $(MPICH_CFLAGS)
src_aware_libgpubind_aware_mpich_la_LDFLAGS = $(aware_ldflags)
src_aware_libgpubind_aware_mpich_la_LIBADD = src/aware/libpmpi-mpich.la $(aware_libs) $(MPI_LAZY)
src_aware_libgpubind_aware_mpich_la_SOURCES = $(aware_sources) $(aware_fortran)

if FOR_OPENMPI
lib_LTLIBRARIES += src/aware/libgpubind-aware-openmpi.la
noinst_LTLIBRARIES += src/aware/libpmpi-openmpi.la
endif
src_aware_libpmpi_openmpi_la_LIBTOOLFLAGS = $(aware_shared)
src_aware_libpmpi_openmpi_la_CPPFLAGS = $(aware_pmpi)
src_aware_libpmpi_openmpi_la_CFLAGS = $(aware_flags) $(OPENMPI_CFLAGS)
src_aware_libpmpi_openmpi_la_SOURCES = $(aware_stand_ins)
src_aware_libgpubind_aware_openmpi_la_LIBTOOLFLAGS = $(aware_shared)
src_aware_libgpubind_aware_openmpi_la_CFLAGS = $(aware_flags) $(OPENMPI_CFLAGS)
src_aware_libgpubind_aware_openmpi_la_LDFLAGS = $(aware_ldflags)
src_aware_libgpubind_aware_openmpi_la_LIBADD = src/aware/libpmpi-openmpi.la $(aware_libs) $(OPENMPI_LIBS)
src_aware_libgpubind_aware_openmpi_la_SOURCES = $(aware_sources) $(aware_fortran)

# The MPI standard's ABI: the same handles and numbers in each MPI that has it, and in each the name
# libmpi_abi.so.1.
if FOR_MPI_ABI
lib_LTLIBRARIES += src/aware/libgpubind-aware-mpi-abi.la
noinst_LTLIBRARIES += src/aware/libpmpi-mpi-abi.la
endif
src_aware_libpmpi_mpi_abi_la_LIBTOOLFLAGS = $(aware_shared)
src_aware_libpmpi_mpi_abi_la_CPPFLAGS = $(aware_pmpi)
src_aware_libpmpi_mpi_abi_la_CFLAGS = $(aware_flags) $(MPI_ABI_CFLAGS)
src_aware_libpmpi_mpi_abi_la_SOURCES = $(aware_stand_ins)
src_aware_libgpubind_aware_mpi_abi_la_LIBTOOLFLAGS = $(aware_shared)
src_aware_libgpubind_aware_mpi_abi_la_CFLAGS = $(aware_flags) $(MPI_ABI_CFLAGS)
src_aware_libgpubind_aware_mpi_abi_la_LDFLAGS = $(aware_ldflags)
src_aware_libgpubind_aware_mpi_abi_la_LIBADD = src/aware/libpmpi-mpi-abi.la $(aware_libs) $(MPI_LAZY)
src_aware_libgpubind_aware_mpi_abi_la_SOURCES = $(aware_sources)
