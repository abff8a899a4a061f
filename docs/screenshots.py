"""Run a sweep, a comparison, a difference, an inspection and an explanation, and take pictures of their pages.

``python docs/screenshots.py`` needs Debian's chromium and the package ``playwright``. The pictures are
``docs/leaderboard.png``, ``docs/comparison-page.png``, ``docs/diff-page.png``, ``docs/inspect-page.png`` and
``docs/explain-page.png``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent
PORT = 5099
LEARNERS = "knn,svm,naive_bayes,decision_tree,random_forest,logistic_regression"
COMMON = ("evaluation=kfold", "evaluation.folds=10", "tracking.models=false", "workers=2")
SWEEP = (f"learner={LEARNERS}", "dataset=iris,wine", "preprocessing=none,standardize", *COMMON)
COMPARED = (f"learner={LEARNERS}", "dataset=iris,wine,breast_cancer,moons,circles,blobs", "preprocessing=standardize")
WIDTH_PIXELS = 1600
TABLE_HEIGHT_PIXELS = 760
COMPARISON_WIDTH_PIXELS = 1200
COMPARISON_HEIGHT_PIXELS = 1480
START_SECONDS = 120
DRAW_MILLISECONDS = 2000
"""The time in which charts are drawn, which end with an animation."""
INSPECTION_WIDTH_PIXELS = 1200
INSPECTION_HEIGHT_PIXELS = 1500
DIFFERENCE_HEIGHT_PIXELS = 1500
EXPLANATION_WIDTH_PIXELS = 1100
EXPLANATION_HEIGHT_PIXELS = 1560
TITANIC = Path(str(resources.files("sklearn.datasets.tests.data.openml"))) / "id_40945/data-v1-dl-16826755.arff.gz"
"""The passengers, as scikit-learn's wheel carries them."""
PASSENGERS = (
    "dataset=file",
    "dataset.path=titanic.arff.gz",
    "dataset.target=survived",
    "dataset.drop=[boat,body]",
)
REPEATED = ("evaluation=repeated_kfold", "evaluation.repeats=3", "workers=2")
PALETTE_COLOURS = 200
"""An image with a palette takes a third of the bytes."""
CLOSE_ASSISTANT = '[data-component-id="mlflow.assistant.chat_panel.close"]'
HIDE_BANNER = '[data-component-id="mlflow.experiment_page.shared_view.dismiss"]'


def main() -> None:
    """Run the sweep in a store of its own, and take the pictures."""
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "bakeoff", "-m", *SWEEP], cwd=folder, check=True)
        with serve_pages(Path(folder)) as addresses, open_page() as page:
            page.goto(addresses["open"])
            page.locator(CLOSE_ASSISTANT).click()
            page.locator(".ag-center-cols-container .ag-row").first.wait_for()
            take_picture(page, "leaderboard.png", TABLE_HEIGHT_PIXELS)
    take_comparison()
    take_difference()
    take_inspection()
    take_explanation()


def take_difference() -> None:
    """Explain why a tree and a logistic regression differ, and take a picture of the upper part of the page."""
    with TemporaryDirectory() as folder, open_page() as page:
        copy_titanic(Path(folder))
        for words in (
            [*PASSENGERS, "learner=logistic_regression", "evaluation=kfold"],
            ["ship", "latest", "as=titanic@champion"],
            [*PASSENGERS, "learner=decision_tree", "evaluation=kfold"],
            ["diff", "latest", "titanic@champion", *REPEATED, "to=html", "output=page.html"],
        ):
            subprocess.run([sys.executable, "-m", "bakeoff", *words], cwd=folder, check=True)
        file = Path(folder) / "page.html"
        file.write_text(file.read_text().replace(f"{Path(folder).resolve()}/", ""))
        page.goto(file.as_uri())
        take_picture(page, "diff-page.png", DIFFERENCE_HEIGHT_PIXELS, COMPARISON_WIDTH_PIXELS)


def take_comparison() -> None:
    """Compare learners on several datasets, and take a picture of the upper part of the page."""
    with TemporaryDirectory() as folder, open_page() as page:
        words = ["compare", "-m", *COMPARED, *COMMON, "to=html", "output=page.html"]
        subprocess.run([sys.executable, "-m", "bakeoff", *words], cwd=folder, check=True)
        page.goto((Path(folder) / "page.html").as_uri())
        take_picture(page, "comparison-page.png", COMPARISON_HEIGHT_PIXELS, COMPARISON_WIDTH_PIXELS)


def take_inspection() -> None:
    """Inspect Titanic, and take a picture of the upper part of the page."""
    with TemporaryDirectory() as folder, open_page() as page:
        copy_titanic(Path(folder))
        command = [sys.executable, "-m", "bakeoff", "inspect", "titanic.arff.gz", "target=survived", "output=page.html"]
        subprocess.run(command, cwd=folder, check=True)
        file = Path(folder) / "page.html"
        # The temporary folder of the file means nothing to a reader.
        file.write_text(file.read_text().replace("<wbr>", "").replace(f"{Path(folder).resolve()}/", ""))
        page.goto(file.as_uri())
        take_picture(page, "inspect-page.png", INSPECTION_HEIGHT_PIXELS, INSPECTION_WIDTH_PIXELS)


def take_explanation() -> None:
    """Explain a forest on Titanic, and take a picture of the upper part of the page."""
    with TemporaryDirectory() as folder, open_page() as page:
        copy_titanic(Path(folder))
        for words in (
            [*PASSENGERS, "learner=random_forest", "evaluation=kfold"],
            ["ship", "latest", "as=titanic@champion"],
            ["explain", "titanic@champion", "output=page.html"],
        ):
            subprocess.run([sys.executable, "-m", "bakeoff", *words], cwd=folder, check=True)
        page.goto((Path(folder) / "page.html").as_uri())
        take_picture(page, "explain-page.png", EXPLANATION_HEIGHT_PIXELS, EXPLANATION_WIDTH_PIXELS)


def copy_titanic(folder: Path) -> None:
    """Copy the passengers into a folder."""
    shutil.copy(TITANIC, folder / "titanic.arff.gz")


@contextmanager
def serve_pages(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the addresses that ``bakeoff ui`` prints, by the word before them, while it serves the pages."""
    printed = folder / "printed"
    with printed.open("w") as output:
        command = [sys.executable, "-m", "bakeoff", "ui", f"port={PORT}"]
        server = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{PORT}/health")
        yield dict(re.findall(r"^(\w+) +(http\S+)$", printed.read_text(), flags=re.MULTILINE))
    finally:
        server.terminate()
        server.wait()


def wait_for(url: str) -> None:
    """Return when a server answers."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


@contextmanager
def open_page() -> Iterator[Page]:
    """Yield a page of a new browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": WIDTH_PIXELS, "height": TABLE_HEIGHT_PIXELS})
        browser.close()


def take_picture(page: Any, name: str, height: int, width: int = WIDTH_PIXELS) -> None:
    """Save what the browser shows, without the note that the view is a shared one."""
    page.set_viewport_size({"width": width, "height": height})
    banner = page.locator(HIDE_BANNER)
    if banner.count():
        banner.click()
    page.wait_for_timeout(DRAW_MILLISECONDS)
    file = DOCS / name
    page.screenshot(path=file)
    Image.open(file).convert("RGB").quantize(PALETTE_COLOURS).save(file, optimize=True)


if __name__ == "__main__":
    main()
