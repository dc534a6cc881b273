#!/usr/bin/env bash
# What users get, on a bare Debian 12 with Python and nothing else: the archive that cpack makes, with TORCH_DIR alone, and a wheel
# in a virtual environment. Each runs a shipped sweep by its name from an empty folder, prints its table and exports a student.
#   bare_install_test.sh CPACK BUILD_DIR SITE_PACKAGES_OF_LIBTORCH [WHEEL]
# Without a WHEEL (pip wheel . makes one) only the archive is tried. Needs root, debootstrap and a mirror of Debian; without them it
# ends with 77 (skipped) and says what is missing.
set -euo pipefail
cpack=$1
build=$(readlink -f "$2")
wheels=$(readlink -f "$3")
wheel=${4:+$(readlink -f "$4")}

skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root may change the root folder"
command -v debootstrap >/dev/null || skip "there is no debootstrap (apt-get install debootstrap)"
unshare --mount --pid --fork true 2>/dev/null || skip "no mount namespace may be made here"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/retort-bare-install.XXXXXX")
trap 'rm -rf --one-file-system "$scratch"' EXIT
root=$scratch/root
"$cpack" --config "$build/CPackConfig.cmake" -B "$scratch/archive" >"$scratch/log" 2>&1 || { tail -5 "$scratch/log"; exit 1; }
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ' || true)
debootstrap --variant=minbase --include=python3-venv bookworm "$root" ${mirror:+"$mirror"} >"$scratch/log" 2>&1 ||
  skip "no bare root could be made: $(tail -1 "$scratch/log")"
mkdir -p "$root/opt" "$root/site"
tar -xzf "$scratch"/archive/retort-*.tar.gz -C "$root/opt"
[ -z "$wheel" ] || cp "$wheel" "$root/"
if grep -rlaF "$build" "$root/opt" --include='retort*' --include='*.so*'; then echo "FAILED: a program names the folder of its build"; exit 1; fi

cat >"$root/try.sh" <<'END'
set -eu
try() { echo "\$ $*"; "$@" </dev/null || { echo "FAILED with $?: $*"; exit 1; }; }
use() {
  mkdir -p "/tmp/$1" && cd "/tmp/$1"
  try retort version
  try retort doctor smoke
  try retort run smoke
  try retort table smoke
  try retort plan dpsd/fig9 --profile smoke
  try retort export teacher-single student --format torch --out teacher.pth
  try retort verify
  if retort run smoek 2>said; then echo "FAILED: smoek is run"; exit 1; fi
  try grep -q "quickstart, .*smoke" said
}
for program in /opt/retort-*/libexec/retort/*; do
  [ -d "$program" ] || ! LD_LIBRARY_PATH=/site/torch/lib ldd "$program" | grep "not found" | grep -v libmpi || exit 1
done
(PATH=$(echo /opt/retort-*/bin):$PATH; export TORCH_DIR=/site/torch; use archive)
(PATH=$(echo /opt/retort-*/bin):$PATH; cd /tmp; ! retort run smoke --results untold 2>said; try grep TORCH_DIR said)
mv /opt/retort-* /opt/elsewhere
(PATH=/opt/elsewhere/bin:$PATH; export TORCH_DIR=/site/torch; use moved)
if compgen -G "/retort-*.whl" >/dev/null; then
  cd /tmp
  try python3 -m venv v
  try v/bin/pip install --quiet --no-index --no-deps /retort-*.whl
  packages=$(echo /tmp/v/lib/python3*/site-packages)
  ln -s /site/torch /site/nvidia "$packages/"
  (PATH=/tmp/v/bin:$PATH; use wheel)
fi
echo "every command ended well"
END
cat >"$scratch/enter.sh" <<'END'
set -eu
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/dev/shm"
mount --rbind "$wheels" "$root/site"
exec chroot "$root" /usr/bin/env -i PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root LANG=C.UTF-8 bash /try.sh
END
root=$root wheels=$wheels unshare --mount --pid --fork --kill-child bash "$scratch/enter.sh"
