#!/usr/bin/env python3
"""Writes picture.txt: small pictures of all kinds as another program (Pillow) makes them, a line of base64 each.

    /usr/bin/python3 tests/fuzz/seeds/pictures.py > tests/fuzz/seeds/picture.txt
"""
import base64
import io
import struct
import zlib

from PIL import Image, ImageCms


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png_chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def deep_png(colours):
    """16 bits per value, which Pillow writes for grey alone."""
    row = b"\0" + b"\x12\x34" * (5 * colours)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 5, 4, 16, {1: 0, 3: 2}[colours], 0, 0, 0)) +
            png_chunk(b"tEXt", b"a\0b") + png_chunk(b"IDAT", zlib.compress(row * 4)) + png_chunk(b"IEND", b""))


def turned(image, orientation):
    exif = Image.Exif()
    exif[0x112] = orientation
    return saved(image, "JPEG", exif=exif)


def no_profile(space):
    """One that says what it is for, and no more."""
    return bytes(16) + space + bytes(16) + b"acsp" + bytes(100)


def many_scans(image):
    jpeg = saved(image, "JPEG")
    return jpeg[:2] + b"\xff\xda\0\2" * 40 + jpeg[2:]


def bmp(bits, compression=0, top_down=False, masks=b"", palette=b"", used=0, size=40, width=3):
    """3x2 pixels; Pillow writes few kinds."""
    stride = (3 * bits + 31) // 32 * 4
    head = (struct.pack("<IHHHH", 12, width, 2, 1, bits) if size == 12 else
            struct.pack("<IiiHHIIiiII", 40, width, -2 if top_down else 2, 1, bits, compression, 0, 0, 0, used, 0))
    body = head + masks + palette
    return b"BM" + struct.pack("<IHHI", 14 + len(body) + 2 * stride, 0, 0, 14 + len(body)) + body + b"\x10" * 2 * stride


def main():
    colour = Image.new("RGB", (6, 5))
    colour.putdata([(40 * x, 50 * y, 90) for y in range(5) for x in range(6)])
    grey = colour.convert("L")
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    pictures = [
        saved(colour.convert("RGBA"), "PNG"), saved(colour.convert("P"), "PNG", transparency=0), saved(grey, "PNG", gamma=2),
        saved(colour, "PNG", icc_profile=profile), saved(grey, "PNG", icc_profile=profile),  # which is not one of grey
        saved(colour, "PNG", icc_profile=profile[:200]), deep_png(1), deep_png(3),
        saved(colour.convert("CMYK"), "JPEG"), saved(colour, "JPEG", progressive=True), turned(colour, 6), turned(grey, 3),
        saved(colour, "JPEG", icc_profile=profile), saved(grey, "JPEG", icc_profile=no_profile(b"GRAY")),
        saved(colour.convert("CMYK"), "JPEG", icc_profile=no_profile(b"CMYK")),
        saved(colour, "JPEG", icc_profile=no_profile(b"RGB ")), saved(colour.resize((64, 40)), "JPEG"),
        saved(colour, "WEBP"), saved(colour.convert("RGBA"), "WEBP", lossless=True), saved(colour.resize((40, 30)), "WEBP"),
        saved(colour, "TIFF"), saved(grey.convert("I;16"), "TIFF"), saved(grey.convert("F"), "TIFF"),
        saved(colour.convert("CMYK"), "TIFF", compression="tiff_lzw"), saved(colour.convert("LAB"), "TIFF"),
        saved(colour.convert("P"), "GIF"), saved(grey, "GIF", transparency=3),
        bmp(24), bmp(32, top_down=True), bmp(16), bmp(16, 3, masks=struct.pack("<III", 0xf800, 0x7e0, 0x1f)),
        bmp(1, palette=b"\0\0\0\0\xff\xff\xff\0"), bmp(4, palette=bytes(range(8)), used=2), bmp(24, size=12),
        bmp(8, palette=bytes(range(256)) * 4), bmp(2), bmp(8, 1), bmp(24, width=0), bmp(24)[:60], bmp(24, width=30000),
        many_scans(colour), saved(Image.new("L", (1100, 1000)), "PNG"), saved(colour.resize((2000, 600)), "WEBP"),
        bmp(32, 3, masks=struct.pack("<III", 0xff0000, 0, 0xff)),
        b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(40), b"GIF89a", b"RIFF\0\0\0\0WEBP", b"II*\0\x08\0\0\0",
    ]
    for picture in pictures:
        print(base64.b64encode(picture).decode())


if __name__ == "__main__":
    main()
