#!/bin/sh
# Recorded machines that hwloc dies of, that have no end, or that come another way.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

demo=$top_srcdir/tests/machines/demo-2p4g.xml
kept=$top_srcdir/tests/fuzz/corpus/xml

# A pipe that nobody writes to takes all the time that there is, so it begins now.
mkfifo "$tmp/fifo"
(
    trap '' ALRM # which the program may have inherited
    limit=90 bounded gpubind --plan --topology "$tmp/fifo" >"$tmp/fifo.out" 2>"$tmp/fifo.err"
    echo $? >"$tmp/fifo.status"
) &

# both DESCRIPTION FILE: planned or refused in good order, by both readers of XML, whether
# it is an option or hwloc's own variable that names the file.
both() {
    for libxml in 0 1; do
        run env HWLOC_LIBXML=$libxml timeout 60 gpubind --plan --topology "$2"
        good "$1, HWLOC_LIBXML=$libxml" "$2"
        run env HWLOC_LIBXML=$libxml HWLOC_XMLFILE="$2" timeout 60 gpubind --plan
        good "$1, HWLOC_LIBXML=$libxml, HWLOC_XMLFILE" HWLOC_XMLFILE
    done
}
good() {
    if [ "$status" = 0 ]; then
        check "$1: is planned" grep -q '^node ' "$tmp/out"
    else
        refused "$1: is refused" "$2"
    fi
}

for file in "$kept"/*; do
    both "kept $(basename "$file")" "$file"
done

# tail DESCRIPTION TEXT: a good machine with something at its end.
tail_of() {
    sed '/<\/topology>/d' "$demo" >"$tmp/tail.xml"
    printf '%s\n</topology>\n' "$2" >>"$tmp/tail.xml"
    both "$1" "$tmp/tail.xml"
}
d='<distances2 type="OSDev" kind="25" name="NVLinkBandwidth" indexing="gp"'
tail_of 'distances between a thousand million objects' "$d nbobjs=\"1000000000\"></distances2>"
tail_of 'distances between minus one objects' "$d nbobjs=\"-1\"></distances2>"
tail_of 'distances without values' "$d nbobjs=\"2\"><indexes length=\"4\">1 2 </indexes></distances2>"
tail_of 'indexes of another length' \
    "$d nbobjs=\"4\"><indexes length=\"999999999\">1 2 </indexes><u64values length=\"0\"></u64values></distances2>"
tail_of 'distances between no objects' "$d nbobjs=\"0\"><indexes length=\"0\"></indexes></distances2>"
tail_of 'an attribute of memory that is not there' \
    '<memattr name="Bandwidth" flags="5"><memattr_value target_obj_gp_index="99999" target_obj_type="PU" value="-1" initiator_cpuset="0xf...f"/></memattr>'
tail_of 'an attribute without a name' '<memattr flags="99"><memattr_value/></memattr>'
tail_of 'kinds of CPUs that are not there' '<cpukind cpuset="0xffff0000,,,,,0x0" forced_efficiency="-9"/><cpukind/>'
tail_of 'support of nothing' '<support name="" value="-1"/><support/><userdata length="99999999">x</userdata>'
tail_of 'another machine behind it' "$(sed '1,/<topology/d' "$demo")"
sed 's/ cpuset="[^"]*"/ cpuset="0x1,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0"/' "$demo" >"$tmp/wide.xml"
both 'a CPU set wider than the machine' "$tmp/wide.xml"
sed 's/ cpuset="[^"]*"/ cpuset="0xf...f"/' "$demo" >"$tmp/endless.xml"
both 'a CPU set without an end' "$tmp/endless.xml"

# Of another version of hwloc.
sed 's/<topology version="2.0">/<topology version="3.0">/' "$demo" >"$tmp/three.xml"
said='XML of hwloc 3, and the hwloc here reads that of hwloc 2: .*lstopo --export-xml-flags v2'
run bounded gpubind --plan --topology "$tmp/three.xml"
refused 'XML of hwloc 3' "topology file $tmp/three.xml is $said"
run bounded env HWLOC_XMLFILE="$tmp/three.xml" gpubind --plan
refused '... in place of this machine' "topology file $tmp/three.xml is $said"

# What a machine says does not reach the terminal as it is.
run bounded gpubind --plan --topology "$kept/escapes"
check 'a name of two lines is one' sh -c "grep -q '^node a??b: ' '$tmp/out'"

# The file is read once: a pipe will do, and nobody can exchange it between two looks.
run bounded gpubind --plan --topology "$demo"
grep -v '^node' "$tmp/out" >"$tmp/wanted"
run sh -c 'timeout 60 gpubind --plan --topology /dev/stdin <"$0"' "$demo"
is 'a machine on stdin' "$(grep -v '^node' "$tmp/out")" "$(cat "$tmp/wanted")"
run sh -c 'cat "$0" | timeout 60 gpubind --plan --topology /dev/stdin' "$demo"
is 'a machine through a pipe' "$(grep -v '^node' "$tmp/out")" "$(cat "$tmp/wanted")"
run sh -c 'yes "<a>" | timeout 60 gpubind --plan --topology /dev/stdin'
refused 'a pipe without an end' '16 MiB'
run bounded gpubind --plan --topology /dev/zero
refused 'a device without an end' '/dev/zero'

# Other things that stand for this machine.
run bounded env HWLOC_SYNTHETIC='pack:2 core:2 pu:1' gpubind --plan
good 'a synthetic machine' HWLOC_SYNTHETIC
run bounded env HWLOC_SYNTHETIC='nonsense' gpubind --plan
good 'a synthetic machine of nonsense' HWLOC_SYNTHETIC
run bounded env HWLOC_FSROOT="$tmp" gpubind --plan
good 'a root without files' HWLOC_FSROOT

wait
status=$(cat "$tmp/fifo.status")
cp "$tmp/fifo.out" "$tmp/out"
cp "$tmp/fifo.err" "$tmp/err"
refused 'a pipe that nobody writes to' 'nothing to read within 30 s'
nothing_left 'nothing is left behind'
done_testing
