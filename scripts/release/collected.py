"""Usage: python -m release.collected DIST SBOM: checks that a release is complete, before it is attested and published.

DIST must hold one source distribution and a wheel for each interpreter on each system, all of one version, and no
other file. The list of crates in a wheel (CycloneDX) is copied to SBOM.
"""

from __future__ import annotations

import argparse
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["SYSTEMS", "TAGS", "expected", "problems", "sbom"]

# The systems of .github/workflows/release.yml, each with the platforms of its wheels.
SYSTEMS = {
    "linux-x86-64": ("manylinux_x86_64", "musllinux_x86_64"),
    "linux-arm64": ("manylinux_aarch64", "musllinux_aarch64"),
    "macos-arm64": ("macosx_arm64",),
    "macos-x86-64": ("macosx_x86_64",),
    "windows-x86-64": ("win_amd64",),
    "windows-arm64": ("win_arm64",),
}
TAGS = ("cp310-cp310", "cp311-cp311", "cp312-cp312", "cp313-cp313", "cp314-cp314", "cp314-cp314t")
LEFT_OUT = {"cp310-cp310-win_arm64"}  # numpy has no wheel for this tag
SOURCE = re.compile(r"toksmith-(?P<version>[\d.]+)\.tar\.gz")
WHEEL = re.compile(r"toksmith-(?P<version>[\d.]+)-(?P<tag>cp\d+-cp\d+t?)-(?P<platform>[\w.]+)\.whl")
# manylinux_2_28_x86_64 and manylinux2014_x86_64, or both with a dot: only the system and the processor count.
FLOOR = re.compile(r"(manylinux|musllinux|macosx)(?:\d{1,4})?(?:_\d+_\d+)?_(\w+)")


def platform(name: str) -> str:
    """The system and the processor of a platform tag, without the oldest supported system."""
    tags = {FLOOR.sub(r"\1_\2", part) for part in name.split(".")}
    return "/".join(sorted(tags))


def expected() -> set[str]:
    """The tags of all wheels of a release."""
    every = {f"{tag}-{place}" for tag in TAGS for places in SYSTEMS.values() for place in places}
    return every - LEFT_OUT


def problems(names: Iterable[str]) -> Iterator[str]:
    """The problems of the files of a release, by their names; none if the release is complete."""
    wheels: list[str] = []
    versions: set[str] = set()
    sources = 0
    for name in sorted(names):
        if match := WHEEL.fullmatch(name):
            wheels.append(f"{match['tag']}-{platform(match['platform'])}")
        elif match := SOURCE.fullmatch(name):
            sources += 1
        else:
            yield f"{name}: expected a wheel of an interpreter or the source distribution; remove it"
            continue
        versions.add(match["version"])
    if sources != 1:
        yield f"expected one source distribution, found {sources}"
    if len(versions) > 1:
        yield f"expected files of one version, found {', '.join(sorted(versions))}"
    yield from (f"{tag}: expected a wheel, found none" for tag in sorted(expected() - {*wheels}))
    yield from (f"{tag}: no release has this wheel" for tag in sorted({*wheels} - expected()))
    yield from (
        f"{tag}: expected one wheel, found {wheels.count(tag)}" for tag in sorted({*wheels}) if wheels.count(tag) > 1
    )


def sbom(wheel: Path) -> bytes:
    """The list of crates that maturin wrote into a wheel.

    Raises:
        SystemExit: The wheel has no such list, or several.
    """
    with zipfile.ZipFile(wheel) as archive:
        lists = [name for name in archive.namelist() if re.search(r"\.dist-info/sboms/.*\.cyclonedx\.json$", name)]
        if len(lists) != 1:
            raise SystemExit(f"{wheel.name}: expected one list of crates (CycloneDX), found {len(lists)}")
        return archive.read(lists[0])


def main() -> None:
    """Check, and copy the list of crates."""
    parser = argparse.ArgumentParser(description="Check that a release is complete.")
    parser.add_argument("dist", type=Path, help="the folder with the wheels and the source distribution")
    parser.add_argument("sbom", type=Path, help="the folder for the list of crates")
    options = parser.parse_args()
    names = [path.name for path in options.dist.iterdir()]
    if wrong := [*problems(names)]:
        raise SystemExit("\n".join(wrong))
    wheel = next(path for path in sorted(options.dist.glob("*.whl")) if "manylinux" in path.name)
    options.sbom.mkdir(parents=True, exist_ok=True)
    (options.sbom / "toksmith.cyclonedx.json").write_bytes(sbom(wheel))
    print(f"{len(names)} files, complete; the list of crates is that of {wheel.name}")


if __name__ == "__main__":
    main()
