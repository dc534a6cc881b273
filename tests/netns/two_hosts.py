"""Hosts as network namespaces of this machine, joined by one switch: each with a name, an address and a link that
can be cut. They share the file system, as hosts of a cluster share the results folder.

A test that uses this runs under `enter()`, which gives it a mount namespace of its own (and, where it is not root, a user
namespace): nothing of it is seen outside.
"""
import os
import shutil
import subprocess
import sys
import time

ENTERED = "RETORT_TEST_IN_NAMESPACE"
TOOLS = ("ip", "unshare", "mpirun", "setpriv")


def cannot():
    """Why such hosts cannot be had here; empty when they can."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (apt-get install iproute2 util-linux openmpi-bin)"
    probe = subprocess.run([*unshare(), "sh", "-c", "mount -t tmpfs none /run && ip link add v0 type veth peer name v1"],
                           capture_output=True, text=True, check=False)
    return "" if probe.returncode == 0 else f"no namespaces for this user: {probe.stderr.strip()}"


def unshare():
    own_user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *own_user, "--mount", "--net"]


def enter():
    """Starts this program again in namespaces of its own; returns there."""
    if ENTERED not in os.environ:
        os.environ[ENTERED] = "1"
        os.execvp("unshare", [*unshare(), sys.executable, *sys.argv])
    run("mount", "-t", "tmpfs", "none", "/run")    # where `ip netns` keeps its names


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


class Hosts:
    def __init__(self, folder, names):
        self.folder = folder
        self.names = names
        self.addresses = {name: f"10.77.0.{i + 1}" for i, name in enumerate(names)}
        self.agent = os.path.join(folder, "agent")
        with open(os.path.join(folder, "hosts"), "w", encoding="utf-8") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in self.addresses.items()))
        run("mount", "--bind", os.path.join(folder, "hosts"), "/etc/hosts")
        # What ssh is elsewhere: `agent HOST COMMAND`. A host that cannot be reached fails, as with ssh.
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write("""#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1; shift
if [ "$(hostname)" != "$host" ]; then
  for end in "$(hostname)" "$host"; do
    ip -n "$end" link show eth0 | grep -q LOWER_UP || { echo "no route to host $host" >&2; exit 255; }
  done
fi
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; exec sh -c "$*"' "$host" "$@"
""")
        os.chmod(self.agent, 0o755)
        run("ip", "link", "add", "switch", "type", "bridge", "forward_delay", "0")
        run("ip", "link", "set", "switch", "up")
        for name in names:
            run("ip", "netns", "add", name)
            run("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
            run("ip", "link", "set", f"to-{name}", "master", "switch", "up")
            run("ip", "-n", name, "address", "add", f"{self.addresses[name]}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                run("ip", "-n", name, "link", "set", link, "up")

    def command(self, host, *command):
        """The command as it is started on the host."""
        return ["ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', host, *command]

    def cut(self, host):
        run("ip", "link", "set", f"to-{host}", "down")

    def mend(self, host):
        """Returns once the others answer again, or after ten seconds."""
        run("ip", "link", "set", f"to-{host}", "up")
        deadline = time.monotonic() + 10
        for one, other in [(n, host) for n in self.names if n != host] + [(host, n) for n in self.names if n != host]:
            while not self.answers(one, other) and time.monotonic() < deadline:
                time.sleep(0.1)

    def answers(self, one, other):
        """Whether `other` refuses a connection from `one` to a port where nobody listens: nothing else comes back so."""
        knock = subprocess.run(["ip", "netns", "exec", one, "timeout", "1", "bash", "-c",
                                f"exec 3<>/dev/tcp/{self.addresses[other]}/9"], capture_output=True, text=True, check=False)
        return "refused" in knock.stderr

    def processes(self, host, name=""):
        """(pid, name) of the live processes on the host whose name begins with `name`."""
        found = []
        for pid in filter(None, run("ip", "netns", "pids", host).split()):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    stat = file.read()
            except (FileNotFoundError, ProcessLookupError):
                continue
            program, state = stat[stat.index("(") + 1:stat.rindex(")")], stat.rsplit(")", 1)[1].split()[0]
            if state != "Z" and program.startswith(name):
                found.append((int(pid), program))
        return found
