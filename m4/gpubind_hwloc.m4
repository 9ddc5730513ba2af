# GPUBIND_HWLOC
#
# hwloc >= 2.1, found with pkg-config. Fatal when absent.
# Without pkg-config: set HWLOC_CFLAGS and HWLOC_LIBS.
# Defines HWLOC_CFLAGS and HWLOC_LIBS.
AC_DEFUN([GPUBIND_HWLOC], [
  PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.1],
    [hwloc_version=`$PKG_CONFIG --modversion hwloc 2>/dev/null || echo "as given by HWLOC_LIBS"`],
    [AC_MSG_ERROR([hwloc 2.1 or newer is needed: install libhwloc-dev (Debian, Ubuntu) or hwloc-devel, or set PKG_CONFIG_PATH])])
])
