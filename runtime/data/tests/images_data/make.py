"""Writes the images of this folder, and their pixels as Pillow 13.0.0 decodes them."""

import pyarrow
import pyarrow.parquet
from pathlib import Path
from PIL import Image

HERE = Path(__file__).parent
WIDTH, HEIGHT = 20, 12


def picture(width=WIDTH, height=HEIGHT):
    """Returns a smooth picture with an edge, in three different channels."""
    image = Image.new("RGB", (width, height))
    for x in range(width):
        for y in range(height):
            edge = 90 if x > 11 else 0
            image.putpixel((x, y), (12 * x % 256, (255 - 18 * y) % 256, (6 * x + 7 * y + edge) % 256))
    return image


def save(name, image, mode, **options):
    """Writes an image, and the bytes of its pixels row by row."""
    image.save(HERE / name, **options)
    decoded = Image.open(HERE / name).convert(mode)
    (HERE / name).with_suffix(".raw").write_bytes(decoded.tobytes())


rgb = picture()
save("full.jpg", rgb, "RGB", quality=92, subsampling=0)
save("halved.jpg", rgb, "RGB", quality=92, subsampling=2)
# Blocks of 16 x 16 pixels fill this image.
save("blocks.jpg", picture(32, 16), "RGB", quality=92, subsampling=2)
save("progressive.jpg", rgb, "RGB", quality=92, subsampling=0, progressive=True)
save("grey.jpg", rgb.convert("L"), "L", quality=92)
save("palette.png", rgb.quantize(16), "RGB")
Image.new("RGB", (2, 1), (9, 8, 7)).save(HERE / "small.png")
rgb.convert("CMYK").save(HERE / "print.jpg", quality=92)

# A table like those of Hugging Face datasets. It was written with pyarrow 26.0.1.
names = ["palette.png", "full.jpg", "palette.png"]
images = [{"bytes": (HERE / name).read_bytes(), "path": name} for name in names]
table = pyarrow.table({"img": images, "label": [2, 0, 1]})
pyarrow.parquet.write_table(table, HERE / "table.parquet")
