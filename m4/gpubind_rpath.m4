# GPUBIND_RPATH
#
# What a program that is linked against the installed library needs to find it at run
# time: nothing where the dynamic linker looks anyway, else the library's folder in the
# program. In two words: nvcc refuses -Wl. Never fatal. After LT_INIT, which knows where the
# dynamic linker looks. Defines PC_RPATH, for gpubind.pc, and libdir_name, the folder in a
# prefix that was moved.
AC_DEFUN([GPUBIND_RPATH], [
  AC_REQUIRE([LT_INIT])
  gpubind_save_prefix=$prefix gpubind_save_exec_prefix=$exec_prefix
  AS_IF([test "x$prefix" = xNONE], [prefix=$ac_default_prefix])
  AS_IF([test "x$exec_prefix" = xNONE], [exec_prefix=$prefix])
  eval "gpubind_libdir=\"$libdir\" gpubind_exec_prefix=\"$exec_prefix\""
  prefix=$gpubind_save_prefix exec_prefix=$gpubind_save_exec_prefix
  AC_MSG_CHECKING([whether programs find libraries in $gpubind_libdir by themselves])
  gpubind_searched=" /lib /usr/lib /lib64 /usr/lib64 $sys_lib_dlsearch_path_spec "
  AS_CASE([`echo "$gpubind_searched" | tr '\n\t' '  '`],
    [*" $gpubind_libdir "*|*" $gpubind_libdir/ "*], [PC_RPATH= gpubind_found=yes],
    [PC_RPATH=' -Xlinker -rpath=${libdir}' gpubind_found="no, gpubind.pc says where they are"])
  AC_MSG_RESULT([$gpubind_found])
  AC_SUBST([PC_RPATH])
  # bin is in the same prefix; a libdir elsewhere does not move with it.
  AS_CASE([$gpubind_libdir],
    ["$gpubind_exec_prefix"/*], [libdir_name=`expr "x$gpubind_libdir" : "x$gpubind_exec_prefix/*\(.*\)"`],
    [libdir_name=lib])
  AC_SUBST([libdir_name])
])
