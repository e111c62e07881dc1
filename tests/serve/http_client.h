// A client for tests and measurements of the server: sends whatever bytes it is given, also those
// that no proper client would send, and reads answers by their Content-Length.
#pragma once

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cstring>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace facet {

struct HttpAnswer {
  int status = 0;  ///< 0 where the server closed the connection without one
  std::string head, body;

  /// The value of a header, empty where it is absent.
  std::string header(std::string_view name) const {
    std::string lower = head, wanted = "\r\n" + std::string(name) + ": ";
    const auto low = [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); };
    std::transform(lower.begin(), lower.end(), lower.begin(), low);
    std::transform(wanted.begin(), wanted.end(), wanted.begin(), low);
    const size_t start = lower.find(wanted);
    if (start == std::string::npos) return "";
    const size_t begin = start + wanted.size();
    return head.substr(begin, head.find('\r', begin) - begin);
  }
};

class HttpClient {
 public:
  explicit HttpClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ::close(socket_);
      throw std::runtime_error("cannot connect");
    }
  }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient() { ::close(socket_); }

  /// False where the server has closed the connection, or takes nothing for ten seconds.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count =
          ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) {
        bytes.remove_prefix(static_cast<size_t>(count));
        continue;
      }
      if (errno != EAGAIN || !ready(POLLOUT, 10000)) return false;
    }
    return true;
  }

  /// The next answer; one without a body for HEAD and 304.
  HttpAnswer receive(bool has_body = true, int milliseconds = 30000) {
    HttpAnswer answer = receive_head(milliseconds);
    while (answer.status == 100) answer = receive_head(milliseconds);
    if (!has_body || answer.status == 0 || answer.status == 304) return answer;
    const auto length = static_cast<size_t>(std::atoll(answer.header("Content-Length").c_str()));
    while (input_.size() < length)
      if (!more(milliseconds)) return answer;
    answer.body = input_.substr(0, length);
    input_.erase(0, length);
    return answer;
  }

  /// The next answer up to its body, also one that only invites a body.
  HttpAnswer receive_head(int milliseconds = 30000) {
    HttpAnswer answer;
    size_t end = 0;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos)
      if (!more(milliseconds)) return answer;
    answer.head = input_.substr(0, end + 2);
    input_.erase(0, end + 4);
    answer.status = std::atoi(answer.head.c_str() + std::strlen("HTTP/1.1 "));
    return answer;
  }

  /// Says that nothing more is sent; the answer can still be received.
  void finish() { shutdown(socket_, SHUT_WR); }
  /// Whether the server closes the connection within a minute without a further word.
  bool is_closed() { return ready(POLLIN, 60000) && !more(0); }

  HttpAnswer get(const std::string& target, const std::string& headers = "") {
    send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
    return receive();
  }
  HttpAnswer post(const std::string& target, const std::string& body,
                  const std::string& type = "application/json") {
    send("POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return receive();
  }

 private:
  bool ready(short events, int milliseconds) const {
    pollfd waiting{socket_, events, 0};
    return poll(&waiting, 1, milliseconds) > 0;
  }
  bool more(int milliseconds) {
    if (!ready(POLLIN, milliseconds)) return false;
    char buffer[65536];
    const ssize_t count = recv(socket_, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    input_.append(buffer, static_cast<size_t>(count));
    return true;
  }

  int socket_;
  std::string input_;
};

}  // namespace facet
