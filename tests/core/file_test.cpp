#include "facet/core/file.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <zlib.h>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "tests/files.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

/// Simulates a full disk: during its lifetime no file can grow past `bytes`.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  void (*old_handler_)(int);
  rlimit old_{};
};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

class File : public testing::Test {
 protected:
  TemporaryFolder folder_;
  fs::path path_ = folder_ / "values.txt";
};

using AtomicFileTest = File;
using GzipTest = File;
using MappedFileTest = File;

TEST_F(AtomicFileTest, CommitReplacesTheOldFileAndLeavesNoTemporaryFile) {
  write_text(path_, "old", "saving");
  AtomicFile file(path_, "saving");
  file.write("new ");
  file.write("text");
  EXPECT_EQ(read_text(path_, "reading"), "old") << "the old file is there until commit()";
  file.commit();
  EXPECT_EQ(read_text(path_, "reading"), "new text");
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"values.txt"});
}

TEST_F(AtomicFileTest, AClosedFileGoesOnWhereItEnded) {
  {
    AtomicFile file(path_, "saving");
    file.write("one ");
    file.close();
    file.write("two");
    file.write_at(0, "O", 1);
    file.close();
    file.commit();
    EXPECT_EQ(read_text(path_, "reading"), "One two");
    AtomicFile closed(folder_ / "other", "saving");
    closed.close();
  }
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"values.txt"});
}

TEST_F(AtomicFileTest, FilesOfASetAppearTogetherOrNotAtAll) {
  {
    AtomicFile first(folder_ / "1", "saving"), second(folder_ / "2", "saving");
    first.write("a");
    second.write("b");
    fs::create_directories(folder_ / "2" / "in the way");
    EXPECT_NE(message_of([&] {
                commit_together({&first, &second});
              }).find("rename failed"),
              std::string::npos);
  }
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"2"});
  fs::remove_all(folder_ / "2");
  AtomicFile first(folder_ / "1", "saving"), second(folder_ / "2", "saving");
  commit_together({&first, &second});
  EXPECT_TRUE(fs::exists(folder_ / "1") && fs::exists(folder_ / "2"));
}

TEST_F(AtomicFileTest, WithoutCommitTheOldFileStays) {
  write_text(path_, "old", "saving");
  {
    AtomicFile file(path_, "saving");
    file.write("new");
  }
  EXPECT_EQ(read_text(path_, "reading"), "old");
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"values.txt"});
}

TEST_F(AtomicFileTest, AFullDiskIsAnErrorThatKeepsTheOldFile) {
  write_text(path_, "old", "saving");
  std::string found;
  {
    const FullDisk full(1000);
    found = message_of([&] { write_text(path_, std::string(5000, 'x'), "saving the model"); });
  }
  EXPECT_NE(found.find("saving the model '" + path_.string()), std::string::npos) << found;
  EXPECT_NE(found.find("disk full"), std::string::npos) << found;
  EXPECT_EQ(read_text(path_, "reading"), "old");
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"values.txt"});
}

TEST_F(AtomicFileTest, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
  const fs::path path = folder_ / "file";
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile unfinished(path, "test");
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  write_text(folder_ / "notes.12-abc.tmp", "", "test");
  AtomicFile own(path, "test");
  ASSERT_EQ(names_in(folder_.path()).size(), 3u);
  remove_left_overs(folder_.path(), LeftOvers::of_the_dead);
  EXPECT_EQ(names_in(folder_.path()).size(), 2u) << "our own, and one that is not of an AtomicFile";
  write_text(folder_ / "other.12-0123abcd.facet.tmp", "", "test");  // of another machine
  remove_left_overs(folder_.path(), LeftOvers::of_the_dead);
  EXPECT_EQ(names_in(folder_.path()).size(), 3u);
  remove_left_overs(folder_.path(), LeftOvers::of_all);
  EXPECT_EQ(names_in(folder_.path()).size(), 2u);
}

TEST_F(AtomicFileTest, TheFileBeforeCanBeKept) {
  const fs::path path = folder_ / "file", older = folder_ / "older";
  for (const char* text : {"one", "two", "three"}) {
    AtomicFile file(path, "test");
    file.write(text);
    file.commit_keeping(older);
  }
  EXPECT_EQ(read_text(path, "test"), "three");
  EXPECT_EQ(read_text(older, "test"), "two");
}

TEST_F(AtomicFileTest, AMissingFolderIsAnErrorThatAsksForIt) {
  const std::string found = message_of([&] { write_text(folder_ / "no/file", "x", "saving"); });
  EXPECT_NE(found.find("does the folder exist?"), std::string::npos) << found;
}

TEST_F(AtomicFileTest, AFolderAtThePathIsAnErrorAndStays) {
  fs::create_directory(path_);
  EXPECT_THROW(write_text(path_, "x", "saving"), Error);
  EXPECT_TRUE(fs::is_directory(path_));
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"values.txt"});
}

TEST_F(File, ReadingSomethingThatIsNotAFileIsAnErrorThatSaysSo) {
  EXPECT_NE(message_of([&] { read_text(path_, "reading"); }).find("no readable file"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read_text(folder_.path(), "reading"); }).find("a folder"),
            std::string::npos);
  EXPECT_THROW(MappedFile(path_, "reading"), Error);
  EXPECT_THROW(MappedFile(folder_.path(), "reading"), Error);
  EXPECT_THROW(MappedFile("/dev/null", "reading"), Error);
}

/// Half a table must not pass for a table.
TEST_F(File, BytesThatCannotBeReadAreAnError) {
  const std::string found = message_of([] { read_text("/proc/self/mem", "reading"); });
  EXPECT_NE(found.find("Input/output error"), std::string::npos) << found;
}

TEST_F(File, APipeIsReadToItsEndAndADeviceWithoutEndIsRefused) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const std::string sent(100'000, 'x');  // more than a pipe holds at once
  std::thread writer([&] { std::ofstream(path_) << sent; });
  EXPECT_EQ(read_text(path_, "reading"), sent);
  writer.join();
  const std::string found = message_of([] { read_text("/dev/zero", "reading"); });
  EXPECT_NE(found.find("more than 256 MiB"), std::string::npos) << found;
}

TEST_F(File, TextMayHoldAnyBytes) {
  const std::string bytes("a\0b\r\n\xff", 6);
  write_text(path_, bytes, "saving");
  EXPECT_EQ(read_text(path_, "reading"), bytes);
}

TEST_F(MappedFileTest, ShowsTheBytesOfTheFile) {
  write_text(path_, "abc", "saving");
  const MappedFile file(path_, "reading");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.data()), file.size()), "abc");
  write_text(path_, "", "saving");
  EXPECT_EQ(MappedFile(path_, "reading").size(), 0u);
}

TEST_F(GzipTest, PlainFilesAreReadUnchanged) {
  for (const std::string& text : {std::string(), std::string("\x1f"), std::string("plain")}) {
    write_text(path_, text, "saving");
    EXPECT_EQ(read_maybe_gzip(path_, "reading"), text);
  }
}

TEST_F(GzipTest, GzipFilesAreDecompressed) {
  std::string large;
  for (int i = 0; i < 300000; ++i) large += std::to_string(i);  // more than one chunk of output
  for (const std::string& text : {std::string(), std::string("text"), large}) {
    write_text(path_, gzip(text), "saving");
    EXPECT_EQ(read_maybe_gzip(path_, "reading"), text);
  }
}

TEST_F(GzipTest, SeveralMembersDecompressToOneText) {
  write_text(path_, gzip("one ") + gzip("") + gzip("two"), "saving");
  EXPECT_EQ(read_maybe_gzip(path_, "reading"), "one two");
}

TEST_F(GzipTest, EveryTruncationIsAnError) {
  const std::string packed = gzip("some text that packs, some text that packs, and more of it");
  // The first two bytes identify gzip; a shorter file counts as plain.
  for (size_t length = 2; length < packed.size(); ++length) {
    write_text(path_, packed.substr(0, length), "saving");
    EXPECT_THROW(read_maybe_gzip(path_, "reading"), Error) << length;
  }
}

TEST_F(GzipTest, ADamagedChecksumIsAnError) {
  std::string packed = gzip("some text");
  packed[packed.size() - 6] ^= 1;
  write_text(path_, packed, "saving");
  EXPECT_THROW(read_maybe_gzip(path_, "reading"), Error);
}

/// Pages of a mapping that are in memory now, in kilobytes, as the system counts them.
int64_t resident_kilobytes(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool inside = false;
  while (std::getline(maps, line)) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= reinterpret_cast<uintptr_t>(address) &&
               reinterpret_cast<uintptr_t>(address) < end;
    if (inside && line.starts_with("Rss:")) return std::atoll(line.c_str() + 4);
  }
  return -1;
}

TEST(MappedFile, ReleasedPagesLeaveMemoryAndAreReadAgain) {
  const TemporaryFolder folder;
  const std::string text(1 << 22, 'x');
  write_text(folder / "large", text, "test");
  const MappedFile file(folder / "large", "test");
  const auto all = [&] {
    return std::string_view(reinterpret_cast<const char*>(file.data()), file.size());
  };
  EXPECT_TRUE(all() == text);
  const int64_t before = resident_kilobytes(file.data());
  EXPECT_GE(before, 4096);
  release_pages(file.data() + 100, file.size() - 200);
  EXPECT_LE(resident_kilobytes(file.data()), 64);
  EXPECT_TRUE(all() == text);
}

TEST(MappedFile, MemoryThatIsNotMappedIsLeftAlone) {
  std::string text(1 << 20, 'y');
  release_pages(text.data(), text.size());
  EXPECT_EQ(std::count(text.begin(), text.end(), 'y'), 1 << 20);
  release_pages(nullptr, 0);
}

}  // namespace
}  // namespace facet
