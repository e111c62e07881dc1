// The server on Boost.Asio, with Beast's parser (http_text.h). One thread, the one that calls
// run(), accepts, reads, parses and writes for all connections and never waits for any of them.
// Answers are made on worker threads, one for each request that is worked on, so that a handler may
// wait for the model as long as it needs to. Connections are touched by run()'s thread alone, but
// for the request that a worker reads while nothing else is done for it; so there are no locks.
// Every 50 milliseconds, when `stop` is asked too, that thread closes the connections that are
// late, which ends whatever they wait for.
#include "facet/serve/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/serve/http_rules.h"
#include "facet/serve/worker_threads.h"

namespace facet {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr size_t kReadBytes = 16 << 10;     // at a time
constexpr size_t kMostDrained = 256 << 10;  // of a body that was refused
constexpr double kDrainSeconds = 0.5;
constexpr double kLastSeconds = 1;         // for an answer to be taken when the server ends
constexpr uint64_t kSmallBody = 64 << 10;  // not counted: all connections together have few
constexpr auto kTurn = std::chrono::milliseconds(50);

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Programs that this one starts do not get its connections.
void close_on_exec(int socket) { fcntl(socket, F_SETFD, FD_CLOEXEC); }

std::vector<std::string> own_hosts(const HttpOptions& options) {
  std::vector<std::string> hosts = options.allowed_hosts;
  hosts.push_back(options.host);
  return hosts;
}

}  // namespace

// With a name, because HttpServer::Listener, which other files know, has these types inside.
namespace http_server {

/// Bytes taken from a budget that all requests share, until they are given back.
class Reservation {
 public:
  explicit Reservation(std::atomic<int64_t>& budget) : budget_(budget) {}
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation() { give_back(); }

  bool take(int64_t bytes) {
    if (budget_.fetch_sub(bytes) < bytes) {
      budget_ += bytes;
      return false;
    }
    bytes_ += bytes;
    return true;
  }
  void give_back() { budget_ += std::exchange(bytes_, 0); }

 private:
  std::atomic<int64_t>& budget_;
  int64_t bytes_ = 0;
};

/// What all connections share.
struct Service {
  Service(RequestHandler& handler_, const HttpOptions& options_)
      : handler(handler_),
        options(options_),
        rules(handler_, own_hosts(options_), options_.token),
        budget(static_cast<int64_t>(options_.bytes_in_flight)),
        workers(options_.connections) {}

  RequestHandler& handler;
  const HttpOptions options;
  const RequestRules rules;
  std::atomic<int64_t> budget;
  bool ending = false;
  asio::io_context io;    // with the connections: what they wait for keeps them alive
  WorkerThreads workers;  // ends first, because it gives answers to `io`
};

/// One client, from its first request to its last. Lives as long as something is under way for it:
/// a step that starts no further one ends the connection.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Service& service, tcp::socket socket)
      : service_(service), socket_(std::move(socket)), memory_(service.budget) {}

  void start() { await_request(); }

  /// Whether it waits for us, and not we for the client.
  bool is_working() const { return state_ == State::working; }
  /// Since when it has been in its present state.
  Clock::time_point since() const { return since_; }
  bool is_late() const { return Clock::now() >= deadline_; }

  bool is_open() const { return socket_.is_open(); }
  /// What is under way for it then ends with an error.
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }
  /// The server ends: no further request is taken, an answer has a moment to be taken.
  void end() {
    if (state_ == State::reading) close();
    if (state_ == State::writing) deadline_ = std::min(deadline_, after(kLastSeconds));
  }

 private:
  enum class State { reading, working, writing };

  void enter(State state, Clock::time_point deadline) {
    state_ = state;
    since_ = Clock::now();
    deadline_ = deadline;
  }

  void await_request();
  void read_more();
  void take_bytes(error_code error, size_t count);
  void parse();
  bool check_head();
  void invite_body();
  void finish_invitation(error_code error);
  void answer();
  static void work(std::shared_ptr<Connection> self);
  void send(ApiResponse answer);
  void write_output(void (Connection::*next)(error_code));
  void finish_answer(error_code error);
  void drain();

  Service& service_;
  tcp::socket socket_;
  std::array<char, kReadBytes> chunk_;
  std::string input_;                    // what was read and not parsed yet
  std::optional<RequestParser> parser_;  // of a request that has begun
  RequestHead head_;
  ApiRequest request_;
  Reservation memory_;
  std::string output_head_, output_body_;
  bool keep_alive_ = false;
  size_t drained_ = 0;
  State state_ = State::reading;
  Clock::time_point since_, deadline_;
};

void Connection::await_request() {
  enter(State::reading, after(service_.options.idle_seconds));
  if (input_.empty())
    read_more();
  else
    parse();  // it came with the one before
}

void Connection::read_more() {
  socket_.async_read_some(asio::buffer(chunk_),
                          [self = shared_from_this()](error_code error, size_t count) {
                            self->take_bytes(error, count);
                          });
}

void Connection::take_bytes(error_code error, size_t count) {
  input_.append(chunk_.data(), count);
  if (!error) return parse();
  // One who has said that nothing more comes may still listen.
  if (error == asio::error::eof && parser_)
    send(error_response(400, "the request ends before its end"));
}

/// Goes on with the present request as far as it has come.
void Connection::parse() {
  if (!parser_) {
    deadline_ = after(service_.options.request_seconds);  // and stays, however often bytes come
    parser_.emplace();
    head_ = {};
    keep_alive_ = false;
  }
  try {
    for (size_t used = 1; used > 0 && !input_.empty();) {
      const bool in_head = !parser_->has_head();
      used = parser_->take(input_);
      input_.erase(0, used);
      if (in_head && parser_->has_head() && !check_head()) return;
      if (parser_->is_done()) return answer();
    }
  } catch (const ApiError& error) {
    return send(error_response(error.status, error.what(), error.where));
  }
  if (std::exchange(head_.awaits_continue, false))
    invite_body();
  else
    read_more();
}

/// All that can be refused before a body is read; false where the request was.
bool Connection::check_head() {
  head_ = parser_->head();
  // What comes after a body that is not read could be taken for a request.
  keep_alive_ = parser_->is_done() && !head_.encoded && head_.keep_alive;
  CheckedRequest checked = service_.rules.check(head_);
  const uint64_t length = head_.length.value_or(0);
  if (!checked.refusal && length > kSmallBody && !memory_.take(static_cast<int64_t>(length)))
    checked.refusal = error_response(503, "too many large requests at once");
  if (checked.refusal) {
    send(std::move(*checked.refusal));
    return false;
  }
  request_ = std::move(checked.request);
  return true;
}

void Connection::invite_body() {
  output_head_ = "HTTP/1.1 100 Continue\r\n\r\n";
  write_output(&Connection::finish_invitation);
}

void Connection::finish_invitation(error_code error) {
  if (!error) read_more();
}

void Connection::answer() {
  if (!is_open()) return;  // it had to give way
  keep_alive_ = head_.keep_alive;
  request_.body = parser_->take_body();
  if (auto page = service_.rules.page_answer(request_)) return send(std::move(*page));
  enter(State::working, Clock::time_point::max());
  if (!service_.workers.run([self = shared_from_this()]() mutable { work(std::move(self)); }))
    send(error_response(503, "the machine has no thread for this request"));
}

/// On a worker's thread, which keeps nothing of the connection when it is done.
void Connection::work(std::shared_ptr<Connection> self) {
  Service& service = self->service_;
  ApiResponse answer;
  try {
    answer = service.handler.handle(self->request_);
  } catch (const std::exception& error) {
    answer = error_response(500, fmt::format("a defect in facet: {}", error.what()));
  }
  asio::post(service.io, [self = std::move(self), answer = std::move(answer)]() mutable {
    self->send(std::move(answer));
  });
}

void Connection::send(ApiResponse answer) {
  request_ = {};
  parser_.reset();
  memory_.give_back();
  if (service_.ending) keep_alive_ = false;
  complete_headers(answer);
  output_head_ = answer_head(answer, keep_alive_);
  if (head_.method != "HEAD") output_body_ = std::move(answer.body);
  // A client that does not take its answer gives way like a silent one.
  enter(State::writing, after(service_.ending ? kLastSeconds : service_.options.request_seconds));
  write_output(&Connection::finish_answer);
}

void Connection::write_output(void (Connection::*next)(error_code)) {
  const std::array<asio::const_buffer, 2> output = {asio::buffer(output_head_),
                                                    asio::buffer(output_body_)};
  asio::async_write(socket_, output, [self = shared_from_this(), next](error_code error, size_t) {
    ((*self).*next)(error);
  });
}

void Connection::finish_answer(error_code error) {
  output_body_ = {};
  if (error) return;
  if (keep_alive_ && !service_.ending) return await_request();
  socket_.shutdown(tcp::socket::shutdown_send, error);
  deadline_ = after(kDrainSeconds);
  input_ = {};
  drain();
}

/// Reads a little of what the client still sends: closing at once would take the answer away from
/// it.
void Connection::drain() {
  socket_.async_read_some(asio::buffer(chunk_),
                          [self = shared_from_this()](error_code error, size_t count) {
                            self->drained_ += count;
                            if (!error && self->drained_ < kMostDrained) self->drain();
                          });
}

}  // namespace http_server

class HttpServer::Listener {
 public:
  Listener(RequestHandler& handler, const HttpOptions& options)
      : service_(handler, options), acceptor_(service_.io) {
    listen();
  }

  int port() const { return port_; }
  void run(const std::function<bool()>& stop);

 private:
  using Connection = http_server::Connection;
  using Pointer = std::shared_ptr<Connection>;

  void listen();
  error_code listen_at(const tcp::endpoint& endpoint);
  void accept_next();
  void admit(tcp::socket socket);
  bool make_room();
  std::vector<Pointer> living();
  void turn();

  http_server::Service service_;
  std::vector<std::weak_ptr<Connection>> connections_;
  tcp::acceptor acceptor_;
  int port_ = 0;
  bool accepting_ = false;
};

/// Takes the first address of the host's name that can be had.
void HttpServer::Listener::listen() {
  const HttpOptions& options = service_.options;
  error_code error;
  const auto found = tcp::resolver(service_.io)
                         .resolve(options.host, std::to_string(options.port),
                                  tcp::resolver::passive | tcp::resolver::numeric_service, error);
  for (const auto& entry : found) {
    error = listen_at(entry.endpoint());
    if (!error) {
      port_ = acceptor_.local_endpoint().port();
      return;
    }
  }
  throw Error({.doing = "serving at",
               .object = fmt::format("{}:{}", options.host, options.port),
               .found = found.empty() ? std::string("no address of this name")
                                      : fmt::format("that it cannot be had ({})", error.message()),
               .expected = "a free port and an address of this machine",
               .cause = "--port names another one, --port 0 takes any"});
}

error_code HttpServer::Listener::listen_at(const tcp::endpoint& endpoint) {
  error_code error;
  acceptor_.close(error);
  acceptor_.open(endpoint.protocol(), error);
  if (error) return error;
  close_on_exec(acceptor_.native_handle());
  error_code ignored;
  if (endpoint.protocol() == tcp::v6()) acceptor_.set_option(asio::ip::v6_only(false), ignored);
  acceptor_.set_option(tcp::acceptor::reuse_address(true), ignored);
  acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  return error;
}

void HttpServer::Listener::run(const std::function<bool()>& stop) {
  const auto guard = asio::make_work_guard(service_.io);  // a turn lasts also with nothing to do
  while (!stop()) turn();
  service_.ending = true;
  error_code ignored;
  acceptor_.close(ignored);
  for (const Pointer& connection : living()) connection->end();
  while (!living().empty()) turn();
}

/// Serves for a while, then closes the connections whose time is up.
void HttpServer::Listener::turn() {
  try {
    if (!accepting_ && acceptor_.is_open()) accept_next();
    service_.io.run_for(kTurn);
  } catch (const std::exception&) {  // out of memory: that connection ends, the server does not
  }
  for (const Pointer& connection : living())
    if (connection->is_late()) connection->close();
}

void HttpServer::Listener::accept_next() {
  accepting_ = true;
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    accepting_ = false;
    if (error) return;  // too many open files, or we end: the next turn tries again
    admit(std::move(socket));
    accept_next();
  });
}

void HttpServer::Listener::admit(tcp::socket socket) {
  error_code ignored;
  close_on_exec(socket.native_handle());
  socket.set_option(tcp::no_delay(true), ignored);
  if (make_room()) {
    const auto connection = std::make_shared<Connection>(service_, std::move(socket));
    connections_.push_back(connection);
    return connection->start();
  }
  ApiResponse busy = error_response(503, "too many connections");
  complete_headers(busy);
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(answer_head(busy, false) + busy.body), ignored);
}

/// Ends the connection that has kept us waiting longest where there are too many; false where all
/// are being worked for.
bool HttpServer::Listener::make_room() {
  std::vector<Pointer> all = living();
  if (all.size() < service_.options.connections) return true;
  const auto silent =
      std::partition(all.begin(), all.end(), [](const Pointer& one) { return one->is_working(); });
  const auto longest = std::min_element(
      silent, all.end(),
      [](const Pointer& one, const Pointer& other) { return one->since() < other->since(); });
  if (longest == all.end()) return false;
  (*longest)->close();
  return true;
}

/// All connections that are open.
std::vector<HttpServer::Listener::Pointer> HttpServer::Listener::living() {
  std::vector<Pointer> all;
  std::erase_if(connections_, [&](const std::weak_ptr<Connection>& each) {
    Pointer connection = each.lock();
    if (!connection || !connection->is_open()) return true;
    all.push_back(std::move(connection));
    return false;
  });
  return all;
}

HttpServer::HttpServer(RequestHandler& handler, const HttpOptions& options)
    : listener_(std::make_unique<Listener>(handler, options)) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return listener_->port(); }

void HttpServer::run(const std::function<bool()>& stop) { listener_->run(stop); }

}  // namespace facet
