#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <thread>

#include "worker/gang/c10d_store.h"
#include "worker/gang/gang_store.h"
#include "worker/gang/store_protocol.h"

namespace retort::worker {
namespace {

using std::chrono::milliseconds;

StoreDeadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(5); }

c10::intrusive_ptr<c10d::Store> Connect(const GangStore& store, std::uint64_t generation = 1,
                                        milliseconds deadline = milliseconds(5000)) {
  return ConnectGangStore({{0}, 1, {generation}, store.address(), "127.0.0.1", deadline}).value();
}

TEST(GangStore, ValuesGoFromOneMemberToAnother) {
  const auto store = OpenGangStore("127.0.0.1").value();
  const auto writer = Connect(*store), reader = Connect(*store);
  const std::vector<std::uint8_t> value = {0, 1, 255, 0, 7};
  writer->set("key", value);
  EXPECT_EQ(reader->get("key"), value);
  EXPECT_TRUE(reader->check({"key"}));
  EXPECT_FALSE(reader->check({"key", "other"}));
  EXPECT_EQ(writer->add("count", 5), 5);
  EXPECT_EQ(reader->add("count", -2), 3);
  EXPECT_TRUE(reader->deleteKey("key"));
  EXPECT_FALSE(reader->deleteKey("key"));
  EXPECT_EQ(writer->getNumKeys(), 1);
}

TEST(GangStore, LargeValueTravelsWhole) {
  const auto store = OpenGangStore("127.0.0.1").value();
  const auto client = Connect(*store);
  std::vector<std::uint8_t> value(300'000);
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<std::uint8_t>(i * 31);
  client->set("big", value);
  EXPECT_EQ(client->get("big"), value);
}

TEST(GangStore, KeysOfGenerationsAreApart) {
  const auto store = OpenGangStore("127.0.0.1").value();
  Connect(*store, 1)->set("key", std::vector<std::uint8_t>{1});
  EXPECT_FALSE(Connect(*store, 2)->check({"key"}));
}

TEST(GangStore, MissingKeyIsAnErrorAtTheDeadline) {
  const auto store = OpenGangStore("127.0.0.1").value();
  const auto client = Connect(*store, 1, milliseconds(60));
  EXPECT_THROW((void)client->get("never"), std::runtime_error);
}

TEST(GangStore, ForeignProtocolIsClosedAndOthersGoOn) {
  const auto store = OpenGangStore("127.0.0.1").value();
  const auto member = Connect(*store);
  const std::string address = store->address();
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1)));
  for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\1\0\0\0\11", 5)}) {
    const StoreSocket stranger = ConnectTo("127.0.0.1", port, Soon()).value();
    ASSERT_TRUE(SendAll(stranger, garbage, Soon()).ok());
    std::string reply;
    EXPECT_FALSE(ReceiveSome(stranger, reply, Soon()).ok());
    EXPECT_EQ(reply, "");
  }
  member->set("key", std::vector<std::uint8_t>{1});
  EXPECT_TRUE(member->check({"key"}));
}

TEST(GangStore, StrangersWithoutTheSecretAreTurnedAway) {
  const auto store = OpenGangStore("127.0.0.1").value(), other = OpenGangStore("127.0.0.1").value();
  const auto member = Connect(*store);
  member->set("key", std::vector<std::uint8_t>{1});
  const std::string address = store->address(), foreign = other->address();
  const std::string place = address.substr(0, address.find('/'));
  for (const std::string& secret :
       {std::string(), std::string("/"), foreign.substr(foreign.find('/')), address.substr(address.find('/'), 20)}) {
    const auto refused = ConnectGangStore({{0}, 1, {1}, place + secret, "127.0.0.1", milliseconds(500)});
    EXPECT_FALSE(refused.ok()) << secret;
  }
  // Asking first and admitting oneself later does not help either.
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1)));
  const StoreSocket stranger = ConnectTo("127.0.0.1", port, Soon()).value();
  ASSERT_TRUE(SendAll(stranger, EncodeStoreRequest({StoreOperation::get, "gang/1/key", {}}), Soon()).ok());
  std::string reply;
  EXPECT_FALSE(ReceiveSome(stranger, reply, Soon()).ok());
  EXPECT_TRUE(member->check({"key"}));
}

std::uint16_t GetPort(const GangStore& store) {
  const std::string address = store.address();
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1)));
}

bool IsClosed(const StoreSocket& socket, std::chrono::milliseconds wait) {
  std::string reply;
  pollfd entry{socket.get(), POLLIN, 0};
  return poll(&entry, 1, static_cast<int>(wait.count())) == 1 && !ReceiveSome(socket, reply, Soon()).ok();
}

TEST(GangStore, SilentStrangerIsDroppedAndAMemberIsNot) {
  const auto store = OpenGangStore("127.0.0.1", {milliseconds(200), 64}).value();
  const auto member = Connect(*store);
  const StoreSocket stranger = ConnectTo("127.0.0.1", GetPort(*store), Soon()).value();
  EXPECT_TRUE(IsClosed(stranger, milliseconds(5000)));
  member->set("key", std::vector<std::uint8_t>{1});
  EXPECT_TRUE(member->check({"key"}));
}

TEST(GangStore, StrangersDoNotLockAMemberOut) {
  const auto store = OpenGangStore("127.0.0.1", {milliseconds(60'000), 4}).value();
  std::vector<StoreSocket> strangers;
  for (int i = 0; i < 7; ++i) strangers.push_back(ConnectTo("127.0.0.1", GetPort(*store), Soon()).value());
  const auto member = Connect(*store);
  member->set("key", std::vector<std::uint8_t>{1});
  EXPECT_TRUE(member->check({"key"}));
  // The oldest have made room; the newest are still there.
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(IsClosed(strangers[i], milliseconds(5000))) << i;
  EXPECT_FALSE(IsClosed(strangers[6], milliseconds(0)));
}

TEST(GangStore, StrangerCannotMakeItKeepALongFrame) {
  const auto store = OpenGangStore("127.0.0.1").value();
  const StoreSocket stranger = ConnectTo("127.0.0.1", GetPort(*store), Soon()).value();
  ASSERT_TRUE(SendAll(stranger, std::string("\201\0\0\0", 4), Soon()).ok());  // 129 bytes to come
  EXPECT_TRUE(IsClosed(stranger, milliseconds(5000)));
}

double ProcessCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(GangStore, WithoutADescriptorItWaitsInsteadOfSpinning) {
  const auto store = OpenGangStore("127.0.0.1").value();
  const StoreSocket waiting(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit none = limit;
  none.rlim_cur = 3;  // whatever is open stays open
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(GetPort(*store));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int connected = connect(waiting.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const double before = ProcessCpuSeconds();
  std::this_thread::sleep_for(milliseconds(500));
  const double spent = ProcessCpuSeconds() - before;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_EQ(connected, 0);
  EXPECT_LT(spent, 0.1);
  // Whoever waited is served once there are descriptors again.
  const std::string secret = store->address().substr(store->address().find('/') + 1);
  ASSERT_TRUE(SendAll(waiting, EncodeStoreRequest({StoreOperation::admit, {}, secret}), Soon()).ok());
  std::string reply;
  EXPECT_TRUE(ReceiveSome(waiting, reply, Soon()).ok());
  EXPECT_EQ(reply, EncodeStoreReply(true, {}));
}

TEST(GangStore, OwnersEndIsAnErrorForItsMembers) {
  auto store = OpenGangStore("127.0.0.1").value();
  const auto member = Connect(*store);
  store.reset();
  EXPECT_THROW((void)member->check({"key"}), std::runtime_error);
}

TEST(GangStore, NobodyListeningIsAnError) {
  std::string address;
  { address = OpenGangStore("127.0.0.1").value()->address(); }
  const auto store = ConnectGangStore({{0}, 1, {1}, address, "127.0.0.1", milliseconds(500)});
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.status().message(), ::testing::HasSubstr(address.substr(0, address.find('/'))));
}

TEST(StoreWire, RequestsSurviveEncodingByteByByte) {
  const StoreRequest sent{StoreOperation::set, "a key", std::string("\0\1\2", 3)};
  std::string arrived;
  for (const char byte : EncodeStoreRequest(sent)) {
    EXPECT_FALSE(TakeStoreFrame(arrived).value().has_value());
    arrived.push_back(byte);
  }
  const auto frame = TakeStoreFrame(arrived).value();
  ASSERT_TRUE(frame.has_value());
  const StoreRequest received = DecodeStoreRequest(*frame).value();
  EXPECT_EQ(received.operation, sent.operation);
  EXPECT_EQ(received.key, sent.key);
  EXPECT_EQ(received.value, sent.value);
  EXPECT_TRUE(arrived.empty());
}

TEST(StoreWire, BytesThatAreNoRequestAreRefused) {
  for (const std::string& bytes : {std::string(), std::string("\2\0\0\0", 4), std::string("\0\0\0\0\0", 5),
                                   std::string("\7\0\0\0\0", 5), std::string("\2\5\0\0\0abcd", 9)}) {
    EXPECT_EQ(DecodeStoreRequest(bytes).status().code(), StatusCode::damage);
  }
}

}  // namespace
}  // namespace retort::worker
