# A private Slurm cluster of pretended nodes n0, n1, ... on this machine.
# The parts; tests use tests/slurm.sh, which starts it.
# shellcheck shell=sh source-path=SCRIPTDIR disable=SC2034,SC2154
#
# srun, salloc, sbatch and scontrol of the test itself reach it through
# SLURM_CONF; "launch_bounded srun ..." cannot hang. All files are in one
# temporary directory, and nothing outlives the test, however that ends.

. "$launch_dir/common.sh"

slurm_dir=      # the cluster's directory (logs: slurmctld.out, n0.out, ...)
slurm_holder=   # process that holds the daemons

# slurm_usable
# Fails, with the reason in launch_why, where no cluster can be started.
slurm_usable() {
  launch_need munged slurmctld slurmd srun scontrol setpriv timeout || return 1
  if [ "$(id -u)" != 0 ]; then
    launch_why="a private Slurm cluster needs root"
    return 1
  fi
  if ! unshare --mount --pid --fork --mount-proc true 2>/dev/null; then
    launch_why="no right to make mount and process namespaces"
    return 1
  fi
  launch_can_pretend
}

# slurm_stop
# Ends the cluster and removes its directory. Call it from the EXIT trap.
slurm_stop() {
  [ -n "$slurm_holder" ] || return 0
  kill "$slurm_holder" 2>/dev/null
  wait "$slurm_holder" 2>/dev/null
  slurm_holder=
  unset SLURM_CONF
  [ -z "$LAUNCH_SLURM_DEVICES" ] || find /sys/fs/cgroup/devices/slurm_n* -depth -type d -exec rmdir {} + 2>/dev/null
}

# slurm_write NODES CPUS GPUS: the configuration, for slurm_start. LAUNCH_SLURM_LINES:
# lines for slurm.conf in place of TaskPlugin=task/none, which binds nothing.
# LAUNCH_SLURM_DEVICES: a folder whose files nvidia0, ... are the GPUs; a task's
# cgroup lets it open its own alone.
slurm_write() {
  # Tests run side by side: each cluster has ports and job numbers of its own. Ranks of two jobs
  # of one number, on nodes of one name, would meet as if they were of one job.
  slurm_own=$(od -An -N2 -tu2 /dev/urandom)
  slurm_port=$((12000 + slurm_own % 2000 * 10))
  slurm_last=$(($1 - 1))
  slurm_gres='' slurm_gres_types=
  mkdir "$slurm_dir/node" "$slurm_dir/state"
  dd if=/dev/urandom of="$slurm_dir/munge.key" bs=128 count=1 2>/dev/null
  chmod 400 "$slurm_dir/munge.key"

  slurm_i=0
  while [ "$slurm_i" -lt "$1" ]; do
    mkdir "$slurm_dir/n$slurm_i"
    slurm_i=$((slurm_i + 1))
  done
  slurm_i=0
  while [ "$slurm_i" -lt "$3" ]; do
    slurm_file=${LAUNCH_SLURM_DEVICES:+$LAUNCH_SLURM_DEVICES/nvidia$slurm_i}
    if [ -z "$slurm_file" ]; then
      # A file that looks like a GPU to Slurm, and to nobody else.
      slurm_file=$slurm_dir/gpu$slurm_i
      mknod "$slurm_file" c 1 3
    fi
    echo "Name=gpu File=$slurm_file" >>"$slurm_dir/gres.conf"
    slurm_gres="Gres=gpu:$3" slurm_gres_types=GresTypes=gpu
    slurm_i=$((slurm_i + 1))
  done
  echo "PMIxCliTmpDirBase=$slurm_dir/node" >"$slurm_dir/mpi.conf"
  slurm_cgroup >"$slurm_dir/cgroup.conf"

  cat >"$slurm_dir/slurm.conf" <<END
ClusterName=launch
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$slurm_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$slurm_dir/munge.socket
FirstJobId=$((slurm_own * 1000 + 1))
StateSaveLocation=$slurm_dir/state
SlurmdSpoolDir=$slurm_dir/spool.%n
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmdPidFile=$slurm_dir/slurmd.%n.pid
ProctrackType=proctrack/pgid
SwitchType=switch/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
ReturnToService=2
$slurm_gres_types
KillWait=2
SchedulerParameters=bf_interval=1
${LAUNCH_SLURM_LINES:-TaskPlugin=task/none}
END
  slurm_i=0
  while [ "$slurm_i" -lt "$1" ]; do
    echo "NodeName=n$slurm_i NodeHostname=n$slurm_i NodeAddr=127.0.0.1" \
      "Port=$((slurm_port + 1 + slurm_i)) CPUs=$2 $slurm_gres"
    slurm_i=$((slurm_i + 1))
  done >>"$slurm_dir/slurm.conf"
  echo "PartitionName=all Nodes=n[0-$slurm_last] Default=YES" \
    "State=UP OverSubscribe=YES" >>"$slurm_dir/slurm.conf"
}

# slurm_constrains: Slurm can keep tasks from devices here. Fails, with the
# reason in launch_why, where it cannot.
slurm_constrains() {
  launch_why='no devices controller of cgroup v1 that this process may use'
  mkdir "/sys/fs/cgroup/devices/launch.$$" 2>/dev/null &&
    [ -e "/sys/fs/cgroup/devices/launch.$$/devices.deny" ]
  slurm_status=$?
  rmdir "/sys/fs/cgroup/devices/launch.$$" 2>/dev/null
  return "$slurm_status"
}

# slurm_cgroup: prints cgroup.conf. Slurm 23.11 and later will not start
# without a usable cgroup tree unless told to leave cgroups alone; the word
# is unknown to earlier ones.
slurm_cgroup() {
  if [ -n "$LAUNCH_SLURM_DEVICES" ]; then
    printf '%s\n' CgroupPlugin=cgroup/v1 ConstrainDevices=yes
    return
  fi
  slurm_version=$(slurmd -V | sed 's/[^0-9]*\([0-9]*\)\.\([0-9]*\).*/\1\2/')
  [ "$slurm_version" -lt 2311 ] || echo "CgroupPlugin=disabled"
}

# slurm_wait NODES: waits until all nodes are idle, half a minute at most.
slurm_wait() {
  slurm_tries=60
  while [ "$slurm_tries" -gt 0 ]; do
    kill -0 "$slurm_holder" 2>/dev/null || return 1
    slurm_idle=$(timeout 5 sinfo -h -N -o '%N %t' 2>/dev/null | grep -c ' idle$')
    [ "$slurm_idle" != "$1" ] || return 0
    sleep 0.5
    slurm_tries=$((slurm_tries - 1))
  done
  return 1
}

# slurm_last_words: the last error that a daemon logged, for launch_why.
slurm_last_words() {
  cat "$slurm_dir"/*.log "$slurm_dir"/*.out 2>/dev/null |
    grep -iE 'fatal|error' | tail -n 1
}
