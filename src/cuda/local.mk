# The CUDA driver, opened at run time; nothing links against libcuda.
noinst_LTLIBRARIES += src/cuda/libgpubind-cuda.la

src_cuda_libgpubind_cuda_la_SOURCES = \
	src/cuda/driver.c src/cuda/driver.h \
	src/cuda/driver_api.h
