import type { OutboundEvent, Platform } from '../service/signals/platforms/platform.ts'

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

const DAY_MILLISECONDS = 86_400_000
const STANDARD_NAMES = [
  ...['AddPaymentInfo', 'AddToCart', 'AddToWishlist', 'CompleteRegistration', 'Contact'],
  ...['CustomizeProduct', 'Donate', 'FindLocation', 'InitiateCheckout', 'Lead', 'PageView'],
  ...['Purchase', 'Schedule', 'Search', 'StartTrial', 'SubmitApplication', 'Subscribe'],
  ...['ViewContent', 'Refund', 'MyEvent', 'My event, 日本', 'n'.repeat(100)],
]
const SOURCES = [
  ...['website', 'app', 'physical_store', 'phone_call', 'email', 'chat', 'business_messaging'],
  ...['system_generated', 'other'],
]
const IPHONE = {
  advertiser_tracking_enabled: true,
  application_tracking_enabled: true,
  extinfo: 'i2,,,,16.0,iPhone,en_US,PST,,320,568,2,2,13,8,USA'.split(','),
}

/**
 * Events that a shop sends to the platform: each standard name, source, kind of money, order and
 * person, and ages up to the edge of the window. Those that it has no name for are not selected.
 */
export function listVariedEvents<Target>(
  { conversionTargets, hasNameFor = () => true, windowSeconds }: Platform<Target>,
  event: OutboundEvent,
): OutboundEvent[] {
  const oldest = event.eventTime.getTime() - windowSeconds('website') * 1_000
  const target = conversionTargets && event.platformName
  return createVariedEvents(event, target).filter(
    one =>
      one.eventTime.getTime() >= oldest && (target !== undefined || hasNameFor(one.platformName)),
  )
}

function createVariedEvents(event: OutboundEvent, target?: string): OutboundEvent[] {
  const { commerce } = event
  const money = [
    ...['0', '0.00', '19.95', '-5', '-0.01', '99999999999999.99', '0.005'].map(text => [
      text,
      'EUR',
    ]),
    ...[
      ['1200', 'JPY'],
      ['1200.5', 'JPY'],
      ['1.2345', 'KWD'],
      ['0.001', 'BHD'],
      ['5', 'CLF'],
    ],
    ...[
      ['5', null],
      [null, 'EUR'],
      [null, null],
    ],
  ] as [string | null, string | null][]
  const items = Array.from({ length: 50 }, (_, index) => ({
    id: index % 2 === 0 ? index : `sku-${index}`,
    quantity: index % 3 === 0 ? String(index) : index,
    item_price: index % 2 === 0 ? '9.950' : 9.95,
    title: `Lampe № ${index} 😀`,
  }))
  const changes: Partial<OutboundEvent>[] = [
    ...STANDARD_NAMES.map(eventName => ({ eventName })),
    ...SOURCES.flatMap(actionSource => [
      { actionSource, appData: IPHONE },
      { actionSource, eventSource: null, appData: null },
    ]),
    ...['Purchase', 'Lead'].flatMap(eventName =>
      money.map(([valueAmount, valueCurrency]) => ({ eventName, valueAmount, valueCurrency })),
    ),
    { contents: items, numItems: 50 },
    { contents: [{ id: 'i'.repeat(256), title: 't'.repeat(3_000), category: 'c'.repeat(3_000) }] },
    { eventSource: `https://x.example/?${'a'.repeat(2_000)}`, referrer: 'https://r.example/' },
    { commerce: { ...commerce, searchString: 's'.repeat(1_000), contentName: '😀'.repeat(500) } },
    { contents: [{ id: 'discount', quantity: 1, item_price: '-5.00', brand: 7 }] },
    {
      contents: [
        { id: 'odd', quantity: 1.5, price: 'free' },
        { id: 0, quantity: 0, price: -1 },
      ],
    },
    { commerce: { ...commerce, predictedLifetimeValue: '-1', contentIds: [7, 'a'] } },
    { commerce: { ...commerce, contentTypes: ['hotel', 'product'], contentIds: ['a'] } },
    { commerce: { ...commerce, customProperties: { plan_id: 'gold', value: 3, price: 'x' } } },
    {
      eventId: 'i'.repeat(128),
      orderId: '😀'.repeat(64),
      eventSource: `https://x.example/${'日'}`,
    },
    { eventSource: 'https://x.example/#', referrer: '' },
    { eventSource: 'x.example/basket' },
    { plain: {} },
    { digests: {} },
    { digests: {}, plain: {} },
    { digests: { em: ['1', '2', '3', '4'].map(digit => digit.repeat(64)) } },
    { digests: { external_id: ['5'.repeat(64)] }, plain: {} },
    { optOut: true },
    { advertiserTracking: false },
    { adConsent: { userData: true, personalization: false } },
    { dataProcessing: { options: ['LDU'], country: 0, state: 0 } },
    { dataProcessing: { options: [], country: null, state: null } },
    ...[6.99, 27.99, 36.99, 62.99, 89.99].flatMap(days =>
      ['website', 'physical_store'].map(actionSource => ({
        actionSource,
        eventTime: new Date(event.eventTime.getTime() - days * DAY_MILLISECONDS),
      })),
    ),
  ]
  return changes.map((change, index) => {
    const { eventName = event.eventName } = change
    return { ...event, eventId: `varied-${index}`, platformName: target ?? eventName, ...change }
  })
}
