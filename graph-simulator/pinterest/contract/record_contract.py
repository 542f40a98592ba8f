"""Records which members and types Pinterest's own client has for conversion events.

    pip install --target /tmp/pinterest pinterest-generated-client==0.1.12
    PYTHONPATH=/tmp/pinterest python3 graph-simulator/pinterest/contract/record_contract.py

Run by hand, because it needs PyPI. The tests need only the recording beside this file.
"""

import importlib
import importlib.metadata
import json
import pathlib

MODELS = {
    "request": ("conversion_events", "ConversionEvents"),
    "event": ("conversion_events_data", "ConversionEventsData"),
    "user_data": ("conversion_events_user_data", "ConversionEventsUserData"),
    "custom_data": ("conversion_events_custom_data", "ConversionEventsCustomData"),
    "item": ("conversion_events_custom_data_contents", "ConversionEventsCustomDataContents"),
    "answer": ("conversion_api_response", "ConversionApiResponse"),
    "result": ("conversion_api_response_events", "ConversionApiResponseEvents"),
}
PACKAGE = "openapi_generated.pinterest_client.model"
NAMES = {name: key for key, (_, name) in MODELS.items()}


def describe(kinds) -> str:
    """The type of a member as one word, such as `str`, `[str]` or the name of a model."""
    [kind, *_] = [kind for kind in kinds if kind is not type(None)]
    if isinstance(kind, list):
        return f"[{describe(kind)}]"
    return NAMES.get(kind.__name__, kind.__name__)


models = {}
for key, (module, name) in MODELS.items():
    model = getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
    models[key] = {member: describe(kinds) for member, kinds in sorted(model.openapi_types.items())}

version = importlib.metadata.version("pinterest-generated-client")
recording = {"source": f"pinterest-generated-client {version} (PyPI)", "models": models}
path = pathlib.Path(__file__).with_name("conversion-contract.json")
path.write_text(json.dumps(recording, indent=2) + "\n")
