// The stack machine of Python pickles (protocols 2 to 5). It executes nothing: it builds plain values, and asks a
// PickleVocabulary, which knows the few globals that files of one kind need, what calling one of them makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort::storage {

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,
  large,  // an integer beyond 64 bits: `text` is its bytes, little endian
  tuple,
  list,
  dict,     // `items`; of a dict key, value, key, value, ...
  global,   // `text` is "module name", one of those that are known
  storage,  // torch: `integer` is a position in Pickle::storages
  tensor,   // torch: `integer` is a position in Pickle::tensors
  opaque,   // torch: a known object that no weight depends on: a device, a size, hooks
  array,    // NumPy: `integer` is a position in the vocabulary's arrays
  dtype,    // NumPy: `text` is its name
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;
  std::string_view text;             // into the pickle's bytes, static, or kept by the vocabulary
  std::vector<std::uint32_t> items;  // positions in PickleValues::values
  std::uint64_t at = 0;              // offset in the file
};

struct PickleValues {
  std::vector<PickleValue> values;
  std::uint32_t root = 0;
  std::size_t consumed = 0;  // bytes, to the end of its STOP

  [[nodiscard]] const PickleValue& at(std::uint32_t value) const { return values[value]; }
};

// What can be wrong with a pickle itself.
enum class PickleFault : std::uint8_t {
  cut_short,
  unknown_opcode,  // the number: the opcode
  protocol,        // the number: the protocol
  wide_integer,
  too_many_values,
  too_many_marks,
  too_many_items,
  too_many_arguments,
  too_large_stack,
  too_large_memo,
  no_mark,
  too_few_values,
  nothing_to_remember,
  nothing_to_set,
  no_container,
  odd_items,
  unset_memo,
  unnamed_global,
  no_callable,
};

// Most of what a pickle may hold.
struct PickleLimits {
  std::size_t values, items, memo, arguments;
};

class PickleVocabulary {
 public:
  virtual ~PickleVocabulary() = default;
  // The error that tells of a fault in the opcode at `at`.
  [[nodiscard]] virtual Status Fault(PickleFault fault, std::uint64_t at, std::uint64_t number) const = 0;
  [[nodiscard]] virtual const PickleLimits& limits() const = 0;
  // Of the opcodes that not every kind of file has: POP_MARK, BINPERSID, and those of bytes, which are read as texts.
  [[nodiscard]] virtual bool Knows(int opcode) const = 0;
  [[nodiscard]] virtual bool TakesLargeIntegers() const = 0;
  // The known global of that name, with static lifetime. Error: refused, for any other.
  [[nodiscard]] virtual Result<std::string_view> FindGlobal(std::string_view module, std::string_view name,
                                                            std::uint64_t at) const = 0;
  // What calling the global makes; `arguments` is a tuple.
  [[nodiscard]] virtual Result<PickleValue> Call(PickleValues& values, const PickleValue& global,
                                                 std::uint32_t arguments, std::uint64_t at) = 0;
  // BUILD: gives `target` the attributes in `state`.
  [[nodiscard]] virtual Status SetState(PickleValues& values, std::uint32_t target, std::uint32_t state,
                                        std::uint64_t at) = 0;
  // What a persistent id stands for. REQUIRES: Knows('Q').
  [[nodiscard]] virtual Result<PickleValue> FindPersistent(PickleValues& values, std::uint32_t id) = 0;
};

// Reads one pickle at the start of `bytes` into `values`, which point into `bytes`; what follows it is not looked at.
// `base` is the offset of the first byte in its file. Errors: those of the vocabulary.
[[nodiscard]] Status RunPickle(std::string_view bytes, std::uint64_t base, PickleVocabulary& vocabulary,
                               PickleValues& values);

// Pickles of one dictionary of numbers, texts and NumPy arrays, as CIFAR is distributed. Nothing is executed:
// the few names that such files need are known here, and any other is refused.

struct PickledBytes {  // an array of u8
  std::vector<std::int64_t> shape;
  bool fortran = false;
  std::string_view bytes;  // into what was parsed, or owned by `owned`
  std::string owned;
};

// By key, which may be written as bytes or text.
struct PickledDictionary {
  std::map<std::string, std::vector<std::int64_t>> numbers;  // lists (or arrays of integers) of integers
  std::map<std::string, std::vector<std::string>> texts;     // lists of texts
  std::map<std::string, PickledBytes> arrays;
};

// Protocols 2 to 5, of Python 2 and 3. `file` is for messages; `bytes` must outlive the result. Values of
// other types are left out. Errors, naming file and offset: damage; refused for a global that is not NumPy's,
// and for protocols 0 and 1.
[[nodiscard]] Result<PickledDictionary> ParseNumpyPickle(const std::string& file, std::string_view bytes);

}  // namespace retort::storage
