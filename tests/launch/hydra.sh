# MPICH's Hydra over pretended nodes n0, n1, ... of this machine.
# To use: launch_dir=DIRECTORY; . "$launch_dir/hydra.sh"
# shellcheck shell=sh source-path=SCRIPTDIR disable=SC2034,SC2154

. "$launch_dir/common.sh"

# hydra_usable
# Fails, with the reason in launch_why, where Hydra cannot be tested.
hydra_usable() {
  launch_need mpiexec.hydra && launch_can_pretend
}

# hydra NODES SLOTS ARGUMENT...
# Runs mpiexec.hydra over NODES pretended nodes of SLOTS processes each; the
# rest goes to mpiexec (-np 4 COMMAND, or -np 1 A : -np 3 B). Ranks fill a
# node before the next one: SLOTS 1 deals them out cyclically.
hydra() {
  hydra_nodes=$1
  hydra_slots=$2
  shift 2
  (
    launch_forget
    launch_bounded mpiexec.hydra -iface lo -launcher ssh \
      -launcher-exec "$launch_dir/agent" \
      -hosts "$(launch_hosts "$hydra_nodes" "$hydra_slots")" "$@"
  )
}
