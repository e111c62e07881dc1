// What ranks have to know of the network before they meet. LibTorch would find out too, but it
// writes of it to stderr, and its messages do not name the cause.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace facet {

/// Whether this machine can listen on a port.
bool port_is_free(int64_t port);

/// Waits until somebody listens on a port of a host; false after `timeout`.
bool wait_for_listener(const std::string& host, int64_t port, std::chrono::milliseconds timeout);

/// The address of this machine on the way to a host, to which that host can connect; empty if there
/// is no such host.
std::string own_address(const std::string& host);

}  // namespace facet
