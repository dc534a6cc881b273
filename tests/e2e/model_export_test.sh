#!/usr/bin/env bash
# `retort model check` and `retort export`: what fits and what is refused, and every format opened again.
#   model_export_test.sh RETORT SOURCE_DIR
# RETORT_READERS_PYTHON names a Python that has NumPy; without it .npz files are told by their magic bytes alone.
set -u
retort="$1"
source_dir="$2"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1
fixtures="$source_dir/tests/unit/storage/fixtures"
numpy="${RETORT_READERS_PYTHON:-python3}"
"$numpy" -c 'import numpy' 2>/dev/null || numpy=""

case_name="an unknown architecture names the nearest"
run "$retort" model check resnet43
expect_code 2
expect_err "resnet34"
expect_silent_out
run "$retort" model check resnet18 --weights nowhere.pth
expect_code 3
expect_err "nowhere.pth"

case_name="a parameter count without weights"
run "$retort" model check resnet18 --json
expect_code 0
expect_out '"parameters": 11689512'

case_name="missing and unexpected names are told, and nothing is loaded"
run "$retort" model check resnet18 --weights "$fixtures/weights.safetensors"
expect_code 1
expect_out "missing: conv1.weight"
expect_out "unexpected:"
expect_out "view.row"
expect_err "weights.safetensors"
run "$retort" model check resnet18 --weights "$fixtures/weights.safetensors" --json
expect_code 1
expect_out '"ok": false'

case_name="a pickle that would run code is refused where it stands"
python3 - <<'PY'
import os
import pickle
import zipfile


class Hostile:
    def __reduce__(self):
        return os.system, ("touch ran",)


with zipfile.ZipFile("hostile.pth", "w") as archive:
    archive.writestr("archive/data.pkl", pickle.dumps({"fc.weight": Hostile()}, protocol=2))
PY
run "$retort" model check resnet18 --weights hostile.pth
expect_code 2
expect_err "hostile.pth: offset "
expect_err "system"
expect_no_file ran

case_name="a TorchScript module is run only by its own option"
run "$retort" model check resnet18 --weights "$fixtures/scripted.pt"
expect_code 2
expect_err "--torchscript"
run "$retort" model check torchscript --torchscript --weights "$fixtures/scripted.pt" --json
expect_code 0
expect_out '"parameters": 6'

case_name="a file that was cut short"
head -c 5000 "$fixtures/weights.zip.pth" >cut.pth
run "$retort" model check resnet18 --weights cut.pth
expect_code 1
expect_err "cut.pth: offset "

digits_sweep sweep.toml "0, 64" "" "64, 96" <<'TOML'
[teacher]
single = { network = "logistic", epochs = 1 }
[trial]
data = "digits"
teacher = "single"
student = "logistic"
threads = 1
steps = 2
batch = 4
student_steps = 1
student_batch = 4
replay = 0
latent = 8
generator_width = 4
[sweep]
name = "small"
TOML
case_name="a small sweep"
run "$retort" run sweep.toml --quiet
expect_code 0
student="$("$retort" list --json | grep -o '"name": *"dpdfd[^"]*"' | head -1 | cut -d'"' -f4)"

begins_with() { expect_same "$(head -c ${#2} "$1" | tr -d '\0')" "$2"; }
for format in safetensors torch npz onnx torchscript; do
  case_name="the student as $format"
  run "$retort" export "$student" student --format "$format" --out "student.$format"
  expect_code 0
  expect_file "student.$format"
done
begins_with student.torch PK
begins_with student.torchscript PK
run "$retort" model check torchscript --torchscript --weights student.torchscript --image 28 --json
expect_code 0
expect_out '"parameters": 7850'
begins_with student.onnx "$(printf '\010\010\022\006retort')"
begins_with student.npz PK
for format in safetensors torch npz; do
  run "$retort" model check logistic --weights "student.$format" --json
  expect_code 0
  expect_out '"ok": true'
done

# Tensors under other names, as wrappers of PyTorch save them: renamed.safetensors of student.safetensors.
rename() {
  python3 - "$1" <<'PY'
import json
import struct
import sys

data = open("student.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, body = json.loads(data[8:8 + size]), data[8 + size:]
metadata = header.pop("__metadata__", None)
renamed = {eval(sys.argv[1], {"name": name}): tensor for name, tensor in header.items()}
if "averaged" in sys.argv[1]:
    renamed["module._orig_mod.n_averaged" if "within" in sys.argv[1] else "n_averaged"] = {"dtype": "I64", "shape": [], "data_offsets": [len(body), len(body) + 8]}
    body += bytes(8)
text = json.dumps(renamed).encode()
open("renamed.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
PY
}
case_name="names that wrappers left"
for names in "'module.' + name" "'_orig_mod.' + name" "'module._orig_mod.' + name" "'_orig_mod.module.' + name" \
  "'module.module.' + name" "'module._orig_mod.' + name  # averaged" "'model.' + name" "'net._orig_mod.' + name" \
  "name.replace('.', '._orig_mod.')" "'student.' + name  # averaged" "'module._orig_mod.module.' + name  # averaged within"; do
  rename "$names"
  run "$retort" model check logistic --weights renamed.safetensors
  expect_code 0
  expect_out "all 2 match"
done
rename "'model.' + name if name == 'fc.bias' else 'model.other.' + name"
run "$retort" model check logistic --weights renamed.safetensors
expect_code 1
expect_out "missing: fc."

case_name="an archive that was packed anew"
python3 -c "
import zipfile
with zipfile.ZipFile('student.torch') as stored, zipfile.ZipFile('packed.pth', 'w', zipfile.ZIP_DEFLATED) as packed:
    for entry in stored.infolist():
        packed.writestr(entry.filename, stored.read(entry))"
run "$retort" model check logistic --weights packed.pth
expect_code 0
expect_out "all 2 match"

case_name="the samples"
run "$retort" export "$student" samples --format png --out samples.png
expect_code 0
expect_same "$(head -c 8 samples.png | od -An -tx1 | tr -d ' \n')" 89504e470d0a1a0a
run "$retort" export "$student" samples --format npz --out samples.npz
expect_code 0
begins_with samples.npz PK

case_name="curves and ledger"
for part in curves ledger; do
  run "$retort" export "$student" "$part" --format csv --out "$part.csv"
  expect_code 0
  run python3 -c "
import csv
rows = list(csv.reader(open('$part.csv', newline='')))
assert len(rows) > 1 and all(len(row) == len(rows[0]) for row in rows), rows[:3]"
  expect_code 0
done

if [ -n "$numpy" ]; then
  case_name="NumPy opens both"
  run "$numpy" -c "
import numpy
student, samples = numpy.load('student.npz'), numpy.load('samples.npz')
assert all(numpy.isfinite(student[name]).all() for name in student.files) and student.files
assert samples['images'].shape[1:] == (1, 28, 28) and len(samples['step']) > 0, samples['images'].shape"
  expect_code 0
fi

case_name="nothing is exported of a file that is not its row's"
own="$(find results/small/trials -path "*dpdfd*" -name attempt.h5)"
other="$(find results/small/trials -name attempt.h5 -not -path "*dpdfd*" | head -1)"
cp "$own" kept.h5
cp "$other" "$own"
for part in "student safetensors" "samples npz" "curves csv"; do
  run "$retort" export "$student" "${part% *}" --format "${part#* }" --out changed
  expect_code 1
  expect_err "belongs to trial"
  expect_err "retort verify"
  expect_no_file changed
done
rm "$own"
mkfifo "$own"
run timeout 60 "$retort" export "$student" student --format torch --out changed
expect_code 3
expect_err "no plain file"
rm "$own"
mv kept.h5 "$own"
run "$retort" export "$student" student --format torch --out unchanged.torch
expect_code 0
expect_same "$(sha256sum <unchanged.torch)" "$(sha256sum <student.torch)"

case_name="what is there stays, and what cannot be written is said"
run "$retort" export "$student" student --format torch --out student.torch
expect_code 2
expect_err "--force"
run "$retort" export "$student" student --format torch --out student.torch --force
expect_code 0
run "$retort" export "$student" student --format png --out x
expect_code 2
expect_err "safetensors"
run "$retort" export "$student" sampels --format png --out x
expect_code 2
expect_err "samples"
run "$retort" export nobody student --format torch --out x
[ "$code" -ne 0 ] || complain "exit code 0"
expect_no_file x
cat >linear.toml <<TOML
retort = 1
[data.things]
reader = "pictures"
path = "$source_dir/tests/fixtures/folders/things"
size = [28, 28]
split = { train = [0, 2], test = [2, 3] }
[trial]
data = "things"
method = "dpsgd"
threads = 1
delta = 1e-2
noise_multiplier = 1
steps = 1
batch = 1
[sweep]
name = "linear"
grid.student = ["logistic", "hog-linear"]
TOML
case_name="own exports of linear networks, of three classes and 28 pixels"
run "$retort" run linear.toml --results linear --quiet
expect_code 0
for network in logistic hog-linear; do
  trial="$("$retort" list --json --results linear | python3 -c "
import json, sys
print(next(one['trial'] for one in json.load(sys.stdin)['trials'] if one['spec']['network'] == '$network'))")"
  for format in safetensors torch npz; do
    run "$retort" export "$trial" student --format "$format" --out "$network.$format" --results linear
    expect_code 0
    run "$retort" model check "$network" --weights "$network.$format"
    expect_code 0
    expect_out "3 classes, images 3x28x28"
  done
done
finish
