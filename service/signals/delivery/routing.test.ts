import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DestinationRouting } from '@signalbox/contract/routing.ts'
import fc from 'fast-check'
import {
  changeRouting,
  findUnselectedReason,
  listSameNames,
  needsPlatformName,
  type RoutedEvent,
  validateRouting,
} from './routing.ts'

const EVENT: RoutedEvent = {
  eventName: 'Purchase',
  actionSource: 'website',
  valueAmount: '19.95',
  valueCurrency: 'EUR',
  space: 'secret',
  isTest: false,
}

function reasonOf(filter: DestinationRouting['filter'], changes: Partial<RoutedEvent> = {}) {
  return findUnselectedReason({ ...(filter && { filter }) }, { ...EVENT, ...changes })
}

it('selects everything without a filter, and names the member that does not match', () => {
  assert.equal(reasonOf(undefined), null)
  assert.equal(reasonOf({ event_names: ['Purchase', 'Lead'] }), null)
  assert.equal(reasonOf({ event_names: ['purchase'] }), 'name_not_selected')
  assert.equal(reasonOf({ action_sources: ['app'] }), 'action_source_not_selected')
  assert.equal(reasonOf({ spaces: ['publishable'] }), 'key_not_selected')
  assert.equal(reasonOf({ test: 'only' }), 'live_not_selected')
  assert.equal(reasonOf({ test: 'exclude' }, { isTest: true }), 'test_not_selected')
  assert.equal(reasonOf({ test: 'include' }, { isTest: true }), null)
})

it('compares a minimum value in its own currency only, and never selects an absent one', () => {
  const minimum = { minimum_value: { amount: '20.00', currency: 'EUR' } }
  assert.equal(reasonOf(minimum), 'value_below_minimum')
  assert.equal(reasonOf(minimum, { valueAmount: '20' }), null)
  assert.equal(reasonOf(minimum, { valueAmount: '0020.000001' }), null)
  assert.equal(reasonOf(minimum, { valueAmount: '-25' }), 'value_below_minimum')
  assert.equal(
    reasonOf(minimum, { valueAmount: '500', valueCurrency: 'USD' }),
    'value_other_currency',
  )
  assert.equal(reasonOf(minimum, { valueAmount: null }), 'value_missing')
  assert.equal(reasonOf(minimum, { valueCurrency: null }), 'value_missing')
})

it('compares every digit of an amount', () => {
  const millionths = fc.bigInt({ min: 0n, max: 10n ** 21n - 1n })
  const decimal = (value: bigint) => {
    const digits = value.toString().padStart(7, '0')
    return `${digits.slice(0, -6)}.${digits.slice(-6)}`
  }
  fc.assert(
    fc.property(millionths, millionths, (amount, minimum) => {
      const filter = { minimum_value: { amount: decimal(minimum), currency: 'EUR' } }
      const reason = reasonOf(filter, { valueAmount: decimal(amount) })
      return (reason === null) === amount >= minimum
    }),
  )
})

it('selects nothing without an entry of the map where the platform needs one', () => {
  const routing = { event_names: { Purchase: '123' } }
  assert.equal(findUnselectedReason(routing, EVENT, true), null)
  const other = { ...EVENT, eventName: 'constructor' }
  assert.equal(findUnselectedReason(routing, other, true), 'no_platform_name')
  assert.equal(findUnselectedReason(routing, other, false), null)
})

const TARGETS = {
  conversionTargets: { label: 'Actions', hint: 'Its number, not its name.', pattern: '^\\d+$' },
}

it('needs an entry of the map at a platform that knows other names, or not this one', () => {
  const hasNameFor = (name: string) => name === 'Purchase'
  assert.equal(needsPlatformName(TARGETS, 'Purchase'), true)
  assert.equal(needsPlatformName({ hasNameFor }, 'Purchase'), false)
  assert.equal(needsPlatformName({ hasNameFor }, 'Lead'), true)
  assert.equal(needsPlatformName({}, 'Lead'), false)
  assert.equal(needsPlatformName(null, 'Lead'), false)
})

it('takes names for one that the platform or the map reads as one', () => {
  const renamed = new Map([['Purchase', 'checkout']])
  const eventNames = { known: ['Purchase', 'checkout'], read: renameOf(renamed) }
  const routing = { event_names: { Sale: 'Purchase', Lead: 'contact' } }
  const namesOf = (eventName: string, platform = { eventNames }) => {
    const platformName = Object.entries(routing.event_names).find(([key]) => key === eventName)
    return listSameNames(
      { platform, routing },
      { eventName, platformName: platformName?.[1] ?? eventName },
    ).toSorted()
  }
  const PURCHASES = ['Purchase', 'Sale', 'checkout']
  for (const name of PURCHASES) assert.deepEqual(namesOf(name), PURCHASES)
  assert.deepEqual(namesOf('Lead'), ['Lead', 'contact'])
  assert.deepEqual(namesOf('Other'), ['Other'])
  assert.deepEqual(namesOf('__proto__'), ['__proto__'])
})

function renameOf(names: ReadonlyMap<string, string>) {
  return (name: string) => names.get(name) ?? name
}

it('names each invalid member of a routing', () => {
  const tooMany = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`n${index}`, 'x']))
  const cases: [string, unknown][] = [
    ['note', { note: true }],
    ['filter.note', { filter: { note: true } }],
    ['event_names', { event_names: ['Purchase'] }],
    ['event_names', { event_names: tooMany }],
    ['event_names', { event_names: { ' Purchase': 'Order' } }],
    ['filter.event_names', { filter: { event_names: ['Lead', 'Lead'] } }],
    ['filter.event_names', { filter: { event_names: [] } }],
    ['filter.event_names', { filter: { event_names: ['Lead '] } }],
    ['filter.action_sources.0', { filter: { action_sources: ['fax'] } }],
    ['filter.minimum_value.currency', { filter: { minimum_value: { amount: '1' } } }],
    ['filter.minimum_value.amount', { filter: { minimum_value: { currency: 'EUR' } } }],
    [
      'filter.minimum_value.currency',
      { filter: { minimum_value: { amount: '1', currency: 'XXQ' } } },
    ],
    ['filter.minimum_value.amount', { filter: { minimum_value: { amount: 1, currency: 'EUR' } } }],
    ['filter.spaces.0', { filter: { spaces: ['browser'] } }],
    ['filter.test', { filter: { test: true } }],
  ]
  for (const [field, input] of cases) {
    assert.throws(
      () => validateRouting(input, null),
      (error: { errors?: Record<string, unknown> }) => {
        assert.deepEqual(Object.keys(error.errors ?? {}), [field], JSON.stringify(input))
        return true
      },
    )
  }
  assert.throws(() => validateRouting({ event_names: { Purchase: 'sale' } }, TARGETS), {
    message: 'A value of the event_names field is not valid. Its number, not its name.',
  })
  assert.deepEqual(validateRouting({ event_names: { Purchase: '123' } }, TARGETS), {
    event_names: { Purchase: '123' },
  })
})

it('keeps members that a change leaves out, and clears those that are null', () => {
  const current = { event_names: { Order: 'Purchase' }, filter: { event_names: ['Order'] } }
  const minimum_value = { amount: '5', currency: 'eur' }
  assert.deepEqual(changeRouting(current, { filter: { minimum_value } }, null), {
    event_names: { Order: 'Purchase' },
    filter: { minimum_value: { amount: '5', currency: 'EUR' } },
  })
  assert.deepEqual(changeRouting(current, { filter: null }, null), {
    event_names: { Order: 'Purchase' },
  })
  assert.deepEqual(changeRouting(current, { event_names: {}, filter: {} }, null), {})
})
