"""What programs link: their NEEDED entries, found where the dynamic linker finds them, and the Debian packages these are of."""
import os
import re
import subprocess

ENTRY = re.compile(r"\((NEEDED|RPATH|RUNPATH)\)[^\[]*\[([^\]]*)\]")
SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def dynamic_section(path):
    """Names of the libraries that the file at `path` links, and the folders that it says they are in."""
    needed, folders = [], []
    here = os.path.dirname(os.path.realpath(path))
    for tag, value in ENTRY.findall(output_of("readelf", "--dynamic", "--wide", path)):
        if tag == "NEEDED":
            needed.append(value)
        else:
            folders += [folder.replace("$ORIGIN", here) for folder in value.split(":") if folder]
    return needed, folders


def cached_libraries():
    """Path by name, of what the linker finds in no folder that it was told."""
    found = {}
    for line in output_of("/sbin/ldconfig", "-p").splitlines():
        match = re.match(r"\s+(\S+) \(.*x86-64.*\) => (\S+)", line)
        if match:
            found.setdefault(match[1], match[2])
    return found


class Linked:
    """The libraries behind `programs`. Those below the folders `kept`, which the image has too, are looked into as well;
    those of the system are left to their packages; others of this machine count as missing."""

    def __init__(self, programs, kept):
        self.kept = [os.path.realpath(folder) + "/" for folder in kept]
        self.cached = cached_libraries()
        self.system = {}     # path by name
        self.missing = {}    # who asks first, by name
        self.seen = set()    # paths of programs and of libraries below `kept`
        waiting = [(program, ()) for program in programs]
        while waiting:
            path, inherited = waiting.pop()
            if os.path.realpath(path) in self.seen:
                continue
            self.seen.add(os.path.realpath(path))
            needed, named = dynamic_section(path)
            folders = (*named, *inherited)
            for name in needed:
                place = self.place_of(name, folders)
                if place is None:
                    self.missing.setdefault(name, path)
                elif self.is_kept(place):
                    waiting.append((place, folders))
                else:
                    self.system[name] = place

    def is_kept(self, path):
        return os.path.realpath(path).startswith(tuple(self.kept))

    def place_of(self, name, folders):
        places = [os.path.join(folder, name) for folder in folders] + [self.cached.get(name, "")]
        return next((place for place in places if os.path.exists(place) and
                     (self.is_kept(place) or os.path.realpath(place).startswith(SYSTEM))), None)


def packages_of_files(paths):
    """By path: the Debian package that holds the file; None: none does."""
    names = {}
    for path in paths:
        for form in (path, os.path.realpath(path)):  # a package may say /lib for /usr/lib
            names.update({form: path, form.removeprefix("/usr"): path, "/usr" + form: path})
    said = subprocess.run(("dpkg-query", "--search", *names), capture_output=True, text=True).stdout
    packages = dict.fromkeys(paths)
    for package, name in re.findall(r"^([^\s:,]+)[^/]*: (/.*)$", said, re.M):
        if name in names:
            packages[names[name]] = package
    return packages


def package_of(path):
    return packages_of_files([path])[path]


def packages_of(libraries):
    """From path by name: the names of the libraries, by the package that holds them."""
    package = packages_of_files(list(libraries.values()))
    packages = {}
    for name, path in sorted(libraries.items()):
        packages.setdefault(package[path], []).append(name)
    return packages
