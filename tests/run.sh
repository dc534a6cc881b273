#!/usr/bin/env bash
# Set-up, build, all tests. Closes with ctest's own summary.
#   bash tests/run.sh [ctest arguments]
set -euo pipefail
cd "$(dirname "$0")/.."

bash cluster/setup.sh --tests
mkdir -p build
cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 3; }
cmake --build --preset release 2>&1 | tee build/build.log
ctest --preset release --output-on-failure "$@"
