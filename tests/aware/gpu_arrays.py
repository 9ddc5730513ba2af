"""Arrays in GPU memory for tests: as much of the module cupy as mpi4py's test suite asks for, on the
driver that libcuda.so.1 is (the simulated one, too). The host cannot touch the memory: every access
copies the allocation to the host and back, and numpy does the indexing there."""
import ctypes
import types

import numpy

__version__ = "13.0.0"
_driver = ctypes.CDLL("libcuda.so.1")


def _call(name, *arguments):
    status = getattr(_driver, name)(*arguments)
    if status != 0:
        raise RuntimeError(f"{name} returns {status}")


def _start():
    context = ctypes.c_void_p()
    _call("cuInit", 0)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    _call("cuCtxSetCurrent", context)


_start()


class _Memory:
    def __init__(self, nbytes):
        address = ctypes.c_uint64()
        _call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(nbytes, 1)))
        self.address = address.value
        self.nbytes = nbytes

    def __del__(self):
        _driver.cuMemFree_v2(ctypes.c_uint64(self.address))

    def read(self, host):
        if self.nbytes:
            _call("cuMemcpyDtoH_v2", ctypes.c_void_p(host.ctypes.data),
                  ctypes.c_uint64(self.address), ctypes.c_size_t(self.nbytes))

    def write(self, host):
        if self.nbytes:
            _call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address),
                  ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(self.nbytes))


class ndarray:
    """A view of memory: _layout is numpy's view of _host, which mirrors the whole allocation."""

    def __init__(self, memory, host, layout):
        self._memory, self._host, self._layout = memory, host, layout

    dtype = property(lambda self: self._layout.dtype)
    itemsize = property(lambda self: self._layout.itemsize)
    size = property(lambda self: self._layout.size)
    shape = property(lambda self: self._layout.shape)
    ndim = property(lambda self: self._layout.ndim)
    T = property(lambda self: self._view(self._layout.T))

    @property
    def __cuda_array_interface__(self):
        interface = self._layout.__array_interface__
        offset = interface["data"][0] - self._host.ctypes.data if self.size else 0
        return {"version": 3, "data": (self._memory.address + offset if self.size else 0, False),
                "typestr": interface["typestr"], "shape": self.shape,
                "strides": None if self._layout.flags.c_contiguous else self._layout.strides}

    def _view(self, layout):
        return ndarray(self._memory, self._host, layout)

    def get(self):
        self._memory.read(self._host)
        return self._layout.copy()

    def __len__(self):
        return len(self._layout)

    def __iter__(self):
        return iter(self.get())

    def __getitem__(self, key):
        part = self._layout[key]
        return self._view(part) if isinstance(key, (slice, tuple)) else self.get()[key]

    def __setitem__(self, key, value):
        self._memory.read(self._host)
        self._layout[key] = _as_host(value, self.dtype)
        self._memory.write(self._host)

    def __eq__(self, other):
        return self.get() == _as_host(other)

    def __ne__(self, other):
        return asarray(self.get() != _as_host(other))

    __hash__ = None

    def __mul__(self, other):
        return asarray(self.get() * _as_host(other))

    def sum(self):
        return self.get().sum()

    def fill(self, value):
        self[...] = value

    def ravel(self):
        return self._view(self._layout.ravel()) if self._layout.flags.c_contiguous \
            else asarray(self.get().ravel())

    def all(self):
        return self.get().all()


def _as_host(value, dtype=None):
    host = value.get() if isinstance(value, ndarray) else numpy.asarray(value)
    return host if dtype is None else host.astype(dtype)


def asarray(value, dtype=None):
    host = _as_host(value, dtype).copy(order="C")
    memory = _Memory(host.nbytes)
    memory.write(host)
    return ndarray(memory, host, host)


def array(value, dtype=None):
    return asarray(value, dtype)


def zeros(shape, dtype="d"):
    return asarray(numpy.zeros(shape, dtype))


def ones(shape, dtype="d"):
    return asarray(numpy.ones(shape, dtype))


def _synchronize():
    _call("cuCtxSynchronize")


_stream = types.SimpleNamespace(synchronize=_synchronize)
cuda = types.SimpleNamespace(get_current_stream=lambda: _stream,
                             runtime=types.SimpleNamespace(is_hip=False))
