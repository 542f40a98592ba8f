import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readContractTypes } from './contract-types.ts'
import { SMALL_CONTRACT } from './fixtures.ts'
import { printGo } from './print-go.ts'
import { printPython } from './print-python.ts'
import { printTypeScript } from './print-typescript.ts'

const DECLARATIONS = readContractTypes(SMALL_CONTRACT, ['createOrder'])

/** What stands after the header and the types that are the same for every contract. */
function bodyOf(text: string, last: string): string {
  return text.slice(text.indexOf(last) + last.length).trim()
}

it('prints only what the operations use, and no name for a plain text', () => {
  assert.deepEqual(
    DECLARATIONS.map(({ name, isInput }) => `${name} ${isInput ? 'in' : 'out'}`),
    [
      'CardOrder in',
      'CashOrder in',
      'OrderSubmission in',
      'OrderStatus out',
      'FreeForm out',
      'Counts out',
      'Order out',
    ],
  )
})

it('prints constants, unions, null and open sets in TypeScript', () => {
  const text = bodyOf(printTypeScript(DECLARATIONS, 'x'), '| number\n')
  assert.equal(
    text,
    `export interface CardOrder {
  method: 'card'
  event_time?: EventTime | undefined
  /** Null * / clears it. */
  note?: string | null | undefined
  quantity?: number | undefined
}

export interface CashOrder {
  method: 'cash'
  tags: ('a' | 'b')[]
}

/** One of two. */
export type OrderSubmission = CardOrder | CashOrder

export type OrderStatus = 'open' | 'failed:auth' | (string & {})

export type FreeForm = Record<string, unknown>

export type Counts = Record<string, number>

export interface Order {
  id: string
  status: OrderStatus
  value_amount: string | null
  extra: FreeForm | null
  paid: true
  rate: number
  from: number | null
  counts: Counts
  items?: unknown[]
}`,
  )
})

it('prints the same in Python, with another form for members that are keywords', () => {
  const text = bodyOf(printPython(DECLARATIONS, 'x'), 'Unix seconds."""\n')
  assert.equal(
    text,
    `class CardOrder(TypedDict):
    method: Literal["card"]
    event_time: NotRequired[EventTime]
    note: NotRequired[str | None]
    """Null */ clears it."""
    quantity: NotRequired[int]


class CashOrder(TypedDict):
    method: Literal["cash"]
    tags: list[Literal["a", "b"]]


Order = TypedDict(
    "Order",
    {
        "id": str,
        "status": "OrderStatus",
        "value_amount": Union[str, None],
        "extra": Union["FreeForm", None],
        "paid": Literal[True],
        "rate": float,
        "from": Union[int, None],
        "counts": "Counts",
        "items": NotRequired[list[Any]],
    },
)


OrderSubmission = Union["CardOrder", "CashOrder"]
"""One of two."""


OrderStatus = str


FreeForm = dict[str, Any]


Counts = dict[str, int]`,
  )
})

it('prints the same in Go, with one struct for a union and columns as gofmt has them', () => {
  const text = bodyOf(printGo(DECLARATIONS, 'x'), 'import "encoding/json"\n')
  assert.equal(
    text,
    `// OrderSubmission: One of two.
type OrderSubmission struct {
	Method    string     \`json:"method"\`
	EventTime *EventTime \`json:"event_time,omitempty"\`
	// Null */ clears it.
	Note     *Nullable[string] \`json:"note,omitempty"\`
	Quantity *int64            \`json:"quantity,omitempty"\`
	Tags     []string          \`json:"tags,omitempty"\`
}

// MarshalJSON writes a list that is empty, and leaves out one that is nil.
func (v OrderSubmission) MarshalJSON() ([]byte, error) {
	type plain OrderSubmission
	return json.Marshal(struct {
		plain
		Tags *[]string \`json:"tags,omitempty"\`
	}{
		plain(v),
		keepEmpty(v.Tags),
	})
}

type OrderStatus string

const (
	OrderStatusOpen       OrderStatus = "open"
	OrderStatusFailedAuth OrderStatus = "failed:auth"
)

type FreeForm = map[string]any

type Counts = map[string]int64

type Order struct {
	Result
	ID          string      \`json:"id"\`
	Status      OrderStatus \`json:"status"\`
	ValueAmount *Money      \`json:"value_amount"\`
	Extra       FreeForm    \`json:"extra"\`
	Paid        bool        \`json:"paid"\`
	Rate        float64     \`json:"rate"\`
	From        *int64      \`json:"from"\`
	Counts      Counts      \`json:"counts"\`
	Items       []any       \`json:"items,omitempty"\`
}`,
  )
})

it('refuses a schema that it does not know, so that nothing is lost without notice', () => {
  const contract = structuredClone(SMALL_CONTRACT)
  Object.assign(contract.components.schemas.Order.properties, { new: { allOf: [] } })
  assert.throws(
    () => readContractTypes(contract, ['createOrder']),
    /Order\.new has the unknown keyword allOf/,
  )
  assert.throws(() => readContractTypes(SMALL_CONTRACT, ['other']), /has no operation other/)
})
