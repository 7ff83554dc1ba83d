"""A folder of images with a CSV of labels and order, as a table of grey values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradapt.errors import InputError
from gradapt.extras import need
from gradapt.tables.read import FileInfo, FrameTable, hash_file, read_csv

__all__ = ["open_images"]

# Longer sides are reduced to this: distances between larger images cost more and say no more.
_LONGEST_SIDE = 32
_FILE_COLUMNS = ("file", "filename", "image", "path", "name")


def open_images(folder: Path) -> FrameTable:
    """Read a folder of images and the one CSV in it.

    The CSV names an image file per row in a column ``file`` (or filename, image, path, name) and
    holds the label and order columns; its other columns are left out. Images become grey values
    between 0 and 1 in columns ``pixel_0``, ``pixel_1``, ...; sides above 32 pixels are reduced.

    Parameters
    ----------
    folder : Path
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
    frame = pd.concat([about.drop(columns=column), pd.DataFrame(pixels, columns=names)], axis=1)
    height, width = pictures[0].shape
    return FrameTable(frame, (FileInfo(lists[0].name, hash_file(lists[0]), len(frame)),), (height, width))


def _read(path: Path) -> NDArray[Any]:
    need("PIL", "tables", "a folder of images")
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            grey = image.convert("L")
            scale = _LONGEST_SIDE / max(grey.size)
            if scale < 1:
                width, height = (max(1, round(side * scale)) for side in grey.size)
                grey = grey.resize((width, height), Image.Resampling.LANCZOS)
            return np.asarray(grey, dtype=np.float64) / 255.0
    except FileNotFoundError:
        raise InputError(f"there is no image {str(path)!r}; file names are relative to the folder") from None
    except (UnidentifiedImageError, OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} is not an image ({error})") from None
