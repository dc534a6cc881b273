#!/usr/bin/env python3
"""The compiler refuses every way in which code outside the release room could see a teacher's answer or mint the right to
draw noise; the same program without these lines compiles.

usage: sealed_test.py --root DIR --compiler COMMAND [--flag FLAG]...
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

HEAD = """#include <utility>
#include "worker/release/answers.h"
#include "worker/release/charge.h"
#include "worker/release/class_embedding.h"
#include "worker/release/dpsgd_step.h"
#include "worker/release/label_response.h"
#include "worker/release/noisy_votes.h"
#include "worker/release/validation_count.h"
using namespace retort;
using namespace retort::worker;
using namespace retort::worker::release;
class Outsider : public TeacherModel {
 public:
  std::int64_t classes() const override { return 2; }
 protected:
  at::Tensor Logits(const at::Tensor& x) override { return x; }
};
std::int64_t Use(TeacherModel& teacher, Answers& answers, ClippedSum& sum, Charge& charge, ChargeBook& book,
                 Mechanism& mechanism, noise::NoiseKey& key, EmbeddingSum& embedding, PrivateLabels& labels,
                 ValidationCount& right) {
  privacy::PrivacyEvent event = mechanism.Describe(answers.rows());
"""
TAIL = "  return answers.step() + charge.count() + book.drawn();\n}\n"
ALLOWED = [
    "auto asked = Oracle::Ask(teacher, Query{});",
    "auto taken = book.Take(event, 1);",
    "auto released = mechanism.Release(answers, std::move(charge));",
    "sum.Add(at::Tensor());",
    "embedding.Add(at::Tensor(), at::Tensor());",
    "auto count = labels.size();",
    "right.Add(at::Tensor(), at::Tensor());",
]
# Each line, and what the compiler says about it.
REFUSED = [
    ("auto a = answers.logits_;", "private"),
    ("auto b = answers.votes_;", "private"),
    ("auto c = answers.query_;", "private"),
    ("Answers d;", "private"),
    ("Answers e = answers;", "deleted"),
    ("auto f = teacher.Logits(at::Tensor());", "protected"),
    ("auto g = teacher.MemberLogits(at::Tensor());", "protected"),
    ("auto u = teacher.Hint(at::Tensor());", "protected"),
    ("auto r = teacher.ForwardWithInternals(at::Tensor());", "protected"),
    ("auto h = Outsider().Logits(at::Tensor());", "protected"),
    ("auto i = &TeacherModel::Logits;", "protected"),
    ("auto j = sum.sum_;", "private"),
    ("auto r = embedding.sum_;", "private"),
    ("auto s = labels.labels_;", "private"),
    ("auto v = right.right_;", "private"),
    ("ValidationCount w = right;", "deleted"),
    ("PrivateLabels t = labels;", "deleted"),
    ("Charge k(event, 1);", "private"),
    ("Charge l = charge;", "deleted"),
    ("charge.count_ = 5;", "private"),
    ("Charge m;", "no matching function"),
    ("noise::NoiseKey n;", "private"),
    ("noise::NoiseKey o = key;", "deleted"),
    ("auto p = mechanism.Release(answers, charge);", "cannot bind rvalue"),
    ("ChargeBook q = book; q.open_.clear();", "private"),
]


def compile_lines(lines, options, scratch):
    path = os.path.join(scratch, "sealed.cc")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(HEAD + "".join(f"  {line}\n" for line in lines) + TAIL)
    command = shlex.split(options.compiler) + ["-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never", "-I", options.root,
                                               *options.flag, path]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    errors = {}
    for number, text in re.findall(r"sealed\.cc:(\d+):\d+: error: (.*)", run.stderr):
        errors.setdefault(int(number) - HEAD.count("\n"), []).append(text)
    return run, errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flag", action="append", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run, _ = compile_lines(ALLOWED, options, scratch)
        if run.returncode != 0:
            print("what is allowed does not compile:\n" + run.stderr[:4000])
            return 1
        _, errors = compile_lines([line for line, _ in REFUSED], options, scratch)
    bad = 0
    for number, (line, expected) in enumerate(REFUSED, 1):
        said = errors.get(number, [])
        if not any(expected in text for text in said):
            bad += 1
            print(f"not refused as {expected!r}: {line}   ({'; '.join(said) or 'it compiles'})")
    print(f"{len(REFUSED) - bad} of {len(REFUSED)} refused")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
