// The folder of an export, and the bytes of protobuf messages.
#include "facet/export/export_folder.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/export/protobuf.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

namespace fs = std::filesystem;

TEST(Protobuf, BytesAreThoseOfTheSpecification) {
  // The examples of protobuf's own description of its encoding.
  EXPECT_EQ(ProtobufMessage().integer(1, 150).data(), "\x08\x96\x01");
  EXPECT_EQ(ProtobufMessage().bytes(2, "testing").data(), "\x12\x07testing");
  EXPECT_EQ(ProtobufMessage().message(3, ProtobufMessage().integer(1, 150)).data(),
            "\x1a\x03\x08\x96\x01");
  EXPECT_EQ(ProtobufMessage().integer(1, -2).data(),
            "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(ProtobufMessage().integer(20, 0).data(), std::string("\xa0\x01\x00", 3));
}

TEST(ExportFolder, IsNewOrEmptyUnlessForced) {
  const TemporaryFolder place;
  write_text(place / "letter.txt", "dear", "test");
  const auto open = [&](const fs::path& path, bool force) {
    return message_of([&] { ExportFolder(path, "exporting to", force).commit(); });
  };
  EXPECT_NE(open(place.path(), false).find("found a folder that has files"), std::string::npos);
  EXPECT_NE(open(place / "letter.txt", true).find("found a file"), std::string::npos);
  EXPECT_EQ(open(place.path(), true), "no error");
  EXPECT_EQ(open(place / "a" / "b", false), "no error");
  EXPECT_TRUE(fs::is_directory(place / "a" / "b"));
  EXPECT_EQ(open(place / "a" / "b", false), "no error")
      << "an empty folder is as good as a new one";
}

TEST(ExportFolder, AFailedExportLeavesNothingBehind) {
  const TemporaryFolder place;
  write_text(place / "kept.txt", "old", "test");
  {
    ExportFolder folder(place / "a" / "b", "exporting to", false);
    folder.write("one.txt", "1");
    folder.write("deep/two.txt", "2");
    EXPECT_EQ(read_text(place / "a" / "b" / "deep" / "two.txt", "test"), "2");
  }
  EXPECT_FALSE(fs::exists(place / "a"));
  { ExportFolder(place.path(), "exporting to", true).write("new.txt", "3"); }
  EXPECT_FALSE(fs::exists(place / "new.txt"));
  EXPECT_TRUE(fs::exists(place / "kept.txt"));
}

TEST(ExportFolder, WhatAKilledExportHasMadeIsRemovedByTheNext) {
  const TemporaryFolder place;
  write_text(place / "kept.txt", "old", "test");
  const pid_t killed = fork();
  if (killed == 0) {
    ExportFolder folder(place / "export", "exporting to", false);
    folder.write("one.txt", "1");
    folder.write("deep/two.txt", "2");
    folder.place("../kept.txt");  // what no export of ours lists
    raise(SIGKILL);
  }
  waitpid(killed, nullptr, 0);
  ASSERT_TRUE(fs::exists(place / "export" / "deep" / "two.txt"));
  {
    ExportFolder folder(place / "export", "exporting to", false);
    EXPECT_FALSE(fs::exists(place / "export" / "deep"));
    folder.write("three.txt", "3");
    folder.commit();
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(place / "export"), {}), 1);
  EXPECT_TRUE(fs::exists(place / "kept.txt"));
}

TEST(ExportFolder, AFileOfSomebodyElseKeepsAnUnfinishedFolder) {
  const TemporaryFolder place;
  const pid_t killed = fork();
  if (killed == 0) {
    ExportFolder folder(place / "export", "exporting to", false);
    folder.write("one.txt", "1");
    raise(SIGKILL);
  }
  waitpid(killed, nullptr, 0);
  write_text(place / "export" / "mine.txt", "mine", "test");
  EXPECT_NE(
      message_of([&] { ExportFolder(place / "export", "exporting to", false); }).find("has files"),
      std::string::npos);
  EXPECT_TRUE(fs::exists(place / "export" / "mine.txt"));
}

}  // namespace
}  // namespace facet
