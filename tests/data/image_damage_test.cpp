// What is read of bad files: an Error that names the file, or the whole picture; never pixels that
// a library made up, never more memory or time than the limits allow, nothing on the terminal.
#include <fstream>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "facet/core/file.h"
#include "facet/data/image_file.h"
#include "tests/files.h"
#include "tests/jpeg.h"
#include "tests/message_of.h"
#include "tests/pictures.h"
#include "tests/png.h"
#include "tests/temporary_folder.h"
#include "tests/vips_files.h"

namespace facet {
namespace {

std::string refusal(const std::string& bytes, const ImageLimits& limits = {}) {
  return message_of([&] { decode_image(bytes, "folder/picture", limits); });
}

void expect_refusal(const std::string& bytes, const std::string& part,
                    const ImageLimits& limits = {}) {
  const std::string found = refusal(bytes, limits);
  EXPECT_NE(found.find(part), std::string::npos) << found << "\n  has no " << part;
  EXPECT_NE(found.find("'folder/picture'"), std::string::npos) << found;
  EXPECT_EQ(found.find('\n'), std::string::npos) << found;
}

/// `good` or an Error; whether it was an Error.
bool is_refused(const std::string& bytes, const Image& good) {
  try {
    const Image image = decode_image(bytes, "picture");
    EXPECT_EQ(image.pixels, good.pixels) << "pixels were made up";
    return false;
  } catch (const Error&) {
    return true;
  }
}

/// Random values, so that every byte of a file matters.
Image noise(int64_t channels, int64_t height, int64_t width) {
  Image image = Image::filled(channels, height, width);
  std::mt19937 random(7);
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random() % 256);
  return image;
}

std::string progressive_jpeg(const Image& image) {
  return encode_jpeg({.progressive = true}, image.height, image.width, interleaved(image));
}

/// The most memory that the process has had so far.
int64_t peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes;
    }
  return 0;
}

class EveryTruncation : public testing::TestWithParam<const char*> {};

TEST_P(EveryTruncation, IsAnErrorOrTheWholePicture) {
  for (const int64_t channels : {1, 3}) {
    const std::string bytes = file_bytes(noise(channels, 17, 20), GetParam());
    if (bytes.empty()) GTEST_SKIP() << "this libvips writes no " << GetParam();
    const Image good = decode_image(bytes, "picture");
    size_t whole = 0;
    for (size_t length = 0; length < bytes.size(); ++length)
      if (!is_refused(bytes.substr(0, length), good)) ++whole;
    EXPECT_LE(whole, bytes.size() / 4) << "of " << bytes.size();  // metadata may come last
  }
}

TEST_P(EveryTruncation, IsAnErrorOrTheWholePictureAlsoWhereItIsShrunk) {
  const TemporaryFolder folder;
  const std::string bytes = file_bytes(noise(3, 133, 60), GetParam());  // cut above and below
  if (bytes.empty()) GTEST_SKIP() << "this libvips writes no " << GetParam();
  write_text(folder / "whole", bytes, "test");
  const Image good = read_image(folder / "whole", 4, 4);
  for (size_t length = bytes.size() / 2; length < bytes.size(); length += 97) {
    write_text(folder / "cut", bytes.substr(0, length), "test");
    try {
      EXPECT_EQ(read_image(folder / "cut", 4, 4).pixels, good.pixels) << length;
    } catch (const Error&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ImageDamage, EveryTruncation,
                         testing::Values(".png", ".png[interlace]", ".jpg", ".jpg[interlace]",
                                         ".webp", ".webp[lossless]", ".gif", ".tif",
                                         ".tif[compression=deflate]", ".tif[compression=lzw]",
                                         ".tif[compression=jpeg]",
                                         ".tif[tile,tile_width=16,tile_height=16]", ".heic"));

TEST(ImageDamage, NoTruncationOfAPngOrJpegIsTakenForWhole) {
  const std::string png = encode_png(noise(3, 17, 20)), jpeg = encode_jpeg(noise(3, 17, 20)),
                    progressive = progressive_jpeg(noise(3, 17, 20));
  for (const std::string& bytes : {png, jpeg, progressive}) {
    ASSERT_NO_THROW(decode_image(bytes, "picture"));
    for (size_t length = 0; length < bytes.size(); ++length)
      EXPECT_NE(refusal(bytes.substr(0, length)), "no error") << length << " of " << bytes.size();
  }
  expect_refusal(png.substr(0, png.size() - 12), "the file ends too early");  // the end mark
  expect_refusal(jpeg.substr(0, jpeg.size() - 2), "the file ends too early");
}

TEST(ImageDamage, APhotoCutBelowWhatIsShownIsAnErrorToo) {
  const TemporaryFolder folder;
  const std::string bytes = encode_jpeg(noise(3, 1001, 200));  // of which rows 400 to 600 are shown
  for (const double part : {0.9, 0.999}) {
    write_text(folder / "a",
               bytes.substr(0, static_cast<size_t>(part * static_cast<double>(bytes.size()))),
               "test");
    EXPECT_NE(message_of([&] { read_image(folder / "a", 8, 8); }).find((folder / "a").string()),
              std::string::npos);
  }
}

TEST(ImageDamage, AJpegThatEndsWithoutItsLastRowsIsAnError) {
  // libjpeg fills such a file up with grey and warns; the end mark is where it should be.
  for (const int64_t channels : {1, 3}) {
    const std::string bytes = encode_jpeg(noise(channels, 64, 64));
    for (const size_t missing : {10, 40, 100, 400, 2000}) {
      const std::string cut = bytes.substr(0, bytes.size() - 2 - missing) + "\xff\xd9";
      expect_refusal(cut, "a whole JPEG file");
    }
  }
}

TEST(ImageDamage, AJpegInsideATiffIsNotFilledUpEither) {
  std::string bytes = file_bytes(noise(1, 64, 64), ".tif[compression=jpeg,Q=90]");
  ASSERT_NO_THROW(decode_image(bytes, "picture"));
  const size_t end = bytes.find("\xff\xd9");  // of the first strip
  ASSERT_NE(end, std::string::npos);
  bytes.replace(end - 100, 2, "\xff\xd9");
  expect_refusal(bytes, "a whole TIFF file");
}

TEST(ImageDamage, AFlippedByteOfAPngIsAlwaysAnError) {
  const std::string bytes = encode_png(gradient(3, 9, 8));
  std::mt19937 random(3);
  for (int trial = 0; trial < 400; ++trial) {
    std::string damaged = bytes;
    const size_t position = random() % damaged.size();
    damaged[position] ^= static_cast<char>(1 + random() % 255);
    EXPECT_NE(refusal(damaged), "no error") << position;  // its checksums leave no byte out
  }
}

TEST(ImageDamage, FlippedBytesOfOtherFormatsAreAnErrorOrAPicture) {
  for (const char* suffix : {".jpg", ".jpg[interlace]", ".webp", ".gif", ".tif[compression=lzw]",
                             ".tif[compression=jpeg]", ".heic"}) {
    const std::string bytes = file_bytes(noise(3, 17, 20), suffix);
    if (bytes.empty()) continue;  // a libvips without it
    std::mt19937 random(4);
    int errors = 0;
    for (int trial = 0; trial < 200; ++trial) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
      try {
        const Image image = decode_image(damaged, "picture");
        EXPECT_EQ(static_cast<int64_t>(image.pixels.size()),
                  image.channels * image.height * image.width);
      } catch (const Error&) {
        ++errors;
      }
    }
    EXPECT_GT(errors, 5) << suffix;  // few formats have checksums
  }
}

TEST(ImageDamage, OtherFilesAreRefused) {
  expect_refusal("", "an empty file");
  expect_refusal("GIF", "a file of another kind");
  expect_refusal("BM and so on", "PNG, JPEG, WebP, TIFF, GIF, BMP or HEIC");
  const TemporaryFolder folder;
  EXPECT_THROW(read_image(folder / "absent.png"), Error);
  EXPECT_THROW(read_image(folder.path()), Error);
}

TEST(ImageDamage, NoFileReachesALoaderThatRunsCodeOrOpensFiles) {
  const std::string svg =
      "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' height='9'/>"
      "</svg>";
  const TemporaryFolder folder;
  for (const std::string& bytes :
       {svg, "<?xml version='1.0'?>" + svg, gzip(svg), std::string("%PDF-1.4\n%\n"),
        std::string("%!PS-Adobe-3.0 EPSF-3.0\n"), std::string("P6 1 1 255 abc"),
        std::string("push graphic-context\nimage over 0,0 0,0 'https://example.org/'\n"),
        std::string("#?RADIANCE\n"), std::string("\xb6\xa6\xf2\x08 and so on")}) {
    expect_refusal(bytes, "a file of another kind");
    write_text(folder / "a.png", bytes, "test");
    EXPECT_NE(
        message_of([&] { read_image(folder / "a.png", 4, 4); }).find("a file of another kind"),
        std::string::npos);
  }
  // Behind a beginning that is known only the one loader looks at it.
  expect_refusal("\x89PNG\r\n\x1a\n" + svg, "a whole PNG file");
  expect_refusal("GIF89a" + svg, "a whole GIF file");
  expect_refusal(std::string("II*\0", 4) + svg, "a whole TIFF file");
  // And libvips itself is told to.
  VipsImage* drawn = nullptr;
  EXPECT_NE(vips_svgload_buffer(const_cast<char*>(svg.data()), svg.size(), &drawn, nullptr), 0);
  vips_error_clear();
}

TEST(ImageDamage, PicturesAboveTheLimitAreRefusedInEveryFormat) {
  const Image image = gradient(3, 30, 40);
  for (const char* suffix : {".png", ".jpg", ".webp", ".gif", ".tif", ".heic"}) {
    const std::string bytes = file_bytes(image, suffix);
    if (bytes.empty()) continue;  // a libvips without it
    EXPECT_NO_THROW(decode_image(bytes, "picture", {.pixels = 1200})) << suffix;
    expect_refusal(bytes, "found 40x30 pixels, expected at most 1199 in all", {.pixels = 1199});
  }
}

/// A PNG whose header promises another size, with the checksum set right.
std::string with_size(const std::string& png, uint32_t width, uint32_t height) {
  const std::string rest_of_header = png.substr(24, 5);
  return png.substr(0, 8) +
         png_chunk("IHDR", big_endian(width) + big_endian(height) + rest_of_header) +
         png.substr(33);
}

TEST(ImageDamage, HeadersThatPromiseTooMuchTakeNoMemory) {
  const std::string png = encode_png(gradient(3, 9, 8));
  ASSERT_NO_THROW(decode_image(with_size(png, 8, 9), "picture"));
  expect_refusal(with_size(png, 16385, 1), "1 to 16384 per side");
  expect_refusal(with_size(png, 0, 9), "a whole PNG file");
  expect_refusal(with_size(png, 0xffffffff, 0xffffffff), "a whole PNG file");
  std::string jpeg = encode_jpeg(gradient(3, 17, 20));
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\x00\x40\x00", 4);
  expect_refusal(jpeg, "1 to 16384 per side");
  const int64_t before = peak_kilobytes();
  expect_refusal(with_size(png, 16384, 16384), "a whole PNG file");
  jpeg.replace(frame + 5, 4, "\x40\x00\x40\x00", 4);
  expect_refusal(jpeg, "a whole JPEG file");
#ifdef __SANITIZE_ADDRESS__
  constexpr int64_t most = 400'000;  // the sanitizer marks what is only reserved, a byte for eight
#else
  constexpr int64_t most = 100'000;
#endif
  EXPECT_LT(peak_kilobytes() - before, most);  // either promises 805 megabytes
}

TEST(ImageDamage, LargePicturesInSmallFilesTakeNoMemoryWhereTheyAreNotWanted) {
  const Image large = Image::filled(3, 4100, 4100, 90);
  for (const char* suffix : {".png[compression=1]", ".jpg", ".jpg[interlace]",
                             ".webp[lossless,effort=0]", ".tif[compression=deflate]"}) {
    const std::string bytes = file_bytes(large, suffix);
    const int64_t before = peak_kilobytes();
    expect_refusal(bytes, "at most 16777216 in all", {.pixels = 16 << 20});
    EXPECT_LT(peak_kilobytes() - before, 20'000) << suffix;  // of 50 megabytes
  }
}

TEST(ImageDamage, CommentsOfAPngAreNotUnpacked) {
  const std::string spaces(7 << 20, ' ');  // libpng takes up to eight megabytes, and a hundred such
  std::string packed(compressBound(spaces.size()), '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                     reinterpret_cast<const Bytef*>(spaces.data()), spaces.size()),
            Z_OK);
  packed.resize(size);
  std::string png = encode_png(gradient(3, 9, 8));
  for (int i = 0; i < 60; ++i)
    png.insert(33, png_chunk("zTXt", std::string("Comment\0\0", 9) + packed));
  const int64_t before = peak_kilobytes();
  expect_near(decode_image(png, "picture"), gradient(3, 9, 8), 0);
  EXPECT_LT(peak_kilobytes() - before, 100'000);
}

TEST(ImageDamage, AJpegThatRepeatsItsScansToWasteTimeIsRefused) {
  const std::vector<jpeg_scan_info> scans = {{1, {0}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0}};
  const std::string bytes =
      encode_jpeg({.color_space = JCS_GRAYSCALE, .scans = scans}, 16, 16, Bytes(16 * 16, 99));
  ASSERT_NO_THROW(decode_image(bytes, "picture"));
  const size_t last_scan = bytes.rfind("\xff\xda"), end = bytes.size() - 2;
  std::string repeated = bytes.substr(0, end);
  for (int i = 0; i < 600; ++i) repeated += bytes.substr(last_scan, end - last_scan);
  repeated += bytes.substr(end);
  expect_refusal(repeated, "more than 500 scans");
  expect_refusal(bytes, "more than 1 scans", {.jpeg_scans = 1});
}

TEST(ImageDamage, ScansOfAPreviewInTheMetadataDoNotCount) {
  const std::string preview = encode_jpeg(gradient(3, 9, 8)),
                    photo = encode_jpeg(gradient(3, 9, 8));
  std::string nested = photo.substr(0, 2) + "\xff\xe5";
  nested += big_endian(static_cast<uint32_t>(preview.size() + 2)).substr(2) + preview;
  nested += photo.substr(2);
  expect_near(decode_image(nested, "picture", {.jpeg_scans = 1}), decode_image(photo, "picture"),
              0);
}

TEST(ImageDamage, NothingIsPrinted) {
  const std::string jpeg = encode_jpeg(noise(3, 64, 64)), tiff = file_bytes(noise(3, 9, 8), ".tif");
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  for (const std::string& bytes :
       {jpeg.substr(0, 900) + "\xff\xd9", tiff.substr(0, 150), std::string("GIF89a and so on"),
        std::string("II*\0xxxxxxxx", 12)})
    EXPECT_NE(refusal(bytes), "no error");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ImageDamage, ThreadsDoNotDisturbEachOther) {
  const Image image = noise(3, 64, 64);
  const std::string good = encode_jpeg(image), bad = good.substr(0, good.size() - 100) + "\xff\xd9";
  const Image expected = decode_image(good, "picture");
  std::vector<int> right(8, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t] {
      for (int trial = 0; trial < 40; ++trial) {
        if (t % 2 == 0)
          right[t] += decode_image(good, "picture").pixels == expected.pixels;
        else
          right[t] += refusal(bad).find("a whole JPEG file") != std::string::npos;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(8, 40));
}

}  // namespace
}  // namespace facet
