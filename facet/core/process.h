// Settings of LibTorch for the whole process, which a program makes once at its start, the messages
// of LibTorch's exceptions, the name of the machine, and who lives on it.
#pragma once

#include <exception>
#include <string>
#include <sys/types.h>

namespace facet {

/// Computes with one thread per processor unless OMP_NUM_THREADS is set. By default LibTorch counts
/// physical cores, which is one on machines (often virtual ones) that report all their processors
/// as threads of one core.
void use_all_processors();

/// Makes LibTorch's convolutions on a GPU compute in float32, as train.precision fp32 promises, and
/// not in TF32.
void use_float32_convolutions();

/// Opens what is closed of standard input, output and error, so that no file of ours gets its
/// number and what is printed into it. Reading from or writing to it still fails.
void occupy_standard_files();

/// An exception of LibTorch or of the standard library as one line.
struct LibraryFailure {
  std::string line;
  bool out_of_memory = false;
};
LibraryFailure library_failure(const std::exception& error);

/// "localhost" where it has no name.
std::string host_name();

/// Within which process ids mean the same: a boot of a machine, and a container, which often has
/// the same host name. Empty where the system does not say.
std::string process_space();

/// Whether there is a process of this number in our process space. One that has ended and that
/// nobody has waited for is none.
bool process_lives(pid_t process);

}  // namespace facet
