// Escaping, base64 and elements that close themselves.
#include "facet/report/html.h"

#include <gtest/gtest.h>

#include "tests/report/well_formed.h"

namespace facet {
namespace {

TEST(Html, EscapesWhatCouldBecomeMarkup) {
  EXPECT_EQ(escape_html("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(escape_html("Größe\n\tπ"), "Größe\n\tπ") << "all else stays, in UTF-8";
  EXPECT_EQ(escape_html(std::string("a\0b\x1b", 4)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
}

TEST(Html, AddressOfAPngIsItsBase64) {  // the examples of RFC 4648, section 10
  const std::string head = "data:image/png;base64,";
  const std::pair<const char*, const char*> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) EXPECT_EQ(png_address(bytes), head + text);
  EXPECT_EQ(png_address(std::string("\xff\xfe\x00", 3)), head + "//4A");
}

TEST(Html, NumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(6500), "6,500");
  EXPECT_EQ(grouped(-1234567),
            "\xe2\x88\x92"
            "1,234,567");
}

TEST(Html, ElementsCloseInOrderAndTextIsEscaped) {
  Html html;
  {
    const auto outer = html.open("div", {{"class", "a\"b"}});
    html.element("p", "<script>");
    html.single("img", {{"alt", "x"}});
  }
  EXPECT_EQ(html.page(), "<div class=\"a&quot;b\"><p>&lt;script&gt;</p>\n<img alt=\"x\"></div>\n");
  EXPECT_EQ(fault_in_tags(html.page()), "");
}

TEST(WellFormed, FindsWhatIsWrong) {  // the check that the tests of pages rest on
  EXPECT_EQ(fault_in_tags("<!DOCTYPE html><p class=\"a>b\">x<img src=\"data:y\"></p>"), "");
  EXPECT_NE(fault_in_tags("<div><p></div></p>"), "");
  EXPECT_NE(fault_in_tags("<div>"), "");
  EXPECT_NE(fault_in_tags("a > b"), "");
  EXPECT_EQ(fetched_address("<a href=\"#x\"><img src=\"data:image/png;base64,AA\">"), "");
  EXPECT_EQ(fetched_address("<img src=\"//host/x.png\">"), "//host/x.png");
  EXPECT_NE(fetched_address("<style>@import 'x.css'</style>"), "");
}

}  // namespace
}  // namespace facet
