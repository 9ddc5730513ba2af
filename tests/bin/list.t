#!/bin/sh
# gpubind --list: golden outputs, in tests/list, and what they cannot hold.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/goldens.sh"

machines=$top_srcdir/tests/machines
demo=$machines/demo-2p4g.xml
recorded=$top_srcdir/../shared/topologies

goldens list list

# rows: the GPUs in $tmp/out, an index a line.
rows() { awk '/^ +GPU +PCI / { on = 1; next } !NF { on = 0 } on { print $1 }' "$tmp/out"; }

# fits FILE: the JSON holds as many GPUs as the table, and square matrices that agree in
# what has a link.
cat >"$tmp/fits.py" <<'PYTHON'
import json, sys
node = json.load(open(sys.argv[1]))
rows = [int(row) for row in sys.argv[2:]]
n = len(node["gpus"])
assert [gpu["index"] for gpu in node["gpus"]] == rows, (n, rows)
for key, columns in (("gpu_paths", n), ("gpu_bandwidth", n), ("nic_paths", len(node["nics"]))):
    assert [len(row) for row in node[key]] == [columns] * n, key
for a in range(n):
    assert node["gpu_paths"][a][a] == "X"
    for b in range(n):
        linked = node["gpu_paths"][a][b][:2] in ("NV", "XG", "XE")
        assert linked == (node["gpu_bandwidth"][a][b] > 0), (a, b)
PYTHON
for machine in "$machines"/*.xml "$recorded"/*.xml; do
    [ -e "$machine" ] || continue
    bounded gpubind --list --json --topology "$machine" >"$tmp/json" 2>"$tmp/err"
    run bounded gpubind --list --topology "$machine"
    # shellcheck disable=SC2046 # a list of numbers
    check "$(basename "$machine"): table and JSON fit" python3 "$tmp/fits.py" "$tmp/json" $(rows)
done

# cell FILE ROW COLUMN: what the matrix has there.
cell() {
    bounded gpubind --list --topology "$1" | awk -v row="$2" -v column="$3" '
        /^ +GPU[0-9]/ && !head { for (i = 1; i <= NF; i++) at[$i] = i + 1; head = 1; next }
        $1 == row && NF > 2 { print $at[column] }'
}
for file in dgx2-16v100:GPU0:GPU7:NV6 tioga-epyc-8mi250:GPU0:GPU1:XGMI100 \
    lassen-2p9-4v100:GPU0:GPU1:PIX lassen-2p9-4v100:GPU0:mlx5_0:NODE; do
    IFS=: read -r name from to code <<EOF
$file
EOF
    if [ -e "$recorded/$name.xml" ]; then
        is "$name: $from to $to" "$(cell "$recorded/$name.xml" "$from" "$to")" "$code"
    else
        skip "$name: $from to $to" "no $recorded"
    fi
done
sed 's/H100 80GB HBM3/B200/; s/\b100000\b/900000/g' "$machines/islands-8g.xml" >"$tmp/b200.xml"
is 'NVLinks of 50 GB/s' "$(cell "$tmp/b200.xml" GPU0 GPU2)" NV18

# ---- what may not be used

pretend() { HWLOC_XMLFILE=$demo HWLOC_THISSYSTEM=1 bounded "$@"; }
run pretend env CUDA_VISIBLE_DEVICES=3,1 gpubind --list
is 'CUDA_VISIBLE_DEVICES hides the others' "$status $(rows | tr '\n' ' ')" '0 1 3 '
is '... and one line says so' "$(cat "$tmp/err")" \
    'gpubind: CUDA_VISIBLE_DEVICES=3,1 leaves 2 of 4 GPUs'
run pretend env CUDA_VISIBLE_DEVICES=3,1 gpubind --list --quiet
is '--quiet does not' "$status $(cat "$tmp/err")" '0 '
run pretend env CUDA_VISIBLE_DEVICES= gpubind --list
is 'all hidden' "$status $(sed 's/^node [^:]*: \(0 GPUs\), .*/\1/' "$tmp/out")" '0 0 GPUs'
run pretend taskset -c 0 gpubind --list --json
is 'CPUs that gpubind may not use are not there' \
    "$(grep -o '"cpus":"[^"]*"' "$tmp/out" | sort -u | tr '\n' ' ')" '"cpus":"" "cpus":"0" '
is '... but where a GPU is, is known' "$(grep -o '"numa":"[^"]*"' "$tmp/out" | tr '\n' ' ')" \
    '"numa":"0" "numa":"0" "numa":"1" "numa":"1" '
is 'what --list shows is what --plan uses' \
    "$(pretend env CUDA_VISIBLE_DEVICES=3,1 gpubind -q --plan --json | grep -o '"index":[0-9]*' | sort -u | tr '\n' ' ')" \
    '"index":1 "index":3 '

# ---- many

# many GPUS NICS: a machine of so many; the last GPU and the last NIC are behind one bridge.
many() {
    sed '/<object type="Bridge"/q' "$machines/small-4c2g.xml"
    awk -v gpus="$1" -v nics="$2" '
        function gpu(i) {
            printf "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"%04x:%02x:00.0\" pci_type=\"0302 [10de:2330] [10de:16c1] a1\" pci_link_speed=\"31.5\"/>\n", 100001 + i, int(i / 128), i % 128
        }
        function nic(i) {
            printf "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"%04x:%02x:00.0\" pci_type=\"0207 [15b3:1021] [15b3:0023] 00\" pci_link_speed=\"31.5\"><object type=\"OSDev\" gp_index=\"%d\" name=\"mlx5_%d\" osdev_type=\"3\"/></object>\n", 200001 + i, int(i / 120), 128 + i % 120, 300001 + i, i
        }
        BEGIN {
            for (i = 0; i < gpus - 1; i++) gpu(i)
            for (i = 0; i < nics - 1; i++) nic(i)
            print "<object type=\"Bridge\" gp_index=\"100000\" bridge_type=\"1-1\" depth=\"1\" bridge_pci=\"0000:[fa-fb]\" pci_busid=\"0000:fa:00.0\" pci_type=\"0604 [1000:c030] [1000:c030] 00\" pci_link_speed=\"31.5\">"
            gpu(gpus - 1); if (nics) nic(nics - 1)
            print "</object></object></object></object></topology>"
        }'
}
many 300 0 >"$tmp/many.xml"
run bounded gpubind --list --topology "$tmp/many.xml"
is '300 GPUs' "$status $(rows | wc -l)" '0 300'
# Each X stands below the name of its GPU.
is '... their matrix is aligned' "$(awk '/^ +GPU0 +GPU1 / { head = $0 " "; next }
    head && /^ +GPU[0-9]/ && index($0 " ", " X ") == index(head, " " $1 " ") { n++ }
    END { print n }' "$tmp/out")" 300
run bounded gpubind --quiet --plan --ranks 300 --topology "$tmp/many.xml"
is '... are planned for' "$status $(awk '$3 == "gpu" { print $4 }' "$tmp/out" | sort -un | wc -l)" '0 300'
many 100 100 >"$tmp/many.xml"
run bounded gpubind --quiet --plan --ranks 100 --topology "$tmp/many.xml"
is '100 NICs: the nearest is given' \
    "$status $(awk '$4 == 99 { print $(NF - 2) }' "$tmp/out")" '0 mlx5_99'
is '... and every rank has one of its own' \
    "$(awk '$3 == "gpu" { print $(NF - 2) }' "$tmp/out" | sort -u | wc -l)" 100
many 1025 0 >"$tmp/many.xml"
run bounded gpubind --list --topology "$tmp/many.xml"
refused 'more GPUs than can be' 'a node with 1025 GPUs cannot be planned for: at most 1024'

# ---- wrong

run bounded gpubind --list true
refused 'with a command' "'true'"
run bounded gpubind --list --plan
refused 'with another action' '--plan'
run bounded gpubind --list --topology "$top_srcdir/README.md"
refused 'no XML' 'no hwloc XML'
status=0
bounded gpubind --list --topology "$demo" >/dev/full 2>"$tmp/err" || status=$?
: >"$tmp/out"
refused 'nowhere to write' 'No space'

# What of hwloc is left out on this machine does not show. (A setting for hwloc's components
# has it do as its user wants.)
is 'this machine, as hwloc sees it by itself' \
    "$(bounded gpubind --quiet --list --json)" \
    "$(HWLOC_COMPONENTS=-opencl bounded gpubind --quiet --list --json)"
run bounded env HWLOC_COMPONENTS_VERBOSE=1 gpubind --quiet --list
components=$(sed -n 's/.*[Ff]inal list of enabled discovery components: //p' "$tmp/err")
case $components in
*'linux(0x'*)
    is 'PCI from sysfs, and no CPU is asked about itself' \
        "$(echo "$components" | tr ',' '\n' | sed 's/(.*//' | grep -x 'gpubind\|x86' | xargs)" gpubind ;;
*) skip 'PCI from sysfs, and no CPU is asked about itself' "hwloc's components have other names" ;;
esac
done_testing
