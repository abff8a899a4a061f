"""Make the course: for each lecture a page, two sheets for each student with keys, and an exercise.

    python examples/course/make.py output=course [students=30] [to=html]

The words of the sheets and the claims of the exercises are in ``course.yaml`` beside this file. The folder of each
lecture receives ``README.md``, ``easy/``, ``hard/`` and ``exercise.yaml``; ``README.md`` of the course is for teachers.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from bakeoff.pipeline.cli.main import run_words

COURSE = Path(__file__).with_name("course.yaml")
SHEETS = {"easy": 0.4, "hard": 0.8}
"""The name of a sheet -> the share of the results that it leaves out."""
DEFAULTS = {"output": "course", "students": "30", "to": "html"}


def main(*words: str) -> None:
    """Make the course into a new folder."""
    given = {**DEFAULTS, **dict(word.split("=", 1) for word in words)}
    output = Path(given["output"])
    output.mkdir()
    lectures = yaml.safe_load(COURSE.read_text(encoding="utf-8"))
    for number, lecture in enumerate(lectures, start=1):
        folder = output / f"{number}-{lecture['name']}"
        folder.mkdir()
        for name, blank in SHEETS.items():
            make_sheets(
                [*lecture[name], f"blank={blank}", f"students={given['students']}", f"to={given['to']}"], folder / name
            )
        write_yaml(folder / "exercise.yaml", lecture["exercise"])
        (folder / "README.md").write_text("\n".join(list_lines(number, lecture)) + "\n", encoding="utf-8")
    (output / "README.md").write_text("\n".join(list_teacher_lines(lectures)) + "\n", encoding="utf-8")
    print(f"{len(lectures)} lectures are in {output}")


def make_sheets(words: list[str], folder: Path) -> None:
    """Write the sheets of a class."""
    status = run_words(["work", *words, f"output={folder}"])
    if status:
        raise SystemExit(status)


def write_yaml(file: Path, content: Mapping[str, Any]) -> None:
    """Write a mapping in the order of its keys."""
    file.write_text(yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True), encoding="utf-8")


def list_lines(number: int, lecture: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page of a lecture."""
    yield from (f"# {number}. {lecture['title']}", "", "After this lecture, you can", "")
    yield from (f"- {aim}{',' if aim != lecture['aims'][-1] else '.'}" for aim in lecture["aims"])
    yield from ("", "## Sheets", "")
    yield "Open your sheet in a browser, fill in the boxes, and save `answers.csv`; or write on paper."
    yield from ("", "- `easy/`: some results of the calculation are left out.", "- `hard/`: most results are left out.")
    yield from ("", "The calculations are those of", "")
    yield from ("```sh", *(f"bakeoff work {shlex.join(lecture[name])}" for name in SHEETS), "```")
    yield from ("", "## A configuration", "", lecture["exercise"]["task"], "")
    keys = [f"`{key}`" for key in lecture["exercise"]["may"]]
    yield f"Given is `bakeoff {shlex.join(lecture['exercise']['words'])}`. Hand in a YAML file of further keys, as in"
    yield f"`{lecture['exercise']['may'][0]}: VALUE`. Allowed: {', '.join(keys)}."
    yield from ("", f"The section {lecture['page']} of docs/lectures.md shows the lecture as experiments.")


def list_teacher_lines(lectures: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the teacher's page."""
    yield from (
        "# The course",
        "",
        "Sheets are numbered, one for each student. Keys are beside them: hand out `sheet-*` alone.",
    )
    yield from ("", "| lecture | sheets | a solution of the exercise |", "| --- | --- | --- |")
    for number, lecture in enumerate(lectures, start=1):
        name = f"{number}-{lecture['name']}"
        solution = yaml.safe_dump(lecture["solution"], default_flow_style=True, width=1000).strip()
        yield f"| [{lecture['title']}]({name}/README.md) | `{name}/easy`, `{name}/hard` | `{solution}` |"
    yield from ("", "Collect the files of a class in a folder, and mark them:", "", "```sh")
    name = f"1-{lectures[0]['name']}"
    yield f"bakeoff grade {name}/easy answers/*.csv output=marks"
    yield f"bakeoff grade {name}/exercise.yaml answers/*.yaml output=marks-of-exercise"
    yield "```"
    yield from (
        "",
        "What is typed from paper has the lines `box,answer`, `sheet,CODE`, `name,NAME`, and a line for each box.",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
