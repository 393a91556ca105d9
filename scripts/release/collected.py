"""Usage: python -m release.collected DIST SBOM: looks whether a release is complete, before it is attested and published.

DIST must hold one source distribution and a wheel for each interpreter on each system, all of one version, and nothing
else. The list of crates in a wheel (CycloneDX) is copied to SBOM.
"""

from __future__ import annotations

import argparse
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["SYSTEMS", "TAGS", "expected", "problems", "sbom"]

# The systems of .github/workflows/release.yml, each with the platforms that its wheels are for.
SYSTEMS = {
    "linux-x86-64": ("manylinux_x86_64", "musllinux_x86_64"),
    "linux-arm64": ("manylinux_aarch64", "musllinux_aarch64"),
    "macos-arm64": ("macosx_arm64",),
    "macos-x86-64": ("macosx_x86_64",),
    "windows-x86-64": ("win_amd64",),
    "windows-arm64": ("win_arm64",),
}
TAGS = ("cp310-cp310", "cp311-cp311", "cp312-cp312", "cp313-cp313", "cp314-cp314", "cp314-cp314t")
LEFT_OUT = {"cp310-cp310-win_arm64"}  # numpy has no wheel for it
SOURCE = re.compile(r"toksmith-(?P<version>[\d.]+)\.tar\.gz")
WHEEL = re.compile(r"toksmith-(?P<version>[\d.]+)-(?P<tag>cp\d+-cp\d+t?)-(?P<platform>[\w.]+)\.whl")
# manylinux_2_28_x86_64 and manylinux2014_x86_64, or both with a dot: the system and the processor are what counts.
FLOOR = re.compile(r"(manylinux|musllinux|macosx)(?:\d{1,4})?(?:_\d+_\d+)?_(\w+)")


def platform(name: str) -> str:
    """The system and the processor of a platform tag, without the oldest system that it runs on."""
    found = {FLOOR.sub(r"\1_\2", part) for part in name.split(".")}
    return "/".join(sorted(found))


def expected() -> set[str]:
    """The tags of all wheels of a release."""
    every = {f"{tag}-{place}" for tag in TAGS for places in SYSTEMS.values() for place in places}
    return every - LEFT_OUT


def problems(names: Iterable[str]) -> Iterator[str]:
    """What is wrong with the files of a release, by their names; nothing if they are complete."""
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
        SystemExit: The wheel has none, or several.
    """
    with zipfile.ZipFile(wheel) as archive:
        found = [name for name in archive.namelist() if re.search(r"\.dist-info/sboms/.*\.cyclonedx\.json$", name)]
        if len(found) != 1:
            raise SystemExit(f"{wheel.name}: expected one list of crates (CycloneDX), found {len(found)}")
        return archive.read(found[0])


def main() -> None:
    """Look, and copy the list of crates."""
    parser = argparse.ArgumentParser(description="Look whether a release is complete.")
    parser.add_argument("dist", type=Path, help="the folder with the wheels and the source distribution")
    parser.add_argument("sbom", type=Path, help="the folder for the list of crates")
    given = parser.parse_args()
    names = [path.name for path in given.dist.iterdir()]
    if wrong := [*problems(names)]:
        raise SystemExit("\n".join(wrong))
    wheel = next(path for path in sorted(given.dist.glob("*.whl")) if "manylinux" in path.name)
    given.sbom.mkdir(parents=True, exist_ok=True)
    (given.sbom / "toksmith.cyclonedx.json").write_bytes(sbom(wheel))
    print(f"{len(names)} files, complete; the list of crates is that of {wheel.name}")


if __name__ == "__main__":
    main()
