# Programs of the library. tests/mpi/lib_examples.t runs them; tests/mpi/lib_fortran.t compiles
# and runs those in Fortran.
if HAVE_MPI
noinst_PROGRAMS += \
	examples/any_source \
	examples/as_in_mpi \
	examples/gpu_aware \
	examples/halo \
	examples/legacy_after \
	examples/legacy_before \
	examples/neighbors \
	examples/on_stream \
	examples/overlap \
	examples/persistent \
	examples/window
if HAVE_NCCL
noinst_PROGRAMS += examples/nccl_beside
endif
endif

# They include <gpubind.h>, as if it were installed.
example_cppflags = -D_GNU_SOURCE -I$(top_srcdir)/src/mpi
example_cflags = $(WARN_CFLAGS) $(SAN_CFLAGS) $(MPI_CFLAGS)
example_libs = src/mpi/libgpubind.la $(MPI_LIBS)

examples_any_source_CPPFLAGS = $(example_cppflags)
examples_any_source_CFLAGS = $(example_cflags)
examples_any_source_LDADD = $(example_libs)
examples_any_source_SOURCES = examples/any_source.c examples/device.h

examples_as_in_mpi_CPPFLAGS = $(example_cppflags)
examples_as_in_mpi_CFLAGS = $(example_cflags)
examples_as_in_mpi_LDADD = $(example_libs)
examples_as_in_mpi_SOURCES = examples/as_in_mpi.c examples/device.h

examples_gpu_aware_CPPFLAGS = $(example_cppflags)
examples_gpu_aware_CFLAGS = $(example_cflags)
examples_gpu_aware_LDADD = src/aware/libgpubind-aware.la $(MPI_LIBS)
examples_gpu_aware_SOURCES = examples/gpu_aware.c examples/device.h

examples_halo_CPPFLAGS = $(example_cppflags)
examples_halo_CFLAGS = $(example_cflags)
examples_halo_LDADD = $(example_libs)
examples_halo_SOURCES = examples/halo.c examples/device.h

examples_legacy_after_CPPFLAGS = $(example_cppflags)
examples_legacy_after_CFLAGS = $(example_cflags)
examples_legacy_after_LDADD = $(example_libs)
examples_legacy_after_SOURCES = examples/legacy_after.c examples/device.h

examples_legacy_before_CPPFLAGS = $(example_cppflags)
examples_legacy_before_CFLAGS = $(example_cflags)
examples_legacy_before_LDADD = $(MPI_LIBS)
examples_legacy_before_SOURCES = examples/legacy_before.c examples/device.h

examples_nccl_beside_CPPFLAGS = $(example_cppflags) $(CUDA_CPPFLAGS)
examples_nccl_beside_CFLAGS = $(example_cflags)
examples_nccl_beside_LDADD = $(example_libs) $(NCCL_LIBS)
examples_nccl_beside_SOURCES = examples/nccl_beside.c examples/device.h

examples_neighbors_CPPFLAGS = $(example_cppflags)
examples_neighbors_CFLAGS = $(example_cflags)
examples_neighbors_LDADD = $(example_libs)
examples_neighbors_SOURCES = examples/neighbors.c examples/device.h

examples_on_stream_CPPFLAGS = $(example_cppflags)
examples_on_stream_CFLAGS = $(example_cflags)
examples_on_stream_LDADD = $(example_libs)
examples_on_stream_SOURCES = examples/on_stream.c examples/device.h

examples_overlap_CPPFLAGS = $(example_cppflags)
examples_overlap_CFLAGS = $(example_cflags)
examples_overlap_LDADD = $(example_libs)
examples_overlap_SOURCES = examples/overlap.c examples/device.h

examples_persistent_CPPFLAGS = $(example_cppflags)
examples_persistent_CFLAGS = $(example_cflags)
examples_persistent_LDADD = $(example_libs)
examples_persistent_SOURCES = examples/persistent.c examples/device.h

examples_window_CPPFLAGS = $(example_cppflags)
examples_window_CFLAGS = $(example_cflags)
examples_window_LDADD = $(example_libs)
examples_window_SOURCES = examples/window.c examples/device.h
EXTRA_DIST += examples/device_put.cu

TESTS += tests/mpi/lib_examples.t
EXTRA_DIST += \
	examples/device.f90 \
	examples/halo.f90 \
	examples/legacy_after.f90 \
	examples/legacy_before.f90 \
	tests/mpi/lib_examples.t
