/** A program that a user of the generated TypeScript types would write. Type-checked, not run. */
export const TYPESCRIPT_PROGRAM = `
import type { components, paths } from './schema.d.ts'

type Schemas = components['schemas']

export const purchase: Schemas['ConsentEvent'] = {
  event_name: 'Purchase',
  consent_basis: 'consent',
  event_time: 1795258800,
  value_data: { value: '19.95', currency: 'EUR' },
}
export const submission: Schemas['EventSubmission'] = purchase
export const replay: Schemas['ReplaySubmission'] = {}
export const noBody: paths['/deliveries/replay']['post']['requestBody'] = undefined
export const cleared: Schemas['TestModeSubmission'] = { enabled: false, test_event_code: null }
export const amountOf = (event: Schemas['Event']): number | null => event.value_amount
export const isFailed = (status: Schemas['DeliveryStatus']) => status === 'failed:auth'
// @ts-expect-error: the closed set of statuses is known to the compiler
export const isUnknown = (status: Schemas['DeliveryStatus']) => status === 'lost'
`

/** Imports every generated module of Python and builds one body. Run. */
export const PYTHON_PROGRAM = `
import importlib, json, pathlib, sys

root = pathlib.Path(__file__).parent
for path in (root / "signalbox").rglob("*.py"):
    importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))

from signalbox.models import ConsentEvent, FreeFormObject, ReplaySubmission, ValueData

purchase = ConsentEvent(
    event_name="Purchase",
    consent_basis="consent",
    event_time=1795258800,
    consent=FreeFormObject.from_dict({"advertising": "granted"}),
    value_data=ValueData(value="19.95", currency="EUR"),
)
assert purchase.to_dict() == {
    "event_name": "Purchase",
    "consent_basis": "consent",
    "event_time": 1795258800,
    "consent": {"advertising": "granted"},
    "value_data": {"value": "19.95", "currency": "EUR"},
}, json.dumps(purchase.to_dict())
assert ReplaySubmission().to_dict() == {}

from signalbox.api.deliveries import replay_deliveries
from signalbox.api.destinations import send_test_purchase

for request in (replay_deliveries._get_kwargs(), send_test_purchase._get_kwargs("1")):
    assert "json" not in request, request
`

/** Uses the generated types of Go. Vetted, which compiles it. */
export const GO_PROGRAM = `package signalbox

func purchase() (EventSubmission, error) {
	var eventTime EventTime
	if err := eventTime.FromUnixSeconds(1795258800); err != nil {
		return EventSubmission{}, err
	}
	value, currency := "19.95", "EUR"
	var body EventSubmission
	err := body.FromConsentEvent(ConsentEvent{
		EventName: "Purchase",
		EventTime: &eventTime,
		Consent:   &FreeFormObject{"advertising": "granted"},
		ValueData: &ValueData{Value: &value, Currency: &currency},
	})
	return body, err
}

// Money is double, and enumerations are types of their own.
func amount(event Event) *float64 { return event.ValueAmount }

func propose(id string) ActionSubmission {
	return ActionSubmission{Type: ActionTypePause, TargetEntity: TargetEntity{Id: id}}
}

func status(delivery Delivery) DeliveryStatus { return delivery.Status }

var _, _, _, _ = purchase, amount, propose, status
`
