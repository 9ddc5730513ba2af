# libgpubind-aware: MPI functions that take GPU memory, for an MPI that does not. It stands before
# MPI, and libgpubind where a program uses that: LD_PRELOAD, or -lgpubind-aware before them.
if HAVE_MPI
lib_LTLIBRARIES += src/aware/libgpubind-aware.la
endif

# The functions that stand in for MPI's, by both names (src/aware/next.h).
aware_stand_ins = \
	src/aware/attach.c \
	src/aware/collectives.c src/aware/collectives_list.h \
	src/aware/p2p.c \
	src/aware/refused.c \
	src/aware/waits.c
if HAVE_MPI
noinst_LTLIBRARIES += src/aware/libpmpi.la
endif
src_aware_libpmpi_la_CPPFLAGS = $(AM_CPPFLAGS) -DAWARE_PMPI
src_aware_libpmpi_la_CFLAGS = $(src_aware_libgpubind_aware_la_CFLAGS)
src_aware_libpmpi_la_SOURCES = $(aware_stand_ins)

src_aware_libgpubind_aware_la_CFLAGS = $(AM_CFLAGS) $(HIDDEN_CFLAGS) $(MPI_CFLAGS) -pthread
src_aware_libgpubind_aware_la_LDFLAGS = -version-info 0:0:0 -pthread
src_aware_libgpubind_aware_la_LIBADD = src/aware/libpmpi.la \
	src/gpu/libgpubind-gpu.la src/core/libgpubind-core.la $(MPI_LIBS)
src_aware_libgpubind_aware_la_SOURCES = \
	src/aware/attached.c src/aware/attached.h \
	src/aware/calls.c src/aware/calls.h \
	src/aware/coll_buffers.c src/aware/coll_buffers.h \
	src/aware/copy_stream.c src/aware/copy_stream.h \
	$(aware_stand_ins) \
	src/aware/gpu_buffer.c src/aware/gpu_buffer.h \
	src/aware/host_pool.c src/aware/host_pool.h \
	src/aware/next.c src/aware/next.h \
	src/aware/requests.c src/aware/requests.h \
	src/aware/staged.c src/aware/staged.h \
	src/aware/start.c src/aware/start.h \
	src/aware/typed.c src/aware/typed.h \
	src/mpi/datatype/type_basic.c src/mpi/datatype/type_cache.h \
	src/mpi/datatype/type_contents.c src/mpi/datatype/type_contents.h \
	src/mpi/datatype/type_darray.c src/mpi/datatype/type_darray.h \
	src/mpi/datatype/type_flatten.c src/mpi/datatype/type_flatten.h
