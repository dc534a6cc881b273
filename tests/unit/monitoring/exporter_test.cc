#include "monitoring/exporter.h"

#include "monitoring/credentials.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <vector>

namespace retort::monitoring {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

MetricValues EveryFamilyFilled() {
  MetricValues values;
  for (const MetricFamily& family : GetMetricCatalogue()) {
    MetricValues::Labels labels;
    for (const MetricLabel& label : family.labels) {
      labels.emplace_back(label.values.empty() ? "odd \"name\"\\\n" : label.values.front());
    }
    if (family.type == MetricType::histogram) {
      Histogram distribution(family.bounds);
      distribution.Observe(0.3, 2);
      values.Set(family.metric, distribution);
    } else {
      values.Set(family.metric, labels, 1.5);
    }
  }
  values.Set(Metric::epsilon_spent, {"digits", "example"}, std::numeric_limits<double>::infinity());
  return values;
}

// The TYPE of each family in a text, by name.
std::map<std::string, std::string> Types(const std::string& text) {
  std::map<std::string, std::string> types;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, keyword, name, type;
    if (words >> hash >> keyword >> name >> type; hash == "#" && keyword == "TYPE") types[name] = type;
  }
  return types;
}

// -1 where nobody listens.
int Connect(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  ::close(fd);
  return -1;
}

std::string Get(std::uint16_t port, const std::string& path, const std::string& headers = "",
                const std::string& method = "GET") {
  const int fd = Connect(port);
  std::string reply;
  if (fd >= 0) {
    const std::string request = method + " " + path + " HTTP/1.0\r\n" + headers + "\r\n";
    EXPECT_EQ(::write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof(buffer))) > 0;) {
      reply.append(buffer, static_cast<std::size_t>(got));
    }
  }
  ::close(fd);
  return reply;
}

std::unique_ptr<Exporter> StartAnywhere() {
  auto started = Exporter::Start({.address = "127.0.0.1", .port = std::uint16_t{0}});
  RETORT_CHECK(started.ok());
  return std::move(*started);
}

TEST(ExpositionTest, FamiliesAndTypesAreExactlyThoseOfTheCatalogue) {
  std::map<std::string, std::string> expected;
  for (const MetricFamily& family : GetMetricCatalogue()) {
    expected[std::string(family.name)] = GetMetricTypeName(family.type);
  }
  EXPECT_EQ(Types(FormatExposition(EveryFamilyFilled())), expected);
}

TEST(ExpositionTest, ValuesStandBehindTheirLabels) {
  MetricValues values;
  values.Set(Metric::trials, {"parent-failed"}, 2);
  values.Set(Metric::epsilon_spent, {"digits", "example"}, std::numeric_limits<double>::infinity());
  values.Set(Metric::build_info, {"0.1.0", "abc"}, 1);
  const std::string text = FormatExposition(values);
  EXPECT_THAT(text, HasSubstr("retort_trials{state=\"parent-failed\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("retort_trials{state=\"queued\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("retort_epsilon_spent{dataset=\"digits\",claim=\"example\"} +Inf\n"));
  EXPECT_THAT(text, HasSubstr("retort_build_info{version=\"0.1.0\",commit=\"abc\"} 1\n"));
}

TEST(ExpositionTest, AFilesSamplesAllNameTheirSweep) {
  const std::string text = FormatExposition(EveryFamilyFilled(), "a \"b\"");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    EXPECT_THAT(line, HasSubstr("{sweep=\"a \\\"b\\\"\"")) << line;
  }
  EXPECT_THAT(text, HasSubstr("retort_steps_total{sweep=\"a \\\"b\\\"\"} 1.5\n"));
  EXPECT_EQ(Types(text), Types(FormatExposition(EveryFamilyFilled())));
}

TEST(ExpositionTest, BucketsCountEverythingUpToTheirBound) {
  Histogram distribution(FindFamily(Metric::checkpoint_duration_seconds).bounds);
  distribution.Observe(0.005);
  distribution.Observe(0.02, 3);
  distribution.Observe(1000);
  MetricValues values;
  values.Set(Metric::checkpoint_duration_seconds, distribution);
  const std::string text = FormatExposition(values), name = "retort_checkpoint_duration_seconds";
  EXPECT_THAT(text, HasSubstr(name + "_bucket{le=\"0.005\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{le=\"0.01\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{le=\"0.025\"} 4\n"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{le=\"60\"} 4\n"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{le=\"+Inf\"} 5\n"));
  EXPECT_THAT(text, HasSubstr(name + "_sum 1000.065\n"));
  EXPECT_THAT(text, HasSubstr(name + "_count 5\n"));
}

TEST(ExporterTest, AScrapeOverLoopbackShowsWhatWasPublishedLast) {
  const auto exporter = StartAnywhere();
  EXPECT_THAT(Get(exporter->port(), "/metrics"), HasSubstr("retort_steps_total 0"));
  MetricValues values;
  values.Set(Metric::steps_total, 41);
  exporter->Publish(values);
  values.Set(Metric::steps_total, 42);
  exporter->Publish(values);
  const std::string reply = Get(exporter->port(), "/metrics");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(reply, HasSubstr("retort_steps_total 42\n"));
  EXPECT_THAT(Get(exporter->port(), "/secret"), HasSubstr(" 404 "));
}

TEST(ExporterTest, HeadAnswersWithoutABodyAndOtherMethodsAreRefused) {
  const auto exporter = StartAnywhere();
  const std::string head = Get(exporter->port(), "/metrics", "", "HEAD");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  EXPECT_THAT(Get(exporter->port(), "/metrics", "Content-Length: 0\r\n", "POST"), HasSubstr(" 405 "));
  EXPECT_THAT(Get(exporter->port(), "/metrics", "", "DELETE"), HasSubstr("Allow: GET, HEAD"));
}

TEST(ExporterTest, ConnectionsThatSayNothingKeepNobodyWaiting) {
  const auto exporter = StartAnywhere();
  std::vector<int> silent;
  for (int i = 0; i < 64; ++i) silent.push_back(Connect(exporter->port()));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Get(exporter->port(), "/metrics"), StartsWith("HTTP/1.1 200"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  for (const int fd : silent) ::close(fd);
}

// The address of a run that is gone may be another's by now.
TEST(ExporterTest, WhoAsksForAnotherRunIsToldThatItIsNotThere) {
  const auto started = Exporter::Start({.address = "127.0.0.1", .port = std::uint16_t{0}}, {}, "5f-1");
  ASSERT_TRUE(started.ok());
  const std::uint16_t port = (*started)->port();
  EXPECT_THAT(Get(port, "/metrics"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Get(port, "/metrics?run=5f-1"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Get(port, "/metrics?run=5f-2"), HasSubstr(" 404 "));
  EXPECT_THAT((*started)->Targets("quick"), HasSubstr("\"__param_run\": \"5f-1\""));
}

// Every run waits for it before it ends.
TEST(ExporterTest, StoppingAfterAScrapeTakesNoSecond) {
  auto exporter = StartAnywhere();
  EXPECT_THAT(Get(exporter->port(), "/metrics"), HasSubstr("retort_"));
  const auto begin = std::chrono::steady_clock::now();
  exporter.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST(ExporterTest, AScrapeHoldsTheCatalogueAndNothingElse) {
  const auto exporter = StartAnywhere();
  exporter->Publish(EveryFamilyFilled());
  EXPECT_EQ(Types(Get(exporter->port(), "/metrics")), Types(FormatExposition(EveryFamilyFilled())));
}

TEST(ExporterTest, WithCredentialsOnlyWhoKnowsThemReads) {
  const auto started = Exporter::Start({.address = "127.0.0.1", .port = std::uint16_t{0}},
                                       {.credentials = "grafana:s3:cret", .certificate = ""});
  ASSERT_TRUE(started.ok());
  const std::uint16_t port = (*started)->port();
  const std::string none = Get(port, "/metrics");
  EXPECT_THAT(none, StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(none, HasSubstr("WWW-Authenticate: Basic"));
  EXPECT_THAT(none, ::testing::Not(HasSubstr("retort_steps")));
  // "grafana:s3:cret" and "grafana:s3:creT"
  EXPECT_THAT(Get(port, "/metrics", "Authorization: Basic Z3JhZmFuYTpzMzpjcmV0\r\n"), HasSubstr("retort_steps_total"));
  EXPECT_THAT(Get(port, "/metrics", "Authorization: Basic Z3JhZmFuYTpzMzpjcmVU\r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Get(port, "/metrics", "Authorization: Basic Z3Jh\r\n"), StartsWith("HTTP/1.1 401"));
}

TEST(AuthorizationTest, SchemeAndBlanksAreAsRfc7617LeavesThem) {
  const std::string_view known = "grafana:s3:cret";
  for (const char* const header :
       {"Basic Z3JhZmFuYTpzMzpjcmV0", "basic Z3JhZmFuYTpzMzpjcmV0", "BASIC   Z3JhZmFuYTpzMzpjcmV0 "})
    EXPECT_TRUE(IsAuthorized(header, known)) << header;
  for (const char* const header : {"", "Basic", "Basic ", "BasicZ3JhZmFuYTpzMzpjcmV0", "Bearer Z3JhZmFuYTpzMzpjcmV0",
                                   "Basic Z3JhZmFuYTpzMzpjcmV0x", "Basic z3JhZmFuYTpzMzpjcmV0"})
    EXPECT_FALSE(IsAuthorized(header, known)) << header;
}

class CredentialsTest : public ::testing::Test {
 protected:
  void Write(const std::string& text, std::filesystem::perms perms = std::filesystem::perms::owner_read) {
    std::filesystem::remove(path_);
    std::ofstream(path_) << text;
    std::filesystem::permissions(path_, perms);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_ = std::filesystem::temp_directory_path() / ("retort-secret-" + std::to_string(::getpid()));
};

TEST_F(CredentialsTest, CredentialsAreTheFirstLineOfAPrivateFile) {
  Write("user:pass:word\nmore\n");
  ASSERT_TRUE(ReadCredentials(path_).ok());
  EXPECT_EQ(*ReadCredentials(path_), "user:pass:word");
  Write("user:word\r\nmore\r\n");
  EXPECT_EQ(*ReadCredentials(path_), "user:word");
  Write("user:word");
  EXPECT_EQ(*ReadCredentials(path_), "user:word");
  for (const char* const text : {"user\n", ":x\n", "user:\n", "user:a\tb\n", "\xEF\xBB\xBFuser:word\n"}) {
    Write(text);
    EXPECT_EQ(ReadCredentials(path_).status().code(), StatusCode::usage) << text;
  }
  Write("user:word\n", std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  EXPECT_THAT(ReadCredentials(path_).status().message(), HasSubstr("chmod 600"));
  EXPECT_EQ(ReadCredentials(path_ + "-absent").status().code(), StatusCode::environment);
}

// What the program openssl, of the package that set-up brings, writes for a test's own use.
class CertificateTest : public CredentialsTest {
 protected:
  static std::string Run(const std::string& command) {
    std::string out;
    FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) out.append(buffer, got);
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return out;
  }
  static std::string Made(const std::string& options = "-days 1") {
    return Run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost "
        "-addext subjectAltName=IP:127.0.0.1 -keyout - -out - " +
        options);
  }
};

TEST_F(CertificateTest, EndpointWithACertificateSpeaksHttpsOnly) {
  Write(Made());
  const auto pem = ReadCertificate(path_);
  ASSERT_TRUE(pem.ok()) << pem.status().message();
  const auto started =
      Exporter::Start({.address = "127.0.0.1", .port = std::uint16_t{0}}, {.credentials = "", .certificate = *pem});
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_THAT((*started)->url(), StartsWith("https://127.0.0.1:"));
  EXPECT_THAT((*started)->Targets("quick"), HasSubstr("\"__scheme__\": \"https\""));
  const std::string ask =
      "printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -CAfile " + path_ +
      " -verify_ip 127.0.0.1 -connect " + (*started)->address();
  EXPECT_THAT(Run(ask + " | cat"), HasSubstr("retort_steps_total 0"));
  EXPECT_THAT(Run("printf '' | openssl s_client -tls1_1 -cipher DEFAULT@SECLEVEL=0 -connect " + (*started)->address() +
                  " | cat"),
              HasSubstr("Cipher is (NONE)"));
  EXPECT_THAT(Get((*started)->port(), "/metrics"), ::testing::Not(HasSubstr("retort_")));
}

TEST_F(CertificateTest, WhatCannotServeIsRefusedWithTheReason) {
  const std::string one = Made(), other = Made();
  const std::string certificate = one.substr(one.find("-----BEGIN CERT")),
                    key = other.substr(0, other.find("-----BEGIN CERT"));
  Write(certificate);
  EXPECT_THAT(ReadCertificate(path_).status().message(), HasSubstr("no PEM private key"));
  Write(key);
  EXPECT_THAT(ReadCertificate(path_).status().message(), HasSubstr("no PEM certificate"));
  Write(key + certificate);
  EXPECT_THAT(ReadCertificate(path_).status().message(), HasSubstr("not that of its first certificate"));
  Write(one, std::filesystem::perms::owner_read | std::filesystem::perms::group_read);
  EXPECT_THAT(ReadCertificate(path_).status().message(), HasSubstr("chmod 600"));
  Write("");
  EXPECT_EQ(ReadCertificate(path_).status().code(), StatusCode::environment);
  Write(one.substr(0, one.size() / 2));
  EXPECT_FALSE(ReadCertificate(path_).ok());
}

TEST(ExporterTest, PromtoolFindsNothingToComplainAbout) {
  ASSERT_EQ(std::system("command -v promtool > /dev/null"), 0) << "promtool is in the Debian package prometheus";
  const auto exporter = StartAnywhere();
  exporter->Publish(EveryFamilyFilled());
  const std::string reply = Get(exporter->port(), "/metrics");
  const auto file = std::filesystem::temp_directory_path() / ("retort-scrape-" + std::to_string(::getpid()));
  std::ofstream(file) << reply.substr(reply.find("\r\n\r\n") + 4);
  const std::string command = "promtool check metrics < " + file.string() + " > " + file.string() + ".out 2>&1";
  const int result = std::system(command.c_str());
  std::stringstream complaints;
  complaints << std::ifstream(file.string() + ".out").rdbuf();
  std::filesystem::remove(file);
  std::filesystem::remove(file.string() + ".out");
  EXPECT_EQ(result, 0);
  EXPECT_EQ(complaints.str(), "");
}

TEST(ExporterTest, ABusyPortThatWasNamedIsAnErrorWithTheRemedy) {
  const auto first = StartAnywhere();
  const auto second = Exporter::Start({.address = "127.0.0.1", .port = first->port()});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::environment);
  EXPECT_THAT(second.status().message(), HasSubstr(first->address()));
  EXPECT_THAT(second.status().message(), HasSubstr("Name another port"));
}

TEST(ExporterTest, WithoutANamedPortTheNextFreeOneIsTaken) {
  const auto first = Exporter::Start({});
  const auto second = Exporter::Start({});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_GE((*first)->port(), kFirstMetricsPort);
  EXPECT_GT((*second)->port(), (*first)->port());
  EXPECT_LT((*second)->port(), kFirstMetricsPort + kMetricsPortsTried);
  EXPECT_THAT((*first)->address(), StartsWith("127.0.0.1:"));
}

TEST(ExporterTest, WhereEveryAddressIsListenedOnOthersAreToldTheHosts) {
  const auto exporter = Exporter::Start({.address = "0.0.0.0", .port = std::uint16_t{0}});
  ASSERT_TRUE(exporter.ok());
  EXPECT_TRUE((*exporter)->anywhere());
  EXPECT_THAT((*exporter)->url("192.0.2.7"), StartsWith("http://192.0.2.7:"));
  EXPECT_THAT((*exporter)->Targets("quick", "192.0.2.7"), HasSubstr("\"192.0.2.7:"));
  EXPECT_THAT(Get((*exporter)->port(), "/metrics"), StartsWith("HTTP/1.1 200"));
}

TEST(ExporterTest, ListensOnIpv6AndSaysSoInBrackets) {
  const auto exporter = Exporter::Start({.address = "::1", .port = std::uint16_t{0}});
  if (!exporter.ok()) GTEST_SKIP() << "this host has no IPv6: " << exporter.status().message();
  const std::string port = std::to_string((*exporter)->port());
  EXPECT_EQ((*exporter)->url("192.0.2.7"), "http://[::1]:" + port + "/metrics");
  EXPECT_THAT((*exporter)->Targets("quick", "192.0.2.7"), HasSubstr("\"[::1]:" + port + "\""));
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 where{};
  where.sin6_family = AF_INET6;
  where.sin6_addr = in6addr_loopback;
  where.sin6_port = htons((*exporter)->port());
  ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(::write(socket, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string head(12, '\0');
  ASSERT_EQ(::recv(socket, head.data(), head.size(), MSG_WAITALL), static_cast<ssize_t>(head.size()));
  ::close(socket);
  EXPECT_EQ(head, "HTTP/1.1 200");
}

TEST(ExporterTest, EveryAddressOfIpv6IsEveryOneOfIpv4Too) {
  const auto exporter = Exporter::Start({.address = "::", .port = std::uint16_t{0}});
  if (!exporter.ok()) GTEST_SKIP() << "this host has no IPv6: " << exporter.status().message();
  EXPECT_TRUE((*exporter)->anywhere());
  EXPECT_THAT((*exporter)->url("2001:db8::7"), StartsWith("http://[2001:db8::7]:"));
  EXPECT_THAT(Get((*exporter)->port(), "/metrics"), StartsWith("HTTP/1.1 200"));
}

TEST(ListenAddressTest, EveryFormIsUnderstood) {
  const std::tuple<const char*, const char*, std::optional<std::uint16_t>> cases[] = {
      {"127.0.0.1:9000", "127.0.0.1", 9000},
      {"0.0.0.0", "0.0.0.0", std::nullopt},
      {":9001", "127.0.0.1", 9001},
      {"9002", "127.0.0.1", 9002},
      {"localhost:0", "127.0.0.1", 0},
      {"[::1]:9003", "::1", 9003},
      {"[::]", "::", std::nullopt},
      {"::1", "::1", std::nullopt},
      {"2001:db8::7", "2001:db8::7", std::nullopt},
      {"[2001:db8::7]:0", "2001:db8::7", 0}};
  for (const auto& [text, address, port] : cases) {
    const auto listen = ParseListenAddress(text);
    ASSERT_TRUE(listen.ok()) << text;
    EXPECT_EQ(listen->address, address);
    EXPECT_EQ(listen->port, port);
  }
}

TEST(ListenAddressTest, AnythingElseIsAUsageErrorThatShowsTheForm) {
  for (const char* const text :
       {"", "node7:80", "1.2.3:80", "127.0.0.1:", "127.0.0.1:65536", "99999", "127.0.0.1:9x", "[::1", "[::1]9",
        "[::1]:", "[::1]:65536", "[1.2.3]:80", "[]:80x", "::1:x", "[::1]]:80"}) {
    const auto listen = ParseListenAddress(text);
    ASSERT_FALSE(listen.ok()) << text;
    EXPECT_EQ(listen.status().code(), StatusCode::usage);
    EXPECT_THAT(listen.status().message(), HasSubstr("127.0.0.1:9477"));
  }
}

TEST(TargetsTest, TheDocumentNamesTargetAndSweep) {
  EXPECT_EQ(FormatTargets("127.0.0.1:9477", "quick \"start\"\n"),
            "[{\"targets\": [\"127.0.0.1:9477\"], \"labels\": {\"sweep\": \"quick \\\"start\\\"\\u000a\"}}]\n");
}

}  // namespace
}  // namespace retort::monitoring
