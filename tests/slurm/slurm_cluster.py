"""A Slurm of its own for a test: munged, slurmctld and slurmd as this user, in one folder, on free ports of the
loopback interface. Nothing of the machine's own Slurm is read or touched."""
import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import PATIENCE, wait_for  # noqa: E402

PROGRAMS = ("munged", "slurmctld", "slurmd", "slurmstepd", "sbatch", "scontrol", "squeue", "scancel", "srun")


def find(program):
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def missing_programs():
    return [program for program in PROGRAMS if not find(program)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class SlurmCluster:
    """One controller and `nodes` nodes of `cpus` CPUs each, all on this machine."""

    def __init__(self, folder, nodes=1, cpus=2):
        self.folder = folder
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.daemons = []
        # No variable of a job that this test may itself be in; no configuration of the machine's.
        kept = {k: v for k, v in os.environ.items() if not re.match("SLURM_|OMPI_|PMIX_|ORTE_|PMI_|RETORT_|MUNGE_", k)}
        self.environment = {**kept, "SLURM_CONF": self.path("slurm.conf"), "HWLOC_HIDE_ERRORS": "2"}
        user = getpass.getuser()
        ports = "\n".join(f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={free_port()} CPUs={cpus}"
                          for node in self.nodes)
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as file:
            file.write(f"""\
ClusterName=retort
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={self.path("munge.socket")}
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={self.path("state")}
SlurmdSpoolDir={self.path("spool-%n")}
SlurmctldPidFile={self.path("slurmctld.pid")}
SlurmdPidFile={self.path("slurmd-%n.pid")}
SlurmctldLogFile={self.path("slurmctld.log")}
SlurmdLogFile={self.path("slurmd-%n.log")}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=5,sched_interval=5
{ports}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        # Nothing here uses cgroups; a plug-in that Slurm need not look for keeps it going where they are not mounted.
        with open(self.path("cgroup.conf"), "w", encoding="utf-8") as file:
            file.write("CgroupPlugin=cgroup/v1\n")
        os.makedirs(self.path("state"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        with open(self.path("munge.key"), "wb") as key:
            key.write(os.urandom(128))
        os.chmod(self.path("munge.key"), 0o600)
        self.daemon("munged", "--foreground", "--force", f"--socket={self.path('munge.socket')}",
                    f"--key-file={self.path('munge.key')}", f"--pid-file={self.path('munged.pid')}",
                    f"--log-file={self.path('munged.log')}", f"--seed-file={self.path('munged.seed')}")
        wait_for(lambda: os.path.exists(self.path("munge.socket")), "munged listens")
        self.daemon("slurmctld", "-D", "-i")
        for node in self.nodes:
            self.daemon("slurmd", "-D", "-N", node)
        wait_for(lambda: self.say("sinfo", "-h", "-o", "%T %D").strip() == f"idle {len(self.nodes)}", "nodes are idle")
        return self

    def daemon(self, program, *arguments):
        log = open(self.path(f"{program}.out"), "ab")
        self.daemons.append(subprocess.Popen([find(program), *arguments], stdout=log, stderr=log,
                                             env=self.environment, start_new_session=True))

    def stop(self):
        """Ends every job, then Slurm."""
        self.say("scancel", "--user", getpass.getuser())
        until = time.monotonic() + 45    # KillWait and some
        while self.say("squeue", "-h") and time.monotonic() < until:
            time.sleep(0.5)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def say(self, program, *arguments):
        """What a Slurm command prints; empty when it fails."""
        done = subprocess.run([find(program), *arguments], env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        return done.stdout if done.returncode == 0 else ""

    def sbatch(self, script, *arguments, options=(), cwd, **variables):
        """The job's id."""
        done = subprocess.run([find("sbatch"), "--parsable", *options, script, *arguments], cwd=cwd,
                              env={**self.environment, **variables}, capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        if done.returncode != 0:
            raise AssertionError("sbatch: " + done.stderr)
        return done.stdout.strip().split(";")[0]

    def job(self, number):
        """Fields of `scontrol show job`."""
        return dict(re.findall(r"(\w+)=(\S*)", self.say("scontrol", "show", "job", number)))

    def wait_for_state(self, number, *states, seconds=PATIENCE):
        return wait_for(lambda: (job := self.job(number)).get("JobState") in states and job,
                        f"job {number} is {' or '.join(states)}; it is {self.job(number).get('JobState')}", seconds)

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(self.path(name), encoding="utf-8", errors="replace") as file:
                    text += f"--- {name}\n{file.read()[-3000:]}\n"
        return text
