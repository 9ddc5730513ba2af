# A pretended NVIDIA driver, for tests/bin/run_mig.t and others, and an NVML with faults, for
# tests/host/unit_doctor_ask and unit_nvml. -rpath makes libtool build a shared
# object although nothing installs it.
check_LTLIBRARIES += tests/nvml/libnvmlsim.la
tests_nvml_libnvmlsim_la_SOURCES = tests/nvml/sim.c src/host/discover/nvml_api.h
tests_nvml_libnvmlsim_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_nvml_libnvmlsim_la_LIBADD = -ldl

check_LTLIBRARIES += tests/nvml/libnvmlfaulty.la
tests_nvml_libnvmlfaulty_la_SOURCES = tests/nvml/faulty.c src/host/discover/nvml_api.h
tests_nvml_libnvmlfaulty_la_LDFLAGS = -module -avoid-version -rpath /nowhere
