#!/usr/bin/env python3
"""Real faults of the places where trials run make the shipped alerts fire, and their end makes them silent: devices that
nothing fits, ranks that are stopped, a slot where everything crashes, disks that fill up."""
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import need
from fault_case import DISK_BYTES, SLEEPS, FaultCase
from own_mounts import SmallDisk, enter_own_mounts
from sweep_run import all_tests_pass, mpi_ranks, parse_options, wait_for

RANKS = 3


class PlacesFaults(FaultCase):
    sweeps = ("pairs", "ranks", "slot", "full", "quota")

    def test_devices_that_nothing_queued_fits(self):
        text = SLEEPS.format(name="pairs", seconds="[12, 12.5]").replace("[sweep]", "devices = 2\n[sweep]")
        run = self.run_sweep("pairs", text, slots=3)
        self.fires("RetortDevicesIdle", "pairs")
        self.clears("RetortDevicesIdle", "pairs")
        [idle] = self.server.values('retort_devices{sweep="pairs", state="idle"}')
        self.assertEqual(idle["value"][1], "1", "it went silent because the queue is empty")
        self.end_sweep(run)

    def test_a_rank_that_is_stopped_and_comes_back(self):
        if shutil.which("mpirun") is None:
            self.skipTest("there is no mpirun here (apt-get install openmpi-bin)")
        launch = [os.path.join(self.options.source, "cluster/launch/mpirun.sh"), "-np", str(RANKS)]
        run = self.run_sweep("ranks", SLEEPS.format(name="ranks", seconds="[200, 201]"), slots=1, launch=launch)
        wait_for(lambda: self.server.values(f'retort_agents{{sweep="ranks"}} == {RANKS}'), "every rank")
        self.is_silent("RetortAgentLost", "ranks")
        stopped = mpi_ranks(self.sweep_file("ranks"))[2]
        os.kill(stopped, signal.SIGSTOP)
        self.fires("RetortAgentLost", "ranks")
        os.kill(stopped, signal.SIGCONT)
        self.clears("RetortAgentLost", "ranks")
        self.end_sweep(run)

    def test_a_slot_where_different_trials_crash(self):
        run = self.run_sweep("slot", SLEEPS.format(name="slot", seconds="[200, 201, 202, 203]"))
        good, _ = wait_for(lambda: len(found := self.workers(run)) == 2 and sorted(found), "two workers")
        self.is_silent("RetortSlotDrained", "slot")

        def crash():
            for pid in set(self.workers(run)) - {good}:
                os.kill(pid, signal.SIGSEGV)
        self.fires("RetortSlotDrained", "slot", crash)
        self.assertEqual(self.workers(run), [good])
        self.end_sweep(run)
        self.clears("RetortSlotDrained", "slot")

    def test_a_disk_that_fills_up(self):
        disk = SmallDisk(os.path.join(self.folder, "full"), "64m")
        try:
            run = self.run_sweep("full", SLEEPS.format(name="full", seconds="[200]"))
            self.is_silent("RetortDiskNearlyFull", "full")
            disk.fill(left=DISK_BYTES // 2)
            self.fires("RetortDiskNearlyFull", "full")
            disk.make_room()
            self.clears("RetortDiskNearlyFull", "full")
            self.end_sweep(run)
        finally:
            disk.end()

    def test_a_disk_with_room_that_takes_no_more_files(self):
        disk = SmallDisk(os.path.join(self.folder, "quota"), "64m,nr_inodes=400")
        try:
            run = self.run_sweep("quota", SLEEPS.format(name="quota", seconds="[200, 5, 6, 7]"))
            self.is_silent("RetortDiskNearlyFull", "quota")
            disk.take_all_files()
            self.fires("RetortDiskNearlyFull", "quota")
            self.assertGreater(disk.free(), 2 * DISK_BYTES)
            disk.give_files_back()
            self.clears("RetortDiskNearlyFull", "quota")
            self.end_sweep(run)
        finally:
            disk.end()


if __name__ == "__main__":
    PlacesFaults.options = parse_options("retort", "source")
    need("prometheus")
    need("unshare")
    enter_own_mounts()
    sys.exit(0 if all_tests_pass(at_once=6) else 1)
