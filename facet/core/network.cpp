#include "facet/core/network.h"

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace facet {

namespace {

using Clock = std::chrono::steady_clock;

class Socket {
 public:
  Socket(int family, int type) : descriptor_(socket(family, type | SOCK_CLOEXEC, 0)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The addresses of a host; null if it has none.
std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses_of(const std::string& host,
                                                                int64_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  return {found, freeaddrinfo};
}

/// Whether a connection comes about within `timeout`.
bool can_connect(const addrinfo& address, std::chrono::milliseconds timeout) {
  const Socket socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK);
  if (socket.descriptor() < 0) return false;
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return true;
  pollfd state{socket.descriptor(), POLLOUT, 0};
  if (errno != EINPROGRESS || poll(&state, 1, static_cast<int>(timeout.count())) <= 0) return false;
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

}  // namespace

bool port_is_free(int64_t port) {
  const Socket socket(AF_INET, SOCK_STREAM);
  const int yes = 1;  // as a server does: connections that have ended do not count
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  return bind(socket.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
         0;
}

bool wait_for_listener(const std::string& host, int64_t port, std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  for (;;) {
    const auto addresses = addresses_of(host, port);
    for (const addrinfo* next = addresses.get(); next != nullptr; next = next->ai_next)
      if (can_connect(*next, std::chrono::milliseconds(1000))) return true;
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::string own_address(const std::string& host) {
  const auto addresses = addresses_of(host, 1);
  for (const addrinfo* next = addresses.get(); next != nullptr; next = next->ai_next) {
    // Connecting a datagram socket sends nothing: it only looks up the way.
    const Socket socket(next->ai_family, SOCK_DGRAM);
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    char text[NI_MAXHOST] = "";
    if (connect(socket.descriptor(), next->ai_addr, next->ai_addrlen) == 0 &&
        getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) == 0)
      return text;
  }
  return "";
}

}  // namespace facet
