"""Generated files of a release: the page of the package, and the copies of the repository's URL."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from release import package_page, settings

URL = "https://repository.invalid/toksmith"
README = """# A

![A chart](docs/pictures/a.svg)

See [the tour](docs/tour.md), [part](#b) and [Rust](https://rust.invalid).

```python
f[0](docs/tour.md)
```

## [`b`](src/b.py)
"""


def test_links_lead_to_the_version_in_the_repository() -> None:
    page = package_page.page(README, URL, "1.2.3")
    assert f"![A chart]({URL}/raw/v1.2.3/docs/pictures/a.svg)" in page
    assert f"See [the tour]({URL}/blob/v1.2.3/docs/tour.md), [part](#b) and [Rust](https://rust.invalid)." in page
    assert "f[0](docs/tour.md)" in page
    assert f"## [`b`]({URL}/blob/v1.2.3/src/b.py)" in page
    assert package_page.relative_links(README) == ["docs/pictures/a.svg", "docs/tour.md", "src/b.py"]
    assert package_page.relative_links(page) == []


def test_without_a_repository_the_text_of_links_stays() -> None:
    page = package_page.page(README, "", "1.2.3")
    assert page.startswith("# A\n\nSee the tour, [part](#b) and [Rust](https://rust.invalid).\n\n```python\nf[0](docs")
    assert page.endswith("## `b`\n")
    assert package_page.relative_links(page) == []


def test_generated_files_are_up_to_date() -> None:
    assert [*package_page.outdated_files(ROOT)] == [], "run make manual"
    assert package_page.relative_links((ROOT / package_page.PAGE).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("copy", settings.COPIES, ids=lambda copy: copy.path)
def test_a_url_is_written_changed_and_taken_away(copy: settings.Copy) -> None:
    plain = settings.with_url_lines((ROOT / copy.path).read_text(encoding="utf-8"), copy, "")
    assert URL not in plain
    once = settings.with_url_lines(plain, copy, URL)
    assert once.count(URL) == len([line for line in copy.lines(URL) if URL in line])
    assert settings.with_url_lines(once, copy, URL) == once
    assert settings.with_url_lines(once, copy, f"{URL}2") == once.replace(URL, f"{URL}2")
    assert settings.with_url_lines(once, copy, "") == plain


def test_a_file_without_the_place_of_the_url_is_named(tmp_path: Path) -> None:
    copy = settings.COPIES[0]
    with pytest.raises(ValueError, match=r"^pyproject\.toml: has no line '# The URLs"):
        settings.with_url_lines("[project]\n", copy, URL)


def test_unset_settings_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "REPOSITORY", "")
    assert [line.split()[0] for line in settings.unset_settings()] == ["REPOSITORY"]
    monkeypatch.setattr(settings, "REPOSITORY", URL)
    assert settings.unset_settings() == []
