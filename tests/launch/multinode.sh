# Open MPI jobs over pretended nodes n0, n1, ... of this machine.
# To use: launch_dir=DIRECTORY; . "$launch_dir/multinode.sh"
# shellcheck shell=sh source-path=SCRIPTDIR disable=SC2034,SC2154

. "$launch_dir/common.sh"
multinode_network=

# multinode_version
# Prints the major version of the Open MPI that mpirun belongs to, or nothing.
multinode_version() {
  mpirun --version 2>/dev/null | sed -n 's/^mpirun (Open MPI) \([0-9]*\).*/\1/p'
}

# multinode_usable
# Fails, with the reason in launch_why, where Open MPI cannot be tested.
multinode_usable() {
  launch_need mpirun && launch_can_pretend || return 1
  case $(multinode_version) in
    4 | 5) ;;
    *)
      launch_why="mpirun is not of Open MPI 4 or 5"
      return 1
      ;;
  esac
  # Some machines resolve any name to themselves; then all nodes are one to mpirun.
  if [ "$(multinode 2 1 -np 2 hostname 2>/dev/null | sort | tr '\n' ' ')" != 'n0 n1 ' ]; then
    launch_why="mpirun does not take pretended host names for nodes here"
    return 1
  fi
}

# multinode_networked
# From here on each node has a network of its own. Fails, with the reason in
# launch_why, where that cannot be had.
multinode_networked() {
  launch_need ip nsenter || return 1
  if ! launch_why=$("$launch_dir/networked" 2 true 2>&1); then
    launch_why="no network for each pretended node: $(echo "$launch_why" | head -n 1)"
    return 1
  fi
  multinode_network=yes
}

# multinode NODES SLOTS ARGUMENT...
# Runs mpirun over NODES pretended nodes with SLOTS slots each; the rest goes
# to mpirun (-np 12 COMMAND). --map-by node deals ranks out cyclically,
# --rankfile takes what multinode_rankfile prints. All nodes are remote: as
# on a cluster, only OMPI_* and what -x names reaches the ranks.
multinode() {
  multinode_nodes=$1
  multinode_slots=$2
  shift 2
  multinode_hosts=$(launch_hosts "$multinode_nodes" "$multinode_slots")
  case $(multinode_version) in
    4)
      # Slots are made up. Binding is Open MPI's own: by default, and always
      # by a rankfile, whose slots must exist on this machine.
      set -- --oversubscribe --mca plm_rsh_agent "$launch_dir/agent" \
        -H "$multinode_hosts" "$@"
      ;;
    *)
      # Not --oversubscribe: it would pack all ranks on n0. Nothing is bound
      # unless asked (below): by default it refuses more ranks than cores.
      [ -n "$multinode_network" ] || set -- --mca btl_tcp_if_include lo "$@"
      set -- --prtemca plm_ssh_agent "$launch_dir/agent" -H "$multinode_hosts" "$@"
      ;;
  esac
  (
    launch_forget
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    PRTE_MCA_hwloc_default_binding_policy=none
    export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM \
      PRTE_MCA_hwloc_default_binding_policy
    set -- mpirun "$@"
    [ -z "$multinode_network" ] || set -- "$launch_dir/networked" "$multinode_nodes" "$@"
    launch_bounded "$@"
  )
}

# multinode_rankfile HOST...
# Prints a rankfile that puts rank 0 on the first host, rank 1 on the second,
# and so on; a host may come more than once.
multinode_rankfile() {
  multinode_rank=0
  for multinode_host in "$@"; do
    echo "rank $multinode_rank=$multinode_host slot=0"
    multinode_rank=$((multinode_rank + 1))
  done
}
