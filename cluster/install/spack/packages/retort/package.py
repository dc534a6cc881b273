# SPDX-License-Identifier: Apache-2.0
"""Spack's recipe for a checkout of retort: `spack repo add cluster/install/spack && spack dev-build retort@0.1.0`, typed in it."""
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Retort(CMakePackage):
    """Distils students from teachers of private data, and computes which privacy guarantee each student has."""

    license("Apache-2.0")
    version("0.1.0")

    variant("mpi", default=True, description="Run on several ranks")
    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("tomlplusplus", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("boost", type="build")
    depends_on("gloo", type="build")
    depends_on("fmt")
    depends_on("hdf5+hl~mpi")
    depends_on("prometheus-cpp")
    depends_on("libmicrohttpd")
    depends_on("libsodium")
    depends_on("zlib-api")
    depends_on("libdeflate")
    depends_on("utf8proc")
    depends_on("openssl")
    depends_on("libjpeg-turbo")
    depends_on("libpng")
    depends_on("cairo+svg+pdf")
    depends_on("py-torch@2.6:2.11+distributed+gloo", type=("build", "link", "run"))
    depends_on("mpi", when="+mpi")
    conflicts("%gcc@:11", msg="retort is C++20 as GCC 12 knows it")

    def cmake_args(self):
        python = f"python{self.spec['python'].version.up_to(2)}"
        torch = join_path(self.spec["py-torch"].prefix.lib, python, "site-packages", "torch")
        mpi = "ON" if self.spec.satisfies("+mpi") else "OFF"
        return [f"-DTORCH_DIR={torch}", "-DRETORT_BUILD_TESTS=OFF", "-DRETORT_BUILD_BENCH=OFF", "-DRETORT_UNITY=ON", f"-DRETORT_BUILD_MPI={mpi}"]
