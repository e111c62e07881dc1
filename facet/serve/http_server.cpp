#include "facet/serve/http_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <httplib.h>
#include <list>
#include <mutex>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/serve/page.h"

namespace facet {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostHeaderBytes = 16 << 10;  // request line and headers
constexpr int kMostRequests = 10000;           // of one connection
constexpr int kBacklog = 128;
constexpr size_t kMostDrained = 256 << 10;  // of a body that was refused
constexpr int64_t kSmallBody = 64 << 10;    // not counted: all connections together have few
constexpr const char* kPolicy =
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Waits until a socket can be read from or written to; false when the time has passed.
bool wait_for(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{socket, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<long>(left, 60000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

/// A connection as httplib reads and writes it, with a deadline and an allowance of bytes for every
/// request, which httplib itself lacks. Answers are collected and sent in one piece.
class Connection : public httplib::Stream {
 public:
  explicit Connection(int socket) : socket_(socket) {}

  /// A new request: so many bytes may be read for it until `deadline`.
  void begin(Clock::time_point deadline) {
    deadline_ = deadline;
    allowance_ = kMostHeaderBytes;
    when_read_ = nullptr;
  }
  /// The body that the request has announced; `when_read` is called once it is there.
  void allow(size_t bytes, std::function<void()> when_read) {
    allowance_ = bytes;
    when_read_ = std::move(when_read);
    if (allowance_ == 0) when_read_();
  }
  bool body_is_read() const { return allowance_ == 0; }
  bool has_input() const { return next_ < filled_; }

  bool is_readable() const override { return has_input() || wait_for(socket_, POLLIN, deadline_); }
  bool is_writable() const override { return wait_for(socket_, POLLOUT, deadline_); }

  ssize_t read(char* to, size_t size) override {
    if (allowance_ == 0) return -1;
    if (!has_input() && !fill()) return -1;
    const size_t count = std::min({size, filled_ - next_, allowance_});
    std::memcpy(to, buffer_.data() + next_, count);
    next_ += count;
    allowance_ -= count;
    if (allowance_ == 0 && when_read_) when_read_();
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* from, size_t size) override {
    output_.append(from, size);
    return static_cast<ssize_t>(size);
  }

  /// Sends what was written; false where the client is gone or too slow.
  bool flush(Clock::time_point deadline) {
    size_t sent = 0;
    while (sent < output_.size()) {
      const ssize_t count =
          send(socket_, output_.data() + sent, output_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0)
        sent += static_cast<size_t>(count);
      else if (!(count < 0 && (errno == EAGAIN || errno == EINTR)) ||
               !wait_for(socket_, POLLOUT, deadline))
        break;
    }
    const bool complete = sent == output_.size();
    output_.clear();
    if (output_.capacity() > (1 << 20)) output_.shrink_to_fit();
    return complete;
  }

  /// Says that no more comes and reads a little of what the client still sends: closing at once
  /// would take the answer away from it.
  void drain() {
    shutdown(socket_, SHUT_WR);
    const auto deadline = after(0.5);
    size_t drained = 0;
    while (drained < kMostDrained && wait_for(socket_, POLLIN, deadline)) {
      const ssize_t count = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (count <= 0) break;
      drained += static_cast<size_t>(count);
    }
  }

  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  bool fill() {
    if (!output_.empty() && !flush(deadline_)) return false;  // "100 Continue": the client waits
    for (;;) {
      const ssize_t count = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (count > 0) {
        next_ = 0;
        filled_ = static_cast<size_t>(count);
        // One byte at a time does not keep a request alive.
        return Clock::now() < deadline_;
      }
      if (count == 0 || (errno != EAGAIN && errno != EINTR)) return false;
      if (!wait_for(socket_, POLLIN, deadline_)) return false;
    }
  }

  int socket_;
  Clock::time_point deadline_;
  size_t allowance_ = 0, next_ = 0, filled_ = 0;
  std::array<char, 16 << 10> buffer_;
  std::string output_;
  std::function<void()> when_read_;
};

/// "127.0.0.1" of "127.0.0.1:8080", "::1" of "[::1]:8080" and of "::1".
std::string host_name(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  const size_t colon = host.find(':');
  return colon == host.rfind(':') ? host.substr(0, colon) : host;
}

/// The announced length of a body; -1 where there is none, -2 where it cannot be.
int64_t content_length(const httplib::Request& request) {
  const size_t count = request.get_header_value_count("Content-Length");
  if (count == 0) return -1;
  const std::string text = request.get_header_value("Content-Length");
  const bool digits = !text.empty() && text.size() <= 18 &&
                      std::all_of(text.begin(), text.end(),
                                  [](unsigned char letter) { return std::isdigit(letter) != 0; });
  return count == 1 && digits ? std::stoll(text) : -2;
}

const char* reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 411:
      return "Length Required";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 503:
      return "Service Unavailable";
    default:
      return status < 500 ? "Bad Request" : "Internal Server Error";
  }
}

std::string page_tag(const PageFile& file) {
  return fmt::format("\"{:016x}\"", std::hash<std::string_view>()(file.bytes));
}

ApiResponse page_response(const PageFile& file, const std::string& if_none_match) {
  ApiResponse response;
  response.type = file.type;
  response.headers = {{"ETag", page_tag(file)},
                      {"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", kPolicy}};
  if (if_none_match == page_tag(file))
    response.status = 304;
  else
    response.body = file.bytes;
  return response;
}

/// What every answer says to a browser.
void complete_headers(ApiResponse& response) {
  response.headers.emplace("Cache-Control", "no-store");
  response.headers["X-Content-Type-Options"] = "nosniff";
  response.headers["Referrer-Policy"] = "no-referrer";
  response.headers["Cross-Origin-Resource-Policy"] = "same-origin";
  response.headers["X-Frame-Options"] = "DENY";
}

/// A whole answer as bytes, for those that are given before httplib has read the body.
std::string raw_answer(ApiResponse response) {
  complete_headers(response);
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Type: {}\r\n"
      "Content-Length: {}\r\n",
      response.status, reason(response.status), response.type, response.body.size());
  for (const auto& [name, value] : response.headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "\r\n" + response.body;
}

/// Bytes taken from a budget that all requests share, for as long as this lives.
class Reservation {
 public:
  explicit Reservation(std::atomic<int64_t>& budget) : budget_(budget) {}
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation() { budget_ += bytes_; }

  bool take(int64_t bytes) {
    if (budget_.fetch_sub(bytes) < bytes) {
      budget_ += bytes;
      return false;
    }
    bytes_ += bytes;
    return true;
  }

 private:
  std::atomic<int64_t>& budget_;
  int64_t bytes_ = 0;
};

}  // namespace

/// httplib's parser, routing and writer under an accept loop of our own: its own one has no bounds
/// on connections and time.
class HttpServer::Listener : private httplib::Server {
 public:
  Listener(Explorer& explorer, const HttpOptions& options);
  ~Listener() override;

  int port() const { return port_; }
  void run(const std::function<bool()>& stop);

 private:
  /// A connection under way, in a list so that others can end it.
  struct Client {
    int socket;
    bool working = false;  // on an answer, and not waiting for the client
    bool ended = false;    // by us, to make room
    Clock::time_point since = Clock::now();
  };
  using Clients = std::list<Client>;

  void accept_one();
  bool make_room(std::unique_lock<std::mutex>& lock);
  void serve(Clients::iterator client);
  bool serve_request(Connection& connection, Clients::iterator client, bool last);
  void check(httplib::Request& request, Connection& connection, Reservation& memory,
             Clients::iterator client);
  bool is_our_host(const std::string& host) const;
  void answer(const httplib::Request& request, httplib::Response& response);
  void mark(Clients::iterator client, bool working);

  Explorer& explorer_;
  HttpOptions options_;
  int port_ = 0;
  std::atomic<int64_t> budget_;
  std::mutex mutex_;
  std::condition_variable left_;
  Clients clients_;
};

HttpServer::Listener::Listener(Explorer& explorer, const HttpOptions& options)
    : explorer_(explorer),
      options_(options),
      budget_(static_cast<int64_t>(options.bytes_in_flight)) {
  // Without httplib's SO_REUSEPORT, with which two servers would share a port and not notice.
  set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  port_ = options.port;
  const bool bound =
      port_ == 0 ? (port_ = bind_to_any_port(options.host)) > 0 : bind_to_port(options.host, port_);
  if (!bound)
    throw Error({.doing = "serving at",
                 .object = fmt::format("{}:{}", options.host, options.port),
                 .found = fmt::format("that it cannot be had ({})", std::strerror(errno)),
                 .expected = "a free port and an address of this machine",
                 .cause = "--port names another one, --port 0 takes any"});
  ::listen(svr_sock_, kBacklog);  // httplib's 5 makes bursts of connections wait for a second
  const auto handler = [this](const httplib::Request& request, httplib::Response& response) {
    answer(request, response);
  };
  set_keep_alive_max_count(kMostRequests);
  set_keep_alive_timeout(static_cast<time_t>(options.idle_seconds));
  Get("/.*", handler);
  Post("/.*", handler);
}

HttpServer::Listener::~Listener() {
  if (svr_sock_ != INVALID_SOCKET) close(svr_sock_);
}

void HttpServer::Listener::run(const std::function<bool()>& stop) {
  while (!stop()) {
    pollfd waiting{svr_sock_, POLLIN, 0};
    if (poll(&waiting, 1, 50) > 0) accept_one();
  }
  std::unique_lock lock(mutex_);
  for (const Client& client : clients_) shutdown(client.socket, SHUT_RDWR);
  left_.wait(lock, [&] { return clients_.empty(); });
}

void HttpServer::Listener::accept_one() {
  const int socket = accept4(svr_sock_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) {  // too many open files, or the client is gone already
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return;
  }
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  std::unique_lock lock(mutex_);
  if (!make_room(lock)) {
    const std::string busy = raw_answer(error_response(503, "too many connections"));
    send(socket, busy.data(), busy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    close(socket);
    return;
  }
  clients_.push_front({socket});
  try {
    std::thread([this, client = clients_.begin()] { serve(client); }).detach();
  } catch (const std::system_error&) {  // the machine has no more threads
    close(socket);
    clients_.pop_front();
  }
}

/// Ends the connection that has kept us waiting longest where there are too many; false where all
/// are being worked for.
bool HttpServer::Listener::make_room(std::unique_lock<std::mutex>& lock) {
  if (clients_.size() < options_.connections) return true;
  Clients::iterator longest = clients_.end();
  for (auto client = clients_.begin(); client != clients_.end(); ++client)
    if (!client->working && !client->ended &&
        (longest == clients_.end() || client->since < longest->since))
      longest = client;
  if (longest == clients_.end()) return false;
  longest->ended = true;
  shutdown(longest->socket, SHUT_RDWR);
  return left_.wait_for(lock, std::chrono::seconds(1),
                        [&] { return clients_.size() < options_.connections; });
}

void HttpServer::Listener::mark(Clients::iterator client, bool working) {
  const std::lock_guard lock(mutex_);
  client->working = working;
  client->since = Clock::now();
}

void HttpServer::Listener::serve(Clients::iterator client) {
  try {
    const auto connection = std::make_unique<Connection>(client->socket);
    for (int count = 1; count <= kMostRequests; ++count) {
      if (!connection->has_input() &&
          !wait_for(client->socket, POLLIN, after(options_.idle_seconds)))
        break;
      if (!serve_request(*connection, client, count == kMostRequests)) break;
    }
  } catch (const std::exception&) {  // out of memory: this connection ends, the server does not
  }
  const std::lock_guard lock(mutex_);
  close(client->socket);
  clients_.erase(client);
  left_.notify_all();
}

/// One request and its answer; false where the connection ends with it.
bool HttpServer::Listener::serve_request(Connection& connection, Clients::iterator client,
                                         bool last) {
  connection.begin(after(options_.request_seconds));
  Reservation memory(budget_);
  bool closed = false, parsed = false;
  try {
    const bool answered = process_request(connection, last, closed, [&](httplib::Request& request) {
      parsed = true;
      check(request, connection, memory, client);
    });
    mark(client, false);  // a client that does not take its answer gives way like a silent one
    const bool sent = connection.flush(after(options_.request_seconds));
    if (sent && !(parsed && connection.body_is_read())) connection.drain();
    return answered && sent && parsed && connection.body_is_read() && !closed && !last;
  } catch (const ApiError& refusal) {  // before the body was read
    const std::string text =
        raw_answer(error_response(refusal.status, refusal.what(), refusal.where));
    connection.write(text.data(), text.size());
    if (connection.flush(after(1))) connection.drain();
    return false;
  }
}

bool HttpServer::Listener::is_our_host(const std::string& host) const {
  const std::string name = host_name(host);
  const auto is = [&](const std::string& allowed) { return host_name(allowed) == name; };
  return name == "localhost" || name == "127.0.0.1" || name == "::1" || is(options_.host) ||
         std::any_of(options_.allowed_hosts.begin(), options_.allowed_hosts.end(), is);
}

/// All that can be refused before a body is read. Also takes away what httplib would do on its own:
/// compress answers, which takes longer than making them, and cut them into ranges.
void HttpServer::Listener::check(httplib::Request& request, Connection& connection,
                                 Reservation& memory, Clients::iterator client) {
  request.headers.erase("Accept-Encoding");
  request.headers.erase("Range");
  request.ranges.clear();
  connection.allow(0, [] {});
  if (!is_our_host(request.get_header_value("Host")))
    throw ApiError(403, "the Host header names another server; --allow-host lets a name in");
  if (request.has_header("Transfer-Encoding") || request.has_header("Content-Encoding"))
    throw ApiError(411, "a body must come whole, with a Content-Length and not encoded");
  const int64_t length = content_length(request);
  if (length < -1) throw ApiError(400, "the Content-Length is no number");

  const Explorer::Route* route = Explorer::route(request.path);
  const bool is_page = route == nullptr && find_page_file(request.path) != nullptr;
  if (route == nullptr && !is_page) throw ApiError(404, "there is nothing at this address");
  // "same-site" would be other ports of this machine.
  const std::string site = request.get_header_value("Sec-Fetch-Site");
  if (route != nullptr && !site.empty() && site != "same-origin" && site != "none")
    throw ApiError(403, "pages of other sites may not use the API");
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  const std::string_view expected = is_page ? "GET" : route->method;
  if (method != expected) throw ApiError(405, fmt::format("this address takes {}", expected));
  if (method == "GET") {
    if (length > 0) throw ApiError(413, "this address takes no body");
    mark(client, true);
    return;
  }
  if (length == -1) throw ApiError(411, "a Content-Length is needed");
  route->check_body(request.get_header_value("Content-Type"), static_cast<size_t>(length));
  if (length > kSmallBody && !memory.take(length))
    throw ApiError(503, "too many large requests at once");
  connection.allow(static_cast<size_t>(length), [this, client] { mark(client, true); });
}

void HttpServer::Listener::answer(const httplib::Request& request, httplib::Response& response) {
  ApiResponse result;
  if (const PageFile* file = find_page_file(request.path);
      file != nullptr && Explorer::route(request.path) == nullptr) {
    result = page_response(*file, request.get_header_value("If-None-Match"));
  } else {
    ApiRequest plain;
    plain.method = request.method == "HEAD" ? "GET" : request.method;
    plain.path = request.path;
    plain.query = request.params;
    plain.content_type = request.get_header_value("Content-Type");
    plain.body = request.body;
    plain.if_none_match = request.get_header_value("If-None-Match");
    result = explorer_.handle(plain);
  }
  complete_headers(result);
  response.status = result.status;
  for (const auto& [name, value] : result.headers) response.set_header(name, value);
  if (!result.body.empty()) {
    response.body = std::move(result.body);
    response.set_header("Content-Type", result.type);
  }
}

HttpServer::HttpServer(Explorer& explorer, const HttpOptions& options)
    : listener_(std::make_unique<Listener>(explorer, options)) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return listener_->port(); }

void HttpServer::run(const std::function<bool()>& stop) { listener_->run(stop); }

}  // namespace facet
