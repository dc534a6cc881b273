#!/usr/bin/env python3
"""A scrape of 10,000 series over loopback, Retort's endpoint beside Python's prometheus_client, by turns in one run; and
the part of this machine's cores that one such scrape a second takes, gathering the values included.

Aims: 10 times as fast; 0.5 % of the cores. Exits 1 when an aim is missed, 77 without the peer.
"""
import argparse
import http.client
import os
import subprocess
import sys
import time

PEER = """
import sys, time
try:
    from prometheus_client import Gauge, start_http_server
except ImportError:
    sys.exit(77)
gauge = Gauge("retort_seat_deadline_seconds", "After how long.", ["rank", "slot"])
for i in range(int(sys.argv[1])):
    gauge.labels(str(i // 100), str(i % 100)).set(120.5 + i)
server, _ = start_http_server(0, "127.0.0.1")
print(server.server_port, flush=True)
time.sleep(600)
"""


PAUSE_FACTOR = 1000  # Publication::kMetricsPauseFactor: a page is gathered at most this rarely, in times of what that takes


def share_of_cores(collect_ms, first_ms, again_ms):
    """Of a sweep that is scraped once a second: a new page each pause, and the same page for the scrapes between."""
    pause = min(10.0, max(1.0, PAUSE_FACTOR * collect_ms / 1e3))
    seconds = (collect_ms + first_ms - again_ms) / 1e3 / pause + again_ms / 1e3
    return seconds / len(os.sched_getaffinity(0))


def peer_best_ms(port, scrapes):
    best = float("inf")
    for _ in range(scrapes):
        start = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/metrics")
        connection.getresponse().read()
        connection.close()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--series", type=int, default=10000)
    arguments = parser.parse_args()
    if not os.path.exists(arguments.python):
        print("scrape_ratio: no Python for the peer: bash cluster/setup.sh --bench")
        return 77
    with subprocess.Popen([arguments.python, "-c", PEER, str(arguments.series)], stdout=subprocess.PIPE,
                          text=True) as peer:
        said = peer.stdout.readline()
        if not said:
            print("scrape_ratio: the peer needs prometheus_client: bash cluster/setup.sh --bench")
            return 77
        own, shares, other = [], [], []
        for _ in range(5):
            printed = subprocess.run([arguments.bench, str(arguments.series), "40"], check=True, text=True,
                                     capture_output=True).stdout
            best, *cpu, _ = map(float, printed.split())
            own.append(best)
            shares.append(share_of_cores(*cpu))
            other.append(peer_best_ms(int(said), 10))
        peer.kill()
    ratio = min(other) / min(own)
    share = sorted(shares)[2]
    print(f"scrape of {arguments.series} series: {min(own):.2f} ms, prometheus_client {min(other):.1f} ms: "
          f"{ratio:.0f} times as fast (aim 10); once a second takes {100 * share:.3f} % of the cores (aim 0.5)")
    return 0 if ratio >= 10 and share <= 5e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
