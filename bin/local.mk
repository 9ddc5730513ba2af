bin_PROGRAMS += bin/gpubind

bin_gpubind_SOURCES = \
	bin/gpubind.c \
	bin/cmd_check.c \
	bin/cmd_list.c \
	bin/cmd_doctor.c \
	bin/cmd_overview.c \
	bin/cmd_plan.c \
	bin/cmd_plugin.c \
	bin/cmd_run.c \
	bin/cmds.h \
	bin/doctor_job.c bin/doctor_job.h \
	bin/options.c bin/options.h \
	bin/plan_job.h \
	bin/plan_machines.c \
	bin/plan_shapes.c \
	bin/plan_xml.c bin/plan_xml.h \
	bin/plugin_diagnose.c bin/plugin_diagnose.h \
	bin/plugin_plan.c bin/plugin_plan.h \
	bin/program.c bin/program.h \
	bin/run.h \
	bin/run_leader.c

include bin/completion/completion.mk
