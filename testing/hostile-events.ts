import type { OutboundEvent } from '../service/signals/platforms/platform.ts'

const LONE_SURROGATE = 'a\ud800b'
const LONG = 'é'.repeat(5_000)
const HUGE_AMOUNT = '9'.repeat(400)
/** Members of a parsed body; an object literal would set the prototype. */
const PROTOTYPE_MEMBERS: Record<string, unknown> = JSON.parse(
  '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"toString":1}',
)
const TEXTS = ['', ' ', '\0', '__proto__', 'constructor', LONE_SURROGATE, LONG, '</script>', 'NaN']
const NUMBERS = [Number.MAX_VALUE, -1, 0.1 + 0.2, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]

/** Events whose members are what a caller may send: the types hold, the values are hostile. */
export function createHostileEvents(event: OutboundEvent): OutboundEvent[] {
  const { commerce } = event
  const changes: Partial<OutboundEvent>[] = [
    ...TEXTS.flatMap(text => [
      { eventName: text },
      { platformName: text },
      { eventId: text },
      { orderId: text },
      { actionSource: text },
      { eventSource: text, referrer: text },
      { valueAmount: text },
      { valueCurrency: text },
      { customerSegment: text, messagingChannel: text },
      { plain: { ...event.plain, [text]: text, client_user_agent: text } },
      { digests: { ...event.digests, [text]: [text] } },
      { commerce: { ...commerce, contentName: text, searchString: text, contentIds: [text] } },
      { commerce: { ...commerce, predictedLifetimeValue: text, netRevenue: text } },
      { contents: [{ id: text, title: text, item_name: text, item_price: text, quantity: text }] },
      { dataProcessing: { options: [text], country: null, state: null } },
    ]),
    ...NUMBERS.flatMap(number => [
      { numItems: number },
      { contents: [{ id: number, item_price: number, quantity: number }] },
      { dataProcessing: { options: ['LDU'], country: number, state: number } },
    ]),
    { valueAmount: HUGE_AMOUNT },
    { valueAmount: `-${HUGE_AMOUNT}.${HUGE_AMOUNT}` },
    { eventTime: new Date(Number.NaN) },
    { eventTime: new Date(0) },
    { digests: {}, plain: {} },
    { appData: PROTOTYPE_MEMBERS },
    { commerce: { ...commerce, customProperties: PROTOTYPE_MEMBERS } },
    { contents: [{ ...PROTOTYPE_MEMBERS, id: 'a', item_price: {}, quantity: [], brand: null }] },
    { contents: Array.from({ length: 2_000 }, (_, index) => ({ id: index })) },
  ]
  return changes.map(change => ({ ...event, ...change }))
}

/** What a caller may send as `user_data` without naming anyone. */
export const HOSTILE_USER_DATA: Record<string, unknown>[] = [
  PROTOTYPE_MEMBERS,
  ...[...NUMBERS.slice(3), true, {}, [[]], { toString: 1 }].map(value => ({
    em: value,
    ct: value,
  })),
  ...['', ' ', '\0', '\ud800', 'a'.repeat(10_000)].map(text => ({ em: text, ph: text, zp: text })),
]
