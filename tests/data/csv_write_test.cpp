// Tables that were written are read back as they were.
#include "facet/data/csv_write.h"

#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/data/csv.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

TEST(WriteCsv, CellsWithSeparatorsQuotesAndLinesAreReadBack) {
  TemporaryFolder folder;
  const std::vector<std::string> columns = {"file", "a, b", "größe"};
  const std::vector<std::vector<std::string>> rows = {{"x.png", "he said \"no\"", "1;2"},
                                                      {"y\nz.png", "", " spaces "}};
  write_csv(folder / "t.csv", columns, rows, ',');
  const Table table = read_csv(folder / "t.csv");
  EXPECT_EQ(table.columns, columns);
  EXPECT_EQ(table.rows, rows);
}

TEST(WriteCsv, QuotesOnlyWhereTheSeparatorNeedsThem) {
  EXPECT_EQ(csv_cell("1,5", ';'), "1,5");
  EXPECT_EQ(csv_cell("1,5", ','), "\"1,5\"");
  TemporaryFolder folder;
  write_csv(folder / "t.csv", {"one"}, {{""}, {"x"}}, ';');
  EXPECT_EQ(read_text(folder / "t.csv", "test"), "one\n\"\"\nx\n");
}

}  // namespace
}  // namespace facet
