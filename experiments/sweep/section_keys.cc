#include "experiments/sweep/section_keys.h"

#include <array>

namespace retort {
namespace {

using enum SectionType;
constexpr Limits kPositions = {0, 9e15, false};

constexpr SectionKey kSections[] = {
    {"", "retort", count, true, {0, 1e9, false}, "", "version of this file format: write retort = 1"},
    {"", "data", table, false, {}, "none, which only method \"sleep\" can do", "the data sets, one table each"},
    {"", "network", table, false, {}, "those of the zoo alone", "networks of your own, one table each"},
    {"", "teacher", table, false, {}, "no teachers", "the teachers, one table each"},
    {"", "trial", table, false, {}, "presets alone", "what every trial shares"},
    {"", "sweep", table, false, {}, "one trial", "what varies"},
    {"", "table", table, false, {}, "no tables", "what to print, one table each"},
    {"", "figure", table, false, {}, "no figures", "what to draw, one table each"},
    {"", "profile", table, false, {}, "no profiles", "overlays of the other tables, chosen by --profile NAME"},

    {"profile.*", "data", table, false, {}, "", "laid over [data]"},
    {"profile.*", "network", table, false, {}, "", "laid over [network]"},
    {"profile.*", "teacher", table, false, {}, "", "laid over [teacher]"},
    {"profile.*", "trial", table, false, {}, "", "laid over [trial]"},
    {"profile.*", "sweep", table, false, {}, "", "laid over [sweep]"},
    {"profile.*", "table", table, false, {}, "", "laid over [table]"},
    {"profile.*", "figure", table, false, {}, "", "laid over [figure]"},

    {"data.*",
     "reader",
     text,
     true,
     {},
     "",
     "format on disk: \"idx\", \"cifar10\", \"cifar100\", \"svhn\", \"medmnist\", \"celeba\", \"covidx\", "
     "\"imagenet\", \"tiny-imagenet\" or \"pictures\" (below)"},
    {"data.*",
     "path",
     text,
     true,
     {},
     "",
     "folder or archive of the files, relative to the sweep file; ${VAR} is expanded"},
    {"data.*", "split", table, true, {}, "", "which examples are private, public and for testing"},
    {"data.*",
     "classes",
     count,
     false,
     {2, 65536, false},
     "as many as the set has; idx: 10",
     "labels are 0 to classes - 1"},
    {"data.*",
     "target",
     text,
     false,
     {},
     "the first",
     "what the labels are: cifar100 \"fine\" or \"coarse\", celeba \"gender\" or \"hair\""},
    {"data.*", "version", text, false, {}, "the first", "of covidx: \"9B\", \"9A\" or \"5\""},
    {"data.*",
     "mean",
     numbers,
     false,
     {0, 1, false},
     "of the reader",
     "what normalisation takes off a pixel between 0 and 1: one value a channel, or one for all; with std. "
     "Never "
     "from private examples"},
    {"data.*", "std", numbers, false, {0, 1e6, true}, "of the reader", "what it divides by; with mean"},
    {"data.*",
     "resize",
     count,
     false,
     {1, 4096, false},
     "the size of the files",
     "of pictures: pixels of the short side after resizing, as torchvision's Resize; with crop"},
    {"data.*",
     "size",
     counts,
     false,
     {1, 4096, false},
     "the size of the files",
     "of pictures: [height, width] in pixels after resizing; in place of resize"},
    {"data.*",
     "crop",
     count,
     false,
     {1, 4096, false},
     "none",
     "of pictures: side of the square cut from the centre, in pixels, as torchvision's CenterCrop"},
    {"data.*",
     "crop_top",
     number,
     false,
     {0, 0.99, false},
     "0",
     "of pictures: fraction of the rows taken off the top before anything else (COVIDx: 0.08)"},
    {"data.*",
     "exif",
     text,
     false,
     {},
     "\"ignore\", as torchvision's loader",
     "of pictures: \"apply\" turns them as their EXIF orientation says"},
    {"data.*",
     "on_error",
     text,
     false,
     {},
     "\"fail\"",
     "a picture that cannot be decoded: \"fail\" ends the trial, naming it; \"skip-and-count\" leaves it out "
     "of its split, and needs crop or size"},
    {"data.*",
     "sensitive_classes",
     counts,
     false,
     {0, 65535, false},
     "none",
     "classes whose public examples count as private ones: the public split holds none of them"},
    {"data.*", "published_as", text, false, {}, "joins nothing", "name under which published tables join"},
    {"data.*",
     "budget",
     table,
     false,
     {},
     "no cap",
     "hard cap over all trials of every sweep in the results root that draw on one of its examples, in whatever files"},
    {"data.*.split", "shuffle", count, false, kPositions, "0, file order",
     "number of the permutation that ranges are positions in"},
    {"data.*.split", "train", share, true, kPositions, "", "the private examples"},
    {"data.*.split", "public", share, false, kPositions, "none", "the public examples"},
    {"data.*.split", "test", share, true, kPositions, "", "the test examples"},
    {"data.*.budget", "epsilon", number, true, {0, 1e6, true}, "", "summed over the trials, adjacency example"},
    {"data.*.budget", "delta", number, true, {0, 0x1.fffffffffffffp-1, true}, "", "delta of the cap"},

    {"network.*", "layers", layers, true, {}, "", "from the picture to one value a class"},

    {"teacher.*.private",
     "norm_bound",
     number,
     false,
     {1e-9, 1e9, false},
     "0.1; 0.15 with batch = \"full\"",
     "per-example clip C"},
    {"teacher.*.private",
     "epsilon",
     number,
     false,
     {0, 1e6, true},
     "",
     "proven example claim to reach; this or noise_multiplier"},
    {"teacher.*.private",
     "noise_multiplier",
     number,
     false,
     {0, 1e6, true},
     "",
     "noise over norm bound; this or epsilon"},

    {"stop", "metric", text, true, {}, "", "\"loss\", of the step, or \"test.accuracy\", measured at the look"},
    {"stop", "above", number, false, {-1e300, 1e300, false}, "", "stops above this; this or below"},
    {"stop", "below", number, false, {-1e300, 1e300, false}, "", "stops below this; this or above"},
    {"stop", "after", count, false, {0, 1e12, false}, "0", "completed steps before the first look"},
    {"stop", "every", count, false, {1, 1e12, false}, "1", "steps between two looks"},

    {"sweep",
     "name",
     text,
     false,
     {},
     "name of the file",
     "names the results folder: at most 100 bytes without '/', not starting with '.' or '-'"},
    {"sweep", "seeds", counts, false, kPositions, "[0]", "each trial runs once a seed"},
    {"sweep", "grid", table, false, {}, "no grid", "grid.KEY = [values]: every combination"},
    {"sweep",
     "zip",
     table,
     false,
     {},
     "no rows",
     "zip.NAME = [{KEY = value, ...}, ...]: row by row, crossed with the grid"},
    {"sweep",
     "when",
     tables,
     false,
     {},
     "nothing",
     "[{ if = {KEY = value or [values]}, set = {KEY = value} }], in order, after the axes"},
    {"sweep", "exclude", tables, false, {}, "nothing", "[{KEY = value or [values]}]: trials that match are left out"},

    {"sweep", "quota", table, false, {}, "no caps", "caps on what the results folder may use"},
    {"sweep.quota", "trials", count, false, {1, 1e9, false}, "no cap", "trials begun"},
    {"sweep.quota", "wall", duration, false, {}, "no cap", "time in runs, summed over them"},
    {"sweep.quota", "concurrency", count, false, {1, 1e6, false}, "no cap", "trials at once"},
    {"sweep.quota",
     "device_hours",
     number,
     false,
     {0, 1e9, true},
     "no cap",
     "time of attempts, each times its devices, in hours"},

    {"sweep",
     "select",
     table,
     false,
     {},
     "every trial is run and shown",
     "the trials are candidates of which the best alone is released"},
    {"sweep.select",
     "score",
     text,
     false,
     {},
     "\"public.accuracy\"",
     "what the candidates are compared by: how many of the labelled public examples the student classifies right"},
    {"sweep.select",
     "distribution",
     text,
     true,
     {},
     "",
     "of K, how many candidates are drawn: \"poisson\" (K may be 0), \"geometric\", \"logarithmic\" or "
     "\"truncated-negative-binomial\""},
    {"sweep.select", "mean", number, true, {0, 10000, true}, "", "of K"},
    {"sweep.select",
     "eta",
     number,
     false,
     {-1, 1000, true},
     "of the distribution",
     "shape of \"truncated-negative-binomial\": 1 is geometric, 0 logarithmic; K is more even the larger it is"},

    {"table.*",
     "rows",
     texts,
     true,
     {},
     "",
     "keys that tell rows apart; also `side_information`: what a row had beside the private examples"},
    {"table.*", "columns", texts, false, {}, "one column", "keys that tell columns apart"},
    {"table.*",
     "metric",
     text,
     false,
     {},
     "test.accuracy",
     "what the cells show; \"synthetic.accuracy\" and \"synthetic.fid\" are measured by `retort sample --evaluate`"},
    {"table.*",
     "published",
     text,
     false,
     {},
     "nothing",
     "published table to put beside, \"PAPER/TABLE\" (experiments/reference/README.md)"},
    {"table.*", "where", table, false, {}, "every trial", "{KEY = value or [values]}: the trials of this table"},
    {"table.*",
     "interval",
     text,
     false,
     {},
     "\"t\"",
     "95 % of the mean over seeds: \"t\" (Student) or \"bootstrap\" (percentiles of 4,000 seeded resamples)"},
    {"table.*",
     "joins",
     tables,
     false,
     {},
     "values join by data set, method, epsilon and setting",
     "[{ if = {KEY = value or [values]}, published = {COLUMN = value} }]: the value of the published table that stands "
     "beside trials which match; columns: dataset, approach, epsilon, delta, setting, metric; published = \"none\": no "
     "value; beside a teacher, a rule whose `if` does not name `role` puts values of teachers alone"},

    {"figure.*",
     "kind",
     text,
     false,
     {},
     "\"line\"",
     "\"line\": a metric against a key; \"bar\": the same as bars, for keys without an order; \"curve\": what was "
     "recorded while the trials ran; \"samples\": their synthetic samples, one panel each; \"map\": these among "
     "pictures "
     "of every split in a t-SNE map of pixels, one panel each"},
    {"figure.*",
     "x",
     text,
     false,
     {},
     "line: the first axis of numbers; bar, samples, map: the first axis; curve: \"step\"",
     "what runs along: an axis, or of kind curve a curve such as \"seconds\""},
    {"figure.*",
     "y",
     text,
     false,
     {},
     "test.accuracy",
     "a metric; a timing as \"step_seconds\"; what an audit found as \"audit.membership.auc\"; \"synthetic.accuracy\" "
     "and "
     "\"synthetic.fid\" of `retort sample --evaluate`; of kind curve the "
     "curve, which is required"},
    {"figure.*", "series", texts, false, {}, "the other axes", "keys that tell lines, bars or rows apart"},
    {"figure.*", "panels", text, false, {}, "one panel", "key that makes small multiples"},
    {"figure.*", "log_x", flag, false, {}, "false", "x is logarithmic; of kind line and curve"},
    {"figure.*", "log_y", flag, false, {}, "false", "y is logarithmic; of kind line, bar and curve"},
    {"figure.*", "title", text, false, {}, "none", "above the figure"},
    {"figure.*", "x_label", text, false, {}, "from x", "below the horizontal axis"},
    {"figure.*", "y_label", text, false, {}, "from y", "beside the vertical axis"},
    {"figure.*",
     "published",
     text,
     false,
     {},
     "nothing",
     "published values to put beside, \"PAPER/TABLE\"; of kind line and bar"},
    {"figure.*",
     "teachers",
     flag,
     false,
     {},
     "false",
     "with a dashed line at what each teacher reaches; of kind line and bar"},
    {"figure.*",
     "count",
     count,
     false,
     {1, 400, false},
     "36",
     "of kind samples: images a panel; of kind map: of each split, and of the samples, at most so many"},
};

}  // namespace

std::span<const SectionKey> SectionKeys() { return kSections; }

std::string_view SectionTypeName(SectionType type) {
  switch (type) {
    case text:
      return "a string";
    case flag:
      return "true or false";
    case count:
      return "an integer";
    case number:
      return "a number";
    case duration:
      return "a duration such as \"30s\" or \"2h\"";
    case share:
      return "a range [begin, end) of two integers, a fraction as 0.8, a part as \"test\" or "
             "\"test[0:2000]\", or "
             "a list file as \"train.txt\"";
    case texts:
      return "an array of strings";
    case counts:
      return "an array of integers";
    case numbers:
      return "an array of numbers";
    case layers:
      return "an array of layers";
    case table:
      return "a table";
    case tables:
      return "an array of tables";
  }
  return "a value";
}

}  // namespace retort
