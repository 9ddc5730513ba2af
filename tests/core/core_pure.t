#!/bin/sh
# The core asks nobody and tells nobody: no environment, no printing, no files, no
# exit, and no variable that outlives a call.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

library=$top_builddir/src/core/.libs/libgpubind-core.a
[ -z "$SANITIZED" ] || skip_all 'the sanitizers add symbols of their own'
[ -r "$library" ] || skip_all "no $library: not built here"

# Names that glibc's fortified headers turn into __NAME_chk count too.
effects='getenv|secure_getenv|setenv|putenv|v?f?printf|f?puts|putchar|perror|exit|_exit|abort'
effects="$effects|f?open|openat|read|write|socket|fork|exec[lv]p?e?|stdout|stderr|dlopen"

is 'no call with an effect' \
    "$(nm -A -u "$library" | grep -E " U (__)?($effects)(_chk)?(@.*)?$")" ''
# .data.rel.ro holds constants that contain addresses.
is 'no variable' \
    "$(objdump -t "$library" | grep -E ' O ([.]t?(bss|data)|[*]COM[*])' | grep -v 'data[.]rel[.]ro')" ''
check 'nm saw the core' sh -c "nm '$library' | grep -q ' T error_set$'"
done_testing
