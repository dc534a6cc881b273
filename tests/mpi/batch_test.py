"""The scripts that keep a sweep going: the restart loop, and the batch scripts around it. Batch systems are stand-ins
here; tests/slurm has the real one.

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
LAUNCH = os.path.dirname(os.path.abspath(WRAPPER))
ROOT = os.path.dirname(os.path.dirname(LAUNCH))


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def start(self, *command, **changes):
        return subprocess.Popen(command, text=True, cwd=ROOT, env=environment(**changes), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True)


class UntilCompleteTest(Scratch):
    def loop(self, body, **changes):
        """The loop around a program that notes each try in the file `tries`."""
        program = write_program(self.path("program"), f"echo try >>{self.path('tries')}\n{body}\n")
        return self.start(os.path.join(LAUNCH, "until-complete.sh"), program, **changes)

    def ending_with(self, codes):
        listed = " ".join(map(str, codes))
        return f"codes=({listed}); exit ${{codes[$(wc -l <{self.path('tries')}) - 1]}}"

    def tries(self):
        return self.read("tries").count("try")

    def until_it_runs(self, loop):
        while "ready" not in (line := loop.stdout.readline()):
            self.assertTrue(line, "the loop ended")

    def test_a_saved_or_killed_try_is_followed_by_another(self):
        loop = self.loop(self.ending_with([75, 137, 75, 0]), RETORT_LEAST_SECONDS="0")
        output, _ = loop.communicate(timeout=PATIENCE)
        self.assertEqual((loop.returncode, self.tries()), (0, 4), output)

    def test_tries_that_stop_at_once_end_the_loop_with_75(self):
        begun = time.monotonic()
        loop = self.loop("exit 75", RETORT_QUICK_TRIES="3", RETORT_WORKED_FILE=self.path("worked"))
        output, _ = loop.communicate(timeout=PATIENCE)
        self.assertEqual((loop.returncode, self.tries()), (75, 3), output)
        self.assertGreater(time.monotonic() - begun, 1 + 4)
        self.assertIn("giving up", output)
        self.assertIn("--time-limit", output)
        self.assertEqual(self.read("worked"), "0\n")

    def test_a_try_that_worked_forgives_those_before_it(self):
        loop = self.loop(f"[ $(wc -l <{self.path('tries')}) -ne 2 ] || sleep 2\n" + self.ending_with([75, 75, 75, 0]),
                         RETORT_QUICK_TRIES="2", RETORT_LEAST_SECONDS="1", RETORT_WORKED_FILE=self.path("worked"))
        output, _ = loop.communicate(timeout=PATIENCE)
        self.assertEqual((loop.returncode, self.tries()), (0, 4), output)
        self.assertIn(int(self.read("worked")), range(2, 10))

    def test_the_sweeps_own_codes_are_final(self):
        for code in (0, 1, 2, 3, 130):
            loop = self.loop(f"exit {code}")
            loop.communicate(timeout=PATIENCE)
            self.assertEqual((loop.returncode, self.tries()), (code, 1))
            os.remove(self.path("tries"))

    def test_tries_killed_at_once_end_the_loop(self):
        loop = self.loop("exit 139", RETORT_QUICK_TRIES="2")
        output, _ = loop.communicate(timeout=PATIENCE)
        self.assertEqual((loop.returncode, self.tries()), (139, 2))
        self.assertIn("giving up", output)

    def test_each_signal_is_passed_on_and_ends_the_loop(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            loop = self.loop("trap 'exit 75' USR1; echo ready; for ((i = 0; i < 600; i++)); do sleep 0.1; done; exit 9")
            self.until_it_runs(loop)
            loop.send_signal(number)
            output, _ = loop.communicate(timeout=PATIENCE)
            self.assertEqual(loop.returncode, 75, output)

    def test_a_second_signal_is_passed_on_too(self):
        # Says ready outside its trap: bash 5.2 can lose a signal that comes while a trap runs.
        loop = self.loop("n=0; said=0; trap 'let n+=1' USR1; echo ready\n"
                         "for ((i = 0; i < 600; i++)); do sleep 0.1; [ $n -lt 2 ] || exit 130\n"
                         "[ $n -eq $said ] || { said=$n; echo ready; }; done; exit 9")
        for _ in range(2):
            self.until_it_runs(loop)
            loop.send_signal(signal.SIGTERM)
        output, _ = loop.communicate(timeout=PATIENCE)
        self.assertEqual(loop.returncode, 130, output)

    def test_a_job_killed_while_it_saves_is_not_restarted(self):
        loop = self.loop("trap 'exit 137' USR1; echo ready; for ((i = 0; i < 600; i++)); do sleep 0.1; done")
        self.until_it_runs(loop)
        loop.send_signal(signal.SIGTERM)
        loop.communicate(timeout=PATIENCE)
        self.assertEqual((loop.returncode, self.tries()), (75, 1))

    def test_nothing_is_started_again_in_the_last_minute(self):
        for variable in ("RETORT_END_TIME", "SLURM_JOB_END_TIME"):
            loop = self.loop("exit 137", **{variable: str(int(time.time()) + 30)})
            loop.communicate(timeout=PATIENCE)
            self.assertEqual((loop.returncode, self.tries()), (75, 1))
            os.remove(self.path("tries"))

    def test_an_allocation_without_end_stops_no_loop(self):
        for end in ("0", "4294967295", "UNLIMITED"):
            loop = self.loop(self.ending_with([75, 0]), SLURM_JOB_END_TIME=end)
            output, _ = loop.communicate(timeout=PATIENCE)
            self.assertEqual(loop.returncode, 0, output)
            os.remove(self.path("tries"))

    def test_a_signal_between_two_tries_ends_the_loop(self):
        loop = self.loop(self.ending_with([137, 137, 137]))
        while "starting it again" not in loop.stdout.readline():
            pass
        while "starting it again" not in loop.stdout.readline():    # now it pauses for four seconds
            pass
        loop.send_signal(signal.SIGTERM)
        loop.communicate(timeout=PATIENCE)
        self.assertEqual(loop.returncode, 75)

    def test_without_a_command_it_says_how(self):
        done = subprocess.run([os.path.join(LAUNCH, "until-complete.sh")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage:", done.stderr)


class SlurmScriptTest(Scratch):
    def sbatch(self, program, **changes):
        return self.start("bash", os.path.join(LAUNCH, "slurm.sbatch"),
                          **{"SWEEP": "s.toml", "RETORT": program, "SLURM_NTASKS": "2", **changes})

    def test_a_run_that_was_interrupted_is_started_again(self):
        program = write_program(self.path("program"), f"""
            [ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
            echo "$@" >>{self.path('tries')}
            if [ "$(wc -l <{self.path('tries')})" -lt 3 ]; then echo 75; else echo 1; fi >"$RETORT_EXIT_CODE_FILE"
            """)
        batch = self.sbatch(program, RETORT_LEAST_SECONDS="0")
        output, _ = batch.communicate(timeout=PATIENCE)
        self.assertEqual(batch.returncode, 1, output)
        self.assertEqual(self.read("tries"), "run s.toml\n" * 3)

    def stopped_job(self, **changes):
        """The output of a job that got its signal before the limit, and what it asked Slurm for."""
        write_program(self.path("scontrol"), f"echo \"$@\" >>{self.path('asked')}\n")
        write_program(self.path("squeue"), "date -d '+2 hours' +%Y-%m-%dT%H:%M:%S\n")
        batch = self.sbatch(RANK_PROGRAM, SLURM_JOB_ID="7", PATH=self.folder + ":" + os.environ["PATH"], **changes)
        while "pid" not in batch.stdout.readline():
            pass
        batch.send_signal(signal.SIGUSR1)
        output, _ = batch.communicate(timeout=PATIENCE)
        self.assertEqual(batch.returncode, 75, output)
        self.assertEqual(len(re.findall(r"rank \d signalled 1", output)), 2, output)
        return output, self.read("asked") if os.path.exists(self.path("asked")) else ""

    def test_the_time_limit_signal_requeues_the_job(self):
        output, asked = self.stopped_job(RETORT_LEAST_SECONDS="0")
        self.assertEqual(asked, "requeue 7\n", output)

    def test_a_job_with_hardly_any_time_is_not_requeued(self):
        output, asked = self.stopped_job(RETORT_LEAST_SECONDS="60")
        self.assertEqual(asked, "")
        self.assertIn("ask for more", output)

    def test_a_job_whose_tries_stop_is_not_requeued(self):
        write_program(self.path("scontrol"), f"echo \"$@\" >>{self.path('asked')}\n")
        write_program(self.path("squeue"), "date -d '+2 hours' +%Y-%m-%dT%H:%M:%S\n")
        program = write_program(self.path("program"), 'echo 75 >"$RETORT_EXIT_CODE_FILE"\n')
        begun = time.monotonic()
        batch = self.sbatch(program, SLURM_JOB_ID="7", SLURM_NTASKS="1", RETORT_QUICK_TRIES="3",
                            RETORT_LEAST_SECONDS="4", PATH=self.folder + ":" + os.environ["PATH"])
        output, _ = batch.communicate(timeout=PATIENCE)
        self.assertEqual(batch.returncode, 75, output)
        self.assertGreater(time.monotonic() - begun, 4)
        self.assertFalse(os.path.exists(self.path("asked")), output)
        self.assertIn("ask for more", output)

    def test_the_end_of_the_allocation_comes_from_squeue(self):
        write_program(self.path("squeue"), "echo 2030-01-01T00:00:00\n")
        program = write_program(self.path("program"), f"""
            [ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
            echo "$RETORT_END_TIME" >{self.path('end')}
            echo 0 >"$RETORT_EXIT_CODE_FILE"
            """)
        batch = self.sbatch(program, SLURM_JOB_ID="7", PATH=self.folder + ":" + os.environ["PATH"], TZ="UTC")
        output, _ = batch.communicate(timeout=PATIENCE)
        self.assertEqual(batch.returncode, 0, output)
        self.assertEqual(self.read("end"), "1893456000\n")


class PbsScriptTest(Scratch):
    """PBS itself could not be had: qstat and qsub are stand-ins."""

    VARIABLES = {"SWEEP": "a, b.toml", "RETORT_ARGUMENTS": "--quiet sweep.seeds=[0,1]", "RETORT_LEAST_SECONDS": "0",
                 "RETORT_GRACE_SECONDS": "3"}

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("work"))
        os.symlink(os.path.join(ROOT, "cluster"), self.path("work/cluster"))
        write_program(self.path("qstat"), """printf 'Job Id: 9.host\\n    Job_Name = mine\\n    queue = gpu\\n'
            printf '    Resource_List.ncpus = 4\\n    Resource_List.select = 2:ncpus=2:mpi\\n\\tprocs=1\\n'
            printf '    Resource_List.walltime = 01:02:03\\n    project = _pbs_project_default\\n'
            """)
        write_program(self.path("qsub"), f"printf '%s\\n' \"$@\" >>{self.path('asked')}\n")
        with open(self.path("nodes"), "w", encoding="utf-8") as nodes:
            nodes.write("localhost\nlocalhost\n")
        # Like retort, it outlives the signals that mpirun passes on. It is seen once its code is written: mpirun kills
        # at once what it started when it is terminated itself.
        self.program = write_program(self.path("program"), f"""
            trap '' USR1 TERM
            [ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
            echo 75 >"$RETORT_EXIT_CODE_FILE"
            printf '%s\\n' "$RETORT_END_TIME" "$OMPI_COMM_WORLD_SIZE" "$@" >{self.path('part')}
            mv {self.path('part')} {self.path('seen')}
            """)

    def job(self, **changes):
        return self.start("bash", os.path.join(LAUNCH, "pbs.sh"), **{
            "RETORT": self.program, "PBS_JOBID": "9.host", "PBS_NODEFILE": self.path("nodes"),
            "PATH": self.folder + ":" + os.environ["PATH"], "PBS_O_WORKDIR": self.path("work"), **changes})

    def signalled(self, job, number):
        """The output of a job that got this signal once its program had been started."""
        while not os.path.exists(self.path("seen")):
            time.sleep(0.05)
        job.send_signal(number)
        output, _ = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 75, output)
        return output

    def test_the_walltime_is_passed_on_and_jobs_resubmit(self):
        begun = int(time.time())
        output = self.signalled(self.job(**self.VARIABLES), signal.SIGUSR1)
        end, *rest = self.read("seen").splitlines()
        self.assertLess(abs(int(end) - begun - 3723), 30)
        expected = ["2", "run", "a, b.toml", "--quiet", "sweep.seeds=[0,1]"]
        self.assertEqual(rest, expected)
        asked = self.read("asked").splitlines()
        self.assertEqual(asked[:-1], ["-q", "gpu", "-N", "mine", "-l", "walltime=01:02:03", "-l",
                                      "select=2:ncpus=2:mpiprocs=1", "-W", "depend=afterany:9.host", "-v", asked[-2]], output)
        self.assertRegex(asked[-2], r"^RETORT_PBS_VARIABLES=\.retort-pbs-9\.host\.[A-Za-z0-9]{6}$", "nobody can guess it")
        # The next job knows nothing else than that: it does the same, and hands over the same.
        os.remove(self.path("seen"))
        name, value = asked[-2].split("=")
        with open(self.path("work/" + value), encoding="utf-8") as file:
            handed_over = file.read()
        self.signalled(self.job(PBS_JOBID="10.host", **{name: value}), signal.SIGUSR1)
        self.assertEqual(self.read("seen").splitlines()[1:], expected)
        with open(self.path("work/" + value), encoding="utf-8") as file:
            self.assertEqual(file.read(), handed_over)
        for variable in self.VARIABLES:
            self.assertIn(f"export {variable}=", handed_over)
        self.assertNotIn("RETORT_END_TIME", handed_over)

    def test_a_complete_sweep_leaves_no_file_of_variables(self):
        with open(self.path("work/variables"), "w", encoding="utf-8") as file:
            file.write("export SWEEP=s.toml\n")
        program = write_program(self.path("program"), 'echo 0 >"$RETORT_EXIT_CODE_FILE"\n')
        job = self.job(RETORT=program, RETORT_PBS_VARIABLES="variables")
        output, _ = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 0, output)
        self.assertFalse(os.path.exists(self.path("work/variables")))

    def test_a_deleted_job_does_not_come_back(self):
        output = self.signalled(self.job(**self.VARIABLES), signal.SIGTERM)
        self.assertFalse(os.path.exists(self.path("asked")), output)

    def test_a_job_whose_tries_stop_is_not_submitted_again(self):
        job = self.job(**self.VARIABLES | {"RETORT_LEAST_SECONDS": "30", "RETORT_QUICK_TRIES": "2"})
        output, _ = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 75, output)
        self.assertFalse(os.path.exists(self.path("asked")), output)
        self.assertIn("ask for more", output)

    def test_a_walltime_that_nobody_knows_is_said(self):
        program = write_program(self.path("program"), 'echo 0 >"$RETORT_EXIT_CODE_FILE"\n')
        batch = self.start("bash", os.path.join(LAUNCH, "pbs.sh"), SWEEP="s.toml", RETORT=program)
        output, _ = batch.communicate(timeout=PATIENCE)
        self.assertEqual(batch.returncode, 0, output)
        self.assertIn("RETORT_WALLTIME_SECONDS", output)


class ScriptsTest(unittest.TestCase):
    """What bash 5.2 does in about one of a hundred ends that a signal meets, too seldom to be seen here each time."""

    def lines(self):
        for name in ("mpirun.sh", "pbs.sh", "slurm.sbatch", "until-complete.sh"):
            with open(os.path.join(LAUNCH, name), encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    yield f"{name}:{number}", line.split("#")[0]

    def test_no_script_waits_for_the_first_child_to_end(self):
        """wait -n, met by a trap as the child ends, leaves -1 for its code, now and later."""
        self.assertEqual([place for place, code in self.lines() if "wait -n" in code], [])

    def test_the_loop_substitutes_no_command_in_signals(self):
        """A trap that runs while bash parses $(...) is lost, or ends the script."""
        inside, found = False, []
        for place, code in self.lines():
            if not place.startswith("until-complete.sh"):
                continue
            inside = inside or code.startswith("trap ")
            if inside and re.search(r"\$\((?!\()", code):
                found.append(place)
        self.assertEqual(found, [])


class RecipeTest(unittest.TestCase):
    """Container and cluster recipes, as far as they can be checked without a container engine."""

    def test_every_file_they_name_is_there(self):
        for name in ("kubernetes.yaml", "Dockerfile", "apptainer.def", "slurm.sbatch", "pbs.sh", "until-complete.sh"):
            with open(os.path.join(LAUNCH, name), encoding="utf-8") as file:
                text = file.read()
            for path in re.findall(r"(?<![\w./])(?:/opt/retort/)?((?:cluster|experiments)/[\w./-]+\w)", text):
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)), f"{name}: {path}")

    def test_the_job_counts_no_saved_stop_as_a_failure(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        with open(os.path.join(LAUNCH, "kubernetes.yaml"), encoding="utf-8") as file:
            job = next(d for d in yaml.safe_load_all(file) if d["kind"] == "Job")["spec"]
        pod = job["template"]["spec"]
        actions = {tuple(r["onExitCodes"]["values"]): r["action"]
                   for r in job["podFailurePolicy"]["rules"] if "onExitCodes" in r}
        self.assertEqual(actions, {(1, 2, 3): "FailJob", (75,): "Ignore"})
        self.assertEqual(pod["restartPolicy"], "Never")    # or the policy above is refused
        self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], 25 + 15)


if __name__ == "__main__":
    sys.exit(0 if all_tests_pass(at_once=6) else 1)
