# The pure core. node_from_hwloc alone needs hwloc, and is in discover.so; see
# src/host/local.mk.
noinst_LTLIBRARIES += src/core/libgpubind-core.la

src_core_libgpubind_core_la_CFLAGS = $(AM_CFLAGS) $(HIDDEN_CFLAGS)
src_core_libgpubind_core_la_SOURCES = \
	src/core/connections.c src/core/connections.h \
	src/core/doctor.c src/core/doctor.h \
	src/core/doctor_driver.c \
	src/core/doctor_facts.c src/core/doctor_facts.h \
	src/core/doctor_limits.c \
	src/core/doctor_modes.c \
	src/core/doctor_namespaces.c \
	src/core/doctor_parts.h \
	src/core/doctor_paths.c \
	src/core/doctor_render.c \
	src/core/doctor_sight.c \
	src/core/doctor_software.c \
	src/core/error.c src/core/error.h \
	src/core/flow.c src/core/flow.h \
	src/core/grid.c src/core/grid.h \
	src/core/halo_agree.c \
	src/core/halo_grid.c src/core/halo_grid.h \
	src/core/idlist.c src/core/idlist.h \
	src/core/job.c src/core/job.h \
	src/core/layout.c src/core/layout.h \
	src/core/layout_file.c src/core/layout_parts.h \
	src/core/mps.c src/core/mps.h \
	src/core/node.c src/core/node.h \
	src/core/node_find.c \
	src/core/node_pack.c src/core/node_pack.h \
	src/core/node_parts.c \
	src/core/peers.c src/core/peers.h \
	src/core/picture.c src/core/picture.h \
	src/core/plan.c src/core/plan.h \
	src/core/plan_cells.c src/core/plan_cells.h \
	src/core/plan_classes.c \
	src/core/plan_cost.c \
	src/core/plan_cpus.c \
	src/core/plan_deal.c \
	src/core/plan_gpus.c \
	src/core/plan_hash.c \
	src/core/plan_nics.c \
	src/core/plan_pack.c \
	src/core/plan_parts.h \
	src/core/plan_sets.c \
	src/core/plan_shares.c \
	src/core/render.h \
	src/core/render_env.c src/core/render_env.h \
	src/core/render_json.c \
	src/core/render_list.c src/core/render_list.h \
	src/core/render_list_json.c \
	src/core/render_table.c \
	src/core/render_why.c \
	src/core/text.c src/core/text.h \
	src/core/variables.c src/core/variables.h \
	src/core/visible.c src/core/visible.h \
	src/core/visible_parse.c \
	src/core/wire.c src/core/wire.h
