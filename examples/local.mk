# Short programs to copy from: built where there is an MPI, never installed.
if HAVE_MPI
noinst_PROGRAMS += examples/hello_gpu
endif

examples_hello_gpu_CPPFLAGS = -D_GNU_SOURCE
examples_hello_gpu_CFLAGS = $(WARN_CFLAGS) $(MPI_CFLAGS)
examples_hello_gpu_LDADD = $(MPI_LIBS)
examples_hello_gpu_SOURCES = examples/hello_gpu.c

EXTRA_DIST += examples/README.md examples/gpu_aware.py examples/mpmd.sh examples/plan.sh examples/slurm.sbatch
