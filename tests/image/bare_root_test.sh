#!/usr/bin/env bash
# The built programs on a bare Debian 12 with the packages of cluster/launch/runtime-packages.txt and no others, which is what
# the container image's last stage has: doctor, a sweep under mpirun, the quickstart made small, its table, figure and report.
#   bare_root_test.sh SOURCE_DIR BUILD_DIR SITE_PACKAGES_OF_LIBTORCH [PACKAGE_LIST]
# Needs root, debootstrap and a mirror of Debian; without them it ends with 77 (skipped) and says what is missing.
set -euo pipefail
source_dir=$(readlink -f "$1")
build=$(readlink -f "$2")
wheels=$(readlink -f "$3")
list=${4:-$source_dir/cluster/launch/runtime-packages.txt}

skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root may change the root folder"
command -v debootstrap >/dev/null || skip "there is no debootstrap (apt-get install debootstrap)"
unshare --mount --pid --fork true 2>/dev/null || skip "no mount namespace may be made here"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/retort-bare-root.XXXXXX")
trap 'rm -rf --one-file-system "$scratch"' EXIT
root=$scratch/root
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ' || true)
debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$scratch/log" 2>&1 ||
  skip "no bare root could be made: $(tail -1 "$scratch/log")"

# What apt needs to reach the mirror as this machine does; none of it stays.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
for file in $(grep -ls Acquire /etc/apt/apt.conf.d/*); do cp "$file" "$root/etc/apt/apt.conf.d/"; done
if [ -e /etc/apt/sources.list.d/debian.sources ]; then
  rm -f "$root/etc/apt/sources.list"
  cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
fi
authorities=/etc/ssl/certs/ca-certificates.crt
if [ -e $authorities ]; then mkdir -p "$root/etc/ssl/certs" && cp -L $authorities "$root$authorities"; fi
sed 's/#.*//' "$list" >"$root/packages"
DEBIAN_FRONTEND=noninteractive chroot "$root" sh -c \
  'apt-get update -qq && apt-get install -y -qq --no-install-recommends $(cat /packages)' >"$scratch/log" 2>&1 ||
  { tail -5 "$scratch/log"; echo "the packages of $list could not be installed"; exit 1; }
rm -f "$root$authorities"

for folder in "$source_dir" "$build" "$wheels"; do mkdir -p "$root$folder"; done
cat >"$root/try.sh" <<'END'
set -eu
configs=$source_dir/experiments/configs launch=$source_dir/cluster/launch
try() { echo "\$ $*"; "$@" </dev/null || { echo "FAILED with $?: $*"; exit 1; }; }
linked_whole() { if ldd "$@" | grep "not found"; then return 1; fi; }

cd /tmp
try linked_whole "$build/bin/retort" "$build/bin/retort-worker" "$build/bin/retort-sleeper"
try retort version --verbose
try retort-worker --version
try retort-sleeper --version
try retort doctor "$configs/smoke.toml" --slots 2
if [ -e "$build/bin/libretort_mpi.so" ]; then
  try linked_whole "$build/bin/libretort_mpi.so"
  try "$launch/until-complete.sh" "$launch/mpirun.sh" -np 2 retort run "$configs/smoke.toml" --results results/smoke
else
  try retort run "$configs/smoke.toml" --slots 2 --results results/smoke
fi
cp -RL "$source_dir/experiments" .
sed -i -E -e 's/(^|[ _])steps( *)= [0-9]+/\1steps\2= 2/g' -e 's/epochs = [0-9]+/epochs = 1/' -e 's/members = [0-9]+/members = 10/' \
  -e 's/ batch = [0-9]+/ batch = 64/g' -e 's/queries = [0-9]+/queries = 20/' -e 's/replay = [0-9]+/replay = 2/' \
  -e 's/^student = "datalens"/student = "logistic"/' -e 's/8000\]/800]/; s/9000\]/8100]/; s/10000\]/9200]/' experiments/configs/quickstart.toml
try retort run experiments/configs/quickstart.toml --slots 2 --results results/quickstart
try retort table experiments/configs/quickstart.toml --results results/quickstart
try retort plot experiments/configs/quickstart.toml --results results/quickstart
try retort report --results results/quickstart --out report.html
try grep -q '<svg' report.html
try retort export dpdfd-working samples --format png --out samples --results results/quickstart
try retort verify --results results/quickstart
echo "every command ended well"
END
cat >"$scratch/enter.sh" <<'END'
set -eu
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/dev/shm"
for folder in "$source_dir" "$build" "$wheels"; do mount --rbind "$folder" "$root$folder"; done
exec chroot "$root" /usr/bin/env -i PATH="$build/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/tmp \
  LANG=C.UTF-8 HWLOC_HIDE_ERRORS=2 source_dir="$source_dir" build="$build" bash /try.sh
END
root=$root source_dir=$source_dir build=$build wheels=$wheels unshare --mount --pid --fork --kill-child bash "$scratch/enter.sh"
