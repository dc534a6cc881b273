#!/usr/bin/env bash
# Makes the sweep files in the working folder so small that the commands of a page take seconds, and runs those that the
# commands expect to have been run. For run_docs.py, whose working folder is a copy of the tree.
set -euo pipefail
rm -rf results
cp -RL experiments small
rm experiments
mv small experiments
sed -i -E -e 's/(^|[ _])steps( *)= [0-9]+/\1steps\2= 2/g' -e 's/epochs = [0-9]+/epochs = 1/' -e 's/members = [0-9]+/members = 10/' \
  -e 's/ batch = [0-9]+/ batch = 64/g' -e 's/queries = [0-9]+/queries = 20/' -e 's/replay = [0-9]+/replay = 2/' \
  -e 's/^student = "datalens"/student = "logistic"/' -e 's/8000\]/800]/; s/9000\]/8100]/; s/10000\]/9200]/' experiments/configs/quickstart.toml
retort run experiments/configs/digits/methods.toml --profile smoke 'sweep.quota={ trials = 1 }' || test $? = 1
sed /^quota/d results/digits-methods-smoke/sweep.toml >experiments/configs/digits/methods.toml
retort run experiments/configs/quickstart.toml
