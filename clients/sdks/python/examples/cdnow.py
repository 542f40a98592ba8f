"""
Sends the purchases of the CDNOW sample (see examples/cdnow) through a queue, and prints how many
had each outcome, as JSON:

    python examples/cdnow.py ../../../examples/cdnow/CDNOW_sample.txt
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from signalbox import Outcome, QueueFullError, Signalbox, consent, hash
from signalbox.types import ConsentEvent

LINE = re.compile(r" (\d{5}) \d{4} (\d{4})(\d{2})(\d{2}) +(\d+) +(\d+\.\d{2})")
"""Number in all of CDNOW, number in the sample, YYYYMMDD, CDs, dollars."""


class Purchase(NamedTuple):
    line: int
    customer: str
    date: str
    items: int
    dollars: Decimal

    def to_event(self, time: datetime) -> ConsentEvent:
        return {
            # The same in every run, so that a second run counts nothing twice.
            "event_id": f"cdnow-{self.line:04}-{self.customer}-{self.date}",
            "event_name": "Purchase",
            "event_time": time,
            "consent_basis": "consent",
            "consent": consent.granted(captured_at=time - timedelta(minutes=1)),
            "user_data": {"external_id": hash.external_id(self.customer)},
            "value_data": {
                "value": str(self.dollars),
                "currency": "USD",
                "num_items": self.items,
            },
        }


def read_purchases(path: Path) -> Iterator[Purchase]:
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), start=1):
        match = LINE.fullmatch(line)
        if match is None:
            raise SystemExit(f"Line {number} of the sample is not a purchase.")
        customer, year, month, day, items, dollars = match.groups()
        date = f"{year}-{month}-{day}"
        yield Purchase(number, customer, date, int(items), Decimal(dollars))


def send(purchases: list[Purchase], now: datetime) -> list[Outcome]:
    """The purchases of 1997 and 1998 become recent ones, a second apart."""
    outcomes: list[Outcome] = []
    with Signalbox() as signalbox:
        queue = signalbox.queue(on_outcome=outcomes.append)
        for purchase in purchases:
            event = purchase.to_event(now - timedelta(seconds=len(purchases) - purchase.line))
            try:
                queue.add(event)
            except QueueFullError:
                queue.flush()
                queue.add(event)
        queue.close()
    return outcomes


def main() -> None:
    if not os.environ.get("SIGNALBOX_TOKEN"):
        raise SystemExit("Set SIGNALBOX_TOKEN.")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sample", type=Path)
    parser.add_argument("--first", type=int, metavar="LINES")
    parser.add_argument("--now", type=datetime.fromisoformat, default=datetime.now(UTC))
    arguments = parser.parse_args()
    purchases = list(read_purchases(arguments.sample))[: arguments.first]
    outcomes = send(purchases, arguments.now)
    statuses = Counter(outcome.status for outcome in outcomes)
    errors = [f"{outcome.event_id}: {outcome.error}" for outcome in outcomes if outcome.error]
    dollars = sum((purchase.dollars for purchase in purchases), Decimal(0))
    print(json.dumps({"purchases": len(purchases), "dollars": str(dollars), **statuses}))
    raise SystemExit("\n".join(errors) or 0)


if __name__ == "__main__":
    main()
