#!/usr/bin/env python3
"""Lets Python import a torch that was installed without the libraries for GPUs which it names: makes libraries of those names in
which no function does anything. What runs on the CPU calls none of them.

usage: torch_stubs.py TORCH_FOLDER OUT_FOLDER      (needs cc, ldd, nm and readelf; prints how many it made)
Then: LD_LIBRARY_PATH=OUT_FOLDER python3 -c 'import torch'
"""
import glob
import os
import re
import subprocess
import sys


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def missing_libraries(libraries):
    found = set()
    for library in libraries:
        found |= set(re.findall(r"^\s*(\S+) => not found", output("ldd", library), re.M))
    return {name for name in found if not name.startswith(("libtorch", "libc10"))}


def needed_symbols(libraries, missing):
    """By library: its symbols, each with the version that is asked for, or an empty text."""
    wanted = {name: set() for name in missing}
    for library in libraries:
        owner_of = {}  # of a version
        owner = ""
        for line in output("readelf", "-V", "-W", library).splitlines():
            if match := re.search(r"File: (\S+)", line):
                owner = match.group(1)
            elif match := re.search(r"Name: (\S+)\s+Flags", line):
                owner_of[match.group(1)] = owner
        for symbol, _, version in re.findall(r"^\s+[Uw] ([^@\s]+)(@(\S+))?$", output("nm", "-D", "-u", "--with-symbol-versions", library), re.M):
            if version and owner_of.get(version) in wanted:
                wanted[owner_of[version]].add((symbol, version))
            elif not version:
                for name in missing:
                    stem = re.match(r"lib([A-Za-z]+)", name).group(1).lower()
                    if symbol.lower().startswith(stem):
                        wanted[name].add((symbol, ""))
    return wanted


def make_stub(folder, name, symbols):
    source, script = os.path.join(folder, name + ".c"), os.path.join(folder, name + ".map")
    with open(source, "w", encoding="ascii") as file:
        file.write("".join(f"int {symbol}(void) {{ return 1; }}\n" for symbol in sorted({symbol for symbol, _ in symbols})))
    versions = sorted({version for _, version in symbols if version})
    with open(script, "w", encoding="ascii") as file:
        for version in versions:
            names = "; ".join(sorted(symbol for symbol, wanted in symbols if wanted == version))
            file.write(f"{version} {{ global: {names}; }};\n")
    words = ["cc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{name}", "-o", os.path.join(folder, name), source]
    subprocess.run(words + ([f"-Wl,--version-script={script}"] if versions else []), check=True)


def make_stubs(torch, folder):
    os.makedirs(folder, exist_ok=True)
    libraries = sorted(glob.glob(os.path.join(torch, "lib", "*.so*")))
    missing = missing_libraries(libraries)
    for name, symbols in needed_symbols(libraries, missing).items():
        make_stub(folder, name, symbols)
    return sorted(missing)


if __name__ == "__main__":
    made = make_stubs(sys.argv[1], sys.argv[2])
    print(f"{len(made)} made: {' '.join(made)}")
