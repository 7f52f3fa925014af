// A store and leases in S3, as moto plays it. It checks signatures as Amazon does.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http_client.h"
#include "http_leases.h"
#include "http_store.h"
#include "support/scratch.h"
#include "system/descriptor.h"
#include "system/whole_io.h"

namespace kiln::remote {
namespace {

using namespace std::chrono_literals;

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string some_name(64, 'a');
const std::string other_name(64, 'b');

constexpr std::uint64_t plenty = 1 << 20;

/// Makes a bucket, a user who may use it, and a role with a session; says where they are; ends with its input.
constexpr const char* script = R"(
import hashlib, json, os, sys
os.environ['MOTO_S3_DEFAULT_MAX_KEYS'] = '2'
import boto3, flask, requests
from moto.iam import access_control
from moto.server import ThreadedMotoServer
# moto takes any hash of a body, and checks a path as it reads it, which refuses what boto3 signs. Amazon takes the right hash,
# and checks a path as it was sent.
made = access_control.IAMRequestBase._create_aws_request
def as_sent(self):
    self._path = 'http://moto' + flask.request.environ['RAW_URI']
    if hashlib.sha256(flask.request.get_data()).hexdigest() != flask.request.headers['x-amz-content-sha256']:
        self._raise_signature_does_not_match()
    return made(self)
access_control.IAMRequestBase._create_aws_request = as_sent
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
url = 'http://%s:%d' % server.get_host_and_port()
def client(service, **keys):
    keys = keys or dict(aws_access_key_id='first', aws_secret_access_key='first')
    return boto3.client(service, endpoint_url=url, region_name='eu-west-3', **keys)
policy = json.dumps({'Version': '2012-10-17', 'Statement': [{'Effect': 'Allow', 'Action': '*', 'Resource': '*'}]})
iam = client('iam')
iam.create_user(UserName='user')
iam.put_user_policy(UserName='user', PolicyName='all', PolicyDocument=policy)
key = iam.create_access_key(UserName='user')['AccessKey']
role = iam.create_role(RoleName='role', AssumeRolePolicyDocument=policy)['Role']
iam.put_role_policy(RoleName='role', PolicyName='all', PolicyDocument=policy)
session = client('sts').assume_role(RoleArn=role['Arn'], RoleSessionName='session')['Credentials']
client('s3').create_bucket(Bucket='kernels', CreateBucketConfiguration={'LocationConstraint': 'eu-west-3'})
requests.post(url + '/moto-api/reset-auth', data='0')
print(url, key['AccessKeyId'], key['SecretAccessKey'], session['AccessKeyId'],
      session['SecretAccessKey'], session['SessionToken'], flush=True)
os.close(1)
sys.stdin.read()
)";

/// Whoever may ask.
struct Keys {
  std::string key, secret, session;
};

/// Runs as long as this lives.
class Moto {
 public:
  Moto() {
    std::array<int, 2> input{};
    std::array<int, 2> output{};
    if (::pipe2(input.data(), O_CLOEXEC) != 0 || ::pipe2(output.data(), O_CLOEXEC) != 0) return;
    input_ = system::Descriptor(input[1]);
    const system::Descriptor said(output[0]);
    {
      const system::Descriptor its_input(input[0]);
      const system::Descriptor its_output(output[1]);
      process_ = ::fork();
      if (process_ == 0) run(its_input.get(), its_output.get());
    }
    std::istringstream words(system::read_whole(said.get(), 4096).value_or(""));
    words >> url >> user.key >> user.secret >> role.key >> role.secret >> role.session;
  }
  Moto(const Moto&) = delete;
  Moto& operator=(const Moto&) = delete;
  ~Moto() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  std::string url;
  Keys user, role;

 private:
  [[noreturn]] static void run(int input, int output) {
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    ::execlp("python3", "python3", "-c", script, nullptr);
    ::_exit(127);
  }

  system::Descriptor input_;
  pid_t process_ = 0;
};

class S3StoreTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::system("python3 -c 'import moto.server, boto3' 2> /dev/null") == 0)
      moto = std::make_unique<Moto>();
  }
  static void TearDownTestSuite() { moto.reset(); }

  void SetUp() override {
    if (!moto) GTEST_SKIP() << "python3 has no moto[server] on this machine";
    ASSERT_FALSE(moto->role.session.empty()) << "moto does not start";
  }

  /// Each test has a folder of its own. It is none that a url could spell as it is.
  [[nodiscard]] static RemoteAddress address() {
    RemoteAddress address;
    address.kind = RemoteAddress::Kind::s3;
    address.url = "s3://kernels/a+b c/" +
                  std::string(testing::UnitTest::GetInstance()->current_test_info()->name());
    address.endpoint = moto->url;
    address.region = "eu-west-3";
    address.timeout = 10s;
    return address;
  }

  /// Opens it as somebody who has these keys.
  template <class Open>
  static auto as(const Keys& keys, const Open& open) {
    const test::ScopedVariable key("AWS_ACCESS_KEY_ID", keys.key);
    const test::ScopedVariable secret("AWS_SECRET_ACCESS_KEY", keys.secret);
    const test::ScopedVariable session("AWS_SESSION_TOKEN", keys.session);
    return open().value();
  }
  static std::unique_ptr<ObjectStore> store_of(
      const Keys& keys, const RemoteAddress& address = S3StoreTest::address()) {
    return as(keys, [&] { return open_http(address); }).objects;
  }
  static std::unique_ptr<ObjectStore> store() { return store_of(moto->user); }
  static HttpLeases leases() {
    return HttpLeases(as(moto->user, [] { return HttpClient::open(address()); }), 300ms, 150ms);
  }

  static std::unique_ptr<Moto> moto;
};

std::unique_ptr<Moto> S3StoreTest::moto;

TEST_F(S3StoreTest, GivesWhatWasPut) {
  const auto store = this->store();
  EXPECT_EQ(store->get(some_name, plenty).value(), std::nullopt);
  EXPECT_TRUE(store->put(some_name, "bytes").value());
  EXPECT_FALSE(store->put(some_name, "bytes").value());
  EXPECT_EQ(store->get(some_name, plenty).value(), "bytes");
  const std::string large(3 << 20, 'x');
  EXPECT_TRUE(store->put(other_name, large).value());
  EXPECT_EQ(store->get(other_name, large.size()).value(), large);
  const auto bounded = store->get(other_name, 100);
  ASSERT_FALSE(bounded);
  EXPECT_EQ(bounded.error().code, ErrorCode::too_large);
}

TEST_F(S3StoreTest, GivesHints) {
  const auto store = this->store();
  const auto request = digest_of("a request");
  EXPECT_THAT(store->hints(request, 9).value(), IsEmpty());
  ASSERT_TRUE(store->add_hint(request, some_name, "one"));
  ASSERT_TRUE(store->add_hint(request, other_name, "two"));
  const auto hints = store->hints(request, 9).value();
  ASSERT_THAT(hints, SizeIs(2));
  EXPECT_EQ(hints[0].object, other_name);
  EXPECT_EQ(hints[1].record.value(), "one");
}

TEST_F(S3StoreTest, ListsRequestsPageByPage) {
  const auto store = this->store();
  EXPECT_THAT(store->requests().value(), IsEmpty());
  std::vector<Digest> requests;
  for (int number = 0; number < 5; ++number) {
    requests.push_back(digest_of(std::to_string(number)));
    ASSERT_TRUE(store->add_hint(requests.back(), some_name, "hint"));
  }
  ASSERT_TRUE(store->put(some_name, "bytes"));
  std::ranges::sort(requests);
  EXPECT_EQ(store->requests().value(), requests);
}

TEST_F(S3StoreTest, TakesKeysThatEnd) {
  const auto store = store_of(moto->role);
  EXPECT_TRUE(store->put(some_name, "bytes").value());
  EXPECT_EQ(store->get(some_name, plenty).value(), "bytes");
  EXPECT_THAT(store->requests().value(), IsEmpty());
}

TEST_F(S3StoreTest, SaysThatKeysAreWrong) {
  auto wrong = moto->user;
  wrong.secret.back() = wrong.secret.back() == 'x' ? 'y' : 'x';
  const auto store = store_of(wrong);
  const std::vector<Error> errors{store->put(some_name, "bytes").error(), store->requests().error(),
                                  store->get(some_name, plenty).error()};
  for (const auto& error : errors) {
    EXPECT_EQ(error.code, ErrorCode::io_failed);
    EXPECT_THAT(error.message,
                AllOf(HasSubstr("s3://kernels/"), HasSubstr("answers 403 (SignatureDoesNotMatch)"),
                      HasSubstr("check AWS_ACCESS_KEY_ID"), Not(HasSubstr(wrong.secret))));
  }
}

TEST_F(S3StoreTest, SaysThatThereIsNoBucket) {
  auto address = this->address();
  address.url = "s3://nothing/here";
  const auto got = store_of(moto->user, address)->get(some_name, plenty);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, AllOf(HasSubstr("s3://nothing/here"), HasSubstr("NoSuchBucket"),
                                         HasSubstr("make the bucket")));
}

TEST_F(S3StoreTest, LeavesRemovingToTheBucket) {
  const auto report = store()->collect({});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(report.error().message, HasSubstr("lifecycle rule"));
}

TEST_F(S3StoreTest, OneHasALease) {
  const std::string ours(32, '1');
  const std::string theirs(32, '2');
  auto us = leases();
  auto them = leases();
  EXPECT_EQ(us.take(some_name, ours).value(), LeaseAnswer::taken);
  EXPECT_EQ(them.take(some_name, theirs).value(), LeaseAnswer::held);
  EXPECT_TRUE(us.prolong(some_name, ours).value());
  EXPECT_EQ(them.take(some_name, theirs).value(), LeaseAnswer::held);
  std::this_thread::sleep_for(310ms);
  EXPECT_EQ(them.take(some_name, theirs).value(), LeaseAnswer::taken);
  EXPECT_EQ(us.take(some_name, ours).value(), LeaseAnswer::held);
  EXPECT_FALSE(us.prolong(some_name, ours).value());
  ASSERT_TRUE(them.release(some_name, theirs, false));
  EXPECT_EQ(us.take(some_name, ours).value(), LeaseAnswer::taken);
  ASSERT_TRUE(us.release(some_name, ours, true));
  EXPECT_EQ(them.take(some_name, theirs).value(), LeaseAnswer::failed);
}

}  // namespace
}  // namespace kiln::remote
