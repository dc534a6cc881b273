"""Milliseconds of wall clock a task that does nothing costs under Dask: one scheduler, two worker processes.

usage: dask_tasks.py TASKS
"""
import json
import sys
import time

from distributed import Client, LocalCluster


def nothing(index):
    return index


def main():
    tasks = int(sys.argv[1])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.gather(client.map(nothing, range(500), pure=False))  # warm
        begun = time.perf_counter()
        client.gather(client.map(nothing, range(tasks), pure=False))
        taken = time.perf_counter() - begun
    print(json.dumps({"tasks": tasks, "ms_a_task": 1e3 * taken / tasks}))


if __name__ == "__main__":
    main()
