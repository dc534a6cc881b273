"""The packages of the container image against what its programs and scripts need, without a container engine.

Arguments: the folder of the built programs, the folder of Debian packages' and wheels' dependencies that the image has too
(site-packages of LibTorch), the top folder of the repository.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

from linked_libraries import Linked, output_of, package_of, packages_of

BIN, WHEELS, ROOT = (os.path.abspath(argument) for argument in sys.argv[1:4])
LAUNCH = os.path.join(ROOT, "cluster/launch")
LIST = os.path.join(LAUNCH, "runtime-packages.txt")
PROGRAMS = ("retort", "retort-worker", "retort-sleeper")
PLUGINS = ("libretort_mpi.so", "libretort_cuda.so")
NOT_OF_THE_IMAGE = ("pbs.sh",)  # starts no container
# What setup.sh --cuda brings, as it calls it, by the library that LibTorch's GPU part asks for.
GPU_WHEELS = {
    "libcublas.so.13": "cublas", "libcublasLt.so.13": "cublas", "libcudart.so.13": "cudart", "libcufft.so.12": "cufft",
    "libcufile.so.0": "cufile", "libcupti.so.13": "cupti", "libcurand.so.10": "curand", "libcusolver.so.12": "cusolver",
    "libcusparse.so.12": "cusparse", "libnvJitLink.so.13": "nvjitlink", "libnvrtc.so.13": "nvrtc",
    "libnccl.so.2": "nvidia-nccl-cu13", "libcudnn.so.9": "nvidia-cudnn-cu13",
    "libnvshmem_host.so.3": "nvidia-nvshmem-cu13", "libcusparseLt.so.0": "nvidia-cusparselt-cu13"}
OF_THE_DRIVER = {"libcuda.so.1", "libnvidia-ml.so.1"}  # of the host
# What those wheels, and the parts of them that they open (libcudnn_*.so.9), link beside each other: read from the wheels,
# and again where they are installed.
LINKED_BY_GPU_WHEELS = {"libc6", "libgcc-s1", "libstdc++6", "zlib1g"}
# Parts of the wheels that serve hardware and launchers which Retort does not use; opened where their libraries are there.
OPTIONAL_GPU_PARTS = re.compile(r"/(nvshmem_(bootstrap|transport)_\w+|libcufile_rdma)\.so")


def listed():
    """By package of the list: what starts or opens it; empty where it is linked."""
    packages = {}
    with open(LIST, encoding="utf-8") as file:
        for line in file:
            package, _, reason = line.partition("#")
            if package.strip():
                packages[package.strip()] = reason.strip()
    return packages


def complaints(packages, needed):
    """`packages` as `listed` gives them; `needed`: libraries by package."""
    return [f"{package}: not in the list, needed for {', '.join(names)}" for package, names in needed.items()
            if package not in packages]


def is_essential(package):
    return output_of("dpkg-query", "--show", "--showformat=${Essential}", package) == "yes"


def commands_of(script):
    """Programs, no words of bash, that stand where a command may."""
    with open(script, encoding="utf-8") as file:
        lines = [re.sub(r"(^|\s)#.*", "", line) for line in file if not line.lstrip().startswith("echo")]
    text = "\n".join(lines)
    begins = r"(?:^|[;|&({!]|\b(?:then|do|else|if|while|until|exec)\s)\s*(?:\w+=\S* )*"
    words = set(re.findall(begins + r"([a-z][\w.-]*)(?=\s|$|[;)])", text, re.M)) | set(re.findall(r":-([a-z][\w-]*)\}", text))
    built_in = set(output_of("bash", "-c", "compgen -bk").split())
    return {word for word in words - built_in if shutil.which(word)}


class RuntimePackagesTest(unittest.TestCase):
    def setUp(self):
        self.programs = [path for name in PROGRAMS + PLUGINS if os.path.exists(path := os.path.join(BIN, name))]
        self.linked = Linked(self.programs, [BIN, WHEELS])
        self.packages = packages_of(self.linked.system)

    def built(self, name):
        return os.path.join(BIN, name) in self.programs

    def test_every_linked_library_has_a_package(self):
        self.assertTrue(self.programs)
        self.assertEqual(complaints(listed(), self.packages), [])
        unknown = [f"{name}, which {asks} asks for" for name, asks in self.linked.missing.items()
                   if name not in GPU_WHEELS and name not in OF_THE_DRIVER]
        self.assertEqual(unknown, [])

    def test_the_list_has_no_package_that_nothing_links(self):
        if not all(map(self.built, (*PROGRAMS, "libretort_mpi.so"))):
            self.skipTest("not every program was built")
        surplus = [package for package, reason in listed().items() if not reason and package not in self.packages]
        self.assertEqual(surplus, [])

    def test_a_package_that_is_left_out_is_seen(self):
        for package in ("libcairo2", "libjpeg62-turbo", "libpng16-16"):
            short = {name: reason for name, reason in listed().items() if name != package}
            found = complaints(short, self.packages)
            self.assertEqual(len(found), 1, found)
            self.assertIn(f"{package}: not in the list, needed for lib", found[0])

    def test_every_command_of_the_scripts_is_in_the_list(self):
        for script in sorted(glob.glob(os.path.join(LAUNCH, "*.sh"))):
            if os.path.basename(script) in NOT_OF_THE_IMAGE:
                continue
            for command in commands_of(script):
                package = package_of(shutil.which(command))
                self.assertTrue(package in listed() or is_essential(package),
                                f"{os.path.basename(script)}: {command} is of the package {package}")
        self.assertIn("mpirun", commands_of(os.path.join(LAUNCH, "mpirun.sh")))
        self.assertIn("ssh", commands_of(os.path.join(LAUNCH, "live-hosts.sh")))

    def test_the_font_of_the_figures_is_in_the_list(self):
        with open(os.path.join(ROOT, "orchestrator/plot/canvas.cc"), encoding="utf-8") as file:
            family = re.search(r'kFamily = "([^"]+)"', file.read())[1]
        fonts = glob.glob(f"/usr/share/fonts/**/{family.replace(' ', '')}.ttf", recursive=True)
        self.assertTrue(fonts, f"{family} is not installed here")
        self.assertIn(package_of(fonts[0]), listed())

    def test_the_image_installs_that_list_and_nothing_else(self):
        with open(os.path.join(LAUNCH, "Dockerfile"), encoding="utf-8") as file:
            runtime = file.read().rsplit("\nFROM ", 1)[1].replace("\\\n", " ")
        self.assertTrue(runtime.startswith("debian:12\n"), runtime)
        installed = re.findall(r"apt-get install((?: +-\S+)*) +(.+?) *&&", runtime)
        self.assertEqual([words for _, words in installed], ["$(sed 's/#.*//' /tmp/runtime-packages.txt)"])
        self.assertIn("COPY cluster/launch/runtime-packages.txt /tmp/\n", runtime)


class GpuImageTest(unittest.TestCase):
    """LibTorch's wheel has its GPU part whether or not NVIDIA's wheels are here: what that asks for is known on a CPU, too."""

    def setUp(self):
        parts = [path for path in glob.glob(os.path.join(WHEELS, "torch/lib/*.so")) if re.search(r"cuda|nvrtc|nvshmem", path)]
        plugin = os.path.join(BIN, "libretort_cuda.so")
        self.files = parts + [plugin] * os.path.exists(plugin)
        if not parts:
            self.skipTest("LibTorch here has no GPU part")
        self.linked = Linked(self.files, [BIN, WHEELS])

    def test_the_packages_are_those_of_the_list(self):
        self.assertEqual(complaints(listed(), packages_of(self.linked.system)), [])
        self.assertLessEqual(LINKED_BY_GPU_WHEELS, set(listed()))

    def test_setup_brings_every_other_library(self):
        with open(os.path.join(ROOT, "cluster/setup.sh"), encoding="utf-8") as file:
            text = file.read()
        brought = set(re.search(r"cuda_toolkit_parts=(\S+)", text)[1].split(","))
        brought |= set(re.findall(r"([\w-]+)==", re.search(r"torch_cuda_wheels=\(([^)]*)\)", text)[1]))
        for name, asks in self.linked.missing.items():
            if name not in OF_THE_DRIVER:
                self.assertIn(GPU_WHEELS.get(name, f"no wheel known for {name}, which {asks} asks for"), brought)

    def test_the_wheels_link_no_further_package(self):
        files = [path for path in glob.glob(os.path.join(WHEELS, "nvidia/*/lib/*.so*")) if not OPTIONAL_GPU_PARTS.search(path)]
        if not files:
            self.skipTest("none of NVIDIA's wheels is here")
        linked = Linked(files, [WHEELS])
        self.assertLessEqual(set(packages_of(linked.system)), LINKED_BY_GPU_WHEELS)
        self.assertLessEqual(set(linked.missing), set(GPU_WHEELS) | OF_THE_DRIVER)


def is_debian_12():
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return False
    return re.search(r'^ID="?debian"?$', text, re.M) is not None and re.search(r'^VERSION_ID="?12"?$', text, re.M) is not None


if __name__ == "__main__":
    if not is_debian_12() or not shutil.which("readelf"):
        print("skipped: the list is of Debian 12's packages, and this machine is not that, or has no readelf")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
