#!/usr/bin/env python3
"""Breaks each rule of check_rules.py once, in a scratch tree, and sees it fail; an unbroken tree passes."""
import os
import subprocess
import sys
import tempfile
import unittest

from check_rules import MUTANTS

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = sys.argv.pop() if len(sys.argv) > 1 and os.path.exists(sys.argv[-1]) else ""

MUTANT_ROWS = "".join(f"| {i} | m | how | `Suite.Test` | `tests/m_test.cc` |\n" for i in range(1, MUTANTS + 1))
MUTANT_TEST = "TEST(Suite, Test) {\n  EXPECT_EQ(1, 1);\n}\n"

SIZES = {"cluster": (1, 1), "experiments": (1, 2), "storage": (7, 20), "worker": (2, 23)}
PICTURE = "".join(f"┌──┐\n│ {room}  │\n│ [{count}, {lines}] of it │\n└──┘\n" for room, (count, lines) in SIZES.items())

GOOD = {
    "storage/behind.h": "#pragma once\n",
    "storage/behind.cc": '#include <vector>\n#include "storage/behind.h"\n',
    "experiments/base/ids.h": "#pragma once\nstruct Id { int value; };\n",
    "storage/log.h": '#pragma once\n#include "experiments/base/ids.h"\nId First();\n',
    "storage/key.h": "#pragma once\nnamespace retort {\nusing Key = int;\n}  // namespace retort\n",
    "storage/bits.cc": "namespace {\nusing Bits = int;\nconstexpr int kSide = 1;\n}  // namespace\n",
    "storage/bytes.cc": "namespace {\nusing Bits = int;\n}  // namespace\n",
    "storage/once.cc": "namespace {\nint Twice(int b) { return b; }\n}  // namespace\n",
    "worker/release/answers.h": """#pragma once
class Answers {
 public:
  int rows() const;

 private:
  friend class Oracle;
  friend class NoisyVotes;
  int logits_;
};
class TeacherModel {
 protected:
  friend class Oracle;
  virtual int Logits(int inputs) = 0;
};
""",
    "worker/methods/network_teacher.cc": """class SingleTeacher final : public release::TeacherModel {
 public:
  int classes() const override { return 1; }

 protected:
  at::Tensor Logits(const at::Tensor& inputs) override { return network_->Forward(inputs).logits; }
};
auto status = network->FromBlobs(artifact.parameters);
""",
    "README.md": "See `experiments/base/ids.h`.\n",
    "CONTRIBUTING.md": PICTURE,
    "tests/unit/CMakeLists.txt": "retort_add_test(all_test LIBS x)\ntarget_sources(all_test PRIVATE\n  one_test.cc two_test.cc)\n"
                                 "retort_add_test(other_test SOURCES other_test.cc)\n",
    "tests/unit/made.h": "#pragma once\nint Make(int a);\n",
    "tests/unit/one_test.cc": '#include "tests/unit/made.h"\nnamespace {\nint Twice(int b) { return b; }\n}  // namespace\n',
    "tests/unit/two_test.cc": "namespace {\nint Thrice(int b) { return b; }\n}  // namespace\n",
    "tests/unit/other_test.cc": "namespace {\nint Twice(int b) { return b; }\nint Make() { return 1; }\n}  // namespace\n",
    ".clang-format": "DisableFormat: true\n",
    **{f"{room}/README.md": "# A room\n" for room in ("cluster", "experiments/base", "storage", "worker/methods", "worker/release")},
    "cluster/ENVIRONMENT.md": "| `RETORT_END` | it | `RETORT_TEXT` of a meaning |\n| `RETORT_QUICK`, `HOME` | a script | x |\n",
    "cluster/end.cc": 'auto end = Find("RETORT_END"), id = First();\n',
    "tests/MUTANTS.md": MUTANT_ROWS,
    "tests/m_test.cc": MUTANT_TEST,
    "tests/CMakeLists.txt": "SOURCES m_test.cc\n",
    "cluster/launch/loop.sh": "tries=${RETORT_QUICK:-5}\ncd $HOME\n",
}

BROKEN = [
    ("includes", "storage/bad.h", '#include "orchestrator/core/core.h"\n', "storage may not include orchestrator"),
    ("includes", "storage/bad.h", "#include <torch/torch.h>\n", "confined"),
    ("includes", "orchestrator/bad.cc", "#include <mpi.h>\n", "confined"),
    ("includes", "orchestrator/bad.cc", "#include <hdf5.h>\n", "confined"),
    ("includes", "orchestrator/core/bad.cc", '#include "orchestrator/process/system_clock.h"\n', "may not include orchestrator/process"),
    ("includes", "orchestrator/results/bad.cc", '#include "orchestrator/results/tables/published.h"\n',
     "may not include orchestrator/results/tables"),
    ("includes", "worker/bad.cc", '#include "orchestrator/core/core.h"\n', "worker may not include orchestrator"),
    ("includes", "worker/bad.cc", "#include <cuda_runtime.h>\n", "confined"),
    ("answers", "worker/release/answers.h", "class Answers {\n  friend class DataFreeDistillation;\n};\n",
     "DataFreeDistillation may not be a friend of Answers"),
    ("answers", "worker/release/answers.h", "class TeacherModel {\n  friend class GaussianGradient;\n};\n",
     "GaussianGradient may not be a friend of TeacherModel"),
    ("answers", "worker/release/step.h", "class ClippedSum {\n  int sum_;\n  friend at::Tensor Read(const ClippedSum&);\n};\n",
     "may not be a friend of ClippedSum"),
    ("answers", "worker/release/charge.h", "class Charge {\n  friend class Mechanism;\n};\n",
     "Mechanism may not be a friend of Charge"),
    ("answers", "worker/methods/bad.cc", "auto soft = teacher_->Logits(images);\n", "only worker/release/ may ask"),
    ("answers", "worker/training/evaluation.cc", "auto all = model.MemberLogits(images);\n", "only worker/release/ may ask"),
    ("answers", "worker/methods/bad.cc", "auto hint = teacher_->Hint(images);\n", "only worker/release/ may ask"),
    ("answers", "worker/methods/bad.cc", "auto ask = &release::TeacherModel::Logits;\n", "only worker/release/ may ask"),
    ("answers", "worker/methods/bad.cc", "auto raw = teacher_->ForwardWithInternals(images);\n", "only worker/release/ may ask"),
    ("answers", "worker/methods/network_teacher.cc",
     "class Open : public release::TeacherModel {\n public:\n  release::TeacherInternals ForwardWithInternals(const at::Tensor& x) override;\n};\n",
     "Open answers in public"),
    ("answers", "worker/methods/bad.cc",
     "class Open : public release::TeacherModel {\n at::Tensor Logits(const at::Tensor& x) override;\n};\n", "makes teachers"),
    ("answers", "worker/methods/network_teacher.cc",
     "class Open : public release::TeacherModel {\n public:\n  at::Tensor Logits(const at::Tensor& x) override;\n};\n",
     "Open answers in public"),
    ("answers", "worker/methods/network_teacher.cc",
     "class Open : public SingleTeacher {\n public:\n  using release::TeacherModel::Logits;\n};\n", "opens what TeacherModel"),
    ("answers", "worker/methods/bad.cc", "network->FromBlobs(inputs.teacher->parameters);\n", "parameters are for"),
    ("answers", "worker/methods/bad.cc", "#define private public\n", "access may not be redefined"),
    ("answers", "worker/release/labels.h", "class PrivateLabels {\n  friend class Alibi;\n};\n",
     "Alibi may not be a friend of PrivateLabels"),
    ("answers", "worker/release/embedding.h", "class EmbeddingSum {\n  friend class MeanEmbedding;\n};\n",
     "MeanEmbedding may not be a friend of EmbeddingSum"),
    ("answers", "worker/methods/label_bad.cc", "auto truth = inputs.data.train.labels;\n", "from SealLabels alone"),
    ("answers", "worker/methods/label_bad.cc", "const Examples& all = inputs.data.train;\n", "from SealLabels alone"),
    ("includes", "storage/bad.h", '#include "tests/testing/fake.h"\n', "may not include tests"),
    ("headers", "storage/bad.h", "#pragma once\nId Second();\n", "does not compile alone"),
    ("headers", "storage/behind.h", "#pragma once\nstd::vector<int> Made();\n", "does not compile alone"),
    ("writers", "worker/bad.cc", 'std::ofstream out("costs.json");\n', "made by storage alone"),
    ("writers", "orchestrator/bad.cc", "const int fd = ::open(path, O_WRONLY | O_CREAT, 0644);\n", "made by storage alone"),
    ("writers", "orchestrator/cli/bad.cc", "return call.env.WriteFileAtomically(line.out, bytes);\n", "through WriteOutput"),
    ("sizes", "storage/bad.cc", "// line\n" * 801, "801 lines"),
    ("rooms", "worker/run/loop.cc", "int Loop();\n", "a room says what lives in it"),
    ("rooms", "worker/release/README.md", "line\n" * 16, "at most 15 lines"),
    ("hiding", "storage/behind.cc", "namespace {\nId First() { return {}; }\n}  // namespace\n", "First hides that of storage/log.h"),
    ("hiding", "storage/twice.cc", "namespace {\nint Twice(int a) { return a; }\n}  // namespace\n", "Twice is in storage/once.cc, too"),
    ("hiding", "storage/id.cc", "namespace retort {\nnamespace {\nint Key(int a) { return a; }\n}  // namespace\n", "Key is in storage/key.h, too"),
    ("hiding", "tests/unit/two_test.cc", "namespace {\nint Twice(int a) { return a; }\n}  // namespace\n",
     "Twice is in tests/unit/one_test.cc, too"),
    ("hiding", "tests/unit/two_test.cc", "namespace {\nint Make() { return 1; }\n}  // namespace\n",
     "Make hides that of tests/unit/made.h"),
    ("hiding", "cluster/begin.cc", "namespace {\nId First() { return {}; }\n}  // namespace\n",
     "First hides that of storage/log.h from cluster/end.cc"),
    ("picture", "storage/more.cc", "// line\n" * 3, "storage has [8, 23], not [7, 20]"),
    ("picture", "CONTRIBUTING.md", PICTURE.replace("[2, 23]", ""), "no figures of worker"),
    ("picture", "CONTRIBUTING.md", PICTURE.replace("[1, 2]", "[1, 1,002]"), "experiments has [1, 2], not [1, 1,002]"),
    ("hiding", "storage/later.cc", "namespace {\nusing Bits = long;\n}  // namespace\n", "Bits is in storage/bits.cc, too"),
    ("hiding", "storage/later.cc", "namespace retort {\nnamespace {\nusing Key = int;\n}  // namespace\n", "Key is in storage/key.h, too"),
    ("format", ".clang-format", "BasedOnStyle: Google\n", "lays this out otherwise"),
    ("rooms", "storage/README.md", "# A room\nStart at `gone.h`.\n", "there is no gone.h"),
    ("names", "storage/bad.h", "class LogManager {};\n", "Manager"),
    ("names", "storage/bad.h", "std::string NameOf(const Id& id);\n", "NameOf: a function begins with a verb"),
    ("names", "storage/bad.cc", 'auto* p = std::getenv("HOME");\n', "getenv"),
    ("names", "tests/long_test.py", f"class T:\n    def test_{'a' * 50}(self):\n", "a test has at most 50"),
    ("names", "tests/long_test.cc", f"TEST(Suite, {'A' * 51}) {{\n", "a test has at most 50"),
    ("readme", "README.md", "See `storage/absent.h`.\n", "does not exist"),
    ("readme", "README.md", "See [this](docs/absent.md).\n", "does not exist"),
    ("environment", "orchestrator/bad.cc", 'auto x = Find("RETORT_MORE");\n', "RETORT_MORE is read"),
    ("environment", "cluster/launch/more.sbatch", "sleep $RETORT_MORE\n", "RETORT_MORE is read"),
    ("environment", "tests/e2e/more.py", 'os.environ.get("RETORT_MORE")\n', "RETORT_MORE is read"),
    ("environment", "cluster/end.cc", "// RETORT_END was read here\n", "nothing reads RETORT_END"),
    ("environment", "cluster/launch/loop.sh", "tries=${RETORT_QUICK:-5}\n", "nothing reads HOME"),
    ("mutants", "tests/MUTANTS.md", MUTANT_ROWS.rsplit(f"| {MUTANTS}", 1)[0], f"not numbered 1 to {MUTANTS}"),
    ("mutants", "tests/MUTANTS.md", MUTANT_ROWS.replace("| 7 | m | how |", "| 7 | m |"), "not a row"),
    ("mutants", "tests/m_test.cc", MUTANT_TEST.replace("Test)", "DISABLED_Test)"), "has no test Suite.Test"),
    ("mutants", "tests/m_test.cc", MUTANT_TEST.replace("EXPECT_EQ(1, 1)", "GTEST_SKIP()"), "can be skipped"),
    ("mutants", "tests/CMakeLists.txt", "SOURCES other_test.cc\n", "is not built"),
    ("readme", "README.md", "Run `bash cluster/setup.sh --nonsense`.\n", "has no --nonsense"),
]
BROKEN_WITH_PROGRAM = [
    ("readme", "README.md", "Run `retort run x.toml --nonsense`.\n", "has no --nonsense"),
    ("readme", "README.md", "Run `retort frobnicate`.\n", "no command"),
]


def run(check, files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**GOOD, "cluster/setup.sh": "# --tests\n", **files}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                stream.write(text)
        command = [sys.executable, os.path.join(HERE, "check_rules.py"), check, "--root", root,
                   "--scratch", os.path.join(root, "scratch")]
        return subprocess.run(command + (["--retort", PROGRAM] if PROGRAM else []), capture_output=True, text=True)


class RulesFailWhenBroken(unittest.TestCase):
    def test_an_unbroken_tree_passes_every_check(self):
        for check in ("includes", "headers", "sizes", "rooms", "hiding", "picture", "format", "names", "readme", "environment", "answers", "writers", "mutants"):
            with self.subTest(check):
                outcome = run(check, {})
                self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)

    def test_each_broken_rule_is_reported(self):
        for check, path, text, expected in BROKEN + (BROKEN_WITH_PROGRAM if PROGRAM else []):
            with self.subTest(f"{check}: {expected}"):
                outcome = run(check, {path: text})
                self.assertEqual(outcome.returncode, 1, outcome.stdout + outcome.stderr)
                self.assertIn(expected, outcome.stdout)


if __name__ == "__main__":
    unittest.main()
