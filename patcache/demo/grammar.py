"""Sentences from the rules of data/rules.toml and the subject of one patent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from patcache.demo import english, quantities
from patcache.demo.dice import Dice
from patcache.demo.rules import Choice, Part, Pattern, Text, rules
from patcache.demo.subject import Subject, Term

MAX_SENTENCE_WORDS = 46
METHOD = re.compile(
    r"(?:process|method|procedure|synthesis|recovery|treatment|preparation|production|protocol|coding"
    r"|hydrogenation|oxidation|extraction|control|service|correction)(?: (?:of|for|from) .*)?$"
)
P_ABBREVIATES = 0.85  # of dense writers: a drip tray (DTY), the DTY
POST_CHANCES = (1.0, 0.4, 0.0)  # that a new noun is described further, by depth


class Writer:
    """Writes the title and the abstract of one patent.

    It remembers what was named before: `a grinder` comes first, `the grinder` after that, and
    every sentence looks for parts it has not named yet.
    """

    def __init__(self, subject: Subject, dice: Dice) -> None:
        self.subject = subject
        self.dice = dice
        self.is_method = METHOD.search(subject.thing) is not None
        self.known: dict[str, bool] = {}  # noun: whether it was introduced as several
        self.used: set[str] = set()  # nouns and verb phrases of this sentence
        self.seen: set[tuple[str, int]] = set()  # alternatives used up in this abstract
        self.many = False  # number of the clause's subject
        self.term = Term("")  # the part named last
        self.term_many = False
        self.depth = 0
        self.abbreviates = subject.style == "dense" and dice.chance(P_ABBREVIATES)
        self.numerals = {} if dice.chance(0.12) else None  # type: dict[str, int] | None

    def sentence(self, rule: str) -> str:
        """One sentence of the given rule, within MAX_SENTENCE_WORDS."""
        for _ in range(20):
            known = dict(self.known)
            self.used = set()
            text = tidy(self.expand(rule))
            if len(text.split()) <= MAX_SENTENCE_WORDS:
                return text[0].upper() + text[1:] + "."
            self.known = known
        return self.sentence("result")

    def title(self) -> str:
        self.used = set()
        text = tidy(self.expand("title"))
        self.known = {}
        return text[0].upper() + text[1:]

    def expand(self, name: str) -> str:
        """The text of a rule or slot."""
        if name in SLOTS:
            return SLOTS[name](self)
        return self.render(self._fresh(name, self._alternatives(name)))

    def _alternatives(self, name: str) -> tuple[Pattern, ...]:
        kinds = ("method", self.subject.kind) if self.is_method else (self.subject.kind,)
        found = (rules().get(f"{name}_{kind}") for kind in kinds)
        return next((patterns for patterns in found if patterns), None) or rules()[name]

    def _fresh(self, name: str, alternatives: tuple[Pattern, ...]) -> Pattern:
        """An alternative that this abstract has not used yet, while there is one."""
        fresh = [i for i in range(len(alternatives)) if (name, i) not in self.seen]
        chosen = self.dice.pick(fresh or range(len(alternatives)))
        if len(alternatives) > 5 and name != "purpose":
            self.seen.add((name, chosen))
        return alternatives[chosen]

    def render(self, pattern: Pattern) -> str:
        return "".join(map(self._render_part, pattern))

    def _render_part(self, part: Part) -> str:
        if isinstance(part, Text):
            return part.words
        if isinstance(part, Choice):
            return self.render(self.dice.pick(part.options))
        if part.name.startswith("v:"):
            return self.verb(part.name[2:])
        text = self.expand(part.name)
        if part.is_subject:
            self.many = self.term_many
        return text

    def verb(self, phrase: str) -> str:
        """The present tense that agrees with the last {*subject}; modals stay as they are."""
        verb, _, rest = phrase.partition(" ")
        if verb in ("can", "may", "must", "will"):
            return phrase
        if self.many:
            rest = rest.replace("itself", "themselves")
        return f"{english.present(verb, self.many)} {rest}".strip()

    # Nouns

    def choose(
        self, terms: list[Term], wanted: Callable[[Term], bool] = bool, is_ordered: bool = False
    ) -> Term:
        """A term not yet named in this sentence, rather one that is new to the abstract.

        is_ordered: the first terms rather than the last.
        """
        free = [t for t in terms if t.noun not in self.used and wanted(t)]
        new = [t for t in free if t.noun not in self.known]
        p_new = 0.85 if is_ordered else 0.3 if self.abbreviates else 0.6
        pool = (
            (new if new and self.dice.chance(p_new) else free)
            or list(filter(wanted, terms))
            or terms
        )
        chosen = self.dice.early(pool) if is_ordered else self.dice.pick(pool)
        self.used.add(chosen.noun)
        return chosen

    def noun_phrase(self, term: Term, with_post: bool = True) -> str:
        """`a second drip tray made of glass`, or `the drip tray` where it is known."""
        is_known = term.noun in self.known
        if not is_known:
            self.known[term.noun] = self.dice.chance(0.25)
        many = self.known[term.noun]
        text = self._definite(term, many) if is_known else self._indefinite(term, many)
        if not is_known and with_post and self.dice.chance(POST_CHANCES[self.depth]):
            text += self._post(term, many)
        self.term, self.term_many = term, many
        return text

    def _definite(self, term: Term, many: bool) -> str:
        noun = self._short(term.noun) or term.noun
        noun = english.plural(noun) if many else noun
        articles = ("the", "the", "the", "the", "the", "said", "these" if many else "this")
        return f"{self.dice.pick(articles)} {noun}{self._numeral(term.noun)}"

    def _indefinite(self, term: Term, many: bool) -> str:
        adjective = self._adjective()
        short = self._short(term.noun)
        mark = f" ({short})" if short else self._numeral(term.noun)
        if many:
            return f"{self.expand('number')} {english.plural(f'{adjective}{term.noun}')}{mark}"
        article = "a" if self.dice.chance(0.85) else "at least one"
        return f"{article} {adjective}{term.noun}{mark}"

    def _short(self, noun: str) -> str:
        """`DTY` for `drip tray`, where the patent abbreviates; nothing for single words."""
        words = noun.replace("-", " ").split()
        if not self.abbreviates or len(words) < 2 or noun == self.subject.thing:
            return ""
        return "".join(word[0] for word in words).upper() + words[-1][-1].upper()

    def _adjective(self) -> str:
        if self.dice.chance(0.42):
            return ""
        if self.dice.chance(0.35) and self.subject.terms["traits"]:
            return self.dice.pick(self.subject.nouns("traits")) + " "
        return self.expand("adjective") + " "

    def _numeral(self, noun: str) -> str:
        if self.numerals is None:
            return ""
        return f" ({self.numerals.setdefault(noun, 10 + 2 * len(self.numerals))})"

    def _post(self, term: Term, many: bool) -> str:
        self.depth += 1
        self.term, self.term_many = term, many
        text = self.expand("post")
        self.depth -= 1
        return f" {text}" if text else ""

    def part(self) -> str:
        return self.noun_phrase(self.choose(self.subject.terms["parts"]))

    def stuff(self) -> str:
        term = self.choose(self.subject.terms["stuff"], is_ordered=True)
        self.term, self.term_many = term, english.is_plural(term.noun)
        is_known = term.noun in self.known
        self.known.setdefault(term.noun, self.term_many)
        return f"the {term.noun}" if is_known and self.dice.chance(0.45) else term.noun

    def solid(self) -> str:
        """What a part can be made of: of the patent's own, else of what is found everywhere."""
        solids = english.LISTS["solids"]
        own = [s for s in self.subject.nouns("stuff") if s.split()[-1].lower() in solids]
        return self.dice.pick(own) if own and self.dice.chance(0.7) else self.expand("material")

    def item(self) -> str:
        """What a thing is made of: matter in chemistry, parts elsewhere."""
        return self.stuff() if self.subject.kind == "process" else self.part()

    def items(self, low: int = 2, high: int = 4, slot: str = "item") -> str:
        return listed([self.expand(slot) for _ in range(self.dice.whole(low, high))])

    def thing(self) -> str:
        known = self.subject.thing in self.known
        if known:
            return self.noun_phrase(Term(self.subject.thing), with_post=False)
        self.known[self.subject.thing] = self.term_many = False
        adjective = self.expand("merit") + " " if self.dice.chance(0.2) else ""
        return f"a {adjective}{self.subject.thing}{self._numeral(self.subject.thing)}"

    # Verbs

    def act(self) -> str:
        """What the patent does, as a bare verb phrase: `brew coffee`."""
        return self._unused(self.subject.nouns("acts"))

    def aim(self) -> str:
        """An act that is the field's own, not one of the whole section."""
        return self._unused(self.subject.aims or self.subject.nouns("acts"))

    def _unused(self, phrases: Sequence[str]) -> str:
        """One that is not in this sentence yet; where all are, what a part or substance does."""
        deeds = [
            t.deeds[0] for topic in ("parts", "stuff") for t in self.subject.terms[topic] if t.deeds
        ]
        chosen = self.dice.pick(
            [phrase for phrase in phrases if phrase not in self.used]
            or [deed for deed in deeds if deed not in self.used]
            or phrases
        )
        self.used.add(chosen)
        return chosen

    def acted(self) -> str:
        """`coffee is brewed`, or `it is possible to lean back` where nothing can be passive."""
        return english.passive(self.act()) or f"it is possible to {self.act()}"

    def doer(self) -> tuple[str, str, bool]:
        """A part or substance that has a deed: its noun phrase, the deed, and its number."""
        terms = self.subject.terms["parts"]
        if self.subject.kind == "process":
            terms = terms + self.subject.terms["stuff"]
        term = self.choose(terms, lambda t: bool(t.deeds))
        deed = term.deeds[0] if term.deeds else f"serve to {self.act()}"
        if term in self.subject.terms["stuff"]:
            return term.noun, deed, english.is_plural(term.noun)
        return self.noun_phrase(term, with_post=False), deed, self.term_many

    def does(self) -> str:
        noun, deed, many = self.doer()
        return f"{noun} {in_present(deed, many)}"

    def done(self) -> str:
        noun, deed, many = self.doer()
        if deed in self.used or (clause := english.passive(deed)) is None:
            return f"{noun} {in_present(deed, many)}"
        return f"{clause} by {noun}"

    def doing(self) -> str:
        noun, deed, _ = self.doer()
        return f"{noun} {in_gerund(deed)}"

    def item_for(self) -> str:
        noun, deed, _ = self.doer()
        return f"{noun} for {in_gerund(deed)}"

    def own_deed(self) -> str:
        return self.term.deeds[0] if self.term.deeds else self.act()

    def purpose_own(self) -> str:
        deed = self.own_deed()
        many = self.term_many
        forms = (
            f"for {in_gerund(deed)}",
            f"for {in_gerund(deed)}",
            f"to {deed}",
            f"{self.dice.pick(('adapted', 'configured', 'designed', 'able'))} to {deed}",
            f"by which {clause}" if (clause := english.passive(deed)) else f"to {deed}",
            f"intended for {in_gerund(deed)}",
        )
        self.term_many = many
        return self.dice.pick(forms)

    def that_own(self) -> str:
        return f"{self.dice.pick(('that', 'which'))} {in_present(self.own_deed(), self.term_many)}"

    def does_it(self) -> str:
        return in_present(self.own_deed(), self.term_many)

    # Words and quantities

    def word(self, topic: str) -> str:
        """A bare noun of a topic, in the number it has."""
        words = self.subject.nouns(topic)
        chosen = self.dice.pick([word for word in words if word not in self.used] or words)
        self.used.add(chosen)
        self.term_many = english.is_plural(chosen)
        return chosen

    def fresh_word(self, rule: str) -> str:
        """An alternative of a rule that this sentence does not have yet."""
        words = [self.render(pattern) for pattern in rules()[rule]]
        chosen = self.dice.pick([word for word in words if word not in self.used] or words)
        self.used.add(chosen)
        return chosen

    def words(self, topic: str) -> str:
        if self.dice.chance(0.65) or len(self.subject.terms[topic]) < 2:
            return self.word(topic)
        first, second = self.dice.several(self.subject.nouns(topic), 2)
        self.term_many = True
        return f"{first} and {second}"

    def dose(self) -> str:
        return f"{quantities.dose(self.dice)} of {self.stuff()}"

    def time(self) -> str:
        units = quantities.FAST if self.subject.kind == "system" else quantities.SLOW
        return quantities.span(self.dice, 2, 50, self.dice.pick(units))

    def period(self) -> str:
        unit = "seconds" if self.subject.kind == "system" else "minutes"
        return f"{self.dice.whole(2, 60)} {unit}"

    def bare(self, topic: str) -> str:
        """For titles: a trait and a noun without article."""
        term = self.choose(self.subject.terms[topic])
        trait = self.subject.terms["traits"] and self.dice.chance(0.4)
        return f"{self.dice.pick(self.subject.nouns('traits'))} {term.noun}" if trait else term.noun


def in_present(deed: str, many: bool) -> str:
    verb, space, rest = deed.partition(" ")
    return english.present(verb, many) + space + rest


def in_gerund(deed: str) -> str:
    verb, space, rest = deed.partition(" ")
    return english.gerund(verb) + space + rest


def listed(items: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else items[0]


def tidy(text: str) -> str:
    """One space between words, none before a comma, `an` before vowels."""
    text = re.sub(r"\s+", " ", text).strip()
    return english.with_articles(re.sub(r" ([,;.])", r"\1", text))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


SLOTS: dict[str, Callable[[Writer], str]] = {
    "thing": Writer.thing,
    "Thing": lambda w: _capital(w.subject.thing),
    "t_thing": lambda w: f"a {w.subject.thing}",
    "thing_many": lambda w: english.plural(w.subject.thing),
    "part": Writer.part,
    "parts": lambda w: w.items(slot="part"),
    "part_for": Writer.item_for,
    "part_many": lambda w: english.plural(w.choose(w.subject.terms["parts"]).noun),
    "t_part": lambda w: w.bare("parts"),
    "t_Part": lambda w: _capital(w.bare("parts")),
    "item": Writer.item,
    "items": lambda w: w.items(),
    "item_many": lambda w: english.plural(w.choose(w.subject.terms["parts"]).noun),
    "stuff": Writer.stuff,
    "solid": Writer.solid,
    "stuffs": lambda w: w.items(2, 3, "stuff"),
    "dose": Writer.dose,
    "doses": lambda w: w.items(2, 3, "dose"),
    "steps": lambda w: w.items(2, 4, "step"),
    "act": Writer.act,
    "aim": Writer.aim,
    "aiming": lambda w: in_gerund(w.aim()),
    "Aiming": lambda w: _capital(in_gerund(w.aim())),
    "acting": lambda w: in_gerund(w.act()),
    "acted": Writer.acted,
    "does": Writer.does,
    "done": Writer.done,
    "doing": Writer.doing,
    "do": Writer.own_deed,
    "does_it": Writer.does_it,
    "purpose_own": Writer.purpose_own,
    "that_own": Writer.that_own,
    "ill": lambda w: w.word("ills"),
    "ills": lambda w: w.words("ills"),
    "gain": lambda w: w.word("gains"),
    "gains": lambda w: w.words("gains"),
    "site": lambda w: w.word("sites"),
    "objects": lambda w: listed([w.word("objects") for _ in range(w.dice.whole(1, 2))]),
    "markets": lambda w: listed([w.fresh_word("market") for _ in range(w.dice.whole(2, 4))]),
    "users": lambda w: w.word("users"),
    "is": lambda w: "are" if w.term_many else "is",
    "t_lower": lambda w: w.subject.thing,
    "adj": lambda w: w.expand("adjective"),
    "adv": lambda w: w.expand("adverb"),
    "range": lambda w: quantities.span(w.dice, 1, 60, w.subject.unit),
    "micro": lambda w: quantities.span(w.dice, 1, 90, w.dice.pick(quantities.MICRO)),
    "temperature": lambda w: quantities.span(w.dice, *w.subject.heat, "°C"),
    "angle": lambda w: quantities.span(w.dice, 5, 60, "degrees"),
    "time": Writer.time,
    "period": Writer.period,
    "percent": lambda w: quantities.percent(w.dice),
    "share": lambda w: f"{w.dice.whole(3, 95)} %",
    "ratio": lambda w: quantities.ratio(w.dice),
    "count": lambda w: f"{(n := w.dice.whole(2, 20))} to {n + w.dice.whole(1, 9)}",
    "times": lambda w: w.dice.pick(quantities.TIMES),
}
