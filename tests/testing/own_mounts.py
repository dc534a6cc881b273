"""Mounts of a test's own: small disks and read-only folders that nobody else sees, and that go when the test ends."""
import os
import shutil
import subprocess
import sys

ENTERED = "RETORT_TEST_IN_NAMESPACE"


def enter_own_mounts():
    """Starts this program again where it may mount; exits where it may not."""
    if ENTERED in os.environ:
        return
    own_user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    unshare = ["unshare", *own_user, "--mount"]
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode != 0:
        print("SKIPPED: this user may not mount")
        sys.exit(77)
    os.environ[ENTERED] = "1"
    os.execvp("unshare", [*unshare, sys.executable, *sys.argv])


def show_gpus(folder, count):
    """Puts a /dev over this one in which there are files of `count` GPUs that nothing drives. It is built in `folder`, which is
    empty afterwards: whoever removes a tree does not come to what the real /dev/shm holds."""
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    for name in ("null", "zero", "full", "random", "urandom", "shm"):
        path = os.path.join(folder, name)
        if name == "shm":
            os.mkdir(path)
        else:
            open(path, "w", encoding="utf-8").close()
        subprocess.run(["mount", "--bind", os.path.join("/dev", name), path], check=True)
    for name in ("fd", "stdin", "stdout", "stderr"):
        os.symlink("/proc/self/fd" + ("" if name == "fd" else "/" + str(("stdin", "stdout", "stderr").index(name))),
                   os.path.join(folder, name))
    for number in range(count):
        open(os.path.join(folder, f"nvidia{number}"), "w", encoding="utf-8").close()
    subprocess.run(["mount", "--move", folder, "/dev"], check=True)


class SmallDisk:
    """A disk of `size` (as mount takes it) at `path`, until end()."""

    def __init__(self, path, size):
        self.path = path
        os.makedirs(path, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path], check=True)

    def free(self):
        """Bytes."""
        space = os.statvfs(self.path)
        return space.f_bavail * space.f_frsize

    def fill(self, left=0):
        """Takes what is free but for `left` bytes."""
        with open(os.path.join(self.path, "fill"), "ab", buffering=0) as file:
            try:
                while (room := self.free() - left) > 0:
                    file.write(bytes(min(room, 1 << 20)))
            except OSError:
                pass                            # full

    def make_room(self):
        os.remove(os.path.join(self.path, "fill"))

    def take_all_files(self):
        """Room for bytes is left, and for no file."""
        folder = os.path.join(self.path, "files")
        os.makedirs(folder, exist_ok=True)
        try:
            for number in range(1 << 20):
                open(os.path.join(folder, str(number)), "w", encoding="utf-8").close()
        except OSError:
            pass                                # none is left

    def give_files_back(self):
        shutil.rmtree(os.path.join(self.path, "files"))

    def make_read_only(self):
        subprocess.run(["mount", "-o", "remount,ro", self.path], check=True)

    def end(self):
        subprocess.run(["umount", "--lazy", self.path], check=True)
