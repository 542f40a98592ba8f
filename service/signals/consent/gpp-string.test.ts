import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GppModel } from '@iabgpp/cmpapi'
import fc from 'fast-check'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import { decodeGppString, GPP_STRING_LENGTH_MAX } from './gpp-string.ts'

/** Name and opt-out fields of the US sections. */
const US_SECTIONS: [string, string[]][] = [
  ['usnat', ['SaleOptOut', 'SharingOptOut', 'TargetedAdvertisingOptOut']],
  ['usca', ['SaleOptOut', 'SharingOptOut']],
  ...[
    ...['usva', 'usco', 'usut', 'usct', 'usfl', 'usmt', 'usor', 'ustx', 'usde', 'usia', 'usne'],
    ...['usnh', 'usnj', 'ustn', 'usmn', 'usmd', 'usin', 'usky', 'usri'],
  ].map((name): [string, string[]] => [name, ['SaleOptOut', 'TargetedAdvertisingOptOut']]),
]

describe('decodeGppString', () => {
  for (const [name, fields] of US_SECTIONS) {
    it(`reads each opt-out of ${name}`, () => {
      const none = Object.fromEntries(fields.map(field => [field, 2]))
      assert.equal(usOptOut(name, none), 'allowed')
      assert.equal(usOptOut(name, {}), 'allowed')
      for (const field of fields) assert.equal(usOptOut(name, { ...none, [field]: 1 }), 'refused')
    })
  }

  it('reads the GPC of a section as an opt-out', () => {
    assert.equal(usOptOut('usnat', { SaleOptOut: 2, Gpc: true }), 'refused')
    assert.equal(usOptOut('usca', { GpcSegmentIncluded: true, Gpc: false }), 'allowed')
  })

  it('reads strings of the earlier version of usnat and of the US Privacy section', () => {
    assert.deepEqual(decodeGppString('DBABLA~BVVqAAAAAABY.QA'), choices('allowed'))
    assert.deepEqual(decodeGppString('DBABLA~BVVVVVVVVWA'), choices('refused'))
    assert.deepEqual(decodeGppString('DBABTA~1YYN'), choices('refused'))
    assert.deepEqual(decodeGppString('DBABTA~1YNN'), choices('allowed'))
    assert.deepEqual(decodeGppString('DBAA'), choices('absent'))
  })

  it('refuses when one of several sections does, and returns the TC string of the EU section', () => {
    const model = new GppModel()
    model.setFieldValue('usnat', 'SaleOptOut', 2)
    model.setFieldValue('usca', 'SharingOptOut', 1)
    assert.equal(decodeGppString(model.encode())?.usOptOut, 'refused')
    const tcString = buildTcString()
    const eu = { ...choices('absent'), tcString }
    assert.deepEqual(decodeGppString(`DBABMA~${tcString}`), eu)
    assert.deepEqual(decodeGppString(tcString), eu)
    assert.deepEqual(decodeGppString(`DBACNYA~${tcString}~1YYN`), { ...eu, usOptOut: 'refused' })
  })

  it('reports a section that it does not read, or that is broken', () => {
    for (const text of [
      'DBABLA~B',
      'DBABDA~B',
      'DBABLA~B____________',
      'DBABLA~BVVqAAAAAABY.',
      'DBABTA~zzzz',
    ]) {
      assert.deepEqual(decodeGppString(text), { ...choices('absent'), hasUnreadSection: true })
    }
  })

  it('reads the purposes of the Canadian section as the library encodes them', () => {
    const purposes = fc.uniqueArray(fc.integer({ min: 1, max: 24 }))
    fc.assert(
      fc.property(purposes, purposes, (express, implied) => {
        const model = new GppModel()
        model.setFieldValue('tcfcav1', 'PurposesExpressConsent', toBits(express))
        model.setFieldValue('tcfcav1', 'PurposesImpliedConsent', toBits(implied))
        assert.deepEqual(decodeGppString(model.encode()), {
          ...choices('absent'),
          canadaPurposes: { consented: new Set(express), implied: new Set(implied) },
        })
      }),
      { numRuns: 30 },
    )
  })

  it('does not expand the vendors of the Canadian section', () => {
    const head = `${'000001'}${'0'.repeat(145)}${'1'.repeat(48)}`
    // A range of 65,535 vendors, 200 times.
    const ranges = `1${'1'.repeat(16)}${'1'.repeat(16)}`.repeat(200)
    const section = base64Url(`${head}${'1'.repeat(16)}1${'000011001000'}${ranges}`)
    const before = process.memoryUsage().heapUsed
    assert.equal(decodeGppString(`DBABDA~${section}`)?.canadaPurposes?.consented.size, 24)
    assert.ok(process.memoryUsage().heapUsed - before < 50_000_000)
  })

  it('returns null for other text', () => {
    for (const text of [
      ...['', 'D', 'garbage', 'DBABLA', 'DBABLA~', 'DBAA~1YNN', 'DBABLA~BVVq~BVVq', 'EBABLA~BVVq'],
      `DBABLA~${'B'.repeat(GPP_STRING_LENGTH_MAX)}`,
    ]) {
      assert.equal(decodeGppString(text), null, text.slice(0, 40))
    }
  })

  it('returns null for a header with a huge range of ids, without expanding it', () => {
    // One range from 1 to the 40th Fibonacci number, some 165 million ids.
    const header = base64Url(`000011${'000001'}${'000000000001'}1${'11'}${`${'0'.repeat(39)}11`}`)
    const before = process.memoryUsage().heapUsed
    assert.equal(decodeGppString(`${header}~B`), null)
    assert.ok(process.memoryUsage().heapUsed - before < 50_000_000)
    assert.equal(decodeGppString(`D${'_'.repeat(8_000)}~B`), null)
  })

  it('never throws', () => {
    const text = fc.string({ unit: fc.constantFrom(...'DBACVYQ~._-019') })
    const headed = fc.tuple(fc.constantFrom('DBABLA~', 'DBACNYA~', 'D'), text)
    fc.assert(fc.property(headed, ([head, rest]) => void decodeGppString(head + rest)))
  })
})

function usOptOut(section: string, fields: Record<string, unknown>) {
  const model = new GppModel()
  model.setFieldValue(section, 'SaleOptOut', 0)
  for (const [field, value] of Object.entries(fields)) model.setFieldValue(section, field, value)
  const decoded = decodeGppString(model.encode())
  assert.equal(decoded?.hasUnreadSection, false)
  return decoded.usOptOut
}

function toBits(purposes: number[]): boolean[] {
  return Array.from({ length: 24 }, (_, index) => purposes.includes(index + 1))
}

function choices(usOptOut: string) {
  return { usOptOut, tcString: null, canadaPurposes: null, hasUnreadSection: false }
}

function base64Url(bits: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const padded = bits.padEnd(Math.ceil(bits.length / 6) * 6, '0')
  return (padded.match(/.{6}/g) ?? []).map(six => alphabet[Number.parseInt(six, 2)]).join('')
}
