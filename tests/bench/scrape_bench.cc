// Time of one scrape over loopback, from the connection to the last byte, values published anew before each.
//   scrape_bench SERIES SCRAPES     prints "best_ms collect_ms first_ms again_ms bytes": the least time of a scrape
//   that makes the text, and the mean CPU of all threads for gathering the values, for publishing them with the first
//   scrape, and for another scrape of the same page
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "monitoring/exporter.h"

namespace retort::monitoring {
namespace {

MetricValues ValuesWith(int series, int round) {
  MetricValues values;
  for (int i = 0; i < series; ++i)
    values.Set(Metric::seat_deadline_seconds, {std::to_string(i / 100), std::to_string(i % 100)}, 120.5 + i + round);
  return values;
}

// Bytes of the reply.
std::size_t Scrape(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  std::size_t bytes = 0;
  constexpr char kRequest[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      ::write(fd, kRequest, sizeof(kRequest) - 1) == sizeof(kRequest) - 1) {
    static char buffer[1 << 16];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof(buffer))) > 0;) bytes += static_cast<std::size_t>(got);
  }
  ::close(fd);
  return bytes;
}

double CpuSeconds() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

int Run(int series, int scrapes) {
  const auto exporter = Exporter::Start({.address = "127.0.0.1", .port = std::uint16_t{0}});
  if (!exporter.ok()) return 2;
  double best = 1e9, collect = 0, first = 0, again = 0;
  std::size_t bytes = 0;
  for (int round = 0; round < scrapes; ++round) {
    const double before = CpuSeconds();
    MetricValues values = ValuesWith(series, round);
    const double collected = CpuSeconds();
    (*exporter)->Publish(std::move(values));
    const auto start = std::chrono::steady_clock::now();
    bytes = Scrape((*exporter)->port());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    const double scraped = CpuSeconds();
    Scrape((*exporter)->port());
    collect += collected - before;
    first += scraped - collected;
    again += CpuSeconds() - scraped;
  }
  std::printf("%.4f %.4f %.4f %.4f %zu\n", 1e3 * best, 1e3 * collect / scrapes, 1e3 * first / scrapes,
              1e3 * again / scrapes, bytes);
  return bytes > static_cast<std::size_t>(series) * 20 ? 0 : 1;
}

}  // namespace
}  // namespace retort::monitoring

int main(int argc, char** argv) {
  return argc == 3 ? retort::monitoring::Run(std::atoi(argv[1]), std::atoi(argv[2])) : 2;
}
