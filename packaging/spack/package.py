# For Spack 1.0 and newer: in a repository of your own, as packages/gpubind/package.py.
import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Gpubind(AutotoolsPackage):
    """Gives every MPI rank its own GPU, and cores, memory and a network card near it; passes GPU memory
    between ranks on any MPI, and makes an MPI GPU-aware for unmodified programs."""

    license("BSD-3-Clause")

    # The sources are those of the folder where spack runs: a clone, or the tarball gpubind-VERSION.tar.gz, whose
    # version is then named: gpubind@=VERSION.
    url = f"file://{os.getcwd()}/gpubind-0.2.0.tar.gz"
    git = f"file://{os.getcwd()}"
    version("main", branch="main")

    variant("mpi", default=True, description="Build the library, what makes MPI GPU-aware, and gpubind-bench")
    variant("cuda", default=False, description="Compile the kernels; else the CUDA driver's copies alone serve")
    variant("fortran", default=True, when="+mpi", description="Build the Fortran module")
    variant("pmix", default=False, description="Build the plugin for the daemons of Open MPI and Slurm")
    variant("slurm", default=False, when="+pmix", description="Build the relay between Slurm and the plugin")
    variant("docs", default=False, description="Make the documents and the manual for a browser, too")
    variant("plot", default=False, when="+mpi", description="With what gpubind-plot draws with")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    with default_args(type="build", when="@main"):
        depends_on("autoconf@2.69:")
        depends_on("automake@1.16:")
        depends_on("libtool")

    depends_on("hwloc@2.1:")
    depends_on("mpi@3:", when="+mpi")
    # The driver is found when programs run; the toolkit only compiles, also for sm_90.
    depends_on("cuda@11.8:", type="build", when="+cuda")
    # Components are for the release of PMIx that they were built with.
    depends_on("pmix@4.2:", when="+pmix")
    depends_on("libevent", when="+pmix")
    depends_on("slurm", when="+slurm")
    # And mandoc, which Spack does not have: the system's.
    with default_args(type="build", when="+docs"):
        depends_on("python@3.8:")
        depends_on("py-markdown")
    depends_on("python@3.8:", type="run", when="+plot")
    depends_on("py-matplotlib", type="run", when="+plot")

    conflicts("platform=darwin", msg="gpubind is for Linux")
    conflicts("platform=windows", msg="gpubind is for Linux")

    def configure_args(self):
        spec = self.spec
        # Of other MPIs only what was asked for, whatever the machine has.
        args = ["--with-mpich-cc=no", "--with-openmpi-cc=no", "--with-mpi-abi-cc=no"]
        if spec.satisfies("+mpi"):
            args.append(f"MPICC={spec['mpi'].mpicc}")
            # The library of an MPI of MPICH's ABI needs none by name.
            family = ("mpich", "mvapich", "mvapich-plus", "mvapich2", "intel-oneapi-mpi", "cray-mpich")
            if any(spec.satisfies(f"^{mpi}") for mpi in family):
                args[0] = f"--with-mpich-cc={spec['mpi'].mpicc}"
        else:
            args.append("--without-mpi")
        if spec.satisfies("+fortran"):
            args.append(f"MPIFORT={spec['mpi'].mpifc}")
        else:
            args.append("--without-fortran")
        for name in ("cuda", "pmix", "slurm"):
            if spec.satisfies(f"+{name}"):
                args.append(f"--with-{name}={spec[name].prefix}")
            else:
                args.append(f"--without-{name}")
        return args

    @run_after("install", when="+docs")
    def install_docs(self):
        with working_dir(self.build_directory):
            make("html")
            install_tree("html", self.prefix.share.doc.gpubind.html)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.gpubind)("--version")

    def setup_run_environment(self, env):
        # Where PMIx is to look for the plugin, too; gpubind-plugin(7).
        if self.spec.satisfies("+pmix"):
            env.append_path("PMIX_MCA_mca_base_component_path", join_path(self.prefix.lib, "gpubind", "pmix"))
