bin_PROGRAMS += bin/gpubind

bin_gpubind_SOURCES = \
	bin/gpubind.c \
	bin/mode_check.c \
	bin/mode_list.c \
	bin/mode_doctor.c \
	bin/mode_plan.c \
	bin/mode_plugin.c \
	bin/mode_run.c \
	bin/modes.h \
	bin/options.c bin/options.h \
	bin/plan_job.h \
	bin/plan_machines.c \
	bin/plan_shapes.c \
	bin/plan_xml.c bin/plan_xml.h \
	bin/plugin_judge.c bin/plugin_judge.h \
	bin/plugin_plan.c bin/plugin_plan.h \
	bin/program.c bin/program.h \
	bin/run.h \
	bin/run_lead.c

include bin/completion.mk
