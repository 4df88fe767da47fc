from __future__ import annotations

from pathlib import Path

import pytest

from patcache.errors import ImportRefused, SampleRefused
from patcache.steps.sampling import SampleParameters, draw_sample, extend_sample
from patcache.steps.tuple_files import export_sample, import_sample
from patcache.store import StoreFolder
from patcache.store.samples import sample_id, tuple_sets
from tests.plain_patents import PlainPatent, add_patents

CODES = ("A61B 5/00", "A61B 5/02", "A61B 50/00", "A61K 3/00", "A62B 5/00", "H01L 21/02")
PATENTS = [
    PlainPatent(f"0{n}-X,{n}", 2001, (code, "G06F 17/00") if n % 3 else (code,), f"text {n}")
    for n, code in enumerate(CODES * 4)
]
ROWS = "SELECT * EXCLUDE sample FROM tuples WHERE sample = ? ORDER BY tuple_id, gold_position"
NOISE = "SELECT * EXCLUDE sample FROM label_noise WHERE sample = ? ORDER BY ALL"


def query(store: StoreFolder, sql: str, name: str) -> list[tuple[object, ...]]:
    with store.read() as cursor:
        return cursor.execute(sql, [name]).fetchall()


def text_file(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl"])
def test_a_sample_is_the_same_in_another_store_that_has_its_patents(
    tmp_path: Path, ending: str
) -> None:
    here, there = StoreFolder(tmp_path / "here"), StoreFolder(tmp_path / "there")
    add_patents(here, PATENTS)
    add_patents(there, [PlainPatent("other", 1999, ("A01B 1/00",), "other"), *PATENTS[::-1]])
    draw_sample(here, "main", SampleParameters(targets=None, k=2, levels=(1, 2, 6)))
    path = tmp_path / f"main.{ending}"
    n_rows = export_sample(here, "main", path)
    found = import_sample(there, "copy", path)
    rows = query(here, ROWS, "main")
    assert n_rows == len(rows) == found.n_candidates > 0
    assert query(there, ROWS, "copy") == rows
    assert query(there, NOISE, "copy") == query(here, NOISE, "main")
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == [path.name]


def test_own_tuples_of_several_sizes_become_one_sample(store: StoreFolder, tmp_path: Path) -> None:
    add_patents(store, PATENTS)
    names = [patent.number for patent in PATENTS]
    path = text_file(
        tmp_path / "judged.jsonl",
        f'{{"target": "{names[0]}", "candidate": "{names[2]}", "level": 9}}',
        f'{{"target": "{names[0]}", "candidate": "{names[1]}", "level": 2}}',
        f'{{"target": "{names[3]}", "candidate": "{names[0]}", "level": 0}}',
        f'{{"target": "{names[0]}", "candidate": "{names[5]}", "level": 2}}',
        f'{{"target": "{names[3]}", "candidate": "{names[4]}", "level": 1}}',
    )
    found = import_sample(store, "judged", path)
    assert (found.n_tuples, found.n_candidates, found.n_cells) == (2, 5, 1)
    with store.read() as cursor:
        sets = tuple_sets(cursor, sample_id(cursor, "judged"))
        shapes = cursor.execute(
            "SELECT levels, max_distance, n_cross_pairs FROM data.shapes ORDER BY levels"
        ).fetchall()
    tuples = {some.shape.levels: (some.targets.tolist(), some.candidates.tolist()) for some in sets}
    assert tuples == {(0, 1): ([3], [[0, 4]]), (2, 2, 9): ([0], [[1, 5, 2]])}
    # (2, 2, 9) reversed: the third stands two ranks too low, the second one too high (1 is free).
    assert shapes == [([0, 1], 2, 1), ([2, 2, 9], 3, 2)]
    assert query(store, NOISE, "judged") == []  # 9 is no IPC level


def test_a_tuple_id_keeps_two_tuples_of_one_target_apart(
    store: StoreFolder, tmp_path: Path
) -> None:
    add_patents(store, PATENTS)
    one, two, three = (patent.number for patent in PATENTS[:3])
    path = text_file(
        tmp_path / "two.tsv",
        "Tuple_ID\ttarget\tcandidate\tlevel",
        f"first\t{one}\t{two}\t1",
        f"first\t{one}\t{three}\t2",
        f"second\t{one}\t{three}\t1",
        f"second\t{one}\t{two}\t2",
    )
    import_sample(store, "two", path)
    with store.read() as cursor:
        (some,) = tuple_sets(cursor, sample_id(cursor, "two"))
    assert some.ids.tolist() == [0, 1]
    assert some.candidates.tolist() == [[1, 2], [2, 1]]


def test_patents_that_are_not_there_are_counted_and_named(
    store: StoreFolder, tmp_path: Path
) -> None:
    add_patents(store, PATENTS[:1])
    lines = [f"T{n},C{n}-{level},{level}" for n in range(7) for level in (1, 2)]
    path = text_file(tmp_path / "x.csv", "target,candidate,level", *lines)
    with pytest.raises(SampleRefused) as refused:
        import_sample(store, "x", path)
    assert refused.value.why == (
        "7 targets (T0, T1, T2, T3, T4, ...) and 14 candidates (C0-1, C0-2, C1-1, C1-2, C2-1, ...)"
    )
    assert query(store, "SELECT count(*) FROM samples WHERE sample = ?", "x") == [(0,)]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["target,candidate", "a,b"], "no column level"),
        (["target,candidate,level"], "no rows"),
        (["target,candidate,level", "a,b,1", "a,c,1"], "only one in its tuple: row 1, 2"),
        (["target,candidate,level", "a,b,1", "a,b,2"], "twice in its tuple: row 2"),
        (["target,candidate,level", "a,a,1", "a,b,2"], "its own target: row 1"),
        (["target,candidate,level", "a,b,1.5", "a,c,2"], "whole number from 0 to 255: row 1"),
        (["target,candidate,level", "a,b,-1", "a,c,300"], "whole number from 0 to 255: row 1, 2"),
        (["target,candidate,level", "a,b,high", "a,c,2"], "whole number from 0 to 255: row 1"),
        (["target,candidate,level", "a,b,inf", "a,c,nan"], "whole number from 0 to 255: row 1, 2"),
        (["target,candidate,level", "a,,1", "a,c,2"], "candidate is empty: row 1"),
        (
            ["target,candidate,level,Level", "a,b,1,2", "a,c,2,1"],
            "are target, candidate, level, Lev",
        ),
        (
            ["tuple_id,target,candidate,level", "1,a,b,1", "1,c,d,2"],
            "differs inside its tuple: row 2",
        ),
        (["target,candidate,level", *(f"a,x{n},{n % 2}" for n in range(41))], "2 to 40 candidates"),
    ],
)
def test_rows_that_make_no_tuples_are_refused_with_their_numbers(
    store: StoreFolder, tmp_path: Path, lines: list[str], why: str
) -> None:
    names = ["a", "b", "c", "d", *(f"x{n}" for n in range(41))]
    add_patents(store, [PlainPatent(name, 2001, (CODES[0],), name) for name in names])
    with pytest.raises(SampleRefused) as refused:
        import_sample(store, "x", text_file(tmp_path / "x.csv", *lines))
    assert why in refused.value.why
    assert query(store, "SELECT count(*) FROM samples WHERE sample = ?", "x") == [(0,)]


def test_columns_that_hold_no_text_are_refused(store: StoreFolder, tmp_path: Path) -> None:
    path = text_file(tmp_path / "x.jsonl", '{"target": "a", "candidate": "b", "level": {"of": 1}}')
    with pytest.raises(SampleRefused, match="level cannot be read"):
        import_sample(store, "x", path)


def test_a_tuple_id_of_any_length_is_a_name(store: StoreFolder, tmp_path: Path) -> None:
    add_patents(store, PATENTS)
    target, *others = (f'"{patent.number}"' for patent in PATENTS[:3])
    rows = (f"{target},{other},{level},{'9' * 5000}" for level, other in enumerate(others))
    path = text_file(tmp_path / "x.csv", "target,candidate,level,tuple_id", *rows)
    assert import_sample(store, "x", path).n_tuples == 1


def test_files_of_no_format_and_damaged_files_are_named(store: StoreFolder, tmp_path: Path) -> None:
    with pytest.raises(SampleRefused, match=r"\.parquet, \.csv"):
        import_sample(store, "x", tmp_path / "x.xlsx")
    with pytest.raises(ImportRefused, match=r"x\.parquet"):
        import_sample(store, "x", text_file(tmp_path / "x.parquet", "no parquet"))
    with pytest.raises(ImportRefused, match=r"absent\.csv"):
        import_sample(store, "x", tmp_path / "absent.csv")


def test_an_imported_sample_is_not_extended_and_its_name_is_taken(
    store: StoreFolder, tmp_path: Path
) -> None:
    add_patents(store, PATENTS)
    draw_sample(store, "main", SampleParameters(targets=1))
    path = tmp_path / "main.csv"
    export_sample(store, "main", path)
    import_sample(store, "copy", path)
    with pytest.raises(SampleRefused, match="already"):
        import_sample(store, "copy", path)
    with pytest.raises(SampleRefused, match="was imported"):
        extend_sample(store, "copy")


def test_a_refused_export_leaves_no_file(store: StoreFolder, tmp_path: Path) -> None:
    add_patents(store, PATENTS)
    draw_sample(store, "main", SampleParameters(targets=1))
    with pytest.raises(SampleRefused, match="cannot write"):
        export_sample(store, "main", tmp_path / "no such folder" / "main.csv")
    with pytest.raises(SampleRefused, match="ending"):
        export_sample(store, "main", tmp_path / "main.xlsx")
    assert [entry.name for entry in tmp_path.iterdir()] == ["store"]
