"""Requests to an OpenAI-compatible /v1/embeddings: retried, put in order, and checked."""

from __future__ import annotations

import base64
import binascii
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from patcache.errors import ModelRefused

if TYPE_CHECKING:
    from patcache.records import FloatArray

RETRIED = frozenset({408, 409, 425, 429})  # and every status from 500
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0  # by our own doubling
LONGEST_ASKED_WAIT_S = 600.0  # by the server's Retry-After
HIDDEN = "[key]"
LONGEST_NAME = 500

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with a request, in words without the key, and what may be tried.

    wait_s: what the server asked to wait; None where it said nothing. is_final: no use in retrying.
    """

    words: str
    is_final: bool
    wait_s: float | None = None
    status: int | None = None


class Service:
    """One model behind one base URL. The key stays in the client that is made here."""

    def __init__(self, label: str, settings: Mapping[str, Any], key: str) -> None:
        import openai

        self._client: Any = openai.OpenAI(
            api_key=key,
            base_url=settings["base_url"],
            timeout=settings["timeout_s"],
            max_retries=0,  # retried here, where Retry-After counts whatever its length
        )
        self._label = label
        self._settings = settings
        self._key = key
        self.served: str | None = None  # the model's name as the API states it

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        """Vectors (n, dim) of texts by one request, row i for texts[i].

        Errors: ModelRefused where the tries are used up, or what comes back cannot be.
        """
        n_tries = self._settings["max_tries"]
        wait_s = FIRST_WAIT_S
        for n_left in range(n_tries - 1, -1, -1):
            answer = self._request(texts)
            if not isinstance(answer, Failure):
                return self._checked(answer, len(texts))
            if answer.is_final or not n_left or (answer.wait_s or 0) > LONGEST_ASKED_WAIT_S:
                raise self._refusal(answer, n_tries - n_left)
            pause_s = wait_s if answer.wait_s is None else answer.wait_s
            log.info("%s: %s; trying again in %g s", self._label, answer.words, pause_s)
            time.sleep(pause_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        raise ValueError("max_tries must be 1 or more")

    def _request(self, texts: Sequence[str]) -> Any:
        """The API's answer, or a Failure: returned, so that no traceback holds the request."""
        import openai

        asked: dict[str, Any] = {
            "model": self._settings["model"],
            "input": list(texts),
            "encoding_format": self._settings["encoding"],
        }
        if self._settings["dimensions"] is not None:
            asked["dimensions"] = self._settings["dimensions"]
        try:
            return self._client.embeddings.create(**asked)
        except openai.APIStatusError as error:
            return self._status_failure(error)
        except openai.APITimeoutError:
            return Failure(f"no answer within {self._settings['timeout_s']:g} s", is_final=False)
        except openai.APIConnectionError as error:
            return Failure(self._words(error.__cause__ or error), is_final=False)
        except Exception as error:  # the client's models raise many kinds for odd answers
            return Failure(self._words(error), is_final=True)

    def _status_failure(self, error: Any) -> Failure:
        is_final = error.status_code not in RETRIED and error.status_code < 500
        is_out_of_money = error.code == "insufficient_quota"
        wait_s = retry_after(error.response.headers.get("retry-after"), datetime.now(UTC))
        return Failure(self._words(error), is_final or is_out_of_money, wait_s, error.status_code)

    def _words(self, error: BaseException) -> str:
        """One line about an error, without the key that a server may have repeated."""
        line = " ".join(str(error).split()) or type(error).__name__
        return self._hidden(line)[:300]

    def _hidden(self, words: str) -> str:
        return words.replace(self._key, HIDDEN)

    def _refusal(self, failure: Failure, n_tried: int) -> ModelRefused:
        todo = ""
        if failure.status in (401, 403):
            todo = (
                "put the key into an environment variable and name it: --set key_env=NAME "
                "(without it only OpenAI's own address gets one, OPENAI_API_KEY)"
            )
        elif failure.status in (400, 413):
            todo = "a text that is too long for it is cut with --max-tokens N"
        elif not failure.is_final:
            todo = "run the same again: it goes on where it stopped"
        return ModelRefused(
            f"{self._label}: {self._settings['base_url']} gave no vectors"
            f" ({n_tried} {'try' if n_tried == 1 else 'tries'})",
            failure.words,
            todo,
        )

    def _checked(self, answer: Any, n_texts: int) -> FloatArray:
        """The vectors of an answer in the order of the texts. Errors: ModelRefused."""
        if not isinstance(getattr(answer, "data", None), list):
            said = getattr(answer, "error", None)
            raise self._wrong(f"it is no list of vectors{f', but says: {said}' if said else ''}")
        # A server that repeats the key as its model's name must not have it stored.
        served = self._hidden(str(answer.model or self._settings["model"]))
        if len(served) > LONGEST_NAME or not served.isprintable():
            raise self._wrong("the name of its model is none")
        if self.served not in (None, served):
            raise self._wrong(f"it now serves {served!r}, and served {self.served!r} before")
        self.served = served
        items = {str(getattr(item, "index", None)): item for item in answer.data}
        order = list(map(str, range(n_texts)))
        if len(answer.data) != n_texts or set(items) != set(order):
            raise self._wrong(f"{len(answer.data)} vectors came for {n_texts} texts, or not theirs")
        rows = [self._numbers(getattr(items[at], "embedding", None)) for at in order]
        dims = sorted({len(row) for row in rows})
        wanted = self._settings["dimensions"] or dims[0]
        if dims != [wanted]:
            raise self._wrong(f"vectors of {dims} dimensions came, where {wanted} belong")
        vectors = np.stack(rows)
        if not wanted:
            raise self._wrong("a vector that came is empty")
        if not np.isfinite(vectors).all():
            raise self._wrong("a vector that came holds a number that is not finite")
        return vectors

    def _numbers(self, embedding: Any) -> FloatArray:
        """A vector that came as base64 of float32 or as numbers, whatever was asked for."""
        try:
            if isinstance(embedding, str):
                return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
            with np.errstate(over="ignore"):  # what became infinite is refused
                return np.array([float(value) for value in embedding], dtype=np.float32)
        except (binascii.Error, ValueError, TypeError, OverflowError) as error:
            raise self._wrong(f"a vector that came cannot be read: {error}") from error

    def _wrong(self, why: str) -> ModelRefused:
        return ModelRefused(
            f"{self._label}: what {self._settings['base_url']} gave cannot be used",
            self._hidden(why)[:300],
        )


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds that a Retry-After header asks to wait: a number or a date; None if it is neither."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass  # a date, then
    try:
        at = parsedate_to_datetime(header)
    except (ValueError, TypeError, OverflowError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)  # "-0000" gives no zone
    return max(0.0, (at - now).total_seconds())
