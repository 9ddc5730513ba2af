# libgpubind: MPI ranks pass GPU memory to each other.
if HAVE_MPI
lib_LTLIBRARIES += src/mpi/libgpubind.la
include_HEADERS += src/mpi/gpubind.h
include_HEADERS += src/mpi/gpubind_device.cuh
pkgconfig_DATA = src/mpi/gpubind.pc
endif

src_mpi_libgpubind_la_CFLAGS = $(AM_CFLAGS) $(HIDDEN_CFLAGS) $(MPI_CFLAGS) -pthread
src_mpi_libgpubind_la_LDFLAGS = -version-info 0:0:0 -no-undefined -pthread
src_mpi_libgpubind_la_LIBADD = src/cuda/libgpubind-cuda.la src/core/libgpubind-core.la $(MPI_LIBS)
src_mpi_libgpubind_la_SOURCES = \
	src/mpi/gpubind_device.cuh \
	src/mpi/host_reads.c src/mpi/host_reads.h \
	src/mpi/handover.c src/mpi/handover.h \
	src/mpi/unexpected.c src/mpi/unexpected.h \
	src/mpi/window_ask.c \
	src/mpi/window_make.c \
	src/mpi/window_memory.c src/mpi/window_memory.h \
	src/mpi/window_remote.c src/mpi/window_remote.h \
	src/mpi/window_serve.c \
	src/mpi/window_stream.c \
	src/mpi/windows.c src/mpi/windows.h \
	src/mpi/aware.c src/mpi/aware.h \
	src/mpi/bell.c src/mpi/bell.h \
	src/mpi/blocking.c src/mpi/blocking.h \
	src/mpi/buffers.c src/mpi/buffers.h \
	src/mpi/comm.c src/mpi/comm.h \
	src/mpi/crowd.c src/mpi/crowd.h \
	src/mpi/domain.c src/mpi/domain.h \
	src/mpi/engine.c src/mpi/engine.h \
	src/mpi/gpubind.h \
	src/mpi/freed.c src/mpi/freed.h \
	src/mpi/gated_sends.c src/mpi/gated_sends.h \
	src/mpi/halo.c src/mpi/halo.h \
	src/mpi/halo_box.c src/mpi/halo_box.h \
	src/mpi/halo_make.c \
	src/mpi/inbox.c src/mpi/inbox.h \
	src/mpi/intercept_fortran.h src/mpi/intercept_fortran_blocking.c \
	src/mpi/intercept_blocking.c src/mpi/intercept_counts.h \
	src/mpi/intercept.c src/mpi/intercept.h \
	src/mpi/lanes.c src/mpi/lanes.h \
	src/mpi/later.c src/mpi/later.h \
	src/mpi/layouts.c src/mpi/layouts.h \
	src/mpi/library.c src/mpi/library.h \
	src/mpi/library_lock.c \
	src/mpi/letters.c src/mpi/letters.h \
	src/mpi/life.c src/mpi/life.h \
	src/mpi/links.c \
	src/mpi/local_send.c src/mpi/local_send.h \
	src/mpi/match.c src/mpi/match.h \
	src/mpi/matched.c \
	src/mpi/device_memory.c src/mpi/device_memory.h \
	src/mpi/memory_calls.c \
	src/mpi/node_memory.c src/mpi/node_memory.h \
	src/mpi/notice.c src/mpi/notice.h \
	src/mpi/offers.c src/mpi/offers.h \
	src/mpi/on_stream.c src/mpi/on_stream.h src/mpi/on_stream_parts.h \
	src/mpi/operation.c src/mpi/operation.h \
	src/mpi/pack.c src/mpi/pack.h \
	src/mpi/pairs.c src/mpi/pairs.h \
	src/mpi/pairs_connect.c \
	src/mpi/paths.c src/mpi/paths.h \
	src/mpi/patience.c src/mpi/patience.h \
	src/mpi/peers.c \
	src/mpi/persistent.c src/mpi/persistent.h \
	src/mpi/persistent_calls.c \
	src/mpi/persistent_make.c \
	src/mpi/persistent_queue.c src/mpi/persistent_queue.h \
	src/mpi/persistent_stream.c \
	src/mpi/places.c src/mpi/places.h \
	src/mpi/pieces.c src/mpi/pieces.h \
	src/mpi/probe.c src/mpi/probe.h \
	src/mpi/incoming.c src/mpi/incoming.h \
	src/mpi/message.c src/mpi/message.h \
	src/mpi/modules.c src/mpi/modules.h \
	src/mpi/p2p.c src/mpi/p2p.h \
	src/mpi/pt2pt.c \
	src/mpi/pulls.c src/mpi/pulls.h \
	src/mpi/receive.c src/mpi/receive.h \
	src/mpi/remote.c src/mpi/remote.h \
	src/mpi/replace.c \
	src/mpi/request_finish.h \
	src/mpi/requests.c \
	src/mpi/segment.c src/mpi/segment.h \
	src/mpi/settings.c src/mpi/settings.h \
	src/mpi/shares.c src/mpi/shares.h \
	src/mpi/stage.c src/mpi/stage.h \
	src/mpi/strides.c src/mpi/strides.h \
	src/mpi/start.c src/mpi/start.h \
	src/mpi/stream_calls.c \
	src/mpi/stream_message.c src/mpi/stream_message.h \
	src/mpi/stream_steps.c \
	src/mpi/stream_thread.c src/mpi/stream_thread.h \
	src/mpi/tracks.c src/mpi/tracks.h \
	src/mpi/tracks_queue.c \
	src/mpi/transfers.c src/mpi/transfers.h \
	src/mpi/type_contents.c src/mpi/type_contents.h \
	src/mpi/type_nest.c src/mpi/type_nest.h \
	src/mpi/type_darray.c src/mpi/type_darray.h \
	src/mpi/type_numbers.c \
	src/mpi/type_parts.c src/mpi/type_parts.h \
	src/mpi/types.c src/mpi/types.h \
	src/mpi/words.c src/mpi/words.h
