#!/bin/sh
# Recorded machines, maps and their files that are no such thing.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

demo=$top_srcdir/tests/machines/demo-2p4g.xml

# bad DESCRIPTION FILE: refused as the machine of a program, and of a plan.
bad() {
    run bounded gpubind --topology "$2" echo ran
    refused "$1" "$2"
    run bounded gpubind --plan --topology "$2"
    refused "$1, --plan" "$2"
}

bad 'no such machine' "$tmp/none.xml"
bad 'a folder as a machine' "$tmp"
bad 'a device as a machine' /dev/null
: > "$tmp/empty.xml"
bad 'an empty file' "$tmp/empty.xml"
echo 'not at all' > "$tmp/text.xml"
bad 'text' "$tmp/text.xml"
head -c 100000 /dev/urandom > "$tmp/binary.xml"
bad 'random bytes' "$tmp/binary.xml"
echo '<?xml version="1.0"?><html><body>no</body></html>' > "$tmp/html.xml"
bad 'another XML' "$tmp/html.xml"
printf '<?xml version="1.0"?>\n<topology version="2.0">\n</topology>\n' > "$tmp/no-objects.xml"
bad 'a topology of nothing' "$tmp/no-objects.xml"

# Cut anywhere: at a byte, and after a line.
for part in 1 20 50 80 99; do
    head -c $(($(wc -c < "$demo") * part / 100)) "$demo" > "$tmp/cut$part.xml"
    bad "the first $part per cent" "$tmp/cut$part.xml"
done
sed 's/cpuset="[^"]*"/cpuset="rubbish"/' "$demo" > "$tmp/cpuset.xml"
bad 'unreadable cpusets' "$tmp/cpuset.xml"
sed 's/cpuset="[^"]*"/cpuset="0x0"/g; s/nodeset="[^"]*"/nodeset="0x0"/g' "$demo" > "$tmp/no-cpus.xml"
bad 'a machine without CPUs' "$tmp/no-cpus.xml"

# odd DESCRIPTION FILE: taken or refused, but in good order.
odd() {
    run bounded gpubind --plan --topology "$2"
    if [ "$status" = 0 ]; then
        check "$1: is planned" test -s "$tmp/out"
    else
        refused "$1: is refused" .
    fi
}
sed 's/pci_busid="[^"]*"/pci_busid="x"/' "$demo" > "$tmp/busid.xml"
odd 'unreadable PCI addresses' "$tmp/busid.xml"
sed 's/\(UUID" value="\)[^"]*/\1/' "$demo" > "$tmp/uuid.xml"
odd 'empty UUIDs' "$tmp/uuid.xml"
sed "s/\\(UUID\" value=\"\\)/\\1$(head -c 5000 /dev/zero | tr '\0' A)/" "$demo" > "$tmp/long.xml"
odd 'UUIDs of 5000 characters' "$tmp/long.xml"
sed 's/os_index="[0-9]*"/os_index="7"/' "$demo" > "$tmp/same.xml"
odd 'objects that all have one number' "$tmp/same.xml"
sed 's/os_index="[0-9]*"/os_index="4294967295"/' "$demo" > "$tmp/far.xml"
odd 'objects with impossible numbers' "$tmp/far.xml"
sed 's/pci_busid="0000:2a/pci_busid="0000:17/' "$demo" > "$tmp/twins.xml"
odd 'two GPUs at one PCI address' "$tmp/twins.xml"
awk 'BEGIN { print "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">"
    for (i = 0; i < 100000; i++) print "<object type=\"Group\" cpuset=\"0x1\">"
    for (i = 0; i < 100000; i++) print "</object>"
    print "</topology>" }' > "$tmp/deep.xml"
odd 'a hundred thousand objects within each other' "$tmp/deep.xml"
awk '/PCIDev/ && !done++ { for (i = 0; i < 5000; i++)
        printf "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"%04x:00:00.0\" " \
            "pci_type=\"0302 [10de:2330] [10de:16c1] a1\" pci_link_speed=\"0\">\n" \
            "<object type=\"OSDev\" gp_index=\"%d\" name=\"nvml%d\" osdev_type=\"1\">" \
            "<info name=\"Backend\" value=\"NVML\"/></object></object>\n", \
            1000 + i, 16 + i, 10000 + i, 100 + i }
    { print }' "$demo" > "$tmp/wide.xml"
odd 'five thousand GPUs' "$tmp/wide.xml"
{
    echo '<?xml version="1.0"?><!DOCTYPE topology [<!ENTITY a "aaaaaaaaaaaaaaaaaaaa">'
    for c in b:a c:b d:c e:d f:e g:f h:g; do
        i="&${c#*:};"
        echo "<!ENTITY ${c%:*} \"$i$i$i$i$i$i$i$i$i$i\">"
    done
    echo ']><topology version="2.0"><object type="Machine"><info name="x" value="&h;"/></object></topology>'
} > "$tmp/laughs.xml"
odd 'entities that grow' "$tmp/laughs.xml"

# Maps.
map() {
    run bounded gpubind --topology "$demo" --map "$2" echo ran
    refused "map '$1'" "$3"
}
for entry in 4 -1 1x GPU-9 GPU-1 0000:99:00.0 MIG-1 99999999999999999999; do
    map "$entry" "0,$entry" "'$entry'"
done
map 'what there is' 9 '0000:ab:00.0'
for map in 0,0 0,0000:17:00.0 17:00.0,0 GPU-1000,0 GPU-13333333,0,3; do
    map "$map" "$map" 'second time'
done
map 'nothing' , 'no GPU'
map 'no such file' "@$tmp/none" "$tmp/none"
map 'a folder' "@$tmp" "$tmp"
map 'no file name' '@' 'map\|No such file'
map 'an empty file' "@$tmp/empty.xml" "$tmp/empty.xml"
map 'random bytes' "@$tmp/binary.xml" "$tmp/binary.xml"
map 'an endless file' @/dev/zero /dev/zero
head -c 20000000 /dev/zero | tr '\0' '0' > "$tmp/huge"
map 'a huge file' "@$tmp/huge" "$tmp/huge"
printf '# all of them\n3 2 # far\r\n\t1,0000:17:00.0\n' > "$tmp/map"
run bounded gpubind --topology "$demo" --map "@$tmp/map" echo ran
is 'a map with comments, blanks and several lines' "$status$(cat "$tmp/out" "$tmp/err")" 0ran
awk 'BEGIN { for (i = 0; i < 70000; i++) print "h" i }' > "$tmp/hosts"
run bounded gpubind --plan --topology "$demo" --ranks-file "$tmp/hosts"
refused 'seventy thousand nodes' 'more than 65536 nodes'
nothing_left 'nothing is left behind'
done_testing
