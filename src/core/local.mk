# The pure core. node_from_hwloc alone needs hwloc, and is in discover.so; see
# src/host/local.mk.
noinst_LTLIBRARIES += src/core/libgpubind-core.la

src_core_libgpubind_core_la_CFLAGS = $(AM_CFLAGS) $(HIDDEN_CFLAGS)
src_core_libgpubind_core_la_SOURCES = \
	src/core/base/error.c src/core/base/error.h \
	src/core/base/hash.h \
	src/core/base/idset.c src/core/base/idset.h \
	src/core/base/json.c src/core/base/json.h \
	src/core/base/list.h \
	src/core/base/min_cost_flow.c src/core/base/min_cost_flow.h \
	src/core/base/number.c src/core/base/number.h \
	src/core/base/options.c src/core/base/options.h \
	src/core/base/text.c src/core/base/text.h \
	src/core/base/text_table.c src/core/base/text_table.h \
	src/core/base/similar.c src/core/base/similar.h \
	src/core/base/variables.c src/core/base/variables.h \
	src/core/doctor/doctor.c src/core/doctor/doctor.h \
	src/core/doctor/doctor_driver.c \
	src/core/doctor/doctor_fabric.c \
	src/core/doctor/doctor_facts.h \
	src/core/doctor/doctor_internal.h \
	src/core/doctor/doctor_limits.c \
	src/core/doctor/doctor_log.c \
	src/core/doctor/doctor_modes.c \
	src/core/doctor/doctor_namespaces.c \
	src/core/doctor/doctor_nodes.c src/core/doctor/doctor_nodes.h \
	src/core/doctor/doctor_pack.c \
	src/core/doctor/doctor_paths.c \
	src/core/doctor/doctor_render.c \
	src/core/doctor/doctor_software.c \
	src/core/doctor/doctor_speed.c \
	src/core/doctor/doctor_visibility.c \
	src/core/env/elf.c src/core/env/elf.h \
	src/core/env/mps_env.c src/core/env/mps_env.h \
	src/core/env/render_env.c src/core/env/render_env.h \
	src/core/env/visible_devices.c src/core/env/visible_devices.h \
	src/core/env/visible_devices_parse.c \
	src/core/msg/halo_agree.c \
	src/core/msg/halo_grid.c src/core/msg/halo_grid.h \
	src/core/msg/msg_header.c src/core/msg/msg_header.h \
	src/core/plan/core_groups.c src/core/plan/core_groups.h \
	src/core/plan/first_core.c \
	src/core/plan/gpu_sets.c \
	src/core/plan/job.c src/core/plan/job.h \
	src/core/plan/plan.c src/core/plan/plan.h \
	src/core/plan/plan_cost.c \
	src/core/plan/plan_cpus.c \
	src/core/plan/plan_gpus.c \
	src/core/plan/plan_hash.c \
	src/core/plan/plan_internal.h \
	src/core/plan/plan_shares.c \
	src/core/plan/policy_pack.c \
	src/core/plan/process_map.c src/core/plan/process_map.h \
	src/core/plan/process_map_internal.h \
	src/core/plan/rank_classes.c \
	src/core/plan/rankfile.c \
	src/core/report/lstopo_style.c src/core/report/lstopo_style.h \
	src/core/report/render.h \
	src/core/report/render_json.c \
	src/core/report/render_list.c src/core/report/render_list.h \
	src/core/report/render_list_json.c \
	src/core/report/render_table.c \
	src/core/report/render_why.c \
	src/core/topo/link_matrix.c src/core/topo/link_matrix.h \
	src/core/topo/node.c src/core/topo/node.h \
	src/core/topo/node_find.c \
	src/core/topo/node_serialize.c src/core/topo/node_serialize.h \
	src/core/topo/node_split.c \
	src/core/trace/trace.c src/core/trace/trace.h \
	src/core/trace/trace_json.c
