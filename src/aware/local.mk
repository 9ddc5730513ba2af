# libgpubind-aware: MPI functions that take GPU memory, for an MPI that does not. It stands before
# MPI, and libgpubind where a program uses that: LD_PRELOAD, or -lgpubind-aware before them.
# libgpubind-aware is MPICC's. The others, of the same sources, are for programs of other MPIs, which
# gpubind --gpu-aware chooses between (src/host/launch/gpu_aware.c).

# The functions that stand in for MPI's, by both names (src/aware/next.h).
aware_stand_ins = \
	src/aware/attach.c \
	src/aware/collectives.c src/aware/collectives_list.h \
	src/aware/comms.c \
	src/aware/files.c \
	src/aware/one_sided.c \
	src/aware/p2p.c \
	src/aware/packing.c \
	src/aware/partitioned.c \
	src/aware/spawn.c \
	src/aware/waits.c \
	src/aware/waits_lists.c \
	src/aware/windows.c
aware_sources = \
	src/aware/attached.c src/aware/attached.h \
	src/aware/calls.c src/aware/calls.h \
	src/aware/coll_buffers.c src/aware/coll_buffers.h \
	src/aware/coll_comm.c src/aware/coll_comm.h \
	src/aware/coll_direct.c src/aware/coll_direct.h \
	src/aware/coll_moves.c src/aware/coll_moves.h \
	src/aware/coll_nccl.c src/aware/coll_nccl.h \
	src/aware/coll_ways.c src/aware/coll_ways.h \
	src/aware/copy_stream.c src/aware/copy_stream.h \
	src/aware/counts.c src/aware/counts.h \
	src/aware/direct_ask.c src/aware/direct_ask.h \
	src/aware/direct_data.c src/aware/direct_data.h \
	src/aware/direct_export.c src/aware/direct_export.h \
	src/aware/direct_memory.c src/aware/direct_memory.h \
	src/aware/direct_receive.c src/aware/direct_receive.h \
	src/aware/direct_segment.c src/aware/direct_segment.h \
	src/aware/direct_send.c src/aware/direct_send.h \
	src/aware/direct_token.h \
	$(aware_stand_ins) \
	src/aware/ending.c src/aware/ending.h \
	src/aware/file_buffers.c src/aware/file_buffers.h \
	src/aware/file_pieces.c src/aware/file_pieces.h \
	src/aware/gpu_buffer.c src/aware/gpu_buffer.h \
	src/aware/gpu_pool.c src/aware/gpu_pool.h \
	src/aware/host_pool.c src/aware/host_pool.h \
	src/aware/matched.c src/aware/matched.h \
	src/aware/next.c src/aware/next.h \
	src/aware/outgoing.c src/aware/outgoing.h \
	src/aware/persistent.c src/aware/persistent.h \
	src/aware/progress.c src/aware/progress.h \
	src/aware/requests.c src/aware/requests.h src/aware/staged_request.h \
	src/aware/requests_freed.c \
	src/aware/requests_pull.c \
	src/aware/setting.c src/aware/setting.h \
	src/aware/staged.c src/aware/staged.h \
	src/aware/start.c src/aware/start.h \
	src/aware/typed.c src/aware/typed.h \
	src/aware/window.c src/aware/window.h \
	src/aware/window_later.c src/aware/window_later.h \
	src/aware/window_mirror.c src/aware/window_mirror.h \
	src/aware/window_move.c src/aware/window_move.h \
	src/aware/window_place.c src/aware/window_place.h \
	src/aware/window_regions.c \
	src/aware/window_sync.c src/aware/window_sync.h \
	src/aware/world_ranks.c src/aware/world_ranks.h \
	src/mpi/datatype/type_basic.c src/mpi/datatype/type_cache.h \
	src/mpi/datatype/type_contents.c src/mpi/datatype/type_contents.h \
	src/mpi/datatype/type_darray.c src/mpi/datatype/type_darray.h \
	src/mpi/datatype/type_flatten.c src/mpi/datatype/type_flatten.h \
	src/mpi/datatype/type_regular.c src/mpi/datatype/type_regular.h
aware_flags = $(AM_CFLAGS) $(HIDDEN_CFLAGS) -pthread
aware_ldflags = -version-info 0:0:0 -pthread
aware_libs = src/gpu/libgpubind-gpu.la src/core/libgpubind-core.la
aware_pmpi = $(AM_CPPFLAGS) -DAWARE_PMPI

if HAVE_MPI
lib_LTLIBRARIES += src/aware/libgpubind-aware.la
noinst_LTLIBRARIES += src/aware/libpmpi.la
endif
src_aware_libpmpi_la_CPPFLAGS = $(aware_pmpi)
src_aware_libpmpi_la_CFLAGS = $(aware_flags) $(MPI_CFLAGS)
src_aware_libpmpi_la_SOURCES = $(aware_stand_ins)
src_aware_libgpubind_aware_la_CFLAGS = $(aware_flags) $(MPI_CFLAGS)
src_aware_libgpubind_aware_la_LDFLAGS = $(aware_ldflags)
src_aware_libgpubind_aware_la_LIBADD = src/aware/libpmpi.la $(aware_libs) $(MPI_LIBS)
src_aware_libgpubind_aware_la_SOURCES = $(aware_sources)

# The MPIs of MPICH's ABI are called libmpich.so.12 or libmpi.so.12: this library needs none by name,
# and finds the program's when it is called (src/aware/next.c); until then its symbols of MPI are
# undefined, which AWARE_LAZY allows whatever a packager's LDFLAGS say.
if AWARE_MPICH
lib_LTLIBRARIES += src/aware/libgpubind-aware-mpich.la
noinst_LTLIBRARIES += src/aware/libpmpi-mpich.la
endif
src_aware_libpmpi_mpich_la_CPPFLAGS = $(aware_pmpi)
src_aware_libpmpi_mpich_la_CFLAGS = $(aware_flags) $(MPICH_CFLAGS)
src_aware_libpmpi_mpich_la_SOURCES = $(aware_stand_ins)
src_aware_libgpubind_aware_mpich_la_CFLAGS = $(aware_flags) $(MPICH_CFLAGS)
src_aware_libgpubind_aware_mpich_la_LDFLAGS = $(aware_ldflags)
src_aware_libgpubind_aware_mpich_la_LIBADD = src/aware/libpmpi-mpich.la $(aware_libs) $(AWARE_LAZY)
src_aware_libgpubind_aware_mpich_la_SOURCES = $(aware_sources)

if AWARE_OPENMPI
lib_LTLIBRARIES += src/aware/libgpubind-aware-openmpi.la
noinst_LTLIBRARIES += src/aware/libpmpi-openmpi.la
endif
src_aware_libpmpi_openmpi_la_CPPFLAGS = $(aware_pmpi)
src_aware_libpmpi_openmpi_la_CFLAGS = $(aware_flags) $(OPENMPI_CFLAGS)
src_aware_libpmpi_openmpi_la_SOURCES = $(aware_stand_ins)
src_aware_libgpubind_aware_openmpi_la_CFLAGS = $(aware_flags) $(OPENMPI_CFLAGS)
src_aware_libgpubind_aware_openmpi_la_LDFLAGS = $(aware_ldflags)
src_aware_libgpubind_aware_openmpi_la_LIBADD = src/aware/libpmpi-openmpi.la $(aware_libs) $(OPENMPI_LIBS)
src_aware_libgpubind_aware_openmpi_la_SOURCES = $(aware_sources)
