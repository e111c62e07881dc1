#include <cstdio>
#include <cstdlib>
#include <jpeglib.h>

#include <gtest/gtest.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/data/image_file.h"
#include "tests/pictures.h"
#include "tests/png.h"
#include "tests/temporary_folder.h"

namespace facet {
namespace {

/// What libjpeg makes of a file, interleaved; empty where it complains.
Bytes read_plain_jpeg(const std::string& bytes) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  jpeg_start_decompress(&info);
  const size_t row_bytes = info.output_width * static_cast<size_t>(info.output_components);
  Bytes values(row_bytes * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = values.data() + info.output_scanline * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return errors.num_warnings == 0 ? values : Bytes();
}

TEST(ImageWrite, APngIsTheSameToTheBit) {
  for (const int64_t channels : {1, 3}) {
    const Image image = gradient(channels, 7, 5);
    expect_near(read_plain_png(encode_png(image)), image, 0);
  }
}

TEST(ImageWrite, AJpegIsTheSameToTheEye) {
  for (const int64_t channels : {1, 3}) {
    const Image image = gradient(channels, 24, 40);
    const Bytes back = read_plain_jpeg(encode_jpeg(image)), expected = interleaved(image);
    ASSERT_EQ(back.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)  // quality 90 quantizes in steps of a few
      ASSERT_NEAR(back[i], expected[i], 6) << i;
  }
}

TEST(ImageWrite, TheNameSaysWhetherAPictureIsAJpeg) {
  const TemporaryFolder folder;
  const Image image = gradient(3, 9, 8);
  for (const char* name : {"a.jpg", "A.JPG", "a.jpeg"}) {
    write_picture(folder / name, image);
    EXPECT_EQ(read_text(folder / name, "test"), encode_jpeg(image)) << name;
  }
  for (const char* name : {"a.png", "a"}) {
    write_picture(folder / name, image);
    EXPECT_EQ(read_text(folder / name, "test"), encode_png(image)) << name;
  }
}

TEST(ImageWrite, AFailedWriteLeavesNothing) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_png(folder / "absent" / "a.png", gradient(3, 2, 2)), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "absent"));
}

TEST(ImageWrite, WhatIsNoImageCannotBeWritten) {
  Image without_last = Image::filled(3, 3, 3);
  without_last.pixels.pop_back();
  for (const Image& image : {Image{}, Image::filled(2, 3, 3), without_last}) {
    EXPECT_THROW(encode_png(image), Error);
    EXPECT_THROW(encode_jpeg(image), Error);
  }
}

TEST(WithChannels, ColoursBecomeTheirLumaAndGreyAllThreeColours) {
  Image colors = Image::filled(3, 1, 3);
  colors.pixels = {200, 0, 0, 0, 200, 0, 0, 0, 200};
  EXPECT_EQ(with_channels(colors, 1).pixels, (Bytes{60, 117, 23}));  // 0.299, 0.587 and 0.114
  EXPECT_EQ(with_channels(with_channels(colors, 1), 3).pixels,
            (Bytes{60, 117, 23, 60, 117, 23, 60, 117, 23}));
  EXPECT_EQ(with_channels(colors, 3).pixels, colors.pixels);
}

}  // namespace
}  // namespace facet
