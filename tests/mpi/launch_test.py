"""Launching and ending a run under mpirun: exit codes, signals, killed processes, singletons.

Arguments: the rank program, the wrapper script.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from launching import PATIENCE, environment, write_program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import all_tests_pass  # noqa: E402

RANK_PROGRAM, WRAPPER = sys.argv[1:3]


class Run:
    """The wrapper running three ranks; what they print, and their process ids."""

    def __init__(self, *arguments, ranks=3, hosts="", hostfile="", **changes):
        where = ["--host", hosts] if hosts else ["--hostfile", hostfile] if hostfile else []
        command = [WRAPPER, "-np", str(ranks), *where, RANK_PROGRAM, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=environment(**changes), start_new_session=True)
        self.lines = []
        self.pids = {}

    def read_until_all_started(self, ranks=3):
        while len(self.pids) < ranks:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError("the ranks did not start: " + "".join(self.lines))
            self.lines.append(line)
            if match := re.search(r"rank (\d+) pid (\d+)", line):
                self.pids[int(match[1])] = int(match[2])
        return self

    def mpirun_pid(self):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as stat:
                    name, rest = re.fullmatch(r"\d+ \((.*)\) . (.*)", stat.read(), re.DOTALL).groups()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(rest.split()[0]) == self.process.pid and name != "sleep":
                return int(pid)
        raise AssertionError("the wrapper has no mpirun")

    def end(self):
        output, _ = self.process.communicate(timeout=PATIENCE)
        self.lines.append(output)
        return self.process.returncode

    def text(self):
        return "".join(self.lines)


def listening(pid):
    """Local addresses of the process's listening TCP sockets, as /proc/net/tcp writes them."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        if match := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")):
            inodes.add(match[1])
    found = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}", encoding="ascii") as file:
            for line in list(file)[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    found.append(fields[1])
    return found


def gone(pid):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if ") Z " in stat.read():
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


class LaunchTest(unittest.TestCase):
    def test_the_exit_code_is_the_one_rank_0_wrote(self):
        for code in (0, 1, 75):
            self.assertEqual(Run(f"exit-{code}").end(), code)

    def test_a_signal_reaches_every_rank_once(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            run = Run().read_until_all_started()
            begin = time.monotonic()
            run.process.send_signal(number)
            self.assertEqual(run.end(), 75)
            self.assertEqual(len(re.findall(r"rank \d signalled 1", run.text())), 3, run.text())
            print(f"{signal.Signals(number).name} to end: {time.monotonic() - begin:.2f} s")

    def test_ctrl_c_reaches_the_ranks_through_the_wrapper(self):
        run = Run().read_until_all_started()
        os.killpg(run.process.pid, signal.SIGINT)
        self.assertEqual(run.end(), 75)

    def test_a_signal_before_the_ranks_exist_is_not_lost(self):
        for delay in (0.05, 0.15, 0.3):
            run = Run()
            time.sleep(delay)  # the shell has set its trap; mpirun has hardly begun
            run.process.send_signal(signal.SIGTERM)
            self.assertEqual(run.end(), 75, run.text())

    def test_a_second_signal_is_passed_on(self):
        run = Run("stubborn").read_until_all_started()
        run.process.send_signal(signal.SIGTERM)
        while "signalled" not in run.text():
            run.lines.append(run.process.stdout.readline())
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.end(), 130)

    def test_a_killed_rank_ends_the_job_in_bounded_time(self):
        run = Run(RETORT_GRACE_SECONDS="1").read_until_all_started()
        begin = time.monotonic()
        os.kill(run.pids[1], signal.SIGKILL)
        self.assertEqual(run.end(), 75)    # rank 0 could still save
        seconds = time.monotonic() - begin
        print(f"SIGKILL of a rank to the end of the job: {seconds:.1f} s")
        self.assertLess(seconds, 30)
        for pid in run.pids.values():
            self.assertTrue(gone(pid))

    def test_a_killed_rank_0_gives_a_code_for_a_restart(self):
        run = Run(RETORT_GRACE_SECONDS="1").read_until_all_started()
        os.kill(run.pids[0], signal.SIGKILL)
        self.assertEqual(run.end(), 137)

    def test_a_job_whose_rank_0_leaves_is_started_again(self):
        run = Run("silent")
        self.assertEqual(run.end(), 137)
        self.assertIn("the job was lost", run.text())

    def test_an_mpirun_that_stays_behind_is_ended(self):
        run = Run("linger")
        begin = time.monotonic()
        self.assertEqual(run.end(), 1)
        self.assertLess(time.monotonic() - begin, 45)

    def test_ranks_on_one_host_open_no_port(self):
        run = Run().read_until_all_started()
        self.assertEqual([port for pid in run.pids.values() for port in listening(pid)], [])
        run.process.send_signal(signal.SIGUSR1)
        self.assertEqual(run.end(), 75)

    def test_a_killed_mpirun_or_wrapper_leaves_no_rank(self):
        for victim in ("mpirun", "wrapper"):
            run = Run().read_until_all_started()
            os.kill(run.mpirun_pid() if victim == "mpirun" else run.process.pid, signal.SIGKILL)
            for pid in run.pids.values():
                self.assertTrue(gone(pid), victim)
            self.assertNotEqual(run.end(), 0)

    def test_singletons_are_refused_with_the_command(self):
        for variable in ("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
            done = subprocess.run([RANK_PROGRAM], env=environment(**{variable: "3"}), text=True, capture_output=True,
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, 3)
            self.assertIn("cluster/launch/mpirun.sh -np 3 retort run", done.stderr)

    def test_without_a_launcher_mpi_is_not_touched(self):
        done = subprocess.run([RANK_PROGRAM], env=environment(), text=True, capture_output=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, "alone\n"))

    def test_hosts_that_do_not_answer_are_left_out(self):
        run = Run("exit-0", ranks=4, hosts="localhost:2,nowhere:2", OMPI_MCA_plm_rsh_agent="/bin/false")
        self.assertEqual(run.end(), 0, run.text())
        self.assertIn("host nowhere does not answer", run.text())
        self.assertEqual(len(re.findall(r"rank \d pid", run.text())), 2, run.text())

    def test_a_job_whose_hosts_are_gone_is_code_3(self):
        run = Run("exit-0", hosts="nowhere,neverwhere", OMPI_MCA_plm_rsh_agent="/bin/false")
        self.assertEqual(run.end(), 3)
        self.assertIn("no host answers", run.text())

    def test_a_hostfile_counts_its_slots(self):
        with tempfile.NamedTemporaryFile("w", suffix=".hosts") as file:
            file.write("# ours\nlocalhost slots=1\nnowhere slots=3 # gone\nlocalhost\n\n")
            file.flush()
            run = Run("exit-0", ranks=9, hostfile=file.name, OMPI_MCA_plm_rsh_agent="/bin/false")
            self.assertEqual(run.end(), 0, run.text())
            self.assertEqual(len(re.findall(r"rank \d pid", run.text())), 2, run.text())

    def elsewhere(self, exports, rank_0):
        """The wrapper's end when rank 0 runs on another host, for which a stand-in mpirun starts it without the wrapper's
        environment but what -x names; `exports` says whether that host sees the wrapper's folder."""
        with tempfile.TemporaryDirectory() as folder:
            agent = write_program(os.path.join(folder, "agent"), "exit 0\n")
            mpirun = write_program(os.path.join(folder, "mpirun"), f"""
                case " $* " in *" -x RETORT_EXIT_CODE_FILE "*) ;; *) unset RETORT_EXIT_CODE_FILE ;; esac
                {'' if exports else 'unset RETORT_EXIT_CODE_FILE'}
                cd /
                {rank_0}
                exit 0
                """)
            done = subprocess.run(
                [os.path.abspath(WRAPPER), "--host", "elsewhere,farther", "-np", "2", "retort", "run", "s.toml"], cwd=folder, text=True,
                env=environment(RETORT_MPIRUN=mpirun, RETORT_LAUNCH_AGENT=agent), capture_output=True, timeout=PATIENCE)
            self.assertEqual(sorted(os.listdir(folder)), ["agent", "mpirun"], "it leaves something behind")
            return done

    def test_the_last_word_comes_through_the_shared_folder(self):
        for code in (0, 75):
            done = self.elsewhere(True, f'echo {code} >"$RETORT_EXIT_CODE_FILE"')
            self.assertEqual(done.returncode, code, done.stderr)

    def test_a_job_on_other_hosts_needs_a_last_word(self):
        done = self.elsewhere(False, "true")
        self.assertEqual(done.returncode, 3)
        self.assertIn("--results", done.stderr)
        done = self.elsewhere(True, 'echo ready >"$RETORT_EXIT_CODE_FILE.ready"')
        self.assertEqual(done.returncode, 137, done.stderr)

    def test_a_missing_mpirun_is_named(self):
        done = subprocess.run([WRAPPER, "-np", "2", "true"], env=environment(RETORT_MPIRUN="/nonexistent/mpirun"),
                              text=True, capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 3)
        self.assertIn("/nonexistent/mpirun", done.stderr)


if __name__ == "__main__":
    sys.exit(0 if all_tests_pass(at_once=6) else 1)
