"""
Digests of identifiers by the rules of the service, so that raw identifiers stay with you. `None`
when a value cannot be normalized for certain: leave it out, or send it raw and let the service,
which knows every numbering plan, decide.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import groupby


def email(text: str) -> str | None:
    """SHA-256 of a normalized email address. A digest is returned as it is, in lower case."""
    return _digest(text, lambda value: _normalize_email(_normalize_identifier(value)))


def phone(text: str) -> str | None:
    """SHA-256 of a phone number in international form, with + or 00, or of eleven digits with 1."""
    return _digest(text, lambda value: _normalize_phone(_normalize_identifier(value)))


def external_id(text: str | int) -> str | None:
    """SHA-256 of your own id of a person: without its white space, in lower case."""
    return _digest(text, _normalize_external_id)


_SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    chr(code) for code in range(0x2000, 0x200B)
)
"""What the service trims. Python counts a few control characters too, and no byte order mark."""

_SUPPLIED = re.compile(
    r"([0-9a-f]{64})(?:\.(?:[\w-]{8}|AQ|Ag|Aw|BA|BQ|Bg))?", re.ASCII | re.IGNORECASE
)
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]+"
)
"""What Unicode lets a program ignore (Default_Ignorable_Code_Point); it comes with copied text."""
_CHARACTERS_MAX = 512


def _digest(text: str | int, normalize: Callable[[str], str | None]) -> str | None:
    value = str(text)
    if _utf16_length(value) > _CHARACTERS_MAX:
        return None
    value = _INVISIBLE.sub("", value)
    supplied = _SUPPLIED.fullmatch(value.strip(_SPACE))
    if supplied:
        digest = supplied[1].lower()
        return None if digest in _nobodys_digests() else digest
    # Of a character that this Python does not know yet, it does not know the lower case either.
    if any(unicodedata.category(character) in ("Cn", "Cs") for character in value):
        return None
    normalized = normalize(value)
    return None if normalized is None else hashlib.sha256(normalized.encode()).hexdigest()


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _normalize_identifier(text: str) -> str:
    """NFKC, except for accents on their own, before which it would put a space."""
    runs = groupby(text, key=lambda character: unicodedata.category(character) == "Sk")
    parts = (
        "".join(run) if is_accent else unicodedata.normalize("NFKC", "".join(run))
        for is_accent, run in runs
    )
    return "".join(parts).strip(_SPACE).lower()


def _normalize_email(text: str) -> str | None:
    local, _, domain = text.rpartition("@")
    is_address = _utf16_length(text) <= 254 and _is_local_part(local) and _is_domain(domain)
    return text if is_address else None


def _is_local_part(text: str) -> bool:
    if any(character in _SPACE or _category(character) == "C" for character in text):
        return False
    if len(text) > 2 and text[0] == text[-1] == '"':
        return '"' not in text[1:-1]
    return text != "" and not set(text) & set('@"<>()[]:;,\\')


def _is_domain(text: str) -> bool:
    *labels, top = text.split(".")
    return (
        bool(labels)
        and all(labels)
        and len(top) >= 2
        and "_" not in top
        and all(_category(character) in "LMN" or character in "_-." for character in text)
    )


def _category(character: str) -> str:
    return unicodedata.category(character)[0]


_PLACEHOLDERS = [
    *"undefined|[object object]|(not set)|-|null|none|nan|n/a|nil|(null)|(none)|#n/a|0".split("|"),
    *r"not set|unknown|(unknown)|(not provided)|(empty)|n\a|true|false|guest|anonymous".split("|"),
    "00000000-0000-0000-0000-000000000000",
]
"""What a variable leaves that was never filled: it would make one person of many."""
_UNFILLED_FORM = re.compile(
    r"\[object \w+\]|[!-/:-@\[-`{-~\u2010-\u2015]+|\{\{.*\}\}|[$#]\{.*\}|<%.*%>|%%.*%%|"
    r"%[a-z_. ]+%|\[\[.*\]\]|"
    r"\*\|.*\|\*|__[a-z_]+__|\{[a-z_. ]+\}|<[a-z_. ]+>|\[[a-z_. ]+\]",
    re.ASCII | re.DOTALL,
)
_SPELLINGS = "NaN|[object Object]|{{name}}|{{email}}|{{phone}}|{{user_id}}".split("|")


@cache
def _nobodys_digests() -> frozenset[str]:
    """Digests of nothing and of placeholders, as programs write them."""
    spelled = [
        form for text in _PLACEHOLDERS for form in (text, text.upper(), text[:1].upper() + text[1:])
    ]
    texts = ["", *spelled, *_SPELLINGS]
    return frozenset([*(hashlib.sha256(text.encode()).hexdigest() for text in texts), "0" * 64])


def _normalize_external_id(text: str) -> str | None:
    prepared = unicodedata.normalize("NFC", text).strip(_SPACE).lower()
    if prepared == "" or prepared in _PLACEHOLDERS or _UNFILLED_FORM.fullmatch(prepared):
        return None
    return "".join(character for character in prepared if character not in _SPACE)


_CALLING_CODE = re.compile(r"1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[0-9]{3}")
_KEEPS_ZERO = frozenset({"39", "225", "241", "242", "378"})
"""Countries whose national numbers begin with 0 in international form too."""
_DROPS_ZERO = frozenset(
    "20 27 31 32 33 40 41 43 44 46 49 61 62 63 64 66 81 82 84 90 91 92 94".split()
)
"""Countries where a 0 is dialed before a national number, and only there."""


def _normalize_phone(text: str) -> str | None:
    """Digits with the calling code. `None` unless the result is the same for the service."""
    number = re.sub(r"\A00", "+", text.removeprefix("tel:"))
    if not re.fullmatch(rf"\+?[0-9{re.escape(_SPACE)}().-]+", number):
        return None
    digits = re.sub(r"[^0-9]", "", number)
    if not number.startswith("+"):
        return digits if _is_north_american(digits) else None
    match = _CALLING_CODE.match(digits)
    code = match[0] if match else ""
    national = digits[len(code) :]
    is_whole = code != "" and 8 <= len(digits) <= 15
    if not is_whole or (code == "1" and not _is_north_american(digits)):
        return None
    if not national.startswith("0") or code in _KEEPS_ZERO:
        return digits
    return code + national[1:] if code in _DROPS_ZERO and national[1:2] != "0" else None


def _is_north_american(digits: str) -> bool:
    return re.fullmatch(r"1[2-9][0-9]{2}[2-9][0-9]{6}", digits) is not None
