#include "orchestrator/doctor/file_system.h"

#include <fstream>
#include <sstream>

namespace retort::orchestrator::doctor {
namespace {

// The kernel writes a space as \040.
std::string Unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool Holds(const std::string& folder, const std::string& path) {
  return folder == "/" || path == folder || path.starts_with(folder + "/");
}

}  // namespace

// "36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue"
FileSystem FileSystemOf(const std::string& path, const std::string& mounts) {
  FileSystem found;
  std::ifstream file(mounts);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string number, parent, device, root, folder, mount_options, word, type, source, own_options;
    words >> number >> parent >> device >> root >> folder >> mount_options;
    while (words >> word && word != "-") {
    }
    if (!(words >> type >> source >> own_options)) continue;
    folder = Unescaped(folder);
    // The longest folder that holds it; of equal ones the last was mounted over the others.
    if (!Holds(folder, path) || folder.size() < found.mounted_at.size()) continue;
    found = {type, folder, "," + mount_options + "," + own_options + ","};
  }
  return found;
}

}  // namespace retort::orchestrator::doctor
