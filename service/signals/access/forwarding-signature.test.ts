import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { hashToken } from '../../runtime/util/token-format.ts'
import {
  findForwardingError,
  hasValidSignature,
  isGpcHeader,
  readForwardingHeaders,
} from './forwarding-signature.ts'

interface Vector {
  name: string
  forwarding_secret: string
  forwarded_at: number
  client_ip: string
  client_user_agent: string
  sec_gpc?: '1'
  body: string
  signature: string
}

const FILE = new URL('../../../clients/browser/vectors/forwarding-signature.json', import.meta.url)
const VECTORS: Vector[] = JSON.parse(readFileSync(FILE, 'utf8'))
const NOW = new Date('2026-11-21T12:00:00.000Z')
const NOW_SECONDS = NOW.getTime() / 1_000

function forwardingOf(vector: Vector) {
  return {
    clientIp: vector.client_ip,
    clientUserAgent: vector.client_user_agent,
    forwardedAt: String(vector.forwarded_at),
    signature: vector.signature,
    hasGpc: vector.sec_gpc === '1',
  }
}

it('accepts the signatures of the test vectors and none with a changed bit', () => {
  assert.ok(VECTORS.length >= 3)
  for (const vector of VECTORS) {
    const digest = hashToken(vector.forwarding_secret)
    const forwarding = forwardingOf(vector)
    const body = Buffer.from(vector.body)
    assert.ok(hasValidSignature(digest, forwarding, body), vector.name)
    for (const changes of [
      { forwardedAt: String(vector.forwarded_at + 1) },
      { clientIp: `${vector.client_ip}8` },
      { clientUserAgent: `${vector.client_user_agent} ` },
      { signature: vector.signature.replace(/.$/, last => (last === '0' ? '1' : '0')) },
    ]) {
      assert.equal(
        hasValidSignature(digest, { ...forwarding, ...changes }, body),
        false,
        vector.name,
      )
    }
    assert.equal(hasValidSignature(digest, forwarding, Buffer.from(`${vector.body} `)), false)
    assert.equal(hasValidSignature(hashToken('another'), forwarding, body), false)
  }
})

it('accepts a header Sec-GPC that a forwarder of an earlier version did not sign', () => {
  const signed = VECTORS.find(vector => vector.sec_gpc === '1') ?? assert.fail()
  const [unsigned] = VECTORS as [Vector]
  const digest = hashToken(signed.forwarding_secret)
  const body = Buffer.from(signed.body)
  assert.ok(hasValidSignature(digest, { ...forwardingOf(unsigned), hasGpc: true }, body))
  const removed = { ...forwardingOf(signed), hasGpc: false }
  assert.equal(hasValidSignature(digest, removed, body), false, 'a signed header was removed')
})

it('reads Sec-GPC: 1 alone as on, also when it is repeated', () => {
  for (const on of ['1', ' 1 ', '0, 1', ['1']]) assert.equal(isGpcHeader(on), true)
  for (const off of [undefined, '', '0', 'true', '11']) assert.equal(isGpcHeader(off), false)
})

it('does not confuse adjacent parts of the signed text', () => {
  const [vector] = VECTORS as [Vector]
  const digest = hashToken(vector.forwarding_secret)
  const { clientIp, clientUserAgent, ...rest } = forwardingOf(vector)
  const moved = { ...rest, clientIp: `${clientIp}\n${clientUserAgent}`, clientUserAgent: '' }
  assert.equal(hasValidSignature(digest, moved, Buffer.from(vector.body)), false)
})

it('treats a request with any forwarding header as forwarded', () => {
  assert.equal(readForwardingHeaders({ 'x-forwarded-for': '8.8.8.8' }), null)
  for (const name of ['client-ip', 'client-user-agent', 'forwarded-at', 'forwarding-signature']) {
    const found = readForwardingHeaders({ [`x-signalbox-${name}`]: '' })
    assert.deepEqual(found, { clientIp: '', clientUserAgent: '', forwardedAt: '', signature: '' })
  }
})

it('accepts a time within 5 minutes in either direction', () => {
  const signature = 'a'.repeat(64)
  for (const [seconds, isTaken] of [
    [0, true],
    [-300, true],
    [300, true],
    [-301, false],
    [301, false],
  ] as const) {
    const forwardedAt = String(NOW_SECONDS + seconds)
    const error = findForwardingError(
      { clientIp: '', clientUserAgent: '', forwardedAt, signature },
      NOW,
    )
    assert.equal(error === null, isTaken, `${seconds} seconds`)
  }
})

it('explains a malformed time or signature', () => {
  const right = {
    clientIp: '',
    clientUserAgent: '',
    forwardedAt: String(NOW_SECONDS),
    signature: 'a'.repeat(64),
  }
  for (const forwardedAt of ['', 'now', '1.5', '-1', '1e9', `${NOW_SECONDS}000`, ' 1', '1, 1']) {
    assert.match(
      findForwardingError({ ...right, forwardedAt }, NOW) ?? '',
      /Forwarded-At|5 minutes/,
    )
  }
  for (const signature of ['', 'a'.repeat(63), 'A'.repeat(64), `${'a'.repeat(64)}, b`]) {
    assert.match(findForwardingError({ ...right, signature }, NOW) ?? '', /Forwarding-Signature/)
  }
})
