#include "facet/data/csv.h"

#include <algorithm>
#include <random>
#include <zlib.h>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "tests/message_of.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

class Csv : public testing::Test {
 protected:
  Table read(const std::string& text) {
    write_text(path_, text, "test");
    return read_csv(path_);
  }

  std::string gzip(const std::string& text) {
    const auto path = folder_ / "table.gz";
    gzFile file = gzopen(path.c_str(), "wb9");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return read_text(path, "test");
  }

  void expect_message(const std::string& text, const std::string& part) {
    const std::string message = message_of([&] { read(text); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "table.csv";
};

TEST_F(Csv, TheFirstLineNamesTheColumnsAndTheOthersAreRows) {
  const Table table = read("name,age\nAda,36\nAlan,41\n");
  EXPECT_EQ(table.columns, (Row{"name", "age"}));
  EXPECT_EQ(table.rows, (Rows{{"Ada", "36"}, {"Alan", "41"}}));
}

TEST_F(Csv, QuotedCellsHoldCommasLineEndsAndQuotes) {
  EXPECT_EQ(read("a,b\n\"x,y\",\"two\nlines\"\n\"say \"\"hi\"\"\",\"\"\n").rows,
            (Rows{{"x,y", "two\nlines"}, {"say \"hi\"", ""}}));
}

TEST_F(Csv, LineEndsByteOrderMarkAndCompressionMakeNoDifference) {
  const Rows rows = {{"1", ""}, {"2", "\xc3\xa9"}};
  EXPECT_EQ(read("a,b\n1,\n2,\xc3\xa9\n").rows, rows);
  EXPECT_EQ(read("a,b\r\n1,\r\n2,\xc3\xa9\r\n").rows, rows);
  EXPECT_EQ(read("a,b\n1,\n2,\xc3\xa9").rows, rows);
  EXPECT_EQ(read("a,b\r\n1,\r\n\r\n2,\xc3\xa9\r\n\r\n").rows, rows);
  EXPECT_EQ(read("\xef\xbb\xbf"
                 "a,b\n1,\n2,\xc3\xa9\n")
                .columns,
            (Row{"a", "b"}));
  EXPECT_EQ(read(gzip("a,b\n1,\n2,\xc3\xa9\n")).rows, rows);
}

TEST_F(Csv, SemicolonsAndTabsSeparateTooAndAreFoundInTheHeader) {
  for (const char separator : {',', ';', '\t'}) {
    std::string text = "file|a, b|c\nx.png|1|\"2|3\"\n";
    if (separator == ',') text = "file|\"a, b\"|c\nx.png|1|\"2|3\"\n";
    std::replace(text.begin(), text.end(), '|', separator);
    const Table table = read(text);
    EXPECT_EQ(table.separator, separator);
    EXPECT_EQ(table.columns, (Row{"file", "a, b", "c"}));
    EXPECT_EQ(table.rows, (Rows{{"x.png", "1", std::string("2") + separator + "3"}}));
  }
  EXPECT_EQ(read("file\na;b\n").rows, (Rows{{"a;b"}})) << "the header alone counts";
  EXPECT_EQ(read("sep=;\r\nfile,x;b\r\n1;2\r\n").columns, (Row{"file,x", "b"}));
  expect_message("a;b\n1;2;3\n", "a cell with a semicolon in it needs quotes");
  expect_message("a\tb\n\"1\"x\t2\n", "a tab or a line end after every cell");
}

TEST_F(Csv, NamesOfColumnsAreTrimmed) {
  EXPECT_EQ(read(" file ,\tsmile\n1,2\n").columns, (Row{"file", "smile"}));
  expect_message("a,a \n", "column 2 named 'a'");
}

/// A text in UTF-16, the low byte first or last, with its byte-order mark.
std::string utf16(const std::u16string& text, bool big_endian) {
  std::string bytes;
  for (const char16_t unit : u'\ufeff' + text) {
    bytes += static_cast<char>(big_endian ? unit >> 8 : unit & 0xff);
    bytes += static_cast<char>(big_endian ? unit & 0xff : unit >> 8);
  }
  return bytes;
}

TEST_F(Csv, EncodingsOfSpreadsheetsAreRecognised) {
  const Rows rows = {{"1", "gr\xc3\xbcn"}, {"2", "\xe2\x82\xac\xf0\x9f\x98\x80"}};
  for (const bool big_endian : {false, true}) {
    const Table table = read(utf16(u"a,b\r\n1,gr\u00fcn\r\n2,\u20ac\U0001f600\r\n", big_endian));
    EXPECT_EQ(table.rows, rows);
    EXPECT_EQ(table.encoding, "UTF-16");
  }
  const Table western = read("a;b\n1;gr\xfcn\n2;\x80\n");
  EXPECT_EQ(western.rows, (Rows{{"1", "gr\xc3\xbcn"}, {"2", "\xe2\x82\xac"}}));
  EXPECT_EQ(western.encoding, "Windows-1252");
  EXPECT_EQ(read("a\ngr\xc3\xbcn\n").encoding, "UTF-8");
}

TEST_F(Csv, EncodingsThatCannotBeToldAreRefused) {
  expect_message("a,b\n1,gr\xc3\xbcn\n2,gr\xfcn\n", "bytes in line 3 that are no UTF-8");
  expect_message(
      "\xef\xbb\xbf"
      "a,b\n1,gr\xfcn\n",
      "bytes in line 2 that are no UTF-8");
  expect_message("a,b\n1,\x81\n", "byte 0x81 in line 2");
  expect_message("PK\x03\x04 and so on", "a spreadsheet");
  std::string odd = utf16(u"a,b\n", false);
  odd.pop_back();
  expect_message(odd, "half a character");
  expect_message(utf16(std::u16string(u"a\n") + char16_t(0xd800), false), "half of a character");
}

TEST_F(Csv, AnEmptyLastCellNeedsNoLineEnd) { EXPECT_EQ(read("a,b\n1,").rows, (Rows{{"1", ""}})); }

TEST_F(Csv, ABlankLineIsAnEmptyCellIfThereIsOneColumn) {
  EXPECT_EQ(read("a\n1\n\n2\n").rows, (Rows{{"1"}, {""}, {"2"}}));
}

TEST_F(Csv, OnlyAHeaderIsATableWithoutRows) { EXPECT_TRUE(read("a,b\n").rows.empty()); }

TEST_F(Csv, ErrorsNameTheLineOfARowWithTooFewOrTooManyCells) {
  expect_message("a,b\n1,2\n1\n", "1 cells in line 3, expected 2");
  expect_message("a,b\n1,2,3\n", "3 cells in line 2, expected 2");
  expect_message("a,b\n\"1\n\n\",2\n1\n", "1 cells in line 5");
}

TEST_F(Csv, ErrorsNameTheLineOfBrokenQuotes) {
  expect_message("a,b\n1,2\n3,\"4\n5,6\n", "a quote opened in line 3 that never closes");
  expect_message("a,b\n1,2\"\n", "a quote in the middle of a cell in line 2");
  expect_message("a,b\n\"1\"x,2\n", "text after a closing quote in line 2");
  expect_message("a,b\n1,2\r3,4\r", "a carriage return without a line feed in line 2");
}

TEST_F(Csv, EveryColumnNeedsAUniqueName) {
  expect_message("a,b,a\n", "column 3 named 'a'");
  expect_message("a,,b\n", "no name for column 2 of 3");
  expect_message("\n1\n", "no name for column 1 of 1");
  expect_message("a,\"b\nc\"\n", "control characters");
}

TEST_F(Csv, FilesThatAreNotTextAreRefused) {
  expect_message("", "an empty file");
  expect_message("\xef\xbb\xbf", "an empty file");
  expect_message(std::string("a,b\n1,\0", 7), "a zero byte at position 6");
  EXPECT_THROW(read_csv(folder_ / "absent.csv"), Error);
  EXPECT_THROW(read_csv(folder_.path()), Error);
}

/// Whether `part` has the first rows of `whole`; the last cell of its last row may be cut short.
bool is_beginning(const Table& part, const Table& whole) {
  if (part.rows.size() > whole.rows.size()) return false;
  for (size_t i = 0; i < part.rows.size(); ++i) {
    Row expected = whole.rows[i];
    const bool last = i + 1 == part.rows.size();
    if (last && expected.back().starts_with(part.rows[i].back()))
      expected.back() = part.rows[i].back();
    if (part.rows[i] != expected) return false;
  }
  return true;
}

TEST_F(Csv, ATruncatedTableNeverGivesAWrongRow) {
  const std::string text =
      "file,hair,note\n1.png,\"a, \"\"b\"\"\",\"x\ny\"\n2.png,red,\"z\"\n3.png,,q\n";
  const Table whole = read(text);
  const size_t header = text.find('\n');
  int errors = 0;
  for (size_t length = 0; length < text.size(); ++length) {
    try {
      const Table part = read(text.substr(0, length));
      EXPECT_TRUE(length < header || is_beginning(part, whole)) << length;
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 25);  // wherever cells are missing or a quote is open
}

TEST_F(Csv, EveryTruncationOfAGzipTableIsAnError) {
  const std::string bytes = gzip("file,hair\n1.png,\"a, \"\"b\"\"\"\n2.png,red\n");
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(read(bytes.substr(0, length)), Error) << length;
}

TEST_F(Csv, FlippedBytesGiveAnErrorOrARectangularTable) {
  const std::string text =
      "file,hair,note\n1.png,\"a, \"\"b\"\"\",\"x\ny\"\n2.png,red,\"z\"\n3.png,,q\n";
  std::mt19937 random(9);
  int errors = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    try {
      const Table table = read(damaged);
      for (const Row& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 50);
}

TEST_F(Csv, QuotedCellsCanHoldAnything) {
  const Table table = read(
      "plain,\"quoted \"\"name\"\"\",\"a,b\"\n"
      ",,\n"
      " x ,\"1\n2\r\n3\",\"\"\"\"\"\"\n"
      "\"\r\",\",\",\xc3\xa9\n");
  EXPECT_EQ(table.columns, (Row{"plain", "quoted \"name\"", "a,b"}));
  EXPECT_EQ(table.rows,
            (Rows{{"", "", ""}, {" x ", "1\n2\r\n3", "\"\""}, {"\r", ",", "\xc3\xa9"}}));
}

}  // namespace
}  // namespace facet
