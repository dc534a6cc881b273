#include "orchestrator/cli/data_options.h"

#include <CLI/CLI.hpp>

#include "experiments/spec/data_readers.h"

namespace retort::orchestrator::cli {

void AddData(CLI::App& data, CommandLine& line, std::vector<std::string>& rest) {
  data.require_subcommand(1);
  CLI::App* check = data.add_subcommand("check", "What is there: sizes, digests, classes, what is missing or damaged");
  check->footer("\nExit codes: 0 sound, 1 damaged, 2 an unknown NAME or KEY, 3 a file is missing.");
  CLI::App* clients = data.add_subcommand("clients", "Share examples out among clients: a split list for each");
  clients->footer("\nThen, in the sweep file of the first: split = { train = \"clients/client-0.txt\", test = \"test\" }");
  clients->add_option("--clients", line.clients, "How many")->required()->check(CLI::Range(1, 1 << 20));
  clients->add_option("--dirichlet", line.concentration,
                      "Concentration of each class's shares; small: few classes each (default: equal shares)")
      ->check(CLI::Range(1e-6, 1e6));
  clients->add_option("--part", line.part, "A part that the format sets apart, as train (default: everything)");
  clients->add_option("--held-out", line.held_out, "Fraction that no client gets: OUT/held-out.txt")->check(CLI::Range(0.0, 0.999));
  clients->add_option("--seed", line.seed, "Number of the division (default 0)");
  clients->add_option("--out", line.out, "Folder for the lists")->required()->type_name("FOLDER");
  clients->add_flag("--force", line.force, "In place of the lists that are there");
  std::string names;
  for (const std::string& name : DataReaderNames()) names += (names.empty() ? "" : ", ") + name;
  for (CLI::App* of : {check, clients}) {
    of->fallthrough();
    of->add_option("NAME", line.reader, "Reader: " + names)->required();
    of->add_option("PATH", line.data_path, "Folder, archive or file, as `path` in a sweep file")->required();
    of->add_option("KEY=VALUE", rest, "target, version or classes, as in a sweep file");
  }
}

}  // namespace retort::orchestrator::cli
