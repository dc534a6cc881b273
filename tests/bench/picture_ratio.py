"""Pictures to batches beside Pillow and torchvision, in one run, a core each.

    python picture_ratio.py --bench picture_bench --python PYTHON --folder FOLDER

PYTHON has torch, torchvision and Pillow. Aims: decoding, Resize(256), CenterCrop(224) and normalising 1.8 times
faster; batches of a second epoch, out of the cache, 20 times faster than decoding. Exit 3: an aim is missed; 77: a peer
or the pictures are not there.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

AIM, CACHE_AIM, REPEATS = 1.8, 20, 5
PEER = """
import io, sys, time, torch
from PIL import Image
from torchvision import transforms
torch.set_num_threads(1)
files = [open(line.strip(), "rb").read() for line in open(sys.argv[1])]
prepare = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
                              transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
best = float("inf")
for _ in range(int(sys.argv[2])):
    start = time.process_time()
    for file in files:
        prepare(Image.open(io.BytesIO(file)).convert("RGB"))
    best = min(best, time.process_time() - start)
print(1000 * best / len(files))
"""


def main():
    parser = argparse.ArgumentParser()
    for name in ("--bench", "--python", "--folder"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    files = sorted(p for p in pathlib.Path(options.folder).rglob("*") if p.suffix.lower() in (".jpeg", ".jpg"))
    if not files:
        print(f"skipped: there are no JPEG pictures in {options.folder}")
        return 77
    try:
        probe = subprocess.run([options.python, "-c", "import torchvision"], capture_output=True, text=True)
    except OSError as missing:
        print(f"skipped: {missing}")
        return 77
    if probe.returncode != 0:
        print("skipped: torchvision is not in " + options.python + "; bash cluster/setup.sh --bench brings it")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        listing = pathlib.Path(folder) / "files"
        listing.write_text("\n".join(map(str, files)) + "\n")
        peer = float(subprocess.run([options.python, "-c", PEER, str(listing), str(REPEATS)], check=True,
                                    capture_output=True, text=True).stdout)
        ours = subprocess.run([options.bench, "epochs", str(listing), "256", "224", str(REPEATS), folder + "/cache"],
                              check=True, capture_output=True, text=True).stdout.split()
    decode, cached = float(ours[1]), float(ours[3])
    print(f"{len(files)} pictures, milliseconds each: Pillow and torchvision {peer:.3f}, Retort {decode:.3f}: "
          f"{peer / decode:.2f} times faster (aim {AIM})")
    print(f"second epoch, from the cache: {cached:.4f}: {decode / cached:.1f} times faster than decoding (aim {CACHE_AIM})")
    return 0 if peer / decode >= AIM and decode / cached >= CACHE_AIM else 3


if __name__ == "__main__":
    sys.exit(main())
