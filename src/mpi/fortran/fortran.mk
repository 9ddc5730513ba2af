# What Fortran programs need of the library, and the Fortran module: interfaces only, so
# that no Fortran is linked into the library.
# The MPI standard's ABI has no Fortran.
libgpubind_fortran = \
	src/mpi/fortran/pmpi_fortran.c \
	src/mpi/fortran/pmpi_fortran.h \
	src/mpi/fortran/pmpi_fortran_blocking.c
if HAVE_FORTRAN
libgpubind_fortran += \
	src/mpi/fortran/fortran.c src/mpi/fortran/fortran.h \
	src/mpi/fortran/fortran_calls.c \
	src/mpi/fortran/fortran_halo.c \
	src/mpi/fortran/fortran_stream.c \
	src/mpi/fortran/fortran_support.c \
	src/mpi/fortran/fortran_window.c
fmod_DATA = src/mpi/gpubind.mod
endif

fortran_module = \
	src/mpi/fortran/gpubind.F90 \
	src/mpi/fortran/gpubind_calls_f08.inc \
	src/mpi/fortran/gpubind_calls_integer.inc \
	src/mpi/fortran/gpubind_f08.inc \
	src/mpi/fortran/gpubind_halo.inc \
	src/mpi/fortran/gpubind_integer.inc \
	src/mpi/fortran/gpubind_stream_f08.inc \
	src/mpi/fortran/gpubind_stream_integer.inc \
	src/mpi/fortran/gpubind_window.inc

# Compilers write a module where they stand; some leave it as old as it was when it is
# the same again.
src/mpi/gpubind.mod: $(fortran_module)
	$(AM_V_at)$(MKDIR_P) src/mpi
	$(AM_V_GEN)module=`cd $(srcdir) && pwd`/src/mpi/fortran/gpubind.F90; cd src/mpi && \
	$(MPIFORT) $(FORTRAN_DEFS) $(FORTRAN_DEVICE_DEFS) $(FCFLAGS) -c -o gpubind_module.o $$module && \
	rm -f gpubind_module.o && touch gpubind.mod

EXTRA_DIST += $(fortran_module)
CLEANFILES += src/mpi/gpubind.mod
DISTCLEANFILES = src/mpi/iso_fortran/ISO_Fortran_binding.h
