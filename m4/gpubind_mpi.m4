# GPUBIND_MPI
#
# An MPI, by its compiler wrapper: for the library libgpubind and gpubind-bench, for
# the examples and some tests. The launcher needs none.
#   --without-mpi    do not look for one; default: take it when it is there
#   MPICC, MPIRUN    which one; default: mpicc on PATH, and the mpirun beside it, which tests alone want
#   --with-mpich-cc=PROGRAM|no, --with-openmpi-cc=PROGRAM|no, --with-mpi-abi-cc=PROGRAM|no
#                    compilers of the families of MPIs, for a libgpubind and a libgpubind-aware
#                    of programs of an MPI other than MPICC's; default: MPICC where it is of the
#                    family, else mpicc.mpich and mpicc.openmpi, as Debian names them, and
#                    mpicc_abi, which is MPICH's for the ABI of the MPI standard
# Never fatal, but for a compiler that was given and does not work.
# Defines MPICC, MPIRUN, MPI_CFLAGS, MPI_LIBS and the automake conditional HAVE_MPI; for MPICH's
# family MPICH_CC, MPICH_CFLAGS, MPICH_LIBS and FOR_MPICH, for Open MPI and MPI_ABI likewise;
# HAVE_OPENMPI, also where MPICC is Open MPI's, and OPENMPI_SUFFIX, of its library's name;
# MPI_LAZY, the linker's flags for an object whose MPI is found at run time.
AC_DEFUN([GPUBIND_MPI], [
  AC_ARG_WITH([mpi],
    [AS_HELP_STRING([--without-mpi], [build the launcher alone])],
    [], [with_mpi=yes])
  AC_ARG_VAR([MPICC], [MPI compiler wrapper])
  AC_ARG_VAR([MPIRUN], [starts MPI programs])
  mpi_wanted=$MPICC have_mpi=no mpi_summary="no" MPI_CFLAGS= MPI_LIBS=
  AS_IF([test "x$with_mpi" = xno], [MPICC=], [AC_PATH_PROGS([MPICC], [${MPICC:-mpicc}])])
  AS_IF([test -n "$MPICC"], [_GPUBIND_MPI_TRY])
  AS_IF([test $have_mpi = no && test "x$with_mpi" != xno && test -n "$mpi_wanted"],
    [AC_MSG_ERROR([MPICC=$mpi_wanted does not link an MPI program])])
  AS_IF([test $have_mpi = no],
    [AS_VAR_APPEND([left_out], ["
    the library libgpubind, the examples, and the tests that run under mpirun: no MPI"])])
  _GPUBIND_MPI_SUBST([MPI_CFLAGS])
  _GPUBIND_MPI_SUBST([MPI_LIBS])
  AM_CONDITIONAL([HAVE_MPI], [test $have_mpi = yes])

  AC_ARG_WITH([mpich-cc],
    [AS_HELP_STRING([--with-mpich-cc=PROGRAM],
      [the libraries for MPICH's family (default: mpicc.mpich)])],
    [], [with_mpich_cc=])
  AC_ARG_WITH([openmpi-cc],
    [AS_HELP_STRING([--with-openmpi-cc=PROGRAM],
      [the libraries for Open MPI, where MPICC is of another MPI (default: mpicc.openmpi)])],
    [], [with_openmpi_cc=])
  AC_ARG_WITH([mpi-abi-cc],
    [AS_HELP_STRING([--with-mpi-abi-cc=PROGRAM],
      [the libraries for the MPI standard's ABI (default: mpicc_abi)])],
    [], [with_mpi_abi_cc=])
  _GPUBIND_MPI_FAMILY([MPICH], [mpich], [mpicc.mpich], [MPICH_NUMVERSION])
  _GPUBIND_MPI_FAMILY([OPENMPI], [openmpi], [mpicc.openmpi], [OPEN_MPI])
  _GPUBIND_MPI_FAMILY([MPI_ABI], [mpi-abi], [mpicc_abi], [MPI_ABI_VERSION])
  AM_CONDITIONAL([HAVE_OPENMPI], [test $have_OPENMPI = yes])
  # The library for MPICC is Open MPI's.
  OPENMPI_SUFFIX=-openmpi
  AS_IF([test "x$OPENMPI_CC" = "x$MPICC"], [have_OPENMPI=no OPENMPI_SUFFIX=])
  AC_SUBST([OPENMPI_SUFFIX])
  aware_summary=
  AS_IF([test $have_mpi = yes], [aware_summary="$MPICC"])
  AS_IF([test $have_MPICH = yes && test "x$MPICH_CC" != "x$MPICC"],
    [AS_VAR_APPEND([aware_summary], [", $MPICH_CC"])])
  AS_IF([test $have_OPENMPI = yes], [AS_VAR_APPEND([aware_summary], [", $OPENMPI_CC"])])
  AS_IF([test $have_MPI_ABI = yes], [AS_VAR_APPEND([aware_summary], [", $MPI_ABI_CC"])])
  AS_IF([test -z "$aware_summary"], [aware_summary=no])
  # Behind LDFLAGS with -z now or -z defs, the last one counts.
  AC_SUBST([MPI_LAZY], ['-Wl,-z,lazy -Wl,-z,undefs'])
  AM_CONDITIONAL([FOR_MPICH], [test $have_MPICH = yes])
  AM_CONDITIONAL([FOR_OPENMPI], [test $have_OPENMPI = yes])
  AM_CONDITIONAL([FOR_MPI_ABI], [test $have_MPI_ABI = yes])
])

# _GPUBIND_MPI_FLAGS(WRAPPER, CFLAGS-VARIABLE, LIBS-VARIABLE): sets these to a wrapper's flags. Intel MPI's
# has quotes around folders, and behind -Xlinker what is for the linker.
AC_DEFUN([_GPUBIND_MPI_FLAGS], [
  $2= $3= gpubind_before=
  for word in `$1 -show 2>/dev/null | tr -d \'\"`; do
    AS_CASE([$gpubind_before$word],
      [-I*|-D*], [AS_VAR_APPEND([$2], [" $word"])],
      [-L*|-l*|-Wl,*], [AS_VAR_APPEND([$3], [" $word"])],
      [-Xlinker?*], [AS_VAR_APPEND([$3], [" -Xlinker $word"])],
      [-pthread], [AS_VAR_APPEND([$2], [" $word"])
                   AS_VAR_APPEND([$3], [" $word"])])
    gpubind_before=
    AS_IF([test "x$word" = x-Xlinker], [gpubind_before=$word])
  done
])

# _GPUBIND_MPI_SUBST(VARIABLE): for make, and the shell that it starts, where $ORIGIN and Intel MPI's $: are
# in a flag.
AC_DEFUN([_GPUBIND_MPI_SUBST], [
  $1=`AS_ECHO(["$$1"]) | sed 's/[[$]]/\\\\$$/g'`
  AC_SUBST([$1])
])

# _GPUBIND_MPI_FAMILY(VARIABLES, NAME, COMPILER, MACRO): the compiler of a family of MPIs, whose mpi.h
# defines MACRO, and its flags.
AC_DEFUN([_GPUBIND_MPI_FAMILY], [
  have_$1=no $1_CC= $1_CFLAGS= $1_LIBS=
  AS_VAR_COPY([family_cc], [AS_TR_SH([with_$2_cc])])
  AS_IF([test "x$with_mpi" != xno && test "x$family_cc" != xno], [
    AS_CASE([$family_cc], [''|yes],
      [_GPUBIND_MPI_FAMILY_TRY([$1], [$MPICC], [$4])
       AS_IF([test $have_$1 = no], [
         AC_PATH_PROG([$1_NAMED], [$3])
         _GPUBIND_MPI_FAMILY_TRY([$1], [$$1_NAMED], [$4])])],
      [_GPUBIND_MPI_FAMILY_TRY([$1], [$family_cc], [$4])])
    AS_IF([test $have_$1 = no && test -n "$family_cc"],
      [AC_MSG_ERROR([--with-$2-cc=$family_cc does not compile programs of that MPI])])])
  AC_SUBST([$1_CC])
  _GPUBIND_MPI_SUBST([$1_CFLAGS])
  _GPUBIND_MPI_SUBST([$1_LIBS])
])

AC_DEFUN([_GPUBIND_MPI_FAMILY_TRY], [
  AS_IF([test -n "$2"], [
    _GPUBIND_MPI_FLAGS([$2], [$1_CFLAGS], [$1_LIBS])
    gpubind_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $$1_CFLAGS"
    AC_MSG_CHECKING([whether mpi.h of $2 defines $3])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#ifndef $3
#error another MPI
#endif]], [])], [have_$1=yes $1_CC=$2])
    AC_MSG_RESULT([$have_$1])
    CFLAGS=$gpubind_save_CFLAGS])
])

# Asks the wrapper for its flags, tries them, and finds the mpirun of the same MPI
# (mpicc -> mpirun, mpicc.openmpi -> mpirun.openmpi).
AC_DEFUN([_GPUBIND_MPI_TRY], [
  _GPUBIND_MPI_FLAGS([$MPICC], [MPI_CFLAGS], [MPI_LIBS])

  gpubind_save_CFLAGS=$CFLAGS gpubind_save_LIBS=$LIBS
  CFLAGS="$CFLAGS $MPI_CFLAGS" LIBS="$MPI_LIBS $LIBS"
  AC_MSG_CHECKING([whether the flags of $MPICC link an MPI program])
  AC_LINK_IFELSE(
    [AC_LANG_PROGRAM([[#include <mpi.h>]], [[MPI_Init(0, 0); MPI_Finalize();]])],
    [have_mpi=yes])
  AC_MSG_RESULT([$have_mpi])
  CFLAGS=$gpubind_save_CFLAGS LIBS=$gpubind_save_LIBS

  mpi_dir=`echo "$MPICC" | sed 's|/[[^/]]*$||'`
  mpi_name=`echo "$MPICC" | sed 's|.*/||; s|mpicc|mpirun|'`
  AC_PATH_PROGS([MPIRUN], [${MPIRUN:-$mpi_name mpirun}], [], [$mpi_dir$PATH_SEPARATOR$PATH])
  AS_IF([test $have_mpi = no], [],
    [test -n "$MPIRUN"],
    [mpi_summary="$MPICC, $MPIRUN (`$MPIRUN --version 2>/dev/null | sed 1q`)"],
    [mpi_summary="$MPICC, no mpirun"
     AS_VAR_APPEND([left_out], ["
    the tests that run under mpirun: no mpirun (MPIRUN)"])])
])
