"""Runs modules of mpi4py's test suite with arrays in GPU memory and with no others (windows: the memory
of windows, too), or (host) with those of the host: mpi4py_gpu.py gpu|windows|host FOLDER RESULT MODULE...,
where FOLDER is the suite's. What came of it is in the file RESULT.N of rank N. What the suite leaves out because MPI itself fails with GPU memory is not left out.
The arrays are CuPy's with GPUBIND_TEST_GPU=only, and of the simulated driver otherwise."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
arrays, folder, outcome, modules = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
sys.path[:0] = [folder, os.path.dirname(os.path.abspath(__file__))]

if arrays == "host":
    sys.modules["cupy"] = None
elif os.environ.get("GPUBIND_TEST_GPU") != "only":
    import gpu_arrays

    sys.modules["cupy"] = gpu_arrays

import arrayimpl  # noqa: E402
import mpiunittest  # noqa: E402
import numpy  # noqa: E402
from mpi4py import MPI  # noqa: E402


if arrays != "host":

    class Array(arrayimpl.GPUArrayCuPy):
        """Takes -1 for arrays of unsigned numbers, which CuPy refuses since numpy 2."""

        def __init__(self, arg, typecode, shape=None):
            values = numpy.asarray(arg).astype(typecode)
            if numpy.ndim(arg) == 0:
                super().__init__((complex if typecode in "FDG" else float)(values)
                                 if typecode in "fdgFDG" else values.item(), typecode, shape)
            else:
                super().__init__(values, typecode, values.shape if shape is None else shape)

    mpiunittest.is_mpi_gpu = lambda predicate, array: False
    arrayimpl.ArrayBackends[:] = [Array]



def works(memory):
    """Without the library, some releases of Open MPI 4.1 make no window on MPI_COMM_SELF."""
    try:
        MPI.Win.Create(memory, 1, MPI.INFO_NULL, MPI.COMM_SELF).Free()
        return True
    except MPI.Exception:
        return False


tried = works(None)
selves = works(sys.modules["cupy"].zeros(8, "B")) if arrays == "windows" else tried
if arrays != "host":

    class Win(MPI.Win):
        """Windows of GPU memory. The suite tries on MPI_COMM_SELF whether there are windows."""

        memory = []

        @classmethod
        def Create(cls, memory, disp_unit=1, info=MPI.INFO_NULL, comm=MPI.COMM_SELF):
            if memory is None or isinstance(memory, type(MPI.BOTTOM)):
                memory = bytearray(8)
            if arrays == "windows" or (comm == MPI.COMM_SELF and not tried):
                cls.memory.append(sys.modules["cupy"].zeros(len(memory), "B"))
                memory = cls.memory[-1]
            return super().Create(memory, disp_unit, info, comm)

    MPI.Win = Win


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        elif selves or not type(test).__name__.endswith("Self"):
            yield test


suite = unittest.TestSuite(tests_of(unittest.defaultTestLoader.loadTestsFromNames(modules)))
result = unittest.TextTestRunner(verbosity=int(os.environ.get("VERBOSITY", "0"))).run(suite)
with open(f"{outcome}.{MPI.COMM_WORLD.rank}", "w", encoding="utf-8") as file:
    for test, why in result.skipped:
        file.write(f"skipped {test.id()}: {why}\n")
    file.write(f"{result.testsRun} run, {len(result.skipped)} skipped, "
               f"{len(result.failures) + len(result.errors)} failed\n")
if not result.wasSuccessful():
    MPI.COMM_WORLD.Abort(1)
