# shellcheck shell=sh disable=SC2034
# What the launch helpers share. Sourced by them, not by tests.
# launch_dir must name this directory before: a sourced file cannot know it.

: "${launch_dir:?set launch_dir to the directory of these files}"
launch_why=   # why the last check said no: the text for a skip

# launch_need COMMAND...
# Fails, with the reason in launch_why, unless all commands are there.
launch_need() {
  for launch_cmd in "$@"; do
    if ! command -v "$launch_cmd" >/dev/null 2>&1; then
      launch_why="$launch_cmd is not installed"
      return 1
    fi
  done
}

# launch_can_pretend
# Fails, with the reason in launch_why, unless this user may give a process
# its own host name, which is what every pretended node needs.
launch_can_pretend() {
  launch_need unshare hostname || return 1
  if [ "$("$launch_dir/agent" n0 hostname 2>/dev/null)" != n0 ]; then
    launch_why="no right to give a process its own host name (needs root)"
    return 1
  fi
}

# launch_forget
# Unsets what a real Slurm job around the test has set: launchers would take
# its nodes.
launch_forget() {
  for launch_name in $(env | sed -n 's/^\(SLURM_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$launch_name"
  done
}

# launch_hosts NODES SLOTS
# Prints n0:SLOTS,n1:SLOTS,... as mpirun and mpiexec take it.
launch_hosts() {
  launch_i=0
  launch_list=
  while [ "$launch_i" -lt "$1" ]; do
    launch_list="$launch_list${launch_list:+,}n$launch_i:$2"
    launch_i=$((launch_i + 1))
  done
  echo "$launch_list"
}

# launch_bounded COMMAND...
# Runs a command for at most LAUNCH_TIMEOUT seconds (or else the test's limit,
# or 60), TEST_PATIENCE times as long: status 124 or 137 tells that it hung. TMPDIR is a directory that is gone afterwards, with
# what launchers leave there when a test lets them crash.
launch_bounded() {
  launch_scratch=$(mktemp -d "${TMPDIR:-/tmp}/launch.XXXXXX") || return 1
  launch_seconds=${LAUNCH_TIMEOUT:-${limit:-60}}
  TMPDIR=$launch_scratch timeout -k 5 "$((launch_seconds * ${TEST_PATIENCE:-1}))" "$@" </dev/null
  launch_status=$?
  rm -rf "$launch_scratch"
  return "$launch_status"
}
