# GPUBIND_FORTRAN
#
# The Fortran compiler of the MPI that GPUBIND_MPI found, for the module gpubind. It
# compiles interfaces only; nothing of Fortran goes into the library.
#   --without-fortran   do not look for one; default: take it when it is there
#   MPIFORT             which one; default: the mpifort beside MPICC
#   FCFLAGS             its flags
#   --with-fmoddir=DIR  where gpubind.mod is installed; default: INCLUDEDIR
# Never fatal.
# Defines MPIFORT, FORTRAN_CPPFLAGS (where ISO_Fortran_binding.h is), FORTRAN_DEFS,
# FORTRAN_DEVICE_DEFS, fmoddir and the automake conditionals HAVE_FORTRAN and HAVE_MPI_F08.
AC_DEFUN([GPUBIND_FORTRAN], [
  AC_REQUIRE([GPUBIND_MPI])
  AC_ARG_WITH([fortran],
    [AS_HELP_STRING([--without-fortran], [build no Fortran module])],
    [], [with_fortran=yes])
  AC_ARG_WITH([fmoddir],
    [AS_HELP_STRING([--with-fmoddir=DIR], [install gpubind.mod there (default: INCLUDEDIR)])],
    [], [with_fmoddir='${includedir}'])
  AC_ARG_VAR([MPIFORT], [MPI compiler wrapper for Fortran])
  AC_ARG_VAR([FCFLAGS], [Fortran compiler flags])
  AC_SUBST([fmoddir], [$with_fmoddir])
  FORTRAN_CPPFLAGS= FORTRAN_DEFS= FORTRAN_DEVICE_DEFS=
  have_fortran=no have_mpi_f08=no fortran_summary=no fortran_lack="no MPI"
  AS_IF([test "x$with_fortran" = xno],
    [MPIFORT= fortran_lack="--without-fortran"],
    [test $have_mpi = yes], [_GPUBIND_FORTRAN_TRY])
  AS_IF([test $have_fortran = no],
    [AS_VAR_APPEND([left_out], ["
    the Fortran module and its examples: $fortran_lack"])],
    [test $have_mpi_f08 = no],
    [AS_VAR_APPEND([left_out], ["
    the Fortran module's calls with the handles of mpi_f08: $MPIFORT has no such module"])])
  AC_SUBST([FORTRAN_CPPFLAGS])
  AC_SUBST([FORTRAN_DEFS])
  AC_SUBST([FORTRAN_DEVICE_DEFS])
  AM_CONDITIONAL([HAVE_FORTRAN], [test $have_fortran = yes])
  AM_CONDITIONAL([HAVE_MPI_F08], [test $have_mpi_f08 = yes])
])

# mpicc -> mpifort, mpicc.mpich -> mpifort.mpich.
AC_DEFUN([_GPUBIND_FORTRAN_TRY], [
  AS_CASE([$MPICC], [*/*], [mpi_dir=${MPICC%/*}], [mpi_dir=.])
  mpi_name=`echo "$MPICC" | sed 's|.*/||; s|mpicc|mpifort|'`
  AC_PATH_PROGS([MPIFORT], [${MPIFORT:-$mpi_name}], [], [$mpi_dir$PATH_SEPARATOR$PATH])
  AS_IF([test -n "$MPIFORT"],
    [AC_CHECK_HEADER([ISO_Fortran_binding.h], [], [_GPUBIND_FORTRAN_HEADER])
     _GPUBIND_FORTRAN_BUFFERS
     _GPUBIND_FORTRAN_F08
     _GPUBIND_FORTRAN_DEVICE],
    [fortran_lack="no $mpi_name"])
])

# ISO_Fortran_binding.h is gfortran's, which gcc finds and clang does not. Its folder has
# other headers that are only for gcc, so it gets one of its own.
AC_DEFUN([_GPUBIND_FORTRAN_HEADER], [
  binding=`$MPIFORT -print-file-name=include/ISO_Fortran_binding.h 2>/dev/null`
  AS_CASE([$binding], [/*], [
    AS_MKDIR_P([src/mpi/iso_fortran])
    echo "#include \"$binding\"" >src/mpi/iso_fortran/ISO_Fortran_binding.h
    FORTRAN_CPPFLAGS="-Isrc/mpi/iso_fortran"])
])

# Whether C gets from the compiler what src/mpi/fortran/fortran.h takes: of a scalar of
# type(c_ptr) that it is one, of an array's element its address, and that a generic
# name may stand before both. Seen by running it, where that can be done.
AC_DEFUN([_GPUBIND_FORTRAN_BUFFERS], [
  AC_MSG_CHECKING([whether $MPIFORT passes buffers as $CC takes them])
  fortran_lack="$MPIFORT passes no buffers as $CC takes them (config.log)"
  cat >conftest_c.c <<'END'
#include <ISO_Fortran_binding.h>
int conftest_same(const CFI_cdesc_t *a, const CFI_cdesc_t *p)
{
    return a->rank == 0 && p->rank == 0 && a->type != CFI_type_cptr &&
           p->type == CFI_type_cptr && a->base_addr == *(void **)p->base_addr;
}
END
  cat >conftest_f.f90 <<'END'
program conftest_f
    use, intrinsic :: iso_c_binding
    implicit none
    interface same
        function conftest_same(a, p) bind(C, name="conftest_same")
            import :: c_int
            type(*), dimension(..), intent(in) :: a
            type(*), dimension(..) :: p
            integer(c_int) :: conftest_same
        end function conftest_same
    end interface
    real, target :: a(3, 4)
    type(c_ptr) :: p(2)
    p(2) = c_loc(a(2, 3))
    if (same(a(2, 3), p(2)) /= 1) stop 1
end program conftest_f
END
  AS_IF([_GPUBIND_FORTRAN_RUN([$CC $CPPFLAGS $CFLAGS $FORTRAN_CPPFLAGS -c conftest_c.c]) &&
         _GPUBIND_FORTRAN_RUN([$MPIFORT $FCFLAGS -o conftest_f conftest_f.f90 conftest_c.$OBJEXT]) &&
         { test "$cross_compiling" = yes || _GPUBIND_FORTRAN_RUN([./conftest_f]); }],
    [have_fortran=yes fortran_summary=$MPIFORT])
  AC_MSG_RESULT([$have_fortran])
  rm -f conftest_c.* conftest_f conftest_f.*
])

AC_DEFUN([_GPUBIND_FORTRAN_F08], [
  AC_MSG_CHECKING([whether $MPIFORT has the module mpi_f08])
  cat >conftest_f.f90 <<'END'
program conftest_f
    use mpi_f08, only : MPI_Comm, MPI_Datatype, MPI_Status
    implicit none
    type(MPI_Comm) :: comm
    comm%MPI_VAL = 0
end program conftest_f
END
  AS_IF([test $have_fortran = yes &&
         _GPUBIND_FORTRAN_RUN([$MPIFORT $FCFLAGS -c -o conftest_f.$OBJEXT conftest_f.f90])],
    [have_mpi_f08=yes FORTRAN_DEFS=-DGPUBIND_MPI_F08])
  AC_MSG_RESULT([$have_mpi_f08])
  rm -f conftest_f.*
])

# Arrays with CUDA Fortran's attribute device match no dummy argument without it, but where
# a directive says so. Tried as it is used in src/mpi/fortran/gpubind.F90.
AC_DEFUN([_GPUBIND_FORTRAN_DEVICE], [
  AC_MSG_CHECKING([whether $MPIFORT passes arrays of CUDA Fortran, by a directive])
  cat >conftest_m.F90 <<'END'
#define DEVICE_TOO(buf) !dir$ ignore_tkr (d) buf
module conftest_m
    interface take
        subroutine conftest_take(buf) bind(C, name="conftest_take")
            type(*), dimension(..), intent(in) :: buf
            DEVICE_TOO(buf)
        end subroutine conftest_take
    end interface
end module conftest_m
END
  cat >conftest_f.F90 <<'END'
program conftest_f
    use conftest_m
    implicit none
    real, device :: there(3)
    real :: here(3)
    call take(there)
    call take(here)
end program conftest_f
END
  passes_device=no
  AS_IF([test $have_fortran = yes &&
         _GPUBIND_FORTRAN_RUN([$MPIFORT $FCFLAGS -c -o conftest_m.$OBJEXT conftest_m.F90]) &&
         _GPUBIND_FORTRAN_RUN([$MPIFORT $FCFLAGS -cuda -c -o conftest_f.$OBJEXT conftest_f.F90])],
    [passes_device=yes FORTRAN_DEVICE_DEFS=-DGPUBIND_IGNORE_DEVICE])
  AC_MSG_RESULT([$passes_device])
  rm -f conftest_m.* conftest_f.*
])

# A command whose words go to config.log, as its output.
m4_define([_GPUBIND_FORTRAN_RUN],
  [{ echo "$as_me:${as_lineno-$LINENO}: $1" >&AS_MESSAGE_LOG_FD; $1 >&AS_MESSAGE_LOG_FD 2>&1; }])
