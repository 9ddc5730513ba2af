# GPUBIND_SANITIZERS
#
# AddressSanitizer and UndefinedBehaviorSanitizer in everything but the examples.
#   --enable-sanitizers   default no
# Fatal when asked for and the compiler cannot link such a program.
# Defines SAN_CFLAGS and the automake conditional SANITIZERS.
AC_DEFUN([GPUBIND_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers], [build with ASan and UBSan (default: no)])],
    [], [enable_sanitizers=no])
  SAN_CFLAGS=
  AS_IF([test "x$enable_sanitizers" != xno], [
    SAN_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
    gpubind_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $SAN_CFLAGS"
    AC_MSG_CHECKING([whether $CC links with ASan and UBSan])
    AC_LINK_IFELSE([AC_LANG_PROGRAM],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([--enable-sanitizers: $CC cannot link with $SAN_CFLAGS])])
    CFLAGS=$gpubind_save_CFLAGS
  ])
  AC_SUBST([SAN_CFLAGS])
  AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" != xno])
])
