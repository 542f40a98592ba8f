"""Reads a page in OpenMetrics as Prometheus' own Python library does, which refuses what the format forbids."""

import json
import math
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

families = []
for family in text_string_to_metric_families(sys.stdin.read()):
    samples = []
    for sample in family.samples:
        exemplar = sample.exemplar
        samples.append(
            {
                "name": sample.name,
                "labels": sample.labels,
                "value": None if math.isnan(sample.value) else sample.value,
                "exemplar": exemplar and {"labels": exemplar.labels, "value": exemplar.value},
            }
        )
    families.append({"name": family.name, "type": family.type, "samples": samples})
json.dump(families, sys.stdout)
