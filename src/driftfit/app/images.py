"""Files that hold no columns: a folder of images, and embeddings in .npz."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftfit.app.csv_files import read_csv
from driftfit.app.read import FileInfo, FrameTable, first_line, hash_file
from driftfit.errors import InputError
from driftfit.extras import need

# Longer sides are reduced to this: distances between larger images cost more and say no more.
_LONGEST_SIDE = 32
# A file of a few kilobytes may unpack to gigabytes.
_MOST_PIXELS = 50_000_000
_FILE_COLUMNS = ("file", "filename", "image", "path", "name")


@dataclass(frozen=True, eq=False)
class ImageTable:
    """Images beside the CSV that names them: labels and order come from the one, features from the other."""

    about: pd.DataFrame  # the CSV
    pixels: pd.DataFrame  # grey values in columns ``pixel_0``, ``pixel_1``,
    image_shape: tuple[int, int]
    files: tuple[FileInfo, ...]
    guessed: bool = True

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.about.columns]

    @property
    def n_rows(self) -> int:
        return len(self.about)

    def features(self, *used: str) -> list[str]:
        # The pixels alone, whatever the columns of the CSV are called.
        return list(self.pixels.columns)

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        return self.about[list(names)]

    def streams(self, name: str, *, ordered: bool = False) -> bool:
        return False

    def parts(self, name: str) -> Iterator[pd.Series]:
        yield self.about[name]

    def spans(self) -> list[int]:
        return FrameTable(self.pixels, self.files).spans()

    def batches(self, rows: NDArray[np.int64] | None, names: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        yield from FrameTable(self.pixels, self.files).batches(rows, names)


def open_images(folder: Path) -> ImageTable:
    """Read a folder of images and the one CSV in it.

    The CSV names an image file per row in a column ``file`` (or filename, image, path, name) and
    holds the label and order columns; its other columns are left out. Images become grey values
    between 0 and 1 in columns ``pixel_0``, ``pixel_1``, ...; sides above 32 pixels are reduced.
    """
    lists = sorted(folder.glob("*.csv"))
    if len(lists) != 1:
        raise InputError(f"the image folder {str(folder)!r} must hold one CSV file, found {len(lists)}")
    about = read_csv(lists[0])
    column = next((name for name in _FILE_COLUMNS if name in about.columns), None)
    if column is None:
        raise InputError(
            f"{lists[0].name} has no column 'file' that names the images; it has {', '.join(map(str, about))}"
        )
    if about.empty:
        raise InputError(f"{lists[0].name} has no rows")
    pictures = [_read(folder / str(name)) for name in about[column]]
    shapes = {picture.shape for picture in pictures}
    if len(shapes) > 1:
        raise InputError(f"the images have different sizes ({sorted(shapes)[:3]}); bring them to one size")
    pixels = np.stack([picture.ravel() for picture in pictures])
    names = [f"pixel_{number}" for number in range(pixels.shape[1])]
    height, width = pictures[0].shape
    files = (FileInfo(lists[0].name, hash_file(lists[0]), len(about)),)
    return ImageTable(about.drop(columns=column), pd.DataFrame(pixels, columns=names), (height, width), files)


def _read(path: Path) -> NDArray[Any]:
    need("PIL", "tables", "a folder of images")
    from PIL import Image

    try:
        if path.exists() and not path.is_file():
            # Whoever opens a pipe waits for a writer who may never come.
            raise InputError(f"{str(path)!r} is a folder, a pipe or a device, not an image")
        with Image.open(path) as image:
            if image.width * image.height > _MOST_PIXELS:
                raise InputError(f"{str(path)!r} has {image.width} x {image.height} pixels; reduce it to 32 a side")
            grey = image.convert("L")
            scale = _LONGEST_SIDE / max(grey.size)
            if scale < 1:
                width, height = (max(1, round(side * scale)) for side in grey.size)
                grey = grey.resize((width, height), Image.Resampling.LANCZOS)
            return np.asarray(grey, dtype=np.float64) / 255.0
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no image {str(path)!r}; file names are relative to the folder") from None
    except Exception as error:
        # Decoders of damaged files raise whatever comes to them: SyntaxError, struct.error, IndexError, ...
        raise InputError(f"{str(path)!r} is not an image ({first_line(error)})") from None


def open_npz(path: Path) -> FrameTable:
    """The arrays of an ``.npz`` file, all with one entry for each row; of two axes they are columns of vectors."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {str(name): file[name] for name in file.files}
    except Exception as error:
        # A damaged archive raises whatever comes to it; arrays of objects would have to be unpickled.
        raise InputError(f"{str(path)!r} is no .npz file of plain arrays ({first_line(error)})") from None
    lengths = {len(values) if values.ndim else 0 for values in arrays.values()}
    if len(lengths) != 1 or any(values.ndim > 2 for values in arrays.values()):
        shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise InputError(f"the arrays of {path.name} must have one entry or one vector for each row, got {shapes}")
    frame = pd.DataFrame({name: list(values) if values.ndim == 2 else values for name, values in arrays.items()})
    return FrameTable(frame, (FileInfo(path.name, hash_file(path), len(frame)),))
