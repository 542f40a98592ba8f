"""Records which members and types Snap's own library has for conversion events.

    git clone https://github.com/Snapchat/business-sdk-v3-java /tmp/snap
    git -C /tmp/snap checkout 8ab70757eaf24aa2ea86e3483611ad8f4018f075
    python3 graph-simulator/snapchat/contract/record_contract.py /tmp/snap

Run by hand, because it needs GitHub. The tests need only the recording beside this file.
"""

import json
import pathlib
import re
import sys

MODELS = {
    "request": "SendEventRequest",
    "event": "CapiEvent",
    "user_data": "UserData",
    "custom_data": "CustomData",
    "app_data": "AppData",
    "item": "Content",
    "answer": "EventResponse",
    "errors": "ErrorDetails",
    "validation": "ValidateResponse",
    "event_log": "EventLogs",
}
TYPES = {
    **{name: key for key, name in MODELS.items()},
    "String": "str",
    "StatusEnum": "str",
    "Boolean": "bool",
    "Long": "int",
    "Integer": "int",
    "BigDecimal": "float",
}
NAME = re.compile(r'SERIALIZED_NAME_(\w+)\s*=\s*"(\w+)"')
MEMBER = re.compile(r"@SerializedName\(SERIALIZED_NAME_(\w+)\)\s+private ([\w<>]+) \w+")


def describe(kind: str) -> str:
    """The type of a member as one word, such as `str`, `[str]` or the name of a model."""
    listed = re.fullmatch(r"List<(\w+)>", kind)
    return f"[{TYPES[listed.group(1)]}]" if listed else TYPES[kind]


directory = pathlib.Path(sys.argv[1], "src/main/java/com/snap/business/sdk/v3/model")
models = {}
for key, name in MODELS.items():
    source = (directory / f"{name}.java").read_text()
    names = dict(NAME.findall(source))
    models[key] = {names[member]: describe(kind) for member, kind in sorted(MEMBER.findall(source))}

recording = {"source": "Snapchat/business-sdk-v3-java 8ab7075 (GitHub)", "models": models}
path = pathlib.Path(__file__).with_name("conversion-contract.json")
path.write_text(json.dumps(recording, indent=2) + "\n")
