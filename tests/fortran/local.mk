# Programs that tests/mpi/lib_fortran.t and tests/aware/fortran.t compile.
TESTS += tests/mpi/lib_fortran.t
AM_TESTS_ENVIRONMENT += \
	MPIFORT='$(MPIFORT)'; MPI_F08='$(FORTRAN_DEFS)'; \
	export MPIFORT MPI_F08;
EXTRA_DIST += \
	tests/mpi/lib_fortran.t \
	tests/fortran/allocate.F90 \
	tests/fortran/aware.F90 \
	tests/fortran/bare.f90 \
	tests/fortran/calls.F90 \
	tests/fortran/checks.f90 \
	tests/fortran/halos.F90 \
	tests/fortran/handlers.F90 \
	tests/fortran/made.F90 \
	tests/fortran/messages.F90 \
	tests/fortran/mpif.f90 \
	tests/fortran/places.F90 \
	tests/fortran/progress.F90 \
	tests/fortran/streams.F90 \
	tests/fortran/windows.F90
