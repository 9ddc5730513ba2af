# libgpubind: MPI ranks pass GPU memory to each other. libgpubind is MPICC's. The others, of the same
# sources, are for programs of other MPIs, which link with the one of their MPI: pkg-config
# gpubind-mpich, for example.
libgpubind_flags = $(AM_CFLAGS) $(HIDDEN_CFLAGS) -pthread
libgpubind_libs = src/gpu/libgpubind-gpu.la src/core/libgpubind-core.la
libgpubind_cppflags = $(AM_CPPFLAGS) $(FORTRAN_CPPFLAGS)
libgpubind_sources = \
	src/mpi/gpubind.h \
	src/mpi/gpubind_device.cuh \
	src/mpi/api/freed_requests.c src/mpi/api/freed_requests.h \
	src/mpi/api/mem_api.c \
	src/mpi/api/newer_mpi.h \
	src/mpi/api/p2p_api.c \
	src/mpi/api/peer_access_api.c \
	src/mpi/api/persistent_api.c \
	src/mpi/api/pmpi.c src/mpi/api/pmpi.h \
	src/mpi/api/pmpi_blocking.c \
	src/mpi/api/pmpi_counts.h \
	src/mpi/api/probe_api.c \
	src/mpi/api/request_api.c \
	src/mpi/api/sendrecv_replace_api.c \
	src/mpi/api/start.c src/mpi/api/start.h \
	src/mpi/api/stream_api.c \
	src/mpi/api/transport_report.c src/mpi/api/transport_report.h \
	src/mpi/base/config.c src/mpi/base/config.h \
	src/mpi/base/log.c src/mpi/base/log.h \
	src/mpi/base/own_mpi.c src/mpi/base/own_mpi.h \
	src/mpi/base/modules.c src/mpi/base/modules.h \
	src/mpi/base/nvtx_part.c src/mpi/base/nvtx_part.h \
	src/mpi/base/trace.c src/mpi/base/trace.h \
	src/mpi/base/trace_part.c src/mpi/base/trace_part.h \
	src/mpi/core/comm.c src/mpi/core/comm.h \
	src/mpi/core/context.c src/mpi/core/context.h \
	src/mpi/core/domain.c src/mpi/core/domain.h \
	src/mpi/core/domain_make.c \
	src/mpi/core/gate.c src/mpi/core/gate.h \
	src/mpi/core/gpu_users.c src/mpi/core/gpu_users.h \
	src/mpi/core/ipc_refs.c src/mpi/core/ipc_refs.h \
	src/mpi/core/lock.c \
	src/mpi/core/peer_alive.c src/mpi/core/peer_alive.h \
	src/mpi/core/progress.c src/mpi/core/progress.h \
	src/mpi/core/progress_thread.c src/mpi/core/progress_thread.h \
	src/mpi/core/rank_map.c src/mpi/core/rank_map.h \
	src/mpi/core/request.c src/mpi/core/request.h \
	src/mpi/core/shm_inbox.c src/mpi/core/shm_inbox.h \
	src/mpi/core/transport.c src/mpi/core/transport.h \
	src/mpi/core/wait_notice.c src/mpi/core/wait_notice.h \
	src/mpi/datatype/flat_type.c src/mpi/datatype/flat_type.h \
	src/mpi/datatype/iov_advert.c src/mpi/datatype/iov_advert.h \
	src/mpi/datatype/pack.c src/mpi/datatype/pack.h \
	src/mpi/datatype/pack_pool.c src/mpi/datatype/pack_pool.h \
	src/mpi/datatype/strided.c src/mpi/datatype/strided.h \
	src/mpi/datatype/type_basic.c \
	src/mpi/datatype/type_cache.c src/mpi/datatype/type_cache.h \
	src/mpi/datatype/type_contents.c src/mpi/datatype/type_contents.h \
	src/mpi/datatype/type_darray.c src/mpi/datatype/type_darray.h \
	src/mpi/datatype/type_flatten.c src/mpi/datatype/type_flatten.h \
	src/mpi/datatype/type_regular.c src/mpi/datatype/type_regular.h \
	src/mpi/halo/halo.c src/mpi/halo/halo.h \
	src/mpi/halo/halo_box.c src/mpi/halo/halo_box.h \
	src/mpi/halo/halo_create.c \
	src/mpi/message/message.c src/mpi/message/message.h \
	src/mpi/message/stream_direct.c src/mpi/message/stream_direct.h \
	src/mpi/message/stream_eager.c src/mpi/message/stream_eager.h \
	src/mpi/message/stream_match.c src/mpi/message/stream_match.h \
	src/mpi/message/stream_message.c src/mpi/message/stream_message.h \
	src/mpi/p2p/device_memory.c src/mpi/p2p/device_memory.h \
	src/mpi/p2p/deferred_payload.c src/mpi/p2p/deferred_payload.h \
	src/mpi/p2p/incoming.c src/mpi/p2p/incoming.h \
	src/mpi/p2p/p2p.c src/mpi/p2p/p2p.h \
	src/mpi/p2p/recv.c src/mpi/p2p/recv.h \
	src/mpi/p2p/rndv_put.c src/mpi/p2p/rndv_put.h \
	src/mpi/p2p/send_deferred.c src/mpi/p2p/send_deferred.h \
	src/mpi/p2p/send_descriptor.c src/mpi/p2p/send_descriptor.h \
	src/mpi/p2p/send_net.c src/mpi/p2p/send_net.h \
	src/mpi/p2p/send_shm.c src/mpi/p2p/send_shm.h \
	src/mpi/p2p/stream_receive.c src/mpi/p2p/stream_receive.h \
	src/mpi/p2p/stream_slots.c src/mpi/p2p/stream_slots.h \
	src/mpi/p2p/tag_match.c src/mpi/p2p/tag_match.h \
	src/mpi/p2p/transports.c src/mpi/p2p/transports.h \
	src/mpi/p2p/unexpected.c src/mpi/p2p/unexpected.h \
	src/mpi/transport/bounce_pool.c src/mpi/transport/bounce_pool.h \
	src/mpi/transport/chunk_ring.c src/mpi/transport/chunk_ring.h \
	src/mpi/transport/net_arrival.c src/mpi/transport/net_arrival.h \
	src/mpi/transport/net_msg.c src/mpi/transport/net_msg.h \
	src/mpi/transport/receive_end.c src/mpi/transport/receive_end.h \
	src/mpi/transport/rndv_get.c src/mpi/transport/rndv_get.h \
	src/mpi/transport/rndv_get_host.c src/mpi/transport/rndv_get_host.h \
	src/mpi/transport/rndv_staged_mpi.c src/mpi/transport/rndv_staged_mpi.h \
	src/mpi/transport/rndv_staged_shm.c src/mpi/transport/rndv_staged_shm.h \
	src/mpi/persistent/captured.c src/mpi/persistent/captured.h \
	src/mpi/persistent/captured_launch.c src/mpi/persistent/captured_launch.h \
	src/mpi/persistent/channel.c src/mpi/persistent/channel.h \
	src/mpi/persistent/channel_connect.c \
	src/mpi/persistent/channel_handshake.c \
	src/mpi/persistent/channel_match.c \
	src/mpi/persistent/ctrl_msg.c src/mpi/persistent/ctrl_msg.h \
	src/mpi/persistent/exchange_batch.c \
	src/mpi/persistent/exchange_large.c src/mpi/persistent/exchange_large.h \
	src/mpi/persistent/exchange_streams.c src/mpi/persistent/exchange_streams.h \
	src/mpi/persistent/persistent.c src/mpi/persistent/persistent.h \
	src/mpi/persistent/persistent_message.c \
	src/mpi/persistent/persistent_queue.c src/mpi/persistent/persistent_queue.h \
	src/mpi/persistent/persistent_stream.c \
	src/mpi/rma/window.c src/mpi/rma/window.h \
	src/mpi/rma/window_am.c src/mpi/rma/window_am.h \
	src/mpi/rma/window_create.c \
	src/mpi/rma/window_memory.c src/mpi/rma/window_memory.h \
	src/mpi/rma/window_origin.c \
	src/mpi/rma/window_stream.c \
	src/mpi/rma/window_target.c \
	src/mpi/shm/fd_exchange.c src/mpi/shm/fd_exchange.h \
	src/mpi/shm/futex_wait.c src/mpi/shm/futex_wait.h \
	src/mpi/shm/oversubscribed.c src/mpi/shm/oversubscribed.h \
	src/mpi/shm/segment.c src/mpi/shm/segment.h \
	src/mpi/shm/shm_file.c src/mpi/shm/shm_file.h \
	src/mpi/stream/blocking.c src/mpi/stream/blocking.h \
	src/mpi/stream/stream_channels.c src/mpi/stream/stream_copies.c \
	src/mpi/stream/stream_flag.c src/mpi/stream/stream_flag.h \
	src/mpi/stream/stream_laters.c src/mpi/stream/stream_open.c src/mpi/stream/stream_put.c \
	src/mpi/stream/stream_progress.c \
	src/mpi/stream/stream_queue.c src/mpi/stream/stream_queue.h \
	src/mpi/stream/stream_queue_internal.h \
	src/mpi/stream/stream_quiet.c \
	src/mpi/stream/stream_steps.c

pkgconfig_DATA =
if HAVE_MPI
lib_LTLIBRARIES += src/mpi/libgpubind.la
include_HEADERS += src/mpi/gpubind.h
include_HEADERS += src/mpi/gpubind_device.cuh
pkgconfig_DATA += src/mpi/gpubind.pc
endif
src_mpi_libgpubind_la_CPPFLAGS = $(libgpubind_cppflags)
src_mpi_libgpubind_la_CFLAGS = $(libgpubind_flags) $(MPI_CFLAGS)
src_mpi_libgpubind_la_LDFLAGS = -version-info 0:1:0 -no-undefined -pthread
src_mpi_libgpubind_la_LIBADD = $(libgpubind_libs) $(MPI_LIBS)
src_mpi_libgpubind_la_SOURCES = $(libgpubind_sources) $(libgpubind_fortran)

# The MPIs of MPICH's ABI have several names (src/aware/local.mk) and versions; the program names one of
# them.
if FOR_MPICH
lib_LTLIBRARIES += src/mpi/libgpubind-mpich.la
pkgconfig_DATA += src/mpi/gpubind-mpich.pc
endif
src_mpi_libgpubind_mpich_la_CPPFLAGS = $(libgpubind_cppflags) -DGPUBIND_MPI_OF_PROGRAM
src_mpi_libgpubind_mpich_la_CFLAGS = $(libgpubind_flags) $(MPICH_CFLAGS)
src_mpi_libgpubind_mpich_la_LDFLAGS = -version-info 0:1:0 -pthread
src_mpi_libgpubind_mpich_la_LIBADD = $(libgpubind_libs) $(MPI_LAZY)
src_mpi_libgpubind_mpich_la_SOURCES = $(libgpubind_sources) $(libgpubind_fortran)

if FOR_OPENMPI
lib_LTLIBRARIES += src/mpi/libgpubind-openmpi.la
endif
if HAVE_OPENMPI
pkgconfig_DATA += src/mpi/gpubind-openmpi.pc
endif
src_mpi_libgpubind_openmpi_la_CPPFLAGS = $(libgpubind_cppflags)
src_mpi_libgpubind_openmpi_la_CFLAGS = $(libgpubind_flags) $(OPENMPI_CFLAGS)
src_mpi_libgpubind_openmpi_la_LDFLAGS = -version-info 0:1:0 -no-undefined -pthread
src_mpi_libgpubind_openmpi_la_LIBADD = $(libgpubind_libs) $(OPENMPI_LIBS)
src_mpi_libgpubind_openmpi_la_SOURCES = $(libgpubind_sources) $(libgpubind_fortran)

if FOR_MPI_ABI
lib_LTLIBRARIES += src/mpi/libgpubind-mpi-abi.la
pkgconfig_DATA += src/mpi/gpubind-mpi-abi.pc
endif
src_mpi_libgpubind_mpi_abi_la_CPPFLAGS = $(libgpubind_cppflags)
src_mpi_libgpubind_mpi_abi_la_CFLAGS = $(libgpubind_flags) $(MPI_ABI_CFLAGS)
src_mpi_libgpubind_mpi_abi_la_LDFLAGS = -version-info 0:1:0 -pthread
src_mpi_libgpubind_mpi_abi_la_LIBADD = $(libgpubind_libs) $(MPI_LAZY)
src_mpi_libgpubind_mpi_abi_la_SOURCES = $(libgpubind_sources)

# Made of gpubind.pc: what it is called, and the library's name.
flavour_pc = sed -e 's/^Name: gpubind/&'"$$pc"'/' -e 's/^\(Libs: .* -lgpubind\)/\1'"$$so"'/' \
	src/mpi/gpubind.pc >$@
src/mpi/gpubind-mpich.pc: src/mpi/gpubind.pc
	$(AM_V_GEN)pc=-mpich so=-mpich; $(flavour_pc)
src/mpi/gpubind-openmpi.pc: src/mpi/gpubind.pc
	$(AM_V_GEN)pc=-openmpi so=$(OPENMPI_SUFFIX); $(flavour_pc)
src/mpi/gpubind-mpi-abi.pc: src/mpi/gpubind.pc
	$(AM_V_GEN)pc=-mpi-abi so=-mpi-abi; $(flavour_pc)
CLEANFILES += src/mpi/gpubind-mpich.pc src/mpi/gpubind-openmpi.pc src/mpi/gpubind-mpi-abi.pc
