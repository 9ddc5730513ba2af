# GPUBIND_CUDA
#
# The CUDA toolkit's cuda.h and nvml.h. gpubind opens libcuda and NVML at run time
# and declares what it calls itself; two tests compile those declarations against
# the real headers.
#   --with-cuda=DIR   default /usr/local/cuda when it is there; --without-cuda
# Fatal only when DIR was given and holds no include/cuda.h.
# nvcc of the same toolkit compiles the kernels into the library, with g++; without it the
# driver's copies alone serve.
# Defines CUDA_CPPFLAGS, NVCC, NVCC_CODE and the automake conditionals HAVE_CUDA_H,
# HAVE_NVML_H and HAVE_NVCC.
AC_DEFUN([GPUBIND_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR], [CUDA toolkit, for the kernels and two tests (default: /usr/local/cuda)])],
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
  _GPUBIND_NVCC
])

# nvcc, tried on one of the kernels, which has what the others want of it, and takes 3 s in place of their
# 75: machine code for what is common, and PTX for what comes later.
AC_DEFUN([_GPUBIND_NVCC], [
  have_nvcc=no nvcc_summary=no nvcc_lack="no nvcc" NVCC=
  NVCC_CODE="-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75 -Xfatbin -compress-all"
  AS_IF([test -n "$cuda_dir"], [AC_PATH_PROG([NVCC], [nvcc], [], [$cuda_dir/bin])])
  AS_IF([test -n "$NVCC"], [
    AC_MSG_CHECKING([whether $NVCC compiles kernels])
    AS_IF([$NVCC $NVCC_CODE -fatbin -I"$srcdir/src" -o conftest.fatbin \
             "$srcdir/src/gpu/copy/copy_kernel.cu" >&AS_MESSAGE_LOG_FD 2>&1],
      [have_nvcc=yes nvcc_summary=$NVCC],
      [nvcc_lack="nvcc does not compile: see config.log" nvcc_summary="$nvcc_lack" NVCC=])
    rm -f conftest.fatbin
    AC_MSG_RESULT([$have_nvcc])
  ])
  AS_IF([test $have_nvcc = no], [AS_VAR_APPEND([left_out], ["
    the kernels, which move many small messages at once, strided ones, and those in streams: $nvcc_lack"])])
  AC_SUBST([NVCC])
  AC_SUBST([NVCC_CODE])
  AM_CONDITIONAL([HAVE_NVCC], [test $have_nvcc = yes])
])
