#!/usr/bin/env bash
# A small sweep survives a few kills, and says so.
#   chaos_test.sh RETORT SOURCE_DIR
set -u
retort="$1"
source_dir="$2"
. "$(dirname "$0")/expect.sh"
cd "$scratch" || exit 1

digits_sweep small.toml "0, 256" "" "256, 512" <<'TOML'
[teacher]
single = { network = "logistic", epochs = 1 }

[trial]
student = "logistic"
noise = "seeded"
threads = 1
batch = 16
steps = 12
student_steps = 2
generator_width = 8
latent = 16
checkpoint_every = "50ms"
reserve_block = 2

[sweep]
name = "small"
zip.row = [
  { method = "dpdfd", reading = "working", teacher = "single" },
  { method = "dpsgd", noise_multiplier = 1, norm_bound = 0.1, lr = 1 },
  { method = "sleep", seconds = 0.4, steps = 4 },
]
TOML

case_name="survives"
run timeout 100 "$retort" chaos small.toml --kills 10 --seed 2 --slots 2 --every 300ms
expect_code 0
expect_out "0 trials lost"
expect_out "verdict: survived"
expect_file results/small-chaos/undisturbed/results.h5
expect_file results/small-chaos/round-1/results.h5

case_name="the report is kept"
run cat results/small-chaos/chaos.json
expect_out '"ok": true'
expect_out '"kills": 10'

case_name="a worker that is stopped past its deadline is replaced"
cat >nap.toml <<'TOML'
retort = 1
[trial]
method = "sleep"
seconds = 6
steps = 60
deadline = "1s"
[sweep]
name = "nap"
seeds = [0]
TOML
run timeout 100 "$retort" chaos nap.toml --kills 1 --seed 68 --every 2s
expect_code 0
[[ "$out" =~ worker\ stopped\ past\ its\ deadline\ +1 ]] || complain "no worker was stopped for so long"
expect_out "verdict: survived"
grep -qa "no step progress for 1 s (deadline)" results/nap-chaos/round-1/journal.log || complain "the hang was not noticed"

case_name="a trial that fails for good by itself is not survived, though a retry succeeds"
cat >worker.sh <<SH
#!/usr/bin/env bash
# Its first three starts in a disturbed folder break; no disturbance does that.
for n in 1 2 3; do
  if [ -d "$scratch/results/broken/round-1" ] && mkdir "$scratch/broken-\$n" 2>/dev/null; then exit 9; fi
done
exec "$(dirname "$retort")/retort-sleeper" "\$@"
SH
chmod +x worker.sh
cat >one.toml <<'TOML'
retort = 1
[trial]
method = "sleep"
seconds = 3
steps = 30
[sweep]
name = "one"
seeds = [0]
TOML
run env RETORT_WORKER="$scratch/worker.sh" timeout 100 "$retort" chaos one.toml --kills 1 --seed 1 --every 5s --results results/broken
expect_code 1
expect_out "0 trials lost"
expect_out "NOT BY A DISTURBANCE: sleep"
expect_out "spawn"
expect_out "verdict: NOT SURVIVED"

case_name="noise that cannot be drawn again cannot be compared"
run "$retort" chaos small.toml trial.noise=secure
expect_code 2
expect_err "trial.noise=seeded"

case_name="a folder of something else stays"
mkdir -p results/mine
touch results/mine/precious
run "$retort" chaos small.toml --results results/mine
expect_code 2
expect_err "holds something else"
expect_file results/mine/precious

finish
