"""Every picture of a folder as Retort prepares it, against Pillow and torchvision; names the worst.

  picture_parity_test.py --program PATH --folder FOLDER [--most 1.0]

PATH is picture_bench. Exit 0: the mean difference of every picture is at most --most grey levels; 1: not; 77: torchvision
or the folder is not there.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
PRESETS = {"256 224": (256, 224), "232 224": (232, 224), "48 32": (48, 32)}


def pictures(folder):
    return sorted(p for p in pathlib.Path(folder).rglob("*") if p.suffix.lower() in (".jpeg", ".jpg", ".png"))


def differences(program, files, resize, crop):
    import numpy as np
    from PIL import Image
    from torchvision import transforms

    prepare = transforms.Compose([transforms.Resize(resize), transforms.CenterCrop(crop)])
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "planes"
        listing = pathlib.Path(folder) / "files"
        listing.write_text("\n".join(map(str, files)) + "\n")
        subprocess.run([program, "planes", str(listing), str(resize), str(crop), str(out)], check=True)
        ours = np.fromfile(out, np.uint8).reshape(len(files), 3, crop, crop).astype(int)
    for file, planes in zip(files, ours):
        theirs = np.asarray(prepare(Image.open(file).convert("RGB"))).transpose(2, 0, 1)
        gap = np.abs(planes - theirs)
        yield gap.mean(), gap.max(), file


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--most", type=float, default=1.0)
    options = parser.parse_args()
    try:
        import torchvision
        from PIL import Image
    except ImportError as missing:
        print(f"skipped: {missing}; bash cluster/setup.sh --bench brings torchvision")
        return SKIPPED
    files = [p for p in pictures(options.folder) if min(Image.open(p).size) > 1]
    if not files:
        print(f"skipped: there are no pictures in {options.folder}")
        return SKIPPED
    failed = False
    for resize, crop in PRESETS.values():
        mean, most, worst = max(differences(options.program, files, resize, crop))
        print(f"resize {resize}, crop {crop}: {len(files)} pictures (torchvision {torchvision.__version__}); worst "
              f"{worst}: {mean:.4f} grey levels on average, {most} at most")
        failed |= mean > options.most
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
