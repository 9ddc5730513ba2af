#!/bin/sh
# Two programs in one job: a coordinator without a GPU, four workers with one each.
# All of them start through gpubind and have the same placement options.
#
#     examples/mpmd.sh ./coordinator ./worker

place='gpubind --master 0 --report'
# shellcheck disable=SC2086 # a command and its options
exec "${MPIRUN:-mpirun}" -np 1 $place "$1" : -np 4 $place "$2"
