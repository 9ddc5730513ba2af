#!/bin/sh
# What would the ranks of a job get? Runs nothing, needs no GPU.
#
#     lstopo --of xml node.xml        on the machine in question
#     examples/plan.sh node.xml       anywhere; without a file, for this machine

set -e # a file that is no machine is said once
[ $# -eq 0 ] || export GPUBIND_TOPOLOGY="$1"

run() {
    echo "\$ $*"
    "$@"
    echo
}

# What there is.
run gpubind --list

# One rank for each GPU.
run gpubind --plan

# Rank 0 takes no GPU, and why each got what it got.
run gpubind --plan --ranks 5 --master 0 --verbose

# More ranks than GPUs: they share, or the last are idle.
run gpubind --plan --ranks 8
run gpubind --plan --ranks 8 --overflow idle

# Few ranks: together, or far apart.
run gpubind --plan --ranks 2 --policy pack
run gpubind --plan --ranks 2 --policy spread

# Two nodes like this one, ranks dealt out in turn, for a program to read.
run gpubind --plan --nodes 2 --ranks 8 --distribution cyclic --json

# The same as a picture, where there is an lstopo.
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
run gpubind --plan --xml "$folder/plan.xml"
if command -v lstopo >/dev/null; then
    run lstopo -i "$folder/plan.xml" "$folder/plan.svg"
fi
