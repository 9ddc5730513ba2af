# GPUBIND_WARNINGS
#
# The compiler's warnings. Flags that the compiler does not know are dropped.
#   --enable-werror   warnings are errors; default no, so that a new compiler
#                     never breaks a user's build
# Never fatal. Defines WARN_CFLAGS.
AC_DEFUN([GPUBIND_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat warnings as errors (default: no)])],
    [], [enable_werror=no])
  WARN_CFLAGS=
  gpubind_save_CFLAGS=$CFLAGS
  for flag in -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
              -Wold-style-definition -Wpointer-arith -Wwrite-strings \
              -Wformat=2 -Wundef -Wvla; do
    AC_MSG_CHECKING([whether $CC accepts $flag])
    CFLAGS="$gpubind_save_CFLAGS -Werror $flag"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM],
      [AC_MSG_RESULT([yes]); AS_VAR_APPEND([WARN_CFLAGS], [" $flag"])],
      [AC_MSG_RESULT([no])])
  done
  CFLAGS=$gpubind_save_CFLAGS
  AS_IF([test "x$enable_werror" != xno], [AS_VAR_APPEND([WARN_CFLAGS], [" -Werror"])])
  AC_SUBST([WARN_CFLAGS])
])
