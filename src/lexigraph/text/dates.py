"""Dates as people write them, and as ISO 8601 has them: what a network must read in any order, and write in one.

    Tuesday, 5 June 2007    →  2007-06-05        le 1er mars 1964     →  1964-03-01
    JUNE 5TH, 2007          →  2007-06-05        05/06/2007           →  2007-06-05

Names of months and days are in eight languages. In numbers the day comes first wherever both are possible. Years are
1900 to 2099, and with two digits those from 1969 to 2068, as POSIX reads them.

One day in ten is never among `dates`, however it is written: those are `dates:unseen`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
SHORT_YEARS = range(1969, 2069)  # those that two digits can mean
UNSEEN = 10  # one day in so many

MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
}
SHORT_MONTHS = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "de": "Jan. Feb. März Apr. Mai Juni Juli Aug. Sep. Okt. Nov. Dez.",
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "es": "ene. feb. mar. abr. may. jun. jul. ago. sept. oct. nov. dic.",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "pt": "jan. fev. mar. abr. maio jun. jul. ago. set. out. nov. dez.",
    "nl": "jan. feb. mrt. apr. mei juni juli aug. sep. okt. nov. dec.",
    "sv": "jan. feb. mars apr. maj juni juli aug. sep. okt. nov. dec.",
}
DAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "it": "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "pt": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    "nl": "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    "sv": "måndag tisdag onsdag torsdag fredag lördag söndag",
}
# {d} 5, {dd} 05, {th} 5th or 1er, {m} 6, {mm} 06, {month} June, {mon} Jun, {day} Tuesday, {y} 2007, {yy} 07
FORMATS = {
    "": (
        "{dd}/{mm}/{y}",
        "{d}/{m}/{y}",
        "{dd}.{mm}.{y}",
        "{d}.{m}.{y}",
        "{dd}-{mm}-{y}",
        "{dd} {mm} {y}",
        "{d}/{m}/{yy}",
        "{dd}.{mm}.{yy}",
        "{y}-{mm}-{dd}",
        "{y}/{mm}/{dd}",
        "{y}.{m}.{d}",
        "{y}{mm}{dd}",
    ),
    "en": (
        "{d} {month} {y}",
        "{month} {d}, {y}",
        "{month} {th}, {y}",
        "the {th} of {month}, {y}",
        "{day}, {d} {month} {y}",
        "{day}, {month} {d}, {y}",
        "{d} {mon} {y}",
        "{mon} {d}, {y}",
        "{d}-{mon}-{yy}",
        "{y} {mon} {dd}",
    ),
    "de": ("{d}. {month} {y}", "{day}, {d}. {month} {y}", "{day}, den {d}. {month} {y}", "{d}. {mon} {y}"),
    "fr": ("{th} {month} {y}", "le {th} {month} {y}", "{day} {th} {month} {y}", "{th} {mon} {y}"),
    "es": ("{d} de {month} de {y}", "{day}, {d} de {month} de {y}", "{d} {mon} {y}"),
    "it": ("{d} {month} {y}", "{day} {d} {month} {y}", "{d} {mon} {y}"),
    "pt": ("{d} de {month} de {y}", "{day}, {d} de {month} de {y}", "{d} {mon} {y}"),
    "nl": ("{d} {month} {y}", "{day} {d} {month} {y}", "{d} {mon} {y}"),
    "sv": ("{d} {month} {y}", "den {d} {month} {y}", "{day} den {d} {month} {y}", "{d} {mon} {y}"),
}
NUMBERS = 0.3  # the share of dates without any words


def pairs(unseen: bool = False, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Dates without end, each as somebody writes it and in ISO 8601."""
    random = Random(f"{seed} {unseen}")
    languages = [language for language in FORMATS if language]
    while True:
        day = FIRST + timedelta(random.randrange((LAST - FIRST).days + 1))
        if held_out(day) != unseen:
            continue
        language = "" if random.random() < NUMBERS else random.choice(languages)
        form = random.choice([f for f in FORMATS[language] if "{yy}" not in f or day.year in SHORT_YEARS])
        text = written(day, form, language)
        yield random.choices((text, text.lower(), text.upper()), (8, 1, 1))[0], day.isoformat()


def held_out(day: date) -> bool:
    """Whether a day is one of the unseen: spread evenly, and not by any rule of the calendar."""
    return Random(day.toordinal()).randrange(UNSEEN) == 0


def written(day: date, form: str, language: str = "") -> str:
    """A day in a form of FORMATS.

    >>> written(date(2007, 6, 1), "{day}, {month} {th}, {y}", "en")
    'Friday, June 1st, 2007'
    """
    names = {}
    if language:
        names = {
            "month": MONTHS[language].split()[day.month - 1],
            "mon": SHORT_MONTHS[language].split()[day.month - 1],
            "day": DAYS[language].split()[day.weekday()],
        }
    return form.format(
        d=day.day,
        dd=f"{day.day:02}",
        th=_ordinal(day.day, language),
        m=day.month,
        mm=f"{day.month:02}",
        y=day.year,
        yy=f"{day.year % 100:02}",
        **names,
    )


def _ordinal(number: int, language: str) -> str:
    """1st, 2nd, 11th …; in French 1er, and 2, 3 as they are."""
    if language == "fr":
        return "1er" if number == 1 else str(number)
    ending = "th" if 11 <= number <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
