#!/bin/sh
# gpubind --plan --xml FILE: a machine like the one that was planned for, and a picture.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

machines=$top_srcdir/tests/machines
demo=$machines/demo-2p4g.xml
islands=$machines/islands-8g.xml
xml=$tmp/plan.xml

# plan ARG...: what --plan --json prints.
plan() { bounded gpubind --quiet --plan --json "$@" 2>"$tmp/err"; }

# ---- it is still the machine

for machine in "$machines"/*.xml "$top_srcdir"/../shared/topologies/*.xml; do
    [ -e "$machine" ] || continue
    for options in '' '--ranks 1' '--ranks 3' '--ranks 9 --master 0' '--ranks 2 --policy pack' \
        '--ranks 4 --bind none' '--ranks 4 --bind package' '--ranks 7 --smt 1 --overflow idle'; do
        # shellcheck disable=SC2086 # options
        before=$(plan --topology "$machine" $options --xml "$xml")
        # shellcheck disable=SC2086
        is "$(basename "$machine") $options: the same plan" "$(plan --topology "$xml" $options)" \
            "$before"
    done
done
# The box of rank 0 is around a package, those of the others are inside one.
printf 'rank 0=a slot=0-7,16-23\nrank 1=a slot=8-11,24-27\nrank 2=a slot=12-15,28-31\n' >"$tmp/ranks"
gpubind -q --plan --topology "$demo" --ranks-file "$tmp/ranks" --xml "$xml" >/dev/null
for options in '--bind package --ranks 1' '--bind package --ranks 9 --master 0'; do
    # shellcheck disable=SC2086 # options
    is "a box around one package only, $options" "$(plan --topology "$xml" $options)" \
        "$(plan --topology "$demo" $options)"
done
pretend() { HWLOC_XMLFILE=$demo HWLOC_THISSYSTEM=1 bounded "$@"; }
# The CPUs that this test may use are not in the file.
run pretend gpubind --plan --json --cpuset 0-31 --xml "$xml"
is 'this machine' "$(plan --topology "$xml" | sed 's/"node":"[^"]*"//')" \
    "$(sed 's/"node":"[^"]*"//' "$tmp/out")"

# ---- it shows the plan

# What lies where and in which colour: "LABEL: Background", of groups with the PUs in them
# and of labels below PCI devices with the address.
cat >"$tmp/shown.py" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
def style(obj):
    values = [i.get("value") for i in obj.findall("info") if i.get("name") == "lstopoStyle"]
    assert len(values) <= 1, values
    return values[0].split(";")[0].split("=")[1] if values else "none"
for obj in tree.parse(sys.argv[1]).iter("object"):
    if obj.get("type") == "Group" and obj.get("name"):
        pus = [pu for pu in obj.iter("object") if pu.get("type") == "PU"]
        colours = {style(pu) for pu in pus} | {style(obj)}
        print(obj.get("name"), ",".join(pu.get("os_index") for pu in pus), *sorted(colours))
    if obj.get("type") == "PCIDev":
        for misc in obj.findall("object"):
            if misc.get("type") == "Misc":
                print(misc.get("name"), obj.get("pci_busid")[5:], style(misc))
PYTHON
shown() { python3 "$tmp/shown.py" "$xml" 2>&1; }

plan --topology "$demo" --ranks 7 --master 0 --overflow idle --xml "$xml" >"$tmp/out"
is 'ranks, a master, idle ones' "$(shown)" 'rank 1 0,16,1,17,2,18,3,19 #33689e
rank 2 4,20,5,21,6,22 #a9501c
rank 0 (master) 7,23 #5c5c5c
GPU 0: rank 1 17:00.0 #33689e
GPU 1: rank 2 2a:00.0 #a9501c
rank 3 8,24,9,25,10,26 #39774a
rank 4 11,27,12,28,13,29 #75499b
rank 5 (idle) 14,30 #5c5c5c
rank 6 (idle) 15,31 #5c5c5c
GPU 2: rank 3 9a:00.0 #39774a
GPU 3: rank 4 ab:00.0 #75499b'
plan --topology "$demo" --ranks 8 --xml "$xml" >"$tmp/out"
is 'ranks that share a GPU have its colour' "$(shown | grep -E 'ranks? [0-3-]+ ')" \
    'rank 0 0,16,1,17 #33689e
rank 1 2,18,3,19 #33689e
rank 2 4,20,5,21 #a9501c
rank 3 6,22,7,23 #a9501c
GPU 0: ranks 0-1 17:00.0 #33689e
GPU 1: ranks 2-3 2a:00.0 #a9501c'
plan --topology "$demo" --ranks 1 --gpus-per-rank 2 --smt 1 --policy pack --xml "$xml" >"$tmp/out"
is 'a set of GPUs has one colour, GPUs and threads without rank have none' "$(shown)" \
    'rank 0 0,16,1,17,2,18,3,19,4,20,5,21,6,22,7,23 #33689e none
GPU 0: rank 0 17:00.0 #33689e
GPU 1: rank 0 2a:00.0 #33689e
GPU 2: no rank 9a:00.0 none
GPU 3: no rank ab:00.0 none'
plan --topology "$demo" --ranks 4 --bind none --xml "$xml" >"$tmp/out"
is 'ranks that are not bound' "$(grep -c 'type="Misc"[^>]*name="ranks 0-3"' "$xml")" 1
plan --topology "$machines/mig-1g7i.xml" --xml "$xml" >"$tmp/out"
is 'instances have their own labels' "$(shown | grep -c '^GPU \([0-6]\): rank \1 17:00.0 #')" 7
plan --topology "$islands" --ranks 16 --ranks-per-gpu 2 --policy spread --xml "$xml" >"$tmp/out"
is 'eight GPUs, eight colours' "$(shown | sed -n 's/^GPU.* //p' | sort -u | wc -l)" 8
# Cores that other objects overlap have a label each.
printf 'rank 0=a slot=0-2\nrank 1=a slot=3-12\n' >"$tmp/ranks"
plan --topology "$machines/scattered-8n4g.xml" --ranks-file "$tmp/ranks" --bind package \
    --xml "$xml" >"$tmp/out"
is 'no box fits around cores of two packages' \
    "$(grep -o 'type="[A-Za-z]*"[^>]*name="rank [01]"' "$xml" | sed 's/ .*name=/ /' | sort | uniq -c | tr -s ' ')" \
    ' 1 type="Group" "rank 0"
 10 type="Misc" "rank 1"'

if command -v lstopo-no-graphics >/dev/null; then
    plan --topology "$islands" --xml "$xml" >"$tmp/out"
    # The command of docs/placement.md, and of the picture there.
    command=$(sed -n 's/^ *lstopo\( .*\) plan.svg$/lstopo-no-graphics\1/p' "$top_srcdir/docs/placement.md" |
        tail -n 1)
    check 'docs/placement.md says how its picture is made' test -n "$command"
    words() { grep -oE '>[^<>]+</text>|fill=.rgb[^ ]*' "$1" | sort; }
    run sh -c "cd '$tmp' && $command -f drawn.svg"
    is 'lstopo draws it' "$status $(cat "$tmp/err")" '0 '
    if lstopo-no-graphics --version | grep -q ' 2\.9'; then
        is 'docs/pictures/plan.svg is that picture' "$(words "$top_srcdir/docs/pictures/plan.svg")" \
            "$(words "$tmp/drawn.svg")"
    else
        skip 'docs/pictures/plan.svg is that picture' 'another lstopo than 2.9 made it'
    fi
    for rank in 0 1 2 3 4 5 6 7; do
        check "rank $rank is on it" grep -q ">GPU $rank: rank $rank<" "$tmp/drawn.svg"
    done
else
    skip 'lstopo draws it' 'no lstopo'
fi

# ---- several nodes

(cd "$tmp" && gpubind -q --plan --topology "$demo" --nodes a,b.c --ranks 4 --xml ./many.xml) >"$tmp/out"
is 'a file a node' "$(cd "$tmp" && echo many*)" 'many.a.xml many.b.c.xml'
xml=$tmp/many.b.c.xml
is '... with its ranks' "$(shown | grep '^GPU.*: rank')" 'GPU 0: rank 2 17:00.0 #33689e
GPU 2: rank 3 9a:00.0 #a9501c'
(cd "$tmp" && gpubind -q --plan --topology "$demo" --nodes 2 --xml noext) >"$tmp/out"
is 'without a suffix' "$(cd "$tmp" && echo noext*)" 'noext.n0 noext.n1'
xml=$tmp/plan.xml

# ---- files

umask 027
rm -f "$xml"
gpubind -q --plan --topology "$demo" --xml "$xml" >/dev/null
is 'a new file has the usual mode' "$(stat -c %a "$xml")" 640
ln -s plan.xml "$tmp/link.xml"
gpubind -q --plan --topology "$islands" --xml "$tmp/link.xml" >/dev/null
is 'a link stays one, what it points at is replaced' \
    "$(readlink "$tmp/link.xml") $(grep -c islands-8g "$xml")" 'plan.xml 1'
is '/dev/stdout is written to' "$(gpubind -q --plan --topology "$demo" --xml /dev/stdout | head -c 5)" \
    '<?xml'

# not_written DESCRIPTION PATTERN FILE
not_written() {
    run bounded gpubind --plan --topology "$demo" --xml "$3"
    refused "$1" "$2"
}
mkdir "$tmp/folder"
not_written 'no such folder' "$tmp/none/plan.xml: No such file" "$tmp/none/plan.xml"
not_written 'a folder' "$tmp/folder: Is a directory" "$tmp/folder"
not_written 'a file as a folder' 'Not a directory' "$xml/plan.xml"
not_written 'a full disk' 'No space left' /dev/full
cp "$xml" "$tmp/old"
status=0
(trap '' XFSZ; ulimit -f 1; exec gpubind -q --plan --topology "$demo" --xml "$xml") \
    >"$tmp/out" 2>"$tmp/err" || status=$?
refused 'a file that may not be so large' "$xml: File too large"
check '... and the old one is as it was' cmp "$tmp/old" "$xml"
is 'nothing else is left' "$(cd "$tmp" && ls -d -- *.?????? 2>/dev/null)" ''

run bounded gpubind --plan --topology "$xml" --xml "$tmp/again.xml"
refused 'a file with a plan in it' "$xml has a plan drawn in it already"
run bounded gpubind --plan --nodes "$demo,$demo" --xml "$tmp/again.xml"
refused 'two nodes of one name' "two nodes are called 'demo-2p4g'"
# shellcheck disable=SC2002,SC2016 # a pipe is meant, and the inner shell expands
run bounded sh -c 'cat "$1" | gpubind --plan --topology /dev/stdin --xml "$2"' - "$demo" "$tmp/again.xml"
refused 'a machine through a pipe' '/dev/stdin is read twice'
run bounded gpubind --plan --topology "$demo" --nodes a/b,c --xml "$tmp/again.xml"
refused 'a node with a slash' "node 'a/b' cannot be part of a file's name"
run bounded gpubind --plan --topology "$demo" --xml "$tmp/"
refused 'a folder' "$tmp/ names no file"
run bounded gpubind --list --xml "$xml"
refused 'with --list' '--xml goes with --plan only'
check 'nothing was written' test ! -e "$tmp/again.xml"
done_testing
