#include "orchestrator/cli/shell/help_text.h"

#include <CLI/CLI.hpp>
#include <array>
#include <string_view>

#include "experiments/privacy/calculator_rules.h"
#include "orchestrator/cli/render/text_table.h"

namespace retort::orchestrator::cli {

const std::vector<ExitCodeMeaning>& ListExitCodes() {
  static const std::vector<ExitCodeMeaning> codes = {
      {0, "done"},
      {1, "some trials failed, were left out by a quota, or leak more than is proven; or stored data are damaged"},
      {2, "usage or configuration"},
      {3, "environment: a file, the disk, the network, MPI or a library"},
      {75, "interrupted with state saved (run again)"},
      {130, "second Ctrl-C"}};
  return codes;
}

std::string FormatExitCodes(std::size_t width) {
  std::string text = "Exit codes:";
  for (const ExitCodeMeaning& one : ListExitCodes())
    text += (one.code == 0 ? " " : ", ") + std::to_string(one.code) + " " + std::string(one.meaning);
  return Wrap(text + ".", width, 0);
}

namespace {

struct Row {
  std::string_view path, line, what;
};

constexpr std::array kRows = {
    Row{"", "retort plan experiments/configs/quickstart.toml", "what would run, and what it would cost"},
    Row{"", "retort run experiments/configs/quickstart.toml", "run it; the same line again continues"},
    Row{"", "retort status", "how far it is, and the next command"},
    Row{"", "retort table experiments/configs/quickstart.toml", "the tables"},
    Row{"plan", "retort plan experiments/configs/quickstart.toml 'sweep.seeds=[0, 1]'",
        "with a key of the file overridden"},
    Row{"plan", "retort plan experiments/configs/dpsd/fig9.toml --profile smoke",
        "a figure's sweep, made tiny by its profile"},
    Row{"plan", "retort plan experiments/configs/quickstart.toml --diff", "only what the results folder lacks"},
    Row{"run", "retort run experiments/configs/quickstart.toml --slots 2", "two workers at once"},
    Row{"run", "retort run experiments/configs/quickstart.toml --time-limit 90m",
        "save and stop after that time (75); the same line continues"},
    Row{"run", "retort run experiments/configs/quickstart.toml --share",
        "others may read the results as your umask says"},
    Row{"run", "retort run experiments/configs/quickstart.toml 'sweep.seeds=[0, 1, 2]' --results results/three",
        "more seeds, in a folder of their own"},
    Row{"table", "retort table experiments/configs/quickstart.toml --format markdown --statements",
        "with the privacy of each row in a paragraph"},
    Row{"table", "retort table experiments/configs/digits/methods.toml --complete",
        "runs exactly the missing cells first"},
    Row{"compare", "retort compare experiments/configs/dpsd/fig9.toml",
        "each published value, measured, and whether they agree"},
    Row{"compare", "retort compare --all", "how many values of each paper agree with what is in results/"},
    Row{"plot", "retort plot experiments/configs/quickstart.toml --format svg --out figures", "into another folder"},
    Row{"report", "retort report --results results/quickstart --out quickstart.html", "to be opened in any browser"},
    Row{"serve", "retort serve results/quickstart", "prints the address to open; Ctrl-C ends it"},
    Row{"chaos", "retort chaos experiments/configs/chaos.toml --kills 200 --slots 2",
        "200 kills, then every row is compared with an undisturbed run"},
    Row{"status", "retort status --watch", "refreshed until the sweep ends"},
    Row{"status", "retort status --results results/quickstart --json", "one document for another program"},
    Row{"explain", "retort explain dpdfd-working-digits-s0", "why this trial waits, failed or costs what it costs"},
    Row{"list", "retort list --where method=dpdfd --where state=succeeded", "trials for which both hold"},
    Row{"list", "retort list --names", "names alone, a line each"},
    Row{"show", "retort show dpdfd-working-digits-s0", "row, claims, ledger and files of one trial"},
    Row{"retry", "retort retry teacher-single-digits-s0", "this trial, and the students that waited for it"},
    Row{"retry", "retort retry --failed", "all that failed, also while the sweep runs"},
    Row{"cancel", "retort cancel dpdfd-working-digits-s0", "never mind this one; when it runs, it is saved first"},
    Row{"archive", "retort archive --results results/quickstart --out quickstart.rows", "rows as one text file"},
    Row{"import", "retort import quickstart.rows --results results/imported", "a results folder of them"},
    Row{"bundle", "retort bundle results/quickstart --out quickstart.bundle.tar", "what a reviewer needs, as one file"},
    Row{"verify", "retort verify quickstart.bundle.tar", "a bundle: every member, and the claims against the ledger"},
    Row{"verify", "retort verify --results results/quickstart", "every digest, and the ledger against the rows"},
    Row{"repair", "retort repair --results results/quickstart", "only says what is wrong"},
    Row{"repair", "retort repair --results results/quickstart --apply", "puts it right"},
    Row{"audit", "retort audit dpdfd-working-digits-s0 --kind release-step --kind membership",
        "two attacks on one trial"},
    Row{"audit", "retort audit experiments/configs/quickstart.toml --kind all --shadows 8",
        "every attack on every finished trial"},
    Row{"audit", "retort audit experiments/configs/quickstart.toml --kind membership --shadows 8 --plan",
        "what LiRA and RMIA would take"},
    Row{"audit", "retort audit dpdfd-working-digits-s0 --kind inversion --attack gmi --attack fredrikson",
        "pictures of each class, sought with a GAN and without"},
    Row{"export", "retort export dpdfd-working-digits-s0 student --format torch --out student.pth",
        "a state dict for PyTorch"},
    Row{"export", "retort export dpdfd-working-digits-s0 student --format onnx --out student.onnx",
        "a model for ONNX Runtime"},
    Row{"export", "retort export dpdfd-working-digits-s0 student --format torchscript --out student.pt",
        "a program for torch.jit.load"},
    Row{"export", "retort export dpdfd-working-digits-s0 samples --format png --out samples.png",
        "the synthetic pictures"},
    Row{"export", "retort export dpdfd-working-digits-s0 generator --format safetensors --out generator.safetensors",
        "what makes them"},
    Row{"export", "retort export all curves --format tensorboard --out board",
        "curves, metrics, settings and claims; then tensorboard --logdir board"},
    Row{"sample", "retort sample dpdfd-working-digits-s0 --count 60000 --format idx --out made",
        "labelled pictures in the format of MNIST"},
    Row{"sample", "retort sample dpdfd-working-digits-s0 --count 60000 --format webdataset --evaluate --out made",
        "and what a classifier learns from them"},
    Row{"model", "retort model check resnet34 --weights resnet34-b627a593.pth", "do these weights fit?"},
    Row{"model check", "retort model check resnet34 --weights resnet34-b627a593.pth", "do these weights fit?"},
    Row{"model check",
        "retort model check resnet34 --weights resnet34-b627a593.pth --input images.npy --logits-out logits.npy",
        "and what the network says of these images"},
    Row{"data", "retort data check cifar10 ~/data/cifar-10-python.tar.gz", "what is there, and is it as published?"},
    Row{"data", "retort data clients cifar10 ~/data/cifar-10-python.tar.gz --clients 5 --out clients",
        "a list of examples for each of five clients"},
    Row{"data check", "retort data check cifar10 ~/data/cifar-10-python.tar.gz", "read in place"},
    Row{"data check", "retort data check celeba ~/data/celeba target=hair",
        "with the key that says what is to be learnt"},
    Row{"data clients",
        "retort data clients cifar10 ~/data/cifar-10-python.tar.gz --part train --clients 5 --dirichlet 0.5 --out "
        "clients",
        "few classes each"},
    Row{"epsilon", "retort epsilon votes --noise 100 --queries 5000 --delta 1e-5 --explain",
        "and the theorem of each claim"},
    Row{"epsilon",
        "retort epsilon select --base subsampled-gaussian --noise-multiplier 2 --sampling-rate 0.02 --steps 1000 "
        "--draws 10 --delta 1e-5",
        "the best of ten candidates on average"},
    Row{"epsilon", "retort epsilon --papers", "every published setting: formula, claimed, honest"},
    Row{"calibrate", "retort calibrate votes --epsilon 3 --queries 5000 --delta 1e-5", "the least noise"},
    Row{"calibrate", "retort calibrate votes --epsilon 3 --noise 100 --delta 1e-5", "the most queries"},
    Row{"doctor", "retort doctor", "this machine"},
    Row{"doctor", "retort doctor experiments/configs/quickstart.toml --slots 4", "and what this sweep needs"},
    Row{"metrics", "retort metrics --list", "the catalogue"},
    Row{"schema", "retort schema > sweep.schema.json", "for an editor that completes and checks the sweep file"},
    Row{"version", "retort version --verbose", "compiler, libraries, format versions"},
    Row{"completion", "retort completion bash > ~/.local/share/bash-completion/completions/retort", "for bash"},
    Row{"completion", "retort completion zsh > \"${fpath[1]}/_retort\"", "for zsh"},
    Row{"completion", "retort completion fish > ~/.config/fish/completions/retort.fish", "for fish"},
    Row{"man", "retort man run | man -l -", "the page of one command"},
    Row{"man", "retort man --all ~/.local/share/man/man1", "every page, where `man` finds them"},
};

std::string FormatText(const std::vector<Example>& examples) {
  std::string text = "\nExamples:";
  for (const Example& example : examples) text += "\n  " + example.line + "\n      " + example.what;
  return text;
}

void ShowIn(CLI::App& app, const std::string& path) {
  const std::string note = app.get_footer();
  std::string text = FormatText(FindExamples(path));
  if (!note.empty()) text += "\n" + note;
  if (!path.empty())
    text += "\n\nWith every command: --results DIR, --profile NAME, --json, --quiet, --no-color (retort --help).";
  app.footer(text);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    ShowIn(*command, (path.empty() ? "" : path + " ") + command->get_name());
}

// The rule's example for one of the two commands.
std::string MakeExample(const privacy::MechanismRule& rule, const std::string& command) {
  std::string example = "retort " + command + " " + std::string(rule.name) + " " + std::string(rule.example);
  if (command == "epsilon") return example;
  const std::string gone = " --" + std::string(rule.solvable.front()) + " ";
  const std::size_t at = example.find(gone);
  return example.replace(at, example.find(' ', at + gone.size()) - at, " --epsilon 1");
}

// Of a mechanism below one of the two calculators, as "epsilon votes"; else none.
std::vector<Example> CalculatorExamples(const std::string& path) {
  std::vector<Example> examples;
  for (const std::string command : {"epsilon", "calibrate"})
    for (const privacy::MechanismRule& rule : privacy::ListMechanismRules())
      if (path == command + " " + std::string(rule.name))
        examples.push_back({MakeExample(rule, command), std::string(rule.meaning)});
  return examples;
}

}  // namespace

std::vector<Example> FindExamples(const std::string& path) {
  std::vector<Example> examples;
  for (const Row& row : kRows)
    if (row.path == path) examples.push_back({std::string(row.line), std::string(row.what)});
  if (!examples.empty()) return examples;
  return CalculatorExamples(path);
}

void ShowExamples(CLI::App& app) { ShowIn(app, ""); }

}  // namespace retort::orchestrator::cli
