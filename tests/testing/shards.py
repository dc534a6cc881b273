"""Runs a GoogleTest program in so many parts at the same time, for tests that mostly wait.

usage: shards.py N PROGRAM [ARGUMENT...]
"""
import os
import subprocess
import sys
import tempfile


def start(part, parts, command):
    output = tempfile.TemporaryFile()
    shard = {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(part)}
    return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **shard}), output


def main():
    parts, command = int(sys.argv[1]), sys.argv[2:]
    running = [start(part, parts, command) for part in range(parts)]
    codes = []
    for process, output in running:
        codes.append(process.wait())
        output.seek(0)
        sys.stdout.write(output.read().decode(errors="replace"))
    return next((code for code in codes if code != 0), 0)


if __name__ == "__main__":
    sys.exit(main())
