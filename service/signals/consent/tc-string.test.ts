import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TCString } from '@iabtcf/core'
import fc from 'fast-check'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'
import { decodeTcString, TC_STRING_LENGTH_MAX } from './tc-string.ts'
import vectors from './vectors/tcf-vectors.json' with { type: 'json' }

const META_PURPOSES = [1, 3, 4, 7]
const PURPOSES = Array.from({ length: 24 }, (_, index) => index + 1)

describe('decodeTcString', () => {
  for (const { name, tcString, decoded } of vectors) {
    it(`decodes the vector "${name}" (${tcString.slice(0, 12)})`, () => {
      const choices = decodeTcString(tcString)
      if (decoded === undefined) {
        assert.equal(choices, null)
        return
      }
      const purposes: number[] = decoded.purposeConsents
      assert.equal(choices?.policyVersion, decoded.policyVersion)
      assert.equal(choices?.created.toISOString(), decoded.created)
      assert.equal(choices?.lastUpdated.toISOString(), decoded.lastUpdated)
      assert.deepEqual([...(choices?.purposesConsented ?? [])], purposes)
      assert.equal(choices?.disclosesVendors, decoded.vendorsDisclosed.length > 0)
    })
  }

  it('returns the same result for a cached string', () => {
    const text = buildTcString({ purposes: [1, 7] })
    assert.deepEqual(decodeTcString(text), decodeTcString(text))
    assert.equal(decodeTcString('AAAA'), decodeTcString('AAAA'))
  })

  it('stays correct after many more strings than the cache holds', () => {
    for (let day = 0; day < 2_500; day += 1) {
      const created = new Date(Date.UTC(2020, 0, 1 + day)).toISOString()
      const text = buildTcString({ created })
      assert.equal(decodeTcString(text)?.created.toISOString(), created)
    }
  })

  it('rejects version 1 and 3, a fifth segment, a second core, and padding', () => {
    const good = buildTcString()
    const [core = ''] = good.split('.')
    assert.notEqual(decodeTcString(good), null)
    for (const bad of [
      buildTcString({ version: 1 }),
      buildTcString({ version: 3 }),
      `${core}.IAAA.IAAA.IAAA.IAAA`,
      `${core}.${core}`,
      `${good}.`,
      `${good}==`,
      ` ${good}`,
    ]) {
      assert.equal(decodeTcString(bad), null, bad)
    }
  })

  it('rejects an otherwise valid string longer than 8 KiB', () => {
    const [core = '', disclosed = ''] = buildTcString().split('.')
    const padded = (length: number) => `${core}.${disclosed}`.padEnd(length, 'A')
    assert.notEqual(decodeTcString(padded(TC_STRING_LENGTH_MAX)), null)
    assert.equal(decodeTcString(padded(TC_STRING_LENGTH_MAX + 1)), null)
  })

  it('decodes a string with huge vendor ranges without expanding them', () => {
    const wide: [number, number][] = Array.from({ length: 200 }, () => [1, 65_535])
    const text = buildTcString({
      vendorConsents: { ranges: wide },
      restrictions: [wide, wide, wide],
      disclosed: { ranges: wide },
    })
    const startedAt = performance.now()
    const choices = decodeTcString(text)
    const tookMs = performance.now() - startedAt
    assert.deepEqual([...(choices?.purposesConsented ?? [])], META_PURPOSES)
    // Unfolded, this takes minutes; 250 ms leaves room for a slow machine.
    assert.ok(tookMs < 250, `took ${tookMs} ms`)
  })

  it('agrees with the full decoder of @iabtcf/core on any string, complete or truncated', () => {
    fc.assert(
      fc.property(tcStrings, fc.nat(30), (text, cut) => {
        const shortened = text.slice(0, text.length - cut)
        const ours = decodeTcString(shortened)
        const whole = decodedByLibrary(shortened)
        assert.equal(ours === null, whole === null)
        if (ours === null || whole === null) return
        assert.deepEqual(
          [...ours.purposesConsented],
          PURPOSES.filter(purpose => whole.purposeConsents.has(purpose)),
        )
        assert.equal(ours.created.getTime(), whole.created.getTime())
        assert.equal(ours.lastUpdated.getTime(), whole.lastUpdated.getTime())
        assert.equal(ours.policyVersion, whole.policyVersion)
        assert.equal(ours.purposeOneTreatment, whole.purposeOneTreatment)
        assert.equal(ours.disclosesVendors, whole.vendorsDisclosed.size > 0)
      }),
      { numRuns: 500 },
    )
  })

  it('never throws on any text', () => {
    const characters = fc.constantFrom(...'ABCIYaz09-_.+=@ é')
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 400 }), text => {
        decodeTcString(text)
        decodeTcString(`C${text}`)
      }),
    )
  })
})

const vendorId = fc.integer({ min: 1, max: 60 })
const range = fc
  .tuple(vendorId, vendorId)
  .map(([one, two]): [number, number] => [Math.min(one, two), Math.max(one, two)])
const ranges = fc.array(range, { maxLength: 5 })
const vendors = fc.oneof(fc.record({ idMax: fc.nat(60) }), fc.record({ ranges }))
const tcStrings = fc
  .record({
    created: fc.constantFrom('2025-06-01', '2026-11-01'),
    policyVersion: fc.nat(63),
    purposes: fc.uniqueArray(fc.integer({ min: 1, max: 24 })),
    legitimateInterests: fc.uniqueArray(fc.integer({ min: 1, max: 24 })),
    purposeOneTreatment: fc.boolean(),
    vendorConsents: vendors,
    vendorInterests: vendors,
    restrictions: fc.array(ranges, { maxLength: 4 }),
    disclosed: fc.option(vendors),
    customPurposes: fc.option(fc.nat(63)),
  })
  .map(buildTcString)

function decodedByLibrary(text: string) {
  try {
    return TCString.decode(text)
  } catch {
    return null
  }
}
