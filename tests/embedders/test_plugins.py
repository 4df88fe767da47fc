"""Kinds of models of other packages: found by entry point, imported only when asked for."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patcache.api import Store
from patcache.embedders.base import Resolved, load
from patcache.embedders.plugins import find_plugin, is_plugin, plugin_kinds
from patcache.embedders.presets import resolve
from patcache.errors import ModelRefused
from patcache.records import ModelRequest
from tests.corpus import write_patents
from tests.embedders.tiny import opened

LETTERS = """
    import numpy as np
    from patcache.embedders.base import Encoded
    from patcache.embedders.settings import Setting
    from patcache.records import Spec

    SETTINGS = {"letters": Setting("abc", str)}

    class Letters:
        device = "cpu"
        provenance = {}

        def __init__(self, spec):
            self.spec = spec

        def encode(self, texts, role):
            letters = self.spec.identity["letters"]
            rows = [[text.count(letter) for letter in letters] for text in texts]
            return Encoded(np.array(rows, dtype=np.float32))

    def load(resolved, context):
        settings = resolved.settings
        names = ("letters", "model", "text", "prompts", "storage", "normalize")
        identity = {"embedder": "letters", **{name: settings[name] for name in names}}
        return Letters(Spec(resolved.label, identity, len(settings["letters"])))
"""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package of one module with an entry point, as pip would."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def installed(kind: str, source: str, distribution: str) -> None:
        module = distribution.replace("-", "_")
        (site / f"{module}.py").write_text(textwrap.dedent(source))
        info = site / f"{module}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5")
        (info / "entry_points.txt").write_text(f"[patcache.embedders]\n{kind} = {module}\n")
        monkeypatch.delitem(sys.modules, module, raising=False)

    return installed


def test_a_kind_of_another_package_embeds_and_scores(install: Install, tmp_path: Path) -> None:
    install("letters", LETTERS, "patcache-letters")
    embedder = opened("letters:whatever", letters="ae")
    assert np.asarray(embedder.encode(["a tea", "b"], "query").vectors).tolist() == [[2, 1], [0, 0]]
    assert embedder.spec.identity["model"] == "whatever"
    store = Store(tmp_path / "store")
    store.import_files(write_patents(tmp_path / "patents.parquet"))
    store.sample("main", targets=3, seed=1)
    assert store.add("letters:whatever").dim == 3
    assert store.add("letters:whatever").n_encoded == 0
    assert [row.model for row in store.leaderboard()] == ["letters:whatever"]


def test_its_settings_are_read_and_its_nature_is_known(install: Install) -> None:
    install("letters", LETTERS + "\n    is_fitted = True\n", "patcache-letters")
    resolved = resolve(ModelRequest("letters:x", None, {"text": "title"}))
    assert resolved.is_fitted
    assert resolved.settings["letters"] == "abc"
    assert resolved.settings["text"]["fields"] == ["title"]
    with pytest.raises(ModelRefused, match="a letters model has no setting 'size'"):
        resolve(ModelRequest("letters:x", None, {"size": 3}))


def test_nothing_is_imported_before_it_is_asked_for(install: Install) -> None:
    install("letters", LETTERS, "patcache-letters")
    assert is_plugin("letters")
    assert "letters" in plugin_kinds()
    resolve(ModelRequest("tfidf"))
    assert "patcache_letters" not in sys.modules


def test_a_broken_plug_in_is_named_and_breaks_no_other(install: Install) -> None:
    install("broken", "raise RuntimeError('out of order')", "patcache-broken")
    install("letters", LETTERS, "patcache-letters")
    with pytest.raises(ModelRefused, match="broken of patcache-broken 1.5") as refused:
        resolve(ModelRequest("broken:x"))
    assert refused.value.why == "RuntimeError: out of order"
    assert "pip uninstall patcache-broken" in refused.value.todo
    assert opened("letters:x").spec.dim == 3


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "has no load"),
        ("SETTINGS = {'size': 3}\ndef load(resolved, context): ...", "setting size is no Setting"),
    ],
)
def test_an_object_that_is_no_plug_in_is_refused(
    install: Install, source: str, message: str
) -> None:
    install("odd", source, "patcache-odd")
    with pytest.raises(ModelRefused, match=message):
        find_plugin("odd")


def test_a_spec_that_lacks_what_every_spec_has_is_refused(install: Install) -> None:
    install("letters", LETTERS.replace('"storage", ', ""), "patcache-letters")
    with pytest.raises(ModelRefused, match="identity lacks storage"):
        opened("letters:x")


def test_two_packages_with_one_kind_and_none_are_refused(install: Install) -> None:
    install("letters", LETTERS, "patcache-letters")
    install("letters", LETTERS, "patcache-other")
    with pytest.raises(ModelRefused, match="2 packages bring the kind 'letters'") as refused:
        find_plugin("letters")
    assert refused.value.why == "patcache-letters 1.5, patcache-other 1.5"
    with pytest.raises(ModelRefused, match="unknown kind of model 'gone'"):
        load(Resolved("gone", "x", {}), None)  # type: ignore[arg-type]


BROKEN = """
    import numpy as np
    from scipy.sparse import csr_array
    from patcache.embedders.base import Encoded, Scores
    from patcache.records import Spec

    class Model:
        device = "cpu"
        provenance = {{}}

        def __init__(self, spec):
            self.spec = spec

        def encode(self, texts, role):
            return {encode}

        def score(self, queries, documents):
            return {score}

    def load(resolved, context):
        settings = resolved.settings
        identity = {{"embedder": "broken", "text": settings["text"], "normalize": False,
                    "prompts": settings["prompts"], "storage": "float32", **{identity}}}
        return Model(Spec(resolved.label, identity, {dim}, {sparse}))
"""
GOOD = {
    "encode": "Encoded(np.ones((len(texts), 3), dtype=np.float32))",
    "score": "Scores(np.ones(len(queries), dtype=np.float32))",
    "identity": "{}",
    "dim": "3",
    "sparse": "False",
}
PAIRS = {"identity": "{'pairs': True}", "dim": "1"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"encode": "[][0]"}, "cannot encode texts\nIndexError"),
        ({"encode": "None"}, r"NoneType, not Encoded\(an array \(2, 3\)\)"),
        ({"encode": "np.ones((len(texts), 3))"}, r"ndarray, not Encoded"),
        ({"encode": "Encoded(np.ones((len(texts), 4)))"}, r"of shape \(2, 4\), not"),
        ({"encode": "Encoded(np.ones((1, 3)))"}, r"of shape \(1, 3\), not"),
        ({"encode": "Encoded(csr_array(np.ones((len(texts), 3))))"}, "not Encoded"),
        ({"encode": "Encoded(np.full((len(texts), 3), 'a'))"}, "not Encoded"),
        ({"encode": "Encoded(np.ones((len(texts), 3)), 'x')"}, "not Encoded"),
        ({"sparse": "True"}, r"not Encoded\(CSR \(2, 3\)\)"),
        ({**PAIRS, "score": "1 / 0"}, "cannot score pairs\nZeroDivisionError"),
        ({**PAIRS, "score": "Scores(np.ones(1))"}, r"of shape \(1,\), not Scores"),
    ],
)
def test_what_a_plug_in_must_not_give_is_refused_by_its_name(
    install: Install, changed: dict[str, str], message: str
) -> None:
    install("broken", BROKEN.format(**{**GOOD, **changed}), "broken-models")
    model: Any = opened("broken:x")
    with pytest.raises(ModelRefused, match=f"plug-in broken of broken-models(.|\n)*{message}"):
        if "pairs" in changed.get("identity", ""):
            model.score(["a", "b"], ["c", "d"])
        else:
            model.encode(["a", "b"], "query")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dim": "0"}, "it has 0 dimensions"),
        ({"dim": "'x'"}, "it has 'x' dimensions"),
        ({**PAIRS, "dim": "2"}, "it has 2 dimensions"),
        ({"identity": "{'prompts': 'x'}"}, "its prompts query and document"),
        ({"identity": "{'text': None}"}, "its text must hold fields"),
        ({"identity": "{'storage': 'int8'}"}, "its storage is 'int8'"),
        ({"identity": "{'x': object()}"}, "cannot load broken:x\nTypeError"),
    ],
)
def test_a_spec_of_a_plug_in_that_cannot_be_is_refused(
    install: Install, changed: dict[str, str], message: str
) -> None:
    install("broken", BROKEN.format(**{**GOOD, **changed}), "broken-models")
    with pytest.raises(ModelRefused, match=message):
        opened("broken:x")


def test_vectors_of_a_plug_in_are_float32_and_its_own_attributes_stay(install: Install) -> None:
    source = BROKEN.format(
        **{**GOOD, "encode": "Encoded(np.full((len(texts), 3), 2, np.int64), 1)"}
    )
    install("broken", source + "\n    Model.n_parallel = 7\n", "broken-models")
    model: Any = opened("broken:x")
    encoded = model.encode(["a"], "query")
    assert encoded.vectors.dtype == np.float32
    assert (encoded.vectors.tolist(), encoded.n_truncated) == ([[2, 2, 2]], 1)
    assert model.n_parallel == 7
    assert not hasattr(model, "prepare")
    assert not hasattr(model, "encode_prepared")
