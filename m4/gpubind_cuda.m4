# GPUBIND_CUDA
#
# The CUDA toolkit's cuda.h and nvml.h. gpubind opens libcuda and NVML at run time
# and declares what it calls itself; two tests compile those declarations against
# the real headers.
#   --with-cuda=DIR   default /usr/local/cuda when it is there; --without-cuda
# Fatal only when DIR was given and holds no include/cuda.h.
# Defines CUDA_CPPFLAGS and the automake conditionals HAVE_CUDA_H and HAVE_NVML_H.
AC_DEFUN([GPUBIND_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR], [CUDA toolkit, for one test (default: /usr/local/cuda)])],
    [], [with_cuda=yes])
  have_cuda_h=no cuda_summary=no CUDA_CPPFLAGS=
  AS_CASE([$with_cuda], [yes], [cuda_dir=/usr/local/cuda], [no], [cuda_dir=], [cuda_dir=$with_cuda])
  AS_IF([test -n "$cuda_dir"], [
    AC_MSG_CHECKING([for $cuda_dir/include/cuda.h])
    AS_IF([test -r "$cuda_dir/include/cuda.h"],
      [have_cuda_h=yes cuda_summary=$cuda_dir/include
       CUDA_CPPFLAGS="-isystem $cuda_dir/include"])
    AC_MSG_RESULT([$have_cuda_h])
  ])
  AS_IF([test $have_cuda_h = no], [
    AS_CASE([$with_cuda],
      [yes|no], [AS_VAR_APPEND([left_out], ["
    the test that compares our CUDA declarations with cuda.h: no CUDA toolkit"])],
      [AC_MSG_ERROR([--with-cuda=$with_cuda holds no include/cuda.h])])
  ])
  gpubind_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
  AC_CHECK_HEADER([nvml.h], [have_nvml_h=yes], [have_nvml_h=no])
  CPPFLAGS=$gpubind_save_CPPFLAGS
  AS_IF([test $have_nvml_h = no], [AS_VAR_APPEND([left_out], ["
    the test that compares our NVML declarations with nvml.h: no nvml.h"])])
  AC_SUBST([CUDA_CPPFLAGS])
  AM_CONDITIONAL([HAVE_NVML_H], [test $have_nvml_h = yes])
  AM_CONDITIONAL([HAVE_CUDA_H], [test $have_cuda_h = yes])
])
