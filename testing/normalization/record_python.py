"""What facebook-business makes of each case. Reads the cases on standard input."""

import json
import re
import sys

from facebook_business.adobjects.serverside.gender import Gender
from facebook_business.adobjects.serverside.normalize import Normalize

DIGEST = re.compile(r"^[0-9a-f]{64}$|^[0-9a-f]{32}$")
NOT_SENT = "unsupported:"


def normalize(case):
    field, value = case["field"], case["input"]
    if field == "app_user_id":
        return NOT_SENT
    if field == "external_id":
        return {"kept": value if isinstance(value, str) else str(value)}
    try:
        if field == "ge":
            value = Gender(value.lower()).value
        text = Normalize.normalize_field_skip_hashing(field, value)
    except Exception:
        return {"error": True}
    if text is not None and DIGEST.match(text):
        return {"kept": text}
    return text


json.dump([normalize(case) for case in json.load(sys.stdin)], sys.stdout)
