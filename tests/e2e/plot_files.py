"""Checks figure files: plot_files.py FILE... Exit 1 names the first that is not what its name says."""
import struct
import sys
import xml.etree.ElementTree as tree
import zlib

SVG = "{http://www.w3.org/2000/svg}"


def check_svg(path):
    root = tree.parse(path).getroot()
    assert root.tag == SVG + "svg", f"{path}: root is {root.tag}"
    for name in ("title", "desc"):
        element = root.find(SVG + name)
        assert element is not None and element.text.strip(), f"{path}: no {name}"
    assert root.get("role") == "img", f"{path}: no role"
    identifiers = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(identifiers) == len(set(identifiers)), f"{path}: an id twice"
    drawn = sum(element.tag in (SVG + "path", SVG + "use", SVG + "rect") for element in root.iter())
    assert drawn > 50, f"{path}: only {drawn} things are drawn"
    return tuple(round(float(root.get(name).removesuffix("pt"))) for name in ("width", "height"))


def check_png(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", f"{path}: no PNG"
    at, pixels, kinds, texts = 8, b"", [], []
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], f"{path}: checksum"
        kinds.append(kind)
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        if kind == b"tEXt":
            texts.append(body)
        if kind == b"IDAT":
            pixels += body
        at += 12 + length
    assert kinds[-1] == b"IEND" and b"tIME" not in kinds and texts == [b"Software\0retort"], f"{path}: {kinds} {texts}"
    channels = {0: 1, 2: 3, 6: 4}[colour]
    rows = zlib.decompress(pixels)
    assert depth == 8 and len(rows) == height * (1 + width * channels), f"{path}: {len(rows)} bytes"
    assert len(set(rows)) > 10, f"{path}: blank"
    return width, height


def main():
    sizes = {}
    for path in sys.argv[1:]:
        stem, kind = path.rsplit(".", 1)
        sizes.setdefault(stem, {})[kind] = check_svg(path) if kind == "svg" else check_png(path)
    for stem, of in sizes.items():
        if len(of) == 2:
            assert all(abs(3 * points - dots) <= 3 for points, dots in zip(of["svg"], of["png"])), f"{stem}: {of}"


main()
