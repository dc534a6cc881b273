#!/usr/bin/env bash
# Installs what Retort's build needs and is not there yet; safe to run again. Says what it will do before it does it.
#
#   bash cluster/setup.sh            Debian packages, and LibTorch from its PyPI wheel into build/deps/
#   bash cluster/setup.sh --tests    also what only the tests need (readers for pandas, h5py, xarray; promtool; Slurm; MPICH)
#   bash cluster/setup.sh --cuda     also the GPU wheels that libretort_cuda.so links
#   bash cluster/setup.sh --bench    also what Python's torch needs to run, and torchvision: peers in tests/bench and tests/reference
#   bash cluster/setup.sh --check    changes nothing; exit 3 when something is missing
#
# TORCH_DIR=/path/to/site-packages/torch uses that LibTorch (2.6 or newer) and downloads none.
set -euo pipefail
cd "$(dirname "$0")/.."

torch_version=2.11.0
torch_cpu_wheels=("torch==$torch_version" nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85)
torch_cuda_wheels=(cuda-toolkit==13.0.2 nvidia-nccl-cu13==2.28.9 nvidia-cudnn-cu13==9.19.0.56
  nvidia-nvshmem-cu13==3.4.5 nvidia-cusparselt-cu13==0.8.0)
cuda_toolkit_parts=cublas,cudart,cufft,cufile,cupti,curand,cusolver,cusparse,nvjitlink,nvrtc,nvtx
packages=(g++ cmake ninja-build ccache mold pkg-config python3 python3-venv
  libtomlplusplus-dev libcli11-dev libfmt-dev nlohmann-json3-dev libhdf5-dev prometheus-cpp-dev libmicrohttpd-dev
  libsodium-dev zlib1g-dev libdeflate-dev libutf8proc-dev libssl-dev libboost-math-dev libgtest-dev libgmock-dev
  libbenchmark-dev libopenmpi-dev openmpi-bin libgloo-dev libjpeg62-turbo-dev libpng-dev
  libcairo2-dev fonts-dejavu-core)
test_packages=(clang-format openssl prometheus procps iproute2 slurm-wlm munge mpich libmpich-dev hdf5-tools groff zsh fish)
test_wheels=(pandas==3.1.1 tables==3.11.1 h5py==3.16.0 xarray==2026.9.0 h5netcdf==1.8.2 dp-accounting==0.6.0 jsonschema==4.26.0
  onnx==1.23.2 onnxruntime==1.32.0)
bench_wheels=("torch==$torch_version" torchvision==0.26.0 pillow==13.0.0 numpy==2.3.5 safetensors==0.8.0
  dask==2026.8.0 distributed==2026.8.0 opacus==1.6.0 prometheus-client==0.26.0)
venv=build/deps/torch-venv
test_venv=build/deps/test-venv

with_tests=0 with_cuda=0 with_bench=0 check_only=0
for argument in "$@"; do
  case $argument in
    --tests) with_tests=1 ;;
    --cuda) with_cuda=1 ;;
    --bench) with_bench=1 ;;
    --check) check_only=1 ;;
    -h|--help) sed -n '2,11p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;;
    *) echo "setup: unknown option $argument; see bash cluster/setup.sh --help" >&2; exit 2 ;;
  esac
done
[[ $with_tests == 1 ]] && packages+=("${test_packages[@]}")

say() { echo "setup: $*" >&2; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

# The first argument is a torch package folder: exit 0 when it holds a LibTorch of 2.6 or newer with c10d.
usable_torch() {
  [[ -e $1/lib/libtorch_cpu.so && -d $1/include/torch/csrc/distributed/c10d && -e $1/version.py ]] || return 1
  local version
  version=$(sed -n "s/^__version__ = '\([0-9]*\.[0-9]*\).*/\1/p" "$1/version.py")
  [[ ${version%%.*} -gt 2 || ( ${version%%.*} -eq 2 && ${version#*.} -ge 6 ) ]]
}

own_torch() { compgen -G "$venv/lib/python3*/site-packages/torch" | head -1; }

find_torch() {
  local candidate
  for candidate in "${TORCH_DIR:-}" "$(own_torch || true)" \
      "$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null || true)"; do
    [[ -n $candidate ]] && usable_torch "$candidate" && { echo "$candidate"; return 0; }
  done
  return 1
}

install_packages() {
  local as_root=()
  [[ $(id -u) == 0 ]] || as_root=(sudo)
  if [[ ${#as_root[@]} -gt 0 ]] && ! command -v sudo >/dev/null; then
    say "not root and no sudo: ask the machine's administrator for"
    echo "apt-get install --no-install-recommends $*" >&2
    exit 3
  fi
  say "apt-get install --no-install-recommends $*"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# The interpreter that can make virtual environments.
python_with_venv() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import venv, ensurepip' 2>/dev/null && { echo "$candidate"; return 0; }
  done
  say "no python3 with the venv module; install python3-venv"; exit 3
}

install_wheels() {   # folder, wheels…
  local folder=$1; shift
  mkdir -p "$(dirname "$folder")"
  [[ -x $folder/bin/pip ]] || "$(python_with_venv)" -m venv "$folder"
  say "pip install $* (into $folder)"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
}

wheels_present() {   # folder, wheels…
  local folder=$1 wheel name; shift
  for wheel in "$@"; do
    name=${wheel%%==*}
    compgen -G "$folder/lib/python3*/site-packages/${name//-/_}-${wheel##*==}.dist-info" >/dev/null || return 1
  done
}

mapfile -t missing < <(missing_packages)
need_torch=0; find_torch >/dev/null || need_torch=1
need_cuda=0; [[ $with_cuda == 1 ]] && ! wheels_present "$venv" "${torch_cuda_wheels[@]}" && need_cuda=1
need_bench=0; [[ $with_bench == 1 ]] && ! wheels_present "$venv" "${bench_wheels[@]}" triton==3.6.0 && need_bench=1
need_readers=0; [[ $with_tests == 1 ]] && ! wheels_present "$test_venv" "${test_wheels[@]}" && need_readers=1

if [[ ${#missing[@]} -eq 0 && $need_torch$need_cuda$need_bench$need_readers == 0000 ]]; then
  say "everything is there; LibTorch in $(find_torch)"
  exit 0
fi
[[ ${#missing[@]} -gt 0 ]] && say "will install Debian packages: ${missing[*]}"
[[ $need_torch == 1 ]] && say "will download LibTorch $torch_version from PyPI (about 550 MB) into $venv"
[[ $need_cuda == 1 ]] && say "will download the GPU wheels (about 2.2 GB) into $venv"
[[ $need_bench == 1 ]] && say "will download the peers of the benches: Dask, Opacus, torchvision, and all that Python's torch needs (about 2.5 GB), into $venv"
[[ $need_readers == 1 ]] && say "will download the Python readers that the tests use into $test_venv"
if [[ $check_only == 1 ]]; then say "run bash cluster/setup.sh to do so"; exit 3; fi

[[ ${#missing[@]} -gt 0 ]] && install_packages "${missing[@]}"
[[ $need_torch == 1 ]] && install_wheels "$venv" --no-deps "${torch_cpu_wheels[@]}"
[[ $need_cuda == 1 ]] && install_wheels "$venv" "${torch_cuda_wheels[@]/#cuda-toolkit==/cuda-toolkit[$cuda_toolkit_parts]==}"
[[ $need_bench == 1 ]] && install_wheels "$venv" "${bench_wheels[@]}"
[[ $need_readers == 1 ]] && install_wheels "$test_venv" "${test_wheels[@]}"
find_torch >/dev/null || { say "LibTorch is still not usable; remove $venv and run this again"; exit 3; }
say "done; LibTorch in $(find_torch)"
